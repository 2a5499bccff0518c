/** Aggregates the facts of trajectories (metrics.md). */

import { type Breaks, sortWithBreaks } from "../../system/breaks.ts";
import { compareTexts } from "../../text/sentences.ts";
import { countIndexes, type LengthName, lengthNames, mapLengths } from "../facts.ts";
import { NumberColumn } from "../index/column.ts";
import { addUse, type FactColumns, noMetrics, type ToolUse } from "../index/fact-columns.ts";
import { isSolved } from "../index/metrics.ts";
import { average, pickFinite, Sum, standardDeviation } from "../index/sums.ts";
import { GroupedValues, type Mean, percentile } from "./intervals.ts";

export interface StatsOptions {
  /** A trajectory is solved if its reward is at least this. */
  readonly pass: number;
  /** The numbers of tries of pass@k, ascending. */
  readonly tries: readonly number[];
  /** The reward of each exception. Default: exceptions are in no mean. */
  readonly exceptionsAs?: number | undefined;
}

/** The keys are those of the document of `rollcall stats`. Null without a known value. */
export interface Stats extends RolloutCounts, Readonly<Record<LengthName, Length | null>> {
  readonly reward: RewardStats | null;
  readonly solved: SolvedGroups | null;
  readonly finish_reasons: readonly (Named & Readonly<{ trajectories: number; reward: number | null }>)[] | null;
  readonly tools: readonly (Named & Readonly<ToolUse>)[] | null;
  readonly metrics: Readonly<Record<string, Mean & Pick<RolloutCounts, "trajectories">>> | null;
}

export type RolloutCounts = Readonly<Record<"groups" | "trajectories" | "exceptions", number>>;

type RewardStats = Mean &
  Readonly<Record<"std_dev" | "within_group_std_dev" | "min" | "p10" | "p50" | "p90" | "max", number>>;

/** `at` is the reward from which a trajectory is solved. */
type SolvedGroups = Readonly<Record<"at" | "always" | "sometimes" | "never", number> & { pass: readonly PassMean[] }>;
/** The means of pass@k and of pass^k over the groups of at least k trajectories. Null without such a group. */
type PassMean = Readonly<Record<"k" | "groups", number> & Record<"value" | "all", number | null>>;

type Length = Readonly<Record<"trajectories" | "mean" | "p50" | "p95" | "max", number>>;

type Tries = Readonly<Record<"tries" | "solved", number>>;

/** The unbiased estimate 1 − C(n−c, k) / C(n, k) of Chen et al. (2021), for k ≤ n. */
export const estimatePass = ({ tries, solved }: Tries, k: number) =>
  1 - estimateAll({ tries, solved: tries - solved }, k);

/** The share C(c, k) / C(n, k) of the sets of k tries that are all solved (pass^k), for k ≤ n. */
export const estimateAll = ({ tries: n, solved: c }: Tries, k: number) => {
  if (c < k) return 0;
  let share = 1;
  for (let at = 0; at < k; at++) share *= (c - at) / (n - at);
  return share;
};

/** Counts the rewards that are known, and those of solved trajectories. */
export const countTries = (rewards: Float64Array, pass: number): Tries => {
  let [tries, solved] = [0, 0];
  for (const reward of rewards) {
    if (!Number.isFinite(reward)) continue;
    tries++;
    if (isSolved(reward, pass)) solved++;
  }
  return { tries, solved };
};

export const withExceptions = (rewards: Float64Array, exceptions: number, as: number | undefined) =>
  as === undefined || exceptions === 0
    ? rewards
    : Float64Array.from([...rewards, ...Array<number>(exceptions).fill(as)]);

export const addTimes = (sum: Sum, value: number, times: number) => {
  for (let time = 0; time < times; time++) sum.add(value);
};

/** A group has fewer trajectories and exceptions. */
const maxTries = 2 ** 26;

