/** Compares the requests of the input: they have one split and one set of own keys. */

import type { Shape } from "../groups/parts/found.ts";
import { type OwnKeys, type RequestFacts, type Requests, sameSpelling } from "../groups/parts/found.ts";
import { lineText } from "./rules/places.ts";
import type { Problems } from "./rules/problems.ts";

/** Reports requests that are for another split, or that differ in their own keys. */
export const checkAgreement = ({
  requests,
  shapes,
  split,
  problems,
  file,
}: {
  readonly requests: Requests;
  readonly shapes: ReadonlySet<Shape>;
  readonly split: string | undefined;
  readonly problems: Problems;
  /** Name of the only input; undefined if there are several. */
  readonly file?: string | undefined;
}): void => {
  if (shapes.size > 1)
    problems.report("mixed-shapes", { shapes: [...shapes] }, () => (file === undefined ? {} : { file }));
  const [first, ...others] = requests.different;
  if (first === undefined) return;
  for (const request of requests.different) {
    if (split !== undefined && request.split !== undefined && request.split !== split) {
      problems.report("split-differs", { own: request.split, given: split }, () => request.splitSpot);
    }
  }
  for (const other of others) checkKeys(first, other, problems);
  const [own] = first.keys.keys();
  if (shapes.size > 1 && own !== undefined) {
    const rest = [...shapes].filter((shape) => shape !== "requests").join(" and ");
    problems.report("request-keys-differ", { key: own, other: `the ${rest}` }, () => spotOfKey(first, own));
  }
};

const checkKeys = (first: RequestFacts, other: RequestFacts, problems: Problems): void => {
  const differing = differingKey(first.keys, other.keys);
  if (differing === undefined) return;
  const place = lineText(first.spot);
  problems.report("request-keys-differ", { key: differing, other: place }, () => spotOfKey(other, differing));
};

const spotOfKey = (request: RequestFacts, key: string) => request.keySpots.get(key) ?? request.spot;

const differingKey = (a: OwnKeys, b: OwnKeys): string | undefined => {
  for (const [key, { value }] of a) {
    const other = b.get(key);
    if (other === undefined || !sameSpelling(value, other.value)) return key;
  }
  for (const key of b.keys()) if (!a.has(key)) return key;
  return undefined;
};

/** The split that all inputs say themselves: undefined if one says none, or they are not all requests. */
export const ownSplit = (requests: Requests, shapes: ReadonlySet<Shape>): string | undefined => {
  const splits = splitsOf(requests);
  const all = requests.different.every(({ split }) => split !== undefined);
  return shapes.size === 1 && shapes.has("requests") && all && splits.length === 1 ? splits[0] : undefined;
};

/** The different splits that requests of the input say. */
export const splitsOf = (requests: Requests): readonly string[] => [
  ...new Set(requests.different.flatMap(({ split }) => split ?? [])),
];
