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

interface PositionedBytes {
  readonly bytes: Buffer;
  readonly start: number;
  /** Line of the first byte, from 1. */
  readonly line: number;
  /** Counts the UTF-16 units before the first byte on its line. Default: 0. */
  readonly unitsBefore?: () => number;
}

/** UTF-16 units between the start of a line and an offset in it. */
interface Count {
  readonly from: number;
  readonly to: number;
  readonly units: number;
}

/** Counts positions from a mark that moves forward, so that a long text is counted once. */
export class PositionCounter {
  readonly #text: PositionedBytes;
  #at = 0;
  /** The first line end at or after the mark, and the start of the mark's line. */
  #next: number | undefined;
  #lineStart = 0;
  #line: number;
  #marked: Count = { from: 0, to: 0, units: 0 };
  /** The position counted last: a long line can have many problems. */
  #last = this.#marked;

  constructor(text: PositionedBytes) {
    this.#text = text;
    this.#line = text.line;
  }

  /** Moves the mark forward and returns its line. */
  mark(at: number): number {
    if (at === this.#at) return this.#line;
    const { bytes } = this.#text;
    this.#next ??= endOfLine(bytes, this.#at);
    for (; this.#next < at; this.#next = endOfLine(bytes, this.#lineStart)) {
      this.#line++;
      this.#lineStart = this.#next + 1;
    }
    this.#at = at;
    return this.#line;
  }

  /** Returns the position of a byte at or after the mark. */
  of(at: number): Position {
    const { bytes, start, line: first, unitsBefore } = this.#text;
    this.#marked = this.#count(this.#marked, this.#lineStart, this.#at);
    let [line, from] = [this.#line, this.#lineStart];
    this.#next ??= endOfLine(bytes, this.#at);
    for (let end = this.#next; end < at; end = endOfLine(bytes, from)) {
      line++;
      from = end + 1;
    }
    this.#last = this.#count(this.#last.from === from && this.#last.to <= at ? this.#last : this.#marked, from, at);
    const before = line === first ? (unitsBefore?.() ?? 0) : 0;
    return { line, column: before + this.#last.units + 1, offset: start + at };
  }

  /** Counts the units up to an offset, after those of a known offset of the same line. */
  #count(known: Count, from: number, to: number): Count {
    const { to: at, units } = known.from === from ? known : { to: from, units: 0 };
    return { from, to, units: units + this.#text.bytes.toString("utf8", at, to).length };
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
