/** Reads a source to its end: alone, or, where it is large, with other threads. */
import type { Found } from "./found.ts";
import { Kernel } from "./kernel.ts";
import { compileKernel } from "./kernel-module.ts";
import { blocksOf } from "./lines.ts";
import { haveSmallNursery } from "./nursery.ts";
import { byteOrderMark, longestText, Scan, type ScanOptions } from "./scan.ts";
import { type Sharing, scanShared, sharingHere } from "./sharing.ts";
import type { Source } from "./source.ts";

/** How a source is read. */
export interface SourceOptions extends ScanOptions {
  /** How a large one is shared among threads; as suits the machine where nothing is said. */
  readonly sharing?: Sharing | undefined;
  /** Told how many bytes of the source were read, and what was found so far. */
  readonly onRead: (bytes: number, found: Found) => void;
}

/** The smallest source whose lines the kernel takes: it is ready after a few milliseconds. */
const leastForKernel = 2 ** 21;

/** Reads a source to its end. @throws Shrunk; the signal's reason */
export const scanSource = async (source: Source, { sharing, onRead, ...options }: SourceOptions): Promise<Found> => {
  const { bytes } = source;
  if (bytes.size >= leastForKernel) haveSmallNursery();
  const module = bytes.size < leastForKernel ? undefined : compileKernel();
  const kernel = module === undefined ? undefined : Kernel.open(module, options.groupBy);
  const scan = new Scan(source, { ...options, kernel });
  const start = await textStart(source);
  const alone = { scan, source, onRead, signal: options.signal };
  const shared = bytes.descriptor === undefined ? undefined : (sharing ?? sharingHere(bytes.size));
  let at = start;
  if (shared !== undefined && bytes.size - start >= shared.leastBytes) {
    // The first block is read alone: it says whether these are lines.
    at = await scanAlone({ ...alone, start, firstOnly: true });
    const onRange = ({ end, ...range }: { readonly end: number } & Parameters<Scan["takeRange"]>[0]): void => {
      scan.takeRange(range);
      onRead(end, scan.found);
    };
    if (at < bytes.size)
      at = await scanShared(source, { ...options, kernel, module, sharing: shared, start: at, onRange });
  }
  if (at < bytes.size || bytes.size === start) await scanAlone({ ...alone, start: at, firstOnly: false });
  onRead(bytes.size, scan.found);
  return scan.found;
};

/** Offset behind a byte order mark. */
export const textStart = async ({ bytes }: Source): Promise<number> => {
  const head = Buffer.alloc(byteOrderMark.length);
  await bytes.read(head, 0);
  return byteOrderMark.every((byte, at) => head[at] === byte) ? byteOrderMark.length : 0;
};

/** Reads on to the end, or to that of the first block that is not blank; gives the offset up to which it was read. */
const scanAlone = async ({
  scan,
  source: { bytes },
  start,
  firstOnly,
  signal,
  onRead,
}: Pick<SourceOptions, "signal" | "onRead"> & {
  readonly scan: Scan;
  readonly source: Source;
  readonly start: number;
  readonly firstOnly: boolean;
}): Promise<number> => {
  for await (const block of blocksOf(bytes, { start, end: bytes.size, longest: longestText })) {
    signal.throwIfAborted();
    if (scan.isDocument(block)) {
      await scan.takeDocument(start);
      break;
    }
    scan.takeBlock(block);
    onRead(block.start, scan.found);
    if (firstOnly && scan.begun && block.kind === "lines") {
      scan.settle();
      return block.start + block.bytes.length;
    }
  }
  scan.settle();
  return bytes.size;
};
