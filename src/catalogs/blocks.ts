/** Cuts a catalog's bytes into blocks of whole entries, so that one changed model changes one block of what is kept. */
import { crc32 } from "node:zlib";
import { elements, members, openBracket, type Span, skipWhite } from "../json/walk.ts";

/** About this many entries stand in a block: fewer compress worse, and more are kept again for every change. */
const entriesOfBlock = 32;

/** And never more bytes than this, which bounds what one row holds. */
const mostBytes = 2 ** 20;

/**
 * The blocks of a catalog; one after the other they are its bytes. Where a block ends is decided by an entry's first
 * bytes, which hold its id: an entry that comes, goes or changes moves no other block's end.
 */
export function* blocksOf(bytes: Uint8Array): Generator<Uint8Array, void> {
  let from = 0;
  for (const { start, end } of entriesIn(bytes)) {
    const ends = crc32(bytes.subarray(start, Math.min(end, start + idBytes))) % entriesOfBlock === 0;
    if (!ends && end - from < mostBytes) continue;
    yield bytes.subarray(from, end);
    from = end;
  }
  if (from < bytes.length) yield bytes.subarray(from);
}

/** Bytes of an entry that its id stands in, as services write it. */
const idBytes = 48;

function* entriesIn(bytes: Uint8Array): Generator<Span, void> {
  const data = [...members(bytes, skipWhite(bytes, 0))].findLast(({ key }) => key === "data");
  if (data !== undefined && bytes[data.value.start] === openBracket) yield* elements(bytes, data.value.start);
}
