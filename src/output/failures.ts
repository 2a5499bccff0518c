import { Failure } from "../failure.ts";
import { describeSystemCode, pluralize } from "../text/sentences.ts";

export const outputFailed = (
  code: string,
  groups?: Readonly<{ logged: number; already_logged: number; not_sent: number }>,
) => {
  const { logged = 0, already_logged, not_sent } = groups ?? {};
  const end = `; ${pluralize(logged, "group")} logged, ${already_logged} already logged, ${not_sent} not logged`;
  const message = `cannot write standard output: ${describeSystemCode(code)}${groups ? end : ""}`;
  const hint = code === "ENOSPC" ? "free disk space, or write to another disk" : "write to another file or device";
  return new Failure("storage", "output-failed", message, { hint, systemCode: code });
};

export const notRows = () => {
  const message = "--output tsv needs rows, but this result is a page";
  const hint = "pass -o json or -o table, or choose columns with --fields";
  return new Failure("usage", "not-rows", message, { hint });
};
