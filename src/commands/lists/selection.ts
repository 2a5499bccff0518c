/** Which entries of a list are shown, and in which order; and what is said about the others. */
import type { Entries, ReplyList } from "../../contract/replies.ts";
import { compareDecimals, parseDecimal } from "../../decimal.ts";
import { invalidOptionValue } from "../../failures.ts";
import { findNearest } from "../../nearest.ts";
import { type Column, findColumn, type RowSequence, type Screen } from "../../output/index.ts";
import { pluralize } from "../../sentences.ts";

/** An order by one column. */
interface Order<Row> {
  readonly column: Pick<Column<Row>, "name" | "align" | "value">;
  readonly descending: boolean;
}

/** Reads `--sort <columns>`; `-column` is descending. @throws Failure `invalid-option-value` */
export const parseOrder = <Row>(typed: readonly string[], columns: readonly Column<Row>[]): readonly Order<Row>[] =>
  typed.map((value) => {
    const [sign, name] = value.startsWith("-") ? ["-", value.slice(1)] : ["", value];
    const column = findColumn(name, columns);
    if (column !== undefined) return { column, descending: sign !== "" };
    const names = columns.map((one) => one.name);
    const near = findNearest(name, names);
    const wanted = `a column: ${names.join(", ")}; with - in front the largest comes first`;
    const suggestion = near === undefined ? undefined : `${sign}${near}`;
    throw invalidOptionValue({ option: "--sort", value, wanted, suggestion });
  });

/** The columns for a narrow terminal: those that the list is filtered by stay, and those that it is sorted by are among the last to go. */
export const keepRequestedColumns = <Row>(
  columns: readonly Column<Row>[],
  { order, filtered = [] }: { readonly order: readonly Order<Row>[]; readonly filtered?: readonly string[] },
): readonly Column<Row>[] =>
  columns.map((column) => {
    const isSorted = order.some((one) => one.column.name === column.name);
    const max = filtered.includes(column.name) ? 0 : isSorted ? 1 : column.rank;
    return { ...column, rank: Math.min(column.rank, max) };
  });

/** The entries shown, and their positions in the list. */
export interface Selection<Row> {
  readonly rows: RowSequence<Row>;
  readonly positions: readonly number[];
  /** Their number without the limit. */
  readonly total: number;
}

/** Selects and sorts entries. `see` gets every entry, whether it matches or not. */
export const selectEntries = <Row>({
  entries,
  see: onEntry,
  matches,
  order,
  limit,
}: {
  readonly entries: Entries<Row>;
  readonly see?: (row: Row) => void;
  readonly matches: (row: Row) => boolean;
  readonly order: readonly Order<Row>[];
  readonly limit: number | undefined;
}): Selection<Row> => {
  // The entries themselves are not kept: there may be many.
  const found: { readonly position: number; readonly keys: readonly Key[] }[] = [];
  let position = 0;
  for (const row of entries) {
    onEntry?.(row);
    const keys = () => order.map(({ column }) => sortKey(column.value(row), column.align));
    if (matches(row)) found.push({ position, keys: order.length === 0 ? noKeys : keys() });
    position++;
  }
  const directions = order.map(({ descending }) => (descending ? -1 : 1));
  found.sort((a, b) => {
    for (const [at, direction] of directions.entries()) {
      const difference = compareKeys(a.keys[at] ?? absent, b.keys[at] ?? absent, direction);
      if (difference !== 0) return difference;
    }
    return 0;
  });
  const kept = found.slice(0, limit).map((one) => one.position);
  const rows = { length: kept.length, at: (row: number) => entries.at(kept[row] ?? entries.length) };
  return { rows, positions: kept, total: found.length };
};

/** The key that a value is sorted by: numbers, then texts, then what is absent, in both directions. */
interface Key {
  readonly kind: 0 | 1 | 2;
  readonly value: number | string;
  /** A number with more digits than doubles distinguish. */
  readonly spelled?: string | undefined;
}

const absent: Key = { kind: 2, value: "" };
const noKeys: readonly Key[] = [];

/** Two decimal numbers of so many characters are never the same double. */
const exactCharacters = 15;

