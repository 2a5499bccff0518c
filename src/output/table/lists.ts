/** A list in the form of lines: a table, tab-separated, or CSV. */
import type { Host } from "../../host.ts";
import { openRows, placesOf } from "../json/wire.ts";
import type { Paint } from "../screen/paint.ts";
import type { ListView, Rows } from "../view.ts";
import { type ShownColumn, shownColumns } from "./fields.ts";
import { csvLine, inOrder, tsvLine } from "./rows.ts";

/** How a list is printed. */
export interface ListLayout {
  readonly format: "table" | "tsv" | "csv";
  readonly fields: readonly string[] | undefined;
  /** Whether tsv begins with the headings. */
  readonly header: boolean;
  /** Columns of the terminal; infinite where nothing is to be cut. */
  readonly width: number;
  readonly paint: Paint;
  /** Makes text from outside safe: of several lines, and of a cell. */
  readonly clean: (text: string) => string;
  readonly cleanCell: (text: string) => string;
}

/** Rows of one piece of output. */
const pieceOf = 100;

/** The list in pieces. @throws Failure `option-value-wrong` for a field that there is not */
export const listPieces = async <Row>(
  { columns, rows, wire }: ListView<Row>,
  layout: ListLayout,
): Promise<Iterable<string>> => {
  const objects = wire === undefined ? undefined : openRows(wire.bytes, placesOf(wire).objects);
  const shown = shownColumns({ columns, wire: objects, fields: layout.fields });
  if (layout.format === "table") {
    const { tablePieces } = await import("./table.ts");
    return tablePieces({ ...layout, columns: shown, rows, clean: layout.cleanCell });
  }
  return inPieces(rows, layout.format === "csv" ? csvLines(shown, layout) : tsvLines(shown, layout));
};

/** A first line, where there is one, and the line of a row. */
interface Lines<Row> {
  readonly header: string | undefined;
  readonly line: (row: Row, position: number) => string;
}

const csvLines = <Row>(columns: readonly ShownColumn<Row>[], { clean }: ListLayout): Lines<Row> => ({
  header: csvLine(columns.map(({ name }) => clean(name))),
  line: (row, position) => csvLine(columns.map(({ text }) => clean(text(row, position)))),
});

const tsvLines = <Row>(columns: readonly ShownColumn<Row>[], { header, cleanCell }: ListLayout): Lines<Row> => ({
  header: header ? tsvLine(columns.map(({ heading }) => cleanCell(heading))) : undefined,
  line: (row, position) => tsvLine(columns.map(({ cell }) => cleanCell(cell(row, position)))),
});

function* inPieces<Row>(rows: Rows<Row>, { header, line }: Lines<Row>): Generator<string, void> {
  if (header !== undefined) yield header;
  for (let from = 0; from < rows.length; from += pieceOf) {
    yield Array.from(inOrder(rows, from, from + pieceOf), (row, at) => line(row, from + at)).join("");
  }
}

/** Columns of the terminal; where none reads it, those that `COLUMNS` asks for, else as many as it takes. */
export const widthOfTerminal = ({ terminal, env }: Host): number => {
  const asked = Number(env.COLUMNS);
  if (terminal.stdout) return terminal.columns > 0 ? terminal.columns : 80;
  return Number.isInteger(asked) && asked > 0 ? asked : Number.POSITIVE_INFINITY;
};
