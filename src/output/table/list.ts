/** Prints a list: as JSON, a table, tab-separated lines for other programs, or CSV (RFC 4180). */
import { counted } from "../../counted.ts";
import type { Span } from "../../json/walk.ts";
import { bytesOf, printObjects } from "../json/document.ts";
import { openRows, placesOf } from "../json/objects.ts";
import type { Screen } from "../screen/screen.ts";
import type { ListView, Rows } from "../view.ts";
import { inOrder, type ShownColumn, shownColumns } from "./fields.ts";

/** Rows of one piece of output. */
const pieceOf = 100;

/** Prints a list in the form asked for. @throws Failure `option-value-wrong` for a field that there is not */
export const printList = async <Row>(screen: Screen, view: ListView<Row>): Promise<void> => {
  const { format, fields, safe } = screen;
  const { columns, rows, wire } = view;
  if (format === "json" || format === "jsonl") {
    return await printObjects(screen, { ...(wire ?? madeObjects(view)), columns });
  }
  const places = wire === undefined ? undefined : placesOf(wire);
  const rowsOf = (spans: readonly Span[] = []) => (wire === undefined ? undefined : openRows(wire.bytes, spans));
  const shown = shownColumns({ columns, wire: rowsOf(places?.objects), all: rowsOf(places?.all), fields });
  if (format !== "table") {
    const lines = format === "csv" ? csvLines(shown, safe.text) : tsvLines(shown, safe.line, screen.words.header);
    return await screen.print(inPieces(rows, lines), { kind: "lines" });
  }
  // Only a terminal has tables, and what measures text is not loaded for a pipe.
  const { tablePieces } = await import("./table.ts");
  let left: readonly string[] = [];
  const leavesOut = (names: readonly string[]): void => {
    left = names;
  };
  const table = { columns: shown, rows, width: screen.width, paint: await screen.paint(), clean: safe.line, leavesOut };
  await screen.print(tablePieces(table), { kind: "lines" });
  if (left.length === 0) return;
  const are = counted(left.length, "column is", "columns are");
  screen.notice(`${are} left out in ${screen.width} columns of the terminal: ${left.join(", ")} (--fields picks them)`);
};

/** A list made by rollcall, as objects of its columns' names and values. */
const madeObjects = <Row>({ columns, rows }: ListView<Row>) => {
  const data = Array.from(inOrder(rows), (row) =>
    Object.fromEntries(columns.map(({ name, value }) => [name, value(row)])),
  );
  return { bytes: bytesOf({ data }), member: "data" };
};

/** A first line, where there is one, and the line of a row. */
interface Lines<Row> {
  readonly header: string | undefined;
  readonly line: (row: Row, position: number) => string;
}

type Clean = (text: string) => string;

const csvLines = <Row>(columns: readonly ShownColumn<Row>[], clean: Clean): Lines<Row> => ({
  header: csvLine(columns.map(({ name }) => clean(name))),
  line: (row, position) => csvLine(columns.map(({ text }) => clean(text(row, position)))),
});

/** A line of CSV, with the line end that RFC 4180 asks for. */
const csvLine = (values: readonly string[]): string => `${values.map(quoted).join(",")}\r\n`;

/** Cleaned text holds no CR: what was one is LF. */
const quoted = (value: string): string => (/[",\n]|^\s|\s$/.test(value) ? `"${value.replaceAll('"', '""')}"` : value);

const tsvLines = <Row>(columns: readonly ShownColumn<Row>[], clean: Clean, header: boolean): Lines<Row> => ({
  header: header ? tsvLine(columns.map(({ heading }) => clean(heading))) : undefined,
  line: (row, position) => tsvLine(columns.map(({ cell }) => clean(cell(row, position)))),
});

/** A tab-separated line. The cells hold no white space but single spaces. */
const tsvLine = (cells: readonly string[]): string => `${cells.join("\t")}\n`;

function* inPieces<Row>(rows: Rows<Row>, { header, line }: Lines<Row>): Generator<string, void> {
  if (header !== undefined) yield header;
  for (let from = 0; from < rows.length; from += pieceOf) {
    yield Array.from(inOrder(rows, from, from + pieceOf), (row, at) => line(row, from + at)).join("");
  }
}
