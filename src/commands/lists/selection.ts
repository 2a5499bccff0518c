/** Which entries of a list are shown, and in which order: what picks them, `--sort` and `--limit`. */

import type { Filter } from "../../catalogs/index.ts";
import type { Entries } from "../../contract/fields.ts";
import { compareDecimals, parseDecimal } from "../../decimal.ts";
import { optionValueWrong } from "../../failures.ts";
import { nearest } from "../../nearest.ts";
import { type Column, columnMeant, type Rows, type Screen } from "../../output/index.ts";

/** An order by one column, as meant. */
interface Order<Row> {
  readonly column: Pick<Column<Row>, "name" | "align" | "value">;
  readonly descending: boolean;
}

/** What `--sort <columns>` means; `-column` is descending. @throws Failure `option-value-wrong` */
export const orderOf = <Row>(typed: readonly string[], columns: readonly Column<Row>[]): readonly Order<Row>[] =>
  typed.map((one) => orderBy(one, columns));

const orderBy = <Row>(typed: string, columns: readonly Column<Row>[]): Order<Row> => {
  const descending = typed.startsWith("-");
  const name = descending ? typed.slice(1) : typed;
  const column = columnMeant(name, columns);
  if (column !== undefined) return { column, descending };
  const names = columns.map((one) => one.name);
  const near = nearest(name, names);
  throw optionValueWrong({
    option: "--sort",
    value: typed,
    wanted: `a column: ${names.join(", ")}; with - in front the largest comes first`,
    suggestion: near === undefined ? undefined : `${descending ? "-" : ""}${near}`,
  });
};

/** The columns: on a narrow terminal, those that the list is filtered by stay, and those that it is sorted by are among the last to be left out. */
export const withAskedSeen = <Row>(
  columns: readonly Column<Row>[],
  { order, filtered = [] }: { readonly order: readonly Order<Row>[]; readonly filtered?: readonly string[] },
): readonly Column<Row>[] => {
  const sorted = new Set(order.map(({ column }) => column.name));
  return columns.map((column) => {
    const most = filtered.includes(column.name) ? 0 : sorted.has(column.name) ? 1 : column.rank;
    return { ...column, rank: Math.min(column.rank, most) };
  });
};

/** The entries shown, and their positions in the list. */
export interface Selection<Row> {
  readonly rows: Rows<Row>;
  readonly kept: readonly number[];
  /** How many there are without the limit. */
  readonly found: number;
}

/** Picks, sorts, and cuts off. */
export const selected = <Row>({
  entries,
  see,
  matches,
  order,
  limit,
}: {
  readonly entries: Entries<Row>;
  /** Is shown every entry, whether it matches or not. */
  readonly see?: (row: Row) => void;
  readonly matches: (row: Row) => boolean;
  readonly order: readonly Order<Row>[];
  readonly limit: number | undefined;
}): Selection<Row> => {
  const found: Placed[] = [];
  let position = 0;
  for (const row of entries) {
    see?.(row);
    if (matches(row)) found.push({ position, keys: keysOf(row, order) });
    position++;
  }
  const kept = sorted(found, order)
    .slice(0, limit)
    .map((one) => one.position);
  const rows = { length: kept.length, at: (row: number) => entries.at(kept[row] ?? entries.length) };
  return { rows, kept, found: found.length };
};

/** Whether something but the pattern alone picks the entries. */
export const isFiltered = ({ pattern, ...others }: Filter): boolean =>
  pattern === undefined || Object.values(others).some((value) => value !== undefined);

/** What a selection is of. */
interface Selected {
  readonly pattern: string | undefined;
  readonly of: number;
  readonly filtered: boolean;
  /** The sentence for a list without anything in it. */
  readonly none: string;
  /** What is listed, in the plural: models where nothing is said. */
  readonly noun?: string;
  /** Words of the filter that nothing has. */
  readonly absent?: readonly string[];
}

