/** Models in any list: patterns over ids, and the columns of fields that a service may omit or send in another type. */
import type { InferenceModel } from "../contract/models.ts";
import { type Field, MistypedValue } from "../contract/replies.ts";
import { findNearest } from "../nearest.ts";

interface ModelNames {
  readonly id: string;
  readonly name: string;
}

/** Compiles a pattern. Each word must be in the id or name, in any case. A word with `*` or `?` is a glob over the id. */
export const compilePattern = (pattern: string): ((names: ModelNames) => boolean) => {
  const words = pattern.toLowerCase().split(/\s+/).filter(Boolean).map(compileWord);
  return ({ id, name }) => {
    const lower = { id: id.toLowerCase(), name: name.toLowerCase() };
    return words.every((matches) => matches(lower));
  };
};

const compileWord = (word: string): ((names: ModelNames) => boolean) => {
  if (!/[*?]/.test(word)) return ({ id, name }) => id.includes(word) || name.includes(word);
  const glob = Array.from(word);
  return ({ id }) => matchesGlob(Array.from(id), glob);
};

/** `*` matches any characters, `?` one character. Takes at most text × glob steps, unlike a regular expression. */
const matchesGlob = (text: readonly string[], glob: readonly string[]): boolean => {
  let [at, of] = [0, 0];
  let star: { readonly of: number; at: number } | undefined;
  while (at < text.length) {
    if (glob[of] === "*") star = { of: of++, at };
    else if (glob[of] === "?" || glob[of] === text[at]) [at, of] = [at + 1, of + 1];
    else if (star === undefined) return false;
    else [at, of] = [++star.at, star.of + 1];
  }
  return glob.slice(of).every((one) => one === "*");
};

/** Compares texts in an order that does not depend on the language. */
export const compareCodeUnits = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

/** Returns the part of an id after its last slash, in lower case. */
const idSuffix = (id: string): string => id.slice(id.lastIndexOf("/") + 1).toLowerCase();

/** Finds a similar id: with the same part after the slash, with few mistakes, or the only id that contains it. */
export const findNearestId = (id: string, ids: readonly string[]): string | undefined => {
  if (id === "") return undefined;
  const containing = new Set(ids.filter((one) => one.toLowerCase().includes(id.toLowerCase())));
  return (
    ids.find((one) => idSuffix(one) === idSuffix(id)) ??
    findNearest(id, ids) ??
    (containing.size === 1 ? [...containing][0] : undefined)
  );
};

/** Prints a value that is neither absent nor null. `spelled` returns its text in the reply. */
type CellPrinter = (value: unknown, spelled: () => string) => string;

/** A field of a reply as a column of a list (`Column` of the output). */
export interface FieldColumn<Row> {
  readonly name: string;
  readonly heading: string;
  readonly rank: number;
  readonly align?: "right" | "decimal";
  readonly of: (row: Row) => Field<unknown>;
  readonly cell: (row: Row, spelled: () => string) => string;
  readonly value: (row: Row) => unknown;
}

/** Creates the column of a field. It is sorted by the value in the reply. */
export const fieldColumn = <Row>(
  name: string,
  {
    of,
    print = printText,
    heading = name,
    value = wireValue,
    ...others
  }: Pick<FieldColumn<Row>, "rank" | "align" | "of"> & {
    readonly print?: CellPrinter;
    readonly heading?: string;
    readonly value?: (value: Field<unknown>) => unknown;
  },
): FieldColumn<Row> => ({
  ...{ name, heading, ...others, of },
  cell: (row, spelled) => {
    const own = of(row);
    return own === undefined || own === null ? "" : print(own, spelled);
  },
  value: (row) => value(of(row)),
});

/** Returns the value of a field, of any type. */
export const wireValue = (value: Field<unknown>): unknown =>
  (value instanceof MistypedValue ? value.value : value) ?? undefined;

const printText: CellPrinter = (value, spelled) => (typeof value === "string" ? value : spelled());

export const printCount: CellPrinter = (value, spelled) => (Number.isSafeInteger(value) ? String(value) : spelled());

export const printWords: CellPrinter = (value, spelled) => (Array.isArray(value) ? value.join(", ") : spelled());

/** The last second of the year 9999. */
const maxSeconds = 253_402_300_799;

const printDay: CellPrinter = (value, spelled) => {
  if (value === 0) return "";
  return typeof value === "number" && value > 0 && value <= maxSeconds ? utcDay(value * 1000) : spelled();
};

/** The column of a time in Unix seconds. 0 is not a time. */
export const createdColumn = <Row extends { readonly created?: Field<number> }>(rank: number): FieldColumn<Row> =>
  fieldColumn("created", {
    rank,
    of: ({ created }) => created,
    print: printDay,
    value: (value) => wireValue(value === 0 ? undefined : value),
  });

export const dayMs = 86_400_000;

/** Returns the day of a time as `YYYY-MM-DD`. */
export const utcDay = (ms: number): string => new Date(ms).toISOString().slice(0, 10);

/** The fields of models that can be called (interface 2.3). Their order is a promise (output.md). */
export const modelFields: readonly FieldColumn<InferenceModel>[] = [
  fieldColumn("id", { rank: 0, of: ({ id }) => id }),
  createdColumn(2),
  fieldColumn("owned_by", { heading: "owned by", rank: 1, of: ({ owned_by }) => owned_by }),
  fieldColumn("root", { rank: 3, of: ({ root }) => root }),
  fieldColumn("object", { rank: 4, of: ({ object }) => object }),
];
