/** Failures if output or a report cannot be written. */
import { Failure } from "../failure.ts";
import { explainUnwritable } from "../files.ts";
import { describeSystemCode, pluralize } from "../sentences.ts";

/** @param groups the outcome of the groups, if the command logs groups */
export const outputFailed = (
  code: string,
  groups?: { readonly logged: number; readonly already_logged: number; readonly not_sent: number },
): Failure => {
  const { logged = 0, already_logged, not_sent } = groups ?? {};
  const end = `; ${pluralize(logged, "group")} logged, ${already_logged} already logged, ${not_sent} not sent`;
  const message = `cannot write standard output: ${describeSystemCode(code)}${groups === undefined ? "" : end}`;
  const hint = code === "ENOSPC" ? "free disk space, or write to another disk" : "write to another file or device";
  return new Failure("storage", "output-failed", message, { hint, systemCode: code });
};

export const reportExists = (file: string): Failure =>
  new Failure("usage", "report-exists", `${file} already exists, and rollcall did not write its present content`, {
    hint: "choose another file with --report",
  });

export const reportUnwritable = (file: string, code: string): Failure => {
  const { reason, hint } = explainUnwritable(file, code, "choose another file with --report");
  return new Failure("storage", "report-unwritable", `cannot write the report to ${file}: ${reason}`, { hint });
};
