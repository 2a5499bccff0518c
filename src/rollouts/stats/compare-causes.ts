/** Divides the difference of two runs by what happened, and by recorded keys (metrics.md). */

import type { Breaks } from "../../system/breaks.ts";
import { countIndexes, countNames, isCutOff } from "../facts/facts.ts";
import { divisionNames } from "../index/ambiguous-groups.ts";
import { type FactColumns, Names, type ToolUse } from "../index/fact-columns.ts";
import { formatKeyText } from "../index/group-key.ts";
import { pickFinite } from "../index/sums.ts";
import { comparedStepNames } from "../rules/step-columns.ts";
import type { Both, Pool, Side, Sides } from "./compare-sides.ts";
import { NamedPairs } from "./intervals.ts";
import { compareNames } from "./stats-slice.ts";

/** A trajectory belongs to the first of these classes that fits. */
const causeNames = ["truncated", "tool_errors", "other"] as const;
const [truncated, withErrors, other] = [0, 1, 2];

const noUse: Readonly<ToolUse> = { calls: 0, errors: 0, unanswered: 0 };

const add = (to: Float64Array, at: number, value: number) => {
  to[at] = (to[at] ?? 0) + value;
};

/** Sums what happened in one pool after the other, because new objects for each pool take long. */
class PoolSums {
  rows = 0;
  /** By class: the share of the rollouts, and the sum of their rewards divided by the number of all. */
  readonly shares = new Float64Array(causeNames.length);
  readonly parts = new Float64Array(causeNames.length);
  /** By the number of the tool in `toolNames`, and the numbers of the tools that the pool used. */
  readonly uses: ToolUse[] = [];
  readonly used: number[] = [];
  /** The numbers of trajectories, by the number of the finish reason in `finishNames`. */
  readonly finishes = new Map<number, number>();
  readonly #columns: FactColumns;
  readonly #sums = new Float64Array(countNames.length);
  readonly #known = new Float64Array(countNames.length);
  /** For the numbers in the columns, those in the names of both sides. */
  readonly #tools: readonly number[];
  readonly #reasons: readonly number[];

  constructor(columns: FactColumns, toolNames: Names, finishNames: Names) {
    this.#columns = columns;
    this.#tools = listNumbers(columns.toolNames, toolNames);
    this.#reasons = listNumbers(columns.finishReasons, finishNames);
  }

