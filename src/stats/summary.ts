/** Aggregates the facts of trajectories (metrics.md). */

import { NumberColumn } from "../index/column.ts";
import { isSolved, Tally } from "../index/metrics.ts";
import type { RolloutFacts, ToolUse } from "../index/rollout-facts.ts";
import { addToSum, createSum, type ExactSum, meanOfSum, standardDeviation } from "../index/sums.ts";
import { GroupedValues, type Interval, percentile } from "./intervals.ts";

export interface StatsOptions {
  /** A trajectory is solved if its reward is at least this. */
  readonly pass: number;
  /** The numbers of tries of pass@k, ascending. */
  readonly tries: readonly number[];
}

/** The keys are those of the document of `rollcall stats`. */
export interface Stats {
  readonly groups: number;
  readonly trajectories: number;
  readonly exceptions: number;
  readonly reward: RewardStats | null;
  readonly solved: SolvedStats | null;
  /** Null without trajectories. */
  readonly finish_reasons: readonly FinishStats[] | null;
  readonly turns: LengthStats | null;
  readonly characters: LengthStats | null;
  readonly tokens: LengthStats | null;
  readonly tools: readonly ({ readonly name: string | null } & Readonly<ToolUse>)[];
  /** Null without metrics. */
  readonly metrics: Readonly<Record<string, MetricStats>> | null;
}

export interface RewardStats {
  readonly mean: number;
  readonly ci95: Interval | null;
  readonly std_dev: number;
  readonly within_group_std_dev: number;
  readonly min: number;
  readonly p10: number;
  readonly p50: number;
  readonly p90: number;
  readonly max: number;
}

export interface SolvedStats {
  readonly at: number;
  readonly always: number;
  readonly sometimes: number;
  readonly never: number;
  readonly pass: readonly { readonly k: number; readonly groups: number; readonly value: number | null }[];
}

export interface FinishStats {
  readonly name: string | null;
  readonly trajectories: number;
  readonly reward: number | null;
}

export interface LengthStats {
  readonly trajectories: number;
  readonly mean: number;
  readonly p50: number;
  readonly p95: number;
  readonly max: number;
}

export interface MetricStats {
  readonly trajectories: number;
  readonly mean: number;
  readonly ci95: Interval | null;
}

/** The unbiased estimate 1 − C(n−c, k) / C(n, k) of Chen et al. (2021), for k ≤ n. */
export const estimatePass = ({ tries: n, solved: c }: { tries: number; solved: number }, k: number) => {
  if (n - c < k) return 1;
  let failed = 1;
  for (let at = 0; at < k; at++) failed *= (n - c - at) / (n - at);
  return 1 - failed;
};

