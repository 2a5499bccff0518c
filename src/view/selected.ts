/** Which groups a table shows, in which order, whoever holds them: the server, or a page by itself. */
import { isWithin, type Range } from "./range.ts";
import type { Selection, SortKey } from "./shapes.ts";

/** What groups are selected and sorted by. */
export interface Columns {
  readonly count: number;
  /** What a group is sorted by: a number, or NaN where there is none. */
  value(key: Exclude<SortKey, "group">, group: number): number;
  hasReward(group: number, range: Range): boolean;
  /** Whether it has problems of a rule, or any. */
  hasProblem(group: number, rule: string): boolean;
  isOf(group: number, file: string): boolean;
}

/** The groups that are selected, in their order. */
export const ordered = (
  columns: Columns,
  { selection, isFound }: { readonly selection: Selection; readonly isFound: (group: number) => boolean },
): Uint32Array => {
  const order = new Uint32Array(columns.count);
  let count = 0;
  for (let group = 0; group < order.length; group++)
    if (isFound(group) && isSelected(columns, selection, group)) order[count++] = group;
  const selected = order.subarray(0, count);
  const { sort, descending } = selection;
  if (sort === "group") return descending ? selected.reverse() : selected;
  const sign = descending ? -1 : 1;
  return selected.sort((a, b) => compared(columns.value(sort, a), columns.value(sort, b), sign) || a - b);
};

/** Numbers in their order; what has none comes last, whichever way. */
const compared = (a: number, b: number, sign: number): number => {
  if (Number.isNaN(a) || Number.isNaN(b)) return Number(Number.isNaN(a)) - Number(Number.isNaN(b));
  return (a - b) * sign;
};

const isSelected = (
  columns: Columns,
  { reward, mean, spread, trainable, rule, file }: Selection,
  group: number,
): boolean =>
  (reward === undefined || columns.hasReward(group, reward)) &&
  (mean === undefined || isWithin(columns.value("mean", group), mean)) &&
  (spread === undefined || isWithin(columns.value("spread", group), spread)) &&
  (trainable === undefined || (columns.value("trainable", group) === 1) === trainable) &&
  (rule === undefined || columns.hasProblem(group, rule)) &&
  (file === undefined || columns.isOf(group, file));
