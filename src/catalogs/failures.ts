import { Failure, type FailureLocation } from "../failure.ts";
import { explainUnwritable } from "../files.ts";
import { describeSystemCode, formatInputName } from "../sentences.ts";
import { formatCommandLine } from "../shell-words.ts";

/** @param args options for the service, such as `--local` */
export const lockCommand = (file: string, args: readonly string[] = []) =>
  `rollcall catalog lock ${formatCommandLine([...(file === "rollcall.lock.json" ? [] : ["--file", file]), ...args])}`.trimEnd();

const otherLock = "choose another file with --file";

export const invalidLock = (reason: string, where: FailureLocation & { file: string }) => {
  const message = `cannot use ${where.file} as the lock file: ${reason}`;
  return new Failure("invalid_input", "invalid-lock", message, { hint: otherLock, where });
};

type FileFault = Readonly<{ file: string; code: string; cause?: unknown }>;

export const lockUnreadable = ({ file, code, cause }: FileFault) => {
  const details = { hint: "pass a lock file: --file <file>", where: { file }, cause };
  const message = `cannot read the lock file ${file}: ${describeSystemCode(code)}`;
  return new Failure("invalid_input", "lock-unreadable", message, details);
};

export const lockNotOverwritten = (file: string) =>
  new Failure("usage", "lock-not-overwritten", `${file} is not a lock file, so it was not overwritten`, {
    hint: otherLock,
    where: { file },
  });

export const lockUnwritable = ({ file, code, cause }: FileFault) => {
  const { reason, hint } = explainUnwritable(file, code, otherLock);
  const message = `cannot write the lock file ${file}: ${reason}`;
  return new Failure("storage", "lock-unwritable", message, { hint, where: { file }, cause });
};

export const catalogFileUnreadable = ({ file, code, cause }: FileFault) => {
  const message = `cannot read ${formatInputName(file)}: ${describeSystemCode(code)}`;
  const hint = `check the name of the file, or ${catalogHint}`;
  return new Failure("invalid_input", "catalog-file-unreadable", message, { hint, where: { file }, cause });
};

export const invalidCatalogFile = (file: string, reason: string, where: FailureLocation = { file }) => {
  const message = `${formatInputName(file)} is not a catalog: ${reason}`;
  return new Failure("invalid_input", "invalid-catalog-file", message, { hint: catalogHint, where });
};

const catalogHint = "write a catalog to a file: `rollcall catalog router --json > router.json`";
