/** Prints traced calls and summaries of calls. */

import { callFields, withPrefix } from "../../calls/call-facts.ts";
import type { CallGroup, CallSummary } from "../../calls/summary.ts";
import { findValue, parseRawJson, type RawJson, toRawJson } from "../../json/raw-json.ts";
import { printList } from "../../output/list.ts";
import { printPages } from "../../output/page.ts";
import type { Screen } from "../../output/screen.ts";
import type { Column } from "../../output/views.ts";
import { type CallViewOptions, callSections } from "./call-page.ts";

/** `reply` has the call in its member `call`. */
export type CallReply = Readonly<{ call: RawJson; reply: RawJson }>;

/** Known after the last reply. If `hasSeveral`, JSON is a list of calls. `canBeEmpty` allows an empty list. */
export type CallTotals = Readonly<Record<"hasSeveral" | "canBeEmpty", boolean>>;

type PrintedCalls = Readonly<{ calls: AsyncIterable<CallReply>; totals: () => CallTotals }>;

/** Prints pages, or with `--fields` rows. */
export const printCalls = async (
  screen: Screen,
  { calls: replies, totals }: PrintedCalls,
  options: CallViewOptions,
) => {
  const { format, fields } = screen;
  if (!fields && (format === "table" || format === "tsv")) return await printPages(screen, toPages(replies, options));
  const print = async (calls: readonly RawJson[], member: string, document: RawJson) => {
    const hasReward = calls.some((call) => findValue(call, ...rewardField.split(".")));
    await printList(screen, { columns: listCallColumns(options, hasReward), rows: calls, wire: { document, member } });
  };
  if (format === "jsonl" && !screen.canPage) {
    for await (const { call, reply } of replies) await print([call], "call", reply);
    return;
  }
  const calls: RawJson[] = [];
  let lastReply: RawJson | undefined;
  for await (const { call, reply } of replies) {
    calls.push(call);
    lastReply = reply;
  }
  const { hasSeveral, canBeEmpty } = totals();
  if (lastReply && !hasSeveral) return await print(calls, "call", lastReply);
  if (!lastReply && !canBeEmpty) return;
  await print(calls, "calls", toRawJson({ calls }));
};

async function* toPages(replies: AsyncIterable<CallReply>, options: CallViewOptions) {
  for await (const { call } of replies) yield { sections: callSections(call, options), isFull: options.full };
}

/** The default of `--reward-from`. */
const rewardField = "attributes.reward";

const spelledColumn = (name: string, display: Partial<Column<unknown>> = {}): Column<unknown> => ({
  rank: 0,
  ...display,
  name,
  value: () => undefined,
  cell: (_, spelled) => spelled(),
});

const freeForm = ["attributes", "inputs", "output", "summary"];

const listCallColumns = ({ vendorPrefix, storageSize, totalStorageSize }: CallViewOptions, hasReward = true) =>
  [...callFields, ...(hasReward ? [rewardField] : [])]
    .filter((name) => storageSize || name !== "storage_size_bytes")
    .filter((name) => totalStorageSize || name !== "total_storage_size_bytes")
    .map((field) => spelledColumn(withPrefix(field, vendorPrefix), { isFreeForm: freeForm.includes(field) }));

type CallSummaryView = Readonly<{ summary: CallSummary; costs: boolean; missing: number }>;

export const printCallSummary = async (screen: Screen, view: CallSummaryView) => {
  const { all, groups } = view.summary;
  // Only tables have a total, because a program that adds the rows would count each call twice.
  const rows = screen.format === "table" ? [...groups, { ...all, op: "all calls" }] : groups;
  const columns = summaryColumns.filter(({ name }) => view.costs || name !== "cost.usd");
  const document = toRawJson(toSummaryDocument(view, rows));
  await printList(screen, { columns, rows, wire: { document, member: "groups" } });
};

const rightAligned = { align: "right" } as const;
const pointAligned = { align: "decimal" } as const;

/** Users rely on the order of the columns (output.md). */
const summaryColumns = [
  spelledColumn("op"),
  spelledColumn("model", { hasNames: true }),
  spelledColumn("calls", rightAligned),
  spelledColumn("failed", { ...rightAligned, rank: 2 }),
  spelledColumn("running", { ...rightAligned, rank: 8 }),
  spelledColumn("deleted", { ...rightAligned, rank: 9 }),
  spelledColumn("seconds.p50", { ...pointAligned, heading: "p50\ns", rank: 4 }),
  spelledColumn("seconds.p95", { ...pointAligned, heading: "p95\ns", rank: 5 }),
  spelledColumn("tokens.prompt", { ...rightAligned, heading: "prompt\ntokens", rank: 6 }),
  spelledColumn("tokens.completion", { ...rightAligned, heading: "completion\ntokens", rank: 7 }),
  spelledColumn("tokens.total", { ...rightAligned, heading: "total\ntokens", rank: 3 }),
  spelledColumn("cost.usd", { ...pointAligned, heading: "cost\n$", isRounded: true }),
];

/** The sums are exact, so they can have more digits than a number of JavaScript. */
const toSummaryDocument = ({ summary: { all }, costs, missing }: CallSummaryView, groups: readonly CallGroup[]) => {
  const name = (text: string) => (text === "" ? null : text);
  const toCounts = ({ op: _op, model: _model, cost, ...counts }: CallGroup) => {
    const usd = cost.usd === null ? null : parseRawJson(cost.usd);
    return { ...counts, ...(costs ? { cost: { ...cost, usd } } : {}) };
  };
  const rows = groups.map((group) => ({ op: name(group.op), model: name(group.model), ...toCounts(group) }));
  return { summary: { ...toCounts(all), missing }, groups: rows };
};
