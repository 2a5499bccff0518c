/** Finds requests in the input that contradict each other. */

import { compactJson } from "../../json/raw-json.ts";
import { toFileLine } from "../rules/positions.ts";
import type { ProblemLocation, Problems } from "../rules/problems.ts";

export type InputShape = "requests" | "groups" | "trajectories";

/** Keys that the interface does not define, by decoded name. `name` and `value` are raw JSON. */
export type OtherKeys = ReadonlyMap<string, { name: string; value: string }>;

interface DistinctRequest {
  split: string | undefined;
  keys: OtherKeys;
  location: ProblemLocation;
  keyLocations: ReadonlyMap<string, ProblemLocation>;
}

const maxRequests = 100;

export class Requests {
  readonly byContent = new Map<string, DistinctRequest>();

  get distinct(): readonly DistinctRequest[] {
    return [...this.byContent.values()];
  }

  add({ split, keys }: Pick<DistinctRequest, "split" | "keys">, locate: (key?: string) => ProblemLocation) {
    const content = JSON.stringify([split ?? null, [...keys.values()].map(({ name, value }) => [name, value])]);
    if (this.byContent.has(content) || this.byContent.size >= maxRequests) return;
    const keyLocations = new Map(["split", ...keys.keys()].map((key) => [key, locate(key)]));
    this.byContent.set(content, { split, keys, location: locate(), keyLocations });
  }

  merge(later: Requests) {
    for (const [content, facts] of later.byContent)
      if (!this.byContent.has(content) && this.byContent.size < maxRequests) this.byContent.set(content, facts);
  }
}

export const reportMismatches = (
  { requests, shapes, problems }: { requests: Requests; shapes: ReadonlySet<InputShape>; problems: Problems },
  { split, location }: { split: string | undefined; location?: ProblemLocation },
) => {
  const isMixed = shapes.size > 1;
  if (isMixed) problems.report("mixed-shapes", { shapes: [...shapes] }, location);
  const [first, ...others] = requests.distinct;
  if (!first) return;
  for (const request of requests.distinct) {
    const { split: own } = request;
    if (split !== undefined && own !== undefined && own !== split)
      problems.report("split-mismatch", { own, given: split }, () => locateKey(request, "split"));
  }
  const reportKey = (request: DistinctRequest, key: string | undefined, other: string, isRequest: boolean) => {
    if (key !== undefined)
      problems.report("request-key-mismatch", { key, other, isRequest }, () => locateKey(request, key));
  };
  for (const other of others)
    reportKey(other, findDifferingKey(first.keys, other.keys), toFileLine(first.location), true);
  const rest = [...shapes].filter((shape) => shape !== "requests").join(" and ");
  if (isMixed) reportKey(first, first.keys.keys().next().value, rest, false);
};

const locateKey = ({ keyLocations, location }: DistinctRequest, key: string) => keyLocations.get(key) ?? location;

const findDifferingKey = (a: OtherKeys, b: OtherKeys) =>
  [...a.keys(), ...b.keys()].find(
    (key) => compactJson(a.get(key)?.value ?? "") !== compactJson(b.get(key)?.value ?? ""),
  );

export const findCommonSplit = (requests: Requests, shapes: ReadonlySet<InputShape>) => {
  const [split, ...others] = new Set(requests.distinct.map((request) => request.split));
  return shapes.size === 1 && shapes.has("requests") && others.length === 0 ? split : undefined;
};
