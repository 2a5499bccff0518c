import { Failure } from "../../failure.ts";
import { fieldPrefix, pluralize, positionPrefix } from "../../text/sentences.ts";
import { createProblem, Problems } from "./problems.ts";
import type { RuleData } from "./rules.ts";

export const inputChanged = (file: string, isFollowed = false) => {
  const problem = createProblem("input-changed", { isFollowed }, { file });
  const hint = `${problem.advice}${isFollowed ? ". Then" : ", then"} rerun the command`;
  const details = { hint, subject: file, retryable: true, problems: [problem] };
  return new Failure("invalid_input", "input-changed", `${file} changed while rollcall read it`, details);
};

/** The number of valid groups; `some` for a growing file. */
type ValidGroups = number | "some" | undefined;

export const invalidInput = (
  problems: Problems,
  { isSending, valid }: { isSending?: boolean; valid?: ValidGroups } = {},
) => {
  const errors = problems.sorted().filter(({ severity }) => severity === "error");
  const [first] = errors;
  const details = { problems: errors };
  if (problems.errors === 1 && first) {
    const position = first.column === undefined ? fieldPrefix(first) : positionPrefix(first);
    const hint = [first.advice, skipHint(valid)].flatMap((way) => way ?? []).join(", or ") || undefined;
    const message = `${position}${first.message} [${first.rule}]`;
    return new Failure("invalid_input", "invalid-input", message, { hint, ...details });
  }
  const rules = problems.counts.flatMap(({ rule, severity, count }) =>
    severity === "error" ? `${count} ${rule}` : [],
  );
  const reason = valid === 0 ? ", and no group is valid" : "";
  const end = isSending === true ? `${reason}, so nothing was sent` : "";
  const message = `the input has ${problems.errors} errors (${rules.join(", ")})${end}`;
  return new Failure("invalid_input", "invalid-input", message, { hint: skipHint(valid), ...details });
};

const skipHint = (valid: ValidGroups = 0) => {
  if (valid === 0) return undefined;
  const groups = valid === "some" ? "valid groups" : pluralize(valid, "valid group");
  return `pass --on-invalid skip to continue with ${groups} and write the invalid groups to the rejects file`;
};

/** Has one problem, because the others would hide it. */
export const tooManyRecords = (limits: RuleData<"too-many-records">, file: string) => {
  const problems = new Problems();
  problems.report("too-many-records", limits, { file });
  return invalidInput(problems);
};

export const missingSplit = (splits: readonly string[]) => {
  const areDifferent = splits.length > 1;
  const message = areDifferent
    ? `the request bodies in the input have different splits: ${splits.join(", ")}`
    : "missing --split (for example --split train)";
  const hint = areDifferent
    ? "write the request bodies of each split to a separate file, and log each file separately"
    : "pass --split <name>, or set ROLLCALL_SPLIT=<name>";
  return new Failure("usage", "missing-split", message, { hint });
};
