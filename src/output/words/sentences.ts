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

/** Where a problem is, to be followed by what it is; empty where that is no place in a file. */
export const placeOf = ({ file, line, column }: { file?: string; line?: number; column?: number }): string =>
  file === undefined ? "" : `${[nameOf(file), line, column].filter((part) => part !== undefined).join(":")}: `;

/** Standard input is typed as `-`, which says nothing in a sentence. */
const nameOf = (file: string): string => (file === "-" ? "standard input" : file);

/** What goes on without the groups that a service refuses. */
export const skipRefused = "--on-refused skip sets the groups that it refuses aside and sends the others";
