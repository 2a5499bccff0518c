/** Sorts the rows and ranks the columns of a list, and prints notes about rows that it lacks. */

import { Breaks, sortWithBreaks } from "../system/breaks.ts";
import { invalidOptionValue } from "../system/failures.ts";
import { findNearest } from "../text/nearest.ts";
import { pluralize } from "../text/sentences.ts";
import { compareDecimals, type Decimal, parseDecimal } from "../text/units.ts";
import type { ReplyList } from "../wire/contract/replies.ts";
import { findColumn } from "./json-fields.ts";
import { formatPlainValue, readValue } from "./list.ts";
import type { Screen } from "./screen.ts";
import type { Column } from "./views.ts";

type Order<Row> = Readonly<{ column: Column<Row>; descending: boolean }>;

/** @throws Failure `invalid-option-value` */
export const parseOrder = <Row>(typed: readonly string[], columns: readonly Column<Row>[]) =>
  typed.map((value) => {
    const sign = value.startsWith("-") ? "-" : "";
    const name = value.slice(sign.length);
    const column = findColumn(name, columns);
    if (column) return { column, descending: sign !== "" };
    const names = columns.map((one) => one.name);
    const near = findNearest(name, names);
    const wanted = `a column (with - in front for descending order): ${names.join(", ")}`;
    throw invalidOptionValue("--sort", value, wanted, near && sign + near);
  });

/** A narrow terminal never omits the columns of filters, and omits the columns of `--sort` last. */
export const rankColumns = <Row>(
  columns: readonly Column<Row>[],
  order: readonly Order<Row>[],
  filtered: readonly string[] = [],
) =>
  columns.map((column) => {
    const max = order.some((one) => one.column === column) ? 1 : column.rank;
    return { ...column, rank: filtered.includes(column.name) ? 0 : Math.min(column.rank, max) };
  });

/** @throws the signal's reason */
export const sortRows = async <Row>(rows: readonly Row[], order: readonly Order<Row>[], signal: AbortSignal) => {
  const breaks = new Breaks(signal);
  let sorted = rows;
  for (const { column, descending } of order.toReversed()) {
    const keyed: { row: Row; key: ComparableValue }[] = [];
    for (const row of sorted) {
      keyed.push({ row, key: toSortKey(readValue(column, row), column.align) });
      if (breaks.isDue()) await breaks.take();
    }
    const compare: Parameters<typeof sortWithBreaks<(typeof keyed)[number]>>[1] = (a, b) =>
      compareSortKeys(a.key, b.key, descending ? -1 : 1);
    sorted = (await sortWithBreaks(keyed, compare, breaks)).map(({ row }) => row);
  }
  return sorted;
};

type ComparableValue = { readonly number: number; readonly exact: Decimal | undefined } | string;

const toSortKey = (value: unknown, align: Column<unknown>["align"] = "left"): ComparableValue => {
  const canBeNumber = typeof value === "number" || (align !== "left" && typeof value === "string");
  const exact = canBeNumber ? parseDecimal(String(value).trim()) : undefined;
  const number = typeof value === "number" || exact ? Number(value) : Number.NaN;
  // A `decimal` column contains prices, and a negative price sorts as text.
  const isNumber = Number.isFinite(number) && (align !== "decimal" || number >= 0);
  return isNumber ? { number, exact } : formatPlainValue(value).toLowerCase();
};

/** In both directions, numbers come first, then texts, then absent values. */
const compareSortKeys = (a: ComparableValue, b: ComparableValue, direction: number) => {
  if (typeof a !== "string" && typeof b !== "string")
    return direction * (a.exact && b.exact ? compareDecimals(a.exact, b.exact) : a.number - b.number);
  const rank = (key: ComparableValue) => (typeof key !== "string" ? 0 : key === "" ? 2 : 1);
  return rank(a) - rank(b) || (a === b ? 0 : a < b ? -direction : direction);
};

export const noteSelection = (
  { notice }: Screen,
  { all, matching, shown }: Readonly<Record<"all" | "matching" | "shown", readonly unknown[]>>,
  noun: string,
) => {
  if (shown.length < matching.length) notice(`listed the first ${shown.length} of ${matching.length} ${noun}`);
  if (matching.length === 0)
    notice(all.length === 0 ? `the list of ${noun} is empty` : `0 of ${all.length} ${noun} match`);
};

export const noteDefects = ({ noteInResult }: Screen, { nullCount, partialMark, isUtf8 }: ReplyList, list: string) => {
  if (partialMark !== undefined)
    noteInResult(
      `${list} is incomplete: the service sent only a part of it (${partialMark}), and rollcall cannot request the rest`,
    );
  if (nullCount > 0) noteInResult(`skipped ${pluralize(nullCount, "null entry", "null entries")} of ${list}`);
  if (!isUtf8) noteInResult(`${list} has bytes that are not UTF-8, which rollcall replaced with \ufffd`);
};
