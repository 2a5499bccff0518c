/** Measures, truncates and folds text by the columns that it takes on a terminal. */
import stringWidth from "string-width";

/** Characters that are one column wide: ASCII, Latin, Greek and Cyrillic letters, and common punctuation. */
const singleWidthText =
  /^[ -~\u00a1-\u00ac\u00ae-\u024f\u0391-\u03ce\u0400-\u0482\u048a-\u04ff\u2010-\u2015\u2018-\u201f\u2026]*$/;

/** Maximum code units that are measured: more than any terminal has columns. */
const maxMeasured = 4096;

export const measureWidth = (line: string): number => {
  if (singleWidthText.test(line)) return line.length;
  return stringWidth(line.slice(0, maxMeasured)) + Math.max(0, line.length - maxMeasured);
};

const graphemes = new Intl.Segmenter("en", { granularity: "grapheme" });

/** Code units that fill the columns, unless graphemes are unusually long. */
const maxUnits = (columns: number): number => columns * 8 + 64;

const takeStart = (line: string, width: number): string => {
  const start = line.slice(0, maxUnits(width));
  if (singleWidthText.test(start)) return start.slice(0, width);
  let left = width;
  for (const { segment, index } of graphemes.segment(start)) {
    left -= measureWidth(segment);
    if (left < 0) return start.slice(0, index);
  }
  return start;
};

/** Truncates a line at its end to `width` columns, with an ellipsis if something is omitted. */
export const truncate = (line: string, width: number): string => {
  if (measureWidth(line) <= width) return line;
  return width <= 0 ? "" : `${takeStart(line, width - 1)}…`;
};

export const truncateStart = (line: string, width: number): string => {
  if (measureWidth(line) <= width) return line;
  const end = line.slice(-maxUnits(width));
  let over = measureWidth(end) - Math.max(0, width - 1);
  for (const { segment, index } of graphemes.segment(end)) {
    if (over <= 0) return `…${end.slice(index)}`;
    over -= measureWidth(segment);
  }
  return width <= 0 ? "" : "…";
};

export const foldLine = (line: string, width: number): readonly string[] => {
  const lines: string[] = [];
  for (let at = 0; ; ) {
    const rest = line.slice(at, at + maxUnits(width));
    // If not even one grapheme fits, takes its first code point, so that the loop advances.
    const fits = takeStart(rest, width) || (/^./su.exec(rest)?.[0] ?? rest);
    if (fits.length >= line.length - at) return [...lines, fits];
    const space = rest[fits.length] === " " ? fits.length : fits.lastIndexOf(" ");
    const atSpace = space > 0 && fits.slice(0, space).trim() !== "";
    lines.push(atSpace ? fits.slice(0, space).trimEnd() : fits);
    at += atSpace ? space + 1 : fits.length;
  }
};

/** Indent of all lines of a folded sentence but the first, and the minimum width of the text after it. */
const sentenceIndent = 2;
const minIndentedWidth = 8;
const noBreak = "\ue001";
/** Text to paste: a command in backticks, or an option with its value. */
const textToPaste = /`[^`]+`|--[a-z][a-z-]* (?:'[^']*'|[^\s']+)/g;

/** Folds between words. A wide word gets its own line, because a terminal that wraps the line copies it as one line. */
export const foldSentence = (text: string, width: number, indent = sentenceIndent): readonly string[] => {
  const before = " ".repeat(width <= indent + minIndentedWidth ? 0 : indent);
  const [first = "", ...words] = text.replace(textToPaste, (pasted) => pasted.replaceAll(" ", noBreak)).split(" ");
  const lines = [first];
  for (const word of words) {
    const longer = `${lines.at(-1)} ${word}`;
    const own = before + (measureWidth(before + word) > width ? word.replace(/^`(.+)`[,;]?$/, "$1") : word);
    if (measureWidth(longer) <= width) lines[lines.length - 1] = longer;
    else lines.push(own);
  }
  return lines.map((line) => line.replaceAll(noBreak, " "));
};
