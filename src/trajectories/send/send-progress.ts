/** How far sending is, and what just became of a request. */
import type { Attempt } from "../../client/index.ts";
import type { Outcome } from "./outcome.ts";
import type { PlannedRequest } from "./plan.ts";

/** How far sending is. */
export interface SendProgress {
  /** Requests that have an outcome, and all that there are so far. */
  readonly requests: number;
  readonly of: number;
  /** Bytes and groups that are logged; bytes on their way count too. */
  readonly bytes: number;
  readonly ofBytes: number;
  readonly groups: number;
  /** What just became of a request; undefined where bytes just moved on. */
  readonly change: RequestChange | undefined;
}

/** What became of a request. */
export interface RequestChange {
  readonly outcome: Outcome;
  /** Whether it is tried again. */
  readonly again: boolean;
  readonly groups: number;
  readonly bytes: number;
  /** The status that was answered, or the code of what was in the way. */
  readonly reason: string;
}

/** What an attempt changed. */
export const changeOf = (
  { groups, bytes }: PlannedRequest,
  attempt: Attempt,
  { outcome, again }: { readonly outcome: Outcome; readonly again: boolean },
): RequestChange => ({
  outcome,
  again,
  groups: groups.length,
  bytes,
  reason: attempt.kind === "answered" ? String(attempt.status) : attempt.code,
});
