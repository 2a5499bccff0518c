/** Frames the elements of a long list: goes over its bytes block by block, so that none but the element under way is held; nothing is decoded. */
import {
  backslash,
  closeBrace,
  closeBracket,
  comma,
  isWhite,
  newline,
  openBrace,
  openBracket,
  quote,
} from "../json/walk.ts";
import { blockBytes, type Range } from "./lines.ts";
import { type Bytes, Shrunk } from "./source.ts";

/** An element: where it begins in the source, and on which line. */
export interface Element {
  readonly start: number;
  readonly line: number;
}

/** Whole elements, with what stands between them. */
export interface Elements {
  /** Valid until the next block is asked for. */
  readonly bytes: Buffer;
  /** The same as lines, one an element: other newlines are blanks, commas behind elements newlines. One inside a string is left. */
  readonly asLines: Buffer;
  /** Offset of the first byte in the source. */
  readonly start: number;
  readonly elements: readonly Element[];
}

/**
 * The elements of a list, block by block, from behind its bracket up to its end, which the frame knows then: it has none
 * where the range ends before, or a comma has no element. All between is JSON where each element is.
 * @throws Shrunk
 */
export async function* elementsOf(
  source: Bytes,
  { start, end, frame }: Range & { readonly frame: ListFrame },
): AsyncGenerator<Elements, void> {
  let bytes = Buffer.allocUnsafeSlow(blockBytes);
  let asLines = Buffer.allocUnsafeSlow(blockBytes);
  let base = start;
  let filled = 0;
  while (frame.goesOn && base + filled < end) {
    if (filled === bytes.length) [bytes, asLines] = [twice(bytes), twice(asLines)];
    const read = await source.read(bytes.subarray(filled, end - base), base + filled);
    if (read === 0) throw new Shrunk();
    bytes.copy(asLines, filled, filled, filled + read);
    const elements = frame.pass(bytes.subarray(filled, filled + read), {
      asLines: asLines.subarray(filled, filled + read),
      start: base + filled,
    });
    filled += read;
    const [first] = elements;
    const rest = (frame.begun?.start ?? base + filled) - base;
    if (first !== undefined) {
      const from = first.start - base;
      const to = frame.behind - base;
      yield { bytes: bytes.subarray(from, to), asLines: asLines.subarray(from, to), start: first.start, elements };
    }
    bytes.copyWithin(0, rest, filled);
    asLines.copyWithin(0, rest, filled);
    base += rest;
    filled -= rest;
  }
}

/** A buffer with twice the room, and what is in it. */
export const twice = (buffer: Buffer): Buffer<ArrayBuffer> => {
  const larger = Buffer.allocUnsafeSlow(2 * buffer.length);
  buffer.copy(larger);
  return larger;
};

/** What bytes are inside an element; all others are nothing to its end. */
const [openKind, closeKind, quoteKind, newlineKind] = [1, 2, 3, 4] as const;

const kinds = new Uint8Array(256);
for (const byte of [openBrace, openBracket]) kinds[byte] = openKind;
for (const byte of [closeBrace, closeBracket]) kinds[byte] = closeKind;
kinds[quote] = quoteKind;
kinds[newline] = newlineKind;

const blank = 0x20;

/** Where the elements of a list begin and end, whose bytes are passed piece by piece. */
export class ListFrame {
  #line: number;
  /** Brackets that are open inside the list. */
  #depth = 0;
  /** Where the string that is open goes on in the next piece: behind its first byte, where that is escaped. */
  #string: number | undefined;
  #begun: Element | undefined;
  #ended: Element[] = [];
  #behind = 0;
  #isEmpty = true;
  #isBroken = false;
  #end: number | undefined;

  constructor(line: number) {
    this.#line = line;
  }

  /** The line of what follows. */
  get line(): number {
    return this.#line;
  }

  /** The element whose end was not passed yet. */
  get begun(): Element | undefined {
    return this.#begun;
  }

  /** Offset behind the element that ended last. */
  get behind(): number {
    return this.#behind;
  }

  /** Offset of the list's closing bracket, once it was passed. */
  get end(): number | undefined {
    return this.#end;
  }

  /** Whether more of the list is to be passed. */
  get goesOn(): boolean {
    return !this.#isBroken && this.#end === undefined;
  }

  /** Passes a piece, up to the list's end; gives the elements that ended in it. */
  pass(bytes: Buffer, { asLines, start }: Pick<Elements, "asLines" | "start">): readonly Element[] {
    this.#ended = [];
    let at = this.#string === undefined ? 0 : this.#passString(bytes, this.#string);
    while (at < bytes.length && this.goesOn) {
      at = this.#depth > 0 ? this.#passInside(bytes, asLines, at) : this.#passBetween(bytes, { asLines, start, at });
    }
    return this.#ended;
  }

  /** Passes a byte that is in no object, array or string. */
  #passBetween(
    bytes: Buffer,
    { asLines, start, at }: Pick<Elements, "asLines" | "start"> & { readonly at: number },
  ): number {
    const byte = bytes[at] ?? 0;
    if (byte === newline) {
      asLines[at] = blank;
      this.#line++;
    } else if (byte === comma) {
      this.#endElement(start + at);
      asLines[at] = newline;
    } else if (byte === closeBracket) {
      if (!this.#isEmpty || this.#begun !== undefined) this.#endElement(start + at);
      this.#end = start + at;
    } else if (!isWhite(byte)) {
      this.#begun ??= { start: start + at, line: this.#line };
      if (byte === quote) return this.#passString(bytes, at + 1);
      if (kinds[byte] === openKind) this.#depth = 1;
    }
    return at + 1;
  }

  #endElement(behind: number): void {
    if (this.#begun === undefined) this.#isBroken = true;
    else this.#ended.push(this.#begun);
    this.#begun = undefined;
    this.#behind = behind;
    this.#isEmpty = false;
  }

  /** Passes what is in an object or array; gives the place behind it. */
  #passInside(bytes: Buffer, asLines: Buffer, from: number): number {
    let depth = this.#depth;
    let at = from;
    while (at < bytes.length && depth > 0) {
      const kind = kinds[bytes[at] ?? 0];
      if (kind === quoteKind) {
        at = this.#passString(bytes, at + 1);
        continue;
      }
      if (kind === openKind) depth++;
      else if (kind === closeKind) depth--;
      else if (kind === newlineKind) {
        asLines[at] = blank;
        this.#line++;
      }
      at++;
    }
    this.#depth = depth;
    return at;
  }

  /** Passes a string from inside it; gives the place behind it. */
  #passString(bytes: Buffer, from: number): number {
    let at = from;
    for (; at < bytes.length; at++) {
      const byte = bytes[at];
      if (byte === quote) {
        this.#string = undefined;
        return at + 1;
      }
      if (byte === backslash) at++;
    }
    this.#string = at - bytes.length;
    return at;
  }
}
