/** Converts byte positions to lines and columns, finds paths, and shortens names. */
import { isAscii } from "node:buffer";
import type { Problem } from "../../failure.ts";
import { endOfLine, newline } from "../../json/json-bytes.ts";
import type { Path } from "../../json/table.ts";
import { cutText } from "../../text/sentences.ts";

interface PositionedBytes {
  bytes: Buffer;
  start: number;
  line: number;
  /** Returns the number of UTF-16 units between the start of the first line and `bytes`. */
  unitsBefore?: () => number;
}

/** Counts the lines before a mark, which never moves back. */
export class PositionCounter {
  readonly #text: PositionedBytes;
  #mark = 0;
  #lineEnd: number | undefined;
  #lineStart = 0;
  #line: number;
  /** The next count of lines or columns starts here, because a value can have many problems. */
  #counted = { line: 0, lineStart: 0, lineEnd: 0, at: 0, units: 0 };

  constructor(text: PositionedBytes) {
    this.#text = text;
    this.#line = text.line;
  }

  mark(at: number) {
    while (this.#mark < at) {
      this.#lineEnd ??= endOfLine(this.#text.bytes, this.#mark);
      if (this.#lineEnd >= at) this.#mark = at;
      else {
        this.#line++;
        this.#lineStart = this.#mark = this.#lineEnd + 1;
        this.#lineEnd = undefined;
      }
    }
    return this.#line;
  }

  /** The skipped bytes must not contain a newline. */
  skip(start: number, end: number) {
    this.mark(start);
    this.#mark = end;
    // Searching for the end of the line takes longer.
    if (this.#text.bytes[end] === newline) this.#lineEnd = end;
  }

  /** `at` must not be before the mark. */
  locate(at: number) {
    const { bytes, start, line: first, unitsBefore } = this.#text;
    this.#lineEnd ??= endOfLine(bytes, this.#mark);
    const { lineStart: last } = this.#counted;
    const marked = { line: this.#line, lineStart: this.#lineStart, lineEnd: this.#lineEnd };
    let { line, lineStart: from, lineEnd } = last > this.#lineStart && last <= at ? this.#counted : marked;
    for (; lineEnd < at; lineEnd = endOfLine(bytes, from)) {
      line++;
      from = lineEnd + 1;
    }
    const isNear = last === from && Math.abs(at - this.#counted.at) < at - from;
    const { at: known, units } = isNear ? this.#counted : { at: from, units: 0 };
    const between = countUnits(bytes.subarray(Math.min(known, at), Math.max(known, at)));
    this.#counted = { line, lineStart: from, lineEnd, at, units: at < known ? units - between : units + between };
    const before = line === first ? (unitsBefore?.() ?? 0) : 0;
    return { line, column: before + this.#counted.units + 1, offset: start + at };
  }
}

/** The UTF-16 units of the character that a byte begins: two for a UTF-8 character of four bytes. */
const unitsByByte = new Uint8Array(256).fill(1).fill(0, 0x80, 0xc0).fill(2, 0xf0);

/** Counts UTF-16 units. */
export const countUnits = (bytes: Buffer) => {
  if (isAscii(bytes)) return bytes.length;
  let units = 0;
  for (let at = 0; at < bytes.length; at++) units += unitsByByte[bytes[at] ?? 0] ?? 0;
  return units;
};

export const toFileLine = ({ file = "the input", line = 1 }: Pick<Problem, "file" | "line">) =>
  `${file === "-" ? "standard input" : file}:${line}`;

/** Returns the name of a file with the path of a record in it, such as `results.json#simulations.7`. */
export const toFilePath = (file: string, path: Path = []) => (path.length === 0 ? file : `${file}#${path.join(".")}`);

export type { Path } from "../../json/table.ts";

export const maxNameLength = 60;

export const shortenName = (name: string) => {
  if (name.trim() === "") return JSON.stringify(name.slice(0, maxNameLength));
  return name.length > maxNameLength ? `${cutText(name, maxNameLength - 1)}…` : name;
};
