/** Finds what is wrong with a text that is longer than a block, piece by piece: of it no more is held than the value under way. */
import { isUtf8 } from "node:buffer";
import { createHash } from "node:crypto";
import { crc32 } from "node:zlib";
import { unitsBefore } from "../input/columns.ts";
import { blockBytes, type Range } from "../input/lines.ts";
import { type Bytes, readRange, Shrunk } from "../input/source.ts";
import { JsonReader, type SyntaxFault } from "../json/reader.ts";
import { markLength, newline, quote, skipWhite } from "../json/walk.ts";
import { endOfText, firstBadByte } from "./faults.ts";
import type { Text } from "./rules/places.ts";

/** A long text, and the line that it begins on. */
export interface LongText extends Range {
  readonly line: number;
}

/** A long text that can't be read. */
export interface Unreadable {
  /** Where it begins, without the white space around it. */
  readonly line: number;
  readonly start: number;
  readonly length: number;
  readonly checksum: number;
  readonly digest: Buffer;
  /** What stands around the fault, and where the fault is in it; no fault is one of the bytes, which are not UTF-8 there. */
  readonly around: Text;
  readonly at: number;
  readonly fault: SyntaxFault | undefined;
}

/** Bytes before a fault, and behind it, that say what it is. */
const aroundBytes = 256;

/** What is wrong with a text; undefined where it is JSON after all. @throws Shrunk; the signal's reason */
export const faultOfLong = async (
  source: Bytes,
  text: LongText,
  signal: AbortSignal | undefined,
): Promise<Unreadable | undefined> => {
  const span = await trimmed(source, text);
  const [hash, passed] = [createHash("sha256"), new Utf8()];
  let checksum = 0;
  for await (const piece of piecesOf(source, span, signal)) {
    hash.update(piece);
    checksum = crc32(piece, checksum);
    passed.pass(piece);
  }
  const bad = passed.end();
  const fault = bad === undefined ? await faultIn(source, span, signal) : undefined;
  const offset = bad ?? fault?.at;
  if (offset === undefined) return undefined;
  const { start } = span;
  const line = text.line + (await linesIn(source, { start: text.start, end: start }));
  const around = await aroundOf(source, { ...span, line, offset: start + offset });
  const place = { line, start, length: span.end - start, checksum, digest: hash.digest() };
  return {
    ...place,
    around,
    at: start + offset - around.start,
    fault: fault && { ...fault, at: start + offset - around.start },
  };
};

async function* piecesOf(source: Bytes, { start, end }: Range, signal?: AbortSignal): AsyncGenerator<Buffer, void> {
  const bytes = Buffer.allocUnsafeSlow(Math.min(blockBytes, end - start));
  for (let at = start; at < end; ) {
    signal?.throwIfAborted();
    const read = await source.read(bytes.subarray(0, end - at), at);
    if (read === 0) throw new Shrunk();
    yield bytes.subarray(0, read);
    at += read;
  }
}

/** The range without a byte order mark and white space around it. */
const trimmed = async (source: Bytes, { start, end }: Range): Promise<Range> => {
  let from = start;
  for await (const piece of piecesOf(source, { start, end })) {
    const white = skipWhite(piece, from === start ? markLength(piece) : 0);
    from += white;
    if (white < piece.length) break;
  }
  let to = end;
  while (to > from) {
    const length = Math.min(blockBytes, to - from);
    const kept = endOfText(await readRange(source, { start: to - length, length }), length);
    to -= length - kept;
    if (kept > 0) break;
  }
  return { start: from, end: to };
};

/** The first fault, at its offset from the beginning of a range. */
const faultIn = async (source: Bytes, { start, end }: Range, signal: AbortSignal | undefined) => {
  const reader = new JsonReader();
  reader.beginPieces();
  let bytes = Buffer.allocUnsafeSlow(blockBytes);
  let [base, filled] = [start, 0];
  while (true) {
    signal?.throwIfAborted();
    const read = await source.read(bytes.subarray(filled, Math.max(filled, end - base)), base + filled);
    if (read === 0 && base + filled < end) throw new Shrunk();
    filled += read;
    const passed = reader.readPiece(bytes.subarray(0, filled), base + filled === end);
    if (passed === undefined) return undefined;
    if (typeof passed !== "number")
      return { ...passed, at: base - start + passed.at, token: base - start + passed.token };
    bytes.copyWithin(0, passed, filled);
    base += passed;
    filled -= passed;
    // A string that is longer than the piece.
    if (filled === bytes.length) bytes = Buffer.concat([bytes], 2 * filled);
  }
};

const linesIn = async (source: Bytes, range: Range): Promise<number> => {
  let lines = 0;
  for await (const piece of piecesOf(source, range)) {
    for (let at = piece.indexOf(newline); at >= 0; at = piece.indexOf(newline, at + 1)) lines++;
  }
  return lines;
};

/** What stands around an offset. It begins with the range, or with what no value of it begins with. */
const aroundOf = async (
  source: Bytes,
  { start, end, line, offset }: LongText & { readonly offset: number },
): Promise<Text> => {
  const from = Math.max(start, offset - aroundBytes);
  const bytes = await readRange(source, { start: from, length: Math.min(end, offset + aroundBytes) - from });
  let skipped = 0;
  while (from > start && from + skipped < offset && (bytes[skipped] === quote || !isWhole(bytes[skipped]))) skipped++;
  const place = { start: from + skipped, line: line + (await linesIn(source, { start, end: from + skipped })) };
  return { ...place, bytes: bytes.subarray(skipped), unitsBefore: () => unitsBefore(source, place) };
};

/** Whether a byte begins a character. */
const isWhole = (byte = 0): boolean => (byte & 0xc0) !== 0x80;

/** Looks for the first byte that is not UTF-8, in pieces that may end inside a character. */
class Utf8 {
  #offset = 0;
  #rest: Buffer = Buffer.alloc(0);
  #bad: number | undefined;

  pass(piece: Buffer): void {
    if (this.#bad !== undefined) return;
    const bytes = Buffer.concat([this.#rest, piece]);
    let whole = bytes.length;
    while (whole > 0 && bytes.length - whole < longestCharacter && !isWhole(bytes[whole - 1])) whole--;
    if (whole > 0 && (bytes[whole - 1] ?? 0) >= 0xc0) whole--;
    else whole = bytes.length;
    this.#take(bytes.subarray(0, whole));
    this.#rest = Buffer.from(bytes.subarray(whole));
  }

  /** The offset of the first one; undefined where there is none. */
  end(): number | undefined {
    this.#take(this.#rest);
    return this.#bad;
  }

  #take(bytes: Buffer): void {
    if (this.#bad === undefined && !isUtf8(bytes)) this.#bad = this.#offset + firstBadByte(bytes);
    this.#offset += bytes.length;
  }
}

/** Bytes of a character. */
const longestCharacter = 4;
