/** Rules of files: what can't be read at all, and what is not JSON. */

import type { Fault } from "../../json/reader.ts";
import { pluralize } from "../../sentences.ts";
import type { CompressionFault } from "./compression.ts";
import { answer, error, errorOfInput, messages, problemExample, trajectory } from "./rule.ts";

/** A file that can't be used at all. */
export const fileRules = {
  "file-not-found": errorOfInput({
    message: "there is no such file",
    advice: "give the path of a file, or - for standard input",
    why: "A name on the command line is the path of a file, or `-` for standard input.",
    example: problemExample(undefined, "step.jsonl"),
  }),
  "remote-not-found": errorOfInput<{ said: string | undefined }>({
    message: ({ said }) => `there is nothing at this address${said === undefined ? "" : `: ${said}`}`,
    redactedMessage: "there is nothing at this address",
    advice: "look at the address, letter by letter; one that ends in / is a folder",
    why: "The server answers that it has nothing there: no such file, bucket or dataset.",
    example: problemExample({ said: undefined }, "https://data.example/step.jsonl"),
  }),
  "glob-without-match": errorOfInput<{ pattern: string; matches: number }>({
    message: ({ pattern, matches }) =>
      matches === 0
        ? `nothing matches ${pattern}`
        : `the shell did not expand ${pattern}, which matches ${pluralize(matches, "file")}`,
    redactedMessage: "no file has the name of the pattern",
    advice: ({ matches }) =>
      matches === 0 ? "give the path of a file, or - for standard input" : "take the quotes away from the pattern",
    why: "Where no file fits a pattern, or quotes are around it, the shell hands it on as it is.",
    example: problemExample({ pattern: "step-*.jsonl", matches: 0 }, "step-*.jsonl"),
  }),
  "file-unreadable": errorOfInput<{ code: string }>({
    message: ({ code }) => `the file can't be read (${code})`,
    advice: "make it readable, or pipe it into standard input",
    why: "The system does not let the file be read.",
    example: problemExample({ code: "EACCES" }, "step.jsonl"),
  }),
  "file-is-folder": errorOfInput({
    message: "this is a folder",
    advice: "give the files in it",
    why: "A folder is named where a file should be.",
    example: problemExample(undefined, "."),
  }),
  "folder-without-rollouts": errorOfInput<{ files: readonly string[] }>({
    message: ({ files: [first, ...more] }) => {
      if (first === undefined) return "no file in this folder is called as files of rollouts are";
      const others = more.length === 0 ? "" : ` and ${pluralize(more.length, "more file")}`;
      return `no file in this folder holds rollouts, neither ${first}${others}`;
    },
    advice: ({ files }) =>
      files.length === 0
        ? "names were looked for that end in .jsonl, .ndjson, .json, .eval or .parquet, also with .gz or .zst behind: give the folder above, or a file"
        : "trajectories, groups and the formats of --from were looked for: say --from <format>, or give the files",
    why: "A folder is read with all folders below it. Files in it that hold no rollouts are left out, and nothing is left of this one.",
    example: problemExample({ files: [] }, "runs"),
  }),
  "input-empty": errorOfInput({
    message: "there is nothing in it",
    advice: "give a file with a group or a trajectory on each line",
    why: "An input without a group is probably not the one that was meant.",
    example: problemExample(undefined, "step.jsonl"),
  }),
  "empty-selection": errorOfInput<{ by: readonly string[]; groups: number }>({
    message: ({ by, groups }) =>
      `${by.join(" and ")} ${by.length === 1 ? "leaves" : "leave"} nothing of ${groups === 1 ? "the one group" : `the ${groups} groups`} in it`,
    advice: "without the choice, `rollcall check` says which rewards and metrics there are; choose by what occurs",
    why: "A choice of which nothing is left is probably not the one that was meant.",
    example: problemExample({ by: ["--where"], groups: 12 }, "step.jsonl"),
  }),
  "utf-16": errorOfInput<{ encoding: string }>({
    message: ({ encoding }) => `the file is ${encoding}, not UTF-8`,
    advice: "convert it: iconv -f UTF-16 -t UTF-8",
    why: "PowerShell's `>` and some editors write UTF-16.",
    example: problemExample({ encoding: "UTF-16 (little-endian)" }, "step.jsonl"),
  }),
  "not-utf-8": error({
    message: "the bytes here are not UTF-8",
    advice: "write the file as UTF-8, or convert it with iconv",
    why: "JSON is UTF-8. Other bytes would be sent on as they are, and refused.",
    example: Buffer.from(messages('{"role":"user","content":"caf\u00e9"}', answer), "latin1"),
  }),
  "not-json": errorOfInput<{ kind: string; instead: string }>({
    message: ({ kind }) => `this is ${kind}, not JSON lines`,
    advice: ({ instead }) => instead,
    why: "The first bytes say that the file is something else: Parquet, zip, tar, CSV, a pickle, a pointer of Git LFS, …",
    example: problemExample(
      { kind: "CSV", instead: "convert it to JSON lines, one trajectory or group on each line" },
      "step.jsonl",
    ),
  }),
  "endless-device": errorOfInput({
    message: "this device has no end",
    advice: "give a file, or - for standard input",
    why: "What is read from it never ends, and is never a trajectory.",
    example: problemExample(undefined, "/dev/zero"),
  }),
  "decompressed-too-large": errorOfInput<{ limit: number }>({
    message: ({ limit }) =>
      `it unpacks to more than ${limit} bytes: to more than max_unpacked_size, or 1,000 times its size`,
    advice: "look at what is in it; if it is right, unpack it into a pipe: gzip -dc or zstd -dc … | rollcall … -",
    why: "A small compressed file can hold more than a disk does: unpacking stops in time.",
    example: problemExample({ limit: 68_719_476_736 }, "step.jsonl.gz"),
  }),
  "gzip-corrupt": errorOfInput<{ wrong: CompressionFault }>({
    message: ({ wrong }) => compressionFaults[wrong],
    advice: "compress it again, or copy it again: `gzip -t` tells whether a file is whole",
    why: "A compressed file that was cut off or damaged has lost some of its groups.",
    example: problemExample({ wrong: "cut" }, "step.jsonl"),
  }),
  "zstd-corrupt": errorOfInput<{ wrong: CompressionFault }>({
    message: ({ wrong }) => compressionFaults[wrong],
    advice: "compress it again, or copy it again: `zstd -t` tells whether a file is whole",
    why: "A compressed file that was cut off or damaged has lost some of its groups.",
    example: problemExample({ wrong: "cut" }, "step.jsonl.zst"),
  }),
  "zstd-unsupported": errorOfInput<{ name: string; node: string }>({
    message: ({ node }) => `this is zstd, which Node ${node} can't unpack`,
    advice: ({ name }) =>
      `unpack it into a pipe: zstd -dc ${name === "-" ? "" : `${name} `}| rollcall log …; or use Node 22.15 or newer`,
    why: "Node unpacks zstd from 22.15 on; the groups in the file are not read, and none of them is sent.",
    example: problemExample({ name: "step.jsonl.zst", node: "20.18.1" }, "step.jsonl.zst"),
  }),
  "line-too-long": errorOfInput<{ limit: number }>({
    message: ({ limit }) => `the line is longer than ${limit} bytes, the most that can be read at once`,
    advice: "put each group or trajectory on a line of its own",
    why: "A line is read whole, and a text can't be longer than 512 MiB.",
    example: problemExample({ limit: 2 ** 29 - 24 }, "step.jsonl", 3),
  }),
  "document-too-long": errorOfInput<{ limit: number }>({
    message: ({ limit }) => `the document is longer than ${limit} bytes, the most that can be read at once`,
    advice: "write a group on each line",
    why: "A document of one group, or one that is no JSON, is read whole, and a text can't be longer than 512 MiB.",
    example: problemExample({ limit: 2 ** 29 - 24 }, "step.json"),
  }),
};

