/** Failures of writing output and reports. */

import { Failure } from "../failure.ts";
import { pluralize } from "../sentences.ts";

/** @param groups what had become of them, if some were to be logged */
export const outputFailed = (
  code: string,
  groups?: { readonly logged: number; readonly already_logged: number; readonly not_sent: number },
): Failure => {
  const end =
    groups === undefined
      ? ""
      : `; ${pluralize(groups.logged, "group")} logged, ${groups.already_logged} before, ${groups.not_sent} not sent`;
  return new Failure("storage", "output-failed", `standard output can't be written (${code})${end}`, {
    hint: code === "ENOSPC" ? "the disk is full: make room, or write elsewhere" : "write to another file or device",
    systemCode: code,
  });
};

export const reportExists = (file: string): Failure =>
  new Failure("usage", "report-exists", `${file} is there already, and is no report that rollcall wrote`, {
    hint: "name another file: --report junit=report.xml; or take that one away",
  });

export const reportUnwritable = (file: string, code: string): Failure =>
  new Failure("storage", "report-unwritable", `the report can't be written to ${file} (${code})`, {
    hint: "name another file: --report junit=report.xml",
  });
