/** A page as Markdown: every text from outside in a fence that nothing in it can close. */
import type { Page, Section } from "../view.ts";

/** The Markdown of a page. `clean` makes text of several lines safe. */
export const pageMarkdown = ({ sections }: Page, clean: (text: string) => string): string =>
  `${sections
    .map((section) => sectionMarkdown(section, clean))
    .filter((text) => text !== "")
    .join("\n\n")}\n`;

const sectionMarkdown = (section: Section, clean: (text: string) => string): string => {
  const { title, level = 1, lines = [], block, beside, note } = section;
  return [
    ...(title === undefined ? [] : [`${"#".repeat(level)} ${escaped(oneLine(clean(title)))}`]),
    ...(lines.length === 0 ? [] : [lines.map(({ label, text }) => itemText(clean(label), clean(text))).join("\n")]),
    ...(block === undefined ? [] : [fenced(clean(block))]),
    ...(note === undefined ? [] : [escaped(note)]),
    ...(beside === undefined
      ? []
      : [`${"#".repeat(level)} ${escaped(oneLine(clean(beside.title)))}`, fenced(clean(beside.block))]),
  ].join("\n\n");
};

const itemText = (label: string, text: string): string =>
  label === "" ? `  ${escaped(oneLine(text))}` : `- ${escaped(oneLine(label))}: ${escaped(oneLine(text))}`;

const oneLine = (text: string): string => text.replaceAll(/\s*\n\s*/g, " ");

/** What Markdown, or the HTML in it, could take for something else than text. */
const escaped = (text: string): string => text.replaceAll(/[\\`*_{}[\]<>()#+!|~&$@]|:(?=\/)/g, "\\$&");

/** A fence that is longer than any inside. */
const fenced = (text: string): string => {
  const longest = (text.match(/`+/g) ?? []).reduce((most, run) => Math.max(most, run.length), 2);
  const fence = "`".repeat(longest + 1);
  return `${fence}text\n${text.replace(/\n$/, "")}\n${fence}`;
};
