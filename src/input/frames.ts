/** Frames bytes into records: lines, a document, and the elements of arrays. */
import { Places } from "../check/rules/places.ts";
import { faultIn, type JsonReader, type SyntaxFault } from "../json/reader.ts";
import type { Tabled } from "../json/table.ts";
import {
  closeBrace,
  closeBracket,
  endOfLine,
  endOfText,
  isKey,
  longestMark,
  markLength,
  newline,
  openBrace,
  openBracket,
  skipWhite,
} from "../json/walk.ts";
import { unitsBefore } from "./columns.ts";
import { type Bytes, type Position, Shrunk } from "./source.ts";

/** Bytes that are read at once: enough that reading costs nothing next to parsing, and few enough to stay in the cache. */
export const blockBytes = 2 ** 20;

/** Whole lines. */
export interface Lines {
  readonly kind: "lines";
  /** Valid until the next block is asked for. */
  readonly bytes: Buffer;
  /** Offset of the first byte in the source. */
  readonly start: number;
  /** True if these are the last bytes of the source. */
  readonly last: boolean;
}

/** A line that is longer than a block, without its end, or a document that goes over several lines. Whoever takes it reads it. */
export interface LongText extends Range {
  readonly kind: "long" | "document";
  /** True if these are the last bytes of the source. */
  readonly last: boolean;
}

/** Records that are read together. */
export type Frame = Lines | LongText;

/** A range of bytes that begins and ends at a line. */
export interface Range {
  readonly start: number;
  readonly end: number;
}

/**
 * Yields the records of a source from an offset on: its lines, or one document.
 * @param isBegun true if there are lines before the offset
 * @throws Shrunk
 */
export async function* frames(
  source: Bytes,
  { start, isBegun }: { readonly start: number; readonly isBegun: boolean },
): AsyncGenerator<Frame, void> {
  let isFirst = !isBegun;
  for await (const block of blocksOf(source, { start, end: source.size })) {
    const frame = isFirst && block.kind === "lines" ? firstFrame(block, source.size) : block;
    yield frame;
    if (frame.kind === "document") return;
    isFirst &&= frame.kind === "lines" && isBlank(frame.bytes);
  }
}

/**
 * Yields the lines of a range, block by block. The next block is read while one is checked. `memory` has the buffers of an
 * earlier range, which are used again. @throws Shrunk
 */
export async function* blocksOf(
  source: Bytes,
  { start, end, memory = [] }: Range & { readonly memory?: Buffer[] },
): AsyncGenerator<Frame, void> {
  let buffer = sized(memory.pop(), Math.min(blockBytes, end - start));
  let spare = memory.pop();
  let base = start;
  let filled = 0;
  let searched = 0;
  let read = source.read(buffer, base);
  while (base < end) {
    const more = await read;
    if (more === 0) throw new Shrunk();
    filled += more;
    const last = base + filled >= end;
    const whole = last ? filled : lastNewline(buffer, searched, filled) + 1;
    if (whole > 0) {
      // The bytes after the last line end begin the next block.
      spare = sized(spare, Math.min(blockBytes + filled - whole, end - base - whole));
      buffer.copy(spare, 0, whole, filled);
      read = readAhead(source, { into: spare.subarray(filled - whole), at: base + filled, last });
      yield { kind: "lines", bytes: buffer.subarray(0, whole), start: base, last: last && end === source.size };
      [buffer, spare] = [spare, buffer];
      base += whole;
      filled -= whole;
      searched = filled;
      continue;
    }
    const stop = await lineEnd(source, { buffer, start: base + filled, end });
    const next = Math.min(stop + 1, end);
    yield { kind: "long", start: base, end: stop, last: next === end && end === source.size };
    base = next;
    filled = 0;
    searched = 0;
    read = base < end ? source.read(buffer.subarray(0, end - base), base) : Promise.resolve(0);
  }
  memory.push(buffer);
  if (spare !== undefined) memory.push(spare);
}

const readAhead = (
  source: Bytes,
  { into, at, last }: { readonly into: Buffer; readonly at: number; readonly last: boolean },
): Promise<number> => {
  if (last) return Promise.resolve(0);
  const read = source.read(into, at);
  // A reader that stops early never awaits it.
  read.catch(() => undefined);
  return read;
};

/** Returns a buffer of a size, in the memory of the old one if it fits. */
const sized = (old: Buffer | undefined, size: number): Buffer => {
  if (old !== undefined && old.buffer.byteLength >= size) return Buffer.from(old.buffer, 0, size);
  // Blocks differ by the part of a line that is left over. With some spare bytes the next ones fit too.
  return Buffer.allocUnsafeSlow(size + (size < blockBytes ? 0 : spareBytes)).subarray(0, size);
};

/** Bytes of a line of usual length. */
const spareBytes = 2 ** 17;

const lastNewline = (buffer: Buffer, from: number, to: number): number => {
  const at = buffer.subarray(from, to).lastIndexOf(newline);
  return at < 0 ? -1 : from + at;
};

