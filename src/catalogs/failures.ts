/** Failures of lock files and of catalogs in files. */
import { Failure, type FailureLocation } from "../failure.ts";
import { formatInputName } from "../sentences.ts";

/** What can be wrong with a lock file: `type` is a value of another type. */
export type LockFault = "no-json" | "no-lock" | "newer" | "type";

interface InvalidLock {
  readonly file: string;
  readonly fault: LockFault;
  readonly field: string;
  readonly line: number;
  readonly column: number;
}

export const invalidLock = ({ file, fault: wrong, field, line, column }: InvalidLock): Failure => {
  const fault = {
    "no-json": "it is not JSON",
    "no-lock": "it is no lock file",
    newer: "a newer rollcall wrote it",
    type: `${field} is not what a lock file has there`,
  }[wrong];
  // A file that is not a lock file is never overwritten.
  const first = wrong === "no-json" || wrong === "no-lock" ? "once it is moved away, " : "";
  return new Failure("invalid_input", "invalid-lock", `${file} can't be used: ${fault}`, {
    hint: `${first}\`rollcall catalog lock <model…>\` writes it anew; --file names another`,
    where: { file, line, column },
  });
};

export const lockUnreadable = ({ file, code, cause }: { file: string; code: string; cause?: unknown }): Failure =>
  new Failure("invalid_input", "lock-unreadable", `can't read the lock file ${file} (${code})`, {
    hint: "--file names the file that `rollcall catalog lock` wrote",
    where: { file },
    cause,
  });

/** The file that a lock would be written to holds something else. */
export const lockNotOverwritten = (file: string): Failure =>
  new Failure("usage", "lock-not-overwritten", `${file} is no lock file, and was left as it is`, {
    hint: "--file names another file",
    where: { file },
  });

export const lockUnwritable = ({ file, code, cause }: { file: string; code: string; cause: unknown }): Failure =>
  new Failure("storage", "lock-unwritable", `can't write the lock file ${file} (${code})`, {
    hint: "--file names a file in a folder that can be written",
    where: { file },
    cause,
  });

export const catalogFileUnreadable = ({ file, code, cause }: { file: string; code: string; cause: unknown }): Failure =>
  new Failure("invalid_input", "catalog-file-unreadable", `can't read ${formatInputName(file)} (${code})`, {
    hint: "give a file that `rollcall catalog router --json` wrote, or - for standard input",
    where: { file },
    cause,
  });

export const invalidCatalogFile = (
  { file, wrong }: { file: string; wrong: "no-json" | "no-catalog" },
  where: FailureLocation = { file },
): Failure => {
  const fault = wrong === "no-json" ? "it is not JSON" : "it holds no list of models";
  return new Failure("invalid_input", "invalid-catalog-file", `${formatInputName(file)} is no catalog: ${fault}`, {
    hint: "give what `rollcall catalog router --json` prints",
    where,
  });
};
