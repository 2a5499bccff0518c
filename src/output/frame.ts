/** Draws a problem on a terminal: its position and message, the line with the value marked, and its advice. */
import type { Excerpt, Problem } from "../failure.ts";
import { formatProblemParts, type TextCleaner } from "./problem.ts";
import type { Glyphs, Paint } from "./style.ts";
import type { Tone } from "./views.ts";
import { foldLine, foldSentence, measureWidth, truncate, truncateStart } from "./width.ts";

interface Layout {
  readonly clean: TextCleaner;
  readonly paint: Paint;
  /** Columns of the terminal. */
  readonly width: number;
  readonly glyphs: Glyphs;
  /** True if the failure's message has the problem's message and position already. */
  readonly isInMessage: boolean;
}

/** Minimum columns of a folded or cut text. */
const minColumns = 8;

/** Maximum share of the columns for the marked value, so that text around it stays visible. */
const maxMarkedShare = 0.6;

export const frameLines = (problem: Problem, layout: Layout): readonly string[] => {
  const { clean, paint, width, glyphs, isInMessage } = layout;
  const { position, severity, tone, message, rule, others } = formatProblemParts(problem, glyphs.ellipsis);
  const frame = problem.excerpt === undefined ? undefined : drawFrame(problem.excerpt, tone, layout);
  if (isInMessage) return frame?.lines ?? [];
  const indent = frame?.indent ?? 2;
  const header = foldSentence(replaceWhitespace(clean(`${position}${severity} ${message} ${rule}`)), width);
  const severityLine = header.findIndex((line) => line.includes(severity));
  return [
    ...header.map((line, at) => {
      const isLast = at === header.length - 1 && line.endsWith(rule);
      const text = isLast ? line.slice(0, -rule.length) + paint("faint", rule) : line;
      return at === severityLine ? text.replace(severity, () => paint(tone, severity)) : text;
    }),
    ...(frame?.lines ?? []),
    ...(others === undefined ? [] : hangingLines(clean(others), { indent, width, lead: "" })),
    ...(problem.advice === undefined ? [] : hangingLines(clean(problem.advice), { indent, width, lead: "= " })),
  ];
};

/** Replaces each white space character with one space, because positions in the text count characters. */
const replaceWhitespace = (text: string): string => text.replace(/\s/g, " ");

const hangingLines = (
  text: string,
  { indent, width, lead }: { readonly indent: number; readonly width: number; readonly lead: string },
): readonly string[] => {
  const left = width - indent - lead.length < minColumns ? 0 : indent;
  return foldLine(replaceWhitespace(text), Math.max(1, width - left - lead.length)).map((line, at) =>
    truncate(" ".repeat(left) + (at === 0 ? lead : " ".repeat(lead.length)) + line, width),
  );
};

/** The line of an excerpt with its value marked, and the column at which its text begins. */
const drawFrame = (excerpt: Excerpt, tone: Tone, { width, glyphs, paint, clean }: Layout) => {
  const digits = String(excerpt.line).length;
  const gutter = (number: string): string => `${number.padStart(digits + 1)} ${glyphs.rail} `;
  const columns = width - measureWidth(gutter(""));
  if (columns < minColumns) return undefined;
  const { before, value, after } = fitExcerpt(excerpt, { columns, ellipsis: glyphs.ellipsis, clean });
  const marks = "^".repeat(Math.min(columns - measureWidth(before), Math.max(1, measureWidth(value))));
  const lines = [
    paint("faint", gutter(String(excerpt.line))) + truncate(`${before}${value}${after}`, columns),
    `${paint("faint", gutter(""))}${" ".repeat(measureWidth(before))}${paint(tone, marks)}`,
  ];
  return { lines, indent: digits + 2 };
};

/** The value, and as much of the text around it as fits. */
const fitExcerpt = (
  { text, from, to, isCutBefore, isCutAfter }: Excerpt,
  { columns, ellipsis, clean }: { readonly columns: number; readonly ellipsis: string; readonly clean: TextCleaner },
) => {
  const safe = (piece: string): string => replaceWhitespace(clean(piece));
  const all = safe(text);
  const pieces = [text.slice(0, from), text.slice(from, to), text.slice(to)].map(safe);
  // A secret that crosses the edge of the value is found only in the whole line.
  const [before = "", value = "", after = ""] = pieces.join("") === all ? pieces : ["", "", all];
  const front = (isCutBefore ? ellipsis : "") + before;
  const back = after + (isCutAfter ? ellipsis : "");
  const free = columns - measureWidth(front) - measureWidth(back);
  const shown = truncate(value, Math.max(1, Math.floor(columns * maxMarkedShare), free), ellipsis);
  // The mark below takes a column even if the value is empty.
  const left = Math.max(0, columns - Math.max(1, measureWidth(shown)));
  const shownFront = truncateStart(front, Math.max(Math.floor(left / 2), left - measureWidth(back)), ellipsis);
  return { before: shownFront, value: shown, after: truncate(back, left - measureWidth(shownFront), ellipsis) };
};
