/** Searches in the background. The page polls their progress. */
import { type Dataset, type KnownRewards, type SearchQuery, searchGroups } from "../groups/index.ts";
import type { GroupRows } from "./answers.ts";

/** Maximum searches that run at once, for several tabs. */
const maxSearches = 4;

export const openSearches = (dataset: Dataset, knownRewards: KnownRewards) => {
  const searches = new Map<string, ReturnType<typeof startSearch>>();
  return {
    /** Returns a search, which starts at the first call; undefined if the query has none. */
    for({ text, where }: SearchQuery) {
      if (text === undefined && where === undefined) return undefined;
      const key = JSON.stringify([text, where]);
      const known = searches.get(key);
      const isRunning = known?.ending.signal.aborted === false;
      const search = isRunning ? known : startSearch(dataset, { text, where }, knownRewards);
      // The most recent search is last in the map.
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

const startSearch = (dataset: Dataset, sought: SearchQuery, knownRewards: KnownRewards) => {
  const ending = new AbortController();
  const groups = new Set<number>();
  let share = 0;
  let failure: { readonly thrown: unknown } | undefined;
  const options = {
    signal: ending.signal,
    knownRewards,
    onFound: (group: number) => void groups.add(group),
    onProgress: (done: number): void => {
      // 1 means that the search has ended.
      share = Math.min(done, 0.999);
    },
  };
  void searchGroups(dataset, sought, options).then(
    () => {
      share = 1;
    },
    (thrown: unknown) => {
      failure = { thrown };
    },
  );
  return {
    has: (group: number): boolean => groups.has(group),
    /** @throws its failure: `invalid-filter`, `input-changed` */
    readProgress(): NonNullable<GroupRows["searched"]> {
      if (failure !== undefined) throw failure.thrown;
      return { share, found: groups.size };
    },
    ending,
  };
};
