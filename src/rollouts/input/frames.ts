/** Reads bytes as lines, as a document, or as elements of an array. */
import { setImmediate } from "node:timers/promises";
import * as json from "../../json/json-bytes.ts";
import { findFault, type JsonReader } from "../../json/reader.ts";
import { countUnits, PositionCounter } from "../rules/positions.ts";
import { type Bytes, type LineStart, readHead, readRangeNow, ShrunkSourceError } from "./source.ts";

export const blockBytes = 2 ** 20;

/** A text of this size, its copy and its table fit together in the processor's cache. */
export const cachedBytes = 2 ** 17;

/** Complete lines from the offset `start`. The bytes are valid until the next block is read. */
export type Lines = Readonly<{
  kind: "lines";
  bytes: Buffer;
  start: number;
  isLast: boolean;
}>;

/** A document, or a line that is longer than a block. The span of a line excludes the newline. */
export interface LongText extends json.Span {
  readonly kind: "long" | "document";
  readonly isLast: boolean;
}

export type Frame = Lines | LongText;

type AbortOptions = Readonly<{ signal?: AbortSignal | undefined }>;

/** Yields lines or one document. @throws ShrunkSourceError; the signal's reason */
export async function* readFrames(
  source: Bytes,
  { start, signal }: AbortOptions & Pick<json.Span, "start">,
): AsyncGenerator<Frame, void> {
  let isBlankSoFar = true;
  for await (const block of readBlocks(source, { start, end: source.size, signal })) {
    if (isBlankSoFar && block.kind === "lines" && isDocumentStart(block.bytes))
      return yield { kind: "document", start: block.start, end: source.size, isLast: true };
    yield block;
    isBlankSoFar &&= block.kind === "lines" && json.skipWhite(block.bytes, 0) === block.bytes.length;
  }
}

/** @throws ShrunkSourceError; the signal's reason */
export async function* readBlocks(
  source: Bytes,
  { start, end, signal }: AbortOptions & json.Span,
): AsyncGenerator<Frame, void> {
  // The buffer has room for an incomplete line in addition to a block.
  const buffer = Buffer.allocUnsafeSlow(Math.min(2 * blockBytes, end - start));
  let filled = 0;
  for (let base = start; base < end; ) {
    const at = base + filled;
    const size = Math.min(blockBytes, end - at);
    await setImmediate();
    signal?.throwIfAborted();
    const bytesRead = source.read(buffer.subarray(filled, filled + size), at);
    if (bytesRead === 0) throw new ShrunkSourceError();
    filled += bytesRead;
    if (base + filled >= end) {
      yield { kind: "lines", bytes: buffer.subarray(0, filled), start: base, isLast: end === source.size };
      return;
    }
    const linesEnd = buffer.subarray(0, filled).lastIndexOf(json.newline) + 1;
    if (linesEnd > 0) {
      yield { kind: "lines", bytes: buffer.subarray(0, linesEnd), start: base, isLast: false };
      buffer.copyWithin(0, linesEnd, filled);
      base += linesEnd;
      filled -= linesEnd;
    } else if (filled + blockBytes > buffer.length) {
      const stop = await findLineEnd(source, { buffer, start: base + filled, end, signal });
      const next = Math.min(stop + 1, end);
      yield { kind: "long", start: base, end: stop, isLast: next === end && end === source.size };
      base = next;
      filled = 0;
    }
  }
}

/** Overwrites `buffer`. */
const findLineEnd = async (
  source: Bytes,
  { buffer, start, end, signal }: AbortOptions & json.Span & { readonly buffer: Buffer },
) => {
  let at = start;
  while (at < end) {
    await setImmediate();
    signal?.throwIfAborted();
    const bytesRead = source.read(buffer.subarray(0, end - at), at);
    if (bytesRead === 0) throw new ShrunkSourceError();
    const index = buffer.subarray(0, bytesRead).indexOf(json.newline);
    if (index >= 0) return at + index;
    at += bytesRead;
  }
  return end;
};

