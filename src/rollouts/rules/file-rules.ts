/** Defines rules for unreadable input, and for text that is not JSON. */
import type { Fault } from "../../json/reader.ts";
import { describeSystemCode, pluralize, toFileArg } from "../../text/sentences.ts";
import { formatCommandLine } from "../../text/shell-words.ts";
import { answer, error, errorOfInput, messages, problem, trajectory } from "./rule.ts";

const compressionFaults = {
  cut: "the compressed file is truncated",
  corrupt: "the compressed data is corrupt, or other bytes follow it",
  more: "other bytes follow the compressed data",
};

const corruptFile = (program: string, name: string) =>
  errorOfInput<{ wrong: keyof typeof compressionFaults }>({
    message: ({ wrong }) => compressionFaults[wrong],
    advice: `compress or copy the file again, and test it with \`${program} -t\``,
    why: "A truncated or corrupt file has lost some of its groups.",
    example: problem({ wrong: "cut" }, name),
  });

/** V8's maximum number of UTF-16 units in a string. UTF-8 never has more units than bytes. */
export const maxTextBytes = 2 ** 29 - 24;

const nonFiniteRule = (example: string, advice: string, why: string) =>
  error<{ word: string; key: string | undefined }>({
    message: ({ word }) => `${word} is not JSON`,
    advice: ({ key }) =>
      `${/^(?:rewards?|score)$/.test(key ?? "") ? "write a finite reward, or omit the trajectory" : advice} (in Python, json.dumps(…, allow_nan=False) rejects such numbers)`,
    why,
    example: trajectory(example),
  });

interface SyntaxProblem {
  fault: Exclude<Fault, "end" | "more" | "single-quote" | "comment">;
  word: string;
  character: string;
}

const syntaxFaults: Readonly<
  Record<SyntaxProblem["fault"], readonly [message: (problem: SyntaxProblem) => string, advice: string]>
> = {
  word: [
    ({ word }) => `the word \`${word}\` is not JSON`,
    "write keys and strings in double quotes, or remove the text",
  ],
  comma: [
    ({ character }) => `missing value before \`${character}\``,
    "add the value, or remove the extra comma, bracket or brace",
  ],
  control: [() => "unescaped control character in a string", "write it as an escape, such as \\n or \\t"],
  escape: [
    () => "invalid escape",
    'write \\\\ for a backslash (JSON has only the escapes \\" \\\\ \\/ \\b \\f \\n \\r \\t and \\uXXXX)',
  ],
  number: [
    () => "invalid number",
    "write a number such as 1 or 0.5: no +, no leading zeros, and digits before and after a point",
  ],
  character: [({ character }) => `unexpected ${character}`, "write lines with a JSON writer, such as json.dumps"],
};

const missingUrl = "https://data.example/step.jsonl";

