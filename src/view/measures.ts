/** Measures groups in the background, for the table and the charts. */
import { countTokens, readCost } from "../calls/index.ts";
import { formatDecimal } from "../decimal.ts";
import {
  computeMoments,
  hasNoSampledTurn,
  hasZeroVariance,
  type IndexedGroups,
  parseRewards,
  readValidParts,
} from "../groups/index.ts";
import { parseRawJson, type RawJson } from "../json/raw-json.ts";
import { elementsOf, type JsonValue, memberAt, readRoot, spanOf } from "../json/table.ts";
import { sliceText } from "../json/walk.ts";
import type { UntrainableReason } from "./answers.ts";

/** Columns with a number for each group; NaN if it is not measured yet or has no value. Tokens and cost are sums. */
export type Measures = ReturnType<typeof createMeasures>;

export const createMeasures = (read: IndexedGroups) => {
  const { groups } = read;
  const { count } = groups;
  const column = () => new Float64Array(count).fill(Number.NaN);
  const columns = { mean: column(), spread: column(), tokens: column(), cost: column() };
  const measured = new Uint8Array(count);
  const firstTrajectories = new Float64Array(count + 1);
  for (let group = 0; group < count; group++) {
    firstTrajectories[group + 1] = (firstTrajectories[group] ?? 0) + groups.trajectoriesOf(group);
  }
  const rewards = new Float64Array(firstTrajectories[count] ?? 0).fill(Number.NaN);
  const rewardsAt = (group: number) =>
    rewards.subarray(firstTrajectories[group] ?? 0, firstTrajectories[group + 1] ?? 0);
  let measuredCount = 0;
  const setRewards = (group: number, found: readonly number[]): void => {
    measured[group] = 1;
    const own = rewardsAt(group);
    own.set(found.slice(0, own.length));
    if (!found.every(Number.isFinite) || found.length === 0) return;
    const { mean, deviation } = computeMoments(found);
    columns.mean[group] = mean;
    columns.spread[group] = deviation;
  };
  const addUsage = (group: number, bytes: Buffer): void => {
    for (const { tokens, cost } of readUsages(bytes)) {
      columns.tokens[group] = addAmount(columns.tokens[group], tokens);
      columns.cost[group] = addAmount(columns.cost[group], cost);
    }
  };
  return {
    count,
    ...columns,
    /** The rewards of all trajectories, by group. */
    rewards,
    rewardsOf: rewardsAt,
    /** The rewards of a measured group. */
    knownRewards: (group: number) => (measured[group] === 1 ? rewardsAt(group) : undefined),
    /** Number of measured groups. */
    done: (): number => measuredCount,
    /** Measures the groups. @throws Failure `input-changed`; the signal's reason */
    async measure(signal: AbortSignal): Promise<void> {
      // Rewards in the index need no reading.
      for (let group = 0; group < count; group++) {
        if (groups.isValid(group) && groups.isBare(group)) setRewards(group, groups.rewardsOf(group));
      }
      for await (const { group, part, bytes } of readValidParts(read, signal)) {
        if (part.kind === "group") setRewards(group, parseRewards(bytes, part));
        addUsage(group, bytes);
        measuredCount = group + 1;
      }
      measuredCount = count;
    },
  };
};

const addAmount = (sum = Number.NaN, more: number | undefined): number =>
  more === undefined ? sum : (Number.isNaN(sum) ? 0 : sum) + more;

/** Returns why a group is not trainable; undefined if it is. */
export const findUntrainableReason = (read: IndexedGroups, group: number): UntrainableReason | undefined => {
  if (!read.groups.isValid(group)) return "invalid";
  const trajectories = read.groups.trajectoriesOf(group);
  if (trajectories === 0) return "no trajectories";
  if (trajectories === 1) return "one trajectory";
  if (hasZeroVariance(read, group)) return "equal rewards";
  return hasNoSampledTurn(read, group) ? "no sampled turn" : undefined;
};

/** Keys of tokens and costs. Groups without any of these bytes are not parsed. */
const usageKey = Buffer.from('"usage"');
const otherKeys = ["prompt_tokens", "input_tokens", "total_tokens", "cost", "total_cost"].map((key) => `"${key}"`);
const usageKeys = [usageKey, ...[...otherKeys, '_tokens_total_cost"'].map((key) => Buffer.from(key))];

/** Returns the tokens and cost of each trajectory of a group, or of a single trajectory. */
const readUsages = (bytes: Buffer) => {
  const root = usageKeys.some((key) => bytes.includes(key)) ? readRoot(bytes) : undefined;
  if (root === undefined) return [];
  const trajectories = memberAt(root, "trajectories");
  return (trajectories === undefined ? [root] : elementsOf(trajectories)).map((one) => readUsage(bytes, one));
};

const readUsage = (bytes: Buffer, trajectory: JsonValue) => {
  const read = (place: JsonValue | undefined): readonly RawJson[] =>
    place === undefined ? [] : [parseRawJson(sliceText(bytes, spanOf(place)))];
  const choices = bytes.includes(usageKey) ? elementsOf(memberAt(trajectory, "messages_and_choices")) : [];
  // Only the first of these with a number counts, because another one may repeat it.
  const records = [
    read(memberAt(trajectory, "usage")),
    choices.flatMap((choice) => read(memberAt(choice, "usage"))),
    read(memberAt(trajectory, "metrics")),
  ];
  const sumOf = (amountIn: (value: RawJson) => number | undefined): number | undefined =>
    records
      .map((values) => values.flatMap((value) => amountIn(value) ?? []))
      .find(({ length }) => length > 0)
      ?.reduce((sum, one) => sum + one, 0);
  return {
    tokens: sumOf((value) => {
      const count = countTokens(value);
      return count === undefined ? undefined : Number(count);
    }),
    cost: sumOf((value) => {
      const cost = readCost(value);
      return cost === undefined ? undefined : Number(formatDecimal(cost));
    }),
  };
};
