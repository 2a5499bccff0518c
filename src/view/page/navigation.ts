/** The query in the page's address: every view has one, which can be shared and gone back to. */
import { useEffect, useState } from "preact/hooks";
import { allGroups, formatQuery, parentQuery, parseQuery, type Query } from "../query.ts";

/** Returns the address of a query. */
export const linkTo = (query: Query): string => {
  const json = formatQuery(query);
  return `#/${json === "{}" ? "" : encodeURIComponent(json)}`;
};

/** Returns the query of the address; of an invalid address, all groups. */
const parseHash = (hash: string): Query => {
  try {
    return parseQuery(decodeURIComponent(hash.replace(/^#\/?/, ""))) ?? allGroups;
  } catch {
    return allGroups;
  }
};

const navigate = (query: Query): void => location.assign(linkTo(query));

/** Goes to a query in the place of the current one: the history keeps what was before. */
export const replaceQuery = (query: Query): void => {
  history.replaceState(null, "", linkTo(query));
  dispatchEvent(new HashChangeEvent("hashchange"));
};

/** Goes to the view above. */
export const navigateUp = (query: Query): void => {
  const above = parentQuery(query);
  if (above !== undefined) navigate(above);
};

/** Returns the query of the address, whenever it changes. */
export const useQuery = (): Query => {
  const [hash, setHash] = useState(location.hash);
  useEffect(() => {
    const onChange = () => setHash(location.hash);
    addEventListener("hashchange", onChange);
    return () => removeEventListener("hashchange", onChange);
  }, []);
  return parseHash(hash);
};
