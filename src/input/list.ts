/** Finds the elements of a JSON array without decoding them. Only the element that is being read is in memory. */
import { backslash, closeBrace, closeBracket, comma, newline, openBrace, openBracket, quote } from "../json/walk.ts";
import { blockBytes } from "./lines.ts";
import { type Bytes, Shrunk } from "./source.ts";

/** A position in a source, and its line. */
export interface Position {
  readonly start: number;
  readonly line: number;
}

/** An element, with the white space after it. */
interface Element extends Position {
  readonly end: number;
}

/** The elements that ended in a block. Their bytes are valid until the next block is read. */
interface Elements {
  readonly bytes: Buffer;
  /** Offset of the bytes in the source. */
  readonly start: number;
  readonly elements: readonly Element[];
}

/**
 * Yields the elements of an array from after its bracket up to its end, which the frame then knows. It has no end if the source
 * ends before, or if a comma follows no element. What is between the elements is JSON if each element is. @throws Shrunk
 */
export async function* elementsOf(source: Bytes, start: number, frame: ListFrame): AsyncGenerator<Elements, void> {
  let bytes = Buffer.allocUnsafeSlow(blockBytes);
  let base = start;
  let filled = 0;
  while (frame.isOpen && base + filled < source.size) {
    if (filled === bytes.length) bytes = Buffer.concat([bytes, Buffer.allocUnsafeSlow(filled)]);
    const read = await source.read(bytes.subarray(filled), base + filled);
    if (read === 0) throw new Shrunk();
    const elements = frame.scan(bytes.subarray(filled, filled + read), base + filled);
    filled += read;
    if (elements.length > 0) yield { bytes, start: base, elements };
    const rest = (frame.begun?.start ?? base + filled) - base;
    bytes.copyWithin(0, rest, filled);
    base += rest;
    filled -= rest;
  }
}

const [white, newLine, quotes, opens, closes, separates, other] = [0, 1, 2, 3, 4, 5, 6] as const;
const kinds = new Uint8Array(256).fill(other);
for (const byte of [0x20, 0x09, 0x0d]) kinds[byte] = white;
for (const byte of [openBrace, openBracket]) kinds[byte] = opens;
for (const byte of [closeBrace, closeBracket]) kinds[byte] = closes;
kinds[newline] = newLine;
kinds[quote] = quotes;
kinds[comma] = separates;

/** The state of an array that is scanned block by block. */
export class ListFrame {
  /** The line of what follows. */
  line: number;
  /** The element that has not ended yet. */
  begun: Position | undefined;
  /** Offset of the closing bracket. */
  end: number | undefined;
  /** Brackets that are open inside the array. */
  #depth = 0;
  /** A string is open, and continues at this offset of the next block: after its first byte if that is escaped. */
  #string: number | undefined;
  #isEmpty = true;
  #isBroken = false;

  constructor(line: number) {
    this.line = line;
  }

  get isOpen(): boolean {
    return !this.#isBroken && this.end === undefined;
  }

  /** Scans a block. Returns the elements that ended in it. */
  scan(bytes: Buffer, base: number): readonly Element[] {
    const ended: Element[] = [];
    const end = (at: number): void => {
      if (this.begun === undefined) this.#isBroken = true;
      else ended.push({ ...this.begun, end: base + at });
      this.begun = undefined;
      this.#isEmpty = false;
    };
    for (let at = this.#string === undefined ? 0 : this.#afterString(bytes, this.#string); at < bytes.length; at++) {
      const kind = kinds[bytes[at] ?? 0];
      if (kind === newLine) this.line++;
      if (kind === white || kind === newLine) continue;
      if (this.#depth === 0) {
        if (kind === separates) {
          end(at);
          if (this.#isBroken) break;
          continue;
        }
        if (bytes[at] === closeBracket) {
          if (!this.#isEmpty || this.begun !== undefined) end(at);
          this.end = base + at;
          break;
        }
        this.begun ??= { start: base + at, line: this.line };
      }
      if (kind === quotes) at = this.#afterString(bytes, at + 1) - 1;
      else if (kind === opens) this.#depth++;
      else if (kind === closes && this.#depth > 0) this.#depth--;
    }
    return ended;
  }

  /** Returns the offset after a string, from an offset inside it. */
  #afterString(bytes: Buffer, from: number): number {
    let at = from;
    for (; at < bytes.length; at++) {
      if (bytes[at] === quote) {
        this.#string = undefined;
        return at + 1;
      }
      if (bytes[at] === backslash) at++;
    }
    this.#string = at - bytes.length;
    return at;
  }
}
