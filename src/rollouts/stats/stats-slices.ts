/** Computes the statistics of the whole input, and of each value of `--by`. */

import { Failure } from "../../failure.ts";
import { Breaks, sortWithBreaks } from "../../system/breaks.ts";
import { findFileOfGroup } from "../dataset/locate.ts";
import { readExceptionKeys } from "../dataset/prompt-text.ts";
import type { Dataset } from "../dataset/read-dataset.ts";
import { parseKeyText } from "../index/group-key.ts";
import { Names, type TextColumn } from "../index/text-column.ts";
import { getFacts } from "./fact-rows.ts";
import { type Stats, type StatsOptions, StatsSlice } from "./stats-slice.ts";

export interface DatasetStats {
  readonly whole: Stats;
  /** The rewards of `whole`, ascending. */
  readonly rewards: Float64Array;
  /** In natural order. The value is JSON; undefined for trajectories without the key. */
  readonly byValue: readonly Readonly<{ value: string | undefined; stats: Stats }>[];
}

/** A list of more values is not readable. */
const maxValues = 10_000;

interface SplitOptions extends StatsOptions {
  /** A key, or `file`. */
  readonly by: string | undefined;
  readonly signal: AbortSignal;
}

/** Expects a dataset with facts. @throws Failure `too-many-values`; the signal's reason */
export const computeStats = async (dataset: Dataset, given: SplitOptions): Promise<DatasetStats> => {
  const { by, signal, ...options } = given;
  const { groups } = dataset;
  const facts = getFacts(dataset);
  const breaks = new Breaks(signal);
  const whole = new StatsSlice(facts, options);
  const slices = new Map<number, StatsSlice>();
  const names = by === "file" ? new Names() : facts.by.names;
  for (const group of groups.valid()) {
    const all = { rows: groups.rowsOf(group), exceptions: groups.exceptionsOf(group) };
    await addGroup(whole, all, breaks);
    if (by === undefined) continue;
    if (breaks.isDue(all.exceptions === 0 ? 0 : groups.bytesOf(group))) await breaks.take();
    let divided = new Map<number, GroupPart>();
    if (by === "file") divided.set(names.numberOf(JSON.stringify(findFileOfGroup(dataset, group))), all);
    else {
      const failed = all.exceptions > 0 ? await readExceptionKeys(dataset, group, by) : [];
      divided = divideGroup(
        all.rows,
        facts.by,
        failed.map((key) => names.numberOf(key)),
      );
    }
    for (const [number, part] of divided) {
      const slice = slices.get(number) ?? new StatsSlice(facts, options);
      slices.set(number, slice);
      if (slices.size > maxValues) throw tooManyValues(by, maxValues);
      await addGroup(slice, part, breaks);
    }
  }
  const byValue: DatasetStats["byValue"][number][] = [];
  for (const [number, slice] of slices) byValue.push({ value: names.at(number), stats: await slice.compute(breaks) });
  const compare = (a: (typeof byValue)[number], b: typeof a) => compareKeyTexts(a.value, b.value);
  const sorted = await sortWithBreaks(byValue, compare, breaks);
  return { whole: await whole.compute(breaks), rewards: whole.sortRewards(), byValue: sorted };
};
type GroupPart = Readonly<{ rows: readonly number[]; exceptions: number }>;

/** @throws the signal's reason */
const addGroup = async (slice: StatsSlice, { rows, exceptions }: GroupPart, breaks: Breaks) => {
  slice.startGroup(rows, exceptions);
  if (breaks.isDue()) await breaks.take();
  for (let at = 0; at < rows.length; at++) {
    slice.addRow(rows[at] ?? 0);
    if (breaks.isDue()) await breaks.take();
  }
};

/**
 * Returns parts by the number of their value. An exception without the key, whose number is 0, counts where all
 * trajectories of its group do.
 */
const divideGroup = (rows: readonly number[], column: TextColumn, failed: readonly number[]) => {
  const byNumber = new Map<number, { rows: number[]; exceptions: number }>();
  const partOf = (number: number) => {
    const part = byNumber.get(number) ?? { rows: [], exceptions: 0 };
    byNumber.set(number, part);
    return part;
  };
  for (const row of rows) partOf(column.numberAt(row)).rows.push(row);
  const [first = 0, ...others] = byNumber.keys();
  const common = others.length === 0 ? first : 0;
  for (const number of failed) partOf(number || common).exceptions++;
  return byNumber;
};
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
