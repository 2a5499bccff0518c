/** Failures of lock files and of catalogs in files. */
import { Failure, type Where } from "../failure.ts";
import { inputName } from "../sentences.ts";

/** @param wrong a newer version, no JSON, no lock file, or a value of another type at `field` */
export const lockBroken = ({
  file,
  wrong,
  field,
  line,
  column,
}: {
  file: string;
  wrong: LockFault;
  field: string;
  line: number;
  column: number;
}): Failure => {
  const fault = {
    "no-json": "it is not JSON",
    "no-lock": "it is no lock file",
    newer: "a newer rollcall wrote it",
    type: `${field} is not what a lock file has there`,
  }[wrong];
  // What has no mark of a lock file is never written over.
  const first = wrong === "no-json" || wrong === "no-lock" ? "once it is moved away, " : "";
  return new Failure("invalid_input", "lock-broken", `${file} can't be used: ${fault}`, {
    hint: `${first}\`rollcall catalog lock <model…>\` writes it anew; --file names another`,
    where: { file, line, column },
  });
};

/** What can be wrong with a lock file. */
export type LockFault = "no-json" | "no-lock" | "newer" | "type";

export const lockUnreadable = ({ file, code, cause }: { file: string; code: string; cause?: unknown }): Failure =>
  new Failure("invalid_input", "lock-unreadable", `can't read the lock file ${file} (${code})`, {
    hint: "--file names the file that `rollcall catalog lock` wrote",
    where: { file },
    cause,
  });

/** The file that a lock would be written to holds something else. */
export const lockForeign = (file: string): Failure =>
  new Failure("usage", "lock-foreign", `${file} is no lock file, and was left as it is`, {
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
  new Failure("invalid_input", "catalog-file-unreadable", `can't read ${inputName(file)} (${code})`, {
    hint: "give a file that `rollcall catalog router --json` wrote, or - for standard input",
    where: { file },
    cause,
  });

export const catalogFileBroken = (
  { file, wrong }: { file: string; wrong: "no-json" | "no-catalog" },
  where: Where = { file },
): Failure => {
  const fault = wrong === "no-json" ? "it is not JSON" : "it holds no list of models";
  return new Failure("invalid_input", "catalog-file-broken", `${inputName(file)} is no catalog: ${fault}`, {
    hint: "give what `rollcall catalog router --json` prints",
    where,
  });
};
