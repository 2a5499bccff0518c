/** Prints a list: as JSON, a table, tab-separated lines for other programs, or CSV (RFC 4180). */
import { counted } from "../counted.ts";
import type { Spelled } from "../json/spelled.ts";
import { printObjects } from "./json.ts";
import type { Screen } from "./screen.ts";
import { type Column, inOrder, type ListView, type Rows, rowsOfPiece, type ShownColumn } from "./view.ts";
import { fieldNamed, jsonOfValues, openWire, textOfValues, valuesAt, type WireRows } from "./wire.ts";

/** Prints a list in the form asked for. @throws Failure `option-value-wrong` for an unknown field */
export const printList = async <Row>(screen: Screen, view: ListView<Row>): Promise<void> => {
  const { format, safe, width } = screen;
  const { columns, rows } = view;
  if (format === "json" || format === "jsonl")
    return await printObjects(screen, view.wire ?? ownObjects(view), columns);
  const shown = shownColumns(screen, view);
  if (format !== "table") {
    const pieces = format === "csv" ? csvPieces(shown, rows, safe.text) : tsvPieces(shown, rows, screen);
    return await screen.print(pieces, { kind: "lines" });
  }
  // Only a terminal has tables, and what measures text is not loaded for a pipe.
  const { tablePieces } = await import("./table.ts");
  let left: readonly string[] = [];
  const leavesOut = (names: readonly string[]): void => {
    left = names;
  };
  const table = { columns: shown, rows, width, paint: await screen.paint(), clean: safe.line, leavesOut };
  await screen.print(tablePieces(table), { kind: "lines" });
  if (left.length === 0) return;
  const are = counted(left.length, "column is", "columns are");
  screen.notice(`${are} left out in ${width} columns of the terminal: ${left.join(", ")} (--fields picks them)`);
};

/** A list made by rollcall, as objects of its columns' names and values. */
const ownObjects = <Row>({ columns, rows }: ListView<Row>) => {
  const valuesOf = (row: Row) => Object.fromEntries(columns.map(({ name, value }) => [name, value(row)]));
  const data = Array.from(inOrder(rows), ([row]) => valuesOf(row));
  return { bytes: Buffer.from(JSON.stringify({ data })), member: "data" };
};

/** The columns asked for. @throws Failure `option-value-wrong` */
const shownColumns = <Row>({ fields }: Screen, view: ListView<Row>): readonly ShownColumn<Row>[] => {
  const { columns } = view;
  const wire = view.wire && openWire(view.wire);
  const rows = wire?.shown;
  const all = wire?.all;
  if (fields === undefined) {
    return columns
      .filter(({ name, onlyWhereSome = false }) => !onlyWhereSome || hasSome(rows, name))
      .map((column) => shownColumn(column, rows));
  }
  return fields.map((name) => {
    const field = fieldNamed(name, columns, all);
    const own = columns.find((column) => column.name === field);
    if (own !== undefined) return { ...shownColumn(own, rows), rank: 0 };
    const text = (_: Row, position: number) => wireText(rows, position, name) ?? "";
    return { name, heading: name, rank: 0, cell: text, text };
  });
};

const hasSome = (rows: WireRows | undefined, name: string): boolean =>
  Array.from({ length: rows?.count ?? 0 }, (_, position) => wireText(rows, position, name)).some(Boolean);

const shownColumn = <Row>(column: Column<Row>, rows: WireRows | undefined): ShownColumn<Row> => {
  const { name, freeForm = false } = column;
  const text = (row: Row, position: number) =>
    wireText(rows, position, name, freeForm ? jsonOfValues : textOfValues) ?? ownText(column.value(row), position);
  /** The text of a value that is not under its own name: that of the value around it, which came in place of an object or a list. */
  const ownText = (value: unknown, position: number): string => {
    if (value === undefined || value === null || value === "") return "";
    const dot = name.lastIndexOf(".");
    return (dot < 0 ? undefined : wireText(rows, position, name.slice(0, dot))) ?? csvValue(value);
  };
  return { ...column, text, cell: (row, position) => column.cell(row, () => text(row, position)) };
};

const wireText = (
  rows: WireRows | undefined,
  position: number,
  name: string,
  textOf: (values: readonly Spelled[]) => string = textOfValues,
): string | undefined => {
  const values = rows === undefined || position >= rows.count ? undefined : valuesAt(rows.at(position), name);
  return values && textOf(values);
};

/** A value that rollcall made itself: lists joined with `;`, objects as JSON, nothing for an absent one. */
const csvValue = (value: unknown): string => {
  if (value === undefined || value === null) return "";
  if (Array.isArray(value)) return value.map(csvValue).join(";");
  return typeof value === "object" ? JSON.stringify(value) : String(value);
};

/** The lines of CSV, with the line ends of RFC 4180. */
function* csvPieces<Row>(
  columns: readonly ShownColumn<Row>[],
  rows: Rows<Row>,
  clean: (text: string) => string,
): Generator<string, void> {
  // Cleaned text has no CR: it is LF.
  const quoted = (value: string): string => (/[",\n]|^\s|\s$/.test(value) ? `"${value.replaceAll('"', '""')}"` : value);
  const line = (values: readonly string[]): string => `${values.map((value) => quoted(clean(value))).join(",")}\r\n`;
  yield line(columns.map(({ name }) => name));
  yield* pieces(rows, (row, position) => line(columns.map(({ text }) => text(row, position))));
}

function* tsvPieces<Row>(
  columns: readonly ShownColumn<Row>[],
  rows: Rows<Row>,
  { safe, words }: Screen,
): Generator<string, void> {
  const line = (cells: readonly string[]): string => `${cells.map(safe.line).join("\t")}\n`;
  if (words.header) yield line(columns.map(({ heading }) => heading));
  yield* pieces(rows, (row, position) => line(columns.map(({ cell }) => cell(row, position))));
}

function* pieces<Row>(rows: Rows<Row>, line: (row: Row, position: number) => string): Generator<string, void> {
  for (let from = 0; from < rows.length; from += rowsOfPiece) {
    yield Array.from(inOrder(rows, from, from + rowsOfPiece), ([row, position]) => line(row, position)).join("");
  }
}
