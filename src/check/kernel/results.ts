/** Adds what the kernel found to what was found before: the facts of each line, and the sums over all of them. */
import { hash } from "node:crypto";
import { crc32 } from "node:zlib";
import { bucketCount, limbCount } from "../../groups/metrics/constants.ts";
import { lookAtReward, mayHold, mergePicture, type Picture } from "../../groups/metrics/picture.ts";
import type { Sketch } from "../../groups/metrics/sketch.ts";
import { type PackedSum, unitsOf } from "../../groups/metrics/sums.ts";
import { digestBytes } from "../../groups/parts/digests.ts";
import type { Found } from "../../groups/parts/found.ts";
import type { Text } from "../rules/places.ts";
import type { Kernel, KernelSums } from "./kernel.ts";
import * as layout from "./layout.ts";

/** Adds the lines of the batch that the kernel stands at; the text is the block that they stand in. */
export const addBatch = (
  found: Found,
  { kernel, text, source }: { readonly kernel: Kernel; readonly text: Text; readonly source: number },
): void => {
  if (kernel.lines === 0) return;
  takeRewards(found, kernel);
  for (const { rule, count } of kernel.counted) {
    if (count > 0 && !found.problems.judgement.allowed.has(rule)) found.problems.count(rule, count);
  }
  takeKeys(found, kernel);
  const { parts } = found;
  const { columns, lines } = kernel;
  parts.append({
    source,
    starts: [columns.starts.subarray(0, lines)],
    lengths: [columns.lengths.subarray(0, lines)],
    lines: [columns.numbers.subarray(0, lines)],
    flags: [columns.flags.subarray(0, lines)],
    trajectories: [columns.counts.subarray(0, lines)],
    rewards: [columns.lineRewards.subarray(0, lines)],
    versions: [columns.versions.subarray(0, lines)],
    trainings: [columns.trainings.subarray(0, lines)],
    prints: [columns.prints.subarray(0, kernel.trajectories)],
    ...(parts.isMarked ? marksOf(kernel, text) : { checksums: [new Uint32Array(lines)], digests: [] }),
  });
};

/** Looks at the rewards of each line, where one of them may be needed. */
const takeRewards = ({ extremes, parts }: Found, { columns: { counts, rewards }, lines, rewardEnds }: Kernel): void => {
  if (!mayHold(extremes, rewardEnds)) return;
  let at = 0;
  for (let line = 0; line < lines; line++) {
    const count = counts[line] ?? 0;
    for (let trajectory = 0; trajectory < count; trajectory++) {
      lookAtReward(extremes, rewards[at++] ?? 0, parts.count + line, trajectory);
    }
  }
};

/** The keys of trajectories that belong to a group. */
const takeKeys = ({ shapes, keys, parts }: Found, kernel: Kernel): void => {
  const flags = kernel.columns.flags.subarray(0, kernel.lines);
  const { aloneFlags } = kernel;
  if (!flags.includes(aloneFlags)) {
    shapes.add("groups");
    return;
  }
  for (let line = 0; line < flags.length; line++) {
    const isAlone = flags[line] === aloneFlags;
    shapes.add(isAlone ? "trajectories" : "groups");
    const key = isAlone ? kernel.groupKey(line) : undefined;
    if (key !== undefined) keys.set(parts.count + line, key);
  }
};

/** Checksums and digests of the bytes of lines. */
const marksOf = ({ columns, lines }: Kernel, { bytes, start }: Text) => {
  const { starts, lengths } = columns;
  const checksums = new Uint32Array(lines);
  const digests = Buffer.alloc(lines * digestBytes);
  for (let line = 0; line < lines; line++) {
    const from = (starts[line] ?? 0) - start;
    const own = bytes.subarray(from, from + (lengths[line] ?? 0));
    checksums[line] = crc32(own);
    // A digest that comes as a text costs less than one that comes with memory of its own.
    digests.write(hash("sha256", own, "binary"), line * digestBytes, digestBytes, "latin1");
  }
  return { checksums: [checksums], digests: [digests] };
};

/** Adds what the kernel summed up since the last time. */
export const addSums = ({ tally, picture }: Found, kernel: Kernel): void =>
  kernel.takeSums((sums) => {
    const rewards = sumOf(sums, layout.rewardSeries);
    const metrics = sums.names
      .map((name, index) => ({ name, series: layout.metricSeries + index }))
      .filter(({ series }) => countOf(sums, series) > 0);
    tally.merge({
      trajectories: rewards.count,
      groups: sums.groups,
      trainable: sums.trainable,
      exceptions: sums.exceptions,
      reward: rewards,
      deviations: sumOf(sums, layout.deviationSeries),
      metrics: new Map(metrics.map(({ name, series }) => [name, sumOf(sums, series)])),
    });
    const own: Picture = {
      rewards: sketchOf(sums, layout.rewardSeries),
      turns: sketchOf(sums, layout.turnSeries),
      characters: sketchOf(sums, layout.characterSeries),
      sampled: sums.sampled,
      metrics: new Map(
        metrics
          .filter(({ series }) => series < layout.mostSketched)
          .map(({ name, series }) => [name, sketchOf(sums, series)]),
      ),
    };
    mergePicture(picture, own);
  });

const viewOf = ({ memory, seriesOf }: KernelSums, series: number): DataView => new DataView(memory, seriesOf(series));

const countOf = (sums: KernelSums, series: number): number => viewOf(sums, series).getUint32(layout.countAt, true);

/** An exact sum, and of how many numbers. */
const sumOf = (sums: KernelSums, series: number): { readonly sum: PackedSum; readonly count: number } => {
  const limbs = new BigInt64Array(sums.memory, sums.seriesOf(series) + layout.limbsAt, limbCount);
  return { sum: unitsOf(limbs), count: countOf(sums, series) };
};

const sketchOf = (sums: KernelSums, series: number): Sketch => {
  const view = viewOf(sums, series);
  const count = view.getUint32(layout.countAt, true);
  const buckets = view.getUint32(layout.bucketsAt, true);
  const different = buckets === 0 ? view.getUint32(layout.differentAt, true) : 0;
  const values = Array.from({ length: different }, (_, at): [number, number] => [
    view.getFloat64(layout.valuesAt + 8 * at, true),
    view.getUint32(layout.timesAt + 4 * at, true),
  ]);
  return {
    count,
    // A negative zero is a zero.
    least: view.getFloat64(layout.leastAt, true) + 0,
    most: view.getFloat64(layout.mostAt, true) + 0,
    mean: view.getFloat64(layout.meanAt, true),
    squares: view.getFloat64(layout.squaresAt, true),
    values: buckets === 0 ? new Map(values) : undefined,
    buckets: buckets === 0 ? undefined : new Uint32Array(sums.memory, buckets, bucketCount),
  };
};
