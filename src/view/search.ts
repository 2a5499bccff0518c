/** Searches in the background: the page asks for what each has found so far. A search that nobody asks for any more ends. */
import { type Reading, type RewardsKnown, type Sought, searchGroups } from "../groups/index.ts";
import type { Rows } from "./answers.ts";

/** Searches that are kept, one for each of so many tabs. */
const maxSearches = 4;

/** A search that nobody asks for ends after this time: a page asks several times a second. */
const abandonedMs = 2000;

/** A search. */
interface Search {
  has(group: number): boolean;
  /** Its progress. @throws its failure: `where-wrong`, `input-changed` */
  ask(): NonNullable<Rows["searched"]>;
  readonly ended: () => boolean;
  end(): void;
}

/** The searches of a reading. */
export interface Searches {
  /** Returns the search for a text or an expression, which starts with this; undefined if nothing is searched for. */
  for(sought: Sought): Search | undefined;
  end(): void;
}

export const openSearches = (reading: Reading, rewardsKnown: RewardsKnown): Searches => {
  const searches = new Map<string, Search>();
  return {
    for({ text, where }) {
      if (text === undefined && where === undefined) return undefined;
      const key = JSON.stringify([text, where]);
      const known = searches.get(key);
      const search = known?.ended() === false ? known : startSearch(reading, { text, where }, rewardsKnown);
      // The last one that was asked for is last in the map.
      searches.delete(key);
      searches.set(key, search);
      const [oldest] = searches;
      if (searches.size > maxSearches && oldest !== undefined) {
        oldest[1].end();
        searches.delete(oldest[0]);
      }
      return search;
    },
    end: () => {
      for (const search of searches.values()) search.end();
    },
  };
};

const startSearch = (reading: Reading, sought: Sought, rewardsKnown: RewardsKnown): Search => {
  const found = new Set<number>();
  const ending = new AbortController();
  let share = 0;
  let failure: { readonly thrown: unknown } | undefined;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const end = (): void => {
    clearTimeout(timer);
    ending.abort();
  };
  searchGroups(reading, sought, {
    signal: ending.signal,
    found: (group) => void found.add(group),
    progress: (done) => {
      // Not all groups are found before the search has ended.
      share = Math.min(done, 0.999);
    },
    rewardsKnown,
  })
    .then(
      () => {
        share = 1;
      },
      (thrown: unknown) => {
        failure = { thrown };
      },
    )
    .finally(() => clearTimeout(timer));
  return {
    has: (group) => found.has(group),
    ask() {
      if (failure !== undefined) throw failure.thrown;
      clearTimeout(timer);
      if (share < 1) timer = setTimeout(end, abandonedMs).unref();
      return { share, found: found.size };
    },
    ended: () => ending.signal.aborted,
    end,
  };
};
