/** Defines rules for unreadable input, and for text that is not JSON. */
import type { Fault } from "../../json/reader.ts";
import { describeSystemCode, pluralize, toFileArg } from "../../text/sentences.ts";
import { formatCommandLine } from "../../text/shell-words.ts";
import { error, errorOfInput } from "./rule.ts";

/** The kinds of rollouts in an input that has none of the split. */
export type OfOtherSplits = Readonly<{ split: string; kinds: readonly string[] }>;

const compressionFaults = {
  cut: "the compressed file is truncated",
  corrupt: "the compressed data is corrupt, or other bytes follow it",
  more: "other bytes follow the compressed data",
};

/** V8's maximum number of UTF-16 units in a string. UTF-8 never has more units than bytes. */
export const maxTextBytes = 2 ** 29 - 24;

interface SyntaxProblem {
  fault: Exclude<Fault, "end"> | "python";
  word: string;
  character: string;
  isDocument: boolean;
  isFormatGiven: boolean;
}

const syntaxFaults: Readonly<
  Record<
    SyntaxProblem["fault"],
    readonly [message: (problem: SyntaxProblem) => string, advice: (problem: SyntaxProblem) => string]
  >
> = {
  more: [
    ({ isDocument }) => `unexpected data after the JSON ${isDocument ? "document" : "value"}`,
    ({ isDocument, isFormatGiven }) =>
      isDocument
        ? `${isFormatGiven ? "correct or omit --from, or " : ""}write one JSON document in each file`
        : "write one complete JSON value on each line",
  ],
  "single-quote": [
    () => "expected a string in double quotes, found single quotes",
    () => "write lines with a JSON writer, such as json.dumps",
  ],
  comment: [() => "JSON has no comments", () => "remove the comment"],
  python: [({ word }) => `${word} is Python, not JSON`, () => "write lines with json.dumps, not with str or print"],
  word: [
    ({ word }) => `the word \`${word}\` is not JSON`,
    () => "write keys and strings in double quotes, or remove the text",
  ],
  comma: [
    ({ character }) => `missing value before \`${character}\``,
    () => "add the value, or remove the extra comma, bracket or brace",
  ],
  control: [() => "unescaped control character in a string", () => "write it as an escape, such as \\n or \\t"],
  escape: [
    () => "invalid escape",
    () => 'write \\\\ for a backslash (JSON has only the escapes \\" \\\\ \\/ \\b \\f \\n \\r \\t and \\uXXXX)',
  ],
  number: [
    () => "invalid number",
    () => "write a number such as 1 or 0.5: no +, no leading zeros, and digits before and after a point",
  ],
  character: [({ character }) => `unexpected ${character}`, () => "write lines with a JSON writer, such as json.dumps"],
};

