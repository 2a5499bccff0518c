/** The page of the formats of other tools, generated from the formats. */
import { type Format, loadFormats } from "../../../src/formats/index.ts";

/** Returns the page, with the formats in the order in which they are recognized. */
export const formatsPage = async (): Promise<string> =>
  [
    "# Formats of other tools",
    intro,
    "## Formats",
    [
      "| `--from` | written by | a record is | group | reward | sampled turns |",
      "|---|---|---|---|---|---|",
      ...(await loadFormats()).map(rowOf),
    ].join("\n"),
    rest,
  ]
    .join("\n\n")
    .concat("\n");

const intro = `\`rollcall check\`, \`log\` and \`view\` read files of other tools, and \`rollcall convert\` writes them as groups of trajectories. Give files, globs
or folders.

- \`--from auto\` (the default) recognizes the format by the first records, and a note names it. If two formats match, choose one with \`--from\`.
- A sampled turn becomes a choice, with its log probabilities if they are recorded. Other turns become messages.
- A rollout has a reward. \`--reward-from <path>\` reads it from another path of the record, and \`--rewards <file>\` from lines of
  \`{"id", "reward"}\`, whose id is that of the record (\`id\`, \`idx\`, \`example_id\`, …; else the name of its file). The rewards \`true\` and \`false\`
  become 1 and 0. \`--reward-from\` also reads a number, true or false in a string. A note names other numbers of the reward's object,
  which are dropped. The keys in a path can contain dots.
- In \`harbor\`, \`inspect\`, \`nemo-gym\`, \`tau2\`, \`verifiers-v0\` and \`verifiers-v1\`, a failed rollout without a reward becomes one of the
  \`exceptions\` of its group. In the formats whose groups have a step (below), so does a row with an \`error\`. Otherwise, a record without a
  reward is an error.
- Numbers and texts without a field in the interface become \`metadata\`. Nested values without a field are left out.
- For formats whose record is a line (below), a file can also be one JSON array of records, or one indented record. If each file of a folder
  is one indented record, the files are grouped like the lines of one file.
- If a row has no \`completion\`, \`--from trl\` reads the answer from \`response\`, \`answer\`, \`output\` or \`generation\`, and a note says so.
- \`--group-by <key>\` groups the rows of these formats with a step, also across folders. The other formats determine their groups.
- \`--messages-from <path>\` reads the messages of \`openai-chat\` from another path of the row, such as \`conversation\`. The messages can
  also be JSON in a string. A column of Parquet with the type JSON is read as JSON. rollcall does not read CSV, but its error shows a command that converts CSV to such rows.`;

const rest = `A format marked *lossy* has decoded text, which lacks the special tokens and the ends of turns. Read it with \`--lossy\`.

## Receipts

\`--receipt <file>\` counts the values by file and path: \`carried\` (byte for byte), \`changed\`, or \`left_out\` (with the reason). Its \`records\` say
which record became which group and trajectory. \`convert --exact\` fails if a value is left out.

## The ledger

The ledger identifies a converted group by the digest of its records, not of the converted text. So a newer rollcall that converts a file in
another way does not log it again. The order of the records and the name of the file do not matter. \`--reward-from\`, \`--rewards\`, and a
selection that keeps a part of a group are part of the digest.`;

const rowOf = ({ name, title, records, keys, isLossy }: Format): string =>
  `| \`${name}\`${isLossy === true ? " *lossy*" : ""} | ${[title, recordsOf(records), keys.group, keys.reward, keys.sampled].map(cell).join(" | ")} |`;

const cell = (text: string): string => text.replaceAll("|", "\\|");

const recordsOf = ({ text, zip, parquet }: Format["records"]): string =>
  [
    ...(text === undefined ? [] : [text === "lines" ? "a line" : "a file"]),
    ...(zip === undefined ? [] : ["a member of the archive"]),
    ...(parquet === undefined ? [] : ["a row"]),
  ].join(", ");