/** The trajectories of the input, or of one value of `--by`. */
export class StatsSlice {
  readonly #options: StatsOptions;
  readonly #facts: RolloutFacts;
  readonly #tally = new Tally();
  readonly #rewards = new GroupedValues();
  readonly #metrics = new Map<string, GroupedValues>();
  readonly #solved = { always: 0, sometimes: 0, never: 0 };
  readonly #passes: readonly { k: number; sum: ExactSum }[];
  /** By the number of the finish reason. */
  readonly #finishes = new Map<number, { trajectories: number; rewards: ExactSum }>();
  readonly #lengths = {
    turns: new NumberColumn("u32"),
    characters: new NumberColumn("u32"),
    tokens: new NumberColumn("u32"),
  };
  readonly #tools = new Map<string | undefined, ToolUse>();

  constructor(facts: RolloutFacts, options: StatsOptions) {
    this.#facts = facts;
    this.#options = options;
    this.#passes = options.tries.map((k) => ({ k, sum: createSum() }));
  }

  /** Adds rows of one group. */
  addGroup(rows: readonly number[], exceptions: number) {
    const { reward, metrics } = this.#facts;
    const rewards = reward.pick(rows);
    this.#tally.addGroup({ rewards, exceptions });
    this.#rewards.addGroup(rewards);
    this.#addTries(rewards);
    for (const row of rows) this.#addRow(row);
    for (const [name, column] of metrics) this.#metricOf(name).addGroup(column.pick(rows));
  }

  #addTries(rewards: readonly number[]) {
    let [tries, solved] = [0, 0];
    for (const reward of rewards) {
      if (Number.isFinite(reward)) tries++;
      if (isSolved(reward, this.#options.pass) && Number.isFinite(reward)) solved++;
    }
    if (tries === 0) return;
    this.#solved[solved === 0 ? "never" : solved === tries ? "always" : "sometimes"]++;
    for (const { k, sum } of this.#passes) if (k <= tries) addToSum(sum, estimatePass({ tries, solved }, k));
  }

  #addRow(row: number) {
    const facts = this.#facts;
    const reward = facts.reward.at(row);
    this.#tally.trajectories++;
    this.#lengths.turns.push(facts.turns.at(row));
    this.#lengths.characters.push(facts.characters.at(row));
    const tokens = facts.tokens.at(row);
    if (tokens > 0) this.#lengths.tokens.push(tokens - 1);
    const number = facts.finishReason.at(row);
    const finish = this.#finishes.get(number) ?? { trajectories: 0, rewards: createSum() };
    this.#finishes.set(number, finish);
    finish.trajectories++;
    if (Number.isFinite(reward)) addToSum(finish.rewards, reward);
    facts.forEachUse(row, this.#addUse);
  }

  readonly #addUse = (name: string | undefined, { calls, errors, unanswered }: ToolUse) => {
    const use = this.#tools.get(name) ?? { calls: 0, errors: 0, unanswered: 0 };
    this.#tools.set(name, use);
    use.calls += calls;
    use.errors += errors;
    use.unanswered += unanswered;
  };

  #metricOf(name: string) {
    const known = this.#metrics.get(name) ?? new GroupedValues();
    this.#metrics.set(name, known);
    return known;
  }

  compute(): Stats {
    const { groups, trajectories, exceptions } = this.#tally;
    return {
      groups,
      trajectories,
      exceptions,
      reward: this.#computeReward(),
      solved: this.#computeSolved(),
      finish_reasons: trajectories === 0 ? null : this.#computeFinishes(),
      turns: computeLength(this.#lengths.turns),
      characters: computeLength(this.#lengths.characters),
      tokens: computeLength(this.#lengths.tokens),
      tools: this.#computeTools(),
      metrics: this.#computeMetrics(),
    };
  }

  #computeReward(): RewardStats | null {
    const { deviations } = this.#tally;
    if (this.#rewards.count === 0) return null;
    const sorted = this.#rewards.values.values().sort();
    return {
      mean: this.#rewards.mean(),
      ci95: this.#rewards.interval(),
      std_dev: standardDeviation(sorted),
      within_group_std_dev: deviations.count === 0 ? 0 : meanOfSum(deviations),
      min: percentile(sorted, 0),
      p10: percentile(sorted, 0.1),
      p50: percentile(sorted, 0.5),
      p90: percentile(sorted, 0.9),
      max: percentile(sorted, 1),
    };
  }

  #computeSolved(): SolvedStats | null {
    if (this.#rewards.count === 0) return null;
    const pass = this.#passes.map(({ k, sum }) => ({
      k,
      groups: sum.count,
      value: sum.count === 0 ? null : meanOfSum(sum),
    }));
    return { at: this.#options.pass, ...this.#solved, pass };
  }

  /** The unknown finish reason is always in the list, and is last. */
  #computeFinishes(): readonly FinishStats[] {
    const finishes = Array.from(this.#finishes, ([number, { trajectories, rewards }]) => ({
      name: this.#facts.finishReasons.at(number) ?? null,
      trajectories,
      reward: rewards.count === 0 ? null : meanOfSum(rewards),
    }));
    const known = finishes.filter(({ name }) => name !== null);
    const unknown = finishes.find(({ name }) => name === null) ?? { name: null, trajectories: 0, reward: null };
    return [...known.sort((a, b) => b.trajectories - a.trajectories || compareNames(a.name, b.name)), unknown];
  }

  #computeTools() {
    const tools = Array.from(this.#tools, ([name = null, use]) => ({ name, ...use }));
    return tools.sort((a, b) => b.calls - a.calls || b.errors - a.errors || compareNames(a.name, b.name));
  }

  #computeMetrics(): Stats["metrics"] {
    const named = [...this.#metrics].filter(([, { count }]) => count > 0).sort(([a], [b]) => compareNames(a, b));
    if (named.length === 0) return null;
    const toStats = (values: GroupedValues) => ({
      trajectories: values.count,
      mean: values.mean(),
      ci95: values.interval(),
    });
    return Object.fromEntries(named.map(([name, values]) => [name, toStats(values)]));
  }
}

const compareNames = (a: string | null, b: string | null) => ((a ?? "") < (b ?? "") ? -1 : 1);

const computeLength = (column: NumberColumn): LengthStats | null => {
  const count = column.length;
  if (count === 0) return null;
  const sorted = column.values().sort();
  let sum = 0;
  for (const value of sorted) sum += value;
  const [p50, p95] = [percentile(sorted, 0.5), percentile(sorted, 0.95)];
  return { trajectories: count, mean: sum / count, p50, p95, max: percentile(sorted, 1) };
};
