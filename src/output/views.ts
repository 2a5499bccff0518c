/** The output of commands: lists with columns, and pages with sections. */
export const formats = ["table", "tsv", "json", "jsonl", "csv"] as const;
export type Format = (typeof formats)[number];
export const isJsonFormat = (format: Format | undefined) => format === "json" || format === "jsonl";

export type Tone = "good" | "bad" | "warning" | "faint" | "strong";
export type Paint = (tone: Tone | undefined, text: string) => string;
export const plainPaint: Paint = (_, text) => text;

export interface CellTag {
  readonly text: string;
  /** Follows the first cell if the terminal omits the tag's column. Default: no tag. */
  readonly textInFirstColumn?: string;
  readonly tone: Tone;
}

export interface Column<Row> {
  /** In `--fields`, `--sort`, CSV and JSON, such as `pricing.prompt`. */
  readonly name: string;
  /** In the document, such as `entry.pricing.prompt`. Default: the name. */
  readonly path?: string;
  /** With the unit. May have several lines. */
  readonly heading: string;
  readonly align?: "left" | "right" | "decimal";
  /** A narrow terminal omits columns of a high rank first, and never columns of rank 0. */
  readonly rank: number;
  /** True if the cells are names that people type. Without such a column, the first column has the names. */
  readonly hasNames?: boolean;
  /** The text is not yet safe to print. `spelled` returns the value as in the JSON, with all digits. */
  readonly cell: (row: Row, spelled: () => string) => string;
  readonly value: (row: Row) => unknown;
  /** True if the value has no fixed form, so cells show JSON. */
  readonly isFreeForm?: boolean;
  readonly tag?: (row: Row) => CellTag | undefined;
}

/** The objects are bytes, so that JSON and CSV keep the spelling of values. */
export interface WireObjects {
  readonly bytes: Uint8Array;
  /** The key of the array with the objects, or of the only object. Default: the document is the only object. */
  readonly member?: string | undefined;
  /** In the order of display. Default: all objects. */
  readonly shownPositions?: readonly number[];
}

export type ListView<Row> = Readonly<{ columns: readonly Column<Row>[]; rows: readonly Row[]; wire: WireObjects }>;

export interface ShownColumn<Row> extends Omit<Column<Row>, "path" | "value" | "cell" | "isFreeForm"> {
  readonly cell: (row: Row, position: number) => string;
  readonly text: (row: Row, position: number) => string;
}

export interface Page {
  readonly sections: Iterable<Section>;
  /** False if a terminal omits the middle of long texts. A pipe gets whole texts. */
  readonly isFull?: boolean;
  /** True if lines are also folded in a pipe, at the width in `COLUMNS`. */
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
  /** 2 for a message under "Inputs", 3 for a tool call in the message. Default: 1. */
  readonly level?: 1 | 2 | 3;
  readonly lines?: readonly Line[];
  readonly block?: string;
  /** True if the block is text from outside. Each line gets a `│`, so that no text looks like rollcall's text. */
  readonly isQuoted?: boolean;
  readonly maxBlockLines?: number;
}