/** Says of a selection that nothing was found, or that there is more, where it does not speak for itself. */
export const tellSelection = (screen: Screen, selection: Selection<unknown>, about: Selected): void => {
  const sentence = sentenceOf(selection, about);
  if (sentence === undefined) return;
  const { pattern } = about;
  // Who takes the word for a list of fields, as other programs have it, would wonder at an empty list.
  if (screen.isForProgram && selection.found === 0 && pattern !== undefined && screen.behindJson === pattern)
    screen.remark(
      `${sentence}: --json takes no value, so that the word behind it is a pattern (--fields picks fields)`,
    );
  else screen.notice(sentence);
};

const sentenceOf = ({ rows, found }: Selection<unknown>, about: Selected): string | undefined => {
  const { noun = "models", absent = [] } = about;
  if (rows.length < found) return `the first ${rows.length} of ${found} ${noun}`;
  if (found > 0) return undefined;
  if (about.of === 0) return about.none;
  const missing = absent.length === 0 ? "" : `; none has ${absent.join(", ")}`;
  if (about.filtered) return `none of ${about.of} ${noun} matches${missing}`;
  return `no model matches ${JSON.stringify(about.pattern ?? "")}`;
};

/** What a value is sorted by: numbers, then words, then what is absent, whichever way. */
type Key =
  /** `spelled` where there are more digits than a double tells apart. */
  | { readonly kind: 0; readonly number: number; readonly spelled: string | undefined }
  | { readonly kind: 1; readonly text: string }
  | { readonly kind: 2 };

const absent: Key = { kind: 2 };

/** Without an order, all entries share their lack of keys: there may be many. */
const noKeys: readonly Key[] = [];

const keysOf = <Row>(row: Row, order: readonly Order<Row>[]): readonly Key[] =>
  order.length === 0 ? noKeys : order.map(({ column }) => keyOf(column.value(row), column.align));

/** Two decimal numbers of so many characters are never the same double. */
const exactCharacters = 15;

const keyOf = (value: unknown, align: Column<unknown>["align"]): Key => {
  if (value === undefined || value === null || value === "") return absent;
  const isNumber = align === "right" || align === "decimal";
  const number =
    typeof value === "number" ? value : isNumber && typeof value === "string" ? numberIn(value) : Number.NaN;
  // A price below zero is none: nothing costs less than what is free.
  const isPrice = align !== "decimal" || number >= 0;
  if (Number.isFinite(number) && isPrice) {
    const spelled = String(value).trim();
    return { kind: 0, number, spelled: spelled.length > exactCharacters ? spelled : undefined };
  }
  const text = Array.isArray(value) ? value.map(textFor).join(";") : textFor(value);
  return text === "" ? absent : { kind: 1, text: text.toLowerCase() };
};

/** An object of a reply may have a key such as `toString`. */
const textFor = (value: unknown): string => (typeof value === "object" ? JSON.stringify(value ?? "") : String(value));

const numberIn = (text: string): number => {
  const number = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(text.trim()) ? Number(text) : Number.NaN;
  return Number.isFinite(number) ? number : Number.NaN;
};

/** An entry that was found: where it stands, and what it is sorted by. The entry itself is let go. */
interface Placed {
  readonly position: number;
  readonly keys: readonly Key[];
}

const sorted = <Row>(found: Placed[], order: readonly Order<Row>[]): readonly Placed[] =>
  found.sort((a, b) => {
    for (const [at, { descending }] of order.entries()) {
      const [key, other] = [a.keys[at], b.keys[at]];
      const difference = key === undefined || other === undefined ? 0 : compared(key, other, descending ? -1 : 1);
      if (difference !== 0) return difference;
    }
    return 0;
  });

type NumberKey = Extract<Key, { readonly kind: 0 }>;

const compared = (a: Key, b: Key, direction: 1 | -1): number => {
  if (a.kind === 0 && b.kind === 0)
    return direction * (a.number === b.number ? exactly(a, b) : a.number < b.number ? -1 : 1);
  if (a.kind === 1 && b.kind === 1) return direction * (a.text === b.text ? 0 : a.text < b.text ? -1 : 1);
  return a.kind - b.kind;
};

/** What doubles can't tell apart, their digits can. */
const exactly = (a: NumberKey, b: NumberKey): number => {
  if (a.spelled === b.spelled) return 0;
  const [left, right] = [a, b].map(({ number, spelled }) => parseDecimal(spelled ?? String(number)));
  return left === undefined || right === undefined ? 0 : compareDecimals(left, right);
};
