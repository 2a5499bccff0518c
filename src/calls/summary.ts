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

/** What calls come to. Seconds, and US dollars as exact decimals. */
export interface CallCount {
  readonly calls: number;
  readonly states: Readonly<Record<CallState, number>>;
  /** `calls` are those whose duration is known; the percentiles are durations that occurred (nearest rank). */
  readonly duration: { readonly calls: number; readonly p50: number | undefined; readonly p95: number | undefined };
  /** `calls` are those whose tokens are known; a sum is undefined where no call said anything of it. */
  readonly tokens: {
    readonly calls: number;
    readonly prompt: bigint | undefined;
    readonly completion: bigint | undefined;
    readonly total: bigint | undefined;
  };
  /** `calls` are those whose cost is known. */
  readonly cost: { readonly calls: number; readonly usd: string | undefined };
}

/** Calls of one operation that used one model. A call of several models is counted with each of them. */
export interface CallGroup extends CallCount {
  /** Empty where the calls name none. */
  readonly op: string;
  readonly model: string;
}

/** A summary of calls. */
export interface CallSummary {
  /** Each call once. */
  readonly all: CallCount;
  /** Those with most calls first. */
  readonly groups: readonly CallGroup[];
  /** Calls in which a number of tokens, an amount or a time was there and could not be used. */
  readonly odd: number;
}

/** Takes calls one by one, and keeps no content of any. */
interface CallSummarizer {
  /** `call` is what `readHead` reads. */
  add(call: Spelled): void;
  summary(): CallSummary;
}

/** Opens an empty summary. `prefix` is the deployment's own word in the summary of a call. */
export const openSummary = (prefix: string): CallSummarizer => {
  const all = new Tally();
  const groups = new Map<string, { readonly op: string; readonly model: string; readonly tally: Tally }>();
  let odd = 0;
  const groupOf = (op: string, model: string): Tally => {
    const key = JSON.stringify([op, model]);
    const known = groups.get(key) ?? { op, model, tally: new Tally() };
    groups.set(key, known);
    return known.tally;
  };
  return {
    add(call) {
      const state = stateOf(call, prefix);
      const micros = microsecondsOf(call);
      const used = usedOf(call, prefix);
      if (used.odd || (micros !== undefined && micros < 0)) odd++;
      const duration = micros === undefined || micros < 0 ? undefined : micros;
      all.add({ state, duration, used: used.all });
      const op = operationOf(call) ?? "";
      for (const [model, own] of used.models) groupOf(op, model).add({ state, duration, used: own });
    },
    summary: () => ({
      all: all.count(),
      groups: Array.from(groups.values(), ({ op, model, tally }) => ({ op, model, ...tally.count() })).sort(
        (a, b) => b.calls - a.calls || compared(a.op, b.op) || compared(a.model, b.model),
      ),
      odd,
    }),
  };
};

const compared = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

interface Used {
  prompt: bigint | undefined;
  completion: bigint | undefined;
  total: bigint | undefined;
  cost: Decimal | undefined;
}

const nothing = (): Used => ({ prompt: undefined, completion: undefined, total: undefined, cost: undefined });

const usedOf = (
  call: Spelled,
  prefix: string,
): { readonly all: Used; readonly models: ReadonlyMap<string, Used>; readonly odd: boolean } => {
  const models = new Map<string, Used>(modelsOf(call, prefix).map((model) => [model, nothing()]));
  const all = nothing();
  let odd = false;
  const into = (model: string): readonly Used[] => {
    const own = models.get(model) ?? nothing();
    models.set(model, own);
    return [own, all];
  };
  for (const usage of usagesOf(call)) {
    const [prompt, completion] = [tokens(usage.prompt), tokens(usage.completion)];
    if ([prompt, completion, tokens(usage.total)].includes("odd")) odd = true;
    const total = totalOf(usage);
    for (const used of into(usage.model ?? "")) {
      used.prompt = plus(used.prompt, prompt);
      used.completion = plus(used.completion, completion);
      used.total = plus(used.total, total);
    }
  }
  for (const { model, total, unit } of costsOf(call, prefix)) {
    const known = unit === "USD" ? total : undefined;
    if (known === undefined) odd = true;
    else for (const used of into(model)) used.cost = addDecimals(used.cost ?? zero, known);
  }
  if (models.size === 0) models.set("", all);
  return { all, models, odd };
};

/** The total that is said, else that of prompt and completion where both are known. */
const totalOf = ({ prompt, completion, total }: Usage): bigint | undefined => {
  const said = tokens(total);
  if (typeof said === "bigint") return said;
  const [first, second] = [tokens(prompt), tokens(completion)];
  return typeof first === "bigint" && typeof second === "bigint" ? first + second : undefined;
};

/** The tokens in all of a usage, as a model's reply has it; undefined where it says nothing of them. */
export const tokensIn = (value: Spelled | undefined): bigint | undefined => usageOf(value, undefined).map(totalOf)[0];

/** A whole number of tokens, however it is spelled; a text that is none is odd. */
const tokens = (text: string | undefined): bigint | "odd" | undefined => {
  if (text === undefined) return undefined;
  const decimal = parseDecimal(text);
  const whole = decimal === undefined ? "" : formatDecimal(decimal);
  return /^\d+$/.test(whole) ? BigInt(whole) : "odd";
};

const plus = (sum: bigint | undefined, more: bigint | "odd" | undefined): bigint | undefined =>
  typeof more === "bigint" ? (sum ?? 0n) + more : sum;

/** What is kept of many calls: sums, and eight bytes for each duration. */
class Tally {
  #calls = 0;
  readonly #states: Record<CallState, number> = { ok: 0, failed: 0, running: 0, deleted: 0 };
  #durations = new Float64Array(16);
  #timed = 0;
  #counted = 0;
  #priced = 0;
  readonly #used = nothing();

  add({
    state,
    duration,
    used,
  }: {
    readonly state: CallState;
    readonly duration: number | undefined;
    readonly used: Used;
  }): void {
    this.#calls++;
    this.#states[state]++;
    if (duration !== undefined) this.#keep(duration);
    if (used.prompt !== undefined || used.completion !== undefined || used.total !== undefined) this.#counted++;
    this.#used.prompt = plus(this.#used.prompt, used.prompt);
    this.#used.completion = plus(this.#used.completion, used.completion);
    this.#used.total = plus(this.#used.total, used.total);
    if (used.cost === undefined) return;
    this.#priced++;
    this.#used.cost = addDecimals(this.#used.cost ?? zero, used.cost);
  }

  #keep(duration: number): void {
    if (this.#timed === this.#durations.length) {
      const more = new Float64Array(this.#timed * 2);
      more.set(this.#durations);
      this.#durations = more;
    }
    this.#durations[this.#timed++] = duration;
  }

  count(): CallCount {
    const sorted = this.#durations.slice(0, this.#timed).sort();
    const { prompt, completion, total, cost } = this.#used;
    return {
      calls: this.#calls,
      states: { ...this.#states },
      duration: { calls: this.#timed, p50: secondsAt(sorted, 0.5), p95: secondsAt(sorted, 0.95) },
      tokens: { calls: this.#counted, prompt, completion, total },
      cost: { calls: this.#priced, usd: cost === undefined ? undefined : formatDecimal(cost) },
    };
  }
}

/** The nearest rank: the smallest duration that at least this part of them does not exceed. */
const secondsAt = (sorted: Float64Array, part: number): number | undefined => {
  const micros = sorted[Math.max(0, Math.ceil(part * sorted.length) - 1)];
  return micros === undefined ? undefined : micros / 1_000_000;
};
