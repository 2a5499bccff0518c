/** Compares the bytes of converted groups, because their dedup keys do not depend on these bytes. */
import type { IndexedGroups } from "./locate.ts";

/** Returns `contentBytes` bytes for each group. Returns no bytes if no group was converted. */
export const collectContents = ({ sources, scan, groups }: IndexedGroups, chosen: ArrayLike<number>) => {
  const { source, checksum, length } = scan.parts.columns;
  const contents = new Uint32Array(sources.some(({ originals }) => originals) ? 2 * chosen.length : 0);
  for (let at = 0; 2 * at < contents.length; at++) {
    const group = chosen[at] ?? 0;
    const part = groups.firstOf(group);
    if (!sources[source.at(part)]?.originals || groups.isBare(group)) continue;
    contents.set([checksum.at(part), length.at(part)], 2 * at);
  }
  return new Uint8Array(contents.buffer);
};

/** Returns false if the earlier bytes of the group are unknown. */
export const hasOtherContent = (dataset: IndexedGroups, group: number, earlier: Uint8Array) =>
  earlier.some((byte) => byte > 0) && Buffer.compare(earlier, collectContents(dataset, [group])) !== 0;