const compressionFaults: Readonly<Record<CompressionFault, string>> = {
  cut: "the compressed file ends before its data does",
  corrupt: "the compressed data is damaged, or other bytes follow it",
  more: "other bytes follow the compressed data",
};

const rewardRequired = "a reward can't be left out: write a finite number, or leave out the trajectory";
const findNaN = "(in Python: json.dumps(…, allow_nan=False) finds it)";

/** A fault that has no rule of its own, with what stands there: the word, the character, and what stands before it. */
interface SyntaxProblem {
  readonly fault: Exclude<Fault, "end" | "more" | "single-quote" | "comment">;
  readonly word: string;
  readonly text: string;
  readonly before: string | undefined;
}

/** What is said of each fault, and what to do about it. */
const syntaxFaults: Readonly<Record<SyntaxProblem["fault"], readonly [says: (seen: SyntaxProblem) => string, string]>> =
  {
    word: [
      ({ word }) => `${word} is not JSON`,
      "a word in JSON is true, false or null; any other text stands in double quotes",
    ],
    comma: [
      ({ text, before }) => {
        if (text !== "," && before === ",") return `nothing stands between a comma and ${text}`;
        return text !== "," && before === undefined ? `${text} closes nothing` : `a value is missing before ${text}`;
      },
      "leave one comma out",
    ],
    control: [() => "a control character stands unescaped in a string", "write it as an escape, such as \\n or \\t"],
    escape: [() => "this escape is not JSON", "JSON has \\u0041 for \\x41, and a backslash itself is \\\\"],
    number: [
      () => "this number is not JSON",
      "a number has digits on both sides of its point, and neither + nor zeros in front",
    ],
    character: [({ text }) => `${text} can't stand here`, "write lines with a JSON writer, such as json.dumps"],
  };