export const fileRules = {
  "file-not-found": errorOfInput({
    message: "the file does not exist",
    advice: "check the path (a relative path starts in the current folder), or pass - to read standard input",
    example: problem(undefined, "step.jsonl"),
  }),
  "remote-not-found": errorOfInput<{ said: string | undefined; url: string }>({
    message: ({ said }) => `the URL does not exist${said === undefined ? "" : `: ${said}`}`,
    advice: ({ url }) =>
      `check the spelling of the URL${/^hf:.*[^/]$/.test(url) ? ", and end the URL of a folder with /" : ""}`,
    example: problem({ said: undefined, url: missingUrl }, missingUrl),
  }),
  "glob-without-match": errorOfInput<{ pattern: string; matches: number }>({
    message: ({ pattern, matches }) =>
      matches === 0
        ? `no file matches ${pattern}`
        : `the shell did not expand ${pattern}, which matches ${pluralize(matches, "file")}`,
    advice: ({ matches }) =>
      matches === 0 ? "check the pattern, or name a file" : "remove the quotes around the pattern",
    why: "No file matches the pattern, or the shell did not expand the pattern because it is in quotes.",
    example: problem({ pattern: "step-*.jsonl", matches: 0 }, "step-*.jsonl"),
  }),
  "file-unreadable": errorOfInput<{ code: string }>({
    message: ({ code }) => `cannot read the file: ${describeSystemCode(code)}`,
    advice: ({ code }) =>
      code === "outside-folder"
        ? "pass the path of the file that the link leads to"
        : "make the file readable, or pipe it into standard input",
    why: "The operating system refuses access to the file, or the file is a link that leads out of the named folder.",
    example: problem({ code: "EACCES" }, "step.jsonl"),
  }),
  "file-is-folder": errorOfInput({
    message: "expected a file, found a folder",
    advice: "name one file of the folder",
    why: "`--follow` reads one file.",
    example: problem(undefined, "."),
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
    why: "rollcall reads the .jsonl, .ndjson, .json, .eval, .traj and .parquet files below a folder, and skips files without rollouts.",
    example: problem({ files: [] }, "runs"),
  }),
  "input-empty": errorOfInput<{ isEmpty: boolean }>({
    message: ({ isEmpty }) => (isEmpty ? "the input is empty" : "the input has no groups"),
    advice: "name a file with a group or a trajectory on each line",
    example: problem({ isEmpty: true }, "step.jsonl"),
  }),
  "empty-selection": errorOfInput<{ by: readonly string[]; groups: number }>({
    message: ({ by, groups }) => `${by.join(" and ")} matched 0 of ${pluralize(groups, "group")}`,
    advice: ({ by }) => `check the input without ${by.join(" and ")} to see the rewards and metrics to filter on`,
    why: "A filter matched none of the groups.",
    example: problem({ by: ["--where"], groups: 12 }, "step.jsonl"),
  }),
  "utf-16": errorOfInput<{ encoding: string; file: string | undefined }>({
    message: ({ encoding }) => `the file is ${encoding}, not UTF-8`,
    advice: ({ encoding, file }) => {
      const command = ["iconv", "-f", encoding, "-t", "UTF-8"];
      if (file === undefined) return `convert it: \`${formatCommandLine(command)}\``;
      const converted = file.replace(/(?=\.\w+$)|$/, ".utf-8").replace(/\.utf-8$/, ".utf-8.jsonl");
      const line = `${formatCommandLine([...command, toFileArg(file)])} > ${formatCommandLine([converted])}`;
      return `convert it, and pass the new file: \`${line}\``;
    },
    why: "JSON is UTF-8, but PowerShell's `>` and some editors write UTF-16.",
    example: problem({ encoding: "UTF-16LE", file: "step.jsonl" }, "step.jsonl"),
  }),
  "not-utf-8": error({
    message: "these bytes are not UTF-8",
    advice: "write the file as UTF-8, or convert it with iconv",
    why: "JSON is UTF-8. Services refuse other bytes.",
    example: Buffer.from(messages('{"role":"user","content":"caf\u00e9"}', answer), "latin1"),
  }),
  "not-json": errorOfInput<{ kind: string; instead: string; unreadable?: string }>({
    message: ({ kind, unreadable }) =>
      unreadable === undefined ? `expected JSON lines, found ${kind}` : `cannot read ${kind}: ${unreadable}`,
    advice: ({ instead }) => instead,
    why: "The first bytes show another type of file, such as Parquet, zip, tar, CSV, a pickle or a Git LFS pointer.",
    example: problem(
      { kind: "CSV", instead: "convert it to JSON lines, one trajectory or group on each line" },
      "step.jsonl",
    ),
  }),
  "endless-device": errorOfInput({
    message: "this device returns data without end",
    advice: "name a file, or pass - to read standard input",
    example: problem(undefined, "/dev/zero"),
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
    why: "A small archive can fill the disk. rollcall stops at 1,000 times the file's size (or at 64 MiB, if that is more), and never exceeds `max_unpacked_size`.",
    example: problem({ limit: 68_719_476_736, isSetting: true, kind: "stream" }, "step.jsonl.gz"),
  }),
  "too-many-records": errorOfInput<{ records: number; trajectories: number } | { rollouts: number }>({
    message: (limits) =>
      "rollouts" in limits
        ? `the converted files have more than ${limits.rollouts} rollouts`
        : `the input has more than ${limits.records} lines or groups, or a group has more than ${limits.trajectories} trajectories`,
    advice: "divide the input into several files, and check or log one file at a time",
    why: "rollcall keeps an index of all groups in memory, and a small compressed file can contain millions of tiny trajectories. The limits are 10,000,000 lines or groups, 1,000,000 trajectories of a group, and 2,000,000 rollouts of other formats.",
    example: problem({ records: 10_000_000, trajectories: 1_000_000 }, "step.jsonl.gz"),
  }),
  "gzip-corrupt": corruptFile("gzip", "step.jsonl"),
  "zstd-corrupt": corruptFile("zstd", "step.jsonl.zst"),
  "zstd-unsupported": errorOfInput<{ file: string | undefined; node: string }>({
    message: ({ node }) => `Node ${node} cannot decompress zstd`,
    advice: ({ file }) => {
      const otherwise = "use Node 22.15, 23.8 or newer, or decompress";
      if (file === undefined) return `${otherwise} into a pipe: zstd -dc | rollcall log …`;
      const unpacked = /\.zst$/i.test(file) ? file.slice(0, -4) : file.replace(/(?=\.\w+$)|$/, ".unpacked");
      const line = formatCommandLine(["zstd", "-d", "-o", toFileArg(unpacked), toFileArg(file)]);
      return `${otherwise} it, and pass the new file: \`${line}\``;
    },
    why: "Node 22.15 and 23.8 added zstd. rollcall neither read nor sent anything from the file.",
    example: problem({ file: "step.jsonl.zst", node: "20.18.1" }, "step.jsonl.zst"),
  }),
  "line-too-long": errorOfInput({
    message: `the line is longer than ${maxTextBytes} bytes`,
    advice: "write each group or trajectory on its own line",
    why: "rollcall reads a whole line into one string, and a string in Node holds at most 512 MiB.",
    example: problem(undefined, "step.jsonl", 3),
  }),
  "document-too-long": errorOfInput({
    message: `the document is longer than ${maxTextBytes} bytes`,
    advice: "write each group on its own line",
    why: "rollcall reads a document into one string, unless it is a JSON array. A string in Node holds at most 512 MiB.",
    example: problem(undefined, "step.json"),
  }),
  "json-nan": nonFiniteRule(
    "NaN",
    "omit the key",
    "Python's json.dumps writes NaN by default. JSON has no NaN, and services refuse it.",
  ),
  "json-infinity": nonFiniteRule(
    "-Infinity",
    "write a finite number, or omit the key",
    "Python's json.dumps writes Infinity by default. JSON has no infinity.",
  ),
  "json-python": error<{ word: string }>({
    message: ({ word }) => `${word} is Python, not JSON`,
    redactedMessage: "found Python, not JSON",
    advice: "write lines with json.dumps, not with str or print",
    example: trajectory(1, ',"metadata":{"solved":True}'),
  }),
  "json-single-quotes": error({
    message: "expected a string in double quotes, found single quotes",
    advice: "write lines with a JSON writer, such as json.dumps",
    why: "A program printed a Python dictionary instead of writing JSON.",
    example: "{'messages_and_choices': [], 'reward': 1}",
  }),
  "json-comment": error({
    message: "JSON has no comments",
    advice: "remove the comment",
    example: `// step 17\n${trajectory(1)}`,
  }),
  "json-truncated": error<{ last: boolean; isDocument: boolean }>({
    message: ({ last, isDocument }) => `the ${isDocument ? "document" : last ? "last line" : "line"} is truncated`,
    advice: ({ last, isDocument }) =>
      isDocument
        ? "wait until no program writes to the file, or write the document again"
        : last
          ? "wait until no program writes to the file, or delete the line"
          : "write the whole line",
    why: "A program that is still writing, or that was killed, leaves half a line at the end.",
    example: `${trajectory(0)}\n${trajectory(1).slice(0, 60)}`,
  }),
  "json-trailing-data": error<{ isDocument: boolean; isFormatGiven: boolean }>({
    message: ({ isDocument }) => `unexpected data after the JSON ${isDocument ? "document" : "value"}`,
    advice: ({ isDocument, isFormatGiven }) =>
      isDocument
        ? `${isFormatGiven ? "correct or omit --from, or " : ""}write one JSON document in each file`
        : "write one complete JSON value on each line",
    example: `${trajectory(0)} ${trajectory(1)}`,
  }),
  "json-syntax": error<SyntaxProblem>({
    message: (problem) => syntaxFaults[problem.fault][0](problem),
    redactedMessage: "invalid JSON",
    advice: ({ fault }) => syntaxFaults[fault][1],
    example: '{"messages_and_choices":[,],"reward":1}',
  }),
};
