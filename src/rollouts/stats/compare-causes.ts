/** Divides the difference of two runs by what happened, and by recorded keys (metrics.md). */

import type { Breaks } from "../../system/breaks.ts";
import { countIndexes, countNames, isCutOff } from "../facts.ts";
import { addUse, type FactColumns, noUse, type ToolUse } from "../index/fact-columns.ts";
import { formatKeyText } from "../index/group-key.ts";
import { pickFinite } from "../index/sums.ts";
import { comparedStepNames, divisionNames } from "../rules/names.ts";
import type { Both, Pool, Sides } from "./compare-sides.ts";
import { type Interval, NamedPairs } from "./intervals.ts";
import { compareNames, type Named } from "./stats-slice.ts";

/** A trajectory belongs to the first of these classes that fits. */
const causeNames = ["truncated", "tool_errors", "other"] as const;
type CauseName = (typeof causeNames)[number];
const [truncated, withErrors, other] = [0, 1, 2];

/** What happened in a pool. One object serves all pools, because new memory takes longer than the sums. */
class PoolSums {
  rows = 0;
  /** By class: the share of the rollouts, and the sum of their rewards divided by the number of all. */
  readonly shares = new Float64Array(causeNames.length);
  readonly parts = new Float64Array(causeNames.length);
  readonly uses = new Map<string | null, ToolUse>();
  readonly finishes = new Map<string | null, number>();
  readonly #columns: FactColumns;
  readonly #sums = new Float64Array(countNames.length);
  readonly #known = new Float64Array(countNames.length);

  constructor(columns: FactColumns) {
    this.#columns = columns;
  }

  /** @param rewards of the rows, and then of the exceptions */
  read({ rows }: Pool, rewards: ArrayLike<number>) {
    const columns = this.#columns;
    this.rows = rows.length;
    this.#divide(rows, rewards);
    for (let fact = 0; fact < countNames.length; fact++) this.#addFact(rows, fact);
    this.uses.clear();
    this.finishes.clear();
    for (let at = 0; at < rows.length; at++) {
      const row = rows[at] ?? 0;
      columns.forEachUse(row, this.#addUse);
      const reason = columns.finishReason.at(row) ?? null;
      this.finishes.set(reason, (this.finishes.get(reason) ?? 0) + 1);
    }
  }

  readonly #addUse = (tool: number, use: ToolUse) => addUse(this.uses, this.#columns.toolNames.at(tool) ?? null, use);

  #divide(rows: readonly number[], rewards: ArrayLike<number>) {
    const { shares, parts } = this;
    shares.fill(0);
    parts.fill(0);
    const { length: count } = pickFinite(rewards);
    for (let at = 0; at < rewards.length; at++) {
      const [row, reward = 0] = [rows[at], rewards[at]];
      if (!Number.isFinite(reward)) continue;
      const cause = row === undefined ? other : findCause(this.#columns, row);
      shares[cause] = (shares[cause] ?? 0) + 1 / count;
      parts[cause] = (parts[cause] ?? 0) + reward / count;
    }
  }

  #addFact(rows: readonly number[], fact: number) {
    let [sum, known] = [0, 0];
    for (let at = 0; at < rows.length; at++) {
      const value = this.#columns.countAt(rows[at] ?? 0, fact);
      if (value < 0) continue;
      sum += value;
      known++;
    }
    this.#sums[fact] = sum;
    this.#known[fact] = known;
  }

  meanOf(fact: number) {
    const known = this.#known[fact] ?? 0;
    return known === 0 ? null : (this.#sums[fact] ?? 0) / known;
  }
}

const findCause = (columns: FactColumns, row: number) => {
  if (isCutOff(columns.finishReason.at(row))) return truncated;
  return columns.countAt(row, countIndexes.tool_errors) > 0 ? withErrors : other;
};

/** Over pairs: calls for each trajectory, and shares of errors in the results of pairs with results. */
const createUseSums = () => ({ calls: 0, errors: 0, pairsWithResults: 0 });

const addPoolUse = (sums: ReturnType<typeof createUseSums>, { calls, errors, unanswered }: ToolUse, rows: number) => {
  sums.calls += calls / rows;
  const results = calls - unanswered;
  if (results <= 0) return;
  sums.errors += Math.min(1, errors / results);
  sums.pairsWithResults++;
};

type WithInterval = { readonly ci95: Interval | null };
type ClassMean = Readonly<{ share: number; reward: number | null }>;
type ToolMeans = Readonly<{ calls: number; errors: number | null }>;

/** The keys are those of the document of `rollcall compare`. Null without pairs. */
export interface CauseLists {
  readonly causes:
    | readonly (Both<ClassMean> & Readonly<{ name: CauseName; by_share: number; by_reward: number }> & WithInterval)[]
    | null;
  readonly facts: readonly (Both<number> & { readonly name: string } & WithInterval)[];
  readonly tools: readonly (Both<ToolMeans> & Named & WithInterval)[];
  readonly finish_reasons: readonly (Both<number> & Named)[] | null;
}

/** Sums what happened in the trajectories of each pair. */
export class PairCauses {
  readonly #sums: Both<PoolSums>;
  readonly #shares = new NamedPairs<CauseName>();
  readonly #parts = new NamedPairs<CauseName>();
  readonly #facts = new NamedPairs<string>();
  /** The errors for each trajectory, of the pairs with calls. */
  readonly #errors = new NamedPairs<string | null>();
  readonly #tools = new Map<string | null, Both<ReturnType<typeof createUseSums>>>();
  readonly #finishes = new Map<string | null, { a: number; b: number }>();
  #pairs = 0;

