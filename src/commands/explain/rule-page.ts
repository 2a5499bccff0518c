/** What the page of a rule is. */
import type { Problem } from "../../failure.ts";

/** A rule's page: why it is one, and an example of what it says. */
export interface RulePage {
  readonly why: string;
  readonly example: Problem;
}
