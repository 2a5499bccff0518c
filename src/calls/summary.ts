/** Summarizes calls by operation and model: states, durations, tokens and costs. */
import { addDecimals, type Decimal, formatDecimal, zero } from "../decimal.ts";
import type { RawJson } from "../json/raw-json.ts";
import {
  type CallState,
  type Cost,
  findDurationMicros,
  findModels,
  findOperation,
  findState,
  readCosts,
  readDollars,
  readUsages,
  sumTokens,
  type TokenKind,
  tokenKinds,
  type Usage,
} from "./facts.ts";

/** Counts and sums for one operation and model, or for all calls. `op` and `model` are empty if unknown or all. */
export interface CallGroup {
  readonly op: string;
  readonly model: string;
  readonly calls: number;
  readonly states: Readonly<Record<CallState, number>>;
  /** `calls` counts calls with a duration that is not negative. Percentiles are by nearest rank, in seconds. */
  readonly duration: { readonly calls: number; readonly p50: number | undefined; readonly p95: number | undefined };
  /** `calls` counts calls with a number of tokens. A sum is undefined if no call has the number. */
  readonly tokens: Readonly<Record<TokenKind, bigint | undefined>> & { readonly calls: number };
  /** `calls` counts calls with a valid cost in US dollars. `usd` is the exact sum of these costs. */
  readonly cost: { readonly calls: number; readonly usd: string | undefined };
}

export interface CallSummary {
  readonly all: CallGroup;
  readonly groups: readonly CallGroup[];
}

export const openSummary = (prefix: string) => {
  const all = newTally("", "");
  const groups = new Map<string, Tally>();
  return {
    add(call: RawJson): void {
      const facts = readFacts(call, prefix);
      const { usages, costs } = facts;
      addToTally(all, facts);
      const op = findOperation(call) ?? "";
      const models = new Set([...findModels(call, prefix), ...[...usages, ...costs].map(modelOf)]);
      for (const model of models.size === 0 ? [""] : models) {
        const key = JSON.stringify([op, model]);
        const tally = groups.get(key) ?? newTally(op, model);
        groups.set(key, tally);
        const isOfModel = (part: Usage | Cost): boolean => modelOf(part) === model;
        addToTally(tally, { ...facts, usages: usages.filter(isOfModel), costs: costs.filter(isOfModel) });
      }
    },
    summary: (): CallSummary => {
      const sorted = Array.from(groups.values(), toGroup).sort(
        (a, b) => b.calls - a.calls || compareTexts(a.op, b.op) || compareTexts(a.model, b.model),
      );
      return { all: toGroup(all), groups: sorted };
    },
  };
};

const readFacts = (call: RawJson, prefix: string) => ({
  state: findState(call, prefix),
  micros: findDurationMicros(call),
  usages: readUsages(call),
  costs: readCosts(call, prefix),
});

const modelOf = ({ model = "" }: { readonly model: string | undefined }): string => model;

const compareTexts = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

interface Tally extends Pick<CallGroup, "op" | "model"> {
  calls: number;
  readonly states: Record<CallState, number>;
  readonly micros: number[];
  readonly tokens: Record<TokenKind, bigint | undefined> & { calls: number };
  callsWithCost: number;
  dollars: Decimal;
}

const newTally = (op: string, model: string): Tally => {
  const states = { ok: 0, failed: 0, running: 0, deleted: 0 };
  const tokens = { calls: 0, prompt: undefined, completion: undefined, total: undefined };
  return { op, model, calls: 0, states, micros: [], tokens, callsWithCost: 0, dollars: zero };
};

const addToTally = (tally: Tally, { state, micros, usages, costs }: ReturnType<typeof readFacts>): void => {
  tally.calls++;
  tally.states[state]++;
  if (micros !== undefined && micros >= 0) tally.micros.push(micros);
  const counted = usages.map((usage) => ({ ...usage, total: sumTokens(usage) }));
  for (const kind of tokenKinds) {
    for (const usage of counted) {
      const tokens = usage[kind];
      if (tokens !== undefined) tally.tokens[kind] = (tally.tokens[kind] ?? 0n) + tokens;
    }
  }
  if (counted.some((usage) => tokenKinds.some((kind) => usage[kind] !== undefined))) tally.tokens.calls++;
  const dollars: readonly Decimal[] = costs.flatMap((cost) => readDollars(cost) ?? []);
  if (dollars.length > 0) tally.callsWithCost++;
  tally.dollars = dollars.reduce(addDecimals, tally.dollars);
};

const toGroup = ({ micros, callsWithCost, dollars, ...tally }: Tally): CallGroup => {
  const sorted = Float64Array.from(micros).sort();
  /** Returns the smallest duration that at least `share` of all durations do not exceed, in seconds. */
  const percentile = (share: number): number | undefined => {
    const ranked = sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)];
    return ranked === undefined ? undefined : ranked / 1_000_000;
  };
  return {
    ...tally,
    duration: { calls: sorted.length, p50: percentile(0.5), p95: percentile(0.95) },
    cost: { calls: callsWithCost, usd: callsWithCost === 0 ? undefined : formatDecimal(dollars) },
  };
};
