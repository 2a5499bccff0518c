/** Summarizes calls by operation and model. */
import { addDecimals, formatDecimal, zero } from "../decimal.ts";
import type { RawJson } from "../json/raw-json.ts";
import * as facts from "./facts.ts";

export type CallSummary = ReturnType<ReturnType<typeof openSummary>["summary"]>;

export const openSummary = (prefix: string) => {
  const all = openGroup("", "");
  const groups = new Map<string, ReturnType<typeof openGroup>>();
  return {
    add(call: RawJson) {
      const found = readFacts(call, prefix);
      const { usages, costs } = found;
      all.add(found);
      const op = facts.findOperation(call) ?? "";
      const models = new Set([...facts.findModels(call, prefix), ...[...usages, ...costs].map(modelOf)]);
      for (const model of models.size === 0 ? [""] : models) {
        const key = JSON.stringify([op, model]);
        const group = groups.get(key) ?? openGroup(op, model);
        groups.set(key, group);
        const isOfModel = (part: facts.CallUsage | facts.CallCost) => modelOf(part) === model;
        group.add({ ...found, usages: usages.filter(isOfModel), costs: costs.filter(isOfModel) });
      }
    },
    summary: () => {
      const sums = Array.from(groups.values(), (group) => group.sums());
      sums.sort((a, b) => b.calls - a.calls || compareTexts(a.op, b.op) || compareTexts(a.model, b.model));
      return { all: all.sums(), groups: sums };
    },
  };
};

const readFacts = (call: RawJson, prefix: string) => ({
  state: facts.findState(call, prefix),
  micros: facts.findDurationMicros(call),
  usages: facts.readUsages(call),
  costs: facts.readCosts(call, prefix),
});

const modelOf = ({ model = "" }: { readonly model: string | undefined }) => model;
const compareTexts = (a: string, b: string) => (a < b ? -1 : a > b ? 1 : 0);

export type CallGroup = ReturnType<ReturnType<typeof openGroup>["sums"]>;

const openGroup = (op: string, model: string) => {
  const states: Record<facts.CallState, number> = { ok: 0, failed: 0, running: 0, deleted: 0 };
  const durations: number[] = [];
  const tokens: Partial<Record<facts.TokenKind, bigint>> = {};
  let [calls, callsWithTokens, callsWithCost, dollars] = [0, 0, 0, zero];
  return {
    add({ state, micros, usages, costs }: ReturnType<typeof readFacts>) {
      calls++;
      states[state]++;
      if (micros !== undefined && micros >= 0) durations.push(micros);
      const counted = usages.map((usage) => ({ ...usage, total: facts.sumTokens(usage) }));
      const counts = facts.tokenKinds.flatMap((kind) => counted.map(({ [kind]: count }) => ({ kind, count })));
      const known = counts.filter(({ count }) => count !== undefined);
      for (const { kind, count = 0n } of known) tokens[kind] = (tokens[kind] ?? 0n) + count;
      if (known.length > 0) callsWithTokens++;
      const amounts = costs.flatMap((cost) => facts.readDollars(cost) ?? []);
      if (amounts.length > 0) callsWithCost++;
      dollars = amounts.reduce(addDecimals, dollars);
    },
    /** In `seconds`, `tokens` and `cost`, `calls` is the number of calls with this value. */
    sums: () => {
      const sorted = Float64Array.from(durations).sort();
      /** Returns seconds (nearest-rank method). */
      const percentile = (share: number) => {
        const ranked = sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)];
        return ranked === undefined ? undefined : ranked / 1_000_000;
      };
      const { prompt, completion, total } = tokens;
      return {
        op,
        model,
        calls,
        ...states,
        seconds: { calls: sorted.length, p50: percentile(0.5), p95: percentile(0.95) },
        tokens: { calls: callsWithTokens, prompt, completion, total },
        cost: { calls: callsWithCost, usd: callsWithCost === 0 ? undefined : formatDecimal(dollars) },
      };
    },
  };
};
