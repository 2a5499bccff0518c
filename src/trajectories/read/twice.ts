/** Finds trajectories that come twice: those that look alike by their prints are read again, and compared by their bytes. */
import { hash } from "node:crypto";
import { elements, members } from "../../json/walk.ts";
import { placeOfLine, readRange } from "../input/source.ts";
import { lineText } from "../rules/places.ts";
import type { Found } from "./parts/found.ts";
import type { Column, Numbers } from "./parts/numbers.ts";
import { type GroupsRead, reportOfGroup } from "./whole.ts";

/** Bytes that are read again at most to tell trajectories that look alike apart. */
const mostReadAgain = 2 ** 26;

/** A trajectory that looks like another. */
interface Alike {
  readonly part: number;
  /** Position in the part. */
  readonly at: number;
}

/** Prints tell which trajectories may be equal; their bytes tell which are. @throws the signal's reason */
export const reportTwice = async (whole: GroupsRead, signal?: AbortSignal): Promise<void> => {
  const { found, groups } = whole;
  const firsts = new Map<string, Alike>();
  let read = 0;
  let digests: { readonly part: number; readonly of: readonly string[] } | undefined;
  for (const { part, at } of alikeOf(found)) {
    if (!groups.isValid(groups.groupOf(part))) continue;
    if (digests?.part !== part) {
      signal?.throwIfAborted();
      read += found.parts.lengthOf(part);
      if (read > mostReadAgain) return;
      digests = { part, of: await digestsOf(whole, part) };
    }
    const digest = digests.of[at];
    if (digest === undefined) continue;
    const first = firsts.get(digest);
    if (first === undefined) firsts.set(digest, { part, at });
    else await reportPair(whole, { first, again: { part, at }, group: groups.groupOf(part) });
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
  const { prints } = parts;
  const several = repeatedIn(prints);
  if (several.size === 0) return [];
  const places = placesOf(prints, several);
  const alike: Alike[] = [];
  // Positions of the first print of a part, and of the next that is looked for.
  let first = 0;
  let next = 0;
  for (let part = 0; part < parts.count && next < places.length; part++) {
    const behind = first + parts.trajectoriesOf(part);
    for (; (places[next] ?? behind) < behind; next++) alike.push({ part, at: (places[next] ?? 0) - first });
    first = behind;
  }
  return alike;
};

/** Positions of the prints that are in a set, in their order. */
const placesOf = (prints: Numbers, wanted: ReadonlySet<number>): readonly number[] => {
  const places: number[] = [];
  // Most are in no set: what their last bits say is known faster.
  const ends = new Uint8Array(2 ** 16);
  for (const print of wanted) ends[print & 0xffff] = 1;
  let first = 0;
  for (const block of prints.blocks()) {
    for (let at = 0; at < block.length; at++) {
      const print = block[at] ?? 0;
      if (ends[print & 0xffff] === 1 && wanted.has(print)) places.push(first + at);
    }
    first += block.length;
  }
  return places;
};

/** Prints that are held against each other at once, about: their table fits a processor's cache. */
const heldAtOnce = 2 ** 18;

/** Prints that come more than once; 0 is none. */
const repeatedIn = (prints: Numbers): ReadonlySet<number> => {
  const repeated = new Set<number>();
  // In several rounds, each for the prints that end alike: a table of all would be the largest thing in memory.
  const rounds = new Uint32Array(2 ** Math.max(0, Math.ceil(Math.log2(prints.length / heldAtOnce))));
  const last = rounds.length - 1;
  if (last === 0) rounds[0] = prints.length;
  else for (const block of prints.blocks()) countRounds(block, rounds);
  const most = rounds.reduce((sum, count) => Math.max(sum, count), 0);
  // At most half full: each print stands at its own place, or right behind.
  const bits = Math.ceil(Math.log2(2 * most + 1));
  const table = new Uint32Array(2 ** bits);
  for (let round = 0; round <= last; round++) {
    table.fill(0);
    for (const block of prints.blocks()) takeRound(block, { round, last, table, shift: 32 - bits, repeated });
  }
  return repeated;
};

/** Counts the prints of each round. */
const countRounds = (prints: Column, rounds: Uint32Array): void => {
  const last = rounds.length - 1;
  for (let index = 0; index < prints.length; index++) {
    const round = (prints[index] ?? 0) & last;
    rounds[round] = (rounds[round] ?? 0) + 1;
  }
};

interface Round {
  /** Last bits of the prints that are looked at, of these bits. */
  readonly round: number;
  readonly last: number;
  readonly table: Uint32Array;
  /** What makes a hash a place of the table. */
  readonly shift: number;
  readonly repeated: Set<number>;
}

const takeRound = (prints: Column, { round, last, table, shift, repeated }: Round): void => {
  const end = table.length - 1;
  for (let index = 0; index < prints.length; index++) {
    const print = prints[index] ?? 0;
    if ((print & last) !== round || print === 0) continue;
    let at = Math.imul(print, 0x9e3779b1) >>> shift;
    while (table[at] !== 0 && table[at] !== print) at = (at + 1) & end;
    if (table[at] === print) repeated.add(print);
    table[at] = print;
  }
};

/** Digests of the bytes of a part's trajectories. */
const digestsOf = async ({ sources, found }: GroupsRead, position: number): Promise<readonly string[]> => {
  const part = found.parts.at(position);
  const source = sources[part.source];
  if (source === undefined) return [];
  try {
    const bytes = await readRange(source.bytes, part);
    if (part.kind === "trajectory") return [digestOf(bytes)];
    for (const { key, value } of members(bytes, 0)) {
      if (key !== "trajectories") continue;
      return Array.from(elements(bytes, value.start), ({ start, end }) => digestOf(bytes.subarray(start, end)));
    }
  } catch {
    // The file changed meanwhile: nothing can be said of it.
  }
  return [];
};

const digestOf = (bytes: Buffer): string => hash("sha256", bytes);
