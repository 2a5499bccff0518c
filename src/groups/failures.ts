import type { Problems } from "../check/rules/problems.ts";
import { Failure } from "../failure.ts";
import { fieldPrefix, pluralize, positionPrefix } from "../sentences.ts";

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
  const groups = valid === "some" ? "the valid groups" : pluralize(valid, "valid group");
  return `pass --on-invalid skip to continue with ${groups} and write the invalid groups to the rejects file`;
};

/** @param position undefined for an expression that cannot be parsed */
export const invalidFilter = (
  text: string,
  fault: string,
  position: string | undefined,
  hint = position === undefined ? celHint : dataHint,
) => {
  const end = position === undefined ? "" : ` at ${position}`;
  const message = `cannot ${position === undefined ? "parse" : "evaluate"} --where \`${text}\`${end}: ${fault}`;
  const subject = position === undefined ? fault : `${fault}, at ${position}`;
  return new Failure("usage", "invalid-filter", message, { subject, hint });
};

const celHint =
  "use a CEL expression with the variables reward, truncated, metrics, metadata, messages, group and trajectory.<key>: --where 'reward > 0.5 && group.size >= 4'";
const dataHint =
  "test that a value exists, and convert it: --where 'has(metrics.score) && double(metrics.score) > 1.0'";

export const slowFilter = (text: string, limitMs: number, position: string) => {
  const hint = "remove regular expressions and nested all(), exists(), map() or filter() from the expression";
  return invalidFilter(text, `evaluation takes longer than ${Math.floor(limitMs / 1000)} s`, position, hint);
};

export const nestedTooDeeply = (text: string, position: string) => {
  const message = `cannot evaluate --where \`${text}\` at ${position}: the value is nested too deeply`;
  const hint = "remove the nested value from the file, or use an expression that does not read it";
  return new Failure("invalid_input", "nested-too-deeply", message, { hint });
};
