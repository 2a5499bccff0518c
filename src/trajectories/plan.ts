/** Decides which groups make up which request: near-equal parts, cut only between groups, the same for the same input. */
import { Failure } from "../failure.ts";
import type { Reading } from "./read.ts";

/** One request: groups in their order, from `first` up to, not including, `end`. */
export interface PlannedRequest {
  readonly first: number;
  readonly end: number;
  /** Length of its body. */
  readonly bytes: number;
}

/** All requests of a run, in their order. */
export interface Plan {
  readonly requests: readonly PlannedRequest[];
  /** What stands in every body before and behind the groups, which are separated by commas. */
  readonly opening: Buffer;
  readonly closing: Buffer;
  /** Length of all bodies. */
  readonly bytes: number;
}

/**
 * Plans the requests of what was read. A group that is larger than the limit is a request by itself.
 * More than one request, and a group over the limit, are reported as warnings.
 * @throws Failure `one-request-too-large`
 */
export const planRequests = (
  reading: Reading,
  { split, limit, oneRequest }: { readonly split: string; readonly limit: number; readonly oneRequest: boolean },
): Plan => {
  const own = [...reading.ownKeys.values()].map(({ name, value }) => `,${name}:${value}`).join("");
  const opening = Buffer.from(`{"split":${JSON.stringify(split)},"trajectory_groups":[`);
  const closing = Buffer.from(`]${own}}`);
  const frame = opening.length + closing.length;
  const sizes = new Float64Array(reading.groups.count + 1);
  // Each group with the comma behind it: a request of several is one comma shorter than their sum.
  for (let group = 0; group < reading.groups.count; group++) {
    sizes[group + 1] = (sizes[group] ?? 0) + reading.groups.bytesOf(group) + 1;
  }
  const bytesOf = (first: number, end: number) => frame + (sizes[end] ?? 0) - (sizes[first] ?? 0) - 1;
  const cuts = cutsOf({ count: reading.groups.count, limit, bytesOf });
  const requests = cuts.slice(1).map((end, at) => {
    const first = cuts[at] ?? 0;
    return { first, end, bytes: bytesOf(first, end) };
  });
  if (requests.length > 1 && oneRequest) {
    const bytes = bytesOf(0, reading.groups.count);
    throw new Failure("one-request-too-large", { bytes, limit, requests: requests.length });
  }
  report(reading, { requests, limit });
  return { requests, opening, closing, bytes: requests.reduce((sum, { bytes }) => sum + bytes, 0) };
};

const report = (
  { problems, groups, found, sources }: Reading,
  { requests, limit }: { readonly requests: readonly PlannedRequest[]; readonly limit: number },
): void => {
  if (requests.length > 1) problems.report("split-requests", { requests: requests.length }, () => ({}));
  for (const { first, bytes } of requests) {
    if (bytes <= limit) continue;
    const part = found.parts.at(groups.partsOf(first)[0] ?? 0);
    const file = sources[part.source]?.name;
    problems.report("group-over-limit", { bytes, limit }, () => ({
      ...(file === undefined ? {} : { file }),
      line: part.line,
    }));
  }
};

interface Sizes {
  readonly count: number;
  readonly limit: number;
  readonly bytesOf: (first: number, end: number) => number;
}

/** Where to cut: positions of groups, 0 and the last included. As few requests as there can be, near-equal ones. */
const cutsOf = (sizes: Sizes): readonly number[] => {
  const { count, limit, bytesOf } = sizes;
  if (count === 0) return [0];
  const fewest = filled(sizes, limit);
  const requests = fewest.length - 1;
  if (requests === 1) return fewest;
  const total = bytesOf(0, count);
  const even = [0];
  for (let part = 1; part < requests; part++) {
    const last = even[part - 1] ?? 0;
    const cut = nearestEnd({ ...sizes, from: last + 1, target: (total * part) / requests });
    even.push(Math.min(cut, count - (requests - part)));
  }
  even.push(count);
  if (even.slice(1).every((end, at) => bytesOf(even[at] ?? 0, end) <= limit)) return even;
  return filled(sizes, smallestLimit(sizes, requests));
};

/** Cuts that fill each request up to a limit; a group that is over it stands alone. */
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
const smallestLimit = (sizes: Sizes, requests: number): number => {
  let low = 1;
  let high = sizes.limit;
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    if (filled(sizes, middle).length - 1 <= requests) high = middle;
    else low = middle + 1;
  }
  return low;
};

/** The cut from `from` on whose bytes before it are nearest to a target. */
const nearestEnd = ({
  count,
  bytesOf,
  from,
  target,
}: Sizes & { readonly from: number; readonly target: number }): number => {
  let low = from;
  let high = count;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (bytesOf(0, middle) < target) low = middle + 1;
    else high = middle;
  }
  return low > from && target - bytesOf(0, low - 1) < bytesOf(0, low) - target ? low - 1 : low;
};
