/** Finds what comes twice: trajectories, and groups that another reading has too. */
import { hash } from "node:crypto";
import { lineText } from "../check/rules/places.ts";
import { readRange } from "../input/index.ts";
import { partOf, trajectorySpans } from "./contents.ts";
import { DigestTable } from "./parts/digests.ts";
import type { Parts } from "./parts/parts.ts";
import { type GroupsRead, locatingInOrder, placeOfPart, reportOfGroup, spotOfGroup } from "./positions.ts";

/** Bytes that are read again at most to tell trajectories apart that look alike. */
const maxReadAgain = 2 ** 26;

/** A trajectory that looks like another. */
interface Alike {
  readonly part: number;
  /** Position in the part. */
  readonly at: number;
}

/** Reports trajectories that come twice: equal fingerprints, then equal bytes. @throws the signal's reason */
export const reportTwice = async (read: GroupsRead, signal?: AbortSignal): Promise<void> => {
  const { groups, found } = read;
  const { parts } = found;
  const inOrder = { ...read, find: locatingInOrder() };
  const firsts = new Map<string, Alike>();
  let bytesRead = 0;
  let digests: { readonly part: number; readonly of: readonly string[] } | undefined;
  for (const again of alikeIn(parts)) {
    const { part, at } = again;
    const group = groups.groupOf(part);
    if (!groups.isValid(group)) continue;
    if (digests?.part !== part) {
      signal?.throwIfAborted();
      bytesRead += parts.columns.length.at(part);
      if (bytesRead > maxReadAgain) return;
      digests = { part, of: await digestsIn(read, part) };
    }
    const digest = digests.of[at];
    if (digest === undefined) continue;
    const first = firsts.get(digest);
    if (first === undefined) firsts.set(digest, again);
    else {
      const inside = pathIn(parts, first).join(".");
      const data = { place: `${lineText(placeOfPart(read, first.part))}${inside === "" ? "" : `, ${inside}`}` };
      await reportOfGroup(inOrder, "trajectory-twice", { data, group, part, path: pathIn(parts, again) });
    }
  }
};

const pathIn = (parts: Parts, { part, at }: Alike): readonly (string | number)[] =>
  parts.kindOf(part) === "group" ? ["trajectories", at] : [];

/** Trajectories whose fingerprint another has too, in their order. */
function* alikeIn(parts: Parts): Generator<Alike, void> {
  const repeated = repeatedIn(parts);
  let first = 0;
  for (let part = 0; repeated.size > 0 && part < parts.count; part++) {
    const count = parts.columns.trajectories.at(part);
    for (let at = 0; at < count; at++) if (repeated.has(parts.prints.at(first + at))) yield { part, at };
    first += count;
  }
}

/** Fingerprints that come more than once; 0 is none. */
const repeatedIn = ({ prints }: Parts): ReadonlySet<number> => {
  const repeated = new Set<number>();
  const sorted = prints.values().sort();
  for (let at = 1; at < sorted.length; at++) {
    const print = sorted[at] ?? 0;
    if (print === sorted[at - 1] && print !== 0) repeated.add(print);
  }
  return repeated;
};

/** Digests of the bytes of a part's trajectories; none if the file changed meanwhile. */
const digestsIn = async (read: GroupsRead, position: number): Promise<readonly string[]> => {
  const own = partOf(read, position);
  try {
    if (own === undefined) return [];
    const bytes = await readRange(own.source.bytes, own.part);
    const spans = own.part.kind === "group" ? trajectorySpans(bytes) : [{ start: 0, end: bytes.length }];
    return spans.map(({ start, end }) => hash("sha256", bytes.subarray(start, end)));
  } catch {
    return [];
  }
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
