/** Finds what comes twice: trajectories, and groups that another reading has too. */
import { hash } from "node:crypto";
import { lineText } from "../check/rules/places.ts";
import { placeOfLine, readRange } from "../input/source.ts";
import { trajectorySpans } from "./look.ts";
import type { Column } from "./parts/column.ts";
import type { Digests } from "./parts/digests.ts";
import type { Found } from "./parts/found.ts";
import { type GroupsRead, locatingInOrder, reportOfGroup, spotOfGroup } from "./whole.ts";

/** Bytes that are read again at most to tell trajectories that look alike apart. */
const mostReadAgain = 2 ** 26;

/** A trajectory that looks like another. */
interface Alike {
  readonly part: number;
  /** Position in the part. */
  readonly at: number;
}

/** Reports trajectories that come twice: prints tell which may be equal, their bytes tell which are. @throws the signal's reason */
export const reportTwice = async (whole: GroupsRead, signal?: AbortSignal): Promise<void> => {
  const { sources, found, groups } = whole;
  const inOrder = { sources, found, groups, find: locatingInOrder() };
  const firsts = new Map<string, Alike>();
  let read = 0;
  let digests: { readonly part: number; readonly of: readonly string[] } | undefined;
  for (const { part, at } of alikeOf(found)) {
    if (!groups.isValid(groups.groupOf(part))) continue;
    if (digests?.part !== part) {
      signal?.throwIfAborted();
      read += found.parts.columns.length.at(part);
      if (read > mostReadAgain) return;
      digests = { part, of: await digestsOf(whole, part) };
    }
    const digest = digests.of[at];
    if (digest === undefined) continue;
    const first = firsts.get(digest);
    if (first === undefined) firsts.set(digest, { part, at });
    else await reportPair(inOrder, { first, again: { part, at }, group: groups.groupOf(part) });
  }
};

const reportPair = async (
  whole: GroupsRead,
  { first, again, group }: { readonly first: Alike; readonly again: Alike; readonly group: number },
): Promise<void> => {
  const isGroup = whole.found.parts.kindOf(again.part) === "group";
  const path = isGroup ? ["trajectories", again.at] : [];
  await reportOfGroup(whole, "trajectory-twice", {
    data: { place: placeOf(whole, first) },
    group,
    part: again.part,
    path,
  });
};

const placeOf = ({ sources, found }: GroupsRead, { part, at }: Alike): string => {
  const { source, line, kind } = found.parts.at(part);
  const own = sources[source];
  const place = own === undefined ? { file: "the input", line } : placeOfLine(own, line);
  return `${lineText(place)}${kind === "group" ? `, trajectories.${at}` : ""}`;
};

/** Trajectories whose print another has too, in their order. */
const alikeOf = ({ parts }: Found): readonly Alike[] => {
  const several = repeatedIn(parts.prints);
  if (several.size === 0) return [];
  const alike: Alike[] = [];
  let first = 0;
  for (let part = 0; part < parts.count; part++) {
    const count = parts.columns.trajectories.at(part);
    for (let at = 0; at < count; at++) if (several.has(parts.prints.at(first + at))) alike.push({ part, at });
    first += count;
  }
  return alike;
};

/** Prints that come more than once; 0 is none. */
const repeatedIn = (prints: Column): ReadonlySet<number> => {
  const repeated = new Set<number>();
  const sorted = new Uint32Array(prints.length);
  let length = 0;
  for (const block of prints.pieces()) {
    sorted.set(block, length);
    length += block.length;
  }
  sorted.sort();
  for (let at = 1; at < sorted.length; at++) {
    const print = sorted[at] ?? 0;
    if (print === sorted[at - 1] && print !== 0) repeated.add(print);
  }
  return repeated;
};

/** Digests of the bytes of a part's trajectories. */
const digestsOf = async ({ sources, found }: GroupsRead, position: number): Promise<readonly string[]> => {
  const part = found.parts.at(position);
  const source = sources[part.source];
  if (source === undefined) return [];
  try {
    const bytes = await readRange(source.bytes, part);
    if (part.kind === "trajectory") return [digestOf(bytes)];
    return trajectorySpans(bytes).map(({ start, end }) => digestOf(bytes.subarray(start, end)));
  } catch {
    // The file changed meanwhile: nothing can be said of it.
  }
  return [];
};

const digestOf = (bytes: Buffer): string => hash("sha256", bytes);

/** Bytes of a digest that make a number: as many as a double holds. */
const keyBytes = 6;

/** Reports groups of a reading that are, byte for byte, groups of another. */
export const reportAgainst = async (whole: GroupsRead, other: GroupsRead): Promise<void> => {
  const theirs = other.groups.digests();
  const byKey = new Map<number, number>();
  for (let group = 0; group < other.groups.count; group++) byKey.set(keyOf(theirs, group), group);
  const ours = whole.groups.digests();
  for (let group = 0; group < whole.groups.count; group++) {
    const same = byKey.get(keyOf(ours, group));
    if (same === undefined || Buffer.compare(ours.at(group), theirs.at(same)) !== 0) continue;
    await reportOfGroup(whole, "group-in-both", { data: { place: lineText(spotOfGroup(other, same)) }, group });
  }
};

const keyOf = (digests: Digests, group: number): number => Buffer.from(digests.at(group)).readUIntBE(0, keyBytes);
