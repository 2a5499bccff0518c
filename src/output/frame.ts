/** Draws a problem for a person: where, what, the line with the value marked, and what to do; never wider than asked. */
import type { Excerpt, Problem } from "../failure.ts";
import { formatProblemParts, type TextCleaner } from "./problem.ts";
import type { Glyphs, Paint } from "./style.ts";
import type { Tone } from "./views.ts";
import { foldLine, foldSentence, measureWidth, takeEnd, takeStart, truncate } from "./width.ts";

interface Layout {
  readonly clean: TextCleaner;
  readonly paint: Paint;
  /** Columns of the terminal. */
  readonly width: number;
  readonly glyphs: Glyphs;
  /** True if what is wrong, and what to do, was said already. */
  readonly isInMessage: boolean;
}

/** Columns that a piece of a line must have to say anything. */
const minColumns = 8;

/** Share of the columns that the marked value takes at most: the text around it says where it is. */
const maxMarkedShare = 0.6;

/** The lines of a problem: its position and what is wrong, the frame, what to do, and where else. */
export const frameLines = (problem: Problem, layout: Layout): readonly string[] => {
  const { clean, paint, width, glyphs, isInMessage: isSaid } = layout;
  const { position, severity, tone, message, rule, others } = formatProblemParts(problem, glyphs.ellipsis);
  const frame = problem.excerpt === undefined ? undefined : drawFrame(problem.excerpt, tone, layout);
  if (isSaid) return frame?.lines ?? [];
  const indent = frame?.indent ?? 2;
  const header = foldSentence(replaceWhitespace(clean(`${position}${severity} ${message} ${rule}`)), width);
  const at = header.findIndex((line) => line.includes(severity));
  return [
    ...header.map((line, own) => {
      const isLast = own === header.length - 1 && line.endsWith(rule);
      const text = isLast ? line.slice(0, -rule.length) + paint("faint", rule) : line;
      // Neither colors nor a rule's name hold the word.
      return own === at ? text.replace(severity, () => paint(tone, severity)) : text;
    }),
    ...(frame?.lines ?? []),
    ...(others === undefined ? [] : hangingLines(replaceWhitespace(clean(others)), { indent, width, lead: "" })),
    ...(problem.advice === undefined
      ? []
      : hangingLines(replaceWhitespace(clean(problem.advice)), { indent, width, lead: "= " })),
  ];
};

/** Text on one line, as wide as before. */
const replaceWhitespace = (text: string): string => text.replace(/\s/g, " ");

const hangingLines = (
  text: string,
  { indent, width, lead }: { readonly indent: number; readonly width: number; readonly lead: string },
): readonly string[] => {
  const left = width - indent - lead.length < minColumns ? 0 : indent;
  return foldLine(text, Math.max(1, width - left - lead.length)).map((line, at) =>
    truncate(" ".repeat(left) + (at === 0 ? lead : " ".repeat(lead.length)) + line, width),
  );
};

/** The line of an excerpt with its value marked, and the column that its text begins at. */
const drawFrame = (excerpt: Excerpt, tone: Tone, { width, glyphs, paint, clean }: Layout) => {
  const digits = String(excerpt.line).length;
  const gutter = (number: string): string => `${number.padStart(digits + 1)} ${glyphs.rail} `;
  const room = width - measureWidth(gutter(""));
  if (room < minColumns) return undefined;
  const { before, value, behind } = fitExcerpt(excerpt, { room, mark: glyphs.ellipsis, clean });
  const marks = "^".repeat(Math.min(room - measureWidth(before), Math.max(1, measureWidth(value))));
  const lines = [
    paint("faint", gutter(String(excerpt.line))) + truncate(`${before}${value}${behind}`, room),
    `${paint("faint", gutter(""))}${" ".repeat(measureWidth(before))}${paint(tone, marks)}`,
  ];
  return { lines, indent: digits + 2 };
};

/** As much of a line as fits, made safe: the value, and the text on both sides of it. */
const fitExcerpt = (
  { text, from, to, isCutBefore: cutBefore, isCutAfter: cutBehind }: Excerpt,
  { room, mark, clean }: { readonly room: number; readonly mark: string; readonly clean: TextCleaner },
): { readonly before: string; readonly value: string; readonly behind: string } => {
  const safe = (piece: string): string => replaceWhitespace(clean(piece));
  const all = safe(text);
  const pieces = [text.slice(0, from), text.slice(from, to), text.slice(to)].map(safe);
  // What only the whole line shows to be unsafe, such as a secret around the value, is redacted as a whole.
  const [before = "", value = "", behind = ""] = pieces.join("") === all ? pieces : ["", "", all];
  const markWidth = measureWidth(mark);
  const cuts = (cutBefore ? markWidth : 0) + (cutBehind ? markWidth : 0);
  // A mark after the end of the line takes a column too.
  const own = Math.max(1, measureWidth(value));
  const around = room - measureWidth(before) - measureWidth(behind) - cuts;
  if (own <= around)
    return { before: (cutBefore ? mark : "") + before, value, behind: behind + (cutBehind ? mark : "") };
  const most = Math.max(1, Math.floor(room * maxMarkedShare), around);
  const short = own > most ? takeStart(value, Math.max(1, most - markWidth)) + mark : value;
  const left = Math.max(0, room - Math.max(1, measureWidth(short)));
  const leftRoom = Math.max(Math.floor(left / 2), left - measureWidth(behind) - (cutBehind ? markWidth : 0));
  const fitting = (piece: string, columns: number, isCut: boolean) =>
    measureWidth(piece) + (isCut ? markWidth : 0) <= columns
      ? { isCut, columns: Number.POSITIVE_INFINITY }
      : { isCut: true, columns: Math.max(0, columns - markWidth) };
  const front = fitting(before, leftRoom, cutBefore);
  const shownFront = (front.isCut ? mark : "") + takeEnd(before, front.columns);
  const rightRoom = left - measureWidth(shownFront);
  const tail = fitting(behind, rightRoom, cutBehind);
  const shownTail = takeStart(behind, tail.columns) + (tail.isCut && rightRoom >= markWidth ? mark : "");
  return { before: measureWidth(shownFront) > left ? "" : shownFront, value: short, behind: shownTail };
};
