/** Puts what the kernel summed up to what was found otherwise. */

import { mergePicture, type Picture } from "../metrics/picture.ts";
import { bucketCount, type Sketch } from "../metrics/sketch.ts";
import type { Found } from "../parts/found.ts";
import type { Kernel, KernelSums } from "./kernel.ts";

/** Series by their places (kernel/series.ts); those of metrics follow in the order of the names. */
const rewardSeries = 0;
const turnSeries = 1;
const characterSeries = 2;
const deviationSeries = 3;
const metricSeries = 4;

/** Series that have a distribution. */
const mostSketched = 206;

const limbCount = 69;

/** Takes over what the kernel summed up since the last time. */
export const takeSums = ({ tally, picture }: Found, kernel: Kernel): void =>
  kernel.takeSums((sums) => {
    const rewards = sumOf(sums, rewardSeries);
    const metrics = sums.names
      .map((name, index) => ({ name, series: metricSeries + index }))
      .filter(({ series }) => countOf(sums, series) > 0);
    tally.merge({
      trajectories: rewards.count,
      groups: sums.groups,
      trainable: sums.trainable,
      exceptions: sums.exceptions,
      reward: rewards,
      deviations: sumOf(sums, deviationSeries),
      metrics: new Map(metrics.map(({ name, series }) => [name, sumOf(sums, series)])),
    });
    const own: Picture = {
      rewards: sketchOf(sums, rewardSeries),
      turns: sketchOf(sums, turnSeries),
      characters: sketchOf(sums, characterSeries),
      metrics: new Map(
        metrics.filter(({ series }) => series < mostSketched).map(({ name, series }) => [name, sketchOf(sums, series)]),
      ),
    };
    mergePicture(picture, own);
  });

const viewOf = ({ memory, seriesOf }: KernelSums, series: number): DataView => new DataView(memory, seriesOf(series));

const countOf = (sums: KernelSums, series: number): number => viewOf(sums, series).getUint32(0, true);

/** An exact sum, and of how many numbers. */
const sumOf = (sums: KernelSums, series: number) => {
  const view = viewOf(sums, series);
  const hasLimbs = view.getUint32(48, true) === 1;
  const limbs = hasLimbs ? new Float64Array(sums.memory, sums.seriesOf(series) + 56, limbCount) : undefined;
  return { sum: { whole: view.getFloat64(40, true), limbs }, count: view.getUint32(0, true) };
};

const sketchOf = (sums: KernelSums, series: number): Sketch => {
  const view = viewOf(sums, series);
  const count = view.getUint32(0, true);
  const buckets = view.getUint32(52, true);
  const different = buckets === 0 ? view.getUint32(4, true) : 0;
  const values = Array.from({ length: different }, (_, at): [number, number] => [
    view.getFloat64(608 + 8 * at, true),
    view.getUint32(1120 + 4 * at, true),
  ]);
  return {
    count,
    // A negative zero is a zero.
    least: view.getFloat64(8, true) + 0,
    most: view.getFloat64(16, true) + 0,
    mean: view.getFloat64(24, true),
    squares: view.getFloat64(32, true),
    values: buckets === 0 ? new Map(values) : undefined,
    buckets: buckets === 0 ? undefined : new Uint32Array(sums.memory, buckets, bucketCount),
  };
};
