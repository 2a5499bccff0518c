/** The query in the page's URL, so that every view can be shared and is in the history. */
import { useEffect, useState } from "preact/hooks";
import { allGroups, formatQuery, parentQuery, parseQuery, type Query } from "../query.ts";

export const linkTo = (query: Query): string => {
  const json = formatQuery(query);
  return `#/${json === "{}" ? "" : encodeURIComponent(json)}`;
};

/** Parses the query in the URL. An invalid one selects all groups. */
const parseHash = (hash: string): Query => {
  try {
    return parseQuery(decodeURIComponent(hash.replace(/^#\/?/, ""))) ?? allGroups;
  } catch {
    return allGroups;
  }
};

const navigate = (query: Query): void => location.assign(linkTo(query));

/** Shows a query and replaces the current one in the history. */
export const replaceQuery = (query: Query): void => {
  history.replaceState(null, "", linkTo(query));
  dispatchEvent(new HashChangeEvent("hashchange"));
};

/** Shows the parent view. */
export const navigateUp = (query: Query): void => {
  const above = parentQuery(query);
  if (above !== undefined) navigate(above);
};

/** Returns the query of the current URL. */
export const useQuery = (): Query => {
  const [hash, setHash] = useState(location.hash);
  useEffect(() => {
    const onChange = () => setHash(location.hash);
    addEventListener("hashchange", onChange);
    return () => removeEventListener("hashchange", onChange);
  }, []);
  return parseHash(hash);
};
