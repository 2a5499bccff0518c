/**
 * Draws a list as a table that fits the terminal: cli-table3 lays it out. This file adds what it lacks: how wide each column
 * may be, numbers with their points under one another, and marks next to cells.
 */
import Table from "cli-table3";
import type { Paint } from "./style.ts";
import { type CellTag, enumerateRows, type RowSequence, rowsPerPiece, type ShownColumn } from "./views.ts";
import { foldLine, measureWidth, truncate } from "./width.ts";

interface TableView<Row> {
  readonly columns: readonly ShownColumn<Row>[];
  /** Gone through twice: to measure, and to draw. No cell is kept in between, however many rows there are. */
  readonly rows: RowSequence<Row>;
  /** Columns of the terminal; infinite if nothing is to be cut. */
  readonly width: number;
  readonly paint: Paint;
  readonly clean: (cell: string) => string;
}

/** A column and its measures, in columns of the terminal. */
interface MeasuredColumn<Row> {
  readonly column: ShownColumn<Row>;
  readonly headings: readonly string[];
  readonly isNumber: boolean;
  readonly isEmpty: boolean;
  readonly isMarked: boolean;
  /** The most that any cell has after the place of a point. */
  readonly behind: number;
  /** The width that shows everything, the width that it is content with, and the width in which it can be read. */
  readonly natural: number;
  readonly content: number;
  readonly readable: number;
}

/** A text column is content if this share of its cells is whole: one long id must not cost all other columns. */
const minWholeShare = 0.9;

/** Columns that a cut text keeps, and a cut name, which people type. */
const minTextWidth = 12;
const minNameWidth = 24;

/** Columns of a cell that stay next to its mark. */
const minTaggedWidth = 8;

const gap = "  ";

/** A table, and the columns that the terminal has no room for. */
export const drawTable = <Row>(
  view: TableView<Row>,
): { readonly pieces: Iterable<string>; readonly omitted: readonly string[] } => {
  if (view.rows.length === 0) return { pieces: [], omitted: [] };
  const columns = fitColumns(view);
  const isReadable = columns.length < 2 || sumWidths(columns.map(({ readable }) => readable)) <= view.width;
  if (!isReadable) return { pieces: recordPieces(view), omitted: [] };
  const left = view.columns.filter(({ name }) => !columns.some(({ column }) => column.name === name));
  return { pieces: tablePieces(view, columns), omitted: left.map(({ name }) => name) };
};

/** A table in pieces: its header, then its rows. */
function* tablePieces<Row>(view: TableView<Row>, columns: readonly MeasuredColumn<Row>[]): Generator<string, void> {
  const { rows, width, paint } = view;
  const widths = shrinkWidths(columns, width);
  const height = Math.max(...columns.map(({ headings }) => headings.length));
  // Headings of several lines stand on the rows: the shorter ones begin further down.
  const header = Array.from({ length: height }, (_, line) =>
    columns.map(({ headings }) => paint("strong", headings[line - height + headings.length] ?? "")),
  );
  yield layOutRows(columns, widths, header);
  for (let from = 0; from < rows.length; from += rowsPerPiece) {
    const cells = Array.from(enumerateRows(rows, from, from + rowsPerPiece), ([row, position]) =>
      columns.map((column, at) => cellText(view, column, { row, position, width: widths[at] ?? 0 })),
    );
    yield layOutRows(columns, widths, cells);
  }
}

const sumWidths = (widths: readonly number[]): number =>
  widths.reduce((sum, width) => sum + width, 0) + gap.length * Math.max(0, widths.length - 1);

/** The columns that fit. A mark of one that does not is said next to the first. */
const fitColumns = <Row>(view: TableView<Row>): readonly MeasuredColumn<Row>[] => {
  const natural = measureColumns(view, view.columns);
  const isCut = sumWidths(natural.map((column) => column.natural)) > view.width;
  const all = isCut ? widenNames(view, natural) : natural;
  const shown = dropColumns(all, view.width);
  const hidden = all.find((one) => one.isMarked && !shown.includes(one))?.column.mark;
  const [first, ...others] = shown;
  if (hidden === undefined || first === undefined) return shown;
  const mark = (row: Row): CellTag | undefined => {
    const own = hidden(row);
    return own?.textInFirstColumn === undefined ? undefined : { ...own, text: own.textInFirstColumn };
  };
  const marked = measureColumns(view, [{ ...first.column, mark }]).map((one) => {
    const readable = Math.min(first.readable + one.natural - first.natural, one.natural);
    return { ...one, readable: Math.max(one.readable, readable) };
  });
  return dropColumns([...marked, ...others], view.width);
};

