/** Selects and sorts the entries of a list, and prints notes about omitted entries. */
import type { Entries, ReplyList } from "../../contract/replies.ts";
import { compareDecimals, type Decimal, parseDecimal } from "../../decimal.ts";
import { invalidOptionValue } from "../../failures.ts";
import { findNearest } from "../../nearest.ts";
import { type Column, findColumn, type RowSequence, type Screen } from "../../output/index.ts";
import { pluralize } from "../../sentences.ts";

interface Order<Row> {
  readonly column: Pick<Column<Row>, "name" | "align" | "value">;
  readonly descending: boolean;
}

/** Parses `--sort <columns>`. `-column` is descending. @throws Failure `invalid-option-value` */
export const parseOrder = <Row>(typed: readonly string[], columns: readonly Column<Row>[]): readonly Order<Row>[] =>
  typed.map((value) => {
    const [sign, name] = value.startsWith("-") ? ["-", value.slice(1)] : ["", value];
    const column = findColumn(name, columns);
    if (column !== undefined) return { column, descending: sign !== "" };
    const names = columns.map((one) => one.name);
    const near = findNearest(name, names);
    const wanted = `a column: ${names.join(", ")}; -column for descending order`;
    const suggestion = near === undefined ? undefined : `${sign}${near}`;
    throw invalidOptionValue({ option: "--sort", value, wanted, suggestion });
  });

/** Ranks columns for a narrow terminal: filtered columns always stay, sorted columns are omitted last. */
export const keepRequestedColumns = <Row>(
  columns: readonly Column<Row>[],
  { order, filtered = [] }: { readonly order: readonly Order<Row>[]; readonly filtered?: readonly string[] },
): readonly Column<Row>[] =>
  columns.map((column) => {
    const isSorted = order.some((one) => one.column.name === column.name);
    const max = filtered.includes(column.name) ? 0 : isSorted ? 1 : column.rank;
    return { ...column, rank: Math.min(column.rank, max) };
  });

export interface Selection<Row> {
  readonly rows: RowSequence<Row>;
  readonly positions: readonly number[];
  readonly total: number;
}

interface EntrySelector<Row> {
  readonly entries: Entries<Row>;
  readonly onEntry?: (row: Row) => void;
  readonly matches: (row: Row) => boolean;
  readonly order: readonly Order<Row>[];
  readonly limit: number | undefined;
}

/** Selects and sorts entries. Only positions are stored, because there may be many entries. */
export const selectEntries = <Row>({ entries, onEntry, matches, order, limit }: EntrySelector<Row>): Selection<Row> => {
  const found: { readonly position: number; readonly keys: readonly Key[] }[] = [];
  let position = 0;
  for (const row of entries) {
    onEntry?.(row);
    if (matches(row)) {
      found.push({ position, keys: order.map(({ column }) => toKey(column.value(row), column.align)) });
    }
    position++;
  }
  found.sort((a, b) => {
    for (const [at, { descending }] of order.entries()) {
      const difference = compareKeys(a.keys[at] ?? absent, b.keys[at] ?? absent, descending ? -1 : 1);
      if (difference !== 0) return difference;
    }
    return 0;
  });
  const shown = found.slice(0, limit).map((one) => one.position);
  const rows = { length: shown.length, at: (row: number) => entries.at(shown[row] ?? entries.length) };
  return { rows, positions: shown, total: found.length };
};

/** A sort key. Numbers come first, then texts, then absent values, in both directions. */
type Key =
  | { readonly kind: 0; readonly value: number; readonly exact: Decimal | undefined }
  | { readonly kind: 1 | 2; readonly value: string };

const absent: Key = { kind: 2, value: "" };

const toKey = (value: unknown, align: Column<unknown>["align"]): Key => {
  if (value === undefined || value === null || value === "") return absent;
  const isNumeral = (align ?? "left") !== "left" && typeof value === "string" && numeral.test(value.trim());
  const number = typeof value === "number" || isNumeral ? Number(value) : Number.NaN;
  // A negative price is not a price.
  if (Number.isFinite(number) && (align !== "decimal" || number >= 0)) {
    return { kind: 0, value: number, exact: parseDecimal(String(value).trim()) };
  }
  const text = Array.isArray(value) ? value.map(formatValue).join(";") : formatValue(value);
  return text === "" ? absent : { kind: 1, value: text.toLowerCase() };
};

const numeral = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i;

/** JSON for objects, because an object of a reply may have a key such as `toString`. */
const formatValue = (value: unknown): string =>
  typeof value === "object" && value !== null ? JSON.stringify(value) : String(value ?? "");

/** Compares numbers with more digits than a double exactly. */
const compareKeys = (a: Key, b: Key, direction: number): number => {
  if (a.kind !== b.kind) return a.kind - b.kind;
  if (a.value !== b.value) return a.value < b.value ? -direction : direction;
  if (a.kind !== 0 || b.kind !== 0 || a.exact === undefined || b.exact === undefined) return 0;
  return direction * compareDecimals(a.exact, b.exact);
};

interface SelectedList {
  readonly pattern: string | undefined;
  readonly of: number;
  readonly isFiltered: boolean;
  readonly emptyText: string;
  /** Default: models. */
  readonly noun?: string;
}

export const noteSelection = (
  screen: Screen,
  { rows, total }: Selection<unknown>,
  { pattern, of, isFiltered, emptyText, noun = "models" }: SelectedList,
): void => {
  if (rows.length < total) screen.notice(`listed the first ${rows.length} of ${total} ${noun}`);
  if (total > 0) return;
  const unmatched = isFiltered ? `none of ${of} ${noun} matches` : `no model matches ${JSON.stringify(pattern ?? "")}`;
  const note = of === 0 ? emptyText : unmatched;
  // Other programs take a list of fields after --json.
  if (screen.isForProgram && pattern !== undefined && screen.argumentAfterJson === pattern)
    screen.noticeAlways(`${note}, because --json takes no value (select fields with --fields)`);
  else screen.notice(note);
};

export const noteNulls = (screen: Screen, { nulls }: Pick<ReplyList<unknown>, "nulls">, where: string): void => {
  if (nulls > 0) screen.notice(`skipped ${pluralize(nulls, "null entry", "null entries")} of ${where}`);
};