/** Text that is not JSON. */
export const jsonRules = {
  "json-nan": error<{ word: string; key: string | undefined }>({
    message: ({ word }) => `${word} is not JSON`,
    advice: ({ key }) => `${key === "reward" ? rewardRequired : "leave the key out, or write null"} ${findNaN}`,
    why: "Python's json.dumps writes NaN unless it is told not to; JSON has none, and services refuse it.",
    example: trajectory("NaN"),
  }),
  "json-infinity": error<{ word: string; key: string | undefined }>({
    message: ({ word }) => `${word} is not JSON`,
    advice: ({ key }) =>
      `${key === "reward" ? rewardRequired : "write a finite number, or leave the key out"} ${findNaN}`,
    why: "Python's json.dumps writes Infinity unless it is told not to; JSON has none.",
    example: trajectory("-Infinity"),
  }),
  "json-python": error<{ word: string }>({
    message: ({ word }) => `${word} is Python, not JSON`,
    redactedMessage: "a word here is Python, not JSON",
    advice: "write lines with json.dumps, not with str or print",
    why: "A dictionary was printed instead of written as JSON.",
    example: trajectory(1, ',"metadata":{"solved":True}'),
  }),
  "json-single-quotes": error({
    message: "JSON strings stand in double quotes",
    advice: "write lines with a JSON writer, such as json.dumps",
    why: "A dictionary was printed instead of written as JSON.",
    example: "{'messages_and_choices': [], 'reward': 1}",
  }),
  "json-comment": error({
    message: "JSON has no comments",
    advice: "leave the comment out",
    why: "JSON has no comments; JSON5 and JSONC have.",
    example: `// step 17\n${trajectory(1)}`,
  }),
  "json-truncated": error<{ last: boolean; isDocument: boolean }>({
    message: ({ last, isDocument }) => `the ${isDocument ? "document" : last ? "last line" : "line"} is cut off`,
    advice: ({ last, isDocument }) =>
      isDocument
        ? "is the run still writing? wait for it to end, or have the document written anew"
        : last
          ? "is the run still writing? wait for it to end, or leave the line out"
          : "write each line whole",
    why: "A run that still writes, or that was killed, leaves half a line at the end.",
    example: `${trajectory(0)}\n${trajectory(1).slice(0, 60)}`,
  }),
  "json-trailing-data": error<{ lacksBrace: boolean }>({
    message: ({ lacksBrace }) =>
      lacksBrace ? "a key stands here in no object: the { before it is missing" : "something follows the JSON value",
    advice: ({ lacksBrace }) =>
      lacksBrace
        ? "was the beginning cut off? put the { back, or write the file again"
        : "put one JSON value on each line",
    why: "A line holds one JSON value, and so does a file that is one document.",
    example: `${trajectory(0)} ${trajectory(1)}`,
  }),
  "json-syntax": error<SyntaxProblem>({
    message: (seen) => syntaxFaults[seen.fault][0](seen),
    redactedMessage: "the text stops being JSON here",
    advice: ({ fault, text, before }) =>
      fault === "comma" && before !== "," && text !== ","
        ? "write the value, or leave the comma or the colon before it out"
        : syntaxFaults[fault][1],
    why: "The text is not JSON for a reason that has no rule of its own.",
    example: '{"messages_and_choices":[,],"reward":1}',
  }),
};
