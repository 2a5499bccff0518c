/** Divides groups into requests, in the same way for the same input. */
import { createHash } from "node:crypto";
import type { Dataset } from "../../rollouts/dataset/read-dataset.ts";
import { countWhile } from "../../rollouts/index/column.ts";
import type { RecordedRequest } from "../ledger/request-recorder.ts";

/** A request with `recorded` repeats the bytes and the key of an earlier request. */
export type PlannedRequest = Readonly<{ groups: Uint32Array; bytes: number; recorded?: RecordedRequest }>;

/** The bytes of a request before and after its groups. */
export type RequestEnvelope = Readonly<{ opening: Buffer; closing: Buffer; digest: string }>;

export interface BodyLimit {
  bytes: number;
  /** True if an earlier 413 set the limit. */
  isDiscovered: boolean;
  refusedBytes?: number;
}

/** `tooLarge` is true if a larger `--max-request-size` does not help. */
const compareSize = (bytes: number, limit: BodyLimit) => {
  const { isDiscovered, refusedBytes = Number.POSITIVE_INFINITY } = limit;
  return { bytes, limit: limit.bytes, tooLarge: isDiscovered || bytes >= refusedBytes };
};

type EnvelopedGroups = { envelope: RequestEnvelope; groups: Uint32Array };

/** A group over the limit gets its own request. */
export const planRequests = (dataset: Dataset, { limit, ...enveloped }: EnvelopedGroups & { limit: BodyLimit }) => {
  const requests = cutRequests(dataset, { ...enveloped, limit: limit.bytes });
  if (requests.length > 1) {
    const size = { ...compareSize(planRequest(dataset, enveloped).bytes, limit), requests: requests.length };
    dataset.scan.problems.report("split-requests", size);
  }
  return requests;
};

export const createEnvelope = ({ scan }: Pick<Dataset, "scan">, split: string | undefined): RequestEnvelope => {
  // Every request has the keys of the requests in the input.
  const [first] = scan.requests.distinct;
  const members = Array.from(first?.keys.values() ?? [], ({ name, value }) => `,${name}:${value}`).join("");
  const ownSplit = split === undefined ? "" : `"split":${JSON.stringify(split)},`;
  const opening = Buffer.from(`{${ownSplit}"trajectory_groups":[`);
  const closing = Buffer.from(`]${members}}`);
  return { opening, closing, digest: createHash("sha256").update(opening).update(closing).digest("hex") };
};

export const planRequest = (dataset: Dataset, enveloped: EnvelopedGroups): PlannedRequest => {
  const { count, bytesOf } = measureBodies(dataset, enveloped);
  return { groups: enveloped.groups, bytes: bytesOf(0, count) };
};

/** Makes as few requests as possible. Unless `areFull`, the requests have nearly equal sizes. */
export const cutRequests = (
  dataset: Dataset,
  { limit, areFull = false, ...enveloped }: EnvelopedGroups & { limit: number; areFull?: boolean },
) => {
  const sizes = measureBodies(dataset, enveloped);
  const fewest = cutAtLimit(sizes, limit);
  const isEven = !areFull && fewest.length > 1;
  const ends = isEven ? cutAtLimit(sizes, findSmallestLimit(sizes, limit, fewest.length)) : fewest;
  return ends.map((end, at) => {
    const first = ends[at - 1] ?? 0;
    return { groups: enveloped.groups.subarray(first, end), bytes: sizes.bytesOf(first, end) };
  });
};

type BodySizes = ReturnType<typeof measureBodies>;

const measureBodies = (dataset: Dataset, { envelope, groups }: EnvelopedGroups) => {
  const envelopeBytes = envelope.opening.length + envelope.closing.length;
  // Each sum includes a comma after each group.
  const before = new Float64Array(groups.length + 1);
  for (let at = 0; at < groups.length; at++) {
    before[at + 1] = (before[at] ?? 0) + dataset.groups.bytesOf(groups[at] ?? 0) + 1;
  }
  const bytesOf = (from: number, end: number) =>
    envelopeBytes + (before[end] ?? 0) - (before[from] ?? 0) - (end > from ? 1 : 0);
  return { count: groups.length, bytesOf };
};

/** Halves the groups, and returns the size of the larger half. */
export const findHalfBytes = (dataset: Dataset, enveloped: EnvelopedGroups) => {
  const sizes = measureBodies(dataset, enveloped);
  const { count, bytesOf } = sizes;
  const [middle = 0] = cutAtLimit(sizes, findSmallestLimit(sizes, bytesOf(0, count), 2));
  return Math.max(bytesOf(0, middle), bytesOf(middle, count));
};

const cutAtLimit = ({ count, bytesOf }: BodySizes, limit: number) => {
  const ends: number[] = [];
  const firstStep = 2 ** Math.floor(Math.log2(Math.max(1, count)));
  for (let first = 0; first < count; first = ends.at(-1) ?? count) {
    let end = first + 1;
    for (let step = firstStep; step >= 1; step /= 2) {
      if (end + step <= count && bytesOf(first, end + step) <= limit) end += step;
    }
    ends.push(end);
  }
  return ends;
};

const findSmallestLimit = (sizes: BodySizes, limit: number, maxRequests: number) =>
  1 + countWhile(limit - 1, (at) => cutAtLimit(sizes, at + 1).length > maxRequests);
