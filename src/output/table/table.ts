/**
 * Draws a list as a table that fits the terminal: cli-table3 lays it out. What it lacks stands here: how wide each column may
 * be, numbers with their points under one another, and marks beside cells.
 */
import Table from "cli-table3";
import type { Paint } from "../screen/style.ts";
import { cut, folded, widthOf } from "../screen/width.ts";
import type { Mark, Rows } from "../view.ts";
import { inOrder, type ShownColumn } from "./fields.ts";
import { fitting, gap, isReadable, shrunk, type Wanted } from "./fit.ts";

/** What a table is made of. */
export interface TableView<Row> {
  readonly columns: readonly ShownColumn<Row>[];
  /** Gone through twice: to measure, and to draw. No cell is kept between, however many rows there are. */
  readonly rows: Rows<Row>;
  /** Columns of the terminal; infinite where nothing is to be cut. */
  readonly width: number;
  readonly paint: Paint;
  readonly clean: (cell: string) => string;
  /** Told the columns that the terminal has no room for. */
  readonly leavesOut: (names: readonly string[]) => void;
}

interface Laid<Row> extends Wanted {
  readonly column: ShownColumn<Row>;
  readonly headings: readonly string[];
  /** The most that stands behind the place of a point. */
  readonly behind: number;
  /** Whether there is something to look at in a cell. */
  readonly isMarked: boolean;
}

/** A text column is content when this share of its cells is whole: one long id among many must not cost all other columns. */
const wholeShare = 0.9;

/** Rows of one piece of output: 50,000 rows take seconds to lay out, and a pager shows the first ones at once. */
const pieceOf = 100;

/** A table in pieces: its header, then its rows. Nothing at all where there is no row. */
export function* tablePieces<Row>(view: TableView<Row>): Generator<string, void> {
  const { rows, width, paint } = view;
  if (rows.length === 0) return;
  const wanted = laidOut(view);
  if (!isReadable(wanted, width)) return yield* recordPieces(view);
  const left = view.columns.filter(({ name }) => !wanted.some(({ column }) => column.name === name));
  if (left.length > 0) view.leavesOut(left.map(({ name }) => name));
  const widths = shrunk(wanted, width);
  const laid = wanted.map((column, at) => ({ ...column, width: widths[at] ?? 0 }));
  const height = Math.max(...laid.map(({ headings }) => headings.length));
  yield drawn(
    laid,
    // Headings of several lines stand on the rows: the shorter ones begin further down.
    Array.from({ length: height }, (_, line) =>
      laid.map(({ headings }) => paint("strong", headings[line - height + headings.length] ?? "")),
    ),
  );
  for (let from = 0; from < rows.length; from += pieceOf) {
    const cells = Array.from(inOrder(rows, from, from + pieceOf), (row, at) =>
      laid.map((column) => cellText(column, { row, position: from + at, view })),
    );
    yield drawn(laid, cells);
  }
}

/** Columns of a cell that are shown where it is folded. */
const longestCell = 1000;

/** Columns in which text is folded beside its heading. */
const readableBeside = 24;

/** Rows below each other, where the terminal has no room to read them side by side: every cell that holds something. */
function* recordPieces<Row>({ columns, rows, width, paint, clean }: TableView<Row>): Generator<string, void> {
  const headings = columns.map(({ heading }) => clean(heading.replaceAll("\n", " ")));
  const label = Math.max(...headings.slice(1).map(widthOf), 0);
  let position = 0;
  for (const row of inOrder(rows)) {
    const lines: string[] = [];
    for (const [at, column] of columns.entries()) {
      const [cell, mark] = [cut(clean(column.cell(row, position)), longestCell), column.mark?.(row)];
      const text = mark === undefined ? cell : `${cell} ${mark.text}`;
      const tone = mark?.tone ?? (at === 0 ? "strong" : undefined);
      if (at > 0 && text === "") continue;
      const heading = headings[at] ?? "";
      const beside = at === 0 ? "" : `  ${heading}${" ".repeat(label - widthOf(heading))}  `;
      // What is too long beside its heading stands below it.
      const isBelow = at > 0 && widthOf(beside) + widthOf(text) > width && width - widthOf(beside) < readableBeside;
      if (isBelow) lines.push(cut(`  ${heading}`, width));
      const begins = isBelow ? " ".repeat(Math.min(4, width - 1)) : beside;
      for (const [line, part] of folded(text, Math.max(1, width - widthOf(begins))).entries()) {
        const before = line === 0 ? begins : " ".repeat(widthOf(begins));
        const own = cut(part, width - widthOf(before));
        lines.push(before + (tone === undefined ? own : paint(tone, own)));
      }
    }
    position++;
    yield `${lines.join("\n")}\n`;
  }
}

