/** Defines the document of `rollcall compare`. */
import type { ProblemDocument } from "../../failure.ts";
import type { Comparison } from "../../rollouts/stats/compare.ts";

/** The members of a comparison that are not in the document. */
type HiddenKey =
  | ("changed" | "changes" | "readPair" | "readKey" | "uncomparedMetrics" | "overflowingMetrics" | "pairing")
  | "steps";

export interface CompareDocument extends Omit<Comparison, HiddenKey> {
  /** The pairs whose reward changed most. */
  readonly changed: readonly ChangedPair[];
  readonly warnings: readonly ProblemDocument[];
  readonly notes: readonly string[];
}

/** `at_a` and `at_b` are positions, such as `a.jsonl:3`. */
export type ChangedPair = Readonly<
  Record<"prompt" | "at_a" | "at_b", string> & Record<"a" | "b" | "difference", number> & { key: string | null }
>;

export const documentKeys: readonly (keyof CompareDocument)[] = [
  ...(["a", "b", "exceptions", "paired", "only_a", "only_b", "failed_a", "failed_b", "without_prompt"] as const),
  ...(["reward", "reward_of_all", "pass", "causes", "facts", "tools", "transitions", "divisions"] as const),
  ...(["settings", "metrics", "finish_reasons", "changed", "warnings", "notes"] as const),
];
