/** Prints pages: titled sections of labelled lines and blocks, folded to a terminal's width, whole in a pipe. */
import type { Screen } from "../screen/screen.ts";
import { glyphsOf, type Paint } from "../screen/style.ts";
import type { Line, Page, Section } from "../view.ts";
import { type BlockLayout, besideLines, blockPieces } from "./block.ts";

/** Prints a page (through the pager where it is longer than the terminal). */
export const printPage = async (screen: Screen, page: Page): Promise<void> =>
  await screen.print(pageTexts(page, await layoutOf(screen, page)), { kind: "lines" });

/** Prints pages that come one by one, all of them through one pager where one is opened. */
export const printPages = async (screen: Screen, pages: AsyncIterable<Page>): Promise<void> =>
  await screen.print(textsOf(screen, pages), { kind: "lines" });

async function* textsOf(screen: Screen, pages: AsyncIterable<Page>): AsyncGenerator<string, void> {
  for await (const page of pages) yield* pageTexts(page, await layoutOf(screen, page));
}

interface PageLayout extends BlockLayout {
  readonly paint: Paint;
  /** A line across. */
  readonly rule: string;
}

/** Columns of a line across where no terminal is narrower. */
const ruleColumns = 80;

/** Columns that a folded line keeps, however deep it is indented. */
const narrowest = 16;

const layoutOf = async (screen: Screen, { full }: Page): Promise<PageLayout> => {
  const { host, width, safe } = screen;
  const { rail, across } = glyphsOf(host);
  const rule = across.repeat(Math.min(width, ruleColumns));
  const look = { paint: await screen.paint(), clean: safe.text, rail, rule };
  if (!host.terminal.stdout) {
    const whole = { fold: (line: string) => [line], widthOf: (line: string) => line.length };
    return { ...look, ...whole, isBounded: false, width: Number.POSITIVE_INFINITY };
  }
  // What measures text is not loaded for a pipe.
  const { folded, widthOf } = await import("../screen/width.ts");
  const fold: BlockLayout["fold"] = (line, indent, columns = width) =>
    folded(line.replaceAll("\t", "    "), Math.max(narrowest, columns - indent));
  return { ...look, isBounded: full === false, fold, widthOf, width };
};

/** Characters of a piece of a page: long enough to be written, short enough to be forgotten. */
const pieceLength = 64 * 1024;

/** The text of a page in pieces: sections with an empty line between them. */
function* pageTexts(page: Page, layout: PageLayout): Generator<string, void> {
  let text = "";
  let isFirst = true;
  for (const section of layout.isBounded ? boundedSections(page.sections, 2) : page.sections) {
    let isBegun = false;
    for (const lines of sectionLines(section, layout)) {
      if (lines.length === 0) continue;
      if (!isBegun && !isFirst) text += "\n";
      isBegun = true;
      for (const line of lines) text += `${line}\n`;
      if (text.length < pieceLength) continue;
      yield text;
      text = "";
    }
    if (isBegun) isFirst = false;
  }
  if (text !== "") yield text;
}

function* sectionLines(section: Section, layout: PageLayout): Generator<readonly string[], void> {
  const { title, lines = [], block, note, isRule, quoted = false, most } = section;
  const other = section.beside;
  if (other !== undefined) return yield* beside(section, other, layout);
  if (isRule === true) yield ["", layout.paint("faint", layout.rule)];
  yield titleLines(section, layout);
  yield labelledLines(section, layout);
  if (block !== undefined && title !== undefined && lines.length > 0) yield [""];
  if (block !== undefined) yield* blockPieces(block, { indent: indentOf(section), quoted, most }, layout);
  if (note !== undefined) yield [indentOf(section) + layout.paint("faint", `… ${note}`)];
}

/** Two blocks side by side where there is room for both, else one under the other. */
function* beside(
  section: Section,
  other: NonNullable<Section["beside"]>,
  layout: PageLayout,
): Generator<readonly string[], void> {
  const level = section.level ?? 1;
  const indent = step.repeat(level - 1);
  const second: Section = { level, quoted: true, ...other };
  const { beside: _, ...first } = section;
  if (layout.width < widestNarrow || layout.width === Number.POSITIVE_INFINITY) {
    yield* sectionLines(first, layout);
    yield [""];
    return yield* sectionLines(second, layout);
  }
  const { clean, paint } = layout;
  const left = { title: safeTitle(clean(section.title ?? "")), block: section.block ?? "" };
  const right = { title: safeTitle(clean(other.title)), block: other.block };
  yield besideLines({ left, right, indent, held: step }, { ...layout, title: (text) => paint("strong", text) });
}