type Drawn<Row> = Laid<Row> & { readonly width: number };

/** No borders, and a gap between columns. */
const chars = {
  ...{ top: "", bottom: "", mid: "", left: "", right: "", middle: gap },
  ...{ "top-mid": "", "top-left": "", "top-right": "", "bottom-mid": "", "bottom-left": "", "bottom-right": "" },
  ...{ "left-mid": "", "mid-mid": "", "right-mid": "" },
};

const drawn = <Row>(columns: readonly Drawn<Row>[], lines: readonly (readonly string[])[]): string => {
  const table = new Table({
    chars,
    style: { "padding-left": 0, "padding-right": 0, head: [], border: [] },
    colWidths: columns.map(({ width }) => width),
    colAligns: columns.map(({ isNumber }) => (isNumber ? "right" : "left")),
  });
  const wide: string[] = [];
  for (const line of lines) {
    table.push(
      line.map((cell) => {
        const width = measuredOtherwise.test(cell) ? widthOf(cell) : 0;
        if (width === 0) return cell;
        wide.push(cell);
        return standIn.repeat(width);
      }),
    );
  }
  const text = table.toString().replaceAll(spacesAtEnd, "");
  return `${text.replaceAll(standIns, () => wide.shift() ?? "")}\n`;
};

/** Looked for from where they begin: a table of very wide cells is mostly spaces, and each would be tried in turn. */
const spacesAtEnd = /(?<! ) +$/gm;

/** What cli-table3 measures by the widths of 2019, and terminals by newer ones: it lays out a stand-in that is as wide. */
const measuredOtherwise = /[^\0-\u02ff…]/;
const standIn = "\ue000";
const standIns = /\ue000+/g;

/** A name that is cut keeps this many columns: the most that people have to type of it. */
const nameLeast = 24;

/** The columns that fit. What there is to look at in one that does not is said beside the first. */
const laidOut = <Row>(view: TableView<Row>): readonly Laid<Row>[] => {
  const columns = measured(view);
  const isCut = columns.reduce((sum, { natural }) => sum + natural + gap.length, 0) > view.width + gap.length;
  const all = isCut ? withNames(view, columns) : columns;
  const shown = fitting(all, view.width);
  const hidden = all.find((one) => one.isMarked && !shown.includes(one))?.column.mark;
  const [first, ...others] = shown;
  if (hidden === undefined || first === undefined) return shown;
  const mark = (row: Row): Mark | undefined => {
    const own = hidden(row);
    return own?.elsewhere === undefined ? undefined : { ...own, text: own.elsewhere };
  };
  const [marked] = measured({ ...view, columns: [{ ...first.column, mark }] });
  return marked === undefined
    ? shown
    : fitting(
        [
          { ...marked, least: Math.min((first.least ?? 0) + marked.natural - first.natural, marked.natural) },
          ...others,
        ],
        view.width,
      );
};

/** The columns with the widths at which the first of them, and one of names, tell rows apart and can be typed. */
const withNames = <Row>(view: TableView<Row>, columns: readonly Laid<Row>[]): readonly Laid<Row>[] => {
  const name = Math.max(
    0,
    columns.findIndex(({ column }) => column.isName === true),
  );
  return columns.map((one, at) => {
    if (at !== 0 && at !== name) return one;
    const typed = at === name && !one.isNumber ? Math.min(one.natural, nameLeast) : 0;
    const least = Math.max(apartFrom(view, one), typed);
    return { ...one, least, content: Math.max(one.content, least) };
  });
};

