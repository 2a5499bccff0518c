/** Decides which groups and trajectories are kept: by an expression, by their rewards, by chance, by shard. */
import { createHash } from "node:crypto";
import type { LeftOutBy, Reading } from "../read.ts";
import { openWhere, rewardOf } from "./where.ts";

/** What is wanted of an input; all of it if nothing is given. */
export interface Choosing {
  /** An expression that is true of the trajectories that are wanted. */
  readonly where?: string | undefined;
  /** How many trajectories of each group, those with the highest rewards. */
  readonly best?: number | undefined;
  /** How many groups; the seed decides which. */
  readonly sample?: number | undefined;
  readonly seed: string;
  /** One of how many parts, from 1, that groups fall into by their digests: each group is in exactly one. */
  readonly shard?: { readonly part: number; readonly of: number } | undefined;
}

/** What is kept of the groups of a reading. */
export interface Selection {
  /** 1 for each group that is kept. Invalid groups are kept, and stay invalid. */
  readonly kept: Uint8Array;
  /** Positions of the trajectories that are kept of each group that loses some. */
  readonly cut: ReadonlyMap<number, readonly number[]>;
  /** What is left out, by the option that does it. */
  readonly leftOut: LeftOutBy;
}

/** Bytes of a digest that decide the shard of its group: as many as a number holds exactly. */
const lotBytes = 6;

/** Selects groups. @throws Failure `where-wrong`, `input-changed`; the signal's reason */
export const select = async (reading: Reading, choosing: Choosing, signal: AbortSignal): Promise<Selection> => {
  const { groups } = reading;
  const { shard } = choosing;
  const asked = (["where", "best", "sample", "shard"] as const).filter((option) => choosing[option] !== undefined);
  const leftOut: { readonly [Option in keyof LeftOutBy]: { trajectories: number; groups: number } } =
    Object.fromEntries(asked.map((option) => [option, { trajectories: 0, groups: 0 }]));
  const leave = (by: keyof LeftOutBy, trajectories: number, whole: number): void => {
    const left = leftOut[by];
    if (left === undefined) return;
    left.trajectories += trajectories;
    left.groups += whole;
  };
  const sampled = sampleOf(reading, choosing);
  const isOfShard = (group: number): boolean =>
    shard === undefined || Buffer.from(groups.digestOf(group)).readUIntBE(0, lotBytes) % shard.of === shard.part - 1;
  const keptOf = keptBy(reading, choosing, leave);
  const kept = new Uint8Array(groups.count);
  const cut = new Map<number, readonly number[]>();
  for (let group = 0; group < groups.count; group++) {
    signal.throwIfAborted();
    if (!groups.isValid(group)) {
      kept[group] = 1;
      continue;
    }
    const trajectories = groups.trajectoriesOf(group);
    const isSampled = sampled?.has(group) !== false;
    if (!isSampled || !isOfShard(group)) {
      leave(isSampled ? "shard" : "sample", trajectories, 1);
      continue;
    }
    const positions = await keptOf?.(group);
    const isCut = positions !== undefined && positions.length < trajectories;
    kept[group] = isCut && positions.length === 0 ? 0 : 1;
    if (isCut && positions.length > 0) cut.set(group, positions);
  }
  return { kept, cut, leftOut };
};

/** Groups that chance chooses: those whose digests come first with the seed, at any position. */
const sampleOf = ({ groups }: Reading, { sample, seed }: Choosing): ReadonlySet<number> | undefined => {
  if (sample === undefined) return undefined;
  const drawn = Array.from({ length: groups.count }, (_, group) => group)
    .filter((group) => groups.isValid(group))
    .map((group) => {
      const lot = createHash("sha256").update(`${seed} `).update(groups.digestOf(group)).digest("hex");
      return { group, lot };
    });
  const first = drawn.sort((a, b) => (a.lot < b.lot ? -1 : a.lot > b.lot ? 1 : a.group - b.group)).slice(0, sample);
  return new Set(first.map(({ group }) => group));
};

/** Finds the positions of the trajectories that are kept of a group; undefined if no option is about trajectories. */
const keptBy = (
  reading: Reading,
  { where, best }: Choosing,
  leave: (by: "where" | "best", trajectories: number, groups: number) => void,
): ((group: number) => Promise<readonly number[]>) | undefined => {
  if (where === undefined && best === undefined) return undefined;
  const see = openWhere(reading, where);
  return async (group) => {
    const { trajectories, isWanted } = await see(group);
    const kept = trajectories.map((_, at) => at).filter(isWanted);
    const isGone = kept.length === 0 && trajectories.length > 0;
    leave("where", trajectories.length - kept.length, isGone ? 1 : 0);
    if (best === undefined || kept.length <= best) return kept;
    leave("best", kept.length - best, 0);
    const byReward = kept.toSorted((a, b) => rewardOf(trajectories[b]) - rewardOf(trajectories[a]) || a - b);
    return byReward.slice(0, best).sort((a, b) => a - b);
  };
};
