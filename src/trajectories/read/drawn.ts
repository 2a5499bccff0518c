/** What a person is drawn of a reading: distributions as values and how often they came. */

import { hasNoSignal } from "./dataset.ts";
import { medianOf, type Sketch, spreadOf, type Weight, weightsOf } from "./metrics/sketch.ts";
import type { Reading } from "./read.ts";

/** A distribution: values in their order, and how often each came. */
export interface Distribution {
  readonly count: number;
  readonly least: number;
  readonly most: number;
  readonly mean: number;
  readonly spread: number;
  readonly median: number;
  readonly weights: readonly Weight[];
}

const distributionOf = (sketch: Sketch): Distribution => {
  const weights = weightsOf(sketch);
  const { count, least, most, mean } = sketch;
  return { count, least, most, mean, spread: spreadOf(sketch), median: medianOf(weights), weights };
};

/** Distributions of rewards, lengths and metrics over the trajectories read, and the groups whose rewards differ. */
export const drawnOf = (reading: Reading) => {
  const { groups, found } = reading;
  const { rewards, turns, characters, metrics } = found.picture;
  const counts = { withSignal: 0, of: 0 };
  for (let group = 0; group < groups.count; group++) {
    if (!groups.isValid(group)) continue;
    counts.of++;
    if (groups.trajectoriesOf(group) > 1 && !hasNoSignal(reading, group)) counts.withSignal++;
  }
  return {
    rewards: distributionOf(rewards),
    groups: counts,
    lengths: [
      { name: "turns", distribution: distributionOf(turns) },
      { name: "characters", distribution: distributionOf(characters) },
    ],
    metrics: Array.from(metrics, ([name, sketch]) => ({ name, distribution: distributionOf(sketch) })).sort((a, b) =>
      a.name < b.name ? -1 : 1,
    ),
  };
};
