/** Measures, cuts and folds text by the columns it takes on a terminal. */
import stringWidth from "string-width";

/** Letters and marks of Latin, Greek and Cyrillic text: nothing that is wide, narrow or made of several. */
const singleWidthText =
  /^[ -~\u00a1-\u00ac\u00ae-\u024f\u0391-\u03ce\u0400-\u0482\u048a-\u04ff\u2010-\u2015\u2018-\u201f\u2026]*$/;

/** Beyond this many code units a line is longer than any terminal is wide: the rest is not worth measuring. */
const maxMeasured = 4096;

/** Columns that a line takes on a terminal. */
export const measureWidth = (line: string): number => {
  if (singleWidthText.test(line)) return line.length;
  return stringWidth(line.slice(0, maxMeasured)) + Math.max(0, line.length - maxMeasured);
};

const graphemes = new Intl.Segmenter("en", { granularity: "grapheme" });

/** Measuring takes microseconds, and a text of megabytes is made of few graphemes: the first of them are remembered. */
const graphemeWidths = new Map<string, number>();
const maxGraphemeWidths = 8192;

const widthOfGrapheme = (grapheme: string): number => {
  const known = graphemeWidths.get(grapheme);
  if (known !== undefined) return known;
  const width = measureWidth(grapheme);
  if (graphemeWidths.size < maxGraphemeWidths) graphemeWidths.set(grapheme, width);
  return width;
};

/** Code units that are looked at for some columns: no honest grapheme is longer than a few for each. */
const maxUnits = (columns: number): number => columns * 8 + 64;

/** The beginning of a line that takes at most `width` columns. */
export const takeStart = (line: string, width: number): string => {
  const start = line.slice(0, maxUnits(width));
  if (singleWidthText.test(start)) return start.slice(0, width);
  let taken = 0;
  let end = 0;
  for (const { segment, index } of graphemes.segment(start)) {
    taken += widthOfGrapheme(segment);
    if (taken > width) break;
    end = index + segment.length;
  }
  return start.slice(0, end);
};

/** The end of a line that takes at most `width` columns. */
export const takeEnd = (line: string, width: number): string => {
  const end = line.slice(Math.max(0, line.length - maxUnits(width)));
  if (singleWidthText.test(end)) return width < 1 ? "" : end.slice(-width);
  // What the piece begins with may be the half of a character.
  const whole = Array.from(graphemes.segment(end)).slice(end.length < line.length ? 1 : 0);
  let taken = 0;
  let start = end.length;
  for (const { segment, index } of whole.reverse()) {
    taken += widthOfGrapheme(segment);
    if (taken > width) break;
    start = index;
  }
  return end.slice(start);
};

/** A line cut to `width` columns, with a mark if something is missing. */
export const truncate = (line: string, width: number, mark = "…"): string => {
  if (measureWidth(line) <= width) return line;
  return width < 1 ? "" : takeStart(line, Math.max(0, width - mark.length)) + mark;
};

/** A line folded to `width` columns, at spaces if it has some. */
export const foldLine = (line: string, width: number): readonly string[] => {
  const lines: string[] = [];
  for (let at = 0; ; ) {
    // A line of megabytes is not measured again for each of its folds.
    const rest = line.slice(at, at + maxUnits(width));
    const fits = takeStart(rest, width) || firstGrapheme(rest);
    if (fits.length >= line.length - at) return [...lines, fits];
    // A space that just does not fit ends the line as well as one inside.
    const space = rest[fits.length] === " " ? fits.length : fits.lastIndexOf(" ");
    const atSpace = space > 0 && fits.slice(0, space).trim() !== "";
    lines.push(atSpace ? fits.slice(0, space).trimEnd() : fits);
    at += atSpace ? space + 1 : fits.length;
  }
};

const firstGrapheme = (line: string): string => {
  for (const { segment } of graphemes.segment(line)) return segment;
  return line;
};

/** The indent of the lines after the first of a sentence, and the columns that a line must have next to it. */
const indentOfRest = 2;
const minBeside = 8;

/** Stands for a space at which nothing is folded. */
const noBreak = "\ue001";

/** A sentence folded to `width` columns, all but its first line indented; a command in it stays whole if it fits on a line. */
export const foldSentence = (text: string, width: number): readonly string[] => {
  const room = Math.max(1, width - indentOfRest);
  const kept = text.replace(/`[^`]+`/g, (command) =>
    measureWidth(command) <= room ? command.replaceAll(" ", noBreak) : command,
  );
  const [first = "", ...rest] = foldLine(kept, Math.max(1, width));
  const isNarrow = width <= indentOfRest + minBeside;
  const more = rest.length === 0 || isNarrow ? rest : foldLine(kept.slice(first.length).trimStart(), room);
  const indent = isNarrow ? "" : " ".repeat(indentOfRest);
  return [first, ...more.map((line) => indent + line)].map((line) => line.replaceAll(noBreak, " "));
};
