/** Columns of lists, and the cells of fields that a service may leave out, set to null, or send in another type than the interface has. */
import { Mistyped } from "../../contract/fields.ts";
import type { Column } from "../../output/index.ts";

/** How a column is shown: its heading is its name where none is given. */
interface Shown {
  readonly heading?: string;
  readonly rank: number;
  readonly align?: "right" | "decimal";
}

/** A column of a reply's field; it is sorted by the wire's own value. */
export const fieldColumn = <Row, Value>(
  name: string,
  {
    of,
    cell,
    value = sortValue,
    heading = name,
    ...shown
  }: Shown & {
    readonly of: (row: Row) => Field<Value>;
    readonly cell: (value: Field<Value>, spelled: Spelled) => string;
    readonly value?: (value: Field<unknown>) => unknown;
  },
): Column<Row> => ({
  name,
  heading,
  ...shown,
  cell: (row, spelled) => cell(of(row), spelled),
  value: (row) => value(of(row)),
});

/** A field of a reply. */
type Field<Value> = Value | Mistyped | null | undefined;

/** The text of a value as it stood on the wire. */
type Spelled = () => string;

/** What a field is sorted by: its value, of whatever type it came in; undefined where there is none. */
export const sortValue = (value: Field<unknown>): unknown => {
  const own = value instanceof Mistyped ? value.value : value;
  return own === null ? undefined : own;
};

/** The same of a field whose 0 says "not stated". */
export const statedValue = (value: Field<unknown>): unknown => (value === 0 ? undefined : sortValue(value));

/** Text as it is. */
export const textCell = (value: Field<string>, spelled: Spelled): string =>
  isNothing(value) ? "" : typeof value === "string" ? value : spelled();

/** A whole number, digit for digit. */
export const countCell = (value: Field<number>, spelled: Spelled): string => {
  if (isNothing(value)) return "";
  return typeof value === "number" && Number.isSafeInteger(value) ? String(value) : spelled();
};

/** Words joined with `, `. */
export const wordsCell = (value: Field<readonly string[]>, spelled: Spelled): string =>
  isNothing(value) ? "" : value instanceof Mistyped ? spelled() : value.join(", ");

/** The last second of the year 9999: what is later counts no seconds. */
const latest = 253_402_300_799;

/** The day, in UTC, of seconds since 1970; nothing for 0, which says "not known". */
export const dayCell = (value: Field<number>, spelled: Spelled): string => {
  if (isNothing(value) || value === 0) return "";
  const isDay = typeof value === "number" && value > 0 && value <= latest;
  return isDay ? new Date(value * 1000).toISOString().slice(0, 10) : spelled();
};

const isNothing = (value: unknown): value is null | undefined => value === undefined || value === null;
