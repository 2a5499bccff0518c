/** Finds groups whose rollouts were logged before with other bytes or in other groups. */

import type { Dataset } from "../../rollouts/dataset/read-dataset.ts";
import { countWhile } from "../../rollouts/index/column.ts";
import { dedupKeyBytes } from "../../rollouts/index/dedup-keys.ts";
import { Breaks } from "../../system/breaks.ts";
import { isLogged, isUnknown } from "../ledger/entries.ts";
import type { Delivery } from "./delivery.ts";

const digestsOf = ({ groups, scan }: Pick<Dataset, "groups" | "scan">, group: number) =>
  groups.rowsOf(group).map((row) => scan.parts.sampled.at(row));

/** Returns the number of the trajectories of each group, and then their digests, as doubles. */
export const collectSampled = (dataset: Pick<Dataset, "groups" | "scan">, chosen: Iterable<number>) => {
  const numbers = Array.from(chosen, (group) => digestsOf(dataset, group)).flatMap((own) => [own.length, ...own]);
  return new Uint8Array(Float64Array.from(numbers).buffer);
};

function* listSampled(bytes: Uint8Array) {
  const numbers = new Float64Array(Uint8Array.from(bytes).buffer);
  for (let at = 0; at < numbers.length; at += 1 + (numbers[at] ?? 0))
    yield numbers.subarray(at + 1, at + 1 + (numbers[at] ?? 0));
}

/** Depends on the order. Digests are below 2^51, so the sum is exact. */
const joinDigests = (digests: Iterable<number>) => {
  let sum = 0;
  for (const digest of digests) sum = (3 * sum + digest) % (2 ** 51 - 129);
  return sum;
};

/** Finds digests of the ledger among those of the input. 0 is the digest of nothing. */
const openSearch = (digests: Float64Array) => {
  const sorted = digests.sort();
  const found = new Uint8Array(sorted.length);
  const positionOf = (digest: number) => countWhile(sorted.length, (at) => (sorted[at] ?? 0) < digest);
  return {
    mark(digest: number) {
      const at = positionOf(digest);
      if (digest > 0 && sorted[at] === digest) found[at] = 1;
    },
    isMarked: (digest: number) => found[positionOf(digest)] === 1,
  };
};

/** Expects groups that will be sent. */
export const reportSampledBefore = async (delivery: Delivery, unsent: Uint32Array) => {
  const { dataset, dedupKeys, isGrowing, runLedger, policy, tools } = delivery;
  if (policy.resendLogged || unsent.length === 0) return;
  const breaks = new Breaks(tools.host.signal);
  const joined = new Float64Array(unsent.length);
  const single = new Float64Array(unsent.reduce((sum, group) => sum + dataset.groups.trajectoriesOf(group), 0));
  let rows = 0;
  for (const [at, group] of unsent.entries()) {
    if (breaks.isDue()) await breaks.take();
    const digests = digestsOf(dataset, group);
    joined[at] = joinDigests(digests);
    single.set(digests, rows);
    rows += digests.length;
  }
  const [whole, parts] = [openSearch(joined), openSearch(single)];
  for await (const { state, dedupKeys: keys, sampled } of runLedger.allEntries()) {
    if (!isLogged(state) && !isUnknown(state)) continue;
    let at = 0;
    for (const digests of listSampled(sampled)) {
      if (breaks.isDue()) await breaks.take();
      for (const digest of digests) parts.mark(digest);
      // A group of the input is no earlier version of another, and a growing input can still get the group.
      if (!isGrowing && dedupKeys.find(keys, at++ * dedupKeyBytes) < 0) whole.mark(joinDigests(digests));
    }
  }
  let [groups, trajectories] = [0, 0];
  for (const group of unsent) {
    if (breaks.isDue()) await breaks.take();
    const digests = digestsOf(dataset, group);
    if (whole.isMarked(joinDigests(digests))) groups++;
    else trajectories += digests.filter(parts.isMarked).length;
  }
  const { problems } = dataset.scan;
  if (groups > 0) problems.report("logged-differently", { groups });
  if (trajectories > 0) problems.report("logged-in-other-groups", { trajectories });
};
