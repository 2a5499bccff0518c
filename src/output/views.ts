/** What commands hand to the screen: lists with columns, pages with sections. */
import type { Span } from "../json/walk.ts";

/** The forms a result can take (output.md). */
export type Format = "table" | "tsv" | "json" | "jsonl" | "csv";

export type Tone = "good" | "bad" | "warning" | "faint" | "strong";

/** A word next to a cell, in a color: people who see no color read it. */
export interface CellTag {
  readonly text: string;
  /** The word next to the first column if the mark's own column does not fit the terminal. Default: none. */
  readonly textInFirstColumn?: string;
  readonly tone: Tone;
}

/** One column of a list, and what each form needs of it. */
export interface Column<Row> {
  /** Name on the wire, for `--fields`, `--sort`, CSV and JSON, such as `pricing.prompt`. */
  readonly name: string;
  /** Further names that `--fields` and `--sort` take. */
  readonly otherNames?: readonly string[];
  /** Heading for a person, with its unit; a table breaks it at its line ends. */
  readonly heading: string;
  readonly align?: "left" | "right" | "decimal";
  /** The lower, the longer it stays when the terminal is narrow; 0 is never left out. */
  readonly rank: number;
  /** True if it has the names that people type. Default: the first column has. */
  readonly isName?: boolean;
  /** The text for a person, made safe by the screen. `spelled` gives the value's text on the wire, which a double may not hold. */
  readonly cell: (row: Row, spelled: () => string) => string;
  /** The wire's own value: undefined if absent. */
  readonly value: (row: Row) => unknown;
  /** True if CSV has its JSON. */
  readonly freeForm?: boolean;
  /** True if it is shown only if some object of the wire has a value of it, unless it is picked. */
  readonly onlyWhereSome?: boolean;
  /** Next to a row's cell on a terminal, if there is something to look at. */
  readonly mark?: (row: Row) => CellTag | undefined;
}

/** A column of texts that rollcall makes. Its value is the text by default. */
export const textColumn = <Row>(
  name: string,
  {
    text,
    value = text,
    heading = name,
    ...shown
  }: Pick<Column<Row>, "rank" | "align"> & {
    readonly heading?: string;
    readonly text: (row: Row) => string | null | undefined;
    readonly value?: (row: Row) => unknown;
  },
): Column<Row> => ({ name, heading, ...shown, cell: (row) => text(row) ?? "", value });

/** Objects inside a reply of the service: JSON and CSV are cut from it, so that every spelling is kept. */
export interface WireObjects {
  /** The whole reply: valid JSON, UTF-8. */
  readonly bytes: Uint8Array;
  /** The member of its outermost object that holds the objects: an array of them, or one. */
  readonly member: string;
  /** The objects of an array, if their positions in the bytes are known. */
  readonly elements?: readonly Span[];
  /** Positions of the objects that are shown, in their order. Default: all. */
  readonly kept?: readonly number[];
}

/** Rows in their order: an array, or a sequence that makes each when it is asked for. */
export interface RowSequence<Row> {
  readonly length: number;
  at(position: number): Row | undefined;
}

export interface ListView<Row> {
  readonly columns: readonly Column<Row>[];
  readonly rows: RowSequence<Row>;
  /** The service's own reply with the objects of the rows, one for one; absent for a list that rollcall made. */
  readonly wire?: WireObjects;
}

/** A column as the forms need it: by the position of the row. */
export interface ShownColumn<Row> extends Pick<Column<Row>, "name" | "heading" | "align" | "rank" | "isName" | "mark"> {
  /** What a person sees. */
  readonly cell: (row: Row, position: number) => string;
  /** The wire's own value as text. */
  readonly text: (row: Row, position: number) => string;
}

/** Rows of one piece of output: a pager shows the first of 50,000 at once. */
export const rowsPerPiece = 100;

/** Rows with their positions, from one position up to another. */
export function* enumerateRows<Row>(
  rows: RowSequence<Row>,
  from = 0,
  to = rows.length,
): Generator<readonly [row: Row, position: number], void> {
  for (let position = from; position < Math.min(to, rows.length); position++) {
    const row = rows.at(position);
    if (row !== undefined) yield [row, position];
  }
}

/** A page for a person: titled sections of labelled lines and blocks. */
export interface Page {
  readonly sections: Iterable<Section>;
  /** True for a page after another one: a line across is between them. */
  readonly isNext?: boolean;
  /** False if a terminal gets only the beginning and the end of long texts. A pipe always gets all of it. */
  readonly isFull?: boolean;
}

export interface Line {
  readonly label: string;
  readonly text: string;
  readonly tone?: Tone | undefined;
}

/** A part of a page: a title, then labelled lines, then a block. */
export interface Section {
  readonly title?: string;
  /** 2 is under the section before it, as a message under "Inputs"; 3 under that, as a call of a tool. Default: 1. */
  readonly level?: 1 | 2 | 3;
  readonly lines?: readonly Line[];
  /** Text as it was, line by line; folded to the terminal, never in a pipe. */
  readonly block?: string;
  /** True if the block is text from outside: every line of it is behind a mark that no text can make itself. */
  readonly quoted?: boolean;
  /** Lines of the block that a terminal gets at most, if a page is not `full`. */
  readonly maxBlockLines?: number;
  /** A sentence of rollcall's own in place of something. */
  readonly note?: string;
}
