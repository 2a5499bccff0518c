/** Reads a source to its end: alone, or, where it is large, with other threads. */

import { skipWhite } from "../../../json/walk.ts";
import { blocksOf } from "../../input/lines.ts";
import type { Source } from "../../input/source.ts";
import { compileKernel, type Kernel, kernelOnce } from "../kernel/kernel.ts";
import type { Found } from "../parts/found.ts";
import { byteOrderMark, longestText, Scan, type ScanOptions } from "./scan.ts";
import { haveSmallNursery, type Sharing, scanShared, sharingHere } from "./sharing.ts";

/** How a source is read. */
interface SourceOptions extends ScanOptions {
  /** How a large one is shared among threads; as suits the machine where nothing is said. */
  readonly sharing?: Sharing | undefined;
  /** What this thread does while others begin to read. */
  readonly meanwhile?: (() => Promise<void>) | undefined;
  /** Told how many bytes of the source were read, and what was found so far. */
  readonly onRead: (bytes: number, found: Found) => void;
}

/** The smallest source whose lines the kernel takes: it is ready after a few milliseconds. */
const leastForKernel = 2 ** 18;

/** The smallest block of a growing file whose lines the kernel takes: what is there already comes in such blocks. */
const leastBlockForKernel = 2 ** 19;

/** Opens the kernel for a growing file with the first block that is worth it. */
export const kernelForGrowing = (groupBy: string | undefined): ((bytes?: number) => Kernel | undefined) => {
  let open: (() => Kernel | undefined) | undefined;
  return (bytes = 0) => {
    if (bytes < leastBlockForKernel) return undefined;
    open ??= kernelOnce(compileKernel(), groupBy);
    return open();
  };
};

/** Reads a source to its end. @throws Shrunk; the signal's reason */
export const scanSource = async (
  source: Source,
  { sharing, meanwhile, onRead, ...options }: SourceOptions,
): Promise<Found> => {
  const { bytes } = source;
  if (bytes.size >= leastForKernel) haveSmallNursery();
  const module = bytes.size < leastForKernel ? undefined : compileKernel();
  const own = { ...options, kernel: kernelOnce(module, options.groupBy) };
  const scan = new Scan(source, own);
  const start = await textStart(source);
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
    await scanAlone({ scan, source, onRead, signal: options.signal, start: at });
  }
  onRead(bytes.size, scan.found);
  return scan.found;
};

/** Offset behind a byte order mark. */
const textStart = async ({ bytes }: Source): Promise<number> => {
  const head = Buffer.alloc(byteOrderMark.length);
  await bytes.read(head, 0);
  return byteOrderMark.every((byte, at) => head[at] === byte) ? byteOrderMark.length : 0;
};

/** Whether the first block holds a line, and is not the beginning of one document. */
const beginsWithLine = async ({ bytes }: Source, scan: Scan, start: number): Promise<boolean> => {
  for await (const block of blocksOf(bytes, { start, end: bytes.size, longest: longestText })) {
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
  for await (const block of blocksOf(bytes, { start, end: bytes.size, longest: longestText })) {
    signal.throwIfAborted();
    if (scan.isDocument(block)) {
      await scan.takeDocument(start);
      break;
    }
    scan.takeBlock(block);
    onRead(block.start, scan.found);
  }
  scan.settle();
};
