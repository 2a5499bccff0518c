/** Checks messages, and counts choices. */

import { isObject } from "../../json/json-bytes.ts";
import { nodeSize } from "../../json/reader.ts";
import { describeValue, Kind, kindAt, kindOf, kindsAsFacts, Shape } from "../../json/shape.ts";
import type { JsonTable } from "../../json/table.ts";
import * as json from "../../json/table.ts";
import type { MessageFacts } from "../index/trajectory-facts.ts";
import { findForeignTurn } from "../messages/chat-marks.ts";
import { OpenCalls } from "../messages/open-calls.ts";
import { finishReasons, roles } from "../rules/hints.ts";
import { shortenName } from "../rules/positions.ts";
import type { RuleReporter } from "../rules/rules.ts";
import { absentOrNull, checkElements } from "./types.ts";

/**
 * The events of the last inspected messages. Three nodes for each event: a call, its id and its name, or 0, the id of a
 * result and `resultMark`. Missing: 0.
 */
let events = new Int32Array(256);

type ProblemReporter = (table: JsonTable, message: number, report: RuleReporter) => void;

const roleNames = [...roles];
const [user, assistant, tool] = [roleNames.indexOf("user"), roleNames.indexOf("assistant"), roleNames.indexOf("tool")];

const messageShape = new Shape(
  ["role", "content", "tool_calls", "tool_call_id", "message", "logprobs", "finish_reason"],
  (kinds, table, object) => {
    const roleNode = json.findMemberNode(table, object, "role") ?? 0;
    const roleIndex = kinds.role === Kind.string ? roleNames.indexOf(json.readString(table, roleNode)) : -1;
    const reporters: ProblemReporter[] = [];
    if (roleIndex < 0) reporters.push(reportRole);
    const fits = (kind: number, accepted: number) => (kind & (absentOrNull | accepted)) !== 0;
    if (!fits(kinds.content, Kind.string | Kind.array)) reporters.push(reportType("content-type", slots.content));
    if (kinds.content === Kind.array) reporters.push(checkParts);
    if (roleIndex === tool && kinds.tool_call_id !== Kind.string) reporters.push(reportMissingId);
    if (!fits(kinds.tool_calls, Kind.array)) reporters.push(reportType("tool-calls-type", slots.tool_calls));
    const finishNode = json.findMemberNode(table, object, "finish_reason") ?? 0;
    const finish = kinds.finish_reason === Kind.string ? json.readString(table, finishNode) : "";
    return {
      isChoice: kinds.role === Kind.absent && kinds.message === Kind.object,
      isCut: finish === "length",
      isFinishKnown: fits(kinds.finish_reason, 0) || finishReasons.has(finish),
      hasLogprobs: kinds.logprobs === Kind.object,
      roleIndex,
      callsKind: kinds.tool_calls,
      isValid: reporters.length === 0,
      reporters,
    };
  },
);
const { slots } = messageShape;
const callShape = new Shape(["id", "function"], kindsAsFacts);
const functionShape = new Shape(["name"], kindsAsFacts);

const resetFacts = (facts: MessageFacts) => {
  facts.choices = 0;
  facts.choicesWithLogprobs = 0;
  facts.hasAssistantTurn = false;
  facts.callsTools = false;
  facts.lastChoice = 0;
  facts.cutNode = 0;
  facts.firstTurn = 0;
  facts.promptEnd = 0;
  facts.hasGreeting = false;
  facts.eventCount = 0;
  facts.lastCallsIndex = -1;
};

/** Returns false if no mark of a chat template is between two bytes of the table. */
export type MarkFinder = (start: number, end: number) => boolean;

