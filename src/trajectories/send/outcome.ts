/** What an attempt at a log request means: the table of outcomes (promises.md, "What the ledger promises"). */
import type { Attempt } from "../../client/index.ts";

/**
 * What became of a request.
 * `logged`: the service has it. `not-sent`, `not-processed`: it does not, and another try may be made.
 * `too-large`: it does not, and never will at this size. `refused`: it does not. `unknown`: nobody here can know.
 */
export type Outcome = "logged" | "not-sent" | "not-processed" | "too-large" | "refused" | "unknown";

/** The outcome of an attempt. A status line that was read decides, even if sending broke. */
export const outcomeOf = (attempt: Attempt): Outcome => {
  if (attempt.kind === "broken") return attempt.bodySent ? "unknown" : "not-sent";
  const { status } = attempt;
  if (status >= 200 && status < 300) return "logged";
  if (status === 413) return "too-large";
  if (status === 429 || status === 408) return "not-processed";
  // Assumed: a 503 that says when to come back comes from before the service, not from behind it.
  if (status === 503 && attempt.retryAfterMs !== undefined) return "not-processed";
  if (status >= 500) return attempt.bodySent ? "unknown" : "not-processed";
  return status === 409 ? "unknown" : "refused";
};
