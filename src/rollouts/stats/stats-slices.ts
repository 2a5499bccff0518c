/** Computes the statistics of the whole input, and of each value of `--by`. */

import { Breaks, sortWithBreaks } from "../../system/breaks.ts";
import { appendTo } from "../../text/lists.ts";
import { findFileOfGroup } from "../dataset/locate.ts";
import { readExceptionKeys } from "../dataset/prompt-text.ts";
import type { Dataset } from "../dataset/read-dataset.ts";
import { NumberColumn } from "../index/column.ts";
import { Names } from "../index/fact-columns.ts";
import { parseKeyText } from "../index/group-key.ts";
import { tooManyValues } from "./failures.ts";
import { getFacts } from "./read-facts.ts";
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
  const names = by === "file" ? new Names() : facts.walked.by.names;
  await addGroups(whole, listGroups(dataset), breaks);
  for (const { group, rows, exceptions } of values ? listGroups(dataset) : []) {
    if (breaks.isDue(exceptions === 0 ? 0 : dataset.groups.bytesOf(group))) await breaks.take();
    if (by === "file") values?.add(names.numberOf(JSON.stringify(findFileOfGroup(dataset, group))), rows, exceptions);
    else if (by !== undefined) {
      const failed = exceptions > 0 ? await readExceptionKeys(dataset, group, by) : [];
      const numberOf = (row: number) => facts.walked.by.numberAt(row);
      values?.divide(
        rows,
        numberOf,
        failed.map((key) => names.numberOf(key)),
      );
    }
  }
  // One value after the other, because a slice takes much memory.
  const byValue: DatasetStats["byValue"][number][] = [];
  for (const number of values?.byNumber.keys() ?? []) {
    const slice = new StatsSlice(facts, options);
    await addGroups(slice, values?.list(number) ?? [], breaks);
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

/** The groups of each value, and the parts of groups with several values. */
class DividedGroups {
  /** For each number of a value, the indexes of its groups. */
  readonly byNumber = new Map<number, number[]>();
  withoutValue = 0;
  readonly #exceptions = new NumberColumn();
  readonly #by: string;
  readonly #rows = new NumberColumn();
  readonly #ends = new NumberColumn();

  constructor(by: string) {
    this.#by = by;
  }

  /** @throws Failure `too-many-values` */
  add(number: number, rows: readonly number[], exceptions: number) {
    appendTo(this.byNumber, number, this.#exceptions.length);
    if (this.byNumber.size > maxValues) throw tooManyValues(this.#by, maxValues);
    for (const row of rows) this.#rows.push(row);
    this.#ends.push(this.#rows.length);
    this.#exceptions.push(exceptions);
  }

  /**
   * An exception without the key, whose number is 0, counts where all trajectories of its group do.
   * @throws Failure `too-many-values`
   */
  divide(rows: readonly number[], numberOf: (row: number) => number, failed: readonly number[]) {
    const byNumber = new Map<number, { rows: number[]; exceptions: number }>();
    const partOf = (number: number) => {
      const part = byNumber.get(number) ?? { rows: [], exceptions: 0 };
      byNumber.set(number, part);
      return part;
    };
    for (const row of rows) partOf(numberOf(row)).rows.push(row);
    const [only = 0, ...others] = byNumber.keys();
    const common = others.length === 0 ? only : 0;
    for (const number of failed) {
      if (number === 0 && others.length > 0) this.withoutValue++;
      partOf(number || common).exceptions++;
    }
    for (const [number, part] of byNumber) this.add(number, part.rows, part.exceptions);
  }

  *list(number: number): Iterable<PartRows> {
    for (const at of this.byNumber.get(number) ?? []) {
      const rows = this.#rows.values(at === 0 ? 0 : this.#ends.at(at - 1), this.#ends.at(at));
      yield { rows, exceptions: this.#exceptions.at(at) };
    }
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
