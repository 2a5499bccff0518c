/** Summarizes calls by operation and model. */

import { type RawJson, textAt } from "../json/raw-json.ts";
import { addDecimals, compareDecimals, type Decimal, formatDecimal, multiplyDecimals, zero } from "../text/decimal.ts";
import { appendTo } from "../text/lists.ts";
import { compareTexts } from "../text/sentences.ts";
import * as facts from "./call-facts.ts";
import { readUsages, sumTokens, tokenKinds } from "./usage.ts";

/** In `seconds`, `tokens` and `cost`, `calls` is the number of calls with this value. Null is an unknown value. */
export interface CallCounts extends Readonly<Record<"calls" | facts.CallState, number>> {
  readonly seconds: Readonly<{ calls: number; p50: number | null; p95: number | null }>;
  readonly tokens: Readonly<{ calls: number } & Record<(typeof tokenKinds)[number], bigint | null>>;
  readonly cost: Readonly<{ calls: number; usd: string | null }>;
}

export const openSummary = (prefix: string) => {
  const calls: SummarizedCall[] = [];
  return {
    add: (call: RawJson, whole = call) => void calls.push(readFacts(call, whole, prefix)),
    summary: () => summarize(calls),
  };
};

const summarize = (calls: readonly SummarizedCall[]) => {
  const rollUps = removeRollUps(calls);
  const groups = new Map<string, { op: string; model: string; calls: SummarizedCall[] }>();
  for (const call of calls) {
    for (const model of call.models.length === 0 ? [""] : call.models) {
      const key = JSON.stringify([call.op, model]);
      const group = groups.get(key) ?? { op: call.op, model, calls: [] };
      groups.set(key, group);
      group.calls.push(call);
    }
  }
  const sums = Array.from(groups.values(), (group) => ({ ...group, ...sumCalls(group.calls, group.model) }));
  sums.sort((a, b) => b.calls - a.calls || compareTexts(a.op, b.op) || compareTexts(a.model, b.model));
  const doubts = calls.flatMap(({ doubt }) => doubt ?? []);
  const costDoubt = calls.map((call) => call.costDoubt).find(Boolean);
  return { all: sumCalls(calls), groups: sums, rollUps, doubts, costDoubt };
};

const kinds = [...tokenKinds, "usd"] as const;
type Kind = (typeof kinds)[number];
type Amounts = Readonly<Partial<Record<Kind, Decimal>>>;
type AmountsByModel = ReadonlyMap<string, Amounts>;

const toAmounts = (find: (kind: Kind) => Decimal | undefined): Amounts =>
  Object.fromEntries(
    kinds.flatMap((kind) => {
      const amount = find(kind);
      return amount ? [[kind, amount]] : [];
    }),
  );

const addAmounts = (a: Amounts, b: Amounts) =>
  toAmounts((kind) => (a[kind] && addDecimals(a[kind], b[kind] ?? zero)) || b[kind]);

/** Never below zero, because services round costs. Returns only the kinds of `whole`. */
const subtractAmounts = (whole: Amounts, part: Amounts) =>
  toAmounts((kind) => {
    const rest = whole[kind] && addDecimals(whole[kind], multiplyDecimals(part[kind] ?? zero, minusOne));
    return rest && rest.digits < 0n ? zero : rest;
  });

const minusOne = { digits: -1n, places: 0 };

interface SummarizedCall extends Omit<ReturnType<typeof readFacts>, "amounts"> {
  /** Has only amounts of this call after `removeRollUps`. */
  amounts: AmountsByModel;
}

const readFacts = (call: RawJson, whole: RawJson, prefix: string) => {
  const usages = readUsages(whole);
  const costs = facts.readCosts(whole, prefix);
  const models = [...new Set([...facts.findModels(whole, prefix), ...[...usages, ...costs].map(modelOf)])];
  const usageByModel = new Map(usages.map((usage) => [modelOf(usage), usage]));
  const dollarsByModel = new Map(costs.map((cost) => [modelOf(cost), facts.readDollars(cost)]));
  const amounts = models.map((model) => {
    const usage = usageByModel.get(model);
    const counts = usage && { ...usage, total: sumTokens(usage) };
    const find = (kind: Kind) => {
      if (kind === "usd") return dollarsByModel.get(model);
      const digits = counts?.[kind];
      return digits === undefined ? undefined : { digits, places: 0 };
    };
    return [model, toAmounts(find)] as const;
  });
  return {
    id: textAt(call, "id"),
    parentId: textAt(call, "parent_id") || undefined,
    traceId: textAt(call, "trace_id"),
    op: facts.findOperation(call) ?? "",
    models,
    state: facts.findState(call, prefix),
    micros: facts.findDurationMicros(call),
    amounts: new Map(amounts),
    doubt: usages.map((usage) => usage.doubt).find(Boolean),
    costDoubt: costs
      .map(({ unit, reason }) => reason ?? (unit === "USD" ? undefined : `a cost is in ${unit}`))
      .find(Boolean),
    /** Models without a known cost in dollars, also of an included child. */
    unpriced: new Set(costs.filter((cost) => facts.readDollars(cost) === undefined).map(modelOf)),
  };
};

