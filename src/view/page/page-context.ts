/** The query in the page's URL, and the state that the parts of the page share. */
import { createContext } from "preact";
import { useContext, useEffect, useState } from "preact/hooks";
import type { RewardBounds } from "../answers.ts";
import { allGroups, formatQuery, parseQuery, type Query } from "../query.ts";

const scale: RewardBounds = [0, 1];

const Context = createContext({ query: allGroups, scale, isMarkdownOn: false, toggleMarkdown: (): void => undefined });

export const PageProvider = Context.Provider;

export const usePage = () => useContext(Context);

export const useSearchedText = () => usePage().query.text ?? "";

export const useLink = () => {
  const { query } = usePage();
  return (changes: Partial<Query>) => linkTo({ ...query, ...changes });
};

/** Returns the attributes of a link that adds a filter, or removes a filter that is on. */
export const useFilter = (filter: Partial<Query>) => {
  const { query } = usePage();
  const isOn = formatQuery({ ...query, ...filter }) === formatQuery(query);
  const removed = Object.fromEntries(Object.keys(filter).map((key) => [key, undefined]));
  const href = linkTo({ ...query, page: 1, ...(isOn ? removed : filter) });
  return { href, ...(isOn && { "aria-current": "true" as const }) };
};

export const linkTo = (query: Query) => {
  const json = formatQuery(query);
  return `#/${json === "{}" ? "" : encodeURIComponent(json)}`;
};

/** Unlike `decodeURIComponent`, URLSearchParams accept an invalid escape. */
export const parseHash = (hash: string) =>
  parseQuery(new URLSearchParams(hash.replace(/^#\/?/, "query=")).get("query") ?? "") ?? allGroups;

export const replaceQuery = (query: Query) => {
  history.replaceState(null, "", linkTo(query));
  dispatchEvent(new HashChangeEvent("hashchange"));
};

export const useQuery = (): Query => {
  const [hash, setHash] = useState(location.hash);
  useEffect(() => addEventListener("hashchange", () => setHash(location.hash)), []);
  return parseHash(hash);
};
