/** How the store packs the calls of a request: identifiers (UUIDs of version 7, which sort by the time they were made) and places in its body, side by side. */
import { randomBytes } from "node:crypto";
import { closeBracket, comma, openBracket, quote } from "../../json/walk.ts";
import type { TrajectorySpan } from "../log-request.ts";

/** Bytes of an identifier. */
export const idBytes = 16;

/** How many counter values one millisecond has (RFC 9562, 6.2, method 1: 12 bits). */
export const idsPerMs = 4096;

const timeBytes = 6;

/** Where the random part of an identifier begins: that of a request's calls is the same. */
export const endOfId = 8;

/** The identifier of the first call of a request. `ms`: since 1970. */
export const firstId = (ms: number): Buffer => {
  const id = randomBytes(idBytes);
  id.writeUIntBE(ms, 0, timeBytes);
  id.writeUInt16BE(0x7000, timeBytes);
  id[endOfId] = ((id[endOfId] ?? 0) & 0x3f) | 0x80;
  return id;
};

/** The identifiers of a request's calls, counted on from the first one, side by side. */
export const idsFrom = (first: Uint8Array, count: number): Buffer => {
  const ids = Buffer.alloc(count * idBytes);
  const ms = timeOfId(first);
  for (let index = 0, at = 0; index < count; index++, at += idBytes) {
    ids.set(first, at);
    // The clock may be run ahead of where the counter overflows (RFC 9562, 6.2).
    ids.writeUIntBE(ms + Math.floor(index / idsPerMs), at, timeBytes);
    ids.writeUInt16BE(0x7000 + (index % idsPerMs), at + timeBytes);
  }
  return ids;
};

/** The time of an identifier: milliseconds since 1970. */
export const timeOfId = (id: Uint8Array): number =>
  Buffer.from(id.buffer, id.byteOffset, id.length).readUIntBE(0, timeBytes);

/** The time of an identifier, and what it counts in that. */
export const orderOfId = (id: Uint8Array): { readonly ms: number; readonly count: number } => ({
  ms: timeOfId(id),
  count: Buffer.from(id.buffer, id.byteOffset, id.length).readUInt16BE(timeBytes) - 0x7000,
});

/** The time of the last of so many identifiers. */
export const lastMsOf = (ms: number, count: number): number => ms + Math.floor(Math.max(0, count - 1) / idsPerMs);

/** The identifier as it is written; undefined where it is none that this service gives. */
export const parseId = (text: string): Buffer | undefined =>
  /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/.test(text)
    ? Buffer.from(text.replaceAll("-", ""), "hex")
    : undefined;

/** Identifiers as a JSON array of texts. */
export const idsText = (ids: Uint8Array): string => {
  const count = ids.length / idBytes;
  if (count === 0) return "[]";
  const text = Buffer.alloc(count * textBytes + 1);
  let at = 0;
  for (let index = 0; index < ids.length; index++) {
    const place = index % idBytes;
    if (place === 0) {
      text[at++] = index === 0 ? openBracket : comma;
      text[at++] = quote;
    } else if (place === 4 || place === 6 || place === 8 || place === 10) text[at++] = hyphen;
    const byte = ids[index] ?? 0;
    text[at++] = digits[byte >>> 4] ?? 0;
    text[at++] = digits[byte & 15] ?? 0;
    if (place === idBytes - 1) text[at++] = quote;
  }
  text[at] = closeBracket;
  return text.toString("latin1");
};

/** Identifiers, each as it is written. */
export const idList = (ids: Uint8Array): string[] => {
  const text = idsText(ids);
  return text === "[]" ? [] : text.slice(2, -2).split('","');
};

/** Bytes of an identifier in the array: its digits and hyphens, quotes, and what stands before it. */
const textBytes = 36 + 3;

const digits = Buffer.from("0123456789abcdef");
const hyphen = 0x2d;

/** Bytes of a piece of a body, and the most pieces that a body has: longer ones are no text in JavaScript. */
export const pieceBytes = 2 ** 20;
export const mostPieces = 2 ** 10;

/** Bytes of a place: its group, its start and its end, four each, the lowest first. */
const placeBytes = 12;

/** Packs places side by side. */
export const packPlaces = (places: readonly TrajectorySpan[]): Uint8Array => {
  const packed = Buffer.allocUnsafe(places.length * placeBytes);
  let at = 0;
  for (const { group, start, end } of places) {
    at = packed.writeUInt32LE(group, at);
    at = packed.writeUInt32LE(start, at);
    at = packed.writeUInt32LE(end, at);
  }
  return packed;
};

/** The calls of a request as they are stored: their identifiers, in ascending order, and their places, side by side. */
export interface PackedCalls {
  readonly ids: Uint8Array;
  readonly places: Uint8Array;
}

/** The place of a call, and its position in its group; undefined where the request has no such call. */
export const placeIn = (
  { ids, places }: PackedCalls,
  id: Uint8Array,
): (TrajectorySpan & { readonly position: number }) | undefined => {
  const index = indexOf(ids, id);
  if (index === undefined) return undefined;
  const packed = Buffer.from(places.buffer, places.byteOffset, places.length);
  const at = index * placeBytes;
  const group = packed.readUInt32LE(at);
  let first = index;
  while (first > 0 && packed.readUInt32LE((first - 1) * placeBytes) === group) first--;
  return { group, start: packed.readUInt32LE(at + 4), end: packed.readUInt32LE(at + 8), position: index - first };
};

const indexOf = (ids: Uint8Array, id: Uint8Array): number | undefined => {
  let low = 0;
  let high = ids.length / idBytes;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (Buffer.compare(ids.subarray(middle * idBytes, (middle + 1) * idBytes), id) < 0) low = middle + 1;
    else high = middle;
  }
  const isThere = Buffer.compare(ids.subarray(low * idBytes, (low + 1) * idBytes), id) === 0;
  return isThere ? low : undefined;
};

/** Names that people chose are kept as JSON: SQLite ends a text at a NUL, and has no lone surrogates. */
export const nameText = (name: string): string => JSON.stringify(name);

export const nameOf = (text: string): string => String(JSON.parse(text));
