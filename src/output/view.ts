/** What commands hand to the screen: lists with columns, pages with sections. */

/** The forms a result can take (promises.md, "Output"). */
export type Format = "table" | "tsv" | "json" | "jsonl" | "csv";

/** Colour that means something. */
export type Tone = "good" | "bad" | "warning" | "faint" | "strong";

/** A word beside a cell, in a colour: it is not only seen by those who see colours. */
export interface Mark {
  readonly text: string;
  /** What is said beside the first column where the mark's own does not fit the terminal; nothing where absent. */
  readonly elsewhere?: string;
  readonly tone: Tone;
}

/** One column of a list, and what each form needs of it. */
export interface Column<Row> {
  /** Name on the wire: what `--fields`, `--sort`, CSV and JSON call it, such as `pricing.prompt`. */
  readonly name: string;
  /** Further names that `--fields` and `--sort` take. */
  readonly otherNames?: readonly string[];
  /** Heading for a person, with its unit where it has one; a table breaks it at its line ends. */
  readonly heading: string;
  readonly align?: "left" | "right" | "decimal";
  /** The lower, the longer it stays when the terminal is narrow; 0 is never left out. */
  readonly rank: number;
  /** Whether it holds the names that people type; the first column does where none says so. */
  readonly isName?: boolean;
  /**
   * What a person sees; an empty string where there is nothing. Made safe by the screen. `spelled` gives the value's text
   * as it stood on the wire, for what a double or a type can't hold.
   */
  readonly cell: (row: Row, spelled: () => string) => string;
  /** The wire's own value: undefined where absent. */
  readonly value: (row: Row) => unknown;
  /** Whether the value is free-form: CSV then holds its JSON, on one line. */
  readonly freeForm?: boolean;
  /** Whether it is shown only where some object of the wire has a value of it, unless it is picked. */
  readonly onlyWhereSome?: boolean;
  /** What a terminal shows beside a row's cell, in words and colour, where there is something to look at. */
  readonly mark?: (row: Row) => Mark | undefined;
}

/** A column of texts that rollcall makes; an absent one is an empty cell. Its value is the text, where nothing else is given. */
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

/** Objects inside a reply of the service: what JSON and CSV are cut from, so that every spelling is kept. */
export interface WireObjects {
  /** The whole reply: valid JSON, UTF-8. */
  readonly bytes: Uint8Array;
  /** The member of its outermost object that holds the objects: an array of them, or one. */
  readonly member: string;
  /** Positions in the array of what is shown, in the order shown; all of it where absent. */
  readonly kept?: readonly number[];
}

/** Rows in their order: an array, or a sequence that makes each when it is asked for. */
export interface Rows<Row> {
  readonly length: number;
  at(position: number): Row | undefined;
}

/** A list in all its forms. */
export interface ListView<Row> {
  readonly columns: readonly Column<Row>[];
  readonly rows: Rows<Row>;
  /** Where the rows stand in the service's own reply, one for one; absent for a list that rollcall made. */
  readonly wire?: WireObjects;
}

/** A page for a person: titled sections of labelled lines and blocks. */
export interface Page {
  readonly sections: readonly Section[];
  /** False where a terminal gets only the beginning and the end of what is long. A pipe always gets all of it. */
  readonly full?: boolean;
}

/** A labelled line of a page. An empty text is an empty cell: the label stays. */
export interface Line {
  readonly label: string;
  readonly text: string;
  readonly tone?: Tone | undefined;
}

/** A part of a page: a title, then labelled lines, then a block. */
export interface Section {
  readonly title?: string;
  /** 2 stands under the section before it, as a message under "Inputs"; 3 under that, as a call of a tool. Default 1. */
  readonly level?: 1 | 2 | 3;
  readonly lines?: readonly Line[];
  /** Text as it was, line by line; folded to the terminal, never in a pipe. */
  readonly block?: string;
  /** Whether the block is text from outside: every line of it then stands behind a mark that no text can make itself. */
  readonly quoted?: boolean;
  /** Lines of the block that a terminal gets at most, where a page is not `full`. */
  readonly most?: number;
  /** What belongs beside the block, and stands there where the terminal has room, else under it: text from outside too. */
  readonly beside?: { readonly title: string; readonly block: string };
  /** A line across in place of all else: what follows is something else. */
  readonly isRule?: true;
  /** A sentence of rollcall's own in place of something. */
  readonly note?: string;
}
