/** Searches in the background: the page asks for what each has found so far. A search that nobody asks for any more ends. */
import { type Reading, type RewardsKnown, type Sought, searchGroups } from "../groups/index.ts";
import type { Rows } from "./answers.ts";

/** Searches that are kept, one for each of so many tabs. */
const maxSearches = 4;

/** A search that nobody asks for ends after this time: a page asks several times a second. */
const abandonedMs = 2000;

export const openSearches = (reading: Reading, rewardsKnown: RewardsKnown) => {
  const searches = new Map<string, ReturnType<typeof startSearch>>();
  return {
    /** Returns the search for a text or an expression, which starts with this; undefined if nothing is searched for. */
    for({ text, where }: Sought) {
      if (text === undefined && where === undefined) return undefined;
      const key = JSON.stringify([text, where]);
      const known = searches.get(key);
      const isRunning = known?.ending.signal.aborted === false;
      const search = isRunning ? known : startSearch(reading, { text, where }, rewardsKnown);
      // The last one that was asked for is last in the map.
      searches.delete(key);
      searches.set(key, search);
      const [oldest = ""] = searches.keys();
      if (searches.size > maxSearches) {
        searches.get(oldest)?.ending.abort();
        searches.delete(oldest);
      }
      return search;
    },
    end: (): void => {
      for (const { ending } of searches.values()) ending.abort();
    },
  };
};

const startSearch = (reading: Reading, sought: Sought, rewardsKnown: RewardsKnown) => {
  const ending = new AbortController();
  const groups = new Set<number>();
  let share = 0;
  let failure: { readonly thrown: unknown } | undefined;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const run = async (): Promise<void> => {
    const found = (group: number) => void groups.add(group);
    const progress = (done: number): void => {
      // Not all groups are found before the search has ended.
      share = Math.min(done, 0.999);
    };
    try {
      await searchGroups(reading, sought, { signal: ending.signal, found, progress, rewardsKnown });
      share = 1;
    } catch (thrown) {
      failure = { thrown };
    }
    clearTimeout(timer);
  };
  void run();
  return {
    has: (group: number): boolean => groups.has(group),
    /** Returns its progress. @throws its failure: `where-wrong`, `input-changed` */
    ask(): NonNullable<Rows["searched"]> {
      if (failure !== undefined) throw failure.thrown;
      clearTimeout(timer);
      if (share < 1) timer = setTimeout(() => ending.abort(), abandonedMs).unref();
      return { share, found: groups.size };
    },
    ending,
  };
};
