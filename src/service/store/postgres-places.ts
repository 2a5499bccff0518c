/** Where the calls of a request stand in its body, as PostgreSQL keeps it: in pieces, of which one has the calls of a millisecond. */
import type { TrajectorySpan } from "../log-request.ts";
import { idsPerMs, mostPieces } from "./packed-calls.ts";

/** Bytes of a place: its group, its position in that, its start and its end, four each, the lowest first. */
export const placeBytes = 16;

/** Places of a piece. */
export const placesPerPiece = idsPerMs;

/** The number of the first piece with places: they stand behind those of the body. */
export const firstOfPlaces = mostPieces;

/** Places side by side. */
export const packed = (places: readonly TrajectorySpan[]): Uint8Array => {
  const bytes = Buffer.allocUnsafe(places.length * placeBytes);
  let at = 0;
  let position = 0;
  for (const [index, { group, start, end }] of places.entries()) {
    position = places[index - 1]?.group === group ? position + 1 : 0;
    for (const value of [group, position, start, end]) at = bytes.writeUInt32LE(value, at);
  }
  return bytes;
};

/** A place as it is stored; undefined where there is none. */
export const placeOf = (bytes: Uint8Array): (TrajectorySpan & { readonly position: number }) | undefined => {
  if (bytes.length < placeBytes) return undefined;
  const place = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  const [group = 0, position = 0, start = 0, end = 0] = [0, 4, 8, 12].map((at) => place.readUInt32LE(at));
  return { group, position, start, end };
};