/** The width at which no two cells of a column that are different look the same; none for numbers. */
const apartFrom = <Row>({ rows, clean }: TableView<Row>, { column, isNumber }: Laid<Row>): number => {
  if (isNumber) return 0;
  const cells = new Set<string>();
  let position = 0;
  for (const row of inOrder(rows)) cells.add(clean(column.cell(row, position++)));
  const sorted = [...cells].sort();
  const apart = sorted.map((cell, at) => {
    const before = sorted[at - 1] ?? "";
    const alike = Array.from(cell).findIndex((letter, place) => before[place] !== letter);
    // The letter that differs, and the mark of what was cut; two cells that begin alike are both shown so far.
    return at === 0 || alike < 0
      ? 0
      : Math.min(widthOf(cell.slice(0, alike)) + 2, Math.max(widthOf(cell), widthOf(before)));
  });
  return apart.reduce((most, width) => Math.max(most, width), 0);
};

/** Widths of the cells of a column; those of decimals before their points, for what stands behind is known at the end. */
interface Widths {
  readonly whole: number[];
  readonly beforePoint: number[];
  behind: number;
  isEmpty: boolean;
  isMarked: boolean;
}

/** Goes through all rows once. */
const measured = <Row>({ columns, rows, clean }: TableView<Row>): readonly Laid<Row>[] => {
  const measures = columns.map((column) => {
    const widths: Widths = { whole: [], beforePoint: [], behind: 0, isEmpty: true, isMarked: false };
    return { column, widths };
  });
  let position = 0;
  for (const row of inOrder(rows)) {
    for (const { column, widths } of measures) {
      const cell = clean(column.cell(row, position));
      const mark = markWidth(column.mark?.(row));
      if (cell !== "") widths.isEmpty = false;
      if (mark > 0) widths.isMarked = true;
      const behind = column.align === "decimal" ? behindPoint(cell) : undefined;
      widths.behind = Math.max(widths.behind, behind ?? 0);
      if (behind === undefined) widths.whole.push(widthOf(cell) + mark);
      else widths.beforePoint.push(cell.length - behind + mark);
    }
    position++;
  }
  return measures.map(({ column, widths }) => laidColumn(column, widths, clean));
};

const laidColumn = <Row>(
  column: ShownColumn<Row>,
  { whole, beforePoint, behind, isEmpty, isMarked }: Widths,
  clean: (text: string) => string,
): Laid<Row> => {
  const headings = column.heading.split("\n").map(clean);
  const headingWidth = Math.max(...headings.map(widthOf));
  const isNumber = column.align === "right" || column.align === "decimal";
  const widths = [...whole, ...beforePoint.map((width) => width + behind)].sort((a, b) => a - b);
  const natural = Math.max(headingWidth, widths.at(-1) ?? 0);
  const usual = widths[Math.ceil(wholeShare * (widths.length - 1))] ?? 0;
  // A number that is cut is a wrong number.
  const content = isNumber ? natural : Math.max(headingWidth, usual);
  return { column, headings, rank: column.rank, isNumber, behind, natural, content, isEmpty, isMarked };
};

/** Columns of a cell that stay beside its mark. */
const leastBeside = 8;

const markWidth = (mark: Mark | undefined): number => (mark === undefined ? 0 : widthOf(mark.text) + 1);

/** Characters of a decimal number from its point on; undefined for anything else. */
const behindPoint = (cell: string): number | undefined =>
  isDecimal.test(cell) ? cell.length - `${cell}.`.indexOf(".") : undefined;

const isDecimal = /^-?\d+(\.\d+)?$/;

const cellText = <Row>(
  { column, behind, width }: Drawn<Row>,
  { row, position, view }: { readonly row: Row; readonly position: number; readonly view: TableView<Row> },
): string => {
  const own = view.clean(column.cell(row, position));
  const cell = column.align === "decimal" ? own + " ".repeat(behind - (behindPoint(own) ?? behind)) : own;
  const mark = column.mark?.(row);
  if (mark === undefined) return cut(cell, width);
  // A word that says what there is to look at is worth more than the end of what it is said of.
  const room = width - markWidth(mark);
  const marked = room >= leastBeside ? `${cut(cell, room)} ${mark.text}` : cut(`${cell} ${mark.text}`, width);
  return view.paint(mark.tone, marked);
};
