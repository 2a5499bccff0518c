/** Pairs the calls of a trajectory with their results, for rules and facts. */

import { OpenCalls } from "../../conversation/message.ts";
import type { JsonTable } from "../../json/table.ts";
import * as json from "../../json/table.ts";
import { shortenName } from "../rules/positions.ts";
import type { RuleReporter } from "../rules/rules.ts";

/** What makes an event: a result, or a message's call. Without choices, the assistant's messages are sampled. */
export const makers = { result: 0, other: 1, assistant: 2, choice: 3 };

export interface ToolEvent {
  /** The node of the call or message. */
  readonly node: number;
  /** The node of its id; 0 without one. */
  readonly id: number;
  /** The node of its name; 0 without one. */
  readonly name: number;
  readonly maker: number;
  /** True for a call in the last message, which needs no result. */
  readonly isLast: boolean;
  /** The result of a call, or the call of a result. */
  partner: ToolEvent | undefined;
}

const pair = (call: ToolEvent, result: ToolEvent) => {
  call.partner = result;
  result.partner = call;
};

/** Returns true if each call has a result; undefined if a result does not answer the oldest open call. */
const pairInOrder = (table: JsonTable, events: readonly ToolEvent[]) => {
  let calls = 0;
  let answered = 0;
  /** The index of the oldest event that can be an open call. */
  let oldest = 0;
  for (const event of events) {
    if (event.maker !== makers.result) {
      calls++;
      continue;
    }
    if (answered === calls) continue;
    while (events[oldest]?.maker === makers.result) oldest++;
    const call = events[oldest++];
    if (!call || (event.id > 0 && (call.id === 0 || !haveSameSpelling(table, call.id, event.id)))) return undefined;
    pair(call, event);
    answered++;
  }
  return answered === calls;
};

const haveSameSpelling = (table: JsonTable, a: number, b: number) => {
  const { bytes } = table;
  const from = json.startOf(table, a);
  const end = json.endOf(table, a);
  const other = json.startOf(table, b);
  if (json.endOf(table, b) - other !== end - from) return false;
  // For short texts, a loop is faster than `Buffer.compare`.
  for (let at = from; at < end; at++) if (bytes[at] !== bytes[at - from + other]) return false;
  return true;
};

const pairById = (table: JsonTable, events: readonly ToolEvent[]) => {
  const open = new OpenCalls<ToolEvent>();
  for (const event of events) event.partner = undefined;
  for (const event of events) {
    const id = event.id > 0 ? json.readString(table, event.id) : undefined;
    if (event.maker !== makers.result) open.add(event, id);
    else {
      const call = open.take(id);
      if (call) pair(call, event);
    }
  }
  return open.open().length === 0;
};

/** An empty string is no name. */
const readToolName = (table: JsonTable, { name }: ToolEvent) => (name > 0 && json.readString(table, name)) || undefined;

export const inspectToolCalls = (table: JsonTable, events: readonly ToolEvent[], report: RuleReporter) => {
  if (events.length === 0 || (pairInOrder(table, events) ?? pairById(table, events))) return;
  const calls = events.filter(({ maker }) => maker !== makers.result);
  // A call without an id needs no result.
  for (const call of calls)
    if (!call.partner && !call.isLast && call.id > 0) {
      const name = () => {
        const whole = readToolName(table, call);
        return whole && shortenName(whole);
      };
      report("missing-tool-result", { name }, call.node);
    }
  // In the last message, a call needs a result only if an earlier call of the same tool has a result.
  const answeredTools = new Set(calls.flatMap((call) => (call.partner ? (readToolName(table, call) ?? []) : [])));
  for (const call of calls) {
    const name = call.isLast && answeredTools.size > 0 ? readToolName(table, call) : undefined;
    if (name !== undefined && answeredTools.has(name))
      report("missing-tool-result", { name: () => shortenName(name), isLast: true }, call.node);
  }
};
