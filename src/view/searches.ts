/** Searches in the background. The page polls their progress. */
import { type Dataset, type SearchQuery, searchGroups } from "../groups/index.ts";
import type { GroupRows } from "./answers.ts";

/** Maximum searches that run at once, for several tabs. */
const maxSearches = 4;

export const openSearches = (dataset: Dataset) => {
  const searches = new Map<string, ReturnType<typeof startSearch>>();
  return {
    /** Returns a search, which starts at the first call; undefined if the query has none. */
    for({ text, where }: SearchQuery) {
      if (text === undefined && where === undefined) return undefined;
      const key = JSON.stringify([text, where]);
      const search = searches.get(key) ?? startSearch(dataset, { text, where });
      // The most recent search is last in the map.
      searches.delete(key);
      searches.set(key, search);
      const [oldest = ""] = searches.keys();
      if (searches.size > maxSearches) {
        searches.get(oldest)?.end();
        searches.delete(oldest);
      }
      return search;
    },
    end: (): void => {
      for (const { end } of searches.values()) end();
    },
  };
};

const startSearch = (dataset: Dataset, sought: SearchQuery) => {
  const ending = new AbortController();
  const groups = new Set<number>();
  let share = 0;
  let failure: { readonly thrown: unknown } | undefined;
  const search = searchGroups(dataset, sought, {
    signal: ending.signal,
    onFound: (group) => groups.add(group),
    onProgress: (done) => {
      // 1 means that the search has ended.
      share = Math.min(done, 0.999);
    },
  });
  void search.then(
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
    end: () => ending.abort(),
  };
};
