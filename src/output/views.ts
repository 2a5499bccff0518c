/** Lists with columns, and pages with sections. */
export const formats = ["table", "tsv", "json", "jsonl", "csv"] as const;
export type Format = (typeof formats)[number];
export const isJsonFormat = (format: Format | undefined) => format === "json" || format === "jsonl";

export type Tone = "good" | "bad" | "warning" | "faint" | "strong";
export type Paint = (tone: Tone | undefined, text: string) => string;
export const plainPaint: Paint = (_, text) => text;

export type CellTag = Readonly<{
  text: string;
  tone: Tone;
}>;

export type Column<Row> = Readonly<{
  /** The name in options, CSV and JSON, such as `pricing.prompt`. */
  name: string;
  /** The path in the document, such as `entry.pricing.prompt`. Default: `name`. */
  path?: string;
  /** Contains the unit, and may have several lines. */
  heading: string;
  align?: "left" | "right" | "decimal";
  /** A narrow terminal omits the highest ranks first, but never rank 0. */
  rank: number;
  /** True if people type the cells. Default: the first column has the names. */
  hasNames?: boolean;
  /** The returned text is not yet safe to print. `spelled` returns the value with all digits. */
  cell: (row: Row, spelled: () => string) => string;
  value: (row: Row) => unknown;
  /** True if the cells show JSON. */
  isFreeForm?: boolean;
  tag?: (row: Row) => CellTag | undefined;
}>;

export type WireObjects = Readonly<{
  bytes: Uint8Array;
  /** The key of the list of objects, or of the only object. Default: the document is the only object. */
  member?: string | undefined;
  /** The positions of the shown objects, in this order. Default: all objects. */
  shownPositions?: readonly number[];
}>;

export type ListView<Row> = Readonly<{ columns: readonly Column<Row>[]; rows: readonly Row[]; wire: WireObjects }>;

export type ShownColumn<Row> = Omit<Column<Row>, "path" | "value" | "cell" | "isFreeForm"> &
  Readonly<{
    cell: (row: Row, position: number) => string;
    text: (row: Row, position: number) => string;
  }>;

export type Page = Readonly<{
  sections: Iterable<Section>;
  /** If false, a terminal omits the middle of long texts. */
  isFull?: boolean;
  /** True if lines are folded even in a pipe, at the width in `COLUMNS`. */
  isFolded?: boolean;
}>;

export type Line = Readonly<{
  label: string;
  text: string;
  tone?: Tone | undefined;
  /** A command is not folded. Default: text from outside. */
  kind?: "sentence" | "command" | undefined;
}>;

export type Section = Readonly<{
  title?: string;
  /** Depth: 2 for a message under "Inputs", 3 for a tool call in the message. Default: 1. */
  level?: 1 | 2 | 3;
  lines?: readonly Line[];
  block?: string;
  /** True if `block` is text from outside. */
  isQuoted?: boolean;
  maxBlockLines?: number;
}>;
