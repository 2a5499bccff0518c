/** Finds duplicates: trajectories of a reading, and groups that another reading has too. */
import { hash } from "node:crypto";
import { lineText, type Path } from "../check/rules/places.ts";
import { readRange } from "../input/index.ts";
import { partOf, trajectorySpans } from "./contents.ts";
import { type Column, DigestTable } from "./parts/column.ts";
import type { Parts } from "./parts/parts.ts";
import { type GroupsRead, locatingInOrder, placeOfPart, reportOfGroup, spotOfGroup } from "./positions.ts";

/** Bytes that are read again at most to tell trajectories apart that have the same fingerprint. */
const maxReadAgain = 2 ** 26;

/** A trajectory: its part, and its position in the part. */
interface Placed {
  readonly part: number;
  readonly at: number;
}

/** Reports trajectories that come twice: equal fingerprints, then equal bytes. @throws the signal's reason */
export const reportTwice = async (read: GroupsRead, signal?: AbortSignal): Promise<void> => {
  const { groups, found } = read;
  const { parts } = found;
  const inOrder = { ...read, find: locatingInOrder() };
  const pathOf = ({ part, at }: Placed): Path => (parts.kindOf(part) === "group" ? ["trajectories", at] : []);
  const firsts = new Map<string, Placed>();
  let bytesRead = 0;
  let digests: { readonly part: number; readonly all: readonly string[] } | undefined;
  for (const again of repeatedIn(parts)) {
    const { part, at } = again;
    const group = groups.groupOf(part);
    if (!groups.isValid(group)) continue;
    if (digests?.part !== part) {
      signal?.throwIfAborted();
      bytesRead += parts.columns.length.at(part);
      if (bytesRead > maxReadAgain) return;
      // If the file changed meanwhile, none of it comes twice.
      digests = { part, all: await digestsIn(read, part).catch(() => []) };
    }
    const digest = digests.all[at];
    const first = digest === undefined ? undefined : firsts.get(digest);
    if (first !== undefined) {
      const place = [lineText(placeOfPart(read, first.part)), pathOf(first).join(".")].filter((text) => text !== "");
      const data = { place: place.join(", ") };
      await reportOfGroup(inOrder, "trajectory-twice", { data, group, part, path: pathOf(again) });
    } else if (digest !== undefined) firsts.set(digest, again);
  }
};

/** Trajectories with a fingerprint that another one has too, in their order. */
function* repeatedIn(parts: Parts): Generator<Placed, void> {
  const { prints } = parts;
  const repeated = repeatedAmong(prints);
  let first = 0;
  for (let part = 0; repeated.size > 0 && part < parts.count; part++) {
    const count = parts.columns.trajectories.at(part);
    for (let at = 0; at < count; at++) if (repeated.has(prints.at(first + at))) yield { part, at };
    first += count;
  }
}

/** Numbers that occur more than once, and are not 0: a hash table, half of which is empty, is filled faster than they are sorted. */
const repeatedAmong = (prints: Column): ReadonlySet<number> => {
  const repeated = new Set<number>();
  const bits = 33 - Math.clz32(prints.length);
  const slots = new Uint32Array(2 ** bits);
  for (let at = 0; at < prints.length; at++) {
    const print = prints.at(at);
    let slot = Math.imul(print, 0x9e3779b1) >>> (32 - bits);
    while (slots[slot] !== 0 && slots[slot] !== print) slot = (slot + 1) & (slots.length - 1);
    if (slots[slot] === print && print !== 0) repeated.add(print);
    slots[slot] = print;
  }
  return repeated;
};

const digestsIn = async (read: GroupsRead, position: number): Promise<readonly string[]> => {
  const own = partOf(read, position);
  if (own === undefined) return [];
  const bytes = await readRange(own.source.bytes, own.part);
  return trajectorySpans(bytes, own.part).map(({ start, end }) => hash("sha256", bytes.subarray(start, end)));
};

/** Reports groups of a reading that are, byte for byte, groups of another. */
export const reportAgainst = async (read: GroupsRead, other: GroupsRead): Promise<void> => {
  const theirs = other.groups.digests();
  const table = new DigestTable(theirs, theirs.count);
  // Of equal groups there the last one is named.
  for (let group = theirs.count - 1; group >= 0; group--) table.add(group);
  const ours = read.groups.digests();
  for (let group = 0; group < ours.count; group++) {
    const same = table.find(ours.at(group));
    if (same === undefined) continue;
    await reportOfGroup(read, "group-in-both", { data: { place: lineText(spotOfGroup(other, same)) }, group });
  }
};
