/** Selects groups and trajectories. */
import { createHash } from "node:crypto";
import { Breaks } from "../../../system/breaks.ts";
import type { Dataset, FilteredOut, Selection } from "../read-dataset.ts";
import { listAnswered } from "../training-rows.ts";
import type { FilterOptions } from "./filter-groups.ts";

/** Evaluating an expression costs as much as reading this many bytes, and 16 times those of the group. */
const bytesPerFilter = 2 ** 15;

/** @throws Failure `invalid-filter`, `input-changed`; the signal's reason */
export const selectGroups = async (dataset: Dataset, selection: Selection, signal: AbortSignal) => {
  const { groups, scan } = dataset;
  const rewardsOf = (group: number) => scan.parts.facts.reward.pick(groups.rowsOf(group));
  const { where, pass, best } = selection;
  const { filteredOut, countOut } = openCounts(selection);
  const preferAnswered = selection.needsAnswer && best !== undefined ? findAnswered : keepAll;
  const breaks = new Breaks(signal);
  const isSampled = await drawSample(dataset, selection, breaks);
  const findWanted = await openTrajectoryFilter(dataset, { where, pass, rewardsOf, signal });
  const kept: number[] = [];
  /** The number of trajectories that lack a value of the expression. */
  let lacking = 0;
  /** For each group that loses trajectories, the indexes of its selected trajectories. */
  const subsets = new Map<number, readonly number[]>();
  for (let group = 0; group < groups.count; group++) {
    if (breaks.isDue(where === undefined ? 0 : bytesPerFilter + 16 * groups.bytesOf(group))) await breaks.take();
    const count = groups.trajectoriesOf(group);
    if (!groups.isValid(group)) kept.push(group);
    else if (!isSampled(group)) countOut("sample", count, 1);
    else if (!isInShard(dataset, selection, group)) countOut("shard", count, 1);
    else if (where === undefined && best === undefined) kept.push(group);
    else {
      const { wanted, absent } = await findWanted(group, count);
      lacking += absent;
      countOut("where", count - wanted.length, wanted.length === 0 && count > 0 ? 1 : 0);
      const positions = findBest(await preferAnswered(dataset, group, wanted), rewardsOf(group), best);
      countOut("best", wanted.length - positions.length, 0);
      if (positions.length > 0 || count === 0) kept.push(group);
      if (positions.length > 0 && positions.length < count) subsets.set(group, positions);
    }
  }
  return { kept, subsets, filteredOut, lacking };
};

const openCounts = (selection: Selection) => {
  const options = (["where", "best", "sample", "shard"] as const).filter((option) => selection[option] !== undefined);
  const filteredOut: FilteredOut = Object.fromEntries(
    options.map((option) => [option, { trajectories: 0, groups: 0 }]),
  );
  const countOut = (by: keyof FilteredOut, trajectories: number, wholeGroups: number) => {
    const counts = filteredOut[by];
    if (!counts) return;
    counts.trajectories += trajectories;
    counts.groups += wholeGroups;
  };
  return { filteredOut, countOut };
};

const isInShard = ({ groups }: Dataset, { shard }: Selection, group: number) =>
  shard === undefined || toHash(groups.digestOf(group)) % shard.of === shard.part - 1;

/** Reads a big-endian number of 48 bits. */
const toHash = (digest: Uint8Array) => {
  let hash = 0;
  for (let at = 0; at < 6; at++) hash = hash * 256 + (digest[at] ?? 0);
  return hash;
};

type WantedFilter = Pick<FilterOptions, "pass" | "rewardsOf" | "signal"> & Pick<Selection, "where">;

const openTrajectoryFilter = async (dataset: Dataset, { where, ...options }: WantedFilter) => {
  if (where === undefined)
    return async (_: number, count: number) => ({ wanted: Array.from({ length: count }, (_, at) => at), absent: 0 });
  // Loading the code of expressions takes as long as checking several MB.
  const { openFilter } = await import("./filter-groups.ts");
  return openFilter(dataset, { where, ...options });
};

const keepAll = async (_: Dataset, __: number, wanted: readonly number[]) => wanted;

const findAnswered = async (dataset: Dataset, group: number, wanted: readonly number[]) => {
  const answered = await listAnswered(dataset, group);
  const kept = wanted.filter((at) => answered[at]);
  return kept.length > 0 ? kept : wanted;
};

/** Returns the positions of the highest rewards, in ascending order. */
const findBest = (wanted: readonly number[], rewards: ArrayLike<number>, max: number | undefined) => {
  if (max === undefined) return wanted;
  const byReward = wanted.toSorted((a, b) => (rewards[b] ?? 0) - (rewards[a] ?? 0) || a - b);
  return byReward.slice(0, max).sort((a, b) => a - b);
};

/** Ranks groups by hashes of seed and digest, so that the order of the input does not matter. */
const drawSample = async ({ groups }: Dataset, { sample, seed }: Selection, breaks: Breaks) => {
  if (sample === undefined) return () => true;
  const ranks = new Float64Array(groups.count).fill(Number.NaN);
  for (let group = 0; group < groups.count; group++) {
    if (breaks.isDue()) await breaks.take();
    if (!groups.isValid(group)) continue;
    const digest = createHash("sha256").update(`${seed} `).update(groups.digestOf(group)).digest();
    ranks[group] = toHash(digest);
  }
  // NaN is last.
  const chosen = ranks.toSorted().subarray(0, sample);
  const limit = chosen.findLast((rank) => !Number.isNaN(rank)) ?? -1;
  // Equal groups have equal ranks.
  let equal = chosen.length - chosen.indexOf(limit);
  /** Expects valid groups in ascending order. */
  return (group: number) => {
    const rank = ranks[group] ?? 0;
    return rank === limit ? equal-- > 0 : rank < limit;
  };
};