/** Leaves out columns, empty ones first and then the last by rank, until the others have what they are content with. */
const dropColumns = <Row>(columns: readonly MeasuredColumn<Row>[], width: number): readonly MeasuredColumn<Row>[] => {
  if (sumWidths(columns.map(({ content }) => content)) <= width) return columns;
  const [leaves] = columns
    .filter(({ column }) => column.rank > 0)
    .toReversed()
    .sort((a, b) => Number(b.isEmpty) - Number(a.isEmpty) || b.column.rank - a.column.rank);
  const others = columns.filter((column) => column !== leaves);
  return leaves === undefined ? columns : dropColumns(others, width);
};

/** Widths that fit: the widest text gives way first. */
const shrinkWidths = <Row>(columns: readonly MeasuredColumn<Row>[], width: number): readonly number[] => {
  const widths = columns.map(({ natural }) => Math.min(natural, width));
  for (let over = sumWidths(widths) - width; over > 0; over--) {
    const widest = columns.reduce((best, { readable }, at) => {
      const own = widths[at] ?? 0;
      return own > Math.max(readable, widths[best] ?? 0) ? at : best;
    }, -1);
    if (widest < 0) break;
    widths[widest] = (widths[widest] ?? 0) - 1;
  }
  return widths;
};

/** The columns, the first of them and that of names so wide that they tell rows apart and names can be typed. */
const widenNames = <Row>(
  view: TableView<Row>,
  columns: readonly MeasuredColumn<Row>[],
): readonly MeasuredColumn<Row>[] => {
  const names = columns.find(({ column }) => column.isName === true) ?? columns[0];
  return columns.map((one) => {
    if (one.isNumber || (one !== names && one !== columns[0])) return one;
    const least = Math.max(distinctWidth(view, one.column), one === names ? Math.min(one.natural, minNameWidth) : 0);
    return { ...one, content: Math.max(one.content, least), readable: Math.max(one.readable, least) };
  });
};

/** The width at which no two different cells of a column look the same. */
const distinctWidth = <Row>({ rows, clean }: TableView<Row>, column: ShownColumn<Row>): number => {
  const cells = new Set(Array.from(enumerateRows(rows), ([row, position]) => clean(column.cell(row, position))));
  const sorted = [...cells].sort();
  return sorted.slice(1).reduce((most, cell, at) => {
    const before = sorted[at] ?? "";
    const alike = Array.from(cell).findIndex((letter, place) => before[place] !== letter);
    if (alike < 0) return most;
    // The letter that differs, and the mark of what was cut.
    const apart = measureWidth(cell.slice(0, alike)) + 2;
    return Math.max(most, Math.min(apart, Math.max(measureWidth(cell), measureWidth(before))));
  }, 0);
};

/** Goes through all rows once. */
const measureColumns = <Row>(
  { rows, clean }: TableView<Row>,
  columns: readonly ShownColumn<Row>[],
): readonly MeasuredColumn<Row>[] => {
  const all = columns.map((column) => {
    const widths: number[] = [];
    return { column, widths, before: 0, behind: 0, isEmpty: true, isMarked: false };
  });
  for (const [row, position] of enumerateRows(rows)) {
    for (const own of all) {
      const cell = clean(own.column.cell(row, position));
      const mark = tagWidth(own.column.mark?.(row));
      own.isEmpty &&= cell === "";
      own.isMarked ||= mark > 0;
      const behind = own.column.align === "decimal" ? fractionLength(cell) : undefined;
      own.behind = Math.max(own.behind, behind ?? 0);
      if (behind === undefined) own.widths.push(measureWidth(cell) + mark);
      else own.before = Math.max(own.before, cell.length - behind + mark);
    }
  }
  return all.map(({ column, widths, before, ...own }) => {
    const headings = column.heading.split("\n").map(clean);
    const heading = Math.max(...headings.map(measureWidth));
    const isNumber = column.align === "right" || column.align === "decimal";
    const sorted = widths.sort((a, b) => a - b);
    const natural = Math.max(heading, before + own.behind, sorted.at(-1) ?? 0);
    const usual = sorted[Math.ceil(minWholeShare * (sorted.length - 1))] ?? 0;
    // A number that is cut is a wrong number.
    const [content, readable] = isNumber
      ? [natural, natural]
      : [Math.max(heading, usual), Math.min(natural, minTextWidth)];
    return { column, headings, isNumber, ...own, natural, content, readable };
  });
};

