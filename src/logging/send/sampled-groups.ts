/** Finds groups whose rollouts were logged before with other bytes or in other groups. */

import type { Dataset } from "../../rollouts/dataset/read-dataset.ts";
import { type DedupKeys, dedupKeyBytes } from "../../rollouts/index/dedup-keys.ts";
import { invalidInput } from "../../rollouts/rules/failures.ts";
import { Breaks } from "../../system/breaks.ts";
import { type Entry, isLogged, isUnknown, parseId } from "../ledger/entries.ts";
import type { Delivery, SentRequest } from "./delivery.ts";

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
export const collectSampled = (dataset: Groups, chosen: Uint32Array) => {
  const length = chosen.reduce((sum, group) => sum + 2 + dataset.groups.trajectoriesOf(group), 0);
  const numbers = new Float64Array(length);
  let at = 0;
  for (const group of chosen) {
    const digests = digestsOf(dataset, group);
    numbers.set([digests.length, bytesNumberOf(dataset, group), ...digests], at);
    at += 2 + digests.length;
  }
  return new Uint8Array(numbers.buffer);
};

/** Lists the groups of an entry, but none of an unsent request. `own` is the number of the same group, or -1. */
function* listSampled({ state, sampled, dedupKeys: keys }: Entry, dedupKeys: DedupKeys) {
  const numbers = new Float64Array(isLogged(state) || isUnknown(state) ? Uint8Array.from(sampled).buffer : []);
  for (let at = 0, offset = 0; at < numbers.length; at += 2 + (numbers[at] ?? 0), offset += dedupKeyBytes) {
    const digests = numbers.subarray(at + 2, at + 2 + (numbers[at] ?? 0));
    yield { bytes: numbers[at + 1] ?? 0, digests, joined: joinDigests(digests), own: dedupKeys.find(keys, offset) };
  }
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

const sourceOf = ({ groups, scan }: Groups, group: number) => scan.parts.columns.source.at(groups.firstOf(group));

/**
 * Finds the digests of the ledger among those of the groups that will be sent. The digest of a group is negative.
 * `wanted` has the source of each digest.
 */
const openSearch = async (dataset: Groups, unsent: Uint32Array, breaks: Breaks) => {
  const wanted = new Map<number, number>();
  const found = new Set<number>();
  for (const group of unsent) {
    if (breaks.isDue()) await breaks.take();
    const digests = digestsOf(dataset, group);
    for (const digest of [-joinDigests(digests), ...digests]) wanted.set(digest, sourceOf(dataset, group));
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
  const same = new Set<number>();
  for await (const entry of recorder.allEntries()) {
    delivery.comparedRow = parseId(entry.id);
    search ??= await openSearch(dataset, unsent, breaks);
    for (const { bytes, digests, joined, own } of listSampled(entry, dedupKeys)) {
      if (breaks.isDue(digests.byteLength)) await breaks.take();
      const source = own < 0 ? undefined : sourceOf(dataset, own);
      // The groups of a followed file can have equal rollouts, whenever they are sent.
      for (const digest of digests) if (!isGrowing || search.wanted.get(digest) !== source) search.find(digest);
      same.add(own);
      // A group of the input is no earlier version of another, unless it is of an earlier version of a followed file.
      if (own < 0 || (isGrowing && search.wanted.get(-joined) !== source)) search.find(-joined);
      // The last logged request decides.
      if (own >= 0 && isLogged(entry.state)) changed.delete(own);
      if (own < 0 || !isLogged(entry.state) || bytes === 0 || bytes === bytesNumberOf(dataset, own)) continue;
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
    // Otherwise, another run sends the group now, so that this run does not.
    else if (!same.has(group)) elsewhere += digests.filter((digest) => found.has(digest)).length;
  }
  const { problems } = dataset.scan;
  if (differently > 0) problems.report("logged-differently", { groups: differently });
  if (elsewhere > 0) problems.report("logged-in-other-groups", { trajectories: elsewhere });
};

/** Compares a request with requests that other runs recorded first, during this run. @throws Failure `invalid-input` */
export const requireFirstClaim = async (delivery: Delivery, { groups, recorded: { id = "" } }: SentRequest) => {
  const { dataset, dedupKeys, isGrowing, policy, recorder, sampledByOthers } = delivery;
  if (!recorder.isShared || policy.resendLogged || isGrowing) return;
  for await (const entry of recorder.allEntries(delivery.comparedRow + 1))
    for (const { joined, own } of listSampled(entry, dedupKeys))
      if (own < 0 && joined > 0 && !sampledByOthers.has(joined)) sampledByOthers.set(joined, parseId(entry.id));
  const row = parseId(id);
  delivery.comparedRow = Math.max(delivery.comparedRow, row);
  const isLater = (group: number) => (sampledByOthers.get(joinDigests(digestsOf(dataset, group))) ?? row) < row;
  const count = groups.filter(isLater).length;
  if (count === 0) return;
  dataset.scan.problems.report("logged-differently", { groups: count });
  throw invalidInput(dataset.scan.problems);
};
