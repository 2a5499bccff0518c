/** Counts calls as they come: how many, how they ended, how long they took, what they used and cost, by operation and model. */
import { addDecimals, type Decimal, formatDecimal, parseDecimal, zero } from "../decimal.ts";
import type { Spelled } from "../json/spelled.ts";
import {
  type CallState,
  costsOf,
  microsecondsOf,
  modelsOf,
  operationOf,
  stateOf,
  type Usage,
  usageOf,
  usagesOf,
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
  add(call: Spelled): void;
  summary(): CallSummary;
}

/** Opens an empty summary. `prefix` is the deployment's own word in the summary of a call. */
export const openSummary = (prefix: string): CallSummarizer => {
  const all = newTally("", "");
  const groups = new Map<string, Tally>();
  let odd = 0;
  return {
    add(call) {
      const micros = microsecondsOf(call);
      const used = usedBy(call, prefix);
      const isTimed = micros !== undefined && micros >= 0;
      if (used.isOdd || (micros !== undefined && !isTimed)) odd++;
      const counted = { state: stateOf(call, prefix), micros: isTimed ? micros : undefined };
      addTo(all, { ...counted, used: used.all });
      const op = operationOf(call) ?? "";
      for (const [model, own] of used.models) {
        const key = JSON.stringify([op, model]);
        const tally = groups.get(key) ?? newTally(op, model);
        groups.set(key, tally);
        addTo(tally, { ...counted, used: own });
      }
    },
    summary: () => ({
      all: countOf(all),
      groups: Array.from(groups.values(), (tally) => ({ op: tally.op, model: tally.model, ...countOf(tally) })).sort(
        (a, b) => b.calls - a.calls || compared(a.op, b.op) || compared(a.model, b.model),
      ),
      odd,
    }),
  };
};

const compared = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

type Used = Record<TokenKind, bigint | undefined> & { cost: Decimal | undefined };

const nothing = (): Used => ({ prompt: undefined, completion: undefined, total: undefined, cost: undefined });

const plus = (sum: bigint | undefined, more: bigint | undefined): bigint | undefined =>
  more === undefined ? sum : (sum ?? 0n) + more;

const addUsed = (sum: Used, more: Partial<Used>): void => {
  for (const kind of tokenKinds) sum[kind] = plus(sum[kind], more[kind]);
  if (more.cost !== undefined) sum.cost = addDecimals(sum.cost ?? zero, more.cost);
};

/** What a call used, in all and by model. */
const usedBy = (call: Spelled, prefix: string) => {
  const models = new Map(modelsOf(call, prefix).map((model) => [model, nothing()]));
  const all = nothing();
  let isOdd = false;
  const add = (model: string, used: Partial<Used>): void => {
    const own = models.get(model) ?? nothing();
    models.set(model, own);
    addUsed(own, used);
    addUsed(all, used);
  };
  for (const usage of usagesOf(call)) {
    if (tokenKinds.some((kind) => usage[kind] !== undefined && tokens(usage[kind]) === undefined)) isOdd = true;
    const [prompt, completion] = [tokens(usage.prompt), tokens(usage.completion)];
    add(usage.model ?? "", { prompt, completion, total: totalOf(usage) });
  }
  for (const { model, total, unit } of costsOf(call, prefix)) {
    if (unit === "USD" && total !== undefined) add(model, { cost: total });
    else isOdd = true;
  }
  if (models.size === 0) models.set("", all);
  return { all, models, isOdd };
};

/** The total that is said, else that of prompt and completion if both are known. */
const totalOf = (usage: Usage): bigint | undefined => {
  const [prompt, completion] = [tokens(usage.prompt), tokens(usage.completion)];
  return tokens(usage.total) ?? (prompt === undefined || completion === undefined ? undefined : prompt + completion);
};

/** The tokens in all of a usage, as a model's reply has it; undefined if it has none. */
export const tokensIn = (value: Spelled | undefined): bigint | undefined => usageOf(value, undefined).map(totalOf)[0];

/** A whole number of tokens, however it is spelled. */
const tokens = (text = ""): bigint | undefined => {
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
  readonly used: Used;
}

const newTally = (op: string, model: string): Tally => {
  const states = { ok: 0, failed: 0, running: 0, deleted: 0 };
  return { op, model, calls: 0, states, micros: [], counted: 0, priced: 0, used: nothing() };
};

const addTo = (
  tally: Tally,
  { state, micros, used }: { readonly state: CallState; readonly micros: number | undefined; readonly used: Used },
): void => {
  tally.calls++;
  tally.states[state]++;
  if (micros !== undefined) tally.micros.push(micros);
  if (tokenKinds.some((kind) => used[kind] !== undefined)) tally.counted++;
  if (used.cost !== undefined) tally.priced++;
  addUsed(tally.used, used);
};

const countOf = ({ calls, states, micros, counted, priced, used }: Tally): CallCount => {
  const { cost, ...tokens } = used;
  const sorted = Float64Array.from(micros).sort();
  return {
    calls,
    states: { ...states },
    duration: { calls: sorted.length, p50: secondsAt(sorted, 0.5), p95: secondsAt(sorted, 0.95) },
    tokens: { calls: counted, ...tokens },
    cost: { calls: priced, usd: cost === undefined ? undefined : formatDecimal(cost) },
  };
};

/** The nearest rank: the smallest duration that at least this part of them does not exceed. */
const secondsAt = (sorted: Float64Array, part: number): number | undefined => {
  const micros = sorted[Math.max(0, Math.ceil(part * sorted.length) - 1)];
  return micros === undefined ? undefined : micros / 1_000_000;
};
