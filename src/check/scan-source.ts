/** Reads a source to its end, with other threads if it is large. */

import type { Found } from "../groups/parts/found.ts";
import { type Bytes, firstFrame, frames, isBlank, Shrunk, type Source, textStart } from "../input/index.ts";
import { markLength } from "../json/walk.ts";
import { Scan, type ScanOptions } from "./scan.ts";
import { haveSmallNursery, minSharedBytes, type Sharing, scanShared, sharingHere } from "./sharing.ts";

/** How a source is read. */
interface SourceOptions extends ScanOptions {
  /** How a large source is shared among threads. Default: as suits the machine. */
  readonly sharing?: Sharing | undefined;
  /** What this thread does while others begin to read. */
  readonly meanwhile?: (() => Promise<void>) | undefined;
  /** Called with the number of bytes that were read, and with what was found so far. */
  readonly onRead: (bytes: number, found: Found) => void;
}

/** Bytes of the largest source that is read at once, and whose rewards are all kept to find the outlying ones. */
const maxSmallBytes = 2 ** 18;

/** True if a source is small, and not shared among threads. */
export const isSmallSource = ({ bytes }: Source, sharing?: Sharing): boolean =>
  bytes.size <= maxSmallBytes && bytes.size < (sharing?.leastBytes ?? minSharedBytes);

/** Reads a source to its end. @throws Shrunk; the signal's reason */
export const scanSource = async (
  source: Source,
  { sharing, meanwhile, onRead, ...own }: SourceOptions,
): Promise<Found> => {
  const { bytes } = source;
  const scan = new Scan(source, own);
  if (isSmallSource(source, sharing)) {
    // Read without waiting, so that its problems are printed before anything else happens.
    const all = Buffer.allocUnsafe(bytes.size);
    if (bytes.readNow(all, 0) < all.length) throw new Shrunk();
    const start = markLength(all);
    const frame = firstFrame({ kind: "lines", bytes: all.subarray(start), start, last: true }, bytes.size);
    if (frame.kind === "lines") scan.takeLines(frame);
    else await scan.take(frame);
    own.signal.throwIfAborted();
    onRead(bytes.size, scan.found);
    return scan.found;
  }
  haveSmallNursery();
  const start = await textStart(bytes);
  const isShared = bytes.descriptor !== undefined && bytes.size >= (sharing?.leastBytes ?? minSharedBytes);
  const shared = isShared ? (sharing ?? sharingHere(bytes.size)) : undefined;
  let at = start;
  if (shared !== undefined && (await beginsWithLine(bytes, start))) {
    const onRange = ({ end, ...range }: { readonly end: number } & Parameters<Scan["takeRange"]>[0]): void => {
      scan.takeRange(range);
      onRead(end, scan.found);
    };
    at = await scanShared(source, { ...own, sharing: shared, meanwhile, start, onRange });
  }
  for await (const frame of frames(bytes, { start: at, isBegun: at > start })) {
    own.signal.throwIfAborted();
    await scan.take(frame);
    onRead(frame.start, scan.found);
  }
  onRead(bytes.size, scan.found);
  return scan.found;
};

/** True if the first block contains a line, and is not the beginning of one document. */
const beginsWithLine = async (bytes: Bytes, start: number): Promise<boolean> => {
  for await (const frame of frames(bytes, { start, isBegun: false })) {
    return frame.kind === "lines" && !isBlank(frame.bytes);
  }
  return false;
};
