/** Compares the bytes of converted groups, because their dedup keys do not depend on these bytes. */
import { crc32 } from "node:zlib";
import { getPart, type IndexedGroups, readPartStart } from "./locate.ts";

/** Returns `contentBytes` bytes for each group. Returns no bytes if no group was converted. */
export const collectContents = (dataset: IndexedGroups, chosen: ArrayLike<number>) => {
  const { sources, scan, groups } = dataset;
  const { source, checksum, length } = scan.parts.columns;
  const contents = new Uint32Array(sources.some(({ originals }) => originals) ? 2 * chosen.length : 0);
  for (let at = 0; 2 * at < contents.length; at++) {
    const group = chosen[at] ?? 0;
    const part = groups.firstOf(group);
    if (!sources[source.at(part)]?.originals || groups.isBare(group)) continue;
    const hash = scan.parts.subsets.has(part) ? crc32(readPartStart(getPart(dataset, part))) : checksum.at(part);
    contents.set([hash, length.at(part)], 2 * at);
  }
  return new Uint8Array(contents.buffer);
};

/** Returns false if the earlier bytes of the group are unknown, or if the group is not converted. */
export const hasOtherContent = (dataset: IndexedGroups, group: number, earlier: Uint8Array) => {
  const content = collectContents(dataset, [group]);
  return [earlier, content].every((bytes) => bytes.some((byte) => byte > 0)) && Buffer.compare(earlier, content) !== 0;
};
