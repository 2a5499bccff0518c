/** Parses the help of a command into its parts. */

/** Parses the output of `--help`: the description, the usage, and the titled sections with items. */
export const parseHelp = (text) => {
  const [about = "", usage = "", ...blocks] = text.trimEnd().split("\n\n");
  const sections = blocks.map((block) => {
    const [title = "", ...lines] = block.split("\n");
    return { title: title.replace(/:$/, ""), lines, items: itemsOf(lines) };
  });
  return { about: joined(about), usage: joined(usage.replace("Usage: ", "")), sections };
};

/** An item is indented by two columns. Its description is on the same line or below. */
const itemsOf = (lines) => {
  const items = [];
  for (const line of lines) {
    const [, term, about = ""] = /^ {2}(\S.*?)(?: {2,}(\S.*))?$/.exec(line) ?? [];
    const last = items.at(-1);
    if (term !== undefined) items.push({ term, about, lines: [line] });
    else if (last !== undefined) items.splice(-1, 1, continued(last, line));
  }
  return items;
};

const continued = ({ term, about, lines }, line) => ({
  term,
  about: joined(`${about} ${line}`),
  lines: [...lines, line],
});

const joined = (text) => text.trim().replaceAll(/\s+/g, " ");
