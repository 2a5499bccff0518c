/**
 * Draws a list as a table that fits the terminal. cli-table3 lays it out. This file chooses columns and their widths,
 * aligns decimal points, and adds tags to cells.
 */
import Table from "cli-table3";
import type { Paint } from "./style.ts";
import { type CellTag, enumerateRows, type Line, type RowSequence, type Section, type ShownColumn } from "./views.ts";
import { measureWidth, truncate } from "./width.ts";

interface TableView<Row> {
  readonly columns: readonly ShownColumn<Row>[];
  /** Iterated several times, so that no cell stays in memory. */
  readonly rows: RowSequence<Row>;
  readonly width: number;
  readonly paint: Paint;
  readonly clean: (cell: string) => string;
}

/** A column and its widths, in columns of the terminal. */
interface MeasuredColumn<Row> {
  readonly column: ShownColumn<Row>;
  readonly headings: readonly string[];
  readonly isNumber: boolean;
  readonly isEmpty: boolean;
  readonly hasTags: boolean;
  /** Width of the longest fraction, with its point. */
  readonly fraction: number;
  readonly full: number;
  /** Other columns are omitted until the column has this width. */
  readonly preferred: number;
  /** If the column cannot have this width, rows are printed as sections. */
  readonly min: number;
}

const minWholeShare = 0.9;

const minTextWidth = 12;
const minNameWidth = 24;

const minTaggedWidth = 8;

const gap = "  ";

/** Rows that are laid out together, so that a pager shows the first rows of a long list immediately. */
const rowsPerPiece = 100;

export const drawTable = <Row>(
  view: TableView<Row>,
): { readonly pieces: Iterable<string>; readonly omitted: readonly string[] } | undefined => {
  if (view.rows.length === 0) return { pieces: [], omitted: [] };
  const columns = fitColumns(view);
  if (columns.length > 1 && sumWidths(columns.map(({ min }) => min)) > view.width) return undefined;
  const names = view.columns.map(({ name }) => name);
  const omitted = names.filter((name) => !columns.some(({ column }) => column.name === name));
  return { pieces: tablePieces(view, columns), omitted };
};

