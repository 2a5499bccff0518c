/** Where values stand for a person: line and column of a byte, and the byte of a value by its path. */
import { childrenOf, type Place, rootOf, spanOf } from "../../json/table.ts";
import { endOfLine, type Span } from "../../json/walk.ts";

/** A place in a file: line and column from 1, the column in UTF-16 units of the line; and its byte. */
interface Position {
  readonly line: number;
  readonly column: number;
  readonly offset: number;
}

/** Bytes of a source, and where they come from. */
export interface Text {
  readonly bytes: Buffer;
  /** Offset of the first byte in the source. */
  readonly start: number;
  /** Number of the line it begins on, from 1. */
  readonly line: number;
  /** Counts the UTF-16 units that stand before it on that line; left out where none do. */
  readonly unitsBefore?: () => number;
}

/** Places of bytes of a text: counted from a mark that moves forward, so that a long text is counted once. */
export class Places {
  readonly #text: Text;
  readonly #bytes: Buffer;
  #at = 0;
  /** The first line end at or behind the mark: in a long line it is looked for once. */
  #next: number | undefined;
  #line: number;
  /** UTF-16 units between the start of the mark's line and the mark; counted when asked for. */
  #units = 0;
  #counted = 0;

  constructor(text: Text) {
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

  /** The place of a byte at or behind the mark. */
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
    return { line, column: before + this.#bytes.toString("utf8", from, at).length + 1, offset: start + at };
  }
}

/** A line of an input, in a sentence: standard input is called so. */
export const lineText = ({
  file = "the input",
  line = 1,
}: {
  readonly file?: string;
  readonly line?: number;
}): string => `${file === "-" ? "standard input" : file}:${line}`;

/** Path of a value in JSON, from its root. */
export type Path = readonly (string | number)[];

/** Finds values by their paths in the bytes of valid JSON, which are read when it is asked first. */
export class Locator {
  readonly #bytes: Buffer;
  readonly #span: Span;
  readonly #children = new Map<Place, ReadonlyMap<string | number, Place>>();
  #root: Place | undefined;

  /** @param span where the value stands in the bytes */
  constructor(bytes: Buffer, span: Span) {
    this.#bytes = bytes;
    this.#span = span;
  }

  /** Where the value at a path stands, or the deepest value on the way that is there. */
  find(path: Path): Span {
    let place = this.#rootPlace();
    for (const step of path) {
      const child = place && this.#childrenOf(place).get(step);
      if (child === undefined) break;
      place = child;
    }
    if (place === undefined) return this.#span;
    return this.spanOf(place);
  }

  /** The values of an object's key, which may stand twice; none of any other value. */
  membersCalled(key: string): readonly Place[] {
    const root = this.#rootPlace();
    return Array.from(root === undefined ? [] : childrenOf(root)).flatMap(([own, value]) =>
      own === key ? [value] : [],
    );
  }

  /** Where a value stands. */
  spanOf(place: Place): Span {
    const { start, end } = spanOf(place);
    return { start: this.#span.start + start, end: this.#span.start + end };
  }

  /** Path of the innermost value that holds a byte. */
  pathAt(byte: number): Path {
    const path: (string | number)[] = [];
    for (let place = this.#rootPlace(); place !== undefined; ) {
      let inside: Place | undefined;
      for (const [step, child] of this.#childrenOf(place)) {
        const { start, end } = this.spanOf(child);
        if (start > byte || byte >= end) continue;
        path.push(step);
        inside = child;
        break;
      }
      place = inside;
    }
    return path;
  }

  #rootPlace(): Place | undefined {
    this.#root ??= rootOf(this.#bytes.subarray(this.#span.start, this.#span.end));
    return this.#root;
  }

  /** Of a key that stands twice the last value counts, as for JSON.parse. */
  #childrenOf(place: Place): ReadonlyMap<string | number, Place> {
    const own = this.#children.get(place) ?? new Map(childrenOf(place));
    this.#children.set(place, own);
    return own;
  }
}
