/** Measures, truncates and folds text in columns of a terminal. */
import { stripVTControlCharacters } from "node:util";
import stringWidth from "string-width";

/** No terminal has this many columns. */
const maxMeasuredUnits = 4096;

export const widthOf = (line: string) => {
  const restWidth = Math.max(0, line.length - maxMeasuredUnits);
  return restWidth + stringWidth(stripVTControlCharacters(line.slice(0, maxMeasuredUnits)));
};

const isPlain = (line: string) => /^[ -~]*$/.test(line);

let graphemes: Intl.Segmenter | undefined;
const splitGraphemes = (text: string) => {
  // Creating a segmenter takes 8 ms.
  graphemes ??= new Intl.Segmenter("en");
  return graphemes.segment(text);
};

/** Returns enough UTF-16 units to fill the columns with usual graphemes. */
const countMaxUnits = (columns: number) => columns * 8 + 64;

const takeStart = (line: string, width: number) => {
  const start = line.slice(0, countMaxUnits(width));
  if (isPlain(start)) return start.slice(0, width);
  let left = width;
  for (const { segment, index } of splitGraphemes(start)) {
    left -= widthOf(segment);
    if (left < 0) return start.slice(0, index);
  }
  return start;
};

export const truncate = (line: string, width: number) => {
  if (widthOf(line) <= width) return line;
  return width <= 0 ? "" : `${takeStart(line, width - 1)}…`;
};

export const truncateStart = (line: string, width: number) => {
  if (widthOf(line) <= width) return line;
  const end = line.slice(-countMaxUnits(width));
  let over = widthOf(end) - Math.max(0, width - 1);
  for (const { segment, index } of splitGraphemes(end)) {
    if (over <= 0) return `…${end.slice(index)}`;
    over -= widthOf(segment);
  }
  return width <= 0 ? "" : "…";
};

export const foldLine = (line: string, width: number) => {
  const lines: string[] = [];
  for (let at = 0; ; ) {
    const rest = line.slice(at, at + countMaxUnits(width));
    // If no grapheme fits, the loop advances by one code point.
    const fits = takeStart(rest, width) || (/^./su.exec(rest)?.[0] ?? rest);
    if (fits.length >= line.length - at) return [...lines, fits];
    const space = rest[fits.length] === " " ? fits.length : fits.lastIndexOf(" ");
    const atSpace = space > 0 && fits.slice(0, space).trim() !== "";
    lines.push(atSpace ? fits.slice(0, space).trimEnd() : fits);
    at += atSpace ? space + 1 : fits.length;
  }
};

const hangingIndent = 2;
const noBreak = "\ue001";
const textToPaste = /`[^`]+`|--[a-z][a-z-]* (?:'[^']*'|[^\s']+)/g;

/** Does not divide words, so that a copied word has no line breaks. */
export const foldSentence = (text: string, width: number, indent = hangingIndent) => {
  const before = " ".repeat(indent);
  const [first = "", ...words] = text.replace(textToPaste, (pasted) => pasted.replaceAll(" ", noBreak)).split(" ");
  const lines = [first];
  for (const word of words) {
    const longer = `${lines.at(-1)} ${word}`;
    if (widthOf(longer) <= width) lines[lines.length - 1] = longer;
    else lines.push(before + (widthOf(before + word) > width ? word.replace(/^`(.+)`[,;]?$/, "$1") : word));
  }
  return lines.map((line) => line.replaceAll(noBreak, " "));
};