/** Offset of the next newline; the end if there is none. The bytes before it are not kept. */
const lineEnd = async (source: Bytes, { buffer, start, end }: Range & { readonly buffer: Buffer }): Promise<number> => {
  let at = start;
  while (at < end) {
    const read = await source.read(buffer.subarray(0, end - at), at);
    if (read === 0) throw new Shrunk();
    const found = buffer.subarray(0, read).indexOf(newline);
    if (found >= 0) return at + found;
    at += read;
  }
  return end;
};

/** True if there is nothing but white space. */
export const isBlank = (bytes: Buffer): boolean => skipWhite(bytes, 0) === bytes.length;

/** Returns the first lines of a source of this size, or all of it if they begin a document that goes over several lines. */
export const firstFrame = (block: Lines, size: number): Frame =>
  beginsDocument(block.bytes) ? { kind: "document", start: block.start, end: size, last: true } : block;

const beginsDocument = (bytes: Buffer): boolean => {
  if (isBlank(bytes)) return false;
  const from = skipWhite(bytes, 0);
  const end = endOfLine(bytes, from);
  // A value that ends before another one begins is a line: in a document, a comma is between them.
  if (isCloser(lastOf(bytes, end)) && isOpener(bytes[skipWhite(bytes, end)])) return false;
  const first = faultIn(bytes.subarray(from, end));
  if (first?.fault === "more" && isKey(bytes.subarray(from), first.at)) return isInside(bytes.subarray(from));
  if (first?.fault !== "end" || end === bytes.length) return false;
  if (onlyOpens(bytes.subarray(from, end))) return true;
  const next = skipWhite(bytes, end);
  if (next === bytes.length) return isOpener(lastOf(bytes, end));
  // A line that was cut off stops being JSON at its end, or where the next line begins. A document continues.
  const fault = faultIn(bytes.subarray(from));
  return fault === undefined || from + fault.at > next;
};

/** True if a text is the beginning of an object without its opening brace. */
const isInside = (bytes: Buffer): boolean => {
  const fault = faultIn(Buffer.concat([Buffer.of(openBrace), bytes]));
  return fault === undefined || fault.fault === "end";
};

/** The last byte before an offset that is not white space. */
const lastOf = (bytes: Buffer, end: number): number | undefined => bytes[endOfText(bytes, end) - 1];

const isOpener = (byte: number | undefined): boolean => byte === openBrace || byte === openBracket;
const isCloser = (byte: number | undefined): boolean => byte === closeBrace || byte === closeBracket;

/** True if a line only opens objects and arrays. */
const onlyOpens = (line: Buffer): boolean =>
  /^[\s[{]*$/.test(line.subarray(0, 64).toString("latin1")) && line.length < 64;

/** Elements of an array that were read together. Valid until the next ones are asked for. */
interface Elements {
  /** Their roots are one after the other. */
  readonly text: Tabled;
  /** Offset of the first byte in the source. */
  readonly start: number;
  readonly places: Places;
  /** Bytes up to the end of the last element, its comma included, or to the array's closing bracket. */
  readonly length: number;
  /** True if the closing bracket is next. */
  readonly isEnd: boolean;
  /** Why the array cannot be read further. */
  readonly fault: SyntaxFault | undefined;
}

/**
 * Yields the elements of an array from after its bracket on, as many at once as end in a block, up to its closing bracket or
 * a fault.
 * @param isTolerant true if elements that are not JSON are yielded too, as lines that are not JSON are in a table
 * @throws Shrunk; the signal's reason
 */
export async function* elementsOf(
  source: Bytes,
  { start, end, line }: Range & Position,
  {
    reader,
    isTolerant,
    signal,
  }: { readonly reader: JsonReader; readonly isTolerant: boolean; readonly signal?: AbortSignal | undefined },
): AsyncGenerator<Elements, void> {
  reader.beginElements();
  let place = { start, line };
  for (let [filled, size] = [0, blockBytes]; ; ) {
    signal?.throwIfAborted();
    const wanted = Math.min(size, end - place.start);
    const more = await source.read(reader.room(wanted).subarray(filled), place.start + filled);
    if (more === 0 && filled < wanted) throw new Shrunk();
    filled += more;
    const isLast = place.start + filled === end;
    const { length, isEnd, fault } = reader.readElements(reader.room(filled), { isLast, isTolerant });
    const text = reader.tabled();
    const own = place;
    const places = new Places({ ...own, bytes: text.bytes, unitsBefore: () => unitsBefore(source, own) });
    yield { text, start: own.start, places, length, isEnd, fault };
    if (isEnd || fault !== undefined) return;
    place = { start: own.start + length, line: places.mark(length) };
    reader.room(filled).copyWithin(0, length, filled);
    filled -= length;
    // An element can be longer than a block.
    size = length === 0 ? 2 * size : blockBytes;
  }
}

/** Offset after the byte order mark that a text begins with. */
export const textStart = async (bytes: Pick<Bytes, "read">): Promise<number> => {
  const head = Buffer.alloc(longestMark);
  await bytes.read(head, 0);
  return markLength(head);
};
