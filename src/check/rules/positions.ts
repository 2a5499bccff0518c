/** Positions and names for a person: line and column of a byte, the path of a value, and names of the file's own. */
import { nodeSize } from "../../json/reader.ts";
import { firstByteAt, type JsonTable, nodeAfter, readString } from "../../json/table.ts";
import { endOfLine, openBrace } from "../../json/walk.ts";

/** A position in a file: line and column from 1, the column in UTF-16 units of the line; and its byte. */
interface Position {
  readonly line: number;
  readonly column: number;
  readonly offset: number;
}

/** Bytes of a source, and where they come from. */
export interface PositionedBytes {
  readonly bytes: Buffer;
  /** Offset of the first byte in the source. */
  readonly start: number;
  /** Number of the line it begins on, from 1. */
  readonly line: number;
  /** Counts the UTF-16 units before it on that line. Default: none. */
  readonly unitsBefore?: () => number;
}

/** Positions of bytes of a text: counted from a mark that moves forward, so that a long text is counted once. */
export class PositionCounter {
  readonly #text: PositionedBytes;
  readonly #bytes: Buffer;
  #at = 0;
  /** The first line end at the mark or after it: in a long line it is looked for once. */
  #next: number | undefined;
  #line: number;
  /** UTF-16 units between the start of the mark's line, or of the text, and a byte, counted up to there. */
  #units = 0;
  #counted = 0;
  /** The UTF-16 units between two bytes, which were counted last: a long line can have many findings. */
  #last = { from: -1, to: 0, units: 0 };

  constructor(text: PositionedBytes) {
    this.#text = text;
    this.#bytes = text.bytes;
    this.#line = text.line;
  }

  /** Moves the mark forward to a byte; gives its line. */
  mark(at: number): number {
    if (at === this.#at) return this.#line;
    this.#next ??= endOfLine(this.#bytes, this.#at);
    for (; this.#next < at; this.#next = endOfLine(this.#bytes, this.#next + 1)) {
      this.#line++;
      this.#units = 0;
      this.#counted = this.#next + 1;
    }
    this.#at = at;
    return this.#line;
  }

  /** The position of a byte at the mark or after it. */
  of(at: number): Position {
    this.#units += this.#bytes.toString("utf8", this.#counted, this.#at).length;
    this.#counted = this.#at;
    let line = this.#line;
    let from = this.#at;
    this.#next ??= endOfLine(this.#bytes, from);
    for (let end = this.#next; end < at; end = endOfLine(this.#bytes, from)) {
      line++;
      from = end + 1;
    }
    const { start, line: first, unitsBefore } = this.#text;
    const before = (from === this.#at ? this.#units : 0) + (line === first ? (unitsBefore?.() ?? 0) : 0);
    return { line, column: before + this.#countUnits(from, at) + 1, offset: start + at };
  }

  #countUnits(from: number, to: number): number {
    const last = this.#last;
    const isNext = last.from === from && last.to <= to;
    const counted = isNext ? last : { to: from, units: 0 };
    const units = counted.units + this.#bytes.toString("utf8", counted.to, to).length;
    if (isNext || last.from !== from) this.#last = { from, to, units };
    return units;
  }
}

/** A line of an input, in a sentence: standard input is called so. */
export const formatLine = ({
  file = "the input",
  line = 1,
}: {
  readonly file?: string;
  readonly line?: number;
}): string => `${file === "-" ? "standard input" : file}:${line}`;

/** Path of a value in JSON, from its root. */
export type Path = readonly (string | number)[];

/** The path from a value to one inside of it. */
export const findPath = (text: JsonTable, { from, node }: { readonly from: number; readonly node: number }): Path => {
  const path: (string | number)[] = [];
  for (let holder = from; holder !== node; ) {
    // An object has each key as the node before its value.
    const keySize = firstByteAt(text, holder) === openBrace ? nodeSize : 0;
    let child = holder + nodeSize;
    let position = 0;
    for (; nodeAfter(text, child + keySize) <= node; child = nodeAfter(text, child + keySize)) position++;
    path.push(keySize > 0 ? readString(text, child) : position);
    holder = child + keySize;
  }
  return path;
};

/** Characters that a name of the file's own has at most in a sentence. */
export const maxNameLength = 60;

/** A name of the file's own, short enough for a sentence; one that nobody sees is in quotes. */
export const shortName = (name: string): string => {
  if (name.trim() === "") return JSON.stringify(name.slice(0, maxNameLength));
  return name.length > maxNameLength ? `${name.slice(0, maxNameLength - 1)}…` : name;
};
