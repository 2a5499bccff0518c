/** Divides the difference of two runs by what happened in their trajectories (metrics.md). */

import type { FactColumns } from "../facts/fact-columns.ts";
import { counts, walkedNames } from "../facts/facts.ts";
import { computeMean } from "../index/sums.ts";
import type { Pool, Side } from "./compare-sides.ts";

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
  /** The numbers of the pool's tools. */
  readonly tools: number[] = [];
  /** For each tool of the side: its calls, errors and unanswered calls. */
  uses = new Float64Array(48);

  constructor(columns: FactColumns) {
    this.#columns = columns;
    this.#length = columns.finishReasons.list.indexOf("length") + 1 || -1;
  }

  /** @param rewards of the rows, and then of the exceptions */
  read({ rows }: Pool, rewards: readonly number[]) {
    for (const sums of [this.shares, this.parts, this.#sums]) sums.fill(0);
    this.#known.fill(0, 0, firstUse).fill(rows.length, firstUse);
    for (const tool of this.tools) this.uses.fill(0, 3 * tool, 3 * tool + 3);
    this.tools.length = 0;
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
    if (columns.finishReasonOf(row) === this.#length) return truncated;
    return this.#sums[firstUse + 1] === errors ? other : withErrors;
  }

  readonly #addUse = (tool: number, calls: number, errors: number, unanswered: number) => {
    const at = 3 * tool;
    if (at >= this.uses.length) {
      const grown = new Float64Array(2 * at);
      grown.set(this.uses);
      this.uses = grown;
    }
    if (this.uses[at] === 0 && this.uses[at + 1] === 0 && this.uses[at + 2] === 0) this.tools.push(tool);
    add(this.uses, at, calls);
    add(this.uses, at + 1, errors);
    add(this.uses, at + 2, unanswered);
    add(this.#sums, firstUse, calls);
    add(this.#sums, firstUse + 1, errors);
    add(this.#sums, firstUse + 2, unanswered);
  };

  /** Returns the mean of a fact over the trajectories; null if it is unknown. */
  meanOf(fact: number) {
    const known = this.#known[fact] ?? 0;
    return known === 0 ? null : (this.#sums[fact] ?? 0) / known;
  }
}

interface ToolSums {
  /** The sum over pairs of the calls for each trajectory. */
  calls: number;
  /** The sum over pairs with results of the share of errors in the results. */
  errors: number;
  pairsWithResults: number;
}

/** The numbers of each pair. */
type PairValues = Both<number[]>;

const createValues = (): PairValues => ({ a: [], b: [] });

/** Sums what happened in the trajectories of each pair. */
export class PairCauses {
  readonly #columns: Both<FactColumns>;
  readonly #sums: Both<PoolSums>;
  readonly #causes = causeNames.map((name) => ({ name, shares: createValues(), parts: createValues() }));
  readonly #facts = summedFacts.map((fact) => ({ ...fact, values: createValues() }));
  /** By the number of the tool. */
  readonly #tools: Both<Map<number, ToolSums>> = { a: new Map(), b: new Map() };
  #pairs = 0;

  constructor({ a, b }: Both<Side>) {
    this.#columns = { a: a.facts.walked, b: b.facts.walked };
    this.#sums = { a: new PoolSums(a.facts.walked), b: new PoolSums(b.facts.walked) };
  }

  /** @param hasMeans true if both sides have a mean reward */
  add(pools: Both<Pool>, rewards: Both<readonly number[]>, hasMeans: boolean) {
    const { a, b } = this.#sums;
    a.read(pools.a, rewards.a);
    b.read(pools.b, rewards.b);
    for (const side of hasMeans ? (["a", "b"] as const) : [])
      for (const [cause, { shares, parts }] of this.#causes.entries()) {
        shares[side].push(this.#sums[side].shares[cause] ?? 0);
        parts[side].push(this.#sums[side].parts[cause] ?? 0);
      }
    for (const { at, values } of this.#facts) {
      const [inA, inB] = [a.meanOf(at), b.meanOf(at)];
      if (inA === null || inB === null) continue;
      values.a.push(inA);
      values.b.push(inB);
    }
    if (a.rows === 0 || b.rows === 0) return;
    this.#pairs++;
    for (const side of ["a", "b"] as const) this.#addTools(this.#tools[side], this.#sums[side]);
  }

  #addTools(into: Map<number, ToolSums>, { tools, uses, rows }: PoolSums) {
    for (const tool of tools) {
      const sums = into.get(tool) ?? { calls: 0, errors: 0, pairsWithResults: 0 };
      into.set(tool, sums);
      const [calls = 0, errors = 0, unanswered = 0] = [uses[3 * tool], uses[3 * tool + 1], uses[3 * tool + 2]];
      sums.calls += calls / rows;
      const results = calls - unanswered;
      if (results <= 0) continue;
      sums.errors += Math.min(1, errors / results);
      sums.pairsWithResults++;
    }
  }

  compute() {
    const known = this.#facts.filter(({ values }) => values.a.length > 0);
    const facts = known.map(({ name, values: { a, b } }) => ({ name, a: computeMean(a), b: computeMean(b) }));
    return { causes: this.#divideDifference(), facts, tools: this.#compareTools() };
  }

  /** Divides the difference of the means exactly, after Kitagawa (1955). */
  #divideDifference() {
    if (this.#causes[other]?.shares.a.length === 0) return null;
    const meanOf = (shares: readonly number[], parts: readonly number[]) => {
      const share = computeMean(shares);
      return { share, reward: share === 0 ? null : computeMean(parts) / share };
    };
    const classes = this.#causes.map(({ name, shares, parts }) => ({
      name,
      a: meanOf(shares.a, parts.a),
      b: meanOf(shares.b, parts.b),
    }));
    const totals = classes.flatMap(({ a, b }) => [a, b]).map(({ share, reward }) => share * (reward ?? 0));
    const middle = totals.reduce((sum, part) => sum + part, 0) / 2;
    return classes.map(({ name, a, b }) => {
      // A class that one side lacks has the mean of the other side.
      const reward = { a: a.reward ?? b.reward, b: b.reward ?? a.reward };
      const [inA, inB] = [reward.a ?? middle, reward.b ?? middle];
      return {
        name,
        a: { share: a.share, reward: reward.a },
        b: { share: b.share, reward: reward.b },
        by_share: (b.share - a.share) * ((inA + inB) / 2 - middle),
        by_reward: ((a.share + b.share) / 2) * (inB - inA),
      };
    });
  }

  #compareTools() {
    const nameUses = (side: "a" | "b") =>
      new Map(Array.from(this.#tools[side], ([tool, sums]) => [this.#columns[side].toolNames.at(tool) ?? null, sums]));
    const [a, b] = [nameUses("a"), nameUses("b")];
    const toMeans = (sums: ToolSums | undefined) => ({
      calls: (sums?.calls ?? 0) / this.#pairs,
      errors: sums && sums.pairsWithResults > 0 ? sums.errors / sums.pairsWithResults : null,
    });
    const names = [...new Set([...a.keys(), ...b.keys()])];
    const tools = names.map((name) => ({ name, a: toMeans(a.get(name)), b: toMeans(b.get(name)) }));
    const callsOf = (tool: (typeof tools)[number]) => tool.a.calls + tool.b.calls;
    return tools.sort((x, y) => callsOf(y) - callsOf(x) || ((x.name ?? "") < (y.name ?? "") ? -1 : 1));
  }
}

const states = ["always", "sometimes", "never", "failed"] as const;
export type Change = Readonly<Record<"from" | "to", (typeof states)[number]>>;

/** Counts prompts by what they were and became. */
export const countTransitions = (changes: readonly Change[]) => {
  const counts = new Map<string, number>();
  for (const { from, to } of changes) counts.set(`${from} ${to}`, (counts.get(`${from} ${to}`) ?? 0) + 1);
  return states.flatMap((from) =>
    states.flatMap((to) => {
      const prompts = counts.get(`${from} ${to}`) ?? 0;
      return prompts === 0 ? [] : { from, to, prompts };
    }),
  );
};