const isDocumentStart = (bytes: Buffer) => {
  const from = json.skipWhite(bytes, 0);
  if (from === bytes.length) return false;
  const end = json.endOfLine(bytes, from);
  // Values without commas between them are lines, not parts of a document.
  if (isCloser(lastByteBefore(bytes, end)) && isOpener(bytes[json.skipWhite(bytes, end)])) return false;
  const lineFault = findFault(bytes.subarray(from, end));
  if (lineFault?.fault === "more" && bytes[from] === json.quote && bytes[from + lineFault.at] === json.colon) {
    // A document can lack its opening brace.
    const fault = findFault(Buffer.concat([Buffer.of(json.openBrace), bytes.subarray(from)]));
    return !fault || fault.fault === "end";
  }
  if (lineFault?.fault !== "end" || end === bytes.length) return false;
  if (end - from < 64 && /^[\s[{]*$/.test(bytes.toString("latin1", from, end))) return true;
  const next = json.skipWhite(bytes, end);
  if (next === bytes.length) return isOpener(lastByteBefore(bytes, end));
  // A truncated first line causes a fault at the start of the next line or earlier.
  const fault = findFault(bytes.subarray(from));
  return !fault || from + fault.at > next;
};

const lastByteBefore = (bytes: Buffer, end: number) => bytes[json.trimmedEnd(bytes, end) - 1];

const isOpener = (byte: number | undefined) => byte === json.openBrace || byte === json.openBracket;
const isCloser = (byte: number | undefined) => byte === json.closeBrace || byte === json.closeBracket;

/**
 * Yields blocks of elements up to the closing bracket or a fault. `start` is the offset after the opening bracket.
 * `isTolerant` allows elements that are not JSON. A table is valid until the next read.
 * @throws ShrunkSourceError; the signal's reason
 */
export async function* readElements(
  source: Bytes,
  { start, end, line }: json.Span & LineStart,
  { reader, isTolerant, signal }: AbortOptions & { reader: JsonReader; isTolerant: boolean },
) {
  reader.beginElements();
  let position = { start, line };
  for (let [filled, size] = [0, blockBytes]; ; ) {
    signal?.throwIfAborted();
    const wanted = Math.min(size, end - position.start);
    await setImmediate();
    const bytesRead = source.read(reader.reserve(wanted).subarray(filled), position.start + filled);
    if (bytesRead === 0 && filled < wanted) throw new ShrunkSourceError();
    filled += bytesRead;
    const isLast = position.start + filled === end;
    const { restAt, isEnd, fault } = reader.readElements(reader.reserve(filled), { isLast, isTolerant });
    const table = reader.viewTable();
    const base = position;
    const unitsBefore = () => countUnitsBefore(source, base);
    const positions = new PositionCounter({ ...base, bytes: table.bytes, unitsBefore });
    yield { table, start: base.start, positions, restAt, isEnd, fault };
    if (isEnd || fault) return;
    position = { start: base.start + restAt, line: positions.mark(restAt) };
    reader.reserve(filled).copyWithin(0, restAt, filled);
    filled -= restAt;
    size = restAt === 0 ? 2 * size : blockBytes;
  }
}

export const findTextStart = (bytes: Bytes) => json.bomLength(readHead(bytes, json.maxBomLength));

const bytesPerRead = 2 ** 16;

/**
 * Counts UTF-16 units from the start of the line to `start`. Continues the last count of the line, because a line can
 * have a million elements. @throws ShrunkSourceError
 */
export const countUnitsBefore = (source: Bytes, { line, start }: LineStart) => {
  const last = source.lastColumn;
  const from = last?.line === line && last.at <= start ? last : { at: findLineStart(source, start), units: 0 };
  let { at, units } = from;
  for (; at < start; at += bytesPerRead)
    units += countUnits(readRangeNow(source, { start: at, length: Math.min(bytesPerRead, start - at) }));
  source.lastColumn = { line, at: start, units };
  return units;
};

const findLineStart = (source: Bytes, at: number) => {
  let end = at;
  // Most values are near the start of a line.
  for (let length = 64; end > 0; length = Math.min(2 * length, bytesPerRead)) {
    const start = Math.max(0, end - length);
    const newline = readRangeNow(source, { start, length: end - start }).lastIndexOf(json.newline);
    if (newline >= 0) return start + newline + 1;
    end = start;
  }
  return at < json.maxBomLength ? 0 : json.bomLength(readRangeNow(source, { start: 0, length: json.maxBomLength }));
};
