/** The facts of a trajectory that one walk finds. */
import { countNames } from "../facts.ts";

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
  /** The fingerprint of the bytes. */
  fingerprint = Number.NaN;
  metricNames = noMetrics;
  /** The values of `metricNames`, and older values. */
  metrics: Float64Array = noValues;
  choices = 0;
  choicesWithLogprobs = 0;
  hasAssistantTurn = false;
  callsTools = false;
  /** The node of the first choice or, without choices, of the first assistant turn; or 0. */
  firstTurn = 0;
  /** The byte after the prompt: the messages before the first turn. 0 without a user message, which has the task. */
  promptEnd = 0;
  /** True if the prompt begins with an assistant message, so that the user may be simulated. */
  hasGreeting = false;
  /** The node of the last choice, or 0. */
  lastChoice = 0;
  /** The finish reason of the last choice if it is `length`, or 0. */
  cutNode = 0;
  /** The finish reason of the last choice. */
  finishReason: string | undefined = undefined;
  /** By the index in `countNames`. The walk over messages counts turns and characters. */
  readonly counts = new Float64Array(countNames.length);
  /** False if no caller needs `counts`. */
  needsCounts = false;
}
