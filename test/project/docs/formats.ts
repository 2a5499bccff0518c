/** The page of the files that are read, made of what their readers say. */
import { type Format, loadFormats } from "../../../src/formats/index.ts";

/** The page, in the order in which files are held against formats. */
export const formatsPage = async (): Promise<string> => {
  const formats = await loadFormats();
  return [
    "# Files that rollcall reads",
    intro,
    [
      "| `--from` | written by | a record is | group | reward | sampled turns |",
      "|---|---|---|---|---|---|",
      ...formats.map(rowOf),
    ].join("\n"),
    lossy,
    "## What is left out, and why",
    leftIntro,
    ...formats.map(leftOf),
    rest,
  ]
    .join("\n\n")
    .concat("\n");
};

const intro = `\`rollcall convert\`, \`check\` and \`log\` read files of other tools: files, globs and folders, one format a run. \`--from auto\`, which is
what happens where nothing is said, looks at the first records of each file, and says in one notice what it recognised and where it takes groups,
rewards and sampled turns from; where two formats fit, it says so and asks for \`--from\`. \`--from rollcall\` is the interface's own shape: whole
requests, groups, or trajectories. Where a record is a line, a file may be one JSON list of records too.

A turn that the model sampled becomes a choice, with its log probabilities where they are recorded; a turn that was given stays a message. A
rollout has a reward or is an exception of its group. \`--reward-from <path>\` takes the reward from elsewhere in the record, \`--rewards <file>\` from
lines of \`{"id", "reward"}\`. Scalars that have no other place go to the trajectory's \`metadata\`.`;

const lossy = `Formats marked *lossy* hold text that was decoded: special tokens, and with them turns, are gone. They are read with \`--lossy\` only.`;

const leftIntro = `\`--receipt <file>\` counts the values of each file, by path: \`carried\` as they were written, \`changed\` (said in another way, or by another value), both with their place, or \`left_out\`, with the
reason. Its \`records\` have a line for each record, or part of one: the file and line, the number of its group among all that were made (before \`--where\` and other options
leave some out) and of its trajectory in the group; null of an exception, and of what could not be converted. \`convert --exact\` fails where a value has no place. Beyond what is listed here, nested values that no field has a place for are left out.`;

const rest = `## What the ledger knows of them

The ledger knows a converted group by a digest of the records that it was made of, and not of what was made of them: a newer rollcall that converts
a file otherwise does not log it twice. The order of the records, and the file that they stand in, don't matter. What changes the meaning is part of that: \`--reward-from\`, \`--rewards\`, and which trajectories of a group
\`--where\` or \`--best\` keep. A group that a choice keeps whole is known with and without the choice.`;

const rowOf = ({ name, title, records, keys, lossy: isLossy }: Format): string =>
  `| \`${name}\`${isLossy === true ? " *lossy*" : ""} | ${[title, recordsOf(records), keys.group, keys.reward, keys.sampled].map(cell).join(" | ")} |`;

const cell = (text: string): string => text.replaceAll("|", "\\|");

const recordsOf = ({ text, zip, parquet }: Format["records"]): string =>
  [
    ...(text === undefined ? [] : [text === "lines" ? "a line" : "a file"]),
    ...(zip === undefined ? [] : ["a member of the archive"]),
    ...(parquet === undefined ? [] : ["a row"]),
  ].join(", ");

const leftOf = ({ name, left = [] }: Format): string => {
  const reasons = left.flatMap(([why, paths]) => paths.split(" ").map((path) => `- \`${path}\`: ${why}`));
  return [`### ${name}`, reasons.length === 0 ? "Nothing by rule." : reasons.join("\n")].join("\n\n");
};
