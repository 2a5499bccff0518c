/** Compares the requests of the input: their splits and own keys must agree. */
import {
  hasSameSpelling,
  type InputShape,
  type OwnKeys,
  type RequestFacts,
  type Requests,
  type ScanResult,
} from "../groups/parts/scan-result.ts";
import { formatLine } from "./rules/positions.ts";

/** Reports requests with another split or with different own keys. @param file the only input, if there is one */
export const compareRequests = (
  { requests, shapes, problems }: Pick<ScanResult, "requests" | "shapes" | "problems">,
  { split, file }: { readonly split: string | undefined; readonly file?: string | undefined },
): void => {
  const isMixed = shapes.size > 1;
  if (isMixed) problems.report("mixed-shapes", { shapes: [...shapes] }, () => (file === undefined ? {} : { file }));
  const [first, ...others] = requests.different;
  if (first === undefined) return;
  const locate = (request: RequestFacts, key: string) => request.keyLocations.get(key) ?? request.location;
  const reportKey = (request: RequestFacts, key: string | undefined, other: string): void => {
    if (key !== undefined) problems.report("request-key-mismatch", { key, other }, () => locate(request, key));
  };
  for (const request of requests.different) {
    const own = request.split;
    if (split === undefined || own === undefined || own === split) continue;
    problems.report("split-mismatch", { own, given: split }, () => locate(request, "split"));
  }
  for (const other of others) reportKey(other, findDifferingKey(first.keys, other.keys), formatLine(first.location));
  const rest = [...shapes].filter((shape) => shape !== "requests").join(" and ");
  if (isMixed) reportKey(first, first.keys.keys().next().value, `the ${rest}`);
};

const findDifferingKey = (a: OwnKeys, b: OwnKeys): string | undefined =>
  [...a.keys(), ...b.keys()].find((key) => {
    const [own, other] = [a.get(key), b.get(key)];
    return own === undefined || other === undefined || !hasSameSpelling(own.value, other.value);
  });

/** Returns the split that all inputs name; undefined unless all are requests that name it. */
export const findCommonSplit = (requests: Requests, shapes: ReadonlySet<InputShape>): string | undefined => {
  const [split, ...others] = new Set(requests.different.map((request) => request.split));
  return shapes.size === 1 && shapes.has("requests") && others.length === 0 ? split : undefined;
};

/** Lists the different splits of the requests. */
export const listSplits = (requests: Requests): readonly string[] => [
  ...new Set(requests.different.flatMap(({ split }) => split ?? [])),
];