function* tablePieces<Row>(view: TableView<Row>, columns: readonly MeasuredColumn<Row>[]): Generator<string, void> {
  const { rows, width, paint } = view;
  const widths = shrinkWidths(columns, width);
  const height = Math.max(...columns.map(({ headings }) => headings.length));
  const header = Array.from({ length: height }, (_, line) =>
    columns.map(({ headings }, at) => {
      return paint("strong", truncate(headings[line - height + headings.length] ?? "", widths[at] ?? 0));
    }),
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

const fitColumns = <Row>(view: TableView<Row>): readonly MeasuredColumn<Row>[] => {
  const measured = measureColumns(view, view.columns);
  const isWide = sumWidths(measured.map(({ full }) => full)) > view.width;
  const all = isWide ? widenNames(view, measured) : measured;
  const shown = dropColumns(all, view.width);
  const tagged = all.find((one) => one.hasTags && !shown.includes(one))?.column.tag;
  const [first, ...others] = shown;
  if (tagged === undefined || first === undefined) return shown;
  const tag = (row: Row): CellTag | undefined => {
    const own = tagged(row);
    return own?.textInFirstColumn === undefined ? undefined : { ...own, text: own.textInFirstColumn };
  };
  const [wider] = measureColumns(view, [{ ...first.column, tag }]);
  if (wider === undefined) return shown;
  const min = Math.max(wider.min, Math.min(first.min + wider.full - first.full, wider.full));
  return dropColumns([{ ...wider, min }, ...others], view.width);
};

const dropColumns = <Row>(columns: readonly MeasuredColumn<Row>[], width: number): readonly MeasuredColumn<Row>[] => {
  const kept = [...columns];
  const droppable = columns
    .filter(({ column }) => column.rank > 0)
    .toReversed()
    .sort((a, b) => Number(b.isEmpty) - Number(a.isEmpty) || b.column.rank - a.column.rank);
  for (const dropped of droppable) {
    if (sumWidths(kept.map(({ preferred }) => preferred)) <= width) break;
    kept.splice(kept.indexOf(dropped), 1);
  }
  return kept;
};

const shrinkWidths = <Row>(columns: readonly MeasuredColumn<Row>[], width: number): readonly number[] => {
  const widths = columns.map(({ full }) => Math.min(full, width));
  for (let over = sumWidths(widths) - width; over > 0; over--) {
    const most = Math.max(...widths.filter((own, at) => own > (columns[at]?.min ?? 0)));
    const widest = widths.findIndex((own, at) => own === most && own > (columns[at]?.min ?? 0));
    if (widest < 0) break;
    widths[widest] = most - 1;
  }
  return widths;
};

/** Widens the first column and the column of names, so that rows differ visibly and names can be typed. */
const widenNames = <Row>(view: TableView<Row>, columns: readonly MeasuredColumn<Row>[]) => {
  const names = columns.find(({ column }) => column.hasNames === true) ?? columns[0];
  return columns.map((one) => {
    if (one.isNumber || (one !== names && one !== columns[0])) return one;
    const least = Math.max(distinctWidth(view, one.column), one === names ? Math.min(one.full, minNameWidth) : 0);
    return { ...one, preferred: Math.max(one.preferred, least), min: Math.max(one.min, least) };
  });
};

const distinctWidth = <Row>({ rows, clean }: TableView<Row>, column: ShownColumn<Row>): number => {
  const cells = new Set(Array.from(enumerateRows(rows), ([row, position]) => clean(column.cell(row, position))));
  const sorted = [...cells].sort();
  return sorted.slice(1).reduce((most, cell, at) => {
    const before = sorted[at] ?? "";
    const common = Array.from(cell).findIndex((letter, position) => before[position] !== letter);
    if (common < 0) return most;
    const width = measureWidth(cell.slice(0, common)) + 2;
    return Math.max(most, Math.min(width, Math.max(measureWidth(cell), measureWidth(before))));
  }, 0);
};

const measureColumns = <Row>(
  { rows, clean }: TableView<Row>,
  columns: readonly ShownColumn<Row>[],
): readonly MeasuredColumn<Row>[] => {
  const all = columns.map((column) => {
    const widths: number[] = [];
    return { column, widths, integer: 0, fraction: 0, isEmpty: true, hasTags: false };
  });
  for (const [row, position] of enumerateRows(rows)) {
    for (const own of all) {
      const cell = clean(own.column.cell(row, position));
      const tag = tagWidth(own.column.tag?.(row));
      own.isEmpty &&= cell === "";
      own.hasTags ||= tag > 0;
      const fraction = own.column.align === "decimal" ? fractionLength(cell) : undefined;
      own.fraction = Math.max(own.fraction, fraction ?? 0);
      if (fraction === undefined) own.widths.push(measureWidth(cell) + tag);
      else own.integer = Math.max(own.integer, cell.length - fraction + tag);
    }
  }
  return all.map(({ column, widths, integer, ...own }) => {
    const headings = column.heading.split("\n").map(clean);
    const heading = Math.max(...headings.map(measureWidth));
    const isNumber = column.align === "right" || column.align === "decimal";
    const sorted = widths.sort((a, b) => a - b);
    const full = Math.max(heading, integer + own.fraction, sorted.at(-1) ?? 0);
    const usual = sorted[Math.ceil(minWholeShare * (sorted.length - 1))] ?? 0;
    // A truncated number would be a wrong number.
    const [preferred, min] = isNumber ? [full, full] : [Math.max(heading, usual), Math.min(full, minTextWidth)];
    return { column, headings, isNumber, ...own, full, preferred, min };
  });
};

const tagWidth = (tag: CellTag | undefined): number => (tag === undefined ? 0 : measureWidth(tag.text) + 1);

/** Characters from the point of a decimal number on; undefined for other text. */
const fractionLength = (cell: string): number | undefined =>
  /^-?\d+(\.\d+)?$/.test(cell) ? cell.length - `${cell}.`.indexOf(".") : undefined;

const cellText = <Row>(
  { clean, paint }: TableView<Row>,
  { column, fraction }: MeasuredColumn<Row>,
  { row, position, width }: { readonly row: Row; readonly position: number; readonly width: number },
): string => {
  const text = clean(column.cell(row, position));
  const cell = column.align === "decimal" ? text + " ".repeat(fraction - (fractionLength(text) ?? fraction)) : text;
  const tag = column.tag?.(row);
  if (tag === undefined) return truncate(cell, width);
  const left = width - tagWidth(tag);
  const isTagWhole = left >= minTaggedWidth;
  return paint(tag.tone, isTagWhole ? `${truncate(cell, left)} ${tag.text}` : truncate(`${cell} ${tag.text}`, width));
};

const sides = ["top", "bottom", "mid", "left", "right"];
const borders = sides.flatMap((side) => [side, `${side}-mid`, `${side}-left`, `${side}-right`]);
const chars = { ...Object.fromEntries(borders.map((name) => [name, ""])), middle: gap };
const placeholder = "\ue000";

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
  // cli-table3 has the character widths of 2019, so it lays out a placeholder of the right width for each cell.
  table.push(...lines.map((line) => line.map((cell) => placeholder.repeat(measureWidth(cell)))));
  const cells = lines.flat().filter((cell) => measureWidth(cell) > 0);
  const text = table.toString().replaceAll(/\ue000+/g, () => cells.shift() ?? "");
  // The lookbehind avoids an attempt at each of many spaces.
  return `${text.replaceAll(/(?<! ) +$/gm, "")}\n`;
};

const maxCellWidth = 1000;

export function* recordSections<Row>({
  columns,
  rows,
  width,
  clean,
}: Omit<TableView<Row>, "paint">): Generator<Section> {
  for (const [row, position] of enumerateRows(rows)) {
    const [first, ...others] = columns.map(({ heading, cell, tag: tagOf }): Line => {
      const tag = tagOf?.(row);
      const texts = [truncate(clean(cell(row, position)), maxCellWidth), tag?.text ?? ""].filter(Boolean);
      const label = truncate(heading.replaceAll("\n", " "), width - gap.length);
      return { label, text: texts.join(" "), tone: tag?.tone };
    });
    yield { title: first?.text ?? "", lines: others.filter(({ text }) => text !== "") };
  }
}
