/** What `doctor` finds: one value a check, and what a run ends with that found something wrong. */

import { defect, Failure, type FailureCode } from "../../failure.ts";
import { codeOf } from "../../files.ts";
import { doctorFound } from "../failures.ts";

/** What one check found. */
export interface Finding {
  /** Name of the check: a promise to scripts. */
  readonly check: string;
  readonly status: "ok" | "warning" | "error" | "skipped";
  readonly message: string;
  /** What to do about it. */
  readonly fix?: string | undefined;
  /** What a run ends with that needs this: only of errors. */
  readonly code?: FailureCode;
  /** What was found, for programs. */
  readonly facts?: Readonly<Record<string, unknown>> | undefined;
}

/** What there is to say beside the message. */
type About = Pick<Finding, "fix" | "facts">;

const finding =
  (status: Finding["status"]) =>
  (check: string, message: string, about: About = {}): Finding => ({ check, status, message, ...about });

export const ok = finding("ok");
export const warning = finding("warning");
export const skipped = finding("skipped");

export const error = (check: string, message: string, about: About & { readonly code: FailureCode }): Finding =>
  finding("error")(check, message, about);

/** What a check ended with, as a finding. */
export const failed = async (check: string, thrown: unknown, facts?: Finding["facts"]): Promise<Finding> => {
  if (thrown instanceof Failure) {
    const { message, about } = thrown;
    const { hint } = about;
    return error(check, message, { facts, fix: hint ?? fixes.get(thrown.code) ?? report, code: thrown.code });
  }
  const code = codeOf(thrown);
  if (code === "MODULE_NOT_FOUND" || code === "ERR_MODULE_NOT_FOUND" || code === "ERR_DLOPEN_FAILED") {
    return error(check, `libsql, which keeps files, can't be loaded here (${code})`, {
      facts,
      fix: "install rollcall again on this machine: npm install -g rollcall",
      code: "storage",
    });
  }
  const text = thrown instanceof Error ? thrown.message : String(thrown);
  return error(check, `a defect of rollcall: ${text}`, { facts, fix: report, code: "internal" });
};

const report = "please report it, with the command that was run";

/** What to do where a failure's own words say nothing of it. */
const fixes: ReadonlyMap<FailureCode, string> = new Map([
  ["usage", "give another value, or leave it out"],
  ["storage", "look at the disk under it, or name another place"],
  ["auth", "`rollcall auth login` saves a key"],
  ["unavailable", "try again when it can be reached"],
]);

/** The codes of what can be wrong, what keeps most from working first. */
const gravestFirst = ["usage", "storage", "auth", "unavailable"] as const;

/** What a run ends with that found this; undefined where nothing is wrong. */
export const failureOf = (findings: readonly Finding[]): Failure | undefined => {
  const errors = findings.filter(({ status }) => status === "error");
  const [first] = errors;
  if (first === undefined) return undefined;
  const checks = errors.map(({ check }) => check);
  const gravest = gravestFirst.find((code) => errors.some((one) => one.code === code));
  return gravest === undefined ? defect(first.message) : doctorFound(gravest, checks);
};
