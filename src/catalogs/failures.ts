/** Failures of lock files and of catalogs in files. */
import { Failure, type FailureLocation } from "../failure.ts";
import { formatInputName } from "../sentences.ts";

export type LockFault = "not-json" | "not-a-lock" | "newer" | "type";

interface InvalidLock {
  readonly file: string;
  readonly fault: LockFault;
  readonly field: string;
  readonly line: number;
  readonly column: number;
}

export const invalidLock = ({ file, fault, field, line, column }: InvalidLock): Failure => {
  const reason = {
    "not-json": "it is not JSON",
    "not-a-lock": "it is not a lock file",
    newer: "a newer rollcall wrote it",
    type: `invalid ${field}`,
  }[fault];
  // A file that is not a lock file is never overwritten.
  const isOther = fault === "not-json" || fault === "not-a-lock";
  const hint = isOther ? "choose another file with --file" : "write it again with `rollcall catalog lock <model…>`";
  const message = `cannot use the lock file ${file}: ${reason}`;
  return new Failure("invalid_input", "invalid-lock", message, { hint, where: { file, line, column } });
};

export const lockUnreadable = ({ file, code, cause }: { file: string; code: string; cause?: unknown }): Failure =>
  new Failure("invalid_input", "lock-unreadable", `cannot read the lock file ${file} (${code})`, {
    hint: "pass the file that `rollcall catalog lock` wrote with --file",
    where: { file },
    cause,
  });

export const lockNotOverwritten = (file: string): Failure =>
  new Failure("usage", "lock-not-overwritten", `${file} is not a lock file, so it was not overwritten`, {
    hint: "choose another file with --file",
    where: { file },
  });

export const lockUnwritable = ({ file, code, cause }: { file: string; code: string; cause: unknown }): Failure =>
  new Failure("storage", "lock-unwritable", `cannot write the lock file ${file} (${code})`, {
    hint: "choose a file in a writable folder with --file",
    where: { file },
    cause,
  });

export const catalogFileUnreadable = ({ file, code, cause }: { file: string; code: string; cause: unknown }): Failure =>
  new Failure("invalid_input", "catalog-file-unreadable", `cannot read ${formatInputName(file)} (${code})`, {
    hint: catalogHint,
    where: { file },
    cause,
  });

export const invalidCatalogFile = (file: string, reason: string, where: FailureLocation = { file }): Failure =>
  new Failure("invalid_input", "invalid-catalog-file", `${formatInputName(file)} is not a catalog: ${reason}`, {
    hint: catalogHint,
    where,
  });

const catalogHint = "pass the output of `rollcall catalog router --json`, as a file or with - on standard input";
