/** Failures of checking and choosing groups. */

import { Failure, type Problem, type RuleProblemCount } from "../failure.ts";
import { fieldPrefix, pluralize, positionPrefix } from "../sentences.ts";

/** No split was given, and the input does not say one. @param found the splits that it says, if any */
export const splitMissing = (found: readonly string[]): Failure =>
  found.length > 1
    ? new Failure("usage", "missing-split", `the requests are for different splits: ${found.join(", ")}`, {
        hint: "a run has one split: keep the requests of one in a file of their own",
      })
    : new Failure("usage", "missing-split", "no split is named, and the input does not say one", {
        hint: "--split train, or another name; or ROLLCALL_SPLIT=…, or `rollcall config set split …`",
      });

/** How many groups are valid if they could be sent without the others; `some` of a file that is still written. */
export type ValidGroups = number | "some" | undefined;

/** @param counts all problems, including those that are not in `problems` @param unsent whether sending was meant */
export const invalidInputFailure = (
  {
    counts,
    unsent: wasSendIntended,
    valid,
  }: { counts: readonly RuleProblemCount[]; unsent?: boolean | undefined; valid?: ValidGroups },
  problems: readonly Problem[],
): Failure => {
  const errors = counts.filter(({ severity }) => severity === "error");
  const total = errors.reduce((sum, { count }) => sum + count, 0);
  const [first] = problems;
  const about = { problems, ruleCounts: counts, validGroups: valid };
  if (total === 1 && first !== undefined) {
    const place = first.column === undefined ? fieldPrefix(first) : positionPrefix(first);
    const message = `${place}${first.message} [${first.rule}]`;
    return new Failure("invalid_input", "invalid-input", message, {
      hint: combineHints(first.advice, valid),
      ...about,
    });
  }
  const rules = errors.map(({ rule, count }) => `${count} ${rule}`).join(", ");
  const message = `the input has ${total} errors (${rules})${wasSendIntended === true ? ": nothing was sent" : ""}`;
  return new Failure("invalid_input", "invalid-input", message, { hint: skipHint(valid), ...about });
};

/** What fixes a problem, or else how the valid groups are sent; what says that by itself is not told it twice. */
export const combineHints = (fix: string | undefined, valid: ValidGroups): string | undefined => {
  const skip = fix?.includes("--on-invalid skip") === true ? undefined : skipHint(valid);
  const ways = [fix, skip].filter((way) => way !== undefined);
  return ways.length === 0 ? undefined : ways.join("; or ");
};

/** How the valid groups are sent; undefined if there are none. */
const skipHint = (valid: ValidGroups = 0): string | undefined =>
  valid === 0
    ? undefined
    : `--on-invalid skip sends what is valid${valid === "some" ? "" : ` (${pluralize(valid, "group")})`} and sets the rest aside`;

const cel = "it is a CEL expression over reward, metrics, metadata, messages and group";

/** @param place the trajectory that the expression of `--where` can't be evaluated for; undefined if it can't be parsed */
export const invalidFilter = (text: string, wrong: string, place: string | undefined): Failure => {
  const [how, detail, hint] =
    place === undefined
      ? ["read", wrong, `${cel}: --where 'reward > 0.5 && group.size >= 4'`]
      : [
          `evaluated at ${place}`,
          `${wrong}, at ${place}`,
          "ask first whether a key is there: --where 'has(metrics.score) && metrics.score > 1'",
        ];
  return new Failure("usage", "invalid-filter", `--where ${text} can't be ${how}: ${wrong}`, { subject: detail, hint });
};
