/** Lists as tables that fit the terminal. */
import Table from "cli-table3";
import type { ShownColumn } from "./fields.ts";
import type { Paint } from "./paint.ts";
import type { Mark, Tone } from "./view.ts";
import { cut, widthOf } from "./width.ts";

/** What a table is made of. */
export interface TableView<Row> {
  readonly columns: readonly ShownColumn<Row>[];
  readonly rows: readonly Row[];
  /** Columns of the terminal; infinite where nothing is to be cut. */
  readonly width: number;
  readonly paint: Paint;
  readonly clean: (cell: string) => string;
}

/** A column with its cells as text, and how wide it would like to be. */
interface Laid {
  /** Lines of the heading. */
  readonly headings: readonly string[];
  readonly rank: number;
  readonly isNumber: boolean;
  readonly cells: readonly string[];
  readonly marks: readonly (Mark | undefined)[];
  /** The width that shows everything, and the width that it is content with. */
  readonly natural: number;
  readonly content: number;
  readonly isEmpty: boolean;
}

/** Between two columns. */
const gap = "  ";

/** A text column is content when this share of its cells is whole: one long id among many must not cost all other columns. */
const wholeShare = 0.9;

/** A text that must be cut keeps this many columns while there is another to cut. */
const textLeast = 8;

/** Rows of one piece of output. */
const pieceOf = 500;

/** A table in pieces: its header, then its rows. Nothing at all where there is no row. */
export function* tablePieces<Row>(view: TableView<Row>): Generator<string, void> {
  if (view.rows.length === 0) return;
  const laid = fitting(
    view.columns.map((column) => laidOut(column, view)),
    view.width,
  );
  const widths = shrunk(laid, view.width);
  const draw = lineDrawer(widths);
  yield headerLines(laid, (line) => draw(line.map((text, at) => heading(text, laid[at], widths[at] ?? 0, view.paint))));
  for (let from = 0; from < view.rows.length; from += pieceOf) {
    const rows = view.rows.slice(from, from + pieceOf);
    yield rows
      .map((_, row) => draw(laid.map((column, at) => cellText(column, from + row, widths[at] ?? 0, view))))
      .join("");
  }
}

/** Headings of several lines stand on the rows: the shorter ones begin further down. */
const headerLines = (columns: readonly Laid[], draw: (line: readonly string[]) => string): string => {
  const height = Math.max(...columns.map(({ headings }) => headings.length));
  return Array.from({ length: height }, (_, line) =>
    draw(columns.map(({ headings }) => headings[line - height + headings.length] ?? "")),
  ).join("");
};

const heading = (text: string, column: Laid | undefined, width: number, paint: Paint): string =>
  painted(paint, "strong", padded(text, width, column?.isNumber === true));

const laidOut = <Row>(column: ShownColumn<Row>, { rows, clean }: TableView<Row>): Laid => {
  const own = rows.map((row, position) => clean(column.cell(row, position)));
  const cells = column.align === "decimal" ? onThePoint(own) : own;
  const marks = rows.map((row) => column.mark?.(row));
  const headings = column.heading.split("\n").map(clean);
  const widths = cells.map((cell, at) => widthOf(cell) + markWidth(marks[at])).sort((a, b) => a - b);
  const headingWidth = Math.max(...headings.map(widthOf));
  const atShare = (share: number) => Math.max(headingWidth, widths[Math.ceil(share * (widths.length - 1))] ?? 0);
  const isNumber = column.align === "right" || column.align === "decimal";
  return {
    headings,
    rank: column.rank,
    isNumber,
    cells,
    marks,
    natural: atShare(1),
    // A number that is cut is a wrong number.
    content: atShare(isNumber ? 1 : wholeShare),
    isEmpty: own.every((cell) => cell === ""),
  };
};

const markWidth = (mark: Mark | undefined): number => (mark === undefined ? 0 : widthOf(mark.text) + 1);

/** Numbers with their points under one another: blanks stand for the digits that a fraction has less than the longest. */
const onThePoint = (cells: readonly string[]): readonly string[] => {
  const behind = (cell: string) => (isDecimal.test(cell) ? cell.length - `${cell}.`.indexOf(".") : 0);
  const longest = cells.reduce((most, cell) => Math.max(most, behind(cell)), 0);
  return cells.map((cell) => (isDecimal.test(cell) ? cell + " ".repeat(longest - behind(cell)) : cell));
};

