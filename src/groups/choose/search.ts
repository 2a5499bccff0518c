/** Finds groups: by a text in their bytes, or by an expression about their trajectories. */
import { setImmediate } from "node:timers/promises";
import { lineText } from "../../check/rules/places.ts";
import { inputChanged } from "../../input/index.ts";
import { spellingsOf } from "../../json/spellings.ts";
import { partAt, spotOfGroup } from "../positions.ts";
import type { Reading } from "../read.ts";
import { factsOf, neededBy, parseWhere } from "./expression.ts";
import { openSeen, type RewardsKnown } from "./seen.ts";

/** What is looked for: a case-sensitive substring, or CEL that is true for one of a group's trajectories. */
export interface Sought {
  readonly text?: string | undefined;
  readonly where?: string | undefined;
}

/** Trajectories that an expression is asked about before others get their turn. */
const trajectoriesAtOnce = 100;

/** Told each group that was found, in their order, and how far the search is: a share from 0 to 1. */
interface Finder {
  found(group: number): void;
  progress(share: number): void;
}

/** Searches until all was looked at. @throws Failure `where-wrong`, `input-changed`; the signal's reason */
export const searchGroups = async (
  reading: Reading,
  { text = "", where }: Sought,
  { signal, rewardsKnown, ...finder }: Finder & { readonly signal: AbortSignal; readonly rewardsKnown: RewardsKnown },
): Promise<void> => {
  const isWanted = where === undefined ? undefined : wantedBy(reading, where, rewardsKnown);
  if (text === "" && isWanted === undefined) return;
  const candidates = text === "" ? allGroups(reading) : groupsWith(reading, text);
  for await (const { group, share } of candidates) {
    signal.throwIfAborted();
    if (group !== undefined && (isWanted === undefined || (await isWanted(group)))) finder.found(group);
    finder.progress(share);
  }
};

/** A group that may be wanted, and how far the search is. */
interface Candidate {
  readonly group?: number;
  readonly share: number;
}

async function* allGroups({ groups }: Reading): AsyncGenerator<Candidate, void> {
  let asked = 0;
  for (let group = 0; group < groups.count; group++) {
    asked += groups.trajectoriesOf(group);
    if (asked >= trajectoriesAtOnce) {
      asked = 0;
      await setImmediate();
    }
    yield { group, share: (group + 1) / groups.count };
  }
}

const wantedBy = (
  reading: Reading,
  where: string,
  rewardsKnown: RewardsKnown,
): ((group: number) => Promise<boolean>) => {
  const isWanted = parseWhere(where);
  const seenOf = openSeen(reading, neededBy(where), rewardsKnown);
  return async (group) => {
    if (!reading.groups.isValid(group)) return false;
    const { trajectories, ...value } = await seenOf(group);
    const facts = factsOf(value, { trajectories, group });
    const place = () => lineText(spotOfGroup(reading, group));
    return trajectories.some((trajectory) => isWanted(trajectory, facts, place));
  };
};

/** Bytes that are searched at once. */
const windowBytes = 2 ** 22;

/** Groups that contain a text; a group more than once if parts of it do that are apart. */
async function* groupsWith({ sources, found, groups }: Reading, text: string): AsyncGenerator<Candidate, void> {
  const needles = spellingsOf(text).map((spelled) => Buffer.from(spelled));
  const longest = Math.max(...needles.map(({ length }) => length));
  // One window after the other is read into the same memory: new memory costs as much as the search.
  const room = Buffer.allocUnsafe(windowBytes);
  const of = sources.reduce((sum, { bytes }) => sum + bytes.size, 0);
  const { start: starts, length: lengths } = found.parts.columns;
  let before = 0;
  for (const [index, source] of sources.entries()) {
    const { size } = source.bytes;
    for (let start = 0; start < size; ) {
      const bytes = room.subarray(0, size - start);
      if ((await source.bytes.read(bytes, start)) < bytes.length) throw inputChanged(source.name);
      let next = start + Math.max(1, bytes.length - longest + 1);
      for (let at = firstOf(bytes, needles, 0); at >= 0; ) {
        const part = partAt(found.parts, index, { offset: start + at });
        const end = part === undefined ? 0 : starts.at(part) + lengths.at(part);
        // Between groups is what belongs to none of them.
        if (part !== undefined && start + at < end) yield { group: groups.groupOf(part), share: (before + start) / of };
        // One match in a group is enough.
        const from = Math.max(at + 1, end - start);
        next = Math.max(next, end);
        at = from < bytes.length ? firstOf(bytes, needles, from) : -1;
      }
      start = start + bytes.length === size ? size : next;
      yield { share: (before + Math.min(start, size)) / of };
    }
    before += size;
  }
}

const firstOf = (bytes: Buffer, needles: readonly Buffer[], from: number): number =>
  needles
    .map((needle) => bytes.indexOf(needle, from))
    .filter((at) => at >= 0)
    .reduce((first, at) => (first < 0 || at < first ? at : first), -1);
