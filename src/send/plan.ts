/** Decides which groups make up which request: near-equal parts, cut only between groups, the same for the same input. */
import { createHash } from "node:crypto";
import { Failure } from "../failure.ts";
import type { Reading } from "../groups/index.ts";
import { spotOfGroup } from "../groups/index.ts";

/** One request. */
export interface PlannedRequest {
  /** Positions of its groups, in the order they are sent. */
  readonly groups: Uint32Array;
  /** Length of its body. */
  readonly bytes: number;
  /** Digest of what stands around its groups. */
  readonly frame: string;
}

/** What stands in every body before and behind the groups, which are separated by commas. */
export interface Frame {
  readonly opening: Buffer;
  readonly closing: Buffer;
  /** Tells it from any other. */
  readonly digest: string;
}

/** Groups, by their positions, and what stands around them. */
interface Framed {
  readonly frame: Frame;
  readonly groups: Uint32Array;
}

/** All requests of a run, in their order. */
export interface Plan extends Frame {
  readonly requests: readonly PlannedRequest[];
}

/** What is planned, and within which bounds. */
interface PlanOptions {
  readonly split: string;
  /** Positions of the groups to send, in the order of the input. */
  readonly groups: Uint32Array;
  /** Largest body, in bytes. */
  readonly limit: number;
  /** Whether a second request is refused. */
  readonly oneRequest: boolean;
  /** Whether the limit is one that the service was found to have. */
  readonly found?: boolean;
}

/**
 * Plans the requests of what was read. A group that is larger than the limit is a request by itself.
 * More than one request, and a group over the limit, are reported as warnings.
 * @throws Failure `one-request-too-large`
 */
export const planRequests = (
  reading: Reading,
  { split, groups, limit, oneRequest, found = false }: PlanOptions,
): Plan => {
  const frame = frameOf(reading, split);
  const requests = cutRequests(reading, { frame, groups, limit });
  if (requests.length > 1 && oneRequest) {
    const { bytes } = requestOf(reading, { frame, groups });
    throw new Failure("one-request-too-large", { bytes, limit, requests: requests.length });
  }
  if (requests.length > 1) {
    reading.problems.report("split-requests", { requests: requests.length, tooLarge: found }, () => ({}));
  }
  reportOversized(reading, { requests, limit, found });
  return { ...frame, requests };
};

/** What stands around the groups of every request of a run. */
export const frameOf = ({ ownKeys }: Reading, split: string): Frame => {
  const own = [...ownKeys.values()].map(({ name, value }) => `,${name}:${value}`).join("");
  const opening = Buffer.from(`{"split":${JSON.stringify(split)},"trajectory_groups":[`);
  const closing = Buffer.from(`]${own}}`);
  return { opening, closing, digest: createHash("sha256").update(opening).update(closing).digest("hex") };
};

/** A request of exactly these groups. */
export const requestOf = (reading: Reading, framed: Framed): PlannedRequest => ({
  groups: framed.groups,
  bytes: sizesOf(reading, framed).bytesOf(0, framed.groups.length),
  frame: framed.frame.digest,
});

/** Cuts groups into as few requests within a limit as there can be: near-equal ones, or such that are as full as can be, but for the last. */
export const cutRequests = (
  reading: Reading,
  { limit, areFull = false, ...framed }: Framed & { readonly limit: number; readonly areFull?: boolean },
): readonly PlannedRequest[] => {
  const sizes = sizesOf(reading, framed);
  const fewest = filled(sizes, limit);
  const cuts = areFull || fewest.length <= 2 ? fewest : filled(sizes, smallestLimit(sizes, limit, fewest.length - 1));
  return cuts.slice(1).map((end, at) => {
    const first = cuts[at] ?? 0;
    const groups = framed.groups.subarray(first, end);
    return { groups, bytes: sizes.bytesOf(first, end), frame: framed.frame.digest };
  });
};

const sizesOf = (reading: Reading, { frame, groups }: Framed): Sizes => {
  const around = frame.opening.length + frame.closing.length;
  /** Bytes of the groups before each, with the comma behind each: a request of several is one comma shorter. */
  const before = new Float64Array(groups.length + 1);
  for (let at = 0; at < groups.length; at++) {
    before[at + 1] = (before[at] ?? 0) + reading.groups.bytesOf(groups[at] ?? 0) + 1;
  }
  return {
    count: groups.length,
    bytesOf: (from, end) => around + (before[end] ?? 0) - (before[from] ?? 0) - (end > from ? 1 : 0),
  };
};

/** Reports the requests that are over a limit: each is a group that can't be split. */
export const reportOversized = (
  reading: Reading,
  {
    requests,
    limit,
    found: isFound,
  }: { readonly requests: readonly PlannedRequest[]; readonly limit: number; readonly found: boolean },
): void => {
  for (const { groups, bytes } of requests) {
    if (bytes <= limit) continue;
    const [group = 0] = groups;
    reading.problems.report("group-over-limit", { bytes, limit, tooLarge: isFound }, () => spotOfGroup(reading, group));
  }
};

interface Sizes {
  readonly count: number;
  readonly bytesOf: (first: number, end: number) => number;
}

/** Where to cut, so that each request is filled up to a limit: positions of groups, 0 and the last included. A group that is over it stands alone. */
const filled = ({ count, bytesOf }: Sizes, limit: number): readonly number[] => {
  const cuts = [0];
  for (let first = 0; first < count; ) {
    let end = first + 1;
    let step = 1;
    // Doubling, then halving: a few looks at a request instead of one at each group.
    while (end + step <= count && bytesOf(first, end + step) <= limit) {
      end += step;
      step *= 2;
    }
    for (; step >= 1; step = Math.floor(step / 2)) {
      if (end + step <= count && bytesOf(first, end + step) <= limit) end += step;
    }
    cuts.push(end);
    first = end;
  }
  return cuts;
};

/** The smallest limit that still makes no more requests: the parts are then as equal as they can be. */
const smallestLimit = (sizes: Sizes, limit: number, requests: number): number => {
  let low = 1;
  let high = limit;
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    if (filled(sizes, middle).length - 1 <= requests) high = middle;
    else low = middle + 1;
  }
  return low;
};