/** Terminals of fewer columns have no room for two blocks side by side. */
const widestNarrow = 100;

const step = "  ";

/** Where a section's title stands: sections of a further level under those of the one before. */
const titleIndent = ({ level = 1 }: Section): string => step.repeat(level - 1);

/** Where what a section holds stands: under its title, so that no text can pass for a title. */
const indentOf = (section: Section): string => titleIndent(section) + (section.title === undefined ? "" : step);

/** Characters of a title, or of a labelled text, where not all is shown. */
const longestTitle = 300;
const longestText = 2000;

const titleLines = (section: Section, layout: PageLayout): readonly string[] => {
  const { title } = section;
  const indent = titleIndent(section);
  if (title === undefined) return [];
  const line = safeTitle(shortened(layout.clean(title), longestTitle, layout));
  return layout.fold(line, indent.length).map((part) => indent + layout.paint("strong", part));
};

/** A title is one line, whatever it is made of. */
const safeTitle = (title: string): string => title.replaceAll("\n", " ");

const shortened = (text: string, most: number, { isBounded }: BlockLayout): string =>
  isBounded && text.length > most ? `${text.slice(0, most)}… (${text.length} characters: --full)` : text;

/** Labelled lines of a section where not all are shown. */
const mostLines = 30;

const labelledLines = (section: Section, layout: PageLayout): readonly string[] => {
  const { clean, isBounded } = layout;
  const all = section.lines ?? [];
  const lines = isBounded ? all.slice(0, mostLines) : all;
  const left = all.length - lines.length;
  const widest = lines.reduce((width, { label }) => Math.max(width, clean(label).length), 0);
  const texts = lines.flatMap((line) => labelledLine(line, { ...layout, indent: indentOf(section), widest }));
  const note = `… ${left} lines more (--full)`;
  return left === 0 ? texts : [...texts, indentOf(section) + layout.paint("faint", note)];
};

const labelledLine = (
  { label, text, tone }: Line,
  { indent, widest, ...layout }: PageLayout & { readonly indent: string; readonly widest: number },
): readonly string[] => {
  const { paint, clean, fold } = layout;
  const textIndent = indent.length + widest + 2;
  const name = paint("faint", clean(label).padEnd(widest));
  const shown = shortened(clean(text), longestText, layout);
  if (isTorn(shown, textIndent, layout)) {
    const below = indent + step + step;
    const lines = shown.split("\n").flatMap((line) => fold(line, below.length));
    return [indent + paint("faint", clean(label)), ...lines.map((line) => `${below}${paint(tone, line)}`.trimEnd())];
  }
  const [first = "", ...more] = shown.split("\n").flatMap((line) => fold(line, textIndent));
  return [
    `${indent}${name}  ${paint(tone, first)}`.trimEnd(),
    ...more.map((line) => `${" ".repeat(textIndent)}${paint(tone, line)}`.trimEnd()),
  ];
};

/** Whether a word of a text is too long beside its label, and has room below it: a number in two pieces is none. Beside a label that leaves no room every text is. */
const isTorn = (text: string, indent: number, { width, widthOf }: PageLayout): boolean => {
  if (indent + widthOf(text) <= width) return false;
  if (width - indent < narrowest) return true;
  const longest = text.split(/\s+/).reduce((most, word) => Math.max(most, widthOf(word)), 0);
  return indent + longest > width && 2 * step.length + longest <= width;
};

/** Sections under one section where not all are shown: so many of its first and of its last. */
const mostSections = 40;
const sectionsKept = 15;

/** Sections without those in the middle of too many under one; said in their place. */
const boundedSections = (sections: readonly Section[], level: 2 | 3): readonly Section[] => {
  const kept: Section[] = [];
  for (let at = 0; at < sections.length; ) {
    const section = sections[at];
    if (section === undefined) break;
    if ((section.level ?? 1) < level) {
      kept.push(section);
      at++;
      continue;
    }
    let end = at;
    while (end < sections.length && (sections[end]?.level ?? 1) >= level) end++;
    for (const one of boundedRun(sections.slice(at, end), level)) kept.push(one);
    at = end;
  }
  return level === 2 ? boundedSections(kept, 3) : kept;
};

const boundedRun = (run: readonly Section[], level: 2 | 3): readonly Section[] => {
  const starts = run.flatMap((section, at) => (section.level === level ? [at] : []));
  if (starts.length <= mostSections) return run;
  const left = starts.length - 2 * sectionsKept;
  return [
    ...run.slice(0, starts[sectionsKept]),
    { level, note: `${left} more are left out here (--full)` },
    ...run.slice(starts[starts.length - sectionsKept]),
  ];
};
