/** Summarizes calls by operation and model: states, durations, tokens and costs. */
import { addDecimals, type Decimal, formatDecimal, parseDecimal, zero } from "../decimal.ts";
import type { RawJson } from "../json/raw-json.ts";
import {
  type CallState,
  findDurationMicros,
  findModels,
  findOperation,
  findState,
  readCosts,
  readUsage,
  readUsages,
  type Usage,
} from "./facts.ts";

/** Counts and sums of calls: durations in seconds, costs in US dollars as exact decimals. */
export interface CallCount {
  readonly calls: number;
  readonly states: Readonly<Record<CallState, number>>;
  /** `calls` counts calls with a duration. Percentiles are by nearest rank, in seconds. */
  readonly duration: { readonly calls: number; readonly p50: number | undefined; readonly p95: number | undefined };
  /** `calls` counts calls with a number of tokens. A sum is undefined if no call has the number. */
  readonly tokens: Readonly<Record<TokenKind, bigint | undefined>> & { readonly calls: number };
  /** `calls` counts calls with a cost. `usd` is the sum of these costs. */
  readonly cost: { readonly calls: number; readonly usd: string | undefined };
}

/** Calls of one operation that used one model. A call that used several models counts for each of them. */
export interface CallGroup extends CallCount {
  /** Empty if unknown. */
  readonly op: string;
  readonly model: string;
}

export interface CallSummary {
  readonly all: CallCount;
  /** The groups with most calls first. */
  readonly groups: readonly CallGroup[];
  /** Calls with an invalid number of tokens, amount or time. */
  readonly invalid: number;
}

const tokenKinds = ["prompt", "completion", "total"] as const;
type TokenKind = (typeof tokenKinds)[number];

interface CallSummarizer {
  add(call: RawJson): void;
  summary(): CallSummary;
}

/** Opens an empty summary. `prefix` is the setting vendor_prefix. */
export const openSummary = (prefix: string): CallSummarizer => {
  const all = newTally("", "");
  const groups = new Map<string, Tally>();
  let invalid = 0;
  return {
    add(call) {
      const micros = findDurationMicros(call);
      const used = measureUse(call, prefix);
      const isTimed = micros !== undefined && micros >= 0;
      if (used.isInvalid || (micros !== undefined && !isTimed)) invalid++;
      const facts = { state: findState(call, prefix), micros: isTimed ? micros : undefined };
      addToTally(all, { ...facts, used: used.all });
      const op = findOperation(call) ?? "";
      for (const [model, own] of used.models) {
        const key = JSON.stringify([op, model]);
        const tally = groups.get(key) ?? newTally(op, model);
        groups.set(key, tally);
        addToTally(tally, { ...facts, used: own });
      }
    },
    summary: () => ({
      all: toCount(all),
      groups: Array.from(groups.values(), (tally) => ({ op: tally.op, model: tally.model, ...toCount(tally) })).sort(
        (a, b) => b.calls - a.calls || compareTexts(a.op, b.op) || compareTexts(a.model, b.model),
      ),
      invalid,
    }),
  };
};

const compareTexts = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

type Amounts = Partial<Record<TokenKind, bigint | undefined>> & { cost?: Decimal };

const addAmounts = (sum: Amounts, more: Amounts): void => {
  for (const kind of tokenKinds) {
    const tokens = more[kind];
    if (tokens !== undefined) sum[kind] = (sum[kind] ?? 0n) + tokens;
  }
  if (more.cost !== undefined) sum.cost = addDecimals(sum.cost ?? zero, more.cost);
};

/** Measures the tokens and costs of a call, in total and by model. */
const measureUse = (call: RawJson, prefix: string) => {
  const models = new Map<string, Amounts>(findModels(call, prefix).map((model) => [model, {}]));
  const all: Amounts = {};
  let isInvalid = false;
  const add = (model: string, used: Amounts): void => {
    const own = models.get(model) ?? {};
    models.set(model, own);
    addAmounts(own, used);
    addAmounts(all, used);
  };
  for (const usage of readUsages(call)) {
    isInvalid ||= tokenKinds.some((kind) => usage[kind] !== undefined && parseTokens(usage[kind]) === undefined);
    const [prompt, completion] = [parseTokens(usage.prompt), parseTokens(usage.completion)];
    add(usage.model ?? "", { prompt, completion, total: totalTokens(usage) });
  }
  for (const { model, total, unit } of readCosts(call, prefix)) {
    if (unit === "USD" && total !== undefined) add(model, { cost: total });
    else isInvalid = true;
  }
  if (models.size === 0) models.set("", all);
  return { all, models, isInvalid };
};

/** Returns the given total, or the sum of prompt and completion if both are known. */
const totalTokens = (usage: Usage): bigint | undefined => {
  const [prompt, completion] = [parseTokens(usage.prompt), parseTokens(usage.completion)];
  const sum = prompt === undefined || completion === undefined ? undefined : prompt + completion;
  return parseTokens(usage.total) ?? sum;
};

/** Returns the total tokens of a usage object; undefined if it has none. */
export const countTokens = (value: RawJson | undefined): bigint | undefined =>
  readUsage(value, undefined).map(totalTokens)[0];

/** Parses a whole number of tokens in any spelling. */
const parseTokens = (text = ""): bigint | undefined => {
  const decimal = parseDecimal(text);
  const whole = decimal === undefined ? "" : formatDecimal(decimal);
  return /^\d+$/.test(whole) ? BigInt(whole) : undefined;
};

/** Running counts and sums of a group of calls, with a duration per timed call. */
interface Tally {
  readonly op: string;
  readonly model: string;
  calls: number;
  readonly states: Record<CallState, number>;
  readonly micros: number[];
  callsWithTokens: number;
  callsWithCost: number;
  readonly used: Amounts;
}

const newTally = (op: string, model: string): Tally => {
  const states = { ok: 0, failed: 0, running: 0, deleted: 0 };
  return { op, model, calls: 0, states, micros: [], callsWithTokens: 0, callsWithCost: 0, used: {} };
};

interface CallFacts {
  readonly state: CallState;
  readonly micros: number | undefined;
  readonly used: Amounts;
}

const addToTally = (tally: Tally, { state, micros, used }: CallFacts): void => {
  tally.calls++;
  tally.states[state]++;
  if (micros !== undefined) tally.micros.push(micros);
  if (tokenKinds.some((kind) => used[kind] !== undefined)) tally.callsWithTokens++;
  if (used.cost !== undefined) tally.callsWithCost++;
  addAmounts(tally.used, used);
};

const toCount = ({ calls, states, micros, callsWithTokens, callsWithCost, used }: Tally): CallCount => {
  const { cost, prompt, completion, total } = used;
  const sorted = Float64Array.from(micros).sort();
  return {
    calls,
    states: { ...states },
    duration: { calls: sorted.length, p50: percentileSeconds(sorted, 0.5), p95: percentileSeconds(sorted, 0.95) },
    tokens: { calls: callsWithTokens, prompt, completion, total },
    cost: { calls: callsWithCost, usd: cost === undefined ? undefined : formatDecimal(cost) },
  };
};

/** Returns the smallest duration that at least `share` of all durations do not exceed, in seconds. */
const percentileSeconds = (sorted: Float64Array, share: number): number | undefined => {
  const micros = sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)];
  return micros === undefined ? undefined : micros / 1_000_000;
};
