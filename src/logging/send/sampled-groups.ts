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

/** Finds the digests of the ledger among those of the groups that will be sent. The digest of a group is negative. */
const openSearch = async (dataset: Groups, unsent: Uint32Array, breaks: Breaks) => {
  const wanted = new Set<number>();
  const found = new Set<number>();
  for (const group of unsent) {
    if (breaks.isDue()) await breaks.take();
    const digests = digestsOf(dataset, group);
    for (const digest of [-joinDigests(digests), ...digests]) wanted.add(digest);
  }
  // 0 is the digest of nothing.
  wanted.delete(0);
  const find = (digest: number) => void (wanted.has(digest) && found.add(digest));
  return { wanted, found, find };
};

/** @param unsent groups that will be sent */
export const reportSampledBefore = async (delivery: Delivery, unsent: Uint32Array) => {
  const { dataset, dedupKeys, isGrowing, outcomes, recorder, policy, tools } = delivery;
  const isConverted = dataset.sources.some(({ originals }) => originals);
  if (policy.resendLogged || (unsent.length === 0 && !isConverted)) return;
  const breaks = new Breaks(tools.host.signal);
  let search: Awaited<ReturnType<typeof openSearch>> | undefined;
  const changed = new Set<number>();
  for await (const { state, dedupKeys: keys, sampled } of recorder.allEntries()) {
    if (!isLogged(state) && !isUnknown(state)) continue;
    search ??= await openSearch(dataset, unsent, breaks);
    let at = 0;
    for (const { bytes, digests } of listSampled(sampled)) {
      if (breaks.isDue(digests.byteLength)) await breaks.take();
      digests.forEach(search.find);
      const joined = -joinDigests(digests);
      const isCandidate = bytes > 0 || search.wanted.has(joined);
      const own = isCandidate ? dedupKeys.find(keys, at * dedupKeyBytes) : -1;
      at++;
      // A group of the input is no earlier version of another, and a growing input can still get the group.
      if (own < 0 && !isGrowing) search.find(joined);
      // The last logged request decides.
      if (own >= 0 && isLogged(state)) changed.delete(own);
      if (own < 0 || !isLogged(state) || bytes === 0 || bytes === bytesNumberOf(dataset, own)) continue;
      if (!isReordered(digests, Float64Array.from(digestsOf(dataset, own)))) changed.add(own);
    }
  }
  if (!search) return;
  const { found } = search;
  let differently = [...changed].filter((group) => outcomes.outcomeOf(group) === "already_logged").length;
  let elsewhere = 0;
  for (const group of unsent) {
    if (breaks.isDue()) await breaks.take();
    const digests = digestsOf(dataset, group);
    if (found.has(-joinDigests(digests))) differently++;
    else elsewhere += digests.filter((digest) => found.has(digest)).length;
  }
  const { problems } = dataset.scan;
  if (differently > 0) problems.report("logged-differently", { groups: differently });
  if (elsewhere > 0) problems.report("logged-in-other-groups", { trajectories: elsewhere });
};
