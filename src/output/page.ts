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

const titleLines = ({ title, tone }: Section, { paint, clean, fold }: PageLayout): readonly string[] =>
  title === undefined ? [] : fold(clean(title), 0).map((line) => paint(tone ?? "strong", line));

const labelledLines = ({ title, lines = [] }: Section, { paint, clean, fold }: PageLayout): readonly string[] => {
  const indent = title === undefined ? "" : "  ";
  const widest = Math.max(0, ...lines.map(({ label }) => clean(label).length));
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

const blockLines = ({ title, lines = [], block }: Section, { clean, fold }: PageLayout): readonly string[] => {
  if (block === undefined) return [];
  const gap = title !== undefined && lines.length > 0 ? [""] : [];
  const text = clean(block).replace(/\n$/, "");
  return [...gap, ...text.split("\n").flatMap((line) => fold(line, 0))];
};