export const fileRules = {
  "file-not-found": errorOfInput<{ isUrl: boolean }>({
    message: ({ isUrl }) => (isUrl ? "rollcall reads files, but no URLs" : "the file does not exist"),
    advice: ({ isUrl }) =>
      isUrl
        ? "pipe the file into standard input: `curl -sSL <url> | rollcall check -`"
        : "check the path (a relative path starts in the current folder), or pass - to read standard input",
    about: "The path is misspelled, or relative to another folder.",
  }),
  "glob-without-match": errorOfInput<{ pattern: string; matches: number }>({
    message: ({ pattern, matches }) =>
      matches === 0
        ? `no file matches ${pattern}`
        : `the shell did not expand ${pattern}, which matches ${pluralize(matches, "file")}`,
    advice: ({ matches }) =>
      matches === 0 ? "check the pattern, or name a file" : "remove the quotes around the pattern",
    about: "No file matches the pattern, or the shell did not expand it because it is in quotes.",
  }),
  "file-unreadable": errorOfInput<{ code: string }>({
    message: ({ code }) => `cannot read the file: ${describeSystemCode(code)}`,
    advice: ({ code }) =>
      code === "outside-folder"
        ? "pass the path of the file that the link leads to"
        : "make the file readable, or pipe it into standard input",
    about: "The operating system refuses access, or a link leads out of the named folder.",
  }),
  "file-is-folder": errorOfInput({
    message: "expected a file, found a folder",
    advice: "name one file of the folder",
    about: "`--follow` reads one file.",
  }),
  "folder-without-rollouts": errorOfInput<{
    files: readonly string[];
    options?: readonly string[] | undefined;
    instead?: string | undefined;
  }>({
    message: ({ files }) =>
      files.length === 0
        ? "this folder contains no .jsonl, .ndjson, .json, .eval, .traj or .parquet file"
        : "no file in this folder contains rollouts",
    advice: ({ files: [file], options = [], instead }) =>
      instead ??
      (file === undefined
        ? "name a file, or another folder (.gz and .zst files also work)"
        : `check one file to see the reason: \`${formatCommandLine(["rollcall", "check", ...options, toFileArg(file)])}\``),
    about: "rollcall reads the .jsonl, .ndjson, .json, .eval, .traj and .parquet files below a folder.",
  }),
  "input-empty": errorOfInput<{ isEmpty: boolean; ofOtherSplits?: OfOtherSplits | undefined }>({
    message: ({ isEmpty, ofOtherSplits: others }) => {
      if (others) return `no rollout is of the split ${others.split}, only of ${others.kinds.join(" and ")}`;
      return isEmpty ? "the input is empty" : "the input has no groups";
    },
    advice: ({ ofOtherSplits: others }) =>
      others
        ? `pass ${others.kinds.map((kind) => `--split ${kind}`).join(" or ")}`
        : "name a file with a group or a trajectory on each line",
    about: "The input has no group, so there is nothing to check or log.",
  }),
  "utf-16": errorOfInput<{ encoding: string }>({
    message: ({ encoding }) => `the file is ${encoding}, not UTF-8`,
    advice: ({ encoding }) => `convert it to UTF-8, for example with iconv -f ${encoding} -t UTF-8`,
    about: "JSON is UTF-8. PowerShell's `>` and some editors write UTF-16.",
  }),
  "not-utf-8": error({
    message: "these bytes are not UTF-8",
    advice: "write the file as UTF-8, or convert it with iconv",
    about: "JSON is UTF-8. Services refuse other bytes.",
  }),
  "not-json": errorOfInput<{ kind: string; instead: string; unreadable?: string }>({
    message: ({ kind, unreadable }) =>
      unreadable === undefined ? `expected JSON lines, found ${kind}` : `cannot read ${kind}: ${unreadable}`,
    advice: ({ instead }) => instead,
    about: "The first bytes show another type of file, such as zip, tar, CSV or a pickle.",
  }),
  "decompressed-too-large": errorOfInput<{
    limit: number;
    isSetting: boolean;
    kind: "stream" | "zip" | "parquet";
  }>({
    message: ({ limit, isSetting }) =>
      `the file decompresses to more than ${limit} bytes${isSetting ? " (`max_unpacked_size`)" : ""}`,
    advice: ({ isSetting, kind }) => {
      const otherwise = {
        stream: "decompress a file that you trust into a pipe: gzip -dc <file> | rollcall … - (for zstd: zstd -dc)",
        zip: "extract an archive that you trust, and pass its folder: unzip -d <folder> <file>",
        parquet: "write its rows as JSON lines",
      };
      return `${isSetting ? "raise `max_unpacked_size`, or " : ""}${otherwise[kind]}`;
    },
    about: "A small archive can fill the disk. The limits are `max_unpacked_size` and 1,000 times the file's size.",
  }),
  "too-many-records": errorOfInput<{ records: number; trajectories: number } | { rollouts: number }>({
    message: (limits) =>
      "rollouts" in limits
        ? `the converted files have more than ${limits.rollouts} rollouts`
        : `the input has more than ${limits.records} lines or groups, or a group has more than ${limits.trajectories} trajectories`,
    advice: "divide the input into several files, and check or log one file at a time",
    about: "rollcall keeps an index of all groups in memory, which a tiny compressed file could fill.",
  }),
  "compressed-corrupt": errorOfInput<{ by: "gzip" | "zstd"; wrong: keyof typeof compressionFaults }>({
    message: ({ wrong }) => compressionFaults[wrong],
    advice: ({ by }) => `compress or copy the file again, and test it with \`${by} -t\``,
    about: "A truncated or corrupt file has lost some of its groups.",
  }),
  "text-too-long": errorOfInput<{ isDocument: boolean }>({
    message: ({ isDocument }) => `the ${isDocument ? "document" : "line"} is longer than ${maxTextBytes} bytes`,
    advice: "write each group or trajectory on its own line",
    about: "rollcall reads a line or a document into one string, and a string in Node holds at most 512 MiB.",
  }),
  "json-not-finite": error<{ word: string; key: string | undefined }>({
    message: ({ word }) => `${word} is not JSON`,
    advice: ({ key }) =>
      `${/^(?:rewards?|score)$/.test(key ?? "") ? "write a finite reward, or omit the trajectory" : "write a finite number, or omit the key"} (in Python, json.dumps(…, allow_nan=False) rejects such numbers)`,
    about: "Python's json.dumps writes NaN and Infinity by default. Services refuse them.",
  }),
  "json-truncated": error<{ last: boolean; isDocument: boolean }>({
    message: ({ last, isDocument }) => `the ${isDocument ? "document" : last ? "last line" : "line"} is truncated`,
    advice: ({ last, isDocument }) =>
      isDocument
        ? "wait until no program writes to the file, or write the document again"
        : last
          ? "wait until no program writes to the file, or delete the line"
          : "write the whole line",
    about: "A program that still writes, or that was killed, leaves half a line at the end.",
  }),
  "json-syntax": error<SyntaxProblem>({
    message: (problem) => syntaxFaults[problem.fault][0](problem),
    advice: (problem) => syntaxFaults[problem.fault][1](problem),
    about: "The text is not JSON, for example because a program printed it without a JSON writer.",
  }),
};
