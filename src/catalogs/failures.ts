/** Failures of lock files and of catalogs in files. */
import { Failure, type FailureLocation } from "../failure.ts";
import { formatInputName } from "../sentences.ts";

/** @param fault `isLock` is false if the file is not a lock file. Such a file is never overwritten. */
export const invalidLock = (fault: FailureLocation & { reason: string; isLock: boolean }): Failure => {
  const { reason, isLock, ...where } = fault;
  return new Failure("invalid_input", "invalid-lock", `cannot use the lock file ${where.file}: ${reason}`, {
    hint: isLock ? "write it again with `rollcall catalog lock <model…>`" : "choose another file with --file",
    where,
  });
};

interface FileFault {
  readonly file: string;
  readonly code: string;
  readonly cause?: unknown;
}

export const lockUnreadable = ({ file, code, cause }: FileFault): Failure =>
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

export const lockUnwritable = ({ file, code, cause }: FileFault): Failure =>
  new Failure("storage", "lock-unwritable", `cannot write the lock file ${file} (${code})`, {
    hint: "choose a file in a writable folder with --file",
    where: { file },
    cause,
  });

export const catalogFileUnreadable = ({ file, code, cause }: FileFault): Failure =>
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
