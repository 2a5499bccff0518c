/** Divides the difference of two runs by what happened, and by recorded keys (metrics.md). */

import type { Breaks } from "../../system/breaks.ts";
import { countIndexes, countNames, isCutOff } from "../facts.ts";
import { addUse, type FactColumns, noUse, type ToolUse } from "../index/fact-columns.ts";
import { formatKeyText } from "../index/group-key.ts";
import { meanOfFinite, pickFinite, Sum } from "../index/sums.ts";
import { comparedStepNames, divisionNames } from "../rules/names.ts";
import type { Both, Pool, Sides } from "./compare-sides.ts";
import { type Chance, compareDifferences, type Interval, NamedPairs, PairedValues } from "./intervals.ts";
import { compareNames, type Named } from "./stats-slice.ts";

/** A trajectory belongs to the first of these classes that fits. */
const causeNames = ["truncated", "tool_errors", "other"] as const;
type CauseName = (typeof causeNames)[number];
const [truncated, withErrors, other] = [0, 1, 2];

const findCause = (columns: FactColumns, row: number) => {
  if (isCutOff(columns.finishReason.at(row))) return truncated;
  return columns.countAt(row, countIndexes.tool_errors) > 0 ? withErrors : other;
};

/** Returns, for each class, the share of the rollouts, and the sum of their rewards divided by the number of all. */
const divideRewards = (columns: FactColumns, { rows }: Pool, rewards: ArrayLike<number>) => {
  const [shares, parts] = [causeNames.map(() => 0), causeNames.map(() => 0)];
  const { length: count } = pickFinite(rewards);
  for (let at = 0; at < rewards.length; at++) {
    const [row, reward = 0] = [rows[at], rewards[at]];
    if (!Number.isFinite(reward)) continue;
    // Exceptions follow the rows.
    const cause = row === undefined ? other : findCause(columns, row);
    shares[cause] = (shares[cause] ?? 0) + 1 / count;
    parts[cause] = (parts[cause] ?? 0) + reward / count;
  }
  return { shares, parts };
};

/** Returns null if the count is unknown in all rows. @param fact an index in `countNames` */
const meanCount = (columns: FactColumns, { rows }: Pool, fact: number) => {
  const counts = rows.map((row) => columns.countAt(row, fact));
  return meanOfFinite(counts.map((count) => (count < 0 ? Number.NaN : count)));
};

const countByName = (columns: FactColumns, { rows }: Pool) => {
  const [uses, finishes] = [new Map<string | null, ToolUse>(), new Map<string | null, number>()];
  for (const row of rows) {
    columns.forEachUse(row, (tool, use) => addUse(uses, columns.toolNames.at(tool) ?? null, use));
    const reason = columns.finishReason.at(row) ?? null;
    finishes.set(reason, (finishes.get(reason) ?? 0) + 1);
  }
  return { uses, finishes };
};

/** Of the results of a tool; null without results. */
const shareOfErrors = ({ calls, errors, unanswered }: ToolUse) =>
  calls > unanswered ? Math.min(1, errors / (calls - unanswered)) : null;

type ClassMean = Readonly<{ share: number; reward: number | null }>;
type ToolMeans = Readonly<{ calls: number; errors: number | null }>;
type WithChance = { readonly ci95: Interval | null } & Chance;

/** The keys are those of the document of `rollcall compare`. Null without pairs. */
export interface CauseLists {
  readonly causes:
    | readonly (Both<ClassMean> & Readonly<{ name: CauseName; by_share: number; by_reward: number }> & WithChance)[]
    | null;
  readonly facts: readonly (Both<number> & { readonly name: string } & WithChance)[];
  readonly tools: readonly (Both<ToolMeans> & Named & Readonly<Record<"of_calls" | "of_errors", WithChance>>)[] | null;
  readonly finish_reasons: readonly (Both<number> & Named & Chance)[] | null;
}

/** The calls and the errors of a tool for each trajectory, and its share of errors in each pool with results. */
const createToolValues = () => {
  return { calls: new PairedValues(), errors: new PairedValues(), a: new Sum(), b: new Sum() };
};

/** Sums what happened in the trajectories of each pair. */
export class PairCauses {
  readonly #sides: Sides;
  readonly #shares = new NamedPairs<CauseName>();
  readonly #parts = new NamedPairs<CauseName>();
  readonly #facts = new NamedPairs<string>();
  readonly #tools = new Map<string | null, ReturnType<typeof createToolValues>>();
  readonly #finishes = new NamedPairs<string | null>();
  #pairs = 0;

  constructor(sides: Sides) {
    this.#sides = sides;
  }

