/** The output of commands: lists with columns, and pages with sections. */
export const formats = ["table", "tsv", "json", "jsonl", "csv"] as const;
export type Format = (typeof formats)[number];
export const isProgramFormat = (format: Format | undefined) => format === "json" || format === "jsonl";

export type Tone = "good" | "bad" | "warning" | "faint" | "strong";
export type Paint = (tone: Tone | undefined, text: string) => string;
export const plainPaint: Paint = (_, text) => text;

export interface CellTag {
  readonly text: string;
  /** The tag's text after the first cell, if the column of the tag does not fit the terminal. Default: no tag. */
  readonly textInFirstColumn?: string;
  readonly tone: Tone;
}

export interface Column<Row> {
  /** Name in `--fields`, `--sort`, CSV and JSON, such as `pricing.prompt`. */
  readonly name: string;
  /** Path in the document, such as `entry.pricing.prompt`. Default: the name. */
  readonly path?: string;
  /** Heading for a person, with the unit. May have several lines. */
  readonly heading: string;
  readonly align?: "left" | "right" | "decimal";
  /** Columns of a high rank are omitted first if the terminal is narrow; 0 is never omitted. */
  readonly rank: number;
  /** True if the cells are names that people type. Without such a column, the first column has the names. */
  readonly hasNames?: boolean;
  /** Returns text for a person, not yet made safe. `spelled` returns the value as in the JSON, with all digits. */
  readonly cell: (row: Row, spelled: () => string) => string;
  readonly value: (row: Row) => unknown;
  /** True if cells show the JSON of the value, because the value has no fixed form. */
  readonly isFreeForm?: boolean;
  readonly tag?: (row: Row) => CellTag | undefined;
}

/** The objects in a reply or document. JSON and CSV are made from the bytes to keep the spelling of values. */
export interface WireObjects {
  readonly bytes: Uint8Array;
  /** The member of the document that contains the objects: an array, or one object. Default: the document itself. */
  readonly member?: string | undefined;
  /** Indexes of the shown objects, in the order of display. Default: all objects. */
  readonly shownPositions?: readonly number[];
}

export type ListView<Row> = Readonly<{ columns: readonly Column<Row>[]; rows: readonly Row[]; wire: WireObjects }>;

export interface ShownColumn<Row> extends Omit<Column<Row>, "path" | "value" | "cell" | "isFreeForm"> {
  readonly cell: (row: Row, position: number) => string;
  readonly text: (row: Row, position: number) => string;
}

export interface Page {
  readonly sections: Iterable<Section>;
  /** False if a terminal shows only the start and the end of long texts. A pipe gets the whole texts. */
  readonly isFull?: boolean;
  /** True if lines are folded in a pipe too, at the columns in `COLUMNS`. */
  readonly isFolded?: boolean;
}

export interface Line {
  readonly label: string;
  readonly text: string;
  readonly tone?: Tone | undefined;
  /** `sentence` and `command` are texts of rollcall. Commands are not folded. Default: text from outside. */
  readonly kind?: "sentence" | "command" | undefined;
}

export interface Section {
  readonly title?: string;
  /** Level of the title: 2 for a message under "Inputs", 3 for a tool call in the message. Default: 1. */
  readonly level?: 1 | 2 | 3;
  readonly lines?: readonly Line[];
  readonly block?: string;
  /** True if the block is text from outside. Each line gets a `│`, so that no text looks like rollcall's text. */
  readonly isQuoted?: boolean;
  readonly maxBlockLines?: number;
}
