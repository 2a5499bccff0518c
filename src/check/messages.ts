/** Checks the roles, content and tool calls of messages, and counts choices. */
import { nodeSize } from "../json/reader.ts";
import type { JsonTable } from "../json/table.ts";
import * as json from "../json/table.ts";
import { findNearest } from "../nearest.ts";
import { hintForMissingRole, roles, suggestRole } from "./hints.ts";
import { maxNameLength, shortName } from "./rules/positions.ts";
import { describeValue, Kind, kindAt, kindOf, kindsAsFacts, Shape } from "./shape.ts";
import { absentOrNull, checkElements, type Report } from "./types.ts";

/** Creates empty facts: counts, and the tool calls and results in order. */
export const newMessageFacts = () => ({
  choices: 0,
  choicesWithLogprobs: 0,
  hasAssistantTurn: false,
  callsTools: false,
  // Three numbers for each call: its node, the node of its id, and the node of the tool's name. The last two are 0 if
  // the id or name is empty or not a string. Three numbers for each result: twice the node of its id (the second time 0
  // if the id is not a string), and -1.
  events: [0],
  /** The used length of `events`. The list keeps its memory for the next trajectory. */
  eventCount: 0,
  /** Index in `events` of the last message's first call; `eventCount` if it has no calls. */
  lastCallsIndex: 0,
});

type MessageFacts = ReturnType<typeof newMessageFacts>;
type MessageCheck = (table: JsonTable, message: number, report: Report) => void;

const roleNames = [...roles];
const [assistant, tool] = [roleNames.indexOf("assistant"), roleNames.indexOf("tool")];

const messageShape = new Shape(
  ["role", "content", "tool_calls", "tool_call_id", "message", "logprobs"],
  (kinds, table, object) => {
    const roleNode = kinds.role === Kind.string ? json.findMemberNode(table, object, "role") : undefined;
    const role = roleNode === undefined ? -1 : roleNames.indexOf(json.readString(table, roleNode));
    /** The checks that the message fails. Each check reports its problem. */
    const failedChecks: MessageCheck[] = [];
    if (role < 0) failedChecks.push(reportRole);
    const fits = (kind: number, accepted: number): boolean => (kind & (absentOrNull | accepted)) !== 0;
    if (!fits(kinds.content, Kind.string | Kind.array)) failedChecks.push(reportType("content-type", slots.content));
    if (role === tool && kinds.tool_call_id !== Kind.string) failedChecks.push(reportMissingId);
    if (!fits(kinds.tool_calls, Kind.array)) failedChecks.push(reportType("tool-calls-type", slots.tool_calls));
    return {
      isChoice: kinds.role === Kind.absent && kinds.message === Kind.object,
      hasLogprobs: kinds.logprobs === Kind.object,
      /** Index in `roleNames`; -1 for an unknown role. */
      role,
      calls: kinds.tool_calls,
      failedChecks,
    };
  },
);
const { slots } = messageShape;
const callShape = new Shape(["id", "function"], kindsAsFacts);
const functionShape = new Shape(["name"], kindsAsFacts);

export const inspectMessages = (table: JsonTable, list: number, facts: MessageFacts, report: Report): void => {
  let areObjects = json.countNumbers(table, list) === 0;
  facts.choices = 0;
  facts.choicesWithLogprobs = 0;
  facts.hasAssistantTurn = false;
  facts.callsTools = false;
  facts.eventCount = 0;
  facts.lastCallsIndex = -1;
  const end = json.nodeAfter(table, list);
  for (let entry = list + nodeSize; entry < end; entry = json.nodeAfter(table, entry)) {
    if (kindAt(table, entry) !== Kind.object) {
      areObjects = false;
      continue;
    }
    let shape = messageShape.read(table, entry);
    const { isChoice, hasLogprobs } = shape;
    const message = isChoice ? messageShape.at(table, slots.message) : entry;
    if (isChoice) shape = messageShape.read(table, message);
    const { role, calls, failedChecks } = shape;
    for (let at = 0; at < failedChecks.length; at++) failedChecks[at]?.(table, message, report);
    // In a choice, `tool_calls` is often null.
    if (calls === Kind.null && !isChoice)
      report("tool-calls-null", undefined, messageShape.at(table, slots.tool_calls));
    if (isChoice) facts.choices++;
    if (isChoice && hasLogprobs) facts.choicesWithLogprobs++;
    if (role === assistant) facts.hasAssistantTurn = true;
    if (role === tool) {
      const id = messageShape.at(table, slots.tool_call_id);
      addEvent(facts, id, kindOf(table, id) === Kind.string ? id : 0, resultMark);
    }
    if (calls !== Kind.array) continue;
    if (json.nodeAfter(table, entry) === end) facts.lastCallsIndex = facts.eventCount;
    addCalls(table, messageShape.at(table, slots.tool_calls), facts);
  }
  if (facts.lastCallsIndex < 0) facts.lastCallsIndex = facts.eventCount;
  if (!areObjects) checkElements(table, list, { kind: Kind.object, rule: "message-type" }, report);
};

const reportRole: MessageCheck = (table, message, report) => {
  const node = messageShape.at(table, slots.role);
  if (node === 0) {
    report("missing-role", { instead: () => hintForMissingRole(json.parseNode(table, message)) }, message);
    return;
  }
  const found = kindOf(table, node) === Kind.string ? json.readString(table, node) : undefined;
  const role = found === undefined ? describeValue(table, node) : shortName(found);
  report("unknown-role", { role, suggestion: () => suggestRole(found) }, node);
};

