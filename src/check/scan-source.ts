/** Reads a source to its end: alone, or, where it is large, with other threads. */

import type { Found } from "../groups/parts/found.ts";
import { type Bytes, blocksOf, type Lines, Shrunk, type Source, textStart } from "../input/index.ts";
import { markLength, skipWhite } from "../json/walk.ts";
import { Scan, type ScanOptions } from "./scan.ts";
import { haveSmallNursery, leastBytesToShare, type Sharing, scanShared, sharingHere } from "./sharing.ts";

/** How a source is read. */
interface SourceOptions extends ScanOptions {
  /** How a large one is shared among threads; as suits the machine where nothing is said. */
  readonly sharing?: Sharing | undefined;
  /** What this thread does while others begin to read. */
  readonly meanwhile?: (() => Promise<void>) | undefined;
  /** What a source that is read at once is read into. */
  readonly room: Buffer;
  /** Told how many bytes of the source were read, and what was found so far. */
  readonly onRead: (bytes: number, found: Found) => void;
}

/** The largest source that is read at once: smaller than what reading it block by block costs. */
const smallBytes = 2 ** 18;

/** Whether a source is so small that it is read at once. */
export const isReadAtOnce = ({ bytes }: Source, sharing?: Sharing): boolean =>
  bytes.size <= smallBytes && bytes.size < (sharing?.leastBytes ?? leastBytesToShare);

/** Room for a source that is read at once: the next one is read into it too. */
export const roomForSmall = (): Buffer => Buffer.allocUnsafeSlow(smallBytes);

const scanSmall = async (scan: Scan, source: Bytes, room: Buffer): Promise<void> => {
  const bytes = room.subarray(0, source.size);
  if (source.readNow(bytes, 0) < bytes.length) throw new Shrunk();
  const start = markLength(bytes);
  const block: Lines = { kind: "lines", bytes: bytes.subarray(start), start, last: true };
  if (scan.isDocument(block)) await scan.takeDocument(start);
  else scan.takeLines(block);
};

/** Reads a source to its end. @throws Shrunk; the signal's reason */
export const scanSource = async (
  source: Source,
  { sharing, meanwhile, onRead, room, ...own }: SourceOptions,
): Promise<Found> => {
  const { bytes } = source;
  const scan = new Scan(source, own);
  if (isReadAtOnce(source, sharing)) {
    await scanSmall(scan, bytes, room);
    own.signal.throwIfAborted();
    onRead(bytes.size, scan.found);
    return scan.found;
  }
  haveSmallNursery();
  const start = await textStart(source.bytes);
  const shared = bytes.descriptor === undefined ? undefined : (sharing ?? sharingHere(bytes.size));
  let at = start;
  if (shared !== undefined && bytes.size - start >= shared.leastBytes && (await beginsWithLine(source, scan, start))) {
    const onRange = ({ end, ...range }: { readonly end: number } & Parameters<Scan["takeRange"]>[0]): void => {
      scan.takeRange(range);
      onRead(end, scan.found);
    };
    at = await scanShared(source, { ...own, sharing: shared, meanwhile, start, onRange });
  }
  if (at < bytes.size || bytes.size === start) {
    await scanAlone({ scan, source, onRead, signal: own.signal, start: at });
  }
  onRead(bytes.size, scan.found);
  return scan.found;
};

/** Whether the first block holds a line, and is not the beginning of one document. */
const beginsWithLine = async ({ bytes }: Source, scan: Scan, start: number): Promise<boolean> => {
  for await (const block of blocksOf(bytes, { start, end: bytes.size })) {
    return block.kind === "lines" && skipWhite(block.bytes, 0) < block.bytes.length && !scan.isDocument(block);
  }
  return false;
};

/** Reads on to the end. */
const scanAlone = async ({
  scan,
  source: { bytes },
  start,
  signal,
  onRead,
}: Pick<SourceOptions, "signal" | "onRead"> & {
  readonly scan: Scan;
  readonly source: Source;
  readonly start: number;
}): Promise<void> => {
  for await (const block of blocksOf(bytes, { start, end: bytes.size })) {
    signal.throwIfAborted();
    if (scan.isDocument(block)) {
      await scan.takeDocument(start);
      break;
    }
    await scan.take(block);
    onRead(block.start, scan.found);
  }
};
