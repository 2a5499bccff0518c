/** Adds what the kernel found to what was found before: the facts of each line, and the sums over all of them. */
import { hash } from "node:crypto";
import { crc32 } from "node:zlib";
import { bucketCount, limbCount, mostValues } from "../../groups/metrics/constants.ts";
import { addExtreme, lookAtReward, mayHold, mergePicture, type Picture } from "../../groups/metrics/picture.ts";
import { mergeSketch, type Sketch } from "../../groups/metrics/sketch.ts";
import { type SumData, unitsOf } from "../../groups/metrics/sums.ts";
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
  const data = {
    source: new Uint32Array(lines).fill(source),
    start: columns.starts.subarray(0, lines),
    length: columns.lengths.subarray(0, lines),
    line: columns.numbers.subarray(0, lines),
    kind: columns.flags.subarray(0, lines).map((flags) => flags & 3),
    valid: new Uint8Array(lines).fill(1),
    equal: columns.flags.subarray(0, lines).map((flags) => flags >> 3),
    trajectories: columns.counts.subarray(0, lines),
    reward: columns.lineRewards.subarray(0, lines),
    version: columns.versions.subarray(0, lines),
    training: columns.trainings.subarray(0, lines),
    fingerprint: columns.prints.subarray(0, kernel.trajectories),
    ...(parts.isMarked ? marksOf(kernel, text) : { checksum: new Uint32Array(lines) }),
  };
  const named = Object.entries(data).map(([name, values]) => [name, { blocks: [values], length: values.length }]);
  parts.append({ columns: Object.fromEntries(named) });
};

/** Looks at the rewards of each line, where one of them may be needed. */
const takeRewards = ({ extremes, parts }: Found, { columns: { counts, rewards }, lines, rewardEnds }: Kernel): void => {
  const isSmall = extremes.rewards.maxValues === Number.POSITIVE_INFINITY;
  if (!isSmall && !mayHold(extremes, rewardEnds)) return;
  const take = isSmall ? lookAtReward : takeExtreme;
  let at = 0;
  for (let line = 0; line < lines; line++) {
    const count = counts[line] ?? 0;
    for (let trajectory = 0; trajectory < count; trajectory++) {
      take(extremes, rewards[at++] ?? 0, parts.count + line, trajectory);
    }
  }
};

/** Of a large source, the rewards themselves are summed up by the kernel. */
const takeExtreme = (extremes: Found["extremes"], reward: number, part: number, trajectory: number): void =>
  addExtreme(extremes, { reward, part, trajectory });

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
  const digests = Buffer.from(new ArrayBuffer(lines * digestBytes));
  for (let line = 0; line < lines; line++) {
    const from = (starts[line] ?? 0) - start;
    const own = bytes.subarray(from, from + (lengths[line] ?? 0));
    checksums[line] = crc32(own);
    // A digest that comes as a text costs less than one that comes with memory of its own.
    digests.write(hash("sha256", own, "binary"), line * digestBytes, digestBytes, "latin1");
  }
  return {
    checksum: checksums,
    digest: new Uint32Array(digests.buffer, digests.byteOffset, lines * (digestBytes / 4)),
  };
};

/** Adds what the kernel summed up since the last time. */
export const addSums = ({ tally, picture, extremes }: Found, kernel: Kernel): void =>
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
      byName: new Map(metrics.map(({ name, series }) => [name, sumOf(sums, series)])),
    });
    mergeSketch(extremes.rewards, sketchOf(sums, layout.rewardSeries));
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
const sumOf = (sums: KernelSums, series: number): { readonly sum: SumData; readonly count: number } => {
  const limbs = new BigInt64Array(sums.memory, sums.seriesOf(series) + layout.limbsAt, limbCount);
  return { sum: { units: unitsOf(limbs), limbs: new Float64Array() }, count: countOf(sums, series) };
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
    maxValues: mostValues,
    // A negative zero is a zero.
    least: view.getFloat64(layout.leastAt, true) + 0,
    most: view.getFloat64(layout.mostAt, true) + 0,
    mean: view.getFloat64(layout.meanAt, true),
    squares: view.getFloat64(layout.squaresAt, true),
    values: buckets === 0 ? new Map(values) : undefined,
    buckets: buckets === 0 ? undefined : new Uint32Array(sums.memory, buckets, bucketCount),
  };
};
