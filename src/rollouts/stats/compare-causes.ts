/** Divides the difference of two runs by what happened in their trajectories (metrics.md). */

import type { Breaks } from "../../system/breaks.ts";
import type { FactColumns } from "../facts/fact-columns.ts";
import { counts, walkedNames } from "../facts/facts.ts";
import type { Pool, Side } from "./compare-sides.ts";
import { PairedValues } from "./intervals.ts";

type Both<Value> = Readonly<Record<"a" | "b", Value>>;

/** A trajectory belongs to the first of these classes that fits. */
const causeNames = ["truncated", "tool_errors", "other"] as const;
const [truncated, withErrors, other] = [0, 1, 2];

/** The facts that pools sum, in the order of their sums. */
const summedNames: readonly string[] = [...walkedNames, "tool_calls", "tool_errors", "unanswered"];
const firstUse = walkedNames.length;
const summedFacts = counts.map(({ name }) => ({ name, at: summedNames.indexOf(name) }));

const add = (to: Float64Array, at: number, value: number) => {
  to[at] = (to[at] ?? 0) + value;
};

/** Counts for few of many numbers. */
class Counts {
  /** The numbers with counts. */
  readonly numbers: number[] = [];
  readonly #width: number;
  /** For each number: 1 if it has counts, and its counts. */
  #counts = new Float64Array(64);

  /** @param fields the number of counts of a number */
  constructor(fields: number) {
    this.#width = fields + 1;
  }

