/** Summarizes calls by operation and model. */

import { type RawJson, textAt } from "../json/raw-json.ts";
import { addDecimals, type Decimal, formatDecimal, zero } from "../text/decimal.ts";
import { compareTexts } from "../text/sentences.ts";
import * as facts from "./call-facts.ts";
import { type Amounts, removeRollUps } from "./roll-up.ts";
import { type CallUsage, readUsages, sumTokens, type TokenKind, tokenKinds } from "./usage.ts";

export type CallSummary = ReturnType<typeof summarize>;

export const openSummary = (prefix: string) => {
  const calls: SummarizedCall[] = [];
  return { add: (call: RawJson) => void calls.push(readFacts(call, prefix)), summary: () => summarize(calls) };
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
  return { all: { op: "", model: "", ...sumCalls(calls) }, groups: sums, rollUps, doubts, costDoubt };
};

type SummarizedCall = ReturnType<typeof readFacts>;

const readFacts = (call: RawJson, prefix: string) => {
  const usages = readUsages(call);
  const costs = facts.readCosts(call, prefix);
  const models = [...new Set([...facts.findModels(call, prefix), ...[...usages, ...costs].map(modelOf)])];
  const usageByModel = new Map(usages.map((usage) => [modelOf(usage), usage]));
  const dollarsByModel = new Map(costs.map((cost) => [modelOf(cost), facts.readDollars(cost)]));
  const amounts = models.map((model) => {
    return [model, toAmounts(usageByModel.get(model), dollarsByModel.get(model))] as const;
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
    costDoubt: costs.map(({ reason }) => reason).find(Boolean),
    /** Models without a known cost in dollars. */
    unpriced: new Set(costs.filter((cost) => facts.readDollars(cost) === undefined).map(modelOf)),
  };
};

const toAmounts = (usage: CallUsage | undefined, usd: Decimal | undefined): Amounts => {
  const counts = usage && { ...usage, total: sumTokens(usage) };
  const tokens = tokenKinds.flatMap((kind) => {
    const digits = counts?.[kind];
    return digits === undefined ? [] : [[kind, { digits, places: 0 }] as const];
  });
  return { ...Object.fromEntries(tokens), ...(usd && { usd }) };
};

const modelOf = ({ model = "" }: { readonly model: string | undefined }) => model;

export type CallGroup = CallSummary["groups"][number];

/**
 * Adds the amounts of one model or of all models. Part of a cost is not the cost of the call. In `seconds`, `tokens`
 * and `cost`, `calls` is the number of calls with this value.
 */
const sumCalls = (calls: readonly SummarizedCall[], model?: string) => {
  const states: Record<facts.CallState, number> = { ok: 0, failed: 0, running: 0, deleted: 0 };
  const sums: Partial<Record<TokenKind | "usd", Decimal>> = {};
  let callsWithTokens = 0;
  let callsWithCost = 0;
  for (const { state, amounts, unpriced } of calls) {
    states[state]++;
    const models = model === undefined ? [...amounts.keys()] : [model];
    const added = models.map((name) => amounts.get(name) ?? {});
    const isPriced = !models.some((name) => unpriced.has(name));
    for (const kind of [...tokenKinds, ...(isPriced ? ["usd" as const] : [])])
      for (const { [kind]: amount } of added) if (amount) sums[kind] = addDecimals(sums[kind] ?? zero, amount);
    if (added.some((amount) => tokenKinds.some((kind) => amount[kind]))) callsWithTokens++;
    if (isPriced && added.some(({ usd }) => usd)) callsWithCost++;
  }
  const durations = calls.flatMap(({ micros = -1 }) => (micros >= 0 ? micros : []));
  const sorted = Float64Array.from(durations).sort();
  /** Returns seconds (nearest-rank method). */
  const percentile = (share: number) => {
    const ranked = sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)];
    return ranked === undefined ? null : ranked / 1_000_000;
  };
  const { prompt, completion, total, usd } = sums;
  const digitsOf = (sum?: Decimal) => sum?.digits ?? null;
  const tokens = { prompt: digitsOf(prompt), completion: digitsOf(completion), total: digitsOf(total) };
  return {
    calls: calls.length,
    ...states,
    seconds: { calls: sorted.length, p50: percentile(0.5), p95: percentile(0.95) },
    tokens: { calls: callsWithTokens, ...tokens },
    cost: { calls: callsWithCost, usd: usd ? formatDecimal(usd) : null },
  };
};
