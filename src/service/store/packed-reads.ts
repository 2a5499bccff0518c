/** Reads what the store packed: where the calls of a request stand in its body, and parts of that. */
import type { Database } from "../../database/index.ts";
import type { Span } from "../../json/walk.ts";
import { mostPieces, type PackedCalls, pieceBytes } from "./packed-calls.ts";

/** Reads where the calls of a request stand: whoever reads one of them reads others, and what was logged does not change. */
export const packedReader = (database: Database): ((request: number) => PackedCalls) => {
  const ofRequest = database.prepare("SELECT ids, places FROM logged WHERE request = ?");
  let last: (PackedCalls & { readonly request: number }) | undefined;
  return (request) => {
    if (last?.request === request) return last;
    const row = ofRequest.get(request);
    const [ids, places] = [row?.bytes("ids") ?? new Uint8Array(), row?.bytes("places") ?? new Uint8Array()];
    last = { request, ids, places };
    return last;
  };
};

/** Reads a part of a request's body out of the pieces that it is stored in. */
export const bodyReader = (database: Database): ((request: number, part: Span) => Uint8Array) => {
  const piece = database.prepare("SELECT substr(bytes, ? + 1, ?) AS bytes FROM bodies WHERE piece = ?");
  return (request, { start, end }) => {
    const pieces: Uint8Array[] = [];
    for (let at = start; at < end; ) {
      const from = at % pieceBytes;
      const length = Math.min(end - at, pieceBytes - from);
      const row = piece.get(from, length, request * mostPieces + Math.floor(at / pieceBytes));
      pieces.push(row?.bytes("bytes") ?? new Uint8Array());
      at += length;
    }
    return Buffer.concat(pieces);
  };
};