const tagWidth = (mark: CellTag | undefined): number => (mark === undefined ? 0 : measureWidth(mark.text) + 1);

/** Characters of a decimal number from its point on; undefined for anything else. */
const fractionLength = (cell: string): number | undefined =>
  /^-?\d+(\.\d+)?$/.test(cell) ? cell.length - `${cell}.`.indexOf(".") : undefined;

const cellText = <Row>(
  { clean, paint }: TableView<Row>,
  { column, behind }: MeasuredColumn<Row>,
  { row, position, width }: { readonly row: Row; readonly position: number; readonly width: number },
): string => {
  const own = clean(column.cell(row, position));
  const cell = column.align === "decimal" ? own + " ".repeat(behind - (fractionLength(own) ?? behind)) : own;
  const mark = column.mark?.(row);
  if (mark === undefined) return truncate(cell, width);
  // The word of the mark is worth more than the end of the cell.
  const room = width - tagWidth(mark);
  return paint(
    mark.tone,
    room >= minTaggedWidth ? `${truncate(cell, room)} ${mark.text}` : truncate(`${cell} ${mark.text}`, width),
  );
};

/** No borders, and a gap between columns. */
const sides = ["top", "bottom", "mid", "left", "right"];
const borders = sides.flatMap((side) => [side, `${side}-mid`, `${side}-left`, `${side}-right`]);
const chars = { ...Object.fromEntries(borders.map((name) => [name, ""])), middle: gap };

const layOutRows = <Row>(
  columns: readonly MeasuredColumn<Row>[],
  widths: readonly number[],
  lines: readonly (readonly string[])[],
): string => {
  const table = new Table({
    chars,
    style: { "padding-left": 0, "padding-right": 0, head: [], border: [] },
    colWidths: [...widths],
    colAligns: columns.map(({ isNumber }) => (isNumber ? "right" : "left")),
  });
  // cli-table3 measures some letters by the widths of 2019: it lays out a stand-in that is as wide.
  const wide: string[] = [];
  for (const line of lines) {
    table.push(
      line.map((cell) => {
        const width = needsMeasuring.test(cell) ? measureWidth(cell) : 0;
        if (width > 0) wide.push(cell);
        return width > 0 ? standIn.repeat(width) : cell;
      }),
    );
  }
  const text = table.toString().replaceAll(spacesAtEnd, "");
  return `${text.replaceAll(standIns, () => wide.shift() ?? "")}\n`;
};

/** Looked for from where they begin: a table of very wide cells is mostly spaces, and each would be tried in turn. */
const spacesAtEnd = /(?<! ) +$/gm;

const needsMeasuring = /[^\0-\u02ff…]/;
const standIn = "\ue000";
const standIns = /\ue000+/g;

/** Columns of a cell that are shown in a record, and in which text is folded next to its heading. */
const maxCellWidth = 1000;
const minTextWidthBeside = 24;

/** Rows below each other, if the terminal has no room to read them side by side: every cell that holds something. */
function* recordPieces<Row>({ columns, rows, width, paint, clean }: TableView<Row>): Generator<string, void> {
  const headings = columns.map(({ heading }) => clean(heading.replaceAll("\n", " ")));
  const label = Math.max(...headings.slice(1).map(measureWidth), 0);
  for (const [row, position] of enumerateRows(rows)) {
    const lines = columns.flatMap((column, at) => {
      const [cell, mark] = [truncate(clean(column.cell(row, position)), maxCellWidth), column.mark?.(row)];
      const text = mark === undefined ? cell : `${cell} ${mark.text}`;
      if (at > 0 && text === "") return [];
      const heading = headings[at] ?? "";
      const beside = at === 0 ? "" : `  ${heading}${" ".repeat(label - measureWidth(heading))}  `;
      const room = width - measureWidth(beside);
      // What is too long next to its heading stands below it.
      const isBelow = at > 0 && measureWidth(text) > room && room < minTextWidthBeside;
      const begins = isBelow ? " ".repeat(Math.min(4, width - 1)) : beside;
      const tone = mark?.tone ?? (at === 0 ? "strong" : undefined);
      const own = foldLine(text, Math.max(1, width - measureWidth(begins))).map((part, line) => {
        const before = line === 0 ? begins : " ".repeat(measureWidth(begins));
        return before + paint(tone, truncate(part, width - measureWidth(before)));
      });
      return isBelow ? [truncate(`  ${heading}`, width), ...own] : own;
    });
    yield `${lines.join("\n")}\n`;
  }
}
