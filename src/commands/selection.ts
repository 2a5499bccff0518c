/** Which entries of a list are shown, and in which order: `[pattern]` and `--sort`. */
import { Failure } from "../failure.ts";
import { nearest } from "../nearest.ts";
import type { Column } from "../output/index.ts";

/** An order by one column, as meant. */
export interface Order<Row> {
  readonly column: Pick<Column<Row>, "name" | "align" | "value">;
  readonly descending: boolean;
}

/** What `--sort <column>` means; `-column` is descending. @throws Failure `option-value-wrong` */
export const orderOf = <Row>(typed: string | undefined, columns: readonly Column<Row>[]): Order<Row> | undefined => {
  if (typed === undefined) return undefined;
  const descending = typed.startsWith("-");
  const name = descending ? typed.slice(1) : typed;
  const column = columns.find((one) => one.name === name);
  if (column !== undefined) return { column, descending };
  const names = columns.map((one) => one.name);
  const near = nearest(name, names);
  throw new Failure("option-value-wrong", {
    option: "--sort",
    value: typed,
    wanted: `a column: ${names.join(", ")}; with - in front the largest comes first`,
    ...(near === undefined ? {} : { suggestion: `${descending ? "-" : ""}${near}` }),
  });
};

/** The entries shown, and their positions in the list. */
export interface Selection<Row> {
  readonly rows: readonly Row[];
  readonly kept: readonly number[];
}

/** Picks by pattern, then sorts. */
export const selected = <Row>({
  entries,
  pattern,
  texts,
  order,
}: {
  readonly entries: readonly Row[];
  readonly pattern: string | undefined;
  /** The id and the name of an entry, as far as it has them. */
  readonly texts: (row: Row) => { readonly id: string; readonly name: string };
  readonly order: Order<Row> | undefined;
}): Selection<Row> => {
  const matches = matcher(pattern ?? "");
  const kept = entries.map((row, position) => ({ row, position })).filter(({ row }) => matches(texts(row)));
  const shown = order === undefined ? kept : sorted(kept, order);
  return { rows: shown.map(({ row }) => row), kept: shown.map(({ position }) => position) };
};

/** The sentence for an empty list. */
export const nothingFound = (pattern: string | undefined, nothingListed: string): string =>
  pattern === undefined || pattern === "" ? nothingListed : `no model matches ${JSON.stringify(pattern)}`;

/** Letters in any case, anywhere in the id or name; with `*` or `?` a glob over the whole id. */
const matcher = (pattern: string): ((texts: { readonly id: string; readonly name: string }) => boolean) => {
  const wanted = pattern.toLowerCase();
  if (/[*?]/.test(wanted)) return ({ id }) => matchesGlob(Array.from(id.toLowerCase()), Array.from(wanted));
  return ({ id, name }) => id.toLowerCase().includes(wanted) || name.toLowerCase().includes(wanted);
};

/** `*` is any run of characters, `?` any one. Takes at most as many steps as both are long, multiplied. */
const matchesGlob = (text: readonly string[], glob: readonly string[]): boolean => {
  let at = 0;
  let of = 0;
  let star: { readonly of: number; at: number } | undefined;
  while (at < text.length) {
    if (glob[of] === "*") star = { of: of++, at };
    else if (glob[of] === "?" || glob[of] === text[at]) [at, of] = [at + 1, of + 1];
    else if (star === undefined) return false;
    else [at, of] = [++star.at, star.of + 1];
  }
  return glob.slice(of).every((one) => one === "*");
};

/** What a value is sorted by: numbers, then words, then what is absent, whichever way. */
type Key =
  | { readonly kind: 0; readonly number: number }
  | { readonly kind: 1; readonly text: string }
  | { readonly kind: 2 };

const keyOf = (value: unknown, isNumber: boolean): Key => {
  if (value === undefined || value === null || value === "") return { kind: 2 };
  const number =
    typeof value === "number" ? value : isNumber && typeof value === "string" ? numberIn(value) : Number.NaN;
  if (!Number.isNaN(number)) return { kind: 0, number };
  const text = Array.isArray(value)
    ? value.join(";")
    : typeof value === "object"
      ? JSON.stringify(value)
      : String(value);
  return text === "" ? { kind: 2 } : { kind: 1, text: text.toLowerCase() };
};

const numberIn = (text: string): number =>
  /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(text.trim()) ? Number(text) : Number.NaN;

const sorted = <Row>(
  kept: readonly { readonly row: Row; readonly position: number }[],
  { column, descending }: Order<Row>,
): typeof kept => {
  const isNumber = column.align === "right" || column.align === "decimal";
  const keyed = kept.map((one) => ({ one, key: keyOf(column.value(one.row), isNumber) }));
  keyed.sort((a, b) => compared(a.key, b.key, descending ? -1 : 1));
  return keyed.map(({ one }) => one);
};

const compared = (a: Key, b: Key, direction: 1 | -1): number => {
  if (a.kind === 0 && b.kind === 0) return direction * (a.number === b.number ? 0 : a.number < b.number ? -1 : 1);
  if (a.kind === 1 && b.kind === 1) return direction * (a.text === b.text ? 0 : a.text < b.text ? -1 : 1);
  return a.kind - b.kind;
};
