/** Formats a problem for a person: its position and message, the line with the value marked, and its advice. */
import type { Excerpt, Problem } from "../failure.ts";
import { formatInputName, positionPrefix } from "../sentences.ts";
import { toOneLine } from "./cleaner.ts";
import type { Glyphs, Paint } from "./style.ts";
import type { Tone } from "./views.ts";

export type TextCleaner = (text: string) => string;

type Measures = typeof import("./width.ts");

export interface TextStyle {
  readonly clean: TextCleaner;
  readonly paint: Paint;
  readonly glyphs: Glyphs;
  /** The terminal that the text is folded for, and that shows excerpts. Undefined in a pipe. */
  readonly terminal: (Measures & { readonly columns: number }) | undefined;
}

/** @param isInMessage true if the failure's message has the problem's message and position already */
export const formatProblem = (problem: Problem, style: TextStyle, isInMessage = false): readonly string[] => {
  const { clean, paint, terminal } = style;
  const tone = problem.severity === "error" ? "bad" : "warning";
  const frame = problem.excerpt && drawFrame(problem.excerpt, tone, style);
  const others = hangingLines(formatOthers(problem, style.glyphs), { indent: frame?.indent, style });
  if (isInMessage) return [...(frame?.lines ?? []), ...others];
  const [severity, rule] = [`${problem.severity}:`, `[${problem.rule}]`];
  const text = onOneLine(clean(`${positionPrefix(problem)}${severity} ${formatMessage(problem)} ${rule}`));
  const header = terminal === undefined ? [text] : terminal.foldSentence(text, terminal.columns);
  const severityLine = header.findIndex((line) => line.includes(severity));
  return [
    ...header.map((line, at) => {
      const isLast = at === header.length - 1 && line.endsWith(rule);
      const end = isLast ? line.slice(0, -rule.length) + paint("faint", rule) : line;
      return at === severityLine ? end.replace(severity, () => paint(tone, severity)) : end;
    }),
    ...(frame?.lines ?? []),
    ...others,
    ...hangingLines(problem.advice, { indent: frame?.indent, style, lead: terminal === undefined ? "" : "= " }),
  ];
};

const onOneLine = (text: string): string => toOneLine(text).replace(/\s/g, " ");

/** A column replaces the path, except for a service, whose message may name only the expected value. */
const formatMessage = ({ path = [], from, column, message }: Problem): string =>
  path.length > 0 && (from === "service" || column === undefined) ? `${path.join(".")}: ${message}` : message;

const formatOthers = ({ file, others }: Problem, { ellipsis }: Glyphs): string | undefined => {
  if (others === undefined) return undefined;
  const places = others.places.map((place) =>
    file !== undefined && place.startsWith(`${file}:`)
      ? place.slice(file.length)
      : place.replace(/^-(?=:|$)/, formatInputName),
  );
  const left = others.count > places.length ? `, ${ellipsis}` : "";
  return `and ${others.count} more${places.length === 0 ? "" : `: ${places.join(", ")}${left}`}`;
};

const minColumns = 8;

const hangingLines = (
  text: string | undefined,
  {
    indent = 2,
    style,
    lead = "",
  }: { readonly indent?: number | undefined; readonly style: TextStyle; readonly lead?: string },
): readonly string[] => {
  if (text === undefined) return [];
  const { clean, terminal } = style;
  const line = onOneLine(clean(text));
  if (terminal === undefined) return [`${" ".repeat(indent)}${line}`];
  const { columns, foldLine, truncate } = terminal;
  const left = columns - indent - lead.length < minColumns ? 0 : indent;
  return foldLine(line, Math.max(1, columns - left - lead.length)).map((part, at) =>
    truncate(" ".repeat(left) + (at === 0 ? lead : " ".repeat(lead.length)) + part, columns),
  );
};

const drawFrame = (excerpt: Excerpt, tone: Tone, { terminal, glyphs, paint, clean }: TextStyle) => {
  if (terminal === undefined) return undefined;
  const { measureWidth, truncate } = terminal;
  const digits = String(excerpt.line).length;
  const gutter = (number: string): string => `${number.padStart(digits + 1)} ${glyphs.rail} `;
  const columns = terminal.columns - measureWidth(gutter(""));
  if (columns < minColumns) return undefined;
  const { before, value, after } = fitExcerpt(excerpt, { ...terminal, columns, clean, ellipsis: glyphs.ellipsis });
  const marks = "^".repeat(Math.min(columns - measureWidth(before), Math.max(1, measureWidth(value))));
  const lines = [
    paint("faint", gutter(String(excerpt.line))) + truncate(`${before}${value}${after}`, columns),
    `${paint("faint", gutter(""))}${" ".repeat(measureWidth(before))}${paint(tone, marks)}`,
  ];
  return { lines, indent: digits + 2 };
};

/** Maximum share of the columns for the marked value, so that text around it stays visible. */
const maxMarkedShare = 0.6;

interface ExcerptSpace extends Measures {
  readonly columns: number;
  readonly clean: TextCleaner;
  readonly ellipsis: string;
}

const fitExcerpt = (excerpt: Excerpt, { columns, clean, ellipsis, ...terminal }: ExcerptSpace) => {
  const { text, from, to, isCutBefore, isCutAfter } = excerpt;
  const { measureWidth, truncate, truncateStart } = terminal;
  // One space for each character, because the range of the value counts characters.
  const safe = (piece: string): string => clean(piece).replace(/\s/g, " ");
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
