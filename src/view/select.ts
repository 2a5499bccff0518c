/** Selects and sorts groups by a query, for the server and for an exported page. */
import type { Query, Range, SortKey } from "./query.ts";

/** The facts that groups are selected and sorted by. */
export interface GroupColumns {
  readonly count: number;
  value(key: Exclude<SortKey, "group">, group: number): number;
  rewardsOf(group: number): Iterable<number>;
  /** The rules that the group breaks. */
  rulesOf(group: number): readonly string[];
  fileOf(group: number): string;
}

/** Maximum rewards in a strip. */
const maxStripRewards = 16;

/** Returns the rewards that a strip draws: all of them in ascending order, or an even selection. */
export const selectStripRewards = (rewards: ArrayLike<number>): readonly number[] => {
  const sorted = Float64Array.from(rewards).filter(Number.isFinite).sort();
  const count = Math.min(sorted.length, maxStripRewards);
  const step = (sorted.length - 1) / Math.max(1, count - 1);
  return Array.from({ length: count }, (_, at) => sorted[Math.round(at * step)] ?? 0);
};

/** Returns the selected groups, in their order. */
export const selectGroups = (columns: GroupColumns, query: Query, isMatch: (group: number) => boolean): Uint32Array => {
  const { sort, descending } = query;
  const selected = new Uint32Array(columns.count)
    .map((_, group) => group)
    .filter((group) => isMatch(group) && isSelected(columns, query, group));
  if (sort === "group") return descending ? selected.reverse() : selected;
  const value = (group: number) => columns.value(sort, group);
  return selected.sort((a, b) => compareNumbers(value(a), value(b), descending) || a - b);
};

/** Compares numbers. NaN is last in both directions. */
export const compareNumbers = (a: number, b: number, isDescending: boolean): number => {
  if (Number.isNaN(a) || Number.isNaN(b)) return Number(Number.isNaN(a)) - Number(Number.isNaN(b));
  return isDescending ? b - a : a - b;
};

const isSelected = (columns: GroupColumns, query: Query, group: number): boolean => {
  const { reward, mean, spread, trainable, rule, file } = query;
  return (
    (reward === undefined || Array.from(columns.rewardsOf(group)).some((one) => isWithin(one, reward))) &&
    (mean === undefined || isWithin(columns.value("mean", group), mean)) &&
    (spread === undefined || isWithin(columns.value("spread", group), spread)) &&
    (trainable === undefined || (columns.value("trainable", group) === 1) === trainable) &&
    (rule === undefined || columns.rulesOf(group).some((one) => rule === "any" || one === rule)) &&
    (file === undefined || columns.fileOf(group) === file)
  );
};

/** Finds a group and the adjacent groups in an order. A group outside the order has its neighbors in the input. */
export const findNeighbors = (order: Uint32Array, group: number, count: number) => {
  const at = order.indexOf(group);
  const [before, after] = at < 0 ? [group - 1, group + 1] : [order[at - 1] ?? -1, order[at + 1] ?? count];
  return { at: at < 0 ? null : at, before: before < 0 ? null : before, after: after < count ? after : null };
};

const isWithin = (value: number, [from, to, end]: Range): boolean =>
  value >= from && (end === undefined ? value <= to : value < to);

/** The position of a number between two others, from 0 to 1; 0.5 if these are equal. */
export const relativePosition = (value: number, from: number, to: number): number => {
  // Halves, because the width of a wide range exceeds a double.
  const share = from === to ? 0.5 : (value / 2 - from / 2) / (to / 2 - from / 2);
  return Math.min(1, Math.max(0, share));
};
