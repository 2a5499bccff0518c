/** Reads a source to its end: alone, or, where it is large, with other threads. */

import type { Found } from "../../groups/parts/found.ts";
import { blocksOf, type Lines, textStart } from "../../input/lines.ts";
import { type Bytes, Shrunk, type Source } from "../../input/source.ts";
import { markLength, skipWhite } from "../../json/walk.ts";
import { compileKernel, type Kernel, type KernelModule, kernelOnce } from "../kernel/kernel.ts";
import { Scan, type ScanOptions } from "./scan.ts";
import { haveSmallNursery, leastBytesToShare, type Sharing, scanShared, sharingHere } from "./sharing.ts";

/** How a source is read. */
interface SourceOptions extends ScanOptions {
  /** The kernel, where there is enough to read for it; what is read by one thread is read by one kernel. */
  readonly module: KernelModule | undefined;
  /** How a large one is shared among threads; as suits the machine where nothing is said. */
  readonly sharing?: Sharing | undefined;
  /** What this thread does while others begin to read. */
  readonly meanwhile?: (() => Promise<void>) | undefined;
  /** What a source that is read at once is read into. */
  readonly room: Buffer;
  /** Told how many bytes of the source were read, and what was found so far. */
  readonly onRead: (bytes: number, found: Found) => void;
}

/** The smallest source whose lines the kernel takes: it is ready after a few milliseconds. */
const leastForKernel = 2 ** 18;

/** The smallest block of a growing file whose lines the kernel takes: what is there already comes in such blocks. */
const leastBlockForKernel = 2 ** 19;

/** The kernel for so many bytes of input; undefined where there are too few for it. */
export const kernelFor = (bytes: number): KernelModule | undefined => {
  if (bytes < leastForKernel) return undefined;
  haveSmallNursery();
  return compileKernel();
};

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

/** Opens the kernel for a growing file with the first block that is worth it. */
export const kernelForGrowing = (groupBy: string | undefined): ((bytes?: number) => Kernel | undefined) => {
  let open: (() => Kernel | undefined) | undefined;
  return (bytes = 0) => {
    if (bytes < leastBlockForKernel) return undefined;
    open ??= kernelOnce(compileKernel(), groupBy);
    return open();
  };
};

/** Reads a source to its end; what the kernel sums up of one that is read at once is left to be settled. @throws Shrunk; the signal's reason */
export const scanSource = async (
  source: Source,
  { sharing, meanwhile, onRead, module, room, ...own }: SourceOptions,
): Promise<Found> => {
  const { bytes } = source;
  const scan = new Scan(source, own);
  if (isReadAtOnce(source, sharing)) {
    await scanSmall(scan, bytes, room);
    own.signal.throwIfAborted();
    onRead(bytes.size, scan.found);
    return scan.found;
  }
  const start = await textStart(source.bytes);
  const shared = bytes.descriptor === undefined ? undefined : (sharing ?? sharingHere(bytes.size));
  let at = start;
  if (shared !== undefined && bytes.size - start >= shared.leastBytes && (await beginsWithLine(source, scan, start))) {
    const onRange = ({ end, ...range }: { readonly end: number } & Parameters<Scan["takeRange"]>[0]): void => {
      scan.takeRange(range);
      onRead(end, scan.found);
    };
    at = await scanShared(source, { ...own, module, sharing: shared, meanwhile, start, onRange });
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
  scan.settle();
};
