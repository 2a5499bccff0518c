/** How a finding is reported: by its rule, at a value. */
import type { Path } from "./rules/places.ts";
import type { RuleData, RuleName } from "./rules/rules.ts";

/**
 * Takes a finding. What it says is asked only if it is kept.
 * @param node the value that it is about
 * @param steps the path from there to what it is about: to a value that is absent, or to a number in an array that is one node
 */
export type Report = <Name extends RuleName>(
  rule: Name,
  data: () => RuleData<Name>,
  node: number,
  ...steps: Path
) => void;

/** The data of rules that have none. */
export const none = (): undefined => undefined;
