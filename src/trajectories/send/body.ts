/** The body of a request: ranges of the input, spliced as they stand, streamed in chunks and held against their checksums. */
import { crc32 } from "node:zlib";
import type { StreamedBody } from "../../client/index.ts";
import { Failure } from "../../failure.ts";
import { groupClosing, groupOpening } from "../parts/group.ts";
import type { Reading } from "../read/read.ts";
import { BodyMemory, Chunk, Windows } from "./body-memory.ts";
import type { Frame, PlannedRequest } from "./plan.ts";

/** What a body is made of, and the memory that it goes through. */
interface BodyOptions {
  readonly frame: Frame;
  readonly request: PlannedRequest;
  /** What other requests left to be used again. */
  readonly memory?: BodyMemory;
}

/** The body of a planned request; it can be streamed as often as it is tried. */
export const bodyOf = (reading: Reading, options: BodyOptions): StreamedBody => ({
  length: options.request.bytes,
  chunks: () => chunksOf(reading, options),
});

/** @throws Failure `input-changed` before the last byte, where what is read is not what was checked */
async function* chunksOf(
  reading: Reading,
  { frame, request, memory = new BodyMemory() }: BodyOptions,
): AsyncGenerator<Uint8Array, void> {
  const { sources } = reading;
  const { parts } = reading.found;
  const buffers = memory.take();
  const chunk = new Chunk(buffers.chunk);
  const windows = new Windows(buffers, endOf(reading, request));
  for (const piece of piecesOf(reading, frame, request)) {
    if (typeof piece !== "number") {
      for (let taken = chunk.add(piece); taken < piece.length; taken += chunk.add(piece, taken)) yield chunk.full();
      continue;
    }
    const source = sources[parts.sourceOf(piece)];
    if (source === undefined) throw new RangeError(`no source ${parts.sourceOf(piece)}`);
    let from = parts.startOf(piece);
    let sum = 0;
    for (const end = from + parts.lengthOf(piece); from < end; ) {
      if (!windows.holds(source, from)) await windows.moveTo(source, { from, end });
      const bytes = windows.bytes(from, end);
      sum = crc32(bytes, sum);
      from += bytes.length;
      // All of a part is read before the last of it leaves, so that a changed file can't be sent whole.
      if (bytes.length === 0 || (from === end && sum !== parts.checksumOf(piece))) {
        throw new Failure("input-changed", { file: source.name });
      }
      for (let taken = chunk.add(bytes); taken < bytes.length; taken += chunk.add(bytes, taken)) yield chunk.full();
    }
  }
  yield chunk.full();
  await windows.finished();
  // Only here: whoever broke off may still be sending the last chunk that was asked for.
  memory.give(buffers);
}

const comma = Buffer.from(",");

/** What a body is made of, in turn: bytes of its own, and positions of parts. */
function* piecesOf({ groups, found: { parts } }: Reading, frame: Frame, request: PlannedRequest) {
  yield frame.opening;
  for (let position = 0; position < request.groups.length; position++) {
    const own = groups.partsOf(request.groups[position] ?? 0);
    const bare = parts.kindOf(own[0] ?? 0) === "trajectory";
    if (position > 0) yield comma;
    if (bare) yield groupOpening;
    for (let at = 0; at < own.length; at++) {
      if (at > 0) yield comma;
      yield own[at] ?? 0;
    }
    if (bare) yield groupClosing;
  }
  yield frame.closing;
}

/** Where the last part of a request ends in its source: nothing is read ahead beyond. */
const endOf = ({ groups, found: { parts } }: Reading, request: PlannedRequest): number => {
  const last = groups.partsOf(request.groups.at(-1) ?? 0).at(-1) ?? 0;
  return parts.startOf(last) + parts.lengthOf(last);
};
