/** Divides the difference of two runs by what happened in their trajectories (metrics.md). */

import { computeMean, meanOfFinite } from "../index/sums.ts";
import { sumUses, type ToolUse } from "../index/walked-columns.ts";
import type { Pool, Side } from "./compare-sides.ts";

type Both<Value> = Readonly<Record<"a" | "b", Value>>;

/** A trajectory belongs to the first of these classes that fits. */
const causeNames = ["truncated", "tool_errors", "other"] as const;
type CauseName = (typeof causeNames)[number];

/** The share of the rollouts of a prompt, and the sum of their rewards divided by the number of all rollouts. */
type Share = { share: number; part: number };

interface PoolSummary {
  readonly shares: Readonly<Record<CauseName, Share>>;
  /** The mean of each fact; null if it is unknown. */
  readonly facts: Readonly<Record<string, number | null>>;
  readonly tools: ReadonlyMap<number, ToolUse>;
  readonly rows: number;
}

const addUse = (uses: Map<number, ToolUse>, tool: number, use: ToolUse) =>
  uses.set(tool, sumUses([uses.get(tool) ?? { calls: 0, errors: 0, unanswered: 0 }, use]));

/** @param rewards of the rows, and then of the exceptions */
const summarize = ({ facts: { walked } }: Side, { rows }: Pool, rewards: readonly number[]): PoolSummary => {
  const shares = { truncated: { share: 0, part: 0 }, tool_errors: { share: 0, part: 0 }, other: { share: 0, part: 0 } };
  const count = rewards.filter(Number.isFinite).length;
  const addReward = (cause: CauseName, reward = Number.NaN) => {
    if (!Number.isFinite(reward)) return;
    shares[cause].share += 1 / count;
    shares[cause].part += reward / count;
  };
  const tools = new Map<number, ToolUse>();
  let toolErrors = 0;
  const addRowUse = (tool: number, calls: number, errors: number, unanswered: number) => {
    toolErrors += errors;
    addUse(tools, tool, { calls, errors, unanswered });
  };
  for (const [at, row] of rows.entries()) {
    toolErrors = 0;
    walked.forEachUse(row, addRowUse);
    const isCut = walked.finishReasons.at(walked.finishReasonOf(row)) === "length";
    addReward(isCut ? "truncated" : toolErrors > 0 ? "tool_errors" : "other", rewards[at]);
  }
  for (const reward of rewards.slice(rows.length)) addReward("other", reward);
  const { calls, errors, unanswered } = sumUses(tools.values());
  const perRow = (sum: number) => (rows.length === 0 ? null : sum / rows.length);
  const facts = {
    turns: meanOfFinite(rows.map((row) => walked.turnsOf(row))),
    characters: meanOfFinite(rows.map((row) => walked.charactersOf(row))),
    tokens: meanOfFinite(rows.map((row) => walked.tokensOf(row)).filter((tokens) => tokens >= 0)),
    tool_calls: perRow(calls),
    tool_errors: perRow(errors),
    unanswered: perRow(unanswered),
  };
  return { shares, facts, tools, rows: rows.length };
};

interface ToolSums {
  /** The sum over pairs of the calls for each trajectory. */
  calls: number;
  /** The sum over pairs with results of the share of errors in the results. */
  errors: number;
  pairsWithResults: number;
}

/** Sums what happened in the trajectories of each pair. */
export class PairCauses {
  readonly #sides: Both<Side>;
  readonly #shares: Both<Readonly<Record<CauseName, Share>>>[] = [];
  readonly #facts = new Map<string, { readonly a: number[]; readonly b: number[] }>();
  readonly #tools: Both<Map<string | null, ToolSums>> = { a: new Map(), b: new Map() };
  #pairs = 0;

  constructor(sides: Both<Side>) {
    this.#sides = sides;
  }

  /** @param hasMeans true if both sides have a mean reward */
  add(pools: Both<Pool>, rewards: Both<readonly number[]>, hasMeans: boolean) {
    const a = summarize(this.#sides.a, pools.a, rewards.a);
    const b = summarize(this.#sides.b, pools.b, rewards.b);
    if (hasMeans) this.#shares.push({ a: a.shares, b: b.shares });
    for (const [name, inA] of Object.entries(a.facts)) {
      const inB = b.facts[name] ?? null;
      if (inA === null || inB === null) continue;
      const own = this.#facts.get(name) ?? { a: [], b: [] };
      this.#facts.set(name, own);
      own.a.push(inA);
      own.b.push(inB);
    }
    if (a.rows === 0 || b.rows === 0) return;
    this.#pairs++;
    this.#addTools("a", a);
    this.#addTools("b", b);
  }

  #addTools(side: "a" | "b", { tools, rows }: PoolSummary) {
    const { toolNames } = this.#sides[side].facts.walked;
    for (const [tool, { calls, errors, unanswered }] of tools) {
      const name = toolNames.at(tool) ?? null;
      const sums = this.#tools[side].get(name) ?? { calls: 0, errors: 0, pairsWithResults: 0 };
      this.#tools[side].set(name, sums);
      sums.calls += calls / rows;
      const results = calls - unanswered;
      if (results <= 0) continue;
      sums.errors += Math.min(1, errors / results);
      sums.pairsWithResults++;
    }
  }

  compute() {
    const facts = Array.from(this.#facts, ([name, { a, b }]) => ({ name, a: computeMean(a), b: computeMean(b) }));
    return { causes: this.#divideDifference(), facts, tools: this.#compareTools() };
  }

  /** Divides the difference of the means exactly, after Kitagawa (1955). */
  #divideDifference() {
    const pairs = this.#shares;
    if (pairs.length === 0) return null;
    const meanOf = (side: "a" | "b", cause: CauseName) => {
      const share = computeMean(pairs.map((pair) => pair[side][cause].share));
      return { share, reward: share === 0 ? null : computeMean(pairs.map((pair) => pair[side][cause].part)) / share };
    };
    const classes = causeNames.map((name) => ({ name, a: meanOf("a", name), b: meanOf("b", name) }));
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
    const { a, b } = this.#tools;
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
