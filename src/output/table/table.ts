/** Lists as tables that fit the terminal. */
import Table from "cli-table3";
import type { Paint } from "../screen/style.ts";
import { cut, widthOf } from "../screen/width.ts";
import type { Mark, Rows, Tone } from "../view.ts";
import { inOrder, type ShownColumn } from "./fields.ts";
import { fitting, gap, shrunk, type Wanted } from "./table-widths.ts";

/** What a table is made of. */
export interface TableView<Row> {
  readonly columns: readonly ShownColumn<Row>[];
  /** Gone through twice: to measure, and to draw. No cell is kept between, however many rows there are. */
  readonly rows: Rows<Row>;
  /** Columns of the terminal; infinite where nothing is to be cut. */
  readonly width: number;
  readonly paint: Paint;
  readonly clean: (cell: string) => string;
}

/** A column, and how wide it would like to be. */
interface Laid<Row> extends Wanted {
  readonly column: ShownColumn<Row>;
  /** Lines of the heading. */
  readonly headings: readonly string[];
  /** The most that stands behind the place of a point. */
  readonly behind: number;
  /** Whether there is something to look at in a cell. */
  readonly isMarked: boolean;
}

/** A text column is content when this share of its cells is whole: one long id among many must not cost all other columns. */
const wholeShare = 0.9;

/** Rows of one piece of output. */
const pieceOf = 100;

/** A table in pieces: its header, then its rows. Nothing at all where there is no row. */
export function* tablePieces<Row>(view: TableView<Row>): Generator<string, void> {
  const { rows, width, paint } = view;
  if (rows.length === 0) return;
  const laid = laidOut(view);
  const widths = shrunk(laid, width);
  const draw = lineDrawer(widths);
  yield headerLines(laid, (line) => draw(line.map((text, at) => heading(text, laid[at], widths[at] ?? 0, paint))));
  for (let from = 0; from < rows.length; from += pieceOf) {
    yield Array.from(inOrder(rows, from, from + pieceOf), (row, at) =>
      draw(laid.map((column, of) => cellText(column, { row, position: from + at, width: widths[of] ?? 0, view }))),
    ).join("");
  }
}

/** The columns that fit. What there is to look at in one that does not is said beside the first. */
const laidOut = <Row>(view: TableView<Row>): readonly Laid<Row>[] => {
  const all = measured(view);
  const shown = fitting(all, view.width);
  const hidden = all.find((one) => one.isMarked && !shown.includes(one))?.column.mark;
  const [first, ...others] = shown;
  if (hidden === undefined || first === undefined) return shown;
  const mark = (row: Row): Mark | undefined => {
    const own = hidden(row);
    return own?.elsewhere === undefined ? undefined : { ...own, text: own.elsewhere };
  };
  return fitting([...measured({ ...view, columns: [{ ...first.column, mark }] }), ...others], view.width);
};

/** Headings of several lines stand on the rows: the shorter ones begin further down. */
const headerLines = <Row>(columns: readonly Laid<Row>[], draw: (line: readonly string[]) => string): string => {
  const height = Math.max(...columns.map(({ headings }) => headings.length));
  return Array.from({ length: height }, (_, line) =>
    draw(columns.map(({ headings }) => headings[line - height + headings.length] ?? "")),
  ).join("");
};

const heading = <Row>(text: string, column: Laid<Row> | undefined, width: number, paint: Paint): string =>
  painted(paint, "strong", padded(text, width, column?.isNumber === true));

/** Goes through all rows once. */
const measured = <Row>({ columns, rows, clean }: TableView<Row>): readonly Laid<Row>[] => {
  const measures = columns.map((column) => ({ column, measure: openMeasure(column.align === "decimal") }));
  let position = 0;
  for (const row of inOrder(rows)) {
    for (const { column, measure } of measures) {
      measure.add(clean(column.cell(row, position)), markWidth(column.mark?.(row)));
    }
    position++;
  }
  return measures.map(({ column, measure }) => {
    const headings = column.heading.split("\n").map(clean);
    const headingWidth = Math.max(...headings.map(widthOf));
    const { behind, isEmpty, isMarked, widthAt } = measure.read();
    const isNumber = column.align === "right" || column.align === "decimal";
    const natural = Math.max(headingWidth, widthAt(1));
    // A number that is cut is a wrong number.
    const content = isNumber ? natural : Math.max(headingWidth, widthAt(wholeShare));
    return { column, headings, rank: column.rank, isNumber, behind, natural, content, isEmpty, isMarked };
  });
};

/** Counts the cells of a column by their widths. */
const openMeasure = (onPoint: boolean) => {
  /** By the width of the cell, and of decimals by the width before the point: what stands behind it is known at the end. */
  const [whole, before]: [number[], number[]] = [[], []];
  let [count, behind, isEmpty, isMarked] = [0, 0, true, false];
  return {
    add: (cell: string, mark: number): void => {
      count++;
      if (cell !== "") isEmpty = false;
      if (mark > 0) isMarked = true;
      const own = onPoint ? behindPoint(cell) : undefined;
      if (own === undefined) addTo(whole, widthOf(cell) + mark);
      else {
        behind = Math.max(behind, own);
        addTo(before, cell.length - own + mark);
      }
    },
    read: () => {
      const widths = [...whole];
      for (const [width, cells = 0] of before.entries()) {
        widths[width + behind] = (widths[width + behind] ?? 0) + cells;
      }
      return {
        behind,
        isEmpty,
        isMarked,
        widthAt: (share: number) => widthOfShare(widths, Math.ceil(share * (count - 1))),
      };
    },
  };
};

const addTo = (counts: number[], width: number): void => {
  counts[width] = (counts[width] ?? 0) + 1;
};

/** The width of the cell at a position among all cells from narrow to wide. */
const widthOfShare = (counts: readonly number[], position: number): number => {
  let seen = 0;
  for (const [width, cells = 0] of counts.entries()) {
    seen += cells;
    if (seen > position) return width;
  }
  return 0;
};

/** Columns of a cell that stay beside its mark. */
const leastBeside = 8;

const markWidth = (mark: Mark | undefined): number => (mark === undefined ? 0 : widthOf(mark.text) + 1);

/** Characters of a decimal number from its point on; undefined for anything else. */
const behindPoint = (cell: string): number | undefined =>
  isDecimal.test(cell) ? cell.length - `${cell}.`.indexOf(".") : undefined;

const isDecimal = /^-?\d+(\.\d+)?$/;

const padded = (text: string, width: number, toTheRight: boolean): string => {
  const short = cut(text, width);
  const blanks = " ".repeat(Math.max(0, width - widthOf(short)));
  return toTheRight ? blanks + short : short + blanks;
};

const cellText = <Row>(
  { column, isNumber, behind }: Laid<Row>,
  { row, position, width, view }: { row: Row; position: number; width: number; view: TableView<Row> },
): string => {
  const own = view.clean(column.cell(row, position));
  // Numbers with their points under one another: blanks stand for the digits that a fraction has less than the longest.
  const cell = column.align === "decimal" ? own + " ".repeat(behind - (behindPoint(own) ?? behind)) : own;
  const mark = column.mark?.(row);
  if (mark === undefined) return padded(cell, width, isNumber);
  // A word that says what there is to look at is worth more than the end of what it is said of.
  const room = width - markWidth(mark);
  const marked = room >= leastBeside ? `${cut(cell, room)} ${mark.text}` : `${cell} ${mark.text}`;
  return painted(view.paint, mark.tone, padded(marked, width, isNumber));
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
