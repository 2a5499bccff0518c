/** Finds what is wrong with a text that is longer than a block, piece by piece: of it no more is held than the value under way. */
import { isUtf8 } from "node:buffer";
import { createHash } from "node:crypto";
import { crc32 } from "node:zlib";
import { type Bytes, blockBytes, type Range, readRange, Shrunk, unitsBefore } from "../input/index.ts";
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
  /** What is around the fault, and where the fault is in it; no fault is one of the bytes, which are not UTF-8 there. */
  readonly around: Text;
  readonly at: number;
  readonly fault: SyntaxFault | undefined;
}

/** Bytes before a fault, and after it, that say what it is. */
const aroundBytes = 256;

/** What is wrong with a text; undefined if it is JSON after all. @throws Shrunk; the signal's reason */
export const faultOfLong = async (
  source: Bytes,
  text: LongText,
  signal: AbortSignal | undefined,
): Promise<Unreadable | undefined> => {
  const span = await trimmed(source, text);
  const hash = createHash("sha256");
  let checksum = 0;
  let line = text.line;
  let bad: number | undefined;
  for await (const { bytes } of piecesOf(source, { start: text.start, end: span.start })) line += linesIn(bytes);
  for await (const { bytes, at } of piecesOf(source, span, signal)) {
    hash.update(bytes);
    checksum = crc32(bytes, checksum);
    if (bad === undefined && !isUtf8(bytes)) bad = at - span.start + firstBadByte(bytes);
  }
  const fault = bad === undefined ? await faultIn(source, span, signal) : undefined;
  const offset = bad ?? fault?.at;
  if (offset === undefined) return undefined;
  const { start, end } = span;
  const around = await aroundOf(source, { start, end, line, offset: start + offset });
  const at = start + offset - around.start;
  const part = { line, start, length: end - start, checksum, digest: hash.digest() };
  return { ...part, around, at, fault: fault && { ...fault, at } };
};

/** A range piece by piece, cut between characters, and where each piece begins. */
async function* piecesOf(
  source: Bytes,
  { start, end }: Range,
  signal?: AbortSignal,
): AsyncGenerator<{ readonly bytes: Buffer; readonly at: number }, void> {
  const room = Buffer.allocUnsafeSlow(Math.max(1, Math.min(blockBytes, end - start)));
  for (let at = start; at < end; ) {
    signal?.throwIfAborted();
    const length = Math.min(room.length, end - at);
    if ((await source.read(room.subarray(0, length), at)) < length) throw new Shrunk();
    let whole = length;
    while (length - whole < maxContinuations && !isWhole(room[whole - 1])) whole--;
    // The last character may go on in the next piece.
    const isCut = at + length < end && whole > 1 && (room[whole - 1] ?? 0) >= firstOfSeveral;
    whole = isCut ? whole - 1 : length;
    yield { bytes: room.subarray(0, whole), at };
    at += whole;
  }
}

/** The range without a byte order mark and white space around it. */
const trimmed = async (source: Bytes, { start, end }: Range): Promise<Range> => {
  let from = start;
  for await (const { bytes } of piecesOf(source, { start, end })) {
    const white = skipWhite(bytes, from === start ? markLength(bytes) : 0);
    from += white;
    if (white < bytes.length) break;
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
  for (let [base, size] = [start, blockBytes]; ; ) {
    signal?.throwIfAborted();
    const length = Math.min(size, end - base);
    const passed = reader.readPiece(await readRange(source, { start: base, length }), base + length === end);
    if (passed === undefined) return undefined;
    if (typeof passed !== "number") return { ...passed, at: base - start + passed.at };
    base += passed;
    // A string that is longer than the piece.
    size = passed === 0 ? 2 * size : blockBytes;
  }
};

const linesIn = (bytes: Buffer): number => {
  let lines = 0;
  for (let at = bytes.indexOf(newline); at >= 0; at = bytes.indexOf(newline, at + 1)) lines++;
  return lines;
};

/** What is around an offset. It begins with the range, or with what no value of it begins with. */
const aroundOf = async (
  source: Bytes,
  { start, end, line, offset }: LongText & { readonly offset: number },
): Promise<Text> => {
  const from = Math.max(start, offset - aroundBytes);
  const bytes = await readRange(source, { start: from, length: Math.min(end, offset + aroundBytes) - from });
  let skipped = 0;
  while (from > start && from + skipped < offset && (bytes[skipped] === quote || !isWhole(bytes[skipped]))) skipped++;
  const place = { start: from + skipped, line };
  for await (const piece of piecesOf(source, { start, end: place.start })) place.line += linesIn(piece.bytes);
  return { ...place, bytes: bytes.subarray(skipped), unitsBefore: () => unitsBefore(source, place) };
};

/** True if a byte begins a character. */
const isWhole = (byte = 0): boolean => (byte & 0xc0) !== 0x80;

/** Bytes that continue a character, at most; the lowest byte that begins a character of several. */
const maxContinuations = 3;
const firstOfSeveral = 0xc0;
