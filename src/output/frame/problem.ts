/** Draws a problem for a person: where, what, the line with the value marked, and what to do; never wider than asked. */
import type { Excerpt, Problem } from "../../failure.ts";
import type { Glyphs, Paint } from "../screen/style.ts";
import { beginning, cut, ending, folded, indented, widthOf } from "../screen/width.ts";
import type { Tone } from "../view.ts";
import { type Clean, messageOf, othersOf, placeOf } from "./line.ts";

/** How frames are drawn. */
export interface FrameLayout {
  readonly clean: Clean;
  readonly paint: Paint;
  /** Columns of the terminal. */
  readonly width: number;
  readonly glyphs: Glyphs;
  /** Whether what is wrong, and what to do, was said already. */
  readonly isSaid: boolean;
}

/** Columns that a piece of a line must have to say anything. */
const narrowest = 8;

/** Share of the columns that the marked value takes at most: what stands around it says where it is. */
const mostMarked = 0.6;

/** The lines of a problem: its place and what is wrong, the frame, what to do, and where else. */
export const frameLines = (problem: Problem, layout: FrameLayout): readonly string[] => {
  const { advice, excerpt } = problem;
  const others = othersOf(problem, layout.glyphs.cut);
  const frame = excerpt === undefined ? undefined : drawn(excerpt, toneOf(problem), layout);
  const indent = frame?.indent ?? 2;
  if (layout.isSaid) return frame?.lines ?? [];
  return [
    ...headerLines(problem, layout),
    ...(frame?.lines ?? []),
    ...(others === undefined ? [] : hanging(spaced(layout.clean(others)), { indent, layout, lead: "" })),
    ...(advice === undefined ? [] : hanging(spaced(layout.clean(advice)), { indent, layout, lead: "= " })),
  ];
};

const toneOf = ({ severity }: Problem): Tone => (severity === "error" ? "bad" : "warning");

/** Text on one line, as wide as before: white space inside it is a space each. */
const spaced = (text: string): string => text.replace(/\s/g, " ");

const headerLines = (problem: Problem, { clean, paint, width }: FrameLayout): readonly string[] => {
  const place = problem.file === undefined && problem.line === undefined ? "" : `${placeOf(problem)}: `;
  const [word, rule] = [`${problem.severity}:`, `[${problem.rule}]`];
  const text = spaced(clean(`${place}${word} ${messageOf(problem)} ${rule}`));
  const lines = indented(text, width);
  const at = lines.findIndex((line) => line.includes(word));
  return lines.map((line, position) => {
    const end = position === lines.length - 1 && line.endsWith(rule) ? line.length - rule.length : line.length;
    const start = position === at ? line.indexOf(word) : 0;
    const said = position === at ? paint(toneOf(problem), word) : "";
    const rest = start + (position === at ? word.length : 0);
    return `${line.slice(0, start)}${said}${line.slice(rest, end)}${paint("faint", line.slice(end))}`;
  });
};

const hanging = (
  text: string,
  { indent, layout, lead }: { readonly indent: number; readonly layout: FrameLayout; readonly lead: string },
): readonly string[] => {
  const left = layout.width - indent - lead.length < narrowest ? 0 : indent;
  return folded(text, Math.max(1, layout.width - left - lead.length)).map((line, at) =>
    cut(" ".repeat(left) + (at === 0 ? lead : " ".repeat(lead.length)) + line, layout.width),
  );
};

/** A frame, and the column that its text begins at. */
interface Frame {
  readonly lines: readonly string[];
  readonly indent: number;
}

const drawn = (excerpt: Excerpt, tone: Tone, layout: FrameLayout): Frame | undefined => {
  const { width, glyphs, paint, clean } = layout;
  const digits = String(excerpt.line).length;
  const gutter = (number: string): string => `${number.padStart(digits + 1)} ${glyphs.rail} `;
  const room = width - widthOf(gutter(""));
  if (room < narrowest) return undefined;
  const { before, value, behind } = windowed(piecesOf(excerpt, clean), { room, glyphs });
  const marks = "^".repeat(Math.min(room - widthOf(before), Math.max(1, widthOf(value))));
  const lines = [
    paint("faint", gutter(String(excerpt.line))) + cut(`${before}${value}${behind}`, room),
    `${paint("faint", gutter(""))}${" ".repeat(widthOf(before))}${paint(tone, marks)}`,
  ];
  return { lines, indent: digits + 2 };
};

/** A line in three pieces, the value in the middle, made safe. */
interface Pieces {
  readonly before: string;
  readonly value: string;
  readonly behind: string;
  readonly cutBefore: boolean;
  readonly cutBehind: boolean;
}

const piecesOf = ({ text, from, to, cutBefore, cutBehind }: Excerpt, clean: Clean): Pieces => {
  const safe = (text: string): string => spaced(clean(text));
  const pieces = [text.slice(0, from), text.slice(from, to), text.slice(to)].map(safe);
  // What only the whole line shows to be unsafe, such as a secret around the value, is blotted as a whole.
  const all = safe(text);
  const [before = "", value = "", behind = ""] = pieces.join("") === all ? pieces : ["", "", all];
  return { before, value, behind, cutBefore, cutBehind };
};

/** As much of the pieces as fits: the value, and what is around it on both sides. */
const windowed = (
  { before, value, behind, cutBefore, cutBehind }: Pieces,
  { room, glyphs }: { readonly room: number; readonly glyphs: Glyphs },
): { readonly before: string; readonly value: string; readonly behind: string } => {
  const mark = widthOf(glyphs.cut);
  const markOf = (isCut: boolean): string => (isCut ? glyphs.cut : "");
  // A mark behind the end of the line takes a column too.
  const own = Math.max(1, widthOf(value));
  const [left, right] = [widthOf(before), widthOf(behind)];
  const cuts = (cutBefore ? mark : 0) + (cutBehind ? mark : 0);
  if (left + own + right + cuts <= room) {
    return { before: markOf(cutBefore) + before, value, behind: behind + markOf(cutBehind) };
  }
  const most = Math.max(1, Math.floor(room * mostMarked), room - left - right - cuts);
  const short = own > most ? beginning(value, Math.max(1, most - mark)) + glyphs.cut : value;
  const around = Math.max(0, room - Math.max(1, widthOf(short)));
  const half = Math.floor(around / 2);
  const leftRoom = Math.max(half, around - right - (cutBehind ? mark : 0));
  const shownLeft = fitted(before, leftRoom, { isCut: cutBefore, mark, take: ending });
  const front = shownLeft.isCut ? glyphs.cut + shownLeft.text : shownLeft.text;
  const rightRoom = around - widthOf(front);
  const shownRight = fitted(behind, rightRoom, { isCut: cutBehind, mark, take: beginning });
  const tail = shownRight.isCut && rightRoom >= mark ? shownRight.text + glyphs.cut : shownRight.text;
  return { before: widthOf(front) > around ? "" : front, value: short, behind: tail };
};

/** As much of a text as fits, and whether some of it is missing. */
const fitted = (
  text: string,
  room: number,
  {
    isCut,
    mark,
    take,
  }: { readonly isCut: boolean; readonly mark: number; readonly take: (text: string, width: number) => string },
): { readonly text: string; readonly isCut: boolean } => {
  if (!isCut && widthOf(text) <= room) return { text, isCut: false };
  if (isCut && widthOf(text) + mark <= room) return { text, isCut: true };
  return { text: take(text, Math.max(0, room - mark)), isCut: true };
};
