/** Divides groups into requests of nearly equal size. Equal inputs have equal plans. */
import { createHash } from "node:crypto";
import { type Dataset, locateGroup } from "../groups/index.ts";
import { oneRequestTooLarge } from "./failures.ts";

export type PlannedRequest = Readonly<ReturnType<typeof planRequest>>;
export type RequestEnvelope = Readonly<ReturnType<typeof makeEnvelope>>;

export interface BodyLimit {
  readonly bytes: number;
  /** True if the limit follows from a 413. */
  readonly isDiscovered: boolean;
  /** The smallest size that the service refused. */
  readonly refusedBytes?: number;
}

/** Compares a size with the limit. With `tooLarge`, a larger `--max-request-size` would not help. */
const compareSize = (size: number, { bytes, isDiscovered, refusedBytes = Number.POSITIVE_INFINITY }: BodyLimit) => ({
  ...{ bytes: size, limit: bytes, tooLarge: isDiscovered || size >= refusedBytes },
});

type EnvelopedGroups = { readonly envelope: RequestEnvelope; readonly groups: Uint32Array };

/** Plans the requests of a run. A group over the limit has its own request. @throws Failure `one-request-too-large` */
export const planRequests = (
  dataset: Dataset,
  { limit, oneRequest, ...enveloped }: EnvelopedGroups & { readonly limit: BodyLimit; readonly oneRequest: boolean },
): readonly PlannedRequest[] => {
  const requests = cutRequests(dataset, { ...enveloped, limit: limit.bytes });
  if (requests.length > 1) {
    const { opening, closing } = enveloped.envelope;
    const commaBytes = 1;
    const perRequest = opening.length + closing.length - commaBytes;
    const all = requests.reduce((sum, { bytes }) => sum + bytes - perRequest, perRequest);
    const size = { ...compareSize(all, limit), requests: requests.length };
    if (oneRequest) throw oneRequestTooLarge(size);
    dataset.problems.report("split-requests", size);
  }
  reportOversizedRequests(dataset, { requests, limit });
  return requests;
};

export const reportOversizedRequests = (
  dataset: Dataset,
  { requests, limit }: { readonly requests: readonly PlannedRequest[]; readonly limit: BodyLimit },
): void => {
  for (const { groups, bytes } of requests.filter(({ bytes }) => bytes > limit.bytes)) {
    dataset.problems.report("group-over-limit", compareSize(bytes, limit), () => locateGroup(dataset, groups[0] ?? 0));
  }
};

export const makeEnvelope = ({ ownKeys }: Pick<Dataset, "ownKeys">, split: string) => {
  const members = [...ownKeys.values()].map(({ name, value }) => `,${name}:${value}`).join("");
  const opening = Buffer.from(`{"split":${JSON.stringify(split)},"trajectory_groups":[`);
  const closing = Buffer.from(`]${members}}`);
  return { opening, closing, digest: createHash("sha256").update(opening).update(closing).digest("hex") };
};

export const planRequest = (dataset: Dataset, { envelope, groups }: EnvelopedGroups) => ({
  groups,
  bytes: measureBodies(dataset, { envelope, groups }).bytesOf(0, groups.length),
});

/** Cuts groups into the fewest requests within a limit. @param areFull true for full instead of near-equal requests */
export const cutRequests = (
  dataset: Dataset,
  { envelope, groups, limit, areFull = false }: EnvelopedGroups & { limit: number; areFull?: boolean },
): readonly PlannedRequest[] => {
  const sizes = measureBodies(dataset, { envelope, groups });
  const fewest = cutAtLimit(sizes, limit);
  const isEven = !areFull && fewest.length > 2;
  const cuts = isEven ? cutAtLimit(sizes, findSmallestLimit(sizes, limit, fewest.length)) : fewest;
  return cuts.slice(1).map((end, at) => {
    const first = cuts[at] ?? 0;
    return { groups: groups.subarray(first, end), bytes: sizes.bytesOf(first, end) };
  });
};

const measureBodies = (dataset: Dataset, { envelope, groups }: EnvelopedGroups) => {
  const envelopeBytes = envelope.opening.length + envelope.closing.length;
  // The bytes before each group, including a comma after each group.
  const before = new Float64Array(groups.length + 1);
  for (let at = 0; at < groups.length; at++) {
    before[at + 1] = (before[at] ?? 0) + dataset.groups.bytesOf(groups[at] ?? 0) + 1;
  }
  const bytesOf = (from: number, end: number): number =>
    envelopeBytes + (before[end] ?? 0) - (before[from] ?? 0) - (end > from ? 1 : 0);
  return { count: groups.length, bytesOf };
};

/** Returns the bytes of the larger half of a request that is cut as evenly as possible. */
export const findHalfBytes = (dataset: Dataset, enveloped: EnvelopedGroups): number => {
  const sizes = measureBodies(dataset, enveloped);
  const { count, bytesOf } = sizes;
  const [, middle = 0] = cutAtLimit(sizes, findSmallestLimit(sizes, bytesOf(0, count), 3));
  return Math.max(bytesOf(0, middle), bytesOf(middle, count));
};

/** Returns the cuts, from 0 to the number of groups, that make each request as full as possible. */
const cutAtLimit = ({ count, bytesOf }: ReturnType<typeof measureBodies>, limit: number): readonly number[] => {
  const cuts = [0];
  const firstStep = 2 ** Math.floor(Math.log2(Math.max(1, count)));
  for (let first = 0; first < count; first = cuts.at(-1) ?? count) {
    let end = first + 1;
    // Searches in halving steps, because the size grows with each group.
    for (let step = firstStep; step >= 1; step /= 2) {
      if (end + step <= count && bytesOf(first, end + step) <= limit) end += step;
    }
    cuts.push(end);
  }
  return cuts;
};

/** Returns the smallest limit with at most `cuts` cuts, including 0 and the end. Requests are then nearly equal. */
const findSmallestLimit = (sizes: Parameters<typeof cutAtLimit>[0], limit: number, cuts: number): number => {
  let low = 1;
  let high = limit;
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    if (cutAtLimit(sizes, middle).length <= cuts) high = middle;
    else low = middle + 1;
  }
  return low;
};
