/** Finds trajectories that come twice: those that look alike by their prints are read again, and compared by their bytes. */
import { createHash } from "node:crypto";
import { elements, members } from "../json.ts";
import type { Column } from "./columns.ts";
import { digestBytes } from "./columns.ts";
import type { Found } from "./found.ts";
import { readRange } from "./source.ts";
import { spotOf, type Whole } from "./whole.ts";

/** Bytes that are read again at most to tell trajectories that look alike apart. */
const mostReadAgain = 2 ** 26;

/** A trajectory that looks like another. */
interface Alike {
  readonly part: number;
  /** Position in the part. */
  readonly at: number;
}

/** Prints tell which trajectories may be equal; their bytes tell which are. */
export const reportTwice = async (whole: Whole): Promise<void> => {
  const { found, groups, groupOf } = whole;
  const firsts = new Map<string, Alike>();
  let read = 0;
  let digests: { readonly part: number; readonly of: readonly string[] } | undefined;
  for (const { part, at } of alikeOf(found)) {
    if (!groups.isValid(groupOf[part] ?? 0)) continue;
    if (digests?.part !== part) {
      read += found.parts.at(part).length;
      if (read > mostReadAgain) return;
      digests = { part, of: await digestsOf(whole, part) };
    }
    const digest = digests.of[at];
    if (digest === undefined) continue;
    const first = firsts.get(digest);
    if (first === undefined) firsts.set(digest, { part, at });
    else await reportPair(whole, { first, again: { part, at }, group: groupOf[part] ?? 0 });
  }
};

const reportPair = async (
  whole: Whole,
  { first, again, group }: { readonly first: Alike; readonly again: Alike; readonly group: number },
): Promise<void> => {
  const { found, groups } = whole;
  const isGroup = found.parts.at(again.part).kind === "group";
  const path = isGroup ? ["trajectories", again.at] : [];
  const spot = found.problems.isKept("trajectory-twice") ? await spotOf(whole, again.part, path) : {};
  const place = placeOf(whole, first);
  if (found.problems.report("trajectory-twice", { place }, () => spot) === "error") groups.reject(group);
};

const placeOf = ({ sources, found }: Whole, { part, at }: Alike): string => {
  const { source, line, kind } = found.parts.at(part);
  return `${sources[source]?.name ?? "the input"}:${line}${kind === "group" ? `, trajectories.${at}` : ""}`;
};

/** Trajectories whose print another has too, in their order. */
const alikeOf = ({ parts }: Found): readonly Alike[] => {
  const { prints } = parts;
  const several = repeatedIn(prints.values());
  if (several.size === 0) return [];
  const alike: Alike[] = [];
  let next = 0;
  for (let part = 0; part < parts.count; part++) {
    const { trajectories } = parts.at(part);
    for (let at = 0; at < trajectories; at++) if (several.has(prints.at(next + at))) alike.push({ part, at });
    next += trajectories;
  }
  return alike;
};

/** Prints that come more than once; 0 is none. */
const repeatedIn = (prints: Column): ReadonlySet<number> => {
  const repeated = new Set<number>();
  // A table at most half full, in which each print stands at its own place or right behind: sorting takes ten times as long.
  const table = new Uint32Array(2 ** Math.ceil(Math.log2(2 * prints.length + 1)));
  const last = table.length - 1;
  for (const print of prints) {
    if (print === 0) continue;
    let at = print & last;
    while (table[at] !== 0 && table[at] !== print) at = (at + 1) & last;
    if (table[at] === print) repeated.add(print);
    table[at] = print;
  }
  return repeated;
};

/** Digests of the bytes of a part's trajectories. */
const digestsOf = async ({ sources, found }: Whole, position: number): Promise<readonly string[]> => {
  const part = found.parts.at(position);
  if (part.kind === "trajectory") return [Buffer.from(found.parts.digestOf(position)).toString("hex")];
  const source = sources[part.source];
  if (source === undefined) return [];
  try {
    const bytes = await readRange(source.bytes, part);
    for (const { key, value } of members(bytes, 0)) {
      if (key !== "trajectories") continue;
      return Array.from(elements(bytes, value.start), ({ start, end }) =>
        createHash("sha256").update(bytes.subarray(start, end)).digest().subarray(0, digestBytes).toString("hex"),
      );
    }
  } catch {
    // The file changed meanwhile: nothing can be said of it.
  }
  return [];
};
