/** Where values stand for a person: line and column of a byte, and the byte of a value by its path. */
import {
  closeBracket,
  endOfLine,
  endOfValue,
  memberSpans,
  openBracket,
  type Span,
  skipWhite,
  Walker,
} from "../../json/walk.ts";

/** A place in a file: line and column from 1, the column in UTF-16 units of the line; and its byte. */
interface Place {
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
  of(at: number): Place {
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

/** Finds values by their paths in the bytes of valid JSON; what it walked over once it remembers. */
export class Locator {
  readonly #bytes: Uint8Array;
  readonly #root: number;
  readonly #members = new Map<number, ReadonlyMap<string, Span>>();
  readonly #lists = new Map<number, List>();

  constructor(bytes: Uint8Array, start: number) {
    this.#bytes = bytes;
    this.#root = skipWhite(bytes, start);
  }

  /** Offset of the value at a path, or of the deepest value on the way that is there. */
  startOf(path: Path): number {
    let at = this.#root;
    for (const step of path) {
      const child = typeof step === "number" ? this.#listAt(at).startOf(step) : this.#membersOf(at).get(step)?.start;
      if (child === undefined) return at;
      at = child;
    }
    return at;
  }

  /** Path of the innermost value that holds a byte. */
  pathAt(byte: number): Path {
    const path: (string | number)[] = [];
    for (let at = this.#root; ; ) {
      const isList = this.#bytes[at] === openBracket;
      const step = isList ? this.#listAt(at).indexOf(byte) : this.#memberAt(at, byte);
      if (step === undefined) return path;
      path.push(step);
      at = this.startOf(path);
    }
  }

  #memberAt(at: number, byte: number): string | undefined {
    const [key] = [...this.#membersOf(at)].find(([, { start, end }]) => start <= byte && byte < end) ?? [];
    return key;
  }

  #membersOf(at: number): ReadonlyMap<string, Span> {
    // Of a key that stands twice the last value counts, as for JSON.parse.
    const own = this.#members.get(at) ?? memberSpans(this.#bytes, { start: at });
    this.#members.set(at, own);
    return own;
  }

  #listAt(at: number): List {
    const own = this.#lists.get(at) ?? new List(this.#bytes, at);
    this.#lists.set(at, own);
    return own;
  }
}

/** Where the elements of an array begin, as far as somebody asked: there may be many, and most of them behind the last that is wanted. */
class List {
  readonly #walker: Walker;
  readonly #starts: number[] = [];
  /** Whether the walker stands at an element. */
  #isAtOne: boolean;

  constructor(bytes: Uint8Array, at: number) {
    this.#walker = new Walker(bytes, at);
    this.#isAtOne = this.#walker.enter(openBracket);
  }

  startOf(index: number): number | undefined {
    while (this.#starts.length <= index && this.#takeOne());
    return this.#starts[index];
  }

  /** The element that holds a byte. */
  indexOf(byte: number): number | undefined {
    while (this.#walker.at <= byte && this.#takeOne());
    const index = this.#starts.findLastIndex((start) => start <= byte);
    const start = this.#starts[index];
    return start !== undefined && byte < endOfValue(this.#walker.bytes, start) ? index : undefined;
  }

  /** Goes behind the element that was taken last to the next; false where there is none. */
  #takeOne(): boolean {
    if (this.#isAtOne && this.#starts.length > 0) {
      this.#walker.skip();
      this.#isAtOne = this.#walker.next(closeBracket);
    }
    if (this.#isAtOne) this.#starts.push(this.#walker.at);
    return this.#isAtOne;
  }
}