const reportType =
  (rule: "content-type" | "tool-calls-type", slot: number): MessageCheck =>
  (table, _, report) => {
    const value = messageShape.at(table, slot);
    report(rule, { found: describeValue(table, value) }, value);
  };

const reportMissingId: MessageCheck = (_, message, report) => report("missing-tool-call-id", undefined, message);

/** How many numbers an event has in `events`. */
const eventSize = 3;

/** The third number of a result. */
const resultMark = -1;

const addEvent = (facts: MessageFacts, node: number, id: number, name: number): void => {
  const { events, eventCount } = facts;
  events[eventCount] = node;
  events[eventCount + 1] = id;
  events[eventCount + 2] = name;
  facts.eventCount += eventSize;
};

const addCalls = (table: JsonTable, list: number, facts: MessageFacts): void => {
  const end = json.nodeAfter(table, list);
  for (let node = list + nodeSize; node < end; node = json.nodeAfter(table, node)) {
    if (kindAt(table, node) !== Kind.object) continue;
    const call = callShape.read(table, node);
    const id = call.id === Kind.string ? nonEmptyNode(table, callShape.at(table, 1)) : 0;
    let name = 0;
    if (call.function === Kind.object) {
      const called = functionShape.read(table, callShape.at(table, 2));
      if (called.name === Kind.string) name = nonEmptyNode(table, functionShape.at(table, 1));
    }
    if (name > 0) facts.callsTools = true;
    addEvent(facts, node, id, name);
  }
};

const nonEmptyNode = (table: JsonTable, node: number): number => (json.detailOf(table, node) > 0 ? node : 0);

/** With more offered tools, no tool is suggested, because a suggestion compares all names. */
const maxComparedTools = 200;

/** @param offered names of the offered tools; undefined if unknown */
export const inspectCalls = (
  table: JsonTable,
  facts: MessageFacts,
  offered: ReadonlySet<string> | undefined,
  report: Report,
): void => {
  const { events, eventCount, lastCallsIndex: last } = facts;
  for (let at = 0; offered !== undefined && at < eventCount; at += eventSize) {
    const node = events[at + 2] ?? 0;
    const name = node > 0 ? json.readString(table, node) : undefined;
    if (name === undefined || offered.has(name)) continue;
    const suggestion = () =>
      offered.size > maxComparedTools ? undefined : findNearest(name.slice(0, maxNameLength), offered);
    report("undeclared-tool", { name: shortName(name), suggestion }, node);
  }
  if (last === eventCount && areAllAnswered(table, facts)) return;
  const { waiting, answered } = matchCalls(table, events, last);
  for (const at of waiting) {
    const name = events[at + 2] ?? 0;
    const data = { name: () => (name > 0 ? shortName(json.readString(table, name)) : undefined) };
    report("missing-tool-result", data, events[at] ?? 0);
  }
  // Calls in the last message may lack results, unless earlier calls of the same tool have results.
  for (let at = last; at < eventCount; at += eventSize) {
    const called = events[at + 2] ?? 0;
    const name = called > 0 && answered.size > 0 ? json.readString(table, called) : "";
    if (answered.has(name)) report("trailing-tool-call", { name: shortName(name) }, events[at] ?? 0);
  }
};

/** True for the usual order: each result answers the oldest waiting call, and no call waits at the end. */
const areAllAnswered = (table: JsonTable, { events, eventCount }: MessageFacts): boolean => {
  let oldest = 0;
  for (let at = 0; at <= eventCount; at += eventSize) {
    // A call without an id cannot have a result.
    while (oldest < at && (events[oldest + 2] === resultMark || events[oldest + 1] === 0)) oldest += eventSize;
    if (at === eventCount || oldest === at || events[at + 2] !== resultMark) continue;
    const id = events[at + 1] ?? 0;
    if (id > 0 && !haveSameSpelling(table, events[oldest + 1] ?? 0, id)) return false;
    oldest += eventSize;
  }
  return oldest === eventCount;
};

const haveSameSpelling = (table: JsonTable, a: number, b: number): boolean => {
  const { bytes } = table;
  const [from, end, other] = [json.startOf(table, a), json.endOf(table, a), json.startOf(table, b)];
  if (json.endOf(table, b) - other !== end - from) return false;
  // For texts as short as ids, a loop is faster than a call into Node.
  for (let at = from; at < end; at++) if (bytes[at] !== bytes[at - from + other]) return false;
  return true;
};

/** Matches calls with results by id. A result without an id, which another rule reports, answers the oldest call. */
const matchCalls = (table: JsonTable, events: readonly number[], end: number) => {
  const waiting = new Map<string, number[]>();
  const answered = new Set<string>();
  for (let at = 0; at < end; at += eventSize) {
    const id = events[at + 1] ?? 0;
    const idText = id > 0 ? json.readString(table, id) : undefined;
    if (events[at + 2] !== resultMark) {
      if (idText !== undefined && waiting.get(idText)?.push(at) === undefined) waiting.set(idText, [at]);
      continue;
    }
    const key = idText ?? waiting.keys().next().value ?? "";
    const calls = waiting.get(key) ?? [];
    for (const call of idText === undefined ? calls.splice(0, 1) : calls.splice(0)) {
      const called = events[call + 2] ?? 0;
      if (called > 0) answered.add(json.readString(table, called));
    }
    if (calls.length === 0) waiting.delete(key);
  }
  return { waiting: [...waiting.values()].flat(), answered };
};
