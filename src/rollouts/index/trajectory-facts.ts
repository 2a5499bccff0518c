/** What a group and the index need to know of a trajectory. */

export const noMetrics: readonly string[] = [];
const noValues = new Float64Array();

/** Doubles start as NaN, because V8 recompiles code if an integer becomes a double. */
export class TrajectoryFacts {
  node = 0;
  /** The node of `messages_and_choices`. */
  list = 0;
  reward = Number.NaN;
  /** The hash of the step columns, or 0. */
  steps = Number.NaN;
  /** Bits, which `trainingBits` describes. */
  training = 0;
  /** The fingerprint of the bytes; 0 without a turn, because `no-assistant-turn` reports such a trajectory. */
  fingerprint = Number.NaN;
  metricNames = noMetrics;
  /** The values of `metricNames`, and older values. */
  metrics: Float64Array = noValues;
  /** As in `MessageWalk`. */
  promptEnd = 0;
  hasGreeting = false;
}