  add(number: number, field: number, count: number) {
    const from = this.#width * number;
    if (from + this.#width > this.#counts.length) {
      const grown = new Float64Array(2 * (from + this.#width));
      grown.set(this.#counts);
      this.#counts = grown;
    }
    if (this.#counts[from] === 0) this.numbers.push(number);
    this.#counts[from] = 1;
    add(this.#counts, from + 1 + field, count);
  }

  of(number: number, field = 0) {
    return this.#counts[this.#width * number + 1 + field] ?? 0;
  }

  clear() {
    for (const number of this.numbers) this.#counts.fill(0, this.#width * number, this.#width * (number + 1));
    this.numbers.length = 0;
  }
}

/** Sums what happened in the trajectories of a pool. One object serves the pools of a side, one after the other. */
class PoolSums {
  readonly #columns: FactColumns;
  /** The number of the finish reason `length`; -1 if no trajectory has it. */
  readonly #length: number;
  rows = 0;
  /** By class: the share of the rollouts, and the sum of their rewards divided by the number of all rollouts. */
  readonly shares = new Float64Array(causeNames.length);
  readonly parts = new Float64Array(causeNames.length);
  readonly #sums = new Float64Array(summedNames.length);
  readonly #known = new Float64Array(summedNames.length);
  /** By the number of the finish reason: its trajectories. */
  readonly finishes = new Counts(1);
  /** By the number of the tool: its calls, errors and unanswered calls. */
  readonly uses = new Counts(3);

  constructor(columns: FactColumns) {
    this.#columns = columns;
    this.#length = columns.finishReasons.list.indexOf("length") + 1 || -1;
  }

  /** @param rewards of the rows, and then of the exceptions */
  read({ rows }: Pool, rewards: ArrayLike<number>) {
    for (const sums of [this.shares, this.parts, this.#sums]) sums.fill(0);
    this.#known.fill(0, 0, firstUse).fill(rows.length, firstUse);
    this.finishes.clear();
    this.uses.clear();
    this.rows = rows.length;
    let count = 0;
    for (let at = 0; at < rewards.length; at++) if (Number.isFinite(rewards[at])) count++;
    for (let at = 0; at < rewards.length; at++) {
      const [row, reward = 0] = [rows[at], rewards[at]];
      const cause = row === undefined ? other : this.#addRow(row);
      if (!Number.isFinite(reward)) continue;
      add(this.shares, cause, 1 / count);
      add(this.parts, cause, reward / count);
    }
  }

  /** Returns the class of the trajectory. */
  #addRow(row: number) {
    const columns = this.#columns;
    for (let fact = 0; fact < firstUse; fact++) {
      const value = columns.walkedAt(row, fact);
      if (value < 0) continue;
      add(this.#sums, fact, value);
      add(this.#known, fact, 1);
    }
    const errors = this.#sums[firstUse + 1];
    columns.forEachUse(row, this.#addUse);
    const reason = columns.finishReasonOf(row);
    this.finishes.add(reason, 0, 1);
    if (reason === this.#length) return truncated;
    return this.#sums[firstUse + 1] === errors ? other : withErrors;
  }

  readonly #addUse = (tool: number, calls: number, errors: number, unanswered: number) => {
    this.#addCount(tool, 0, calls);
    this.#addCount(tool, 1, errors);
    this.#addCount(tool, 2, unanswered);
  };

  #addCount(tool: number, field: number, count: number) {
    this.uses.add(tool, field, count);
    add(this.#sums, firstUse + field, count);
  }

  /** Returns the mean of a fact over the trajectories; null if it is unknown. */
  meanOf(fact: number) {
    const known = this.#known[fact] ?? 0;
    return known === 0 ? null : (this.#sums[fact] ?? 0) / known;
  }
}

interface UseSums {
  /** The sum over pairs of the calls for each trajectory. */
  calls: number;
  /** The sum over pairs with results of the share of errors in the results. */
  errors: number;
  pairsWithResults: number;
  /** The errors for each trajectory of the pair. */
  rate: number;
}

const createUseSums = (): UseSums => ({ calls: 0, errors: 0, pairsWithResults: 0, rate: 0 });
/** `pair` is the last pair with the tool. */
const createToolSums = () => ({ a: createUseSums(), b: createUseSums(), rates: new PairedValues(), pair: -1 });
type ToolSums = ReturnType<typeof createToolSums>;

const sideNames = ["a", "b"] as const;

/** Sums what happened in the trajectories of each pair. */
export class PairCauses {
  readonly #columns: Both<FactColumns>;
  readonly #sums: Both<PoolSums>;
  readonly #causes = causeNames.map((name) => ({ name, shares: new PairedValues(), parts: new PairedValues() }));
  readonly #facts = summedFacts.map((fact) => ({ ...fact, values: new PairedValues() }));
  readonly #tools = new Map<string | null, ToolSums>();
  readonly #finishes = new Map<string | null, { a: number; b: number }>();
  #pairs = 0;

  constructor({ a, b }: Both<Side>) {
    this.#columns = { a: a.facts.walked, b: b.facts.walked };
    this.#sums = { a: new PoolSums(a.facts.walked), b: new PoolSums(b.facts.walked) };
  }

  /** @param hasMeans true if both sides have a mean reward */
  add(pools: Both<Pool>, rewards: Both<ArrayLike<number>>, hasMeans: boolean) {
    const { a, b } = this.#sums;
    a.read(pools.a, rewards.a);
    b.read(pools.b, rewards.b);
    for (const [cause, { shares, parts }] of hasMeans ? this.#causes.entries() : []) {
      shares.add(a.shares[cause] ?? 0, b.shares[cause] ?? 0);
      parts.add(a.parts[cause] ?? 0, b.parts[cause] ?? 0);
    }
    for (const { at, values } of this.#facts) values.add(a.meanOf(at), b.meanOf(at));
    if (a.rows === 0 || b.rows === 0) return;
    this.#pairs++;
    const used: ToolSums[] = [];
    for (const side of sideNames) {
      this.#addTools(side, used);
      const { finishes, rows } = this.#sums[side];
      for (const reason of finishes.numbers) this.#finishOf(side, reason)[side] += finishes.of(reason) / rows;
    }
    for (const { a, b, rates } of used) {
      rates.add(a.rate, b.rate);
      a.rate = b.rate = 0;
    }
  }

  #finishOf(side: "a" | "b", reason: number) {
    const name = this.#columns[side].finishReasons.at(reason) ?? null;
    const known = this.#finishes.get(name) ?? { a: 0, b: 0 };
    if (known.a === 0 && known.b === 0) this.#finishes.set(name, known);
    return known;
  }

  #toolOf(side: "a" | "b", tool: number) {
    const name = this.#columns[side].toolNames.at(tool) ?? null;
    const known = this.#tools.get(name) ?? createToolSums();
    if (known.pair < 0) this.#tools.set(name, known);
    return known;
  }

  #addTools(side: "a" | "b", used: ToolSums[]) {
    const { uses, rows } = this.#sums[side];
    for (const tool of uses.numbers) {
      const sums = this.#toolOf(side, tool);
      if (sums.pair !== this.#pairs) used.push(sums);
      sums.pair = this.#pairs;
      const [calls, errors, unanswered] = [uses.of(tool), uses.of(tool, 1), uses.of(tool, 2)];
      const own = sums[side];
      own.calls += calls / rows;
      own.rate = errors / rows;
      const results = calls - unanswered;
      if (results <= 0) continue;
      own.errors += Math.min(1, errors / results);
      own.pairsWithResults++;
    }
  }

  compute() {
    return {
      causes: this.#divideDifference(),
      facts: this.#facts.flatMap(({ name, values }) => {
        const compared = values.describe();
        return compared ? { name, a: compared.a, b: compared.b, ci95: compared.ci95 } : [];
      }),
      tools: this.#compareTools(),
      finish_reasons: this.#compareFinishes(),
    };
  }

  /** Divides the difference of the means exactly, after Kitagawa (1955). */
  #divideDifference() {
    const classes = this.#causes.flatMap(({ name, shares, parts }) => {
      const [share, part] = [shares.describe(), parts.describe()];
      const meanOf = (side: "a" | "b") => {
        const own = share?.[side] ?? 0;
        return { share: own, reward: own === 0 ? null : (part?.[side] ?? 0) / own };
      };
      return share ? { name, a: meanOf("a"), b: meanOf("b"), ci95: share.ci95 } : [];
    });
    if (classes.length === 0) return null;
    const totals = classes.flatMap(({ a, b }) => [a, b]).map(({ share, reward }) => share * (reward ?? 0));
    const middle = totals.reduce((sum, part) => sum + part, 0) / 2;
    return classes.map(({ name, a, b, ci95 }) => {
      // A class that one side lacks has the mean of the other side.
      const reward = { a: a.reward ?? b.reward, b: b.reward ?? a.reward };
      const [inA, inB] = [reward.a ?? middle, reward.b ?? middle];
      return {
        name,
        a: { share: a.share, reward: reward.a },
        b: { share: b.share, reward: reward.b },
        by_share: (b.share - a.share) * ((inA + inB) / 2 - middle),
        by_reward: ((a.share + b.share) / 2) * (inB - inA),
        ci95,
      };
    });
  }

  #compareTools() {
    const toMeans = ({ calls, errors, pairsWithResults }: UseSums) => ({
      calls: calls / this.#pairs,
      errors: pairsWithResults > 0 ? errors / pairsWithResults : null,
    });
    const tools = Array.from(this.#tools, ([name, { a, b, rates }]) => ({
      name,
      a: toMeans(a),
      b: toMeans(b),
      ci95: rates.describe()?.ci95 ?? null,
    }));
    const callsOf = (tool: (typeof tools)[number]) => tool.a.calls + tool.b.calls;
    return tools.sort((x, y) => callsOf(y) - callsOf(x) || compareNames(x, y));
  }

  #compareFinishes() {
    if (this.#finishes.size === 0) return null;
    const shareOf = (sum: number) => sum / this.#pairs;
    const rows = Array.from(this.#finishes, ([name, { a, b }]) => ({ name, a: shareOf(a), b: shareOf(b) }));
    return rows.sort((x, y) => y.a + y.b - x.a - x.b || compareNames(x, y));
  }
}

type Named = { readonly name: string | null };
const compareNames = (x: Named, y: Named) => ((x.name ?? "") < (y.name ?? "") ? -1 : 1);

const states = ["always", "sometimes", "never", "failed"] as const;
export type Change = Readonly<Record<"from" | "to", (typeof states)[number]>>;

/** Counts prompts by what they were and became. */
export const countTransitions = async (changes: readonly Change[], breaks: Breaks) => {
  const counts = new Map<string, number>();
  for (const { from, to } of changes) {
    if (breaks.isDue()) await breaks.take();
    counts.set(`${from} ${to}`, (counts.get(`${from} ${to}`) ?? 0) + 1);
  }
  return states.flatMap((from) =>
    states.flatMap((to) => {
      const prompts = counts.get(`${from} ${to}`) ?? 0;
      return prompts === 0 ? [] : { from, to, prompts };
    }),
  );
};