const isDecimal = /^-?\d+(\.\d+)?$/;

/** Leaves out columns, empty ones first and then by rank, until the others have what they are content with. */
const fitting = (columns: readonly Laid[], width: number): readonly Laid[] => {
  let shown = columns;
  for (;;) {
    if (total(shown.map(({ content }) => content)) <= width) return shown;
    const leaves = shown.reduce<Laid | undefined>((last, one) => (goesBefore(one, last) ? one : last), undefined);
    if (leaves === undefined || leaves.rank === 0) return shown;
    shown = shown.filter((column) => column !== leaves);
  }
};

const goesBefore = (one: Laid, other: Laid | undefined): boolean => {
  if (one.rank === 0) return false;
  if (other === undefined || one.isEmpty !== other.isEmpty) return other === undefined || one.isEmpty;
  return one.rank >= other.rank;
};

const total = (widths: readonly number[]): number =>
  widths.reduce((sum, width) => sum + width, 0) + gap.length * Math.max(0, widths.length - 1);

/** Widths that fit: the widest text gives way first, numbers last of all. Zero for columns that there is no room for. */
const shrunk = (columns: readonly Laid[], width: number): readonly number[] => {
  const widths = columns.map(({ natural }) => Math.min(natural, width));
  let over = total(widths) - width;
  const shrink = (may: (column: Laid) => boolean, least: number): void => {
    while (over > 0) {
      const widest = columns.reduce(
        (best, column, at) => (may(column) && (widths[at] ?? 0) > Math.max(least, widths[best] ?? 0) ? at : best),
        -1,
      );
      if (widest < 0) return;
      widths[widest] = (widths[widest] ?? 0) - 1;
      over--;
    }
  };
  shrink(({ isNumber }) => !isNumber, textLeast);
  shrink(() => true, 1);
  for (let at = widths.length - 1; at > 0 && over > 0; at--) {
    over -= (widths[at] ?? 0) + gap.length;
    widths[at] = 0;
  }
  return widths;
};

const padded = (text: string, width: number, toTheRight: boolean): string => {
  const short = cut(text, width);
  const blanks = " ".repeat(Math.max(0, width - widthOf(short)));
  return toTheRight ? blanks + short : short + blanks;
};

const cellText = <Row>(column: Laid, at: number, width: number, { paint }: TableView<Row>): string => {
  const cell = column.cells[at] ?? "";
  const mark = column.marks[at];
  if (mark === undefined) return padded(cell, width, column.isNumber);
  return painted(paint, mark.tone, padded(`${cell} ${mark.text}`, width, column.isNumber));
};

/** Without colour on the blanks behind it. */
const painted = (paint: Paint, tone: Tone, text: string): string =>
  paint(tone, text.trimEnd()) + " ".repeat(text.length - text.trimEnd().length);

/** Stands for a cell while the line is laid out. */
const standIn = "x";

/**
 * Draws lines of cells that are as wide as their columns. cli-table3 lays out one line of stand-ins: it measures text by
 * the widths of 2019, and takes seconds for 50,000 rows.
 */
const lineDrawer = (widths: readonly number[]): ((cells: readonly string[]) => string) => {
  const shown = widths.flatMap((width, at) => (width > 0 ? [{ width, at }] : []));
  const none = { top: "", bottom: "", mid: "", left: "", right: "" };
  const table = new Table({
    chars: {
      ...none,
      ...{ "top-mid": "", "top-left": "", "top-right": "", "bottom-mid": "", "bottom-left": "", "bottom-right": "" },
      ...{ "left-mid": "", "mid-mid": "", "right-mid": "", middle: gap },
    },
    style: { "padding-left": 0, "padding-right": 0, head: [], border: [] },
    colWidths: shown.map(({ width }) => width),
  });
  table.push(shown.map(({ width }) => standIn.repeat(width)));
  const parts = table.toString().split(/x+/);
  return (cells) => {
    const line = shown.map(({ at }, part) => `${parts[part] ?? ""}${cells[at] ?? ""}`).join("");
    return `${line.trimEnd()}\n`;
  };
};
