/** Formats the parts of messages that several modules share. */
import type { FailureLocation, Problem } from "../failure.ts";

export const inProfile = (command: string, profile: string) =>
  profile === "default" ? command : `${command} --profile ${profile}`;

export const pluralize = (count: number, noun: string, plural = `${noun}s`) =>
  `${count} ${count === 1 ? noun : plural}`;

/** Compares UTF-16 units. */
export const compareTexts = (a: string, b: string) => (a < b ? -1 : a > b ? 1 : 0);

/** Returns at most `maxUnits` UTF-16 units, but never half of a character. */
export const cutText = (text: string, maxUnits: number) =>
  text.slice(0, /[\ud800-\udbff]/.test(text.charAt(maxUnits - 1)) ? maxUnits - 1 : maxUnits);

/** True for spellings of nothing or no, and for lists and objects of them. Deeper values count as content. */
export const isBlank = (value: unknown, levels = 8): boolean => {
  if (typeof value === "object" && value !== null)
    return levels > 0 && Object.values(value).every((member) => isBlank(member, levels - 1));
  return /^(?:f|false|no?|no errors?|0|null|none|nan|n\/a)?$/i.test(String(value ?? "").trim());
};

/** Counts code points. */
export const countCharacters = (text: string) =>
  text.length - (text.match(/[\ud800-\udbff][\udc00-\udfff]/g)?.length ?? 0);

/** Accepts camel case and snake case. */
export const toOptionName = (name: string) => `--${name.replaceAll(/_|(?=[A-Z])/g, "-").toLowerCase()}`;

/** Returns arguments such as `--limit 3`. */
export const toOptionArgs = (options: Readonly<Record<string, unknown>>) =>
  Object.entries(options).flatMap(([name, value]) => {
    if (value === undefined || value === false) return [];
    if (value === true) return [toOptionName(name)];
    return [value].flat().flatMap((one) => [toOptionName(name), String(one)]);
  });

/** An argument that begins with `-` would be an option. */
export const toFileArg = (file: string) => (/^-./.test(file) ? `./${file}` : file);

/** Returns the start of a message, such as `a.jsonl:3:14: `. */
export const positionPrefix = (location: FailureLocation) => (location.file ? `${formatPosition(location)}: ` : "");

export const formatPosition = ({ file = "", line, column }: FailureLocation) =>
  [formatInputName(file), line, column].filter(Boolean).join(":");

export const fieldPrefix = ({ path = [], ...problem }: Problem) =>
  `${positionPrefix(problem)}${path.length === 0 ? "" : `${path.join(".")}: `}`;

export const formatInputName = (file: string) => (file === "-" ? "standard input" : file);

export const resendAloneHint = (which: "remaining" | "rejected") =>
  `copy the ${which} groups to a new file and log that file with the same options, because a rerun logs everything again`;

export type LoggedCounts = Readonly<Record<"logged" | "already_logged", number>>;

export const formatLogged = ({ logged, already_logged: before }: LoggedCounts) =>
  `${pluralize(logged, "group")} logged${before === 0 ? "" : `, ${before} already logged`}`;

export const formatRejected = ({ rejected, unreadable = 0 }: { rejected: number; unreadable?: number | undefined }) => {
  const groups = rejected > unreadable ? [pluralize(rejected - unreadable, "group")] : [];
  const records = unreadable > 0 ? [pluralize(unreadable, "unreadable record")] : [];
  return `${[...groups, ...records].join(" and ")} rejected`;
};

export const formatList = (items: readonly string[], max = 10) =>
  `${items.slice(0, max).join(", ")}${items.length > max ? ` and ${items.length - max} more` : ""}`;

export const formatSuggestion = (suggestion: string | undefined, otherwise?: string): { readonly hint?: string } => {
  const hint = suggestion ? `did you mean ${suggestion}?` : otherwise;
  return hint === undefined ? {} : { hint };
};

export const describeSystemCode = (code: string) =>
  code.startsWith("SQLITE_IOERR") ? `reading or writing failed (${code})` : (systemCodeTexts[code] ?? code);

const systemCodeTexts: Readonly<Record<string, string>> = {
  "08P01": "the pooler or server refuses transactions (08P01)",
  "53100": "the disk of the server is full (53100)",
  "53300": "the server has too many connections (53300)",
  "57P01": "the server is stopping (57P01)",
  "57P03": "the server is starting or stopping (57P03)",
  ABORTED: "the run was stopped",
  CUT: "the connection ended",
  died: "rollcall ended",
  EACCES: "permission denied",
  EADDRINUSE: "another program uses the port",
  EADDRNOTAVAIL: "this machine does not have the address",
  ECONNREFUSED: "connection refused",
  EDQUOT: "the disk quota is exceeded",
  EEXIST: "a part of the path is a file",
  EFBIG: "it is too large",
  EISDIR: "it is a folder",
  EMFILE: "too many files are open (raise the limit with ulimit -n)",
  ENAMETOOLONG: "a name in the path is too long",
  ENOENT: "it does not exist",
  ENOSPC: "the disk is full",
  ENOTDIR: "a part of the path is a file",
  ENOTFOUND: "host not found",
  EPERM: "not permitted",
  EROFS: "the file system is read-only",
  "not-a-file": "it is not a file",
  NOT_HTTP: "an answer that is not HTTP",
  "outside-folder": "it is a link to a file outside of the folder",
  SILENT: "no answer",
  SQLITE_CANTOPEN: "it cannot be opened",
  SQLITE_READONLY: "it is read-only",
  SQLITE_READONLY_DBMOVED: "it was moved or deleted",
};
