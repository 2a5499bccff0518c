/** Ids of calls (UUIDs of version 7), and positions of calls in a body. */
import { randomBytes } from "node:crypto";
import { type Span, toBuffer } from "../../json/json-bytes.ts";

export interface TrajectorySpan extends Span {
  readonly group: number;
}

export const idBytes = 16;
/** The counter of an id has 12 bits (RFC 9562, 6.2, method 1). */
export const idsPerMs = 4096;
const timeBytes = 6;
/** From this offset, all ids of a request have the same random bytes. */
export const idTailOffset = 8;

export const makeFirstId = (ms: number) => {
  const id = randomBytes(idBytes);
  id.writeUIntBE(ms, 0, timeBytes);
  id.writeUInt16BE(0x7000, timeBytes);
  id[idTailOffset] = ((id[idTailOffset] ?? 0) & 0x3f) | 0x80;
  return id;
};

export const idTimeMs = (id: Uint8Array) => toBuffer(id).readUIntBE(0, timeBytes);

export const idCounter = (id: Uint8Array) => toBuffer(id).readUInt16BE(timeBytes) - 0x7000;

/** Returns the time in a request's last id. Each overflow of the counter adds 1 ms (RFC 9562, 6.2). */
export const lastIdMs = (ms: number, count: number) => ms + Math.floor(Math.max(0, count - 1) / idsPerMs);

export const formatIds = (first: Uint8Array, count: number) => {
  const hex = toBuffer(first).toString("hex", idTailOffset);
  const tail = `-${hex.slice(0, 4)}-${hex.slice(4)}`;
  const ms = idTimeMs(first);
  let start = "";
  return Array.from({ length: count }, (_, index) => {
    const counter = index % idsPerMs;
    const time = counter === 0 ? (ms + index / idsPerMs).toString(16).padStart(2 * timeBytes, "0") : "";
    if (counter === 0) start = `${time.slice(0, 8)}-${time.slice(8)}-`;
    return `${start}${(0x7000 + counter).toString(16)}${tail}`;
  });
};

export const parseId = (text: string) =>
  /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/.test(text)
    ? Buffer.from(text.replaceAll("-", ""), "hex")
    : undefined;

export const pieceBytes = 2 ** 20;
/** The number of the first piece with spans. A body of 512 MiB has fewer pieces. */
export const firstSpanPiece = 2 ** 10;
export const spanBytes = 16;

export const encodeSpans = (spans: readonly TrajectorySpan[]) => {
  const bytes = Buffer.allocUnsafe(spans.length * spanBytes);
  let [at, position] = [0, 0];
  for (const [index, { group, start, end }] of spans.entries()) {
    position = spans[index - 1]?.group === group ? position + 1 : 0;
    for (const value of [group, position, start, end]) at = bytes.writeUInt32LE(value, at);
  }
  return bytes;
};

export const decodeSpan = (bytes: Uint8Array): (TrajectorySpan & { position: number }) | undefined => {
  if (bytes.length < spanBytes) return undefined;
  const encoded = toBuffer(bytes);
  const [group = 0, position = 0, start = 0, end = 0] = [0, 4, 8, 12].map((at) => encoded.readUInt32LE(at));
  return { group, position, start, end };
};
