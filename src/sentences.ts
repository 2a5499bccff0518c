/** Parts of sentences that the failures of several modules share. */
import type { Problem } from "./failure.ts";

/** A number with its noun: `1 group`, `2 groups`; `several` where its plural is not the noun and an s. */
export const pluralize = (count: number, noun: string, several = `${noun}s`): string =>
  `${count} ${count === 1 ? noun : several}`;

/** Where a problem is, to be followed by what it is; empty where that is no place in a file. */
export const positionPrefix = ({ file, line, column }: Pick<Problem, "file" | "line" | "column">): string =>
  file === undefined ? "" : `${[formatInputName(file), line, column].filter((part) => part !== undefined).join(":")}: `;

/** Where a value is that has no column, or that a service named: its file, its line and its path. */
export const fieldPrefix = ({ path = [], ...problem }: Problem): string =>
  `${positionPrefix(problem)}${path.length === 0 ? "" : `${path.join(".")}: `}`;

/** Standard input is typed as `-`, which says nothing in a sentence. */
export const formatInputName = (file: string): string => (file === "-" ? "standard input" : file);

/** The way on without the groups that a service refuses. */
export const skipRefusedHint = "--on-refused skip sets aside the groups that it refuses and sends the others";

/** What was rejected: groups, and what is none since it can't be read. */
export const formatRejected = (counts: { rejected: number; unreadable?: number | undefined }): string => {
  const { rejected, unreadable = 0 } = counts;
  const groups = rejected > unreadable ? [pluralize(rejected - unreadable, "group")] : [];
  const records = unreadable > 0 ? [pluralize(unreadable, "unreadable record")] : [];
  return `${[...groups, ...records].join(" and ")} rejected`;
};

/** Ids that one sentence names. */
const maxListedIds = 10;

/** Ids, one after the other; many are counted. */
export const formatList = (ids: readonly string[]): string =>
  ids.length <= maxListedIds
    ? ids.join(", ")
    : `${ids.slice(0, maxListedIds).join(", ")} and ${ids.length - maxListedIds} more`;

/** The hint that one name was mistyped for another; `otherwise` where none is near. */
export const didYouMean = (suggestion: string | undefined, otherwise?: string): { readonly hint?: string } => {
  const hint = suggestion === undefined ? otherwise : `did you mean ${suggestion}?`;
  return hint === undefined ? {} : { hint };
};

/** What a code of the system means; the code itself where nobody knows. */
export const describeSystemCode = (code: string): string =>
  code.startsWith("SQLITE_IOERR") ? `reading or writing failed (${code})` : (systemCodeTexts[code] ?? code);

const systemCodeTexts: Readonly<Record<string, string>> = {
  EACCES: "permission denied",
  EADDRINUSE: "something else listens there",
  EADDRNOTAVAIL: "this machine has no such address",
  EDQUOT: "the quota is used up",
  EEXIST: "a part of the path is a file",
  EFBIG: "it is too large",
  EISDIR: "it is a folder",
  ELOOP: "too many symbolic links",
  ENAMETOOLONG: "the path is too long",
  ENOENT: "it does not exist",
  ENOSPC: "the disk is full",
  ENOTDIR: "a part of the path is a file",
  ENOTFOUND: "there is no such name",
  EPERM: "not permitted",
  EROFS: "the file system is read-only",
  "not-a-file": "it is not a file",
  SQLITE_CANTOPEN: "it can't be opened",
  SQLITE_READONLY: "it can only be read",
};

/** A size in a sentence, rounded to one digit: bytes below 1 KiB, at most MiB. */
export const formatRoundedSize = (bytes: number): string => {
  if (bytes < 1024) return `${bytes} bytes`;
  return bytes < 2 ** 20 ? `${roundToOneDigit(bytes / 1024)} KiB` : `${roundToOneDigit(bytes / 2 ** 20)} MiB`;
};

const roundToOneDigit = (value: number): number => Math.round(value * 10) / 10;
