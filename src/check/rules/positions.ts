/** Positions of bytes as line and column, paths of values, and short names. */
import type { Problem } from "../../failure.ts";
import { nodeSize } from "../../json/reader.ts";
import { firstByteAt, type JsonTable, nodeAfter, readString } from "../../json/table.ts";
import { endOfLine, openBrace } from "../../json/walk.ts";

/** Line and column from 1 (columns in UTF-16 units), and byte offset. */
interface Position {
  readonly line: number;
  readonly column: number;
  readonly offset: number;
}

/** Bytes of a source and their position. */
interface PositionedBytes {
  readonly bytes: Buffer;
  readonly start: number;
  /** Line of the first byte, from 1. */
  readonly line: number;
  /** Counts the UTF-16 units before the first byte on its line. Default: 0. */
  readonly unitsBefore?: () => number;
}

/** Counts positions from a mark that moves forward, so that a long text is counted once. */
export class PositionCounter {
  readonly #text: PositionedBytes;
  readonly #bytes: Buffer;
  #at = 0;
  /** The first line end at or after the mark. */
  #next: number | undefined;
  #line: number;
  /** UTF-16 units from the start of the mark's line to `#counted`. */
  #units = 0;
  #counted = 0;
  /** The range counted last: a long line can have many problems. */
  #last = { from: -1, to: 0, units: 0 };

  constructor(text: PositionedBytes) {
    this.#text = text;
    this.#bytes = text.bytes;
    this.#line = text.line;
  }

  /** Moves the mark forward and returns its line. */
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

  /** Returns the position of a byte at or after the mark. */
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

/** Formats the line of an input. */
export const formatLine = ({ file = "the input", line = 1 }: Pick<Problem, "file" | "line">): string =>
  `${file === "-" ? "standard input" : file}:${line}`;

/** Path of a JSON value from its root. */
export type Path = readonly (string | number)[];

/** Returns the path from one value to another inside it. */
export const findPath = (text: JsonTable, { from, node }: { readonly from: number; readonly node: number }): Path => {
  const path: (string | number)[] = [];
  for (let holder = from; holder !== node; ) {
    // The node before the value of a member is its key.
    const keySize = firstByteAt(text, holder) === openBrace ? nodeSize : 0;
    let child = holder + nodeSize;
    let position = 0;
    for (; nodeAfter(text, child + keySize) <= node; child = nodeAfter(text, child + keySize)) position++;
    path.push(keySize > 0 ? readString(text, child) : position);
    holder = child + keySize;
  }
  return path;
};

/** Maximum characters of a name from the file in a message. */
export const maxNameLength = 60;

/** Shortens a name from the file for a message. A blank name is quoted. */
export const shortName = (name: string): string => {
  if (name.trim() === "") return JSON.stringify(name.slice(0, maxNameLength));
  return name.length > maxNameLength ? `${name.slice(0, maxNameLength - 1)}…` : name;
};
