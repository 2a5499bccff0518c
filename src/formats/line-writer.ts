/** Writes JSON on one line: line ends between its values become blanks. */

import { onOneLine } from "../json/walk.ts";
import { type Built, type Sink, write } from "./built.ts";

/** Characters or bytes that are copied one by one. */
const shortText = 48;

/** Memory that lines are written into: it grows to what is written between two times that it is taken. */
export class LineWriter implements Sink {
  #buffer: Buffer;
  #length = 0;
  /** Bytes that no line ends are in. */
  withoutLines: Buffer | undefined;

  /** @param room bytes that are usually written before they are taken */
  constructor(room: number) {
    this.#buffer = Buffer.allocUnsafe(room);
  }

  get length(): number {
    return this.#length;
  }

  text(text: string): void {
    this.#need(3 * text.length);
    if (text.length > shortText) {
      this.#length += this.#buffer.write(text, this.#length);
      return;
    }
    // What a call into Node takes is more than what a short text is.
    const start = this.#length;
    for (let at = 0; at < text.length; at++) {
      const code = text.charCodeAt(at);
      if (code >= 0x80) {
        this.#length = start + this.#buffer.write(text, start);
        return;
      }
      this.#buffer[this.#length++] = code;
    }
  }

  bytes(bytes: Buffer, start: number, end: number): void {
    const length = end - start;
    this.#need(length);
    if (length > shortText) this.#buffer.set(bytes.subarray(start, end), this.#length);
    else for (let at = 0; at < length; at++) this.#buffer[this.#length + at] = bytes[start + at] ?? 0;
    if (bytes !== this.withoutLines) onOneLine(this.#buffer.subarray(this.#length, this.#length + length));
    this.#length += length;
  }

  /** What was written; valid until more is. */
  take(): Buffer {
    const taken = this.#buffer.subarray(0, this.#length);
    this.#length = 0;
    return taken;
  }

  #need(more: number): void {
    if (this.#length + more <= this.#buffer.length) return;
    const larger = Buffer.allocUnsafe(2 * (this.#length + more));
    this.#buffer.copy(larger, 0, 0, this.#length);
    this.#buffer = larger;
  }
}

/** What was built, as JSON on one line. */
export const jsonOf = (built: Built): string => {
  const writer = new LineWriter(shortText);
  write(built, writer);
  return writer.take().toString("utf8");
};
