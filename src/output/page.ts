/** Lays out a page: titled sections of labelled lines and blocks. */
import type { Paint } from "./paint.ts";
import type { Page, Section } from "./view.ts";

/** How a page is laid out. */
export interface PageLayout {
  readonly paint: Paint;
  /** Makes text of several lines safe. */
  readonly clean: (text: string) => string;
  /** Folds a line to what is left of the terminal behind an indent; keeps it whole in a pipe. */
  readonly fold: (line: string, indent: number) => readonly string[];
}

/** The text of a page: sections with an empty line between them. */
export const pageText = (page: Page, layout: PageLayout): string =>
  page.sections
    .map((section) => sectionText(section, layout))
    .filter((text) => text !== "")
    .join("\n");

const sectionText = (section: Section, layout: PageLayout): string =>
  [...titleLines(section, layout), ...labelledLines(section, layout), ...blockLines(section, layout)]
    .map((line) => `${line}\n`)
    .join("");

const step = "  ";

/** Where a section's title stands: sections of the second level under those of the first. */
const titleIndent = ({ level = 1 }: Section): string => step.repeat(level - 1);

/** Where what a section holds stands: under its title, so that no text can pass for a title. */
const indentOf = (section: Section): string => titleIndent(section) + (section.title === undefined ? "" : step);

const titleLines = (section: Section, { paint, clean, fold }: PageLayout): readonly string[] => {
  const { title, tone = "strong" } = section;
  const indent = titleIndent(section);
  return title === undefined
    ? []
    : fold(safeTitle(clean(title)), indent.length).map((line) => indent + paint(tone, line));
};

/** A title is one line, whatever it is made of. */
const safeTitle = (title: string): string => title.replaceAll("\n", " ");

const labelledLines = (section: Section, { paint, clean, fold }: PageLayout): readonly string[] => {
  const { lines = [] } = section;
  const indent = indentOf(section);
  const widest = lines.reduce((width, { label }) => Math.max(width, clean(label).length), 0);
  const textIndent = indent.length + widest + 2;
  return lines.flatMap(({ label, text, tone }) => {
    const name = paint("faint", clean(label).padEnd(widest));
    const [first = "", ...more] = clean(text)
      .split("\n")
      .flatMap((line) => fold(line, textIndent));
    return [
      `${indent}${name}  ${paint(tone, first)}`.trimEnd(),
      ...more.map((line) => `${" ".repeat(textIndent)}${paint(tone, line)}`.trimEnd()),
    ];
  });
};

const blockLines = (section: Section, { clean, fold }: PageLayout): readonly string[] => {
  const { title, lines = [], block } = section;
  if (block === undefined) return [];
  const gap = title !== undefined && lines.length > 0 ? [""] : [];
  const indent = indentOf(section);
  const text = clean(block).replace(/\n$/, "");
  const folded = text.split("\n").flatMap((line) => {
    const own = ownIndent(line);
    return fold(line.slice(own.length), indent.length + own.length).map((part) => own + part);
  });
  return [...gap, ...folded.map((line) => (line.trim() === "" ? "" : indent + line))];
};

/** Widest indent that the rest of a folded line keeps: deeper ones would leave no room on a narrow terminal. */
const widestIndent = 16;

const ownIndent = (line: string): string => {
  const own = /^ */.exec(line)?.[0] ?? "";
  return own.length <= widestIndent ? own : "";
};
