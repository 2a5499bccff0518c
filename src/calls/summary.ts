/** Counts calls as they come: how many, how they ended, how long they took, what they used and cost, by operation and model. */
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

/** Sums of calls. Seconds, and US dollars as exact decimals. */
export interface CallCount {
  readonly calls: number;
  readonly states: Readonly<Record<CallState, number>>;
  /** `calls` are those of known duration; the percentiles are durations that occurred (nearest rank). */
  readonly duration: { readonly calls: number; readonly p50: number | undefined; readonly p95: number | undefined };
  /** `calls` are those of known tokens; a sum is undefined if no call has such a number. */
  readonly tokens: Readonly<Record<TokenKind, bigint | undefined>> & { readonly calls: number };
  /** `calls` are those of known cost. */
  readonly cost: { readonly calls: number; readonly usd: string | undefined };
}

/** Calls of one operation that used one model. A call of several models is counted with each of them. */
export interface CallGroup extends CallCount {
  /** Empty if the calls name none. */
  readonly op: string;
  readonly model: string;
}

export interface CallSummary {
  /** Each call once. */
  readonly all: CallCount;
  /** Those with most calls first. */
  readonly groups: readonly CallGroup[];
  /** Calls in which a number of tokens, an amount or a time could not be used. */
  readonly odd: number;
}

const tokenKinds = ["prompt", "completion", "total"] as const;
type TokenKind = (typeof tokenKinds)[number];

/** Takes calls one by one, and keeps no content of any. */
interface CallSummarizer {
  add(call: RawJson): void;
  summary(): CallSummary;
}

/** Opens an empty summary. `prefix` is the deployment's own word in the summary of a call. */
export const openSummary = (prefix: string): CallSummarizer => {
  const all = newTally("", "");
  const groups = new Map<string, Tally>();
  let odd = 0;
  return {
    add(call) {
      const micros = findDurationMicros(call);
      const used = measureUse(call, prefix);
      const isTimed = micros !== undefined && micros >= 0;
      if (used.isOdd || (micros !== undefined && !isTimed)) odd++;
      const counted = { state: findState(call, prefix), micros: isTimed ? micros : undefined };
      addToTally(all, { ...counted, used: used.all });
      const op = findOperation(call) ?? "";
      for (const [model, own] of used.models) {
        const key = JSON.stringify([op, model]);
        const tally = groups.get(key) ?? newTally(op, model);
        groups.set(key, tally);
        addToTally(tally, { ...counted, used: own });
      }
    },
    summary: () => ({
      all: toCount(all),
      groups: Array.from(groups.values(), (tally) => ({ op: tally.op, model: tally.model, ...toCount(tally) })).sort(
        (a, b) => b.calls - a.calls || compareTexts(a.op, b.op) || compareTexts(a.model, b.model),
      ),
      odd,
    }),
  };
};

const compareTexts = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

type UsedAmounts = Record<TokenKind, bigint | undefined> & { cost: Decimal | undefined };

const emptyAmounts = (): UsedAmounts => ({
  prompt: undefined,
  completion: undefined,
  total: undefined,
  cost: undefined,
});

const addOptional = (sum: bigint | undefined, more: bigint | undefined): bigint | undefined =>
  more === undefined ? sum : (sum ?? 0n) + more;

const addAmounts = (sum: UsedAmounts, more: Partial<UsedAmounts>): void => {
  for (const kind of tokenKinds) sum[kind] = addOptional(sum[kind], more[kind]);
  if (more.cost !== undefined) sum.cost = addDecimals(sum.cost ?? zero, more.cost);
};

/** What a call used, in all and by model. */
const measureUse = (call: RawJson, prefix: string) => {
  const models = new Map(findModels(call, prefix).map((model) => [model, emptyAmounts()]));
  const all = emptyAmounts();
  let isInvalid = false;
  const add = (model: string, used: Partial<UsedAmounts>): void => {
    const own = models.get(model) ?? emptyAmounts();
    models.set(model, own);
    addAmounts(own, used);
    addAmounts(all, used);
  };
  for (const usage of readUsages(call)) {
    if (tokenKinds.some((kind) => usage[kind] !== undefined && parseTokens(usage[kind]) === undefined))
      isInvalid = true;
    const [prompt, completion] = [parseTokens(usage.prompt), parseTokens(usage.completion)];
    add(usage.model ?? "", { prompt, completion, total: totalTokens(usage) });
  }
  for (const { model, total, unit } of readCosts(call, prefix)) {
    if (unit === "USD" && total !== undefined) add(model, { cost: total });
    else isInvalid = true;
  }
  if (models.size === 0) models.set("", all);
  return { all, models, isOdd: isInvalid };
};

/** The total that is said, else that of prompt and completion if both are known. */
const totalTokens = (usage: Usage): bigint | undefined => {
  const [prompt, completion] = [parseTokens(usage.prompt), parseTokens(usage.completion)];
  return (
    parseTokens(usage.total) ?? (prompt === undefined || completion === undefined ? undefined : prompt + completion)
  );
};

/** The tokens in all of a usage, as a model's reply has it; undefined if it has none. */
export const countTokens = (value: RawJson | undefined): bigint | undefined =>
  readUsage(value, undefined).map(totalTokens)[0];

/** A whole number of tokens, however it is spelled. */
const parseTokens = (text = ""): bigint | undefined => {
  const decimal = parseDecimal(text);
  const whole = decimal === undefined ? "" : formatDecimal(decimal);
  return /^\d+$/.test(whole) ? BigInt(whole) : undefined;
};

/** Sums of many calls, and eight bytes for the duration of each. */
interface Tally {
  readonly op: string;
  readonly model: string;
  calls: number;
  readonly states: Record<CallState, number>;
  readonly micros: number[];
  counted: number;
  priced: number;
  readonly used: UsedAmounts;
}

const newTally = (op: string, model: string): Tally => {
  const states = { ok: 0, failed: 0, running: 0, deleted: 0 };
  return { op, model, calls: 0, states, micros: [], counted: 0, priced: 0, used: emptyAmounts() };
};

const addToTally = (
  tally: Tally,
  {
    state,
    micros,
    used,
  }: { readonly state: CallState; readonly micros: number | undefined; readonly used: UsedAmounts },
): void => {
  tally.calls++;
  tally.states[state]++;
  if (micros !== undefined) tally.micros.push(micros);
  if (tokenKinds.some((kind) => used[kind] !== undefined)) tally.counted++;
  if (used.cost !== undefined) tally.priced++;
  addAmounts(tally.used, used);
};

const toCount = ({ calls, states, micros, counted, priced, used }: Tally): CallCount => {
  const { cost, ...tokens } = used;
  const sorted = Float64Array.from(micros).sort();
  return {
    calls,
    states: { ...states },
    duration: { calls: sorted.length, p50: percentileSeconds(sorted, 0.5), p95: percentileSeconds(sorted, 0.95) },
    tokens: { calls: counted, ...tokens },
    cost: { calls: priced, usd: cost === undefined ? undefined : formatDecimal(cost) },
  };
};

/** The nearest rank: the smallest duration that at least this part of them does not exceed. */
const percentileSeconds = (sorted: Float64Array, part: number): number | undefined => {
  const micros = sorted[Math.max(0, Math.ceil(part * sorted.length) - 1)];
  return micros === undefined ? undefined : micros / 1_000_000;
};
