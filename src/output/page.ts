/** Prints pages: titled sections of labelled lines and blocks, folded to a terminal's width, whole in a pipe. */
import type { Screen } from "./screen.ts";
import { type Paint, selectGlyphs } from "./style.ts";
import type { Line, Page, Section } from "./views.ts";

/** Prints a page, through the pager if it is longer than the terminal. */
export const printPage = async (screen: Screen, page: Page): Promise<void> =>
  await screen.print(pageTexts(page, await layoutOf(screen, page)), { kind: "lines" });

/** Prints pages that come one by one through one pager. */
export const printPages = async (screen: Screen, pages: AsyncIterable<Page>): Promise<void> =>
  await screen.print(textOfPages(screen, pages), { kind: "lines" });

async function* textOfPages(screen: Screen, pages: AsyncIterable<Page>): AsyncGenerator<string, void> {
  for await (const page of pages) yield* pageTexts(page, await layoutOf(screen, page));
}

interface Layout {
  readonly paint: Paint;
  readonly clean: (text: string) => string;
  /** Folds a line to the columns after an indent; keeps it whole in a pipe. */
  readonly fold: (line: string, indent: number) => readonly string[];
  readonly widthOf: (line: string) => number;
  /** Columns of the terminal; infinite in a pipe. */
  readonly width: number;
  /** The beginning of every line of text from outside, and a line across. */
  readonly rail: string;
  readonly rule: string;
  /** True if the middle of long text is left out. */
  readonly isBounded: boolean;
}

/** Columns of a line across, if the terminal is not narrower. */
const ruleColumns = 80;

/** Columns that a folded line keeps, however deep it is indented. */
const minColumns = 16;

const layoutOf = async ({ host, width, safe, paint }: Screen, { isFull: full }: Page): Promise<Layout> => {
  const { rail, horizontal: across } = selectGlyphs(host);
  const look = { paint: await paint(), clean: safe.text, rail, rule: across.repeat(Math.min(width, ruleColumns)) };
  if (!host.terminal.stdout) {
    const [fold, widthOf] = [(line: string) => [line], (line: string) => line.length];
    return { ...look, fold, widthOf, isBounded: false, width: Number.POSITIVE_INFINITY };
  }
  // What measures text is not loaded for a pipe.
  const { foldLine: folded, measureWidth: widthOf } = await import("./width.ts");
  const fold: Layout["fold"] = (line, indent) =>
    folded(line.replaceAll("\t", "    "), Math.max(minColumns, width - indent));
  return { ...look, fold, widthOf, isBounded: full === false, width };
};

/** Characters of a piece of a page: long enough to be written, short enough to be forgotten. */
const pieceLength = 64 * 1024;

/** The text of a page in pieces: sections with an empty line between them. */
function* pageTexts({ sections, isNext = false }: Page, layout: Layout): Generator<string, void> {
  const shown = layout.isBounded ? omitMiddleSections(omitMiddleSections([...sections], 2), 3) : sections;
  let text = isNext ? `\n${layout.paint("faint", layout.rule)}\n` : "";
  let isFirst = !isNext;
  for (const section of shown) {
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
    isFirst &&= !isBegun;
  }
  if (text !== "") yield text;
}

function* sectionLines(section: Section, layout: Layout): Generator<readonly string[], void> {
  const { title, level = 1, lines = [], block, note } = section;
  const titleIndent = indentStep.repeat(level - 1);
  // What a section holds is under its title, so that no text can pass for a title.
  const indent = titleIndent + (title === undefined ? "" : indentStep);
  if (title !== undefined) yield titleLines(title, titleIndent, layout);
  yield labelledLines(lines, indent, layout);
  if (block !== undefined && title !== undefined && lines.length > 0) yield [""];
  if (block !== undefined) yield* blockLines(section, indent, layout);
  if (note !== undefined) yield [indent + layout.paint("faint", `… ${note}`)];
}

const indentStep = "  ";

/** Characters of a title, or of a labelled text, if not all is shown. */
const maxTitle = 300;
const maxText = 2000;

/** A title is one line, whatever it is made of. */
const titleLines = (title: string, indent: string, layout: Layout): readonly string[] => {
  const line = shorten(layout.clean(title), maxTitle, layout).replaceAll("\n", " ");
  return layout.fold(line, indent.length).map((part) => indent + layout.paint("strong", part));
};

const shorten = (text: string, most: number, { isBounded }: Layout): string =>
  isBounded && text.length > most ? `${text.slice(0, most)}… (${text.length} characters: --full)` : text;

/** Labelled lines of a section, if not all are shown. */
const maxLines = 30;

const labelledLines = (all: readonly Line[], indent: string, layout: Layout): readonly string[] => {
  const { clean, isBounded, paint } = layout;
  const lines = isBounded ? all.slice(0, maxLines) : all;
  const left = all.length - lines.length;
  const label = lines.reduce((width, line) => Math.max(width, clean(line.label).length), 0);
  const texts = lines.flatMap((line) => labelledLine(line, { ...layout, indent, label }));
  return left === 0 ? texts : [...texts, indent + paint("faint", `… ${left} lines more (--full)`)];
};

