/** The query in the page's address: every view has one, which can be shared and gone back to. */
import { useEffect, useState } from "preact/hooks";
import { allGroups, formatQuery, parseQuery, type Query, queryAbove } from "../query.ts";

/** Returns the address of a query. */
export const addressOf = (query: Query): string => {
  const json = formatQuery(query);
  return `#/${json === "{}" ? "" : encodeURIComponent(json)}`;
};

/** Returns the query of the address; of an invalid address, all groups. */
const queryOf = (hash: string): Query => {
  try {
    return parseQuery(decodeURIComponent(hash.replace(/^#\/?/, ""))) ?? allGroups;
  } catch {
    return allGroups;
  }
};

const goTo = (query: Query): void => location.assign(addressOf(query));

/** Goes to a query in the place of the current one: the history keeps what was before. */
export const replaceBy = (query: Query): void => {
  history.replaceState(null, "", addressOf(query));
  dispatchEvent(new HashChangeEvent("hashchange"));
};

/** Goes to the view above. */
export const goUp = (query: Query): void => {
  const above = queryAbove(query);
  if (above !== undefined) goTo(above);
};

/** Returns the query of the address, whenever it changes. */
export const useQuery = (): Query => {
  const [hash, setHash] = useState(location.hash);
  useEffect(() => {
    const onChange = () => setHash(location.hash);
    addEventListener("hashchange", onChange);
    return () => removeEventListener("hashchange", onChange);
  }, []);
  return queryOf(hash);
};