  constructor({ a, b }: Sides) {
    this.#sums = { a: new PoolSums(a.facts), b: new PoolSums(b.facts) };
  }

  /** @param hasMeans true if both sides have a mean reward */
  add(pools: Both<Pool>, rewards: Both<ArrayLike<number>>, hasMeans: boolean) {
    const { a, b } = this.#sums;
    a.read(pools.a, rewards.a);
    b.read(pools.b, rewards.b);
    for (const [cause, name] of hasMeans ? causeNames.entries() : []) {
      this.#shares.of(name).add(a.shares[cause] ?? 0, b.shares[cause] ?? 0);
      this.#parts.of(name).add(a.parts[cause] ?? 0, b.parts[cause] ?? 0);
    }
    for (const [fact, name] of countNames.entries()) this.#facts.of(name).add(a.meanOf(fact), b.meanOf(fact));
    if (a.rows === 0 || b.rows === 0) return;
    this.#pairs++;
    for (const name of a.uses.keys()) this.#addTool(name, { a, b });
    for (const name of b.uses.keys()) if (!a.uses.has(name)) this.#addTool(name, { a, b });
    for (const [name, count] of a.finishes) this.#finishOf(name).a += count / a.rows;
    for (const [name, count] of b.finishes) this.#finishOf(name).b += count / b.rows;
  }

  #addTool(name: string | null, { a, b }: Both<PoolSums>) {
    const known = this.#tools.get(name) ?? { a: createUseSums(), b: createUseSums() };
    this.#tools.set(name, known);
    const [inA, inB] = [a.uses.get(name) ?? noUse, b.uses.get(name) ?? noUse];
    addPoolUse(known.a, inA, a.rows);
    addPoolUse(known.b, inB, b.rows);
    this.#errors.of(name).add(inA.errors / a.rows, inB.errors / b.rows);
  }

  #finishOf(name: string | null) {
    const known = this.#finishes.get(name) ?? { a: 0, b: 0 };
    this.#finishes.set(name, known);
    return known;
  }

  compute(): CauseLists {
    return {
      causes: this.#divideDifference(),
      facts: Array.from(this.#facts.describe(), ({ name, a, b, ci95 }) => ({ name, a, b, ci95 })),
      tools: this.#compareTools(),
      finish_reasons: this.#compareFinishes(),
    };
  }

  /** Divides the difference of the means exactly, after Kitagawa (1955). */
  #divideDifference() {
    const parts = new Map(Array.from(this.#parts.describe(), (part) => [part.name, part]));
    const classes = Array.from(this.#shares.describe(), ({ name, a, b, ci95 }) => {
      const meanOf = (share: number, part = 0) => ({ share, reward: share === 0 ? null : part / share });
      return { name, a: meanOf(a, parts.get(name)?.a), b: meanOf(b, parts.get(name)?.b), ci95 };
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
    const intervals = new Map(Array.from(this.#errors.describe(), ({ name, ci95 }) => [name, ci95]));
    const toMeans = ({ calls, errors, pairsWithResults }: ReturnType<typeof createUseSums>) => ({
      calls: calls / this.#pairs,
      errors: pairsWithResults > 0 ? errors / pairsWithResults : null,
    });
    return Array.from(this.#tools, ([name, { a, b }]) => {
      return { name, a: toMeans(a), b: toMeans(b), ci95: intervals.get(name) ?? null };
    }).sort((x, y) => y.a.calls + y.b.calls - (x.a.calls + x.b.calls) || compareNames(x, y));
  }

  #compareFinishes() {
    if (this.#finishes.size === 0) return null;
    const rows = Array.from(this.#finishes, ([name, { a, b }]) => ({ name, a: a / this.#pairs, b: b / this.#pairs }));
    return rows.sort((x, y) => y.a + y.b - x.a - x.b || compareNames(x, y));
  }
}

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

/** A key with more values names prompts. */
const maxDivisions = 20;

/** Returns mean rewards by values of keys with few values. A pair has that of its first trajectory. */
export const compareDivisions = (
  { a }: Sides,
  changes: readonly Readonly<{ means: Both<number> | undefined; pair: number }>[],
  readPair: (pair: number) => Both<Pool>,
) =>
  divisionNames.flatMap((name) => {
    const column = a.facts.tasks.get(name);
    if (!column || column.names.list.length < 2 || column.names.list.length > maxDivisions) return [];
    const byValue = new NamedPairs<string>();
    for (const { pair, means } of changes) {
      const [row = -1] = readPair(pair).a.rows;
      if (means) byValue.of(formatKeyText(column.at(row)) ?? "").add(means.a, means.b);
    }
    return Array.from(byValue.describe(), ({ name: value, ...compared }) => ({ name, value, ...compared }));
  });

/** Returns the metadata with one value in all trajectories of each side, if these values differ. */
export const findSettings = ({ a, b }: Sides) =>
  Array.from(a.facts.settings).flatMap(([name, inA]) => {
    const inB = b.facts.settings.get(name) ?? inA;
    return inA === inB ? [] : { name, a: formatKeyText(inA) ?? "", b: formatKeyText(inB) ?? "" };
  });

/** Returns the sides with several values of a step column. */
export const findSteps = (sides: Sides) =>
  (["a", "b"] as const).flatMap((side) =>
    comparedStepNames.flatMap((name) => {
      const values = sides[side].facts.tasks.get(name)?.names.list ?? [];
      return values.length < 2 ? [] : { side, name, values: values.map((value) => formatKeyText(value) ?? "") };
    }),
  );