const sortKey = (value: unknown, align: Column<unknown>["align"]): Key => {
  if (value === undefined || value === null || value === "") return absent;
  const isNumeral = (align ?? "left") !== "left" && typeof value === "string" && numeral.test(value.trim());
  const number = typeof value === "number" || isNumeral ? Number(value) : Number.NaN;
  // A price below zero is not a price: nothing costs less than what is free.
  if (Number.isFinite(number) && (align !== "decimal" || number >= 0)) {
    const spelled = String(value).trim();
    return { kind: 0, value: number, spelled: spelled.length > exactCharacters ? spelled : undefined };
  }
  const text = Array.isArray(value) ? value.map(formatValue).join(";") : formatValue(value);
  return text === "" ? absent : { kind: 1, value: text.toLowerCase() };
};

const numeral = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i;

/** An object of a reply may have a key such as `toString`. */
const formatValue = (value: unknown): string =>
  typeof value === "object" && value !== null ? JSON.stringify(value) : String(value ?? "");

const compareKeys = (a: Key, b: Key, direction: number): number => {
  if (a.kind !== b.kind) return a.kind - b.kind;
  if (a.value !== b.value) return a.value < b.value ? -direction : direction;
  if (a.spelled === b.spelled) return 0;
  const [left, right] = [a, b].map(({ value, spelled }) => parseDecimal(spelled ?? String(value)));
  return left === undefined || right === undefined ? 0 : direction * compareDecimals(left, right);
};

/** A list that was selected from. */
interface SelectedList {
  readonly pattern: string | undefined;
  readonly of: number;
  /** True if more than the pattern selects entries. */
  readonly filtered: boolean;
  /** The sentence for a list without an entry. */
  readonly none: string;
  /** In the plural. Default: models. */
  readonly noun?: string;
  /** Words of the filter that no entry has. */
  readonly absent?: readonly string[];
}

/** Says that nothing was found, or that there is more. */
export const noteSelection = (
  screen: Screen,
  { rows, total: found }: Selection<unknown>,
  { pattern, of, filtered, none, noun = "models", absent = [] }: SelectedList,
): void => {
  if (rows.length < found) screen.notice(`the first ${rows.length} of ${found} ${noun}`);
  if (found > 0) return;
  const missing = absent.length === 0 ? "" : `; none has ${absent.join(", ")}`;
  const matches = filtered
    ? `none of ${of} ${noun} matches${missing}`
    : `no model matches ${JSON.stringify(pattern ?? "")}`;
  const sentence = of === 0 ? none : matches;
  // In other programs, the word after --json is a list of fields.
  if (screen.isForProgram && pattern !== undefined && screen.argumentAfterJson === pattern)
    screen.noticeAlways(
      `${sentence}: --json takes no value, so that the word behind it is a pattern (--fields picks fields)`,
    );
  else screen.notice(sentence);
};

/** Models that are named in one sentence, and fields of each. */
const maxModels = 3;
const maxFields = 6;

/** Gathers fields that are not of the interface's types, model by model. `shown` says what becomes of their values. */
export const openMistypings = (shown: string) => {
  const named: string[] = [];
  let count = 0;
  return {
    add(id: unknown, fields: readonly string[]) {
      if (fields.length === 0 || count++ >= maxModels) return;
      const more = fields.length > maxFields ? ` and ${fields.length - maxFields} more` : "";
      const name = JSON.stringify(typeof id === "string" ? id : "an entry without an id");
      named.push(`${name} (${fields.slice(0, maxFields).join(", ")}${more})`);
    },
    note(screen: Screen) {
      const more = count > maxModels ? ` and ${count - maxModels} more` : "";
      if (count > 0) screen.notice(`not of the interface's types, ${shown}: ${named.join(", ")}${more}`);
    },
  };
};

/** Says how many elements of a list are null. */
export const noteNulls = (screen: Screen, { nulls }: Pick<ReplyList<unknown>, "nulls">, where: string): void => {
  const entries = pluralize(nulls, "entry", "entries");
  if (nulls > 0) screen.notice(`${entries} of ${where} ${nulls === 1 ? "is" : "are"} null, and left out`);
};