/** The trajectories of the input, or of one value of `--by`. */
export class StatsSlice {
  readonly #options: StatsOptions;
  readonly #facts: FactColumns;
  #groups = 0;
  #exceptions = 0;
  /** The standard deviations of groups with several rewards. */
  readonly #deviations = new NumberColumn();
  readonly #rewards = new GroupedValues();
  #sorted: Float64Array | undefined;
  readonly #metrics = new Map<string, GroupedValues>();
  /** The groups with the same numbers of tries and solved tries. */
  readonly #outcomes = new Map<number, Tries & { groups: number }>();
  readonly #finishes = new Map<number, { trajectories: number; rewards: Sum }>();
  readonly #rows = new NumberColumn();
  readonly #tools = new Map<number, ToolUse>();
  #lastNames = noMetrics;
  #lastMetrics: readonly GroupedValues[] = [];

  constructor(facts: FactColumns, options: StatsOptions) {
    this.#facts = facts;
    this.#options = options;
  }

  /** The caller then adds the rows. @param rows of one group */
  startGroup(rows: ArrayLike<number>, exceptions: number) {
    const group = this.#groups++;
    this.#exceptions += exceptions;
    const rewards = withExceptions(this.#facts.reward.pick(rows), exceptions, this.#options.exceptionsAs);
    const finite = pickFinite(rewards);
    if (finite.length > 1) this.#deviations.push(standardDeviation(finite));
    this.#addTries(rewards);
    for (let at = rows.length; at < rewards.length; at++) this.#rewards.add(group, rewards[at] ?? 0);
  }

  /** Adds a row of the last group. */
  addRow(row: number) {
    const facts = this.#facts;
    const reward = facts.reward.at(row);
    this.#rows.push(row);
    this.#rewards.add(this.#groups - 1, reward);
    const number = facts.finishReason.numberAt(row);
    const finish = this.#finishes.get(number) ?? { trajectories: 0, rewards: new Sum() };
    if (finish.trajectories++ === 0) this.#finishes.set(number, finish);
    if (Number.isFinite(reward)) finish.rewards.add(reward);
    facts.forEachUse(row, this.#addUse);
    this.#addMetrics(this.#groups - 1, row);
  }

  #addTries(rewards: Float64Array) {
    const { tries, solved } = countTries(rewards, this.#options.pass);
    if (tries === 0) return;
    const key = tries * maxTries + solved;
    const outcome = this.#outcomes.get(key) ?? { tries, solved, groups: 0 };
    if (outcome.groups++ === 0) this.#outcomes.set(key, outcome);
  }

  readonly #addUse = (tool: number, use: ToolUse) => addUse(this.#tools, tool, use);

  #addMetrics(group: number, row: number) {
    const facts = this.#facts;
    const names = facts.metricNamesOf(row);
    if (names !== this.#lastNames) this.#lastMetrics = names.map((name) => this.#metricOf(name));
    this.#lastNames = names;
    for (let at = 0; at < names.length; at++) this.#lastMetrics[at]?.add(group, facts.metricAt(row, at));
  }

  #metricOf(name: string) {
    const known = this.#metrics.get(name) ?? new GroupedValues();
    this.#metrics.set(name, known);
    return known;
  }

  /** Ascending. */
  sortRewards() {
    this.#sorted ??= this.#rewards.sorted().slice();
    return this.#sorted;
  }

  /** @throws the signal's reason */
  async compute(breaks: Breaks): Promise<Stats> {
    // Each part reads a number of each trajectory several times.
    const pause = async () => void (breaks.isDue(100 * this.#rows.length) && (await breaks.take()));
    const reward = this.#computeReward();
    await pause();
    const lengths = mapLengths<Length | null>(() => null);
    for (const name of lengthNames) {
      lengths[name] = this.#computeLength(countIndexes[name]);
      await pause();
    }
    const metrics = await this.#computeMetrics(breaks);
    return {
      groups: this.#groups,
      trajectories: this.#rows.length,
      exceptions: this.#exceptions,
      reward,
      solved: this.#computeSolved(),
      finish_reasons: this.#rows.length === 0 ? null : this.#computeFinishes(),
      ...lengths,
      tools: this.#tools.size === 0 ? null : await this.#computeTools(breaks),
      metrics,
    };
  }

  #computeReward() {
    if (this.#rewards.count === 0) return null;
    const mean = this.#rewards.describe();
    const within = this.#deviations.length === 0 ? 0 : average(this.#deviations.viewDoubles());
    const sorted = this.sortRewards();
    return {
      ...mean,
      std_dev: standardDeviation(sorted),
      within_group_std_dev: within,
      min: percentile(sorted, 0),
      p10: percentile(sorted, 0.1),
      p50: percentile(sorted, 0.5),
      p90: percentile(sorted, 0.9),
      max: percentile(sorted, 1),
    };
  }

  #computeSolved() {
    if (this.#rewards.count === 0) return null;
    const counts = { always: 0, sometimes: 0, never: 0 };
    for (const { tries, solved, groups } of this.#outcomes.values())
      counts[solved === 0 ? "never" : solved === tries ? "always" : "sometimes"] += groups;
    return { at: this.#options.pass, ...counts, pass: this.#options.tries.map((k) => this.#computePass(k)) };
  }

  #computePass(k: number) {
    const [sum, all] = [new Sum(), new Sum()];
    for (const { tries, solved, groups } of this.#outcomes.values()) {
      if (k > tries) continue;
      addTimes(sum, estimatePass({ tries, solved }, k), groups);
      addTimes(all, estimateAll({ tries, solved }, k), groups);
    }
    const isKnown = sum.count > 0;
    return { k, groups: sum.count, value: isKnown ? sum.mean : null, all: isKnown ? all.mean : null };
  }

  /** The unknown finish reason is always in the list, and is last. */
  #computeFinishes() {
    const finishes = Array.from(this.#finishes, ([number, { trajectories, rewards }]) => ({
      name: this.#facts.finishReason.names.at(number) ?? null,
      trajectories,
      reward: rewards.count === 0 ? null : rewards.mean,
    }));
    const known = finishes.filter(({ name }) => name !== null);
    const unknown = finishes.find(({ name }) => name === null) ?? { name: null, trajectories: 0, reward: null };
    return [...known.sort((a, b) => b.trajectories - a.trajectories || compareNames(a, b)), unknown];
  }

  #computeLength(fact: number): Length | null {
    const lengths = new NumberColumn();
    let sum = 0;
    for (let at = 0; at < this.#rows.length; at++) {
      const length = this.#facts.countAt(this.#rows.at(at), fact);
      if (length < 0) continue;
      lengths.push(length);
      sum += length;
    }
    const count = lengths.length;
    if (count === 0) return null;
    const sorted = lengths.values().sort();
    const [p50, p95] = [percentile(sorted, 0.5), percentile(sorted, 0.95)];
    return { trajectories: count, mean: sum / count, p50, p95, max: percentile(sorted, 1) };
  }

  async #computeTools(breaks: Breaks) {
    const tools = Array.from(this.#tools, ([number, use]) => ({
      name: this.#facts.toolNames.at(number) ?? null,
      ...use,
    }));
    const compare = (a: (typeof tools)[number], b: typeof a) =>
      b.calls - a.calls || b.errors - a.errors || compareNames(a, b);
    return await sortWithBreaks(tools, compare, breaks);
  }

  async #computeMetrics(breaks: Breaks) {
    const described: [string, NonNullable<Stats["metrics"]>[string]][] = [];
    for (const [name, values] of await sortWithBreaks([...this.#metrics], ([a], [b]) => compareTexts(a, b), breaks)) {
      if (breaks.isDue(100 * values.count)) await breaks.take();
      if (values.count > 0) described.push([name, { trajectories: values.count, ...values.describe() }]);
    }
    return described.length === 0 ? null : Object.fromEntries(described);
  }
}

export type Named = { readonly name: string | null };
export const compareNames = (a: Named, b: Named) => compareTexts(a.name ?? "", b.name ?? "");
