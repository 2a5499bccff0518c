/** Finds groups whose rollouts were logged before with other bytes or in other groups. */

import type { Dataset } from "../../rollouts/dataset/read-dataset.ts";
import { dedupKeyBytes } from "../../rollouts/index/dedup-keys.ts";
import { Breaks } from "../../system/breaks.ts";
import { isLogged, isUnknown } from "../ledger/entries.ts";
import type { Delivery } from "./delivery.ts";

type Groups = Pick<Dataset, "sources" | "groups" | "scan">;

const digestsOf = ({ groups, scan }: Groups, group: number) =>
  groups.rowsOf(group).map((row) => scan.parts.sampled.at(row));

/** Identifies the bytes of a converted group, whose dedup key does not. 0 for other groups. */
const bytesNumberOf = ({ sources, groups, scan }: Groups, group: number) => {
  const { source, checksum, length } = scan.parts.columns;
  const part = groups.firstOf(group);
  const isConverted = sources[source.at(part)]?.originals !== undefined && !groups.isBare(group);
  return isConverted ? checksum.at(part) * 2 ** 20 + (length.at(part) % 2 ** 20) : 0;
};

/** Returns doubles: for each group, the number of its trajectories, the number of its bytes, and the digests. */
export const collectSampled = (dataset: Groups, chosen: Iterable<number>) => {
  const digests = Array.from(chosen, (group) => [bytesNumberOf(dataset, group), ...digestsOf(dataset, group)]);
  return new Uint8Array(Float64Array.from(digests.flatMap((own) => [own.length - 1, ...own])).buffer);
};

function* listSampled(collected: Uint8Array) {
  const numbers = new Float64Array(Uint8Array.from(collected).buffer);
  for (let at = 0; at < numbers.length; at += 2 + (numbers[at] ?? 0))
    yield { bytes: numbers[at + 1] ?? 0, digests: numbers.subarray(at + 2, at + 2 + (numbers[at] ?? 0)) };
}

/** Depends on the order. Digests are below 2^51, so the sum is exact. */
const joinDigests = (digests: Iterable<number>) => {
  let sum = 0;
  for (const digest of digests) sum = (3 * sum + digest) % (2 ** 51 - 129);
  return sum;
};

/** Records of one group can be in any order. */
const isReordered = (a: Float64Array, b: Float64Array) =>
  joinDigests(a) !== joinDigests(b) && joinDigests(a.toSorted()) === joinDigests(b.toSorted());

/** Finds digests of the ledger among those of the input. 0 is the digest of nothing. */
const openSearch = (digests: readonly number[]) => {
  const last = 2 ** Math.ceil(Math.log2(1.25 * digests.length + 1)) - 1;
  /** A marked digest is negative, and a free slot 0. */
  const slots = new Float64Array(last + 1);
  const slotOf = (digest: number) => {
    let at = digest & last;
    while (slots[at] !== 0 && slots[at] !== digest && slots[at] !== -digest) at = (at + 1) & last;
    return at;
  };
  for (const digest of digests) if (digest > 0) slots[slotOf(digest)] = digest;
  return {
    has: (digest: number) => slots[slotOf(digest)] !== 0,
    mark(digest: number) {
      const at = slotOf(digest);
      if (slots[at] !== 0) slots[at] = -digest;
    },
    isMarked: (digest: number) => (slots[slotOf(digest)] ?? 0) < 0,
  };
};

/** Finds earlier groups and trajectories among those that will be sent. */
const openUnsent = async (dataset: Groups, unsent: Uint32Array, breaks: Breaks) => {
  const joined: number[] = [];
  const single: number[] = [];
  for (const group of unsent) {
    if (breaks.isDue()) await breaks.take();
    const digests = digestsOf(dataset, group);
    joined.push(joinDigests(digests));
    for (const digest of digests) single.push(digest);
  }
  return { joined, single, groups: openSearch(joined), trajectories: openSearch(single) };
};

/** @param unsent groups that will be sent */
export const reportSampledBefore = async (delivery: Delivery, unsent: Uint32Array) => {
  const { dataset, dedupKeys, isGrowing, outcomes, recorder, policy, tools } = delivery;
  const isConverted = dataset.sources.some(({ originals }) => originals);
  if (policy.resendLogged || (unsent.length === 0 && !isConverted)) return;
  const breaks = new Breaks(tools.host.signal);
  let search: Awaited<ReturnType<typeof openUnsent>> | undefined;
  const changed = new Set<number>();
  for await (const { state, dedupKeys: keys, sampled } of recorder.allEntries()) {
    if (!isLogged(state) && !isUnknown(state)) continue;
    search ??= await openUnsent(dataset, unsent, breaks);
    let at = 0;
    for (const { bytes, digests } of listSampled(sampled)) {
      if (breaks.isDue(digests.byteLength)) await breaks.take();
      for (const digest of digests) search.trajectories.mark(digest);
      const joined = joinDigests(digests);
      const isCandidate = bytes > 0 || search.groups.has(joined);
      const own = isCandidate ? dedupKeys.find(keys, at * dedupKeyBytes) : -1;
      at++;
      // A group of the input is no earlier version of another, and a growing input can still get the group.
      if (own < 0 && !isGrowing) search.groups.mark(joined);
      // The last logged request decides.
      if (own >= 0 && isLogged(state)) changed.delete(own);
      if (own < 0 || !isLogged(state) || bytes === 0 || bytes === bytesNumberOf(dataset, own)) continue;
      if (!isReordered(digests, Float64Array.from(digestsOf(dataset, own)))) changed.add(own);
    }
  }
  if (!search) return;
  let differently = [...changed].filter((group) => outcomes.outcomeOf(group) === "already_logged").length;
  let elsewhere = 0;
  let row = 0;
  for (const [at, group] of unsent.entries()) {
    if (breaks.isDue()) await breaks.take();
    const end = row + dataset.groups.trajectoriesOf(group);
    if (search.groups.isMarked(search.joined[at] ?? 0)) differently++;
    else elsewhere += search.single.slice(row, end).filter(search.trajectories.isMarked).length;
    row = end;
  }
  const { problems } = dataset.scan;
  if (differently > 0) problems.report("logged-differently", { groups: differently });
  if (elsewhere > 0) problems.report("logged-in-other-groups", { trajectories: elsewhere });
};
