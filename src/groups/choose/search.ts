/** Finds groups of a reading for whoever looks at it: by a text in their bytes, or by an expression about their trajectories. */
import { setImmediate } from "node:timers/promises";
import { lineText } from "../../check/rules/places.ts";
import { inputChanged } from "../../input/source.ts";
import { spellingsOf } from "../../json/spellings.ts";
import { partAt, spotOfGroup } from "../positions.ts";
import type { Reading } from "../read.ts";
import { factsOf, neededBy, parseWhere } from "./expression.ts";
import { type RewardsKnown, SeenGroups } from "./seen.ts";

/** What is looked for: letters as they are written, or CEL that is true for one of a group's trajectories. */
export interface Sought {
  readonly text?: string | undefined;
  readonly where?: string | undefined;
}

/** Trajectories that an expression is asked about before others are let in. */
const trajectoriesAtOnce = 100;

/** Told each group that was found, in their order, and how far the search is: a share from 0 to 1. */
export interface Finder {
  found(group: number): void;
  progress(share: number): void;
}

/** Searches until all was looked at. @throws Failure `where-wrong`, `input-changed`; the signal's reason */
export const searchGroups = async (
  reading: Reading,
  { text, where }: Sought,
  { signal, rewardsKnown, ...finder }: Finder & { readonly signal: AbortSignal; readonly rewardsKnown: RewardsKnown },
): Promise<void> => {
  const isWanted = where === undefined ? undefined : wantedBy(reading, where, rewardsKnown);
  if (text === undefined || text === "") {
    if (isWanted === undefined) return;
    let asked = 0;
    for (let group = 0; group < reading.groups.count; group++) {
      asked += reading.groups.trajectoriesOf(group);
      if (asked >= trajectoriesAtOnce) {
        asked = 0;
        await setImmediate();
      }
      signal.throwIfAborted();
      if (reading.groups.isValid(group) && (await isWanted(group))) finder.found(group);
      finder.progress((group + 1) / reading.groups.count);
    }
    return;
  }
  for await (const { group, share } of groupsWith(reading, text, signal)) {
    if (group !== undefined && (isWanted === undefined || (await isWanted(group)))) finder.found(group);
    finder.progress(share);
  }
};

const wantedBy = (
  reading: Reading,
  where: string,
  rewardsKnown: RewardsKnown,
): ((group: number) => Promise<boolean>) => {
  const wanted = parseWhere(where);
  const seen = new SeenGroups(reading, { needed: neededBy(where), rewardsKnown });
  return async (group) => {
    if (!reading.groups.isValid(group)) return false;
    const { trajectories, ...value } = await seen.at(group);
    const facts = factsOf(value, { trajectories, group });
    const place = () => lineText(spotOfGroup(reading, group));
    return trajectories.some((trajectory) => wanted(trajectory, facts, place));
  };
};

/** Bytes that are searched at once. */
const windowBytes = 2 ** 22;

/** Groups that hold a text, a group more than once where parts of it do that stand apart; and how far the search is. */
async function* groupsWith(
  { sources, found, groups }: Reading,
  text: string,
  signal: AbortSignal,
): AsyncGenerator<{ readonly group?: number; readonly share: number }, void> {
  const needles = spellingsOf(text).map((spelled) => Buffer.from(spelled));
  const longest = Math.max(...needles.map(({ length }) => length));
  // One window after the other is read into the same memory: new memory costs as much as the search.
  const room = Buffer.allocUnsafe(windowBytes);
  const of = sources.reduce((sum, { bytes }) => sum + bytes.size, 0);
  let before = 0;
  for (const [index, source] of sources.entries()) {
    const { size } = source.bytes;
    for (let start = 0; start < size; ) {
      signal.throwIfAborted();
      const length = Math.min(windowBytes, size - start);
      const bytes = room.subarray(0, length);
      if ((await source.bytes.read(bytes, start)) < length) throw inputChanged(source.name);
      let next = start + Math.max(1, length - longest + 1);
      for (let at = firstOf(bytes, needles, 0); at >= 0; ) {
        const part = partAt(found.parts, index, { offset: start + at });
        const end = part === undefined ? 0 : found.parts.columns.start.at(part) + found.parts.columns.length.at(part);
        // Between groups stands what is none of them.
        if (part !== undefined && start + at < end) yield { group: groups.groupOf(part), share: (before + start) / of };
        // One place in a group is enough.
        const from = Math.max(at + 1, end - start);
        next = Math.max(next, end);
        at = from < bytes.length ? firstOf(bytes, needles, from) : -1;
      }
      start = length === size - start ? size : next;
      yield { share: (before + Math.min(start, size)) / of };
    }
    before += size;
  }
}

const firstOf = (bytes: Buffer, needles: readonly Buffer[], from: number): number => {
  let first = -1;
  for (const needle of needles) {
    const at = bytes.indexOf(needle, from);
    if (at >= 0 && (first < 0 || at < first)) first = at;
  }
  return first;
};
