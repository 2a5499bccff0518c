/** The table of the formats of other tools, generated from the formats. */
import type { Format } from "../../../src/rollouts/formats/format.ts";
import { loadFormats } from "../../../src/rollouts/formats/recognize.ts";

/** Returns the page, with the formats in the order in which they are recognized. */
export const formatsPage = async (): Promise<string> => {
  const formats = await loadFormats();
  const rowGroup = formats.find(({ name }) => name === "openai-chat")?.keys.group ?? "";
  return `# Table of formats

[Formats of other tools](../guide/input-formats.md) describes how rollcall reads them. A file of a format marked *lossy* has decoded text, which gives the warning \`lossy-format\`.
As in all row formats, a group is ${rowGroup}.

| \`--from\` | written by | a record is | group | reward | sampled turns |
|---|---|---|---|---|---|
${formats.map((format) => rowOf(format).replace(rowGroup, "as in all row formats")).join("\n")}
`;
};

const rowOf = ({ name, title, records, keys, isLossy }: Format): string =>
  `| \`${name}\`${isLossy === true ? " *lossy*" : ""} | ${[title, recordsOf(records), keys.group, keys.reward, keys.sampled].map(cell).join(" | ")} |`;

const cell = (text: string): string => text.replaceAll("|", "\\|");

const recordsOf = ({ text, zip, parquet }: Format["records"]): string =>
  [
    ...(text === undefined ? [] : [text === "lines" ? "a line" : "a file"]),
    ...(zip === undefined ? [] : ["a member of the archive"]),
    ...(parquet === undefined ? [] : ["a row"]),
  ].join(", ");
