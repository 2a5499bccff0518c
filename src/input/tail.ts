/** Follows a growing file, and detects rewrites. */
import { open } from "node:fs/promises";
import { setImmediate } from "node:timers/promises";
import { crc32 } from "node:zlib";
import { newline } from "../json/json-bytes.ts";
import { leadsTo } from "./names.ts";
import { sniffedBytes } from "./sniff.ts";
import { openDescriptorBytes, readHead, readRange, type Source } from "./source.ts";

const searchBytes = 2 ** 16;
const segmentBytes = 2 ** 18;

export type Tail = Awaited<ReturnType<typeof openTail>>;

/** Expects a regular file. The caller closes `source`. @throws the system's errors */
export const openTail = async (path: string, name: string) => {
  const file = await open(path, "r");
  const opened = await file.stat({ bigint: true });
  const bytes = openDescriptorBytes({ descriptor: file.fd, name, size: Number.MAX_SAFE_INTEGER });
  let position = 0;
  const segmentChecksums: number[] = [];
  let lastSegmentInTurn = 0;
  let lastComparedFacts = "";
  /** No newline is between `position` and this offset. */
  let searchedEnd = 0;
  let wasRewritten = false;

  /** Compares checksums of up to three segments: the first, the last, and one that changes with each call. */
  const isUnchanged = async () => {
    const { size, mtimeNs, ctimeNs } = await file.stat({ bigint: true });
    if (size < position) return false;
    const facts = `${size} ${mtimeNs} ${ctimeNs}`;
    if (facts === lastComparedFacts) return true;
    const count = segmentChecksums.length;
    lastSegmentInTurn = (lastSegmentInTurn + 1) % Math.max(1, count);
    for (const segment of count === 0 ? [] : new Set([count - 1, 0, lastSegmentInTurn])) {
      const start = segment * segmentBytes;
      const content = Buffer.alloc(Math.min(segmentBytes, position - start));
      const length = bytes.read(content, start);
      if (length < content.length || crc32(content) !== segmentChecksums[segment]) return false;
    }
    lastComparedFacts = facts;
    return true;
  };
  const source: Source = {
    name,
    bytes: {
      get size() {
        return wasRewritten ? 0 : position;
      },
      read: (into, at) => (wasRewritten ? 0 : bytes.read(into, at)),
      close: async () => await file.close(),
    },
    // After a detected rewrite, each read fails, so `touched` needs no comparison.
    touched: async () => !wasRewritten && !(await isUnchanged()),
  };
  const take = (lines: Uint8Array) => {
    for (let from = 0; from < lines.length; ) {
      const piece = lines.subarray(from, from + segmentBytes - (position % segmentBytes));
      const segment = Math.floor(position / segmentBytes);
      segmentChecksums[segment] = crc32(piece, segmentChecksums[segment] ?? 0);
      position += piece.length;
      from += piece.length;
    }
  };

  return {
    source,
    take,
    taken: () => position,
    head: () => readHead(bytes, sniffedBytes),
    async findCompleteEnd() {
      const { size } = await file.stat();
      const from = Math.max(position, searchedEnd);
      for (let end = size; end > from; end -= searchBytes) {
        const start = Math.max(from, end - searchBytes);
        const block = Buffer.alloc(end - start);
        await setImmediate();
        const at = block.subarray(0, bytes.read(block, start)).lastIndexOf(newline);
        if (at >= 0) return start + at + 1;
      }
      searchedEnd = Math.max(from, size);
      return position;
    },
    countUnfinished: async () => Math.max(0, (await file.stat()).size - position),
    /** @throws ShrunkSourceError */
    async skip(end: number) {
      while (position < end)
        take(await readRange(bytes, { start: position, length: Math.min(segmentBytes, end - position) }));
    },
    /** After a rewrite, `source` is empty. */
    async isRewritten() {
      wasRewritten ||= !(await isUnchanged());
      return wasRewritten;
    },
    // `leadsTo` returns undefined if the path does not exist.
    isMoved: () => leadsTo(path, opened) === false,
    isCurrent: () => leadsTo(path, opened) === true,
  };
};