  /** @param rewards of the rows, and then of the exceptions */
  sum({ rows }: Pool, rewards: ArrayLike<number>) {
    const columns = this.#columns;
    this.#reset(rows.length);
    const { length: count } = pickFinite(rewards);
    for (let at = 0; at < rewards.length; at++) {
      const [row, reward = 0] = [rows[at], rewards[at]];
      const cause = row === undefined ? other : findCause(columns, row);
      if (!Number.isFinite(reward)) continue;
      add(this.shares, cause, 1 / count);
      add(this.parts, cause, reward / count);
    }
    for (const row of rows) {
      for (let fact = 0; fact < countNames.length; fact++) {
        const value = columns.countAt(row, fact);
        if (value >= 0) add(this.#sums, fact, value);
        if (value >= 0) add(this.#known, fact, 1);
      }
      columns.forEachUse(row, this.#addUse);
      const reason = this.#reasons[columns.finishReasonOf(row)] ?? 0;
      this.finishes.set(reason, (this.finishes.get(reason) ?? 0) + 1);
    }
  }

  readonly #addUse = (tool: number, { calls, errors, unanswered }: Readonly<ToolUse>) => {
    const number = this.#tools[tool] ?? 0;
    const use = this.uses[number] ?? { ...noUse };
    this.uses[number] = use;
    if (isUnused(use)) this.used.push(number);
    use.calls += calls;
    use.errors += errors;
    use.unanswered += unanswered;
  };

  #reset(rows: number) {
    this.rows = rows;
    // For so few numbers, a loop is faster than `fill`.
    for (let cause = 0; cause < causeNames.length; cause++) this.shares[cause] = this.parts[cause] = 0;
    for (let fact = 0; fact < countNames.length; fact++) this.#sums[fact] = this.#known[fact] = 0;
    for (const tool of this.used) this.uses[tool] = { ...noUse };
    this.used.length = 0;
    this.finishes.clear();
  }

  meanOf(fact: number) {
    const known = this.#known[fact] ?? 0;
    return known > 0 ? (this.#sums[fact] ?? 0) / known : null;
  }
}

/** For each number in `own`, and for 0, returns the number in `all`. */
const listNumbers = (own: Names, all: Names) => [0, ...own.list.map((name) => all.numberOf(name))];

const findCause = (columns: FactColumns, row: number) => {
  if (isCutOff(columns.finishReasons.at(columns.finishReasonOf(row)))) return truncated;
  return columns.countAt(row, countIndexes.tool_errors) > 0 ? withErrors : other;
};

/** Over pairs: calls for each trajectory, and shares of errors in the results of pairs with results. */
const isUnused = ({ calls, errors } = noUse) => calls + errors === 0;

const createUseSums = () => ({ calls: 0, errors: 0, pairsWithResults: 0 });

const addPoolUse = (sums: ReturnType<typeof createUseSums>, use: Readonly<ToolUse>, rows: number) => {
  const { calls, errors, unanswered } = use;
  sums.calls += calls / rows;
  const results = calls - unanswered;
  if (results <= 0) return;
  sums.errors += Math.min(1, errors / results);
  sums.pairsWithResults++;
};

/** Sums what happened in the trajectories of each pair. */
export class PairCauses {
  readonly #sums: Both<PoolSums>;
  readonly #toolNames = new Names();
  readonly #finishNames = new Names();
  readonly #shares = new NamedPairs<(typeof causeNames)[number]>();
  readonly #parts = new NamedPairs<(typeof causeNames)[number]>();
  readonly #facts = new NamedPairs<string>();
  /** The errors for each trajectory, of the pairs with calls, by the number of the tool. */
  readonly #errors = new NamedPairs<number>();
  readonly #tools = new Map<number, Both<ReturnType<typeof createUseSums>>>();
  readonly #finishes = new Map<number, { a: number; b: number }>();
  #pairs = 0;

  constructor({ a, b }: Sides) {
    const openSums = ({ facts }: Side) => new PoolSums(facts.walked, this.#toolNames, this.#finishNames);
    this.#sums = { a: openSums(a), b: openSums(b) };
  }

  /** @param hasMeans true if both sides have a mean reward */
  add(pools: Both<Pool>, rewards: Both<ArrayLike<number>>, hasMeans: boolean) {
    const { a, b } = this.#sums;
    a.sum(pools.a, rewards.a);
    b.sum(pools.b, rewards.b);
    for (const [cause, name] of hasMeans ? causeNames.entries() : []) {
      this.#shares.of(name).add(a.shares[cause] ?? 0, b.shares[cause] ?? 0);
      this.#parts.of(name).add(a.parts[cause] ?? 0, b.parts[cause] ?? 0);
    }
    for (const [fact, name] of countNames.entries()) this.#facts.of(name).add(a.meanOf(fact), b.meanOf(fact));
    if (a.rows === 0 || b.rows === 0) return;
    this.#pairs++;
    for (const tool of a.used) this.#addTool(tool);
    for (const tool of b.used) if (isUnused(a.uses[tool])) this.#addTool(tool);
    for (const [reason, count] of a.finishes) this.#finishOf(reason).a += count / a.rows;
    for (const [reason, count] of b.finishes) this.#finishOf(reason).b += count / b.rows;
  }

  #addTool(tool: number) {
    const { a, b } = this.#sums;
    const known = this.#tools.get(tool) ?? { a: createUseSums(), b: createUseSums() };
    this.#tools.set(tool, known);
    const [inA, inB] = [a.uses[tool] ?? noUse, b.uses[tool] ?? noUse];
    addPoolUse(known.a, inA, a.rows);
    addPoolUse(known.b, inB, b.rows);
    this.#errors.of(tool).add(inA.errors / a.rows, inB.errors / b.rows);
  }

  #finishOf(reason: number) {
    const known = this.#finishes.get(reason) ?? { a: 0, b: 0 };
    this.#finishes.set(reason, known);
    return known;
  }

  compute() {
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
    return Array.from(this.#tools, ([tool, { a, b }]) => {
      const name = this.#toolNames.at(tool) ?? null;
      return { name, a: toMeans(a), b: toMeans(b), ci95: intervals.get(tool) ?? null };
    }).sort((x, y) => y.a.calls + y.b.calls - (x.a.calls + x.b.calls) || compareNames(x, y));
  }

  #compareFinishes() {
    if (this.#finishes.size === 0) return null;
    const rows = Array.from(this.#finishes, ([reason, { a, b }]) => {
      return { name: this.#finishNames.at(reason) ?? null, a: a / this.#pairs, b: b / this.#pairs };
    });
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
    const column = a.facts.walked.tasks.get(name);
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
  Array.from(a.facts.walked.settings).flatMap(([name, inA]) => {
    const inB = b.facts.walked.settings.get(name) ?? inA;
    return inA === inB ? [] : { name, a: formatKeyText(inA) ?? "", b: formatKeyText(inB) ?? "" };
  });

/** Returns the sides with several values of a step column. */
export const findSteps = (sides: Sides) =>
  (["a", "b"] as const).flatMap((side) =>
    comparedStepNames.flatMap((name) => {
      const values = sides[side].facts.walked.tasks.get(name)?.names.list ?? [];
      return values.length < 2 ? [] : { side, name, values: values.map((value) => formatKeyText(value) ?? "") };
    }),
  );
