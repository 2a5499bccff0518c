/** Defines rollouts and groups that were converted and written. */
import type { Value } from "../../json/value.ts";
import type { Rollout } from "./format.ts";
import type { RolloutPosition } from "./source-records.ts";

export interface WrittenRollout extends RolloutPosition, Pick<Rollout, "id" | "index"> {
  readonly start: number;
  /** The number of bytes, or 0 without a trajectory. */
  readonly length: number;
  /** The byte range of the part, or undefined for a whole record. */
  readonly span: Value["span"] | undefined;
  readonly digest: string;
  /** The JSON of the exception, or an empty text. */
  readonly exception: string;
  /** True if the record states no finish reason of the last choice. */
  readonly isFinishDerived?: boolean;
  readonly isBroken?: true;
}

export interface ConvertedGroup {
  readonly position: number;
  readonly rollouts: WrittenRollout[];
  /** True for a group with a key of `--group-by`. */
  readonly spansFiles: boolean;
  isBroken: boolean;
  trajectories: number;
  members: string;
}
