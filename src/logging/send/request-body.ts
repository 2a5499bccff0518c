/** Reads and checks the body of a request. */

import { setImmediate } from "node:timers/promises";
import { crc32 } from "node:zlib";
import { ReadWindow, windowBytes } from "../../rollouts/dataset/group-bytes.ts";
import { type GroupPart, getPart } from "../../rollouts/dataset/locate.ts";
import type { Dataset } from "../../rollouts/dataset/read-dataset.ts";
import { groupClosing, groupOpening } from "../../rollouts/index/groups.ts";
import { inputChanged } from "../../rollouts/rules/failures.ts";
import type { PlannedRequest, RequestEnvelope } from "./plan.ts";

/** Chunks of this size need few writes and fit in the processor's cache. */
const chunkBytes = 2 ** 19;

type BodyContents = { envelope: RequestEnvelope; request: PlannedRequest; maxChunkBytes?: number };

/** Each chunk is valid until the next. @throws Failure `input-changed` before the last chunk of a changed part */
export async function* composeBody(dataset: Dataset, { envelope, request, maxChunkBytes = chunkBytes }: BodyContents) {
  const chunk = Buffer.allocUnsafeSlow(Math.min(maxChunkBytes, request.bytes));
  const window = new ReadWindow(Buffer.allocUnsafeSlow(windowBytes));
  let filled = 0;
  for (const listed of listPieces(dataset.groups, { envelope, request })) {
    const piece = typeof listed === "number" ? getPart(dataset, listed) : listed;
    const length = "part" in piece ? piece.part.length : piece.length;
    if (filled + length > chunk.length && filled > 0) {
      yield chunk.subarray(0, filled);
      filled = 0;
    }
    if ("part" in piece && length > chunk.length) {
      yield* readLargePart(piece, window, chunk.length);
      continue;
    }
    if ("part" in piece && !window.hasPart(piece)) await setImmediate();
    const bytes = "part" in piece ? window.readPartNow(piece) : piece;
    if (length <= chunk.length) filled += bytes.copy(chunk, filled);
    else for (let at = 0; at < length; at += chunk.length) yield bytes.subarray(at, at + chunk.length);
  }
  yield chunk.subarray(0, filled);
}

/** @throws Failure `input-changed` if a part of the source changed */
export const verifySource = async (dataset: Dataset, source: number) => {
  const { parts } = dataset.scan;
  const window = new ReadWindow(Buffer.allocUnsafeSlow(windowBytes));
  for (let at = 0; at < parts.count; at++) {
    if (parts.columns.source.at(at) !== source) continue;
    for await (const _ of readLargePart(getPart(dataset, at), window, chunkBytes));
  }
};

/** Holds only `maxBytes` of the part in memory. @throws Failure `input-changed` before the last piece */
async function* readLargePart({ source, part }: GroupPart, window: ReadWindow, maxBytes: number) {
  const end = part.start + part.length;
  let checksum = 0;
  for (let from = part.start; from < end; from += maxBytes) {
    const wanted = Math.min(maxBytes, end - from);
    const bytes = await window.read(source, from, wanted);
    checksum = crc32(bytes, checksum);
    const isLast = from + wanted === end;
    if (bytes.length < wanted || (isLast && checksum !== part.checksum)) throw inputChanged(source.name);
    yield bytes;
  }
}

const comma = Buffer.from(",");

function* listPieces(groups: Dataset["groups"], { envelope, request }: BodyContents) {
  yield envelope.opening;
  for (const [at, group] of request.groups.entries()) {
    if (at > 0) yield comma;
    if (!groups.isBare(group)) {
      yield groups.firstOf(group);
      continue;
    }
    let opening = groupOpening;
    for (const part of groups.partsOf(group)) {
      yield opening;
      yield part;
      opening = comma;
    }
    yield groupClosing;
  }
  yield envelope.closing;
}
