/** The shape of a reason's words. */
import type { About, Reason, ReasonData } from "../../failure.ts";

/** What is said of a failure. */
export interface Sentences {
  /** What happened, and where: one sentence without a full stop, in lower case unless a name begins it. */
  readonly message: string;
  /** What to do: a sentence, or a command that can be pasted. */
  readonly hint?: string;
}

/** The words of some reasons. */
export type Words<R extends Reason> = {
  readonly [Name in R]: (data: ReasonData<Name>, about: About) => Sentences;
};
