/** Lays out a list for a terminal. cli-table3 aligns the cells. */
import Table from "cli-table3";
import { formatRounded, parseDecimal } from "../text/units.ts";
import type { TextCleaner } from "./cleaner.ts";
import type { CellTag, Paint, ShownColumn } from "./views.ts";
import { truncate, widthOf } from "./width.ts";

type TableView<Row> = Readonly<{
  columns: readonly ShownColumn<Row>[];
  rows: readonly Row[];
  width: number;
  paint: Paint;
  clean: TextCleaner;
}>;

/** A column's `preferred` width shows at least this share of the cells completely. */
const minWholeShare = 0.9;
const minTextWidth = 12;
/** People type the names in the first column. */
const minNameWidth = 24;
const minTaggedWidth = 8;

const gap = "  ";

/** The time of cli-table3 grows with the square of the number. */
const rowsPerPiece = 100;

export const drawTable = <Row>({ columns, rows, width, paint, clean }: TableView<Row>) => {
  if (rows.length === 0) return { pieces: [], omitted: [] };
  const all = columns.map((column, at) => measureColumn(column, rows, { clean, isFirst: at === 0 }));
  const shown = sumWidths(all, "full") > width ? dropColumns(all, width) : all;
  const omitted = all.map(({ name }) => name).filter((name) => !shown.some((column) => column.name === name));
  if (shown.length > 1 && sumWidths(shown, "min") > width) return { sections: toSections(all, width) };
  return { pieces: formatTable(shown, width, paint), omitted };
};

type TableColumn = ReturnType<typeof measureColumn>;

const measureColumn = <Row>(
  column: ShownColumn<Row>,
  rows: readonly Row[],
  { clean, isFirst }: { clean: TextCleaner; isFirst: boolean },
) => {
  const { name, heading, align, rank, isRounded, cell, tag } = column;
  const texts = rows.map((row, position) => {
    const text = clean(cell(row, position));
    const decimal = isRounded ? parseDecimal(text) : undefined;
    return decimal ? formatRounded(decimal) : text;
  });
  const cells = align === "decimal" ? alignPoints(texts) : texts;
  const tags = rows.map((row) => tag?.(row));
  const headings = heading.split("\n").map(clean);
  const widths = cells.map((text, at) => widthOf(text) + measureTag(tags[at])).sort((a, b) => a - b);
  const headingWidth = Math.max(...headings.map(widthOf));
  const full = Math.max(headingWidth, widths.at(-1) ?? 0);
  const usual = widths[Math.ceil(minWholeShare * (widths.length - 1))] ?? 0;
  // A truncated number would be wrong.
  const isNumber = align === "right" || align === "decimal";
  const [preferred, min] = isNumber
    ? [full, full]
    : [Math.max(headingWidth, usual), Math.min(full, isFirst ? minNameWidth : minTextWidth)];
  return { name, rank, headings, cells, tags, isNumber, full, preferred, min };
};

const measureTag = (tag: CellTag | undefined) => (tag ? widthOf(tag.text) + 1 : 0);

const alignPoints = (cells: readonly string[]) => {
  const fractions = cells.map((cell) => /^-?\d+(\.\d+)?$/.exec(cell) && cell.length - `${cell}.`.indexOf("."));
  const longest = fractions.reduce<number>((max, length) => Math.max(max, length ?? 0), 0);
  return cells.map((cell, at) => cell + " ".repeat(longest - (fractions[at] ?? longest)));
};

const sumWidths = (columns: readonly TableColumn[], width: "full" | "preferred" | "min") =>
  columns.reduce((sum, column) => sum + column[width], gap.length * Math.max(0, columns.length - 1));

const dropColumns = (columns: readonly TableColumn[], width: number) => {
  const kept = [...columns];
  const isEmpty = ({ cells }: TableColumn) => cells.every((cell) => cell === "");
  const droppable = columns
    .filter(({ rank }) => rank > 0)
    .toReversed()
    .sort((a, b) => Number(isEmpty(b)) - Number(isEmpty(a)) || b.rank - a.rank);
  for (const dropped of droppable) {
    if (sumWidths(kept, "preferred") <= width) break;
    kept.splice(kept.indexOf(dropped), 1);
  }
  return kept;
};

function* formatTable(columns: readonly TableColumn[], width: number, paint: Paint) {
  const widths = shrinkWidths(columns, width);
  const headings = columns.map((column, at) =>
    paint("strong", column.headings.map((line) => truncate(line, widths[at] ?? 0)).join("\n")),
  );
  yield drawRows(columns, widths, [headings.map((content) => ({ content, vAlign: "bottom" }))]);
  const count = columns[0]?.cells.length ?? 0;
  for (let from = 0; from < count; from += rowsPerPiece) {
    const rows = Array.from({ length: Math.min(rowsPerPiece, count - from) }, (_, row) =>
      columns.map(({ cells, tags }, at) =>
        formatCell(cells[from + row] ?? "", tags[from + row], widths[at] ?? 0, paint),
      ),
    );
    yield drawRows(columns, widths, rows);
  }
}

const formatCell = (cell: string, tag: CellTag | undefined, width: number, paint: Paint) => {
  if (!tag) return truncate(cell, width);
  const left = width - measureTag(tag);
  const text = left >= minTaggedWidth ? truncate(cell, left) : cell;
  return paint(tag.tone, truncate(`${text} ${tag.text}`, width));
};

const shrinkWidths = (columns: readonly TableColumn[], width: number) => {
  const widths = columns.map(({ full }) => Math.min(full, width));
  const sum = widths.reduce((all, one) => all + one, gap.length * (widths.length - 1));
  for (let over = sum - width; over > 0; over--) {
    const canShrink = widths.map((size, at) => (size > (columns[at]?.min ?? 0) ? size : 0));
    const max = Math.max(...canShrink);
    if (max === 0) break;
    widths[canShrink.indexOf(max)] = max - 1;
  }
  return widths;
};

const sides = ["top", "bottom", "mid", "left", "right"];
const borders = sides.flatMap((side) => [side, `${side}-mid`, `${side}-left`, `${side}-right`]);
const chars = { ...Object.fromEntries(borders.map((name) => [name, ""])), middle: gap };
const style = { "padding-left": 0, "padding-right": 0, head: [], border: [] };

const drawRows = (columns: readonly TableColumn[], widths: readonly number[], rows: Table.HorizontalTableRow[]) => {
  const colAligns = columns.map(({ isNumber }) => (isNumber ? ("right" as const) : ("left" as const)));
  const table = new Table({ chars, style, colWidths: [...widths], colAligns });
  table.push(...rows);
  const lines = table.toString().split("\n");
  return lines.map((line) => `${line.trimEnd()}\n`).join("");
};

const maxCellWidth = 1000;

function* toSections(columns: readonly TableColumn[], width: number) {
  for (const row of columns[0]?.cells.keys() ?? []) {
    const [first, ...others] = columns.map(({ headings, cells, tags }) => {
      const tag = tags[row];
      const texts = [truncate(cells[row]?.trimEnd() ?? "", maxCellWidth), tag?.text ?? ""].filter(Boolean);
      return { label: truncate(headings.join(" "), width - gap.length), text: texts.join(" "), tone: tag?.tone };
    });
    const lines = others.filter(({ text }) => text !== "");
    yield { title: first?.text ?? "", ...(lines.length > 0 && { lines }) };
  }
}
