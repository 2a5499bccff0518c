/** Finds groups: by a text in their bytes, or by an expression about their trajectories. */
import { setImmediate } from "node:timers/promises";
import { inputChanged } from "../../input/index.ts";
import { spellingsOf } from "../../json/spellings.ts";
import { partOf, Window } from "../contents.ts";
import type { Reading } from "../read.ts";
import { openWhere, type RewardsKnown } from "./where.ts";

/** What is looked for: a case-sensitive substring, or CEL that is true for one of a group's trajectories. */
export interface Sought {
  readonly text?: string | undefined;
  readonly where?: string | undefined;
}

/** How a search reports: each group that was found, in their order, and a share from 0 to 1. */
interface SearchOptions {
  readonly signal: AbortSignal;
  readonly rewardsKnown: RewardsKnown;
  /** May be called more than once for a group with several parts. */
  found(group: number): void;
  progress(share: number): void;
}

/** Trajectories, and bytes, that are searched before others get their turn. */
const trajectoriesAtOnce = 100;
const bytesAtOnce = 2 ** 22;

/** Searches all groups. @throws Failure `where-wrong`, `input-changed`; the signal's reason */
export const searchGroups = async (
  reading: Reading,
  { text = "", where }: Sought,
  { signal, rewardsKnown, found, progress }: SearchOptions,
): Promise<void> => {
  const { groups } = reading;
  const { parts } = reading.found;
  const see = where === undefined ? undefined : openWhere(reading, where, rewardsKnown);
  const isWanted = async (group: number): Promise<boolean> => {
    if (see === undefined) return true;
    if (!groups.isValid(group)) return false;
    const { trajectories, isWanted } = await see(group);
    return trajectories.some((_, at) => isWanted(at));
  };
  if (text === "" && see === undefined) return;
  const hasText = openText(reading, text);
  for (let at = 0, trajectories = 0, bytes = 0; at < parts.count; at++) {
    trajectories += parts.columns.trajectories.at(at);
    bytes += parts.columns.length.at(at);
    if (trajectories >= trajectoriesAtOnce || bytes >= bytesAtOnce) {
      [trajectories, bytes] = [0, 0];
      progress(at / parts.count);
      await setImmediate();
      signal.throwIfAborted();
    }
    const group = groups.groupOf(at);
    // A text is looked for in each part, and an expression is about all of them.
    const isCandidate = text === "" ? groups.firstOf(group) === at : await hasText(at);
    if (isCandidate && (await isWanted(group))) found(group);
  }
};

/** Opens the search for a text in parts, one after the other. */
const openText = (reading: Reading, text: string): ((part: number) => Promise<boolean>) => {
  const needles = spellingsOf(text).map((spelled) => Buffer.from(spelled));
  const window = new Window();
  return async (position) => {
    const own = partOf(reading, position);
    if (own === undefined) return false;
    const bytes = await window.at(own.source, own.part.start, own.part.length);
    if (bytes.length < own.part.length) throw inputChanged(own.source.name);
    return needles.some((needle) => bytes.includes(needle));
  };
};
