/** Defines the views that a screen prints: lists with columns, and pages with sections. */
import type { RawJson } from "../json/raw-json.ts";

export const formats = ["table", "tsv", "json"] as const;
export type OutputFormat = (typeof formats)[number];

export type Tone = "good" | "bad" | "warning" | "faint" | "strong";
export type Paint = (tone: Tone | undefined, text: string) => string;
export const plainPaint: Paint = (_, text) => text;

export type CellTag = Readonly<{
  text: string;
  tone: Tone;
}>;

/** Returns the value in JSON with all digits, and the items of lists joined (default: by `;`). */
export type SpelledValue = (separator?: string) => string;

/** Shows a value as it is in JSON. */
export const spellCell = (_: unknown, spelled: SpelledValue) => spelled(", ");

export type Column<Row> = Readonly<{
  /** The name in options and JSON, such as `pricing.prompt`. */
  name: string;
  /** The heading with the unit, on one or more lines. Default: `name`. */
  heading?: string;
  align?: "left" | "right" | "decimal";
  /** The table omits columns of high rank first, and never omits rank 0. */
  rank: number;
  /** Default: the member `name` of the row. */
  value?: (row: Row) => unknown;
  /** Returns text that is not safe to print. Default: `value` if the column has it, or `spelled`. */
  cell?: (row: Row, spelled: SpelledValue) => string | null | undefined;
  /** True if a table shows at most 6 significant digits of numbers. */
  isRounded?: boolean;
  /** True if the cells show JSON. */
  isFreeForm?: boolean;
  tag?: (row: Row) => CellTag | undefined;
}>;

/** A column that names a key of the row, or computes its value or cells. */
export type KeyColumn<Row> = Column<Row> &
  (
    | { readonly name: Extract<keyof Row, string> }
    | Required<Pick<Column<Row>, "value">>
    | Required<Pick<Column<Row>, "cell">>
  );

export type JsonObjects = Readonly<{
  document: RawJson;
  /** The key of the list of objects, or of the only object. Default: the document is the only object. */
  member?: string | undefined;
  /** The positions of the shown objects, in this order. Default: all objects. */
  shownPositions?: readonly number[];
}>;

export type ListView<Row> = Readonly<{
  columns: readonly Column<Row>[];
  rows: readonly Row[];
  json: JsonObjects;
  /** Names of columns. Default: those of `--fields`. */
  fields?: readonly string[] | undefined;
}>;

export type ShownColumn<Row> = Omit<Column<Row>, "heading" | "value" | "cell" | "isFreeForm"> &
  Readonly<{ heading: string; cell: (row: Row, position: number) => string }>;

export type Page = Readonly<{
  sections: Iterable<Section>;
  /** True if a terminal shows long texts completely. Default: true. */
  isFull?: boolean;
  /** True if output to a pipe is folded to the width in `COLUMNS`. */
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
  /** A section with an empty list and without a block is not printed. */
  lines?: readonly Line[];
  block?: string;
  /** True if `block` is text from outside. */
  isQuoted?: boolean;
  maxBlockLines?: number;
}>;