/** @param hasMark default: marks are not reported */
export const inspectMessages = (
  table: JsonTable,
  list: number,
  facts: MessageFacts,
  report: RuleReporter,
  hasMark: MarkFinder = () => false,
) => {
  let areObjects = json.countNumbers(table, list) === 0;
  resetFacts(facts);
  let [hasTask, isGreeted, messagesEnd] = [false, false, 0];
  const end = json.nodeAfter(table, list);
  for (let entry = list + nodeSize; entry < end; entry = json.nodeAfter(table, entry)) {
    const before = messagesEnd;
    messagesEnd = json.endOf(table, entry);
    if (kindAt(table, entry) !== Kind.object) {
      areObjects = false;
      continue;
    }
    let shape = messageShape.read(table, entry);
    const { isChoice, hasLogprobs } = shape;
    if (isChoice) facts.cutNode = shape.isCut ? messageShape.at(table, slots.finish_reason) : 0;
    if (isChoice && !shape.isFinishKnown) reportFinish(table, entry, report);
    const message = isChoice ? messageShape.at(table, slots.message) : entry;
    if (isChoice) shape = messageShape.read(table, message);
    const { roleIndex, callsKind, isValid } = shape;
    if (!isValid) for (const reportProblem of shape.reporters) reportProblem(table, message, report);
    if (callsKind === Kind.null && !isChoice)
      report("tool-calls-null", undefined, messageShape.at(table, slots.tool_calls));
    if (facts.choices === 0 && (isChoice || (roleIndex === assistant && !facts.hasAssistantTurn))) {
      facts.firstTurn = entry;
      facts.promptEnd = hasTask ? before : 0;
      facts.hasGreeting = isGreeted;
    }
    if (isChoice) {
      facts.choices++;
      facts.lastChoice = entry;
    }
    const content = isChoice || roleIndex === assistant ? messageShape.at(table, slots.content) : 0;
    const [start, stop] = [json.startOf(table, content), json.endOf(table, content)];
    if (content > 0 && stop - start >= minMarkedBytes && hasMark(start, stop))
      marked.push(isChoice ? content : -content);
    if (isChoice && hasLogprobs) facts.choicesWithLogprobs++;
    if (roleIndex === assistant) facts.hasAssistantTurn = true;
    else if (roleIndex === user && !hasTask) {
      hasTask = true;
      isGreeted = facts.hasAssistantTurn;
    }
    if (roleIndex === tool) {
      const idNode = messageShape.at(table, slots.tool_call_id);
      addEvent(facts, 0, kindOf(table, idNode) === Kind.string ? nonEmptyNode(table, idNode) : 0, resultMark);
    }
    if (callsKind !== Kind.array) continue;
    if (json.nodeAfter(table, entry) === end) facts.lastCallsIndex = facts.eventCount;
    addToolCalls(table, messageShape.at(table, slots.tool_calls), facts);
  }
  if (facts.lastCallsIndex < 0) facts.lastCallsIndex = facts.eventCount;
  // Without choices, each message of the assistant counts as sampled.
  if (marked.length > 0)
    for (const content of marked.splice(0))
      if (content > 0 || facts.choices === 0) reportMarks(table, Math.abs(content), report);
  if (!areObjects) checkElements(table, list, { kind: Kind.object, rule: "message-type" }, report);
};

/** Shorter content has no mark between two texts. */
const minMarkedBytes = 12;

/** The nodes of contents of the assistant that may have marks, negative outside of a choice. */
const marked: number[] = [];

const reportMarks = (table: JsonTable, content: number, report: RuleReporter) => {
  const value = json.parseNode(table, content);
  const texts = Array.isArray(value) ? value.map((part: unknown) => (isObject(part) ? part.text : part)) : [value];
  const [turn] = texts.flatMap((text) => (typeof text === "string" ? (findForeignTurn(text) ?? []) : []));
  const verb = turn?.isKnown ? "contains" : "can contain";
  if (turn) report("chat-marks-in-content", { verb, mark: shortenName(turn.mark) }, content);
};

const reportFinish: ProblemReporter = (table, _, report) => {
  const node = messageShape.at(table, slots.finish_reason);
  const isString = kindOf(table, node) === Kind.string;
  const reason = isString ? `\`${shortenName(json.readString(table, node))}\`` : describeValue(table, node);
  report("unknown-finish-reason", { reason }, node);
};

const reportRole: ProblemReporter = (table, message, report) => {
  const node = messageShape.at(table, slots.role);
  if (node === 0) return report("missing-role", undefined, message);
  const isString = kindOf(table, node) === Kind.string;
  const role = isString ? shortenName(json.readString(table, node)) : describeValue(table, node);
  report("unknown-role", { role }, node);
};

const reportType =
  (rule: "content-type" | "tool-calls-type", slot: number): ProblemReporter =>
  (table, _, report) => {
    const value = messageShape.at(table, slot);
    report(rule, { found: describeValue(table, value) }, value);
  };

/** Parts of these types need no text. A part of another type may hold a call, or words under another key. */
const knownParts = new Set(
  "audio audio_url file image image_url input_audio input_file input_image refusal video video_url".split(" "),
);
const partShape = new Shape(["type", "text"], kindsAsFacts);

const checkParts: ProblemReporter = (table, _, report) => {
  const list = messageShape.at(table, slots.content);
  const end = json.nodeAfter(table, list);
  for (let part = list + nodeSize; part < end; part = json.nodeAfter(table, part)) {
    if (kindAt(table, part) === Kind.string) continue;
    const kinds = kindAt(table, part) === Kind.object ? partShape.read(table, part) : undefined;
    if (kinds?.text === Kind.string) continue;
    const isKnown =
      kinds?.type === Kind.string && knownParts.has(json.readString(table, partShape.at(table, partShape.slots.type)));
    if (!isKnown) return report("unknown-content-part", undefined, part);
  }
};

const reportMissingId: ProblemReporter = (_, message, report) => report("missing-tool-call-id", undefined, message);

const eventSize = 3;
const resultMark = -1;