  add(pools: Both<Pool>, rewards: Both<ArrayLike<number>>, hasMeans: boolean) {
    const [a, b] = [this.#sides.a.facts, this.#sides.b.facts];
    const [inA, inB] = [divideRewards(a, pools.a, rewards.a), divideRewards(b, pools.b, rewards.b)];
    for (const [cause, name] of hasMeans ? causeNames.entries() : []) {
      this.#shares.of(name).add(inA.shares[cause] ?? 0, inB.shares[cause] ?? 0);
      this.#parts.of(name).add(inA.parts[cause] ?? 0, inB.parts[cause] ?? 0);
    }
    for (const [fact, name] of countNames.entries())
      this.#facts.of(name).add(meanCount(a, pools.a, fact), meanCount(b, pools.b, fact));
    this.#facts.of("media").add(meanOfFinite(a.media.pick(pools.a.rows)), meanOfFinite(b.media.pick(pools.b.rows)));
    if (pools.a.rows.length > 0 && pools.b.rows.length > 0) this.#addNames(pools);
  }

  #addNames(pools: Both<Pool>) {
    const { a, b } = this.#sides;
    const [inA, inB] = [countByName(a.facts, pools.a), countByName(b.facts, pools.b)];
    const [rowsA, rowsB] = [pools.a.rows.length, pools.b.rows.length];
    for (const name of new Set([...inA.uses.keys(), ...inB.uses.keys()])) {
      const known = this.#tools.get(name) ?? createToolValues();
      this.#tools.set(name, known);
      const [useA, useB] = [inA.uses.get(name) ?? noUse, inB.uses.get(name) ?? noUse];
      known.calls.pad(this.#pairs);
      known.calls.add(useA.calls / rowsA, useB.calls / rowsB);
      known.errors.add(useA.errors / rowsA, useB.errors / rowsB);
      for (const [sum, share] of [
        [known.a, shareOfErrors(useA)],
        [known.b, shareOfErrors(useB)],
      ] as const)
        if (share !== null) sum.add(share);
    }
    for (const name of new Set([...inA.finishes.keys(), ...inB.finishes.keys()])) {
      const values = this.#finishes.of(name);
      values.pad(this.#pairs);
      values.add((inA.finishes.get(name) ?? 0) / rowsA, (inB.finishes.get(name) ?? 0) / rowsB);
    }
    this.#pairs++;
  }

  compute(): CauseLists {
    for (const name of this.#finishes.names) this.#finishes.of(name).pad(this.#pairs);
    const finishes = Array.from(this.#finishes.describe(), ({ name, a, b, p }) => ({ name, a, b, p }));
    return {
      causes: this.#divideDifference(),
      facts: Array.from(this.#facts.describe(), ({ name, a, b, ci95, p }) => ({ name, a, b, ci95, p })),
      tools: this.#tools.size === 0 ? null : this.#compareTools(),
      finish_reasons:
        finishes.length === 0 ? null : finishes.sort((x, y) => y.a + y.b - x.a - x.b || compareNames(x, y)),
    };
  }

  /** Divides the difference of the means exactly, after Kitagawa (1955). */
  #divideDifference() {
    const parts = new Map(Array.from(this.#parts.describe(), (part) => [part.name, part]));
    const classes = Array.from(this.#shares.describe(), ({ name, a, b, ci95, p }) => {
      const meanOf = (share: number, part = 0) => ({ share, reward: share === 0 ? null : part / share });
      return { name, a: meanOf(a, parts.get(name)?.a), b: meanOf(b, parts.get(name)?.b), ci95, p };
    });
    if (classes.length === 0) return null;
    const totals = classes.flatMap(({ a, b }) => [a, b]).map(({ share, reward }) => share * (reward ?? 0));
    const middle = totals.reduce((sum, part) => sum + part, 0) / 2;
    return classes.map(({ name, a, b, ci95, p }) => {
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
        p,
      };
    });
  }

  #compareTools() {
    const toChance = (values: PairedValues) => {
      const { compared, p = null } = values.describe() ?? {};
      return { ci95: compared?.ci95 ?? null, p };
    };
    return Array.from(this.#tools, ([name, { calls, errors, a, b }]) => {
      calls.pad(this.#pairs);
      const { compared } = calls.describe() ?? {};
      const toMeans = (ofCalls: number, shares: Sum) => {
        return { calls: ofCalls, errors: shares.count === 0 ? null : shares.mean };
      };
      return {
        name,
        a: toMeans(compared?.a ?? 0, a),
        b: toMeans(compared?.b ?? 0, b),
        of_calls: toChance(calls),
        of_errors: toChance(errors),
      };
    }).sort((x, y) => y.a.calls + y.b.calls - (x.a.calls + x.b.calls) || compareNames(x, y));
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

/**
 * Returns mean rewards by values of keys with few values, with the p value of the difference from the other pairs. A
 * pair has the value of its first trajectory.
 */
export const compareDivisions = (
  { a }: Sides,
  changes: readonly Readonly<{ means: Both<number> | undefined; pair: Both<Pool> }>[],
) =>
  divisionNames.flatMap((name) => {
    const column = a.facts.tasks.get(name);
    if (!column || column.names.list.length < 2 || column.names.list.length > maxDivisions) return [];
    const [byValue, others] = [new NamedPairs<string>(), new NamedPairs<string>()];
    const values = column.names.list.map((text) => formatKeyText(text) ?? "");
    for (const { pair, means } of changes) {
      const [row = -1] = pair.a.rows;
      const own = formatKeyText(column.at(row)) ?? "";
      if (means) for (const value of values) (value === own ? byValue : others).of(value).add(means.a, means.b);
    }
    return Array.from(byValue.describe(), ({ name: value, ...compared }) => {
      return { name, value, ...compared, p: compareDifferences(byValue.of(value), others.of(value)) };
    });
  });

/** Returns the sides with several values of a step column. */
export const findSteps = (sides: Sides) =>
  (["a", "b"] as const).flatMap((side) =>
    comparedStepNames.flatMap((name) => {
      const values = sides[side].facts.tasks.get(name)?.names.list ?? [];
      return values.length < 2 ? [] : { side, name, values: values.map((value) => formatKeyText(value) ?? "") };
    }),
  );
