import { Failure, type FailureDetails } from "../../failure.ts";
import { describeSystemCode } from "../../text/sentences.ts";
import type { Problems } from "../rules/problems.ts";
import type { RuleData, RuleName } from "../rules/rules.ts";

export class UnusableInput<Name extends RuleName = RuleName> extends Error {
  readonly rule: Name;
  readonly data: RuleData<Name>;

  constructor(rule: Name, data: RuleData<Name>, message?: string, cause?: unknown) {
    super(message, { cause });
    this.rule = rule;
    this.data = data;
  }

  report(problems: Problems, file: string): void {
    problems.report(this.rule, this.data, { file });
  }
}

/** @param wrong the defect; `more` means that other data follows the compressed data */
export const corruptData = (by: "gzip" | "zstd", wrong: RuleData<"compressed-corrupt">["wrong"], cause?: unknown) =>
  new UnusableInput("compressed-corrupt", { by, wrong }, `invalid ${by} data`, cause);

export const decompressedTooLarge = (
  limit: number,
  maxUnpackedBytes: number,
  kind: RuleData<"decompressed-too-large">["kind"],
) => {
  const data = { limit, kind, isSetting: limit === maxUnpackedBytes };
  return new UnusableInput("decompressed-too-large", data, `it decompresses to more than ${limit} bytes`);
};

export const inputMissing = () =>
  new Failure("usage", "input-missing", "no file is named, and standard input is a terminal", {
    hint: "name a file, or pipe one into standard input",
  });

export const duplicateStdin = () =>
  new Failure("usage", "duplicate-stdin", "- is given twice, but standard input can be read only once", {
    hint: "pass - only once",
  });

export const invalidRewards = (fault: string, hint?: string) =>
  new Failure("usage", "invalid-option-value", fault, { hint });

export const inputUnreadable = (file: string, code: string, details: FailureDetails) =>
  new Failure("invalid_input", "input-unreadable", `read error in ${file} (${code})`, {
    hint: "copy the file to another disk and rerun the command",
    retryable: true,
    ...details,
  });

export const spoolFailed = (folder: string, code: string, details: FailureDetails = {}) =>
  new Failure("storage", "spool-failed", `cannot write temporary data to ${folder}: ${describeSystemCode(code)}`, {
    hint: `set TMPDIR to a folder ${/^E(?:NOSPC|DQUOT|FBIG)$/.test(code) ? "with more space" : "that you can write to"}, or read an uncompressed local file in rollcall's format`,
    ...details,
  });
