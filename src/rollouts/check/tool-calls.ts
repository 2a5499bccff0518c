/** Pairs the calls of a trajectory with their results, for rules and facts. */

import { OpenCalls } from "../../conversation/pairing.ts";
import type { JsonTable } from "../../json/table.ts";
import * as json from "../../json/table.ts";
import { shortenName } from "../rules/positions.ts";
import type { RuleReporter } from "../rules/rules.ts";

/** What makes an event: a result, or a message's call. Without choices, the assistant's messages are sampled. */
export const makers = { result: 0, other: 1, assistant: 2, choice: 3 };

export const fields = { node: 0, id: 1, name: 2, maker: 3, partner: 4 };
const eventSize = 5;
const none = -1;

/** Calls and results in their order. One object serves all trajectories, and has those of the last walked one. */
export class ToolCalls {
  /** For each event: the nodes of the call or message, its id and name (0: none), its maker and partner. */
  #events = new Int32Array(64 * eventSize);
  #end = 0;
  /** The first event of the last message. */
  #last = none;

  reset() {
    this.#end = 0;
    this.#last = none;
  }

  get count() {
    return this.#end / eventSize;
  }

  /** Called before the calls of the last message, which need no result. */
  startLast() {
    this.#last = this.#end;
  }

  add(node: number, id: number, name: number, maker: number) {
    const at = this.#end;
    this.#end = at + eventSize;
    if (this.#end > this.#events.length) {
      const grown = new Int32Array(2 * this.#events.length);
      grown.set(this.#events);
      this.#events = grown;
    }
    const events = this.#events;
    events[at] = node;
    events[at + fields.id] = id;
    events[at + fields.name] = name;
    events[at + fields.maker] = maker;
    events[at + fields.partner] = none;
  }

  /** The partner is the result of a call, or the call of a result; -1 if there is none. @param event from 0 */
  at(event: number, field: number) {
    return this.#events[event * eventSize + field] ?? 0;
  }

  /** The number of events before the calls of the last message. */
  get countBeforeLast() {
    return (this.#last < 0 ? this.#end : this.#last) / eventSize;
  }

  /** Finds the partners, after all events were added. Returns true if each call has a result. */
  pair(table: JsonTable) {
    return this.#pairInOrder(table) ?? this.#pairById(table);
  }

  /** Returns undefined if a result does not answer the oldest open call. Ids are compared as bytes. */
  #pairInOrder(table: JsonTable) {
    const events = this.#events;
    const end = this.countBeforeLast * eventSize;
    let oldest = 0;
    let open = (this.#end - end) / eventSize;
    for (let at = 0; at < end; at += eventSize) {
      open++;
      if (events[at + fields.maker] !== makers.result) continue;
      open--;
      while (oldest < at && events[oldest + fields.maker] === makers.result) oldest += eventSize;
      if (oldest === at) continue;
      const call = events[oldest + fields.id] ?? 0;
      const result = events[at + fields.id] ?? 0;
      if (result > 0 && (call === 0 || !haveSameSpelling(table, call, result))) return undefined;
      events[oldest + fields.partner] = at / eventSize;
      events[at + fields.partner] = oldest / eventSize;
      oldest += eventSize;
      open--;
    }
    return open === 0;
  }

  #pairById(table: JsonTable) {
    const events = this.#events;
    const readId = (at: number) => {
      const node = events[at + fields.id] ?? 0;
      return node > 0 ? json.readString(table, node) : undefined;
    };
    const end = this.countBeforeLast * eventSize;
    const open = new OpenCalls<number>();
    for (let at = 0; at < end; at += eventSize) events[at + fields.partner] = none;
    for (let at = 0; at < end; at += eventSize) {
      if (events[at + fields.maker] !== makers.result) open.add(at, readId(at));
      else {
        const call = open.take(readId(at));
        if (call === undefined) continue;
        events[call + fields.partner] = at / eventSize;
        events[at + fields.partner] = call / eventSize;
      }
    }
    return end === this.#end && open.open().length === 0;
  }
}

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

export const toolCalls = new ToolCalls();

/** An empty string is no name. */
const readToolName = (table: JsonTable, call: number) => {
  const node = toolCalls.at(call, fields.name);
  return (node > 0 && json.readString(table, node)) || undefined;
};

/** Pairs calls and results. */
export const inspectToolCalls = (table: JsonTable, report: RuleReporter) => {
  const { count, countBeforeLast } = toolCalls;
  if (count === 0 || toolCalls.pair(table)) return;
  const isCall = (event: number) => toolCalls.at(event, fields.maker) !== makers.result;
  // A call without an id needs no result.
  for (let event = 0; event < countBeforeLast; event++)
    if (isCall(event) && toolCalls.at(event, fields.partner) < 0 && toolCalls.at(event, fields.id) > 0) {
      const name = () => {
        const whole = readToolName(table, event);
        return whole && shortenName(whole);
      };
      report("missing-tool-result", { name }, toolCalls.at(event, fields.node));
    }
  // In the last message, a call needs a result only if an earlier call of the same tool has a result.
  const answeredTools = new Set<string>();
  for (let event = 0; event < countBeforeLast; event++) {
    const name = isCall(event) && toolCalls.at(event, fields.partner) >= 0 ? readToolName(table, event) : undefined;
    if (name !== undefined) answeredTools.add(name);
  }
  for (let event = countBeforeLast; event < count; event++) {
    const name = answeredTools.size > 0 ? readToolName(table, event) : undefined;
    if (name !== undefined && answeredTools.has(name))
      report("missing-tool-result", { name: () => shortenName(name), isLast: true }, toolCalls.at(event, fields.node));
  }
};
