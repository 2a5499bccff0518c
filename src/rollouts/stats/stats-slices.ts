/** Computes the statistics of the whole input, and of each value of `--by`. */

import { Failure } from "../../failure.ts";
import { Breaks, sortWithBreaks } from "../../system/breaks.ts";
import { findFileOfGroup } from "../dataset/locate.ts";
import { readExceptionKeys } from "../dataset/prompt-text.ts";
import type { Dataset } from "../dataset/read-dataset.ts";
import { parseKeyText } from "../index/group-key.ts";
import { Names } from "../index/text-column.ts";
import { getFacts } from "./fact-rows.ts";
import { type Stats, type StatsOptions, StatsSlice } from "./stats-slice.ts";

export interface DatasetStats {
  readonly whole: Stats;
  /** In natural order. The value is JSON; undefined for trajectories without the key. */
  readonly byValue: readonly Readonly<{ value: string | undefined; stats: Stats }>[];
  /** Exceptions without the key in groups with several values. */
  readonly exceptionsWithoutValue: number;
}

/** The statistics of each value take about 2 kB, and a list of more values is not readable. */
const maxValues = 10_000;

interface SplitOptions extends StatsOptions {
  /** A key, or `file`. */
  readonly by: string | undefined;
  readonly signal: AbortSignal;
}

/** Expects a dataset with facts. @throws Failure `too-many-values`; the signal's reason */
export const computeStats = async (dataset: Dataset, given: SplitOptions): Promise<DatasetStats> => {
  const { by, signal, ...options } = given;
  const facts = getFacts(dataset);
  const breaks = new Breaks(signal);
  const whole = new StatsSlice(facts, options);
  const values = by === undefined ? undefined : new DividedGroups(by);
  const names = by === "file" ? new Names() : facts.by.names;
  await addGroups(whole, listGroups(dataset), breaks);
  for (const { group, rows, exceptions } of values ? listGroups(dataset) : []) {
    if (breaks.isDue(exceptions === 0 ? 0 : dataset.groups.bytesOf(group))) await breaks.take();
    if (by === "file") values?.add(names.numberOf(JSON.stringify(findFileOfGroup(dataset, group))), group, exceptions);
    else if (by !== undefined) {
      const failed = exceptions > 0 ? await readExceptionKeys(dataset, group, by) : [];
      const failedNumbers = failed.map((key) => names.numberOf(key));
      values?.divide(group, new Set(rows.map((row) => facts.by.numberAt(row))), failedNumbers);
    }
  }
  // One value after the other, because a slice takes much memory.
  const byValue: DatasetStats["byValue"][number][] = [];
  for (const [number, groups] of values?.byNumber ?? []) {
    const slice = new StatsSlice(facts, options);
    const isOfValue = (row: number) => by === "file" || facts.by.numberAt(row) === number;
    await addGroups(slice, listGroupsOfValue(dataset, groups, isOfValue), breaks);
    byValue.push({ value: names.at(number), stats: await slice.compute(breaks) });
  }
  const compare = (a: (typeof byValue)[number], b: typeof a) => compareKeyTexts(a.value, b.value);
  const sorted = await sortWithBreaks(byValue, compare, breaks);
  return { whole: await whole.compute(breaks), byValue: sorted, exceptionsWithoutValue: values?.withoutValue ?? 0 };
};

type PartRows = Readonly<{ rows: ArrayLike<number>; exceptions: number }>;

function* listGroups({ groups }: Dataset) {
  for (const group of groups.valid())
    yield { group, rows: groups.rowsOf(group), exceptions: groups.exceptionsOf(group) };
}

function* listGroupsOfValue({ groups }: Dataset, of: GroupsOfValue, isOfValue: (row: number) => boolean) {
  for (const [at, group] of of.groups.entries())
    yield { rows: groups.rowsOf(group).filter(isOfValue), exceptions: of.exceptions[at] ?? 0 };
}

/** @throws the signal's reason */
const addGroups = async (slice: StatsSlice, groups: Iterable<PartRows>, breaks: Breaks) => {
  for (const { rows, exceptions } of groups) {
    slice.startGroup(rows, exceptions);
    if (breaks.isDue()) await breaks.take();
    for (let at = 0; at < rows.length; at++) {
      slice.addRow(rows[at] ?? 0);
      if (breaks.isDue()) await breaks.take();
    }
  }
};

/** The groups with rollouts of a value, and the number of its exceptions in each. */
type GroupsOfValue = Readonly<Record<"groups" | "exceptions", number[]>>;

class DividedGroups {
  readonly byNumber = new Map<number, GroupsOfValue>();
  withoutValue = 0;
  readonly #by: string;

  constructor(by: string) {
    this.#by = by;
  }

  /** @throws Failure `too-many-values` */
  add(number: number, group: number, exceptions: number) {
    const known = this.byNumber.get(number) ?? { groups: [], exceptions: [] };
    this.byNumber.set(number, known);
    if (this.byNumber.size > maxValues) throw tooManyValues(this.#by, maxValues);
    known.groups.push(group);
    known.exceptions.push(exceptions);
  }

  /**
   * An exception without the key, whose number is 0, counts where all trajectories of its group do.
   * @throws Failure `too-many-values`
   */
  divide(group: number, numbers: ReadonlySet<number>, failed: readonly number[]) {
    const exceptions = new Map(Array.from(numbers, (number) => [number, 0]));
    const [only = 0] = numbers;
    const common = numbers.size < 2 ? only : 0;
    for (const number of failed) {
      if (number === 0 && numbers.size > 1) this.withoutValue++;
      exceptions.set(number || common, (exceptions.get(number || common) ?? 0) + 1);
    }
    for (const [number, count] of exceptions) this.add(number, group, count);
  }
}

const natural = new Intl.Collator("en", { numeric: true });

/** Numbers come first, then texts, in which numbers are compared as numbers. The missing value is last. */
const compareKeyTexts = (a: string | undefined, b: string | undefined) => {
  const [one, two] = [parseKeyText(a), parseKeyText(b)];
  if (typeof one === "number" && typeof two === "number") return one - two;
  const rank = (value: unknown) => (typeof value === "number" ? 0 : value === null ? 2 : 1);
  return rank(one) - rank(two) || natural.compare(String(one), String(two));
};

export const tooManyValues = (by: string, max: number) => {
  const hint = `choose a key with fewer values, or print a row for each group or trajectory with --each`;
  return new Failure("usage", "too-many-values", `--by ${by} has more than ${max} values`, { hint });
};