const addEvent = (facts: MessageFacts, call: number, idNode: number, nameNode: number) => {
  const at = facts.eventCount;
  facts.eventCount = at + eventSize;
  if (facts.eventCount > events.length) {
    const grown = new Int32Array(2 * events.length);
    grown.set(events);
    events = grown;
  }
  events[at] = call;
  events[at + 1] = idNode;
  events[at + 2] = nameNode;
};

const addToolCalls = (table: JsonTable, list: number, facts: MessageFacts) => {
  const end = json.nodeAfter(table, list);
  for (let node = list + nodeSize; node < end; node = json.nodeAfter(table, node)) {
    if (kindAt(table, node) !== Kind.object) continue;
    const kinds = callShape.read(table, node);
    const idNode = kinds.id === Kind.string ? nonEmptyNode(table, callShape.at(table, callShape.slots.id)) : 0;
    let nameNode = 0;
    if (kinds.function === Kind.object) {
      const { name } = functionShape.read(table, callShape.at(table, callShape.slots.function));
      if (name === Kind.string) nameNode = nonEmptyNode(table, functionShape.at(table, functionShape.slots.name));
    }
    if (nameNode > 0) facts.callsTools = true;
    addEvent(facts, node, idNode, nameNode);
  }
};

/** Returns 0 for an empty string, which is no id and no name. */
export const nonEmptyNode = (table: JsonTable, node: number) => (json.detailOf(table, node) > 0 ? node : 0);

const readToolName = (table: JsonTable, at: number) => {
  const nameNode = events[at + 2] ?? 0;
  return nameNode > 0 ? json.readString(table, nameNode) : undefined;
};

/** @param offered the names in `tools`; undefined if `tools` or a name is missing */
export const inspectToolCalls = (
  table: JsonTable,
  facts: MessageFacts,
  offered: ReadonlySet<string> | undefined,
  report: RuleReporter,
) => {
  const { eventCount, lastCallsIndex } = facts;
  for (let at = 0; offered && at < eventCount; at += eventSize) {
    const name = readToolName(table, at);
    if (name === undefined || offered.has(name)) continue;
    report("undeclared-tool", { name: shortenName(name) }, events[at + 2] ?? 0);
  }
  if (lastCallsIndex === eventCount && areAnsweredInOrder(table, facts)) return;
  const { waiting, answeredTools } = matchToolCalls(table, lastCallsIndex);
  for (const at of waiting) {
    const name = () => {
      const whole = readToolName(table, at);
      return whole && shortenName(whole);
    };
    report("missing-tool-result", { name }, events[at] ?? 0);
  }
  // In the last message, a call needs a result only if an earlier call of the same tool has a result.
  for (let at = lastCallsIndex; at < eventCount; at += eventSize) {
    const name = answeredTools.size > 0 ? readToolName(table, at) : undefined;
    if (name !== undefined && answeredTools.has(name))
      report("trailing-tool-call", { name: shortenName(name) }, events[at] ?? 0);
  }
};

const areAnsweredInOrder = (table: JsonTable, { eventCount }: MessageFacts) => {
  let oldest = 0;
  for (let at = 0; at <= eventCount; at += eventSize) {
    while (oldest < at && (events[oldest + 2] === resultMark || (at === eventCount && events[oldest + 1] === 0)))
      oldest += eventSize;
    if (at === eventCount || oldest === at || events[at + 2] !== resultMark) continue;
    const idNode = events[at + 1] ?? 0;
    const callId = events[oldest + 1] ?? 0;
    if (idNode > 0 && (callId === 0 || !haveSameSpelling(table, callId, idNode))) return false;
    oldest += eventSize;
  }
  return oldest === eventCount;
};

const haveSameSpelling = (table: JsonTable, a: number, b: number) => {
  const { bytes } = table;
  const [from, end, other] = [json.startOf(table, a), json.endOf(table, a), json.startOf(table, b)];
  if (json.endOf(table, b) - other !== end - from) return false;
  // For short texts, a loop is faster than `Buffer.compare`.
  for (let at = from; at < end; at++) if (bytes[at] !== bytes[at - from + other]) return false;
  return true;
};

const matchToolCalls = (table: JsonTable, end: number) => {
  const readId = (at: number) => {
    const idNode = events[at + 1] ?? 0;
    return idNode > 0 ? json.readString(table, idNode) : undefined;
  };
  const calls = new OpenCalls(readId);
  const answeredTools = new Set<string>();
  for (let at = 0; at < end; at += eventSize) {
    if (events[at + 2] !== resultMark) {
      calls.add(at);
      continue;
    }
    const call = calls.take(readId(at));
    const name = call === undefined ? undefined : readToolName(table, call);
    if (name !== undefined) answeredTools.add(name);
  }
  // A call without an id needs no result.
  return { waiting: calls.open().filter((at) => events[at + 1] !== 0), answeredTools };
};
