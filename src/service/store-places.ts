/** How a request is packed: its body in pieces, the places of its calls side by side, and names as JSON. */
import { idBytes } from "./identifier.ts";
import type { TrajectorySpan } from "./spans.ts";

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