const modelOf = ({ model = "" }: { readonly model: string | undefined }) => model;

/** Adds the amounts of one model or of all models. Part of a cost is not the cost of the call. */
const sumCalls = (calls: readonly SummarizedCall[], model?: string): CallCounts => {
  const states: Record<facts.CallState, number> = { ok: 0, failed: 0, running: 0, deleted: 0, unknown: 0 };
  let sum: Amounts = {};
  let callsWithTokens = 0;
  let callsWithCost = 0;
  for (const { state, amounts, unpriced } of calls) {
    states[state]++;
    const models = model === undefined ? [...amounts.keys()] : [model];
    const { usd, ...tokens } = models.map((name) => amounts.get(name) ?? {}).reduce(addAmounts, {});
    const price = models.some((name) => unpriced.has(name)) ? undefined : usd;
    sum = addAmounts(sum, { ...tokens, ...(price && { usd: price }) });
    if (tokenKinds.some((kind) => tokens[kind])) callsWithTokens++;
    if (price) callsWithCost++;
  }
  const durations = calls.flatMap(({ micros = -1 }) => (micros >= 0 ? micros : []));
  const sorted = Float64Array.from(durations).sort();
  /** Returns seconds (nearest-rank method). */
  const percentile = (share: number) => {
    const ranked = sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)];
    return ranked === undefined ? null : ranked / 1_000_000;
  };
  const { prompt, completion, total, usd } = sum;
  const digitsOf = (amount?: Decimal) => amount?.digits ?? null;
  const tokens = { prompt: digitsOf(prompt), completion: digitsOf(completion), total: digitsOf(total) };
  return {
    calls: calls.length,
    ...states,
    seconds: { calls: sorted.length, p50: percentile(0.5), p95: percentile(0.95) },
    tokens: { calls: callsWithTokens, ...tokens },
    cost: { calls: callsWithCost, usd: usd ? formatDecimal(usd) : null },
  };
};

/**
 * Subtracts the amounts of child calls from those of their parents. Returns the number of these parents.
 * Assumed: a parent has at least the amounts of its children if it includes them.
 */
const removeRollUps = (calls: readonly SummarizedCall[]) => {
  const children = findChildren(calls);
  const isChild = new Set([...children.values()].flat());
  const ordered = calls.filter((call) => !isChild.has(call));
  // Grows in the loop. Calls in a cycle are never reached, and keep their amounts.
  for (const call of ordered) for (const child of children.get(call) ?? []) ordered.push(child);
  const wholes = new Map<SummarizedCall, Map<string, Amounts>>();
  let rollUps = 0;
  for (const call of ordered.toReversed()) {
    const below = children.get(call) ?? [];
    const inChildren = new Map<string, Amounts>();
    for (const child of below)
      for (const [model, amounts] of wholes.get(child) ?? [])
        inChildren.set(model, addAmounts(inChildren.get(model) ?? {}, amounts));
    const [whole, own] = [new Map(call.amounts), new Map(call.amounts)];
    const unpriced = new Set(below.flatMap((child) => [...child.unpriced]));
    let isRollUp = false;
    for (const [model, part] of inChildren) {
      const amounts = own.get(model) ?? {};
      if (isIncluded(part, amounts)) {
        isRollUp = true;
        own.set(model, subtractAmounts(amounts, part));
        if (unpriced.has(model)) call.unpriced.add(model);
      } else whole.set(model, addAmounts(amounts, part));
    }
    wholes.set(call, whole);
    call.amounts = own;
    if (isRollUp) rollUps++;
  }
  return rollUps;
};

/** If the parent is unknown, the only root of the trace is the parent, because it includes all calls. */
const findChildren = (calls: readonly SummarizedCall[]) => {
  const byId = new Map(calls.map((call) => [call.id, call]));
  const roots = new Map<string | undefined, SummarizedCall | undefined>();
  for (const call of calls)
    if (call.parentId === undefined) roots.set(call.traceId, roots.has(call.traceId) ? undefined : call);
  const children = new Map<SummarizedCall, SummarizedCall[]>();
  for (const call of calls) {
    if (call.parentId === undefined) continue;
    const parent = byId.get(call.parentId) ?? (call.traceId === undefined ? undefined : roots.get(call.traceId));
    if (parent) appendTo(children, parent, call);
  }
  return children;
};

/** Allows for rounding. Costs are compared only without tokens. */
const isIncluded = (part: Amounts, whole: Amounts) => {
  const common = kinds.filter((kind) => part[kind] && whole[kind]);
  const compared = common[0] === "usd" ? common : common.filter((kind) => kind !== "usd");
  const round = (kind: Kind) => multiplyDecimals(part[kind] ?? zero, { digits: 999_999_999n, places: 9 });
  return compared.length > 0 && compared.every((kind) => compareDecimals(round(kind), whole[kind] ?? zero) <= 0);
};
