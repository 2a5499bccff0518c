/** The facts of a trajectory that one walk finds. */
import { countNames } from "../facts/facts.ts";

export interface TrajectoryFacts {
  choices: number;
  choicesWithLogprobs: number;
  hasAssistantTurn: boolean;
  callsTools: boolean;
  /** The node of the first choice or, without choices, of the first assistant turn; or 0. */
  firstTurn: number;
  /** The byte after the prompt: the messages before the first turn. 0 without a user message, which has the task. */
  promptEnd: number;
  /** True if the prompt begins with an assistant message, so that a simulated user may have written the rest. */
  hasGreeting: boolean;
  /** The node of the last choice, or 0. */
  lastChoice: number;
  /** The finish reason of the last choice if it is `length`, or 0. */
  cutNode: number;
  /** The finish reason of the last choice. */
  finishReason: string | undefined;
  /** By the index in `countNames`. The walk over messages counts turns and characters. */
  readonly counts: Int32Array;
  /** False if no caller needs `counts`. */
  isMeasured: boolean;
  node: number;
  /** The node of `messages_and_choices`. */
  list: number;
  reward: number;
  /** The final policy version. Default: the initial policy version. */
  version: number;
  /** The hash of the step columns, or 0. */
  steps: number;
  /** Bits, which `trainingBits` describes. */
  training: number;
  /** The offset in the part, and the length, in bytes. */
  start: number;
  length: number;
  /** The fingerprint of the bytes. */
  fingerprint: number;
  metricNames: readonly string[];
  /** The values of `metricNames`, and older values. */
  metrics: Float64Array;
}

export const noMetrics: readonly string[] = [];
const noValues = new Float64Array();

/** Doubles start as NaN, because V8 recompiles code if an integer becomes a double. */
export const createTrajectoryFacts = (): TrajectoryFacts => ({
  node: 0,
  list: 0,
  reward: Number.NaN,
  version: Number.NaN,
  steps: Number.NaN,
  training: 0,
  start: 0,
  length: 0,
  fingerprint: Number.NaN,
  metricNames: noMetrics,
  metrics: noValues,
  choices: 0,
  choicesWithLogprobs: 0,
  hasAssistantTurn: false,
  callsTools: false,
  firstTurn: 0,
  promptEnd: 0,
  hasGreeting: false,
  lastChoice: 0,
  cutNode: 0,
  finishReason: undefined,
  counts: new Int32Array(countNames.length),
  isMeasured: false,
});