/** @param layout with the columns of all labels */
const labelledLine = (
  { label, text, tone }: Line,
  { indent, label: labelWidth, ...layout }: Layout & { readonly indent: string; readonly label: number },
): readonly string[] => {
  const { paint, clean, fold } = layout;
  const textIndent = indent.length + labelWidth + 2;
  const name = clean(label);
  const shown = shorten(clean(text), maxText, layout);
  const isBelow = isBetterBelow(shown, textIndent, layout);
  const rest = isBelow ? indent + indentStep + indentStep : " ".repeat(textIndent);
  const lines = shown.split("\n").flatMap((line) => fold(line, rest.length));
  const own = isBelow
    ? [indent + paint("faint", name)]
    : [`${indent}${paint("faint", name.padEnd(labelWidth))}  ${paint(tone, lines.shift() ?? "")}`.trimEnd()];
  return [...own, ...lines.map((line) => `${rest}${paint(tone, line)}`.trimEnd())];
};

/** True if a word of a text is too long next to its label, and has room below it; next to a label that leaves no room every text is. */
const isBetterBelow = (text: string, indent: number, { width, widthOf }: Layout): boolean => {
  if (indent + widthOf(text) <= width) return false;
  if (width - indent < minColumns) return true;
  const longest = text.split(/\s+/).reduce((most, word) => Math.max(most, widthOf(word)), 0);
  return indent + longest > width && 2 * indentStep.length + longest <= width;
};

/** Lines of a long block that are shown by default, and how many of them are its last. */
const maxBlockLines = 24;
const tailLines = 4;

/** So few more lines are not worth folding. */
const minFoldedLines = 8;

/** Characters of either end of a long block that are laid out: no terminal shows more of a few lines. */
const maxLayoutLength = 64 * 1024;

/** The lines of a block, some at a time: those of 50 MB are never there as a whole. */
function* blockLines(
  { block = "", quoted = false, maxBlockLines: most = maxBlockLines }: Section,
  indent: string,
  { clean, fold, paint, rail, isBounded }: Layout,
): Generator<readonly string[], void> {
  const taken = indent.length + (quoted ? 2 : 0);
  const linesOf = (text: string): readonly string[] =>
    text.split("\n").flatMap((line) => {
      const own = leadingSpaces(line);
      return fold(line.slice(own.length), taken + own.length).map((part) => own + part);
    });
  const shown = (line: string): string => {
    if (quoted) return `${indent}${paint("faint", rail)} ${line}`.trimEnd();
    return line.trim() === "" ? "" : indent + line;
  };
  const text = block.replace(/\n$/, "");
  const isHuge = text.length > 2 * maxLayoutLength;
  if (!isBounded) {
    // Made safe as a whole: nothing that is looked for is in two pieces.
    const whole = clean(text);
    for (let from = 0, end = 0; end < whole.length || from === 0; from = end + 1) {
      const lineEnd = whole.indexOf("\n", from + pieceLength);
      end = lineEnd < 0 ? whole.length : lineEnd;
      yield linesOf(whole.slice(from, end)).map(shown);
    }
    return;
  }
  const head = linesOf(clean(isHuge ? text.slice(0, maxLayoutLength) : text));
  if (!isHuge && head.length <= most + minFoldedLines) return yield head.map(shown);
  const tail = isHuge ? linesOf(clean(text.slice(-maxLayoutLength))) : head;
  const note = indent + paint("faint", formatFoldNote(text));
  yield [...head.slice(0, most - tailLines).map(shown), note, ...tail.slice(-tailLines).map(shown)];
}

/** Widest indent that the rest of a folded line keeps: deeper ones would leave no room on a narrow terminal. */
const maxKeptIndent = 16;

const leadingSpaces = (line: string): string => {
  const own = /^ */.exec(line)?.[0] ?? "";
  return own.length <= maxKeptIndent ? own : "";
};

const formatFoldNote = (text: string): string => {
  let lines = 1;
  for (let at = text.indexOf("\n"); at >= 0; at = text.indexOf("\n", at + 1)) lines++;
  const on = lines === 1 ? "" : ` on ${groupDigits(String(lines))} lines`;
  return `… folded: ${groupDigits(String(text.length))} characters${on} (--full)`;
};

/** Digits in groups of three: `1,873`. Anything but a whole number of a readable length stays as it is. */
export const groupDigits = (digits: string): string =>
  /^-?\d{4,30}$/.test(digits) ? digits.replaceAll(/\B(?=(\d{3})+$)/g, ",") : digits;

/** Sections under one section, if not all are shown: so many of its first and of its last. */
const maxSections = 40;
const edgeSections = 15;

/** Sections without those in the middle of too many of a level under one; a note is in their place. */
const omitMiddleSections = (sections: readonly Section[], level: 2 | 3): readonly Section[] => {
  /** How many sections of the level each section above it has. */
  const counts: number[] = [];
  const places = sections.map((section) => {
    const own = section.level ?? 1;
    if (own < level || counts.length === 0) counts.push(0);
    if (own < level) return undefined;
    const parent = counts.length - 1;
    if (own === level) counts[parent] = (counts[parent] ?? 0) + 1;
    return { parent, number: counts[parent] ?? 0 };
  });
  return sections.flatMap((section, at) => {
    const { parent, number } = places[at] ?? { parent: -1, number: 0 };
    const count = counts[parent] ?? 0;
    if (count <= maxSections || number <= edgeSections || number > count - edgeSections) return [section];
    const note = `${count - 2 * edgeSections} more are left out here (--full)`;
    return number === edgeSections + 1 && section.level === level ? [{ level, note }] : [];
  });
};
