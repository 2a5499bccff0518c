/** Failures of expressions. */
import { Failure } from "../../failure.ts";
import { formatSeconds } from "../../text/units.ts";

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
  "use a CEL expression with the variables reward, truncated, turns, tool_errors, metrics, metadata, messages, group and trajectory.<key>: --where 'reward > 0.5 && group.size >= 4'";
const dataHint =
  "test that a value exists, and convert it: --where 'has(metrics.score) && double(metrics.score) > 1.0'";

export const slowFilter = (text: string, limitMs: number, position: string) => {
  const hint = "remove regular expressions and nested all(), exists(), map() or filter() from the expression";
  return invalidFilter(text, `evaluation takes longer than ${formatSeconds(limitMs, Math.floor)}`, position, hint);
};

export const nestedTooDeeply = (text: string, position: string) => {
  const message = `cannot evaluate --where \`${text}\` at ${position}: the value is nested too deeply`;
  const hint = "remove the nested value from the file, or use an expression that does not read it";
  return new Failure("invalid_input", "nested-too-deeply", message, { hint });
};
