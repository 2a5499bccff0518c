/** Walks messages, for rules and facts. */

import { findChatMark } from "../../conversation/chat-marks.ts";
import { roles, thoughtKeys } from "../../conversation/message.ts";
import { openBrace, openBracket } from "../../json/json-bytes.ts";
import { nodeSize } from "../../json/reader.ts";
import { describeValue, Kind, kindAt, kindOf, kindsAsFacts, Shape } from "../../json/shape.ts";
import type { JsonTable } from "../../json/table.ts";
import * as json from "../../json/table.ts";
import { countIndexes, finishReasons, isCutOff } from "../facts.ts";
import type { TrajectoryFacts } from "../index/trajectory-facts.ts";
import { shortenName } from "../rules/positions.ts";
import type { RuleReporter } from "../rules/rules.ts";
import type { ElementName } from "../rules/trajectory-rules.ts";
import { makers, toolCalls } from "./tool-calls.ts";
import { absentOrNull, checkElements } from "./types.ts";

type ProblemReporter = (table: JsonTable, message: number, report: RuleReporter) => void;

const roleNames = [...roles];
/** The model has no messages of these roles. */
const promptRoles: ReadonlySet<string> = new Set(["developer", "system", "user"]);
const [user, assistant, tool, olderTool] = ["user", "assistant", "tool", "function"].map((role) =>
  roleNames.indexOf(role),
);

const messageKeys = [
  ...(["role", "content", "tool_calls", "tool_call_id", "message", "logprobs", "finish_reason"] as const),
  ...thoughtKeys,
  "function_call" as const,
];

const messageShape = new Shape(messageKeys, ({ kinds, textOf }) => {
  const roleIndex = roleNames.indexOf(textOf("role") ?? "");
  const reporters: ProblemReporter[] = [];
  if (roleIndex < 0) reporters.push(reportRole);
  const fits = (kind: number, accepted: number) => (kind & (absentOrNull | accepted)) !== 0;
  if (!fits(kinds.content, Kind.string | Kind.array)) reporters.push(reportType("content", slots.content));
  if (!fits(kinds.tool_calls, Kind.array)) reporters.push(reportType("calls", slots.tool_calls));
  const finish = textOf("finish_reason");
  return {
    isChoice: kinds.role === Kind.absent && kinds.message === Kind.object,
    finish,
    isFinishKnown: fits(kinds.finish_reason, 0) || finishReasons.has(finish ?? ""),
    hasReasoning:
      ((kinds.reasoning_content | kinds.reasoning | kinds.thinking) & Kind.string) !== 0 ||
      kinds.reasoning_details === Kind.array,
    hasLogprobs: kinds.logprobs === Kind.object,
    roleIndex,
    isOfPrompt: promptRoles.has(textOf("role") ?? ""),
    contentKind: kinds.content,
    callsKind: kinds.tool_calls,
    hasOlderCall: kinds.function_call === Kind.object,
    isValid: reporters.length === 0,
    reporters,
  };
});
const { slots } = messageShape;
const callShape = new Shape(["id", "function", "custom"], kindsAsFacts);
const functionShape = new Shape(["name", "arguments", "input"], kindsAsFacts);

const resetFacts = (facts: TrajectoryFacts) => {
  facts.choices = 0;
  facts.choicesWithLogprobs = 0;
  facts.hasAssistantTurn = false;
  facts.callsTools = false;
  facts.lastChoice = 0;
  facts.cutNode = 0;
  facts.firstTurn = 0;
  facts.promptEnd = 0;
  facts.hasGreeting = false;
  facts.finishReason = undefined;
  if (facts.needsCounts) forgetTurns(facts);
  toolCalls.reset();
};

const { turns, characters } = countIndexes;

/** The log probabilities of the sampled turns of the last walked messages. */
export const scores: number[] = [];

const forgetTurns = ({ counts }: TrajectoryFacts) => {
  // For so few numbers, a loop is faster than `fill`.
  for (let at = 0; at < counts.length; at++) counts[at] = 0;
  if (scores.length > 0) scores.length = 0;
};

/** True for `logprobs` with a list of tokens. For a turn without tokens, services write null. */
const hasTokens = ({ table, node }: json.JsonValue) => {
  if (kindOf(table, node) !== Kind.object) return false;
  const bytes = table.bytes.subarray(json.startOf(table, node), json.endOf(table, node));
  // The reader skips log probabilities, so the table does not have their members.
  return tokenKeys.some((key) => {
    const found = bytes.indexOf(key);
    let at = found + key.length;
    while (betweenKeyAndToken.includes(bytes[at] ?? 0)) at++;
    return found >= 0 && bytes[at] === openBrace && bytes.lastIndexOf(openBracket, at) > found;
  });
};

const tokenKeys = ['"content"', '"refusal"'];
const betweenKeyAndToken = Buffer.from(": \t\r\n[");

/** @param canHaveMarks false if no sampled text has a mark of a chat template */
export const inspectMessages = (
  table: JsonTable,
  list: number,
  facts: TrajectoryFacts,
  report: RuleReporter,
  canHaveMarks = false,
) => {
  let areObjects = json.countNumbers(table, list) === 0;
  resetFacts(facts);
  let hasTask = false;
  let isGreeted = false;
  let isPrompt = areObjects;
  let messagesEnd = 0;
  const end = json.nodeAfter(table, list);
  for (let entry = list + nodeSize; entry < end; entry = json.nodeAfter(table, entry)) {
    const before = messagesEnd;
    messagesEnd = json.endOf(table, entry);
    if (kindAt(table, entry) !== Kind.object) {
      areObjects = isPrompt = false;
      continue;
    }
    let shape = messageShape.read(table, entry);
    const { isChoice, hasLogprobs } = shape;
    if (isChoice) {
      facts.cutNode = isCutOff(shape.finish) ? messageShape.at(table, slots.finish_reason) : 0;
      facts.finishReason = shape.finish;
    }
    if (isChoice && !shape.isFinishKnown) reportFinish(table, entry, report);
    const message = isChoice ? messageShape.at(table, slots.message) : entry;
    const score = hasLogprobs ? messageShape.at(table, slots.logprobs) : 0;
    if (isChoice) shape = messageShape.read(table, message);
    const { roleIndex, callsKind, hasOlderCall, isValid } = shape;
    isPrompt &&= shape.isOfPrompt && !isChoice;
    if (!isValid) for (const reportProblem of shape.reporters) reportProblem(table, message, report);
    if (isChoice && roleIndex >= 0 && roleIndex !== assistant)
      report("choice-role", { role: roleNames[roleIndex] ?? "" }, messageShape.at(table, slots.role));
    if (callsKind === Kind.null && !isChoice)
      report("element-type", { element: "callsOfMessage", found: "null" }, messageShape.at(table, slots.tool_calls));
    if (facts.choices === 0 && (isChoice || (roleIndex === assistant && !facts.hasAssistantTurn))) {
      facts.firstTurn = entry;
      facts.promptEnd = hasTask ? before : 0;
      facts.hasGreeting = isGreeted;
    }
    if (isChoice) {
      // With a choice, messages of the assistant are not sampled.
      if (facts.choices++ === 0 && facts.needsCounts) forgetTurns(facts);
      facts.lastChoice = entry;
      if (score > 0 && hasTokens({ table, node: score })) facts.choicesWithLogprobs++;
    }
    const isSampled = facts.needsCounts && (isChoice || (roleIndex === assistant && facts.choices === 0));
    if (isSampled) countTurn(table, shape, facts);
    if (isSampled && hasLogprobs) scores.push(score);
    if (canHaveMarks && (isChoice || roleIndex === assistant)) findMarks(table, shape, isChoice);
    if (roleIndex === assistant) facts.hasAssistantTurn = true;
    else if (roleIndex === user && !hasTask && hasContent(table)) {
      hasTask = true;
      isGreeted = facts.hasAssistantTurn;
    }
    if (roleIndex === tool || roleIndex === olderTool) {
      const idNode = messageShape.at(table, slots.tool_call_id);
      const id = kindOf(table, idNode) === Kind.string ? nonEmptyNode(table, idNode) : 0;
      if (id === 0 && roleIndex === tool) report("missing-tool-call-id", undefined, message);
      toolCalls.add(message, id, 0, makers.result);
    }
    if (callsKind !== Kind.array && !hasOlderCall) continue;
    if (json.nodeAfter(table, entry) === end) toolCalls.startLast();
    const maker = isChoice ? makers.choice : roleIndex === assistant ? makers.assistant : makers.other;
    const older = messageShape.at(table, slots.function_call);
    if (hasOlderCall) addCall(table, { node: older, id: 0, called: older }, facts, { maker, isSampled });
    if (callsKind !== Kind.array) continue;
    addToolCalls(table, messageShape.at(table, slots.tool_calls), facts, { maker, isSampled }, report);
  }
  // The model gave nothing.
  if (isPrompt && hasTask) facts.promptEnd = messagesEnd;
  if (marked.length > 0) reportMarks(facts, report);
  if (!areObjects) checkElements(table, list, { kind: Kind.object, element: "message" }, report);
};

/** False for null, and for an empty string, list or object. */
const isFilled = (table: JsonTable, node: number) => {
  const kind = kindOf(table, node);
  if ((kind & (Kind.array | Kind.object)) !== 0) return json.nodeAfter(table, node) > node + nodeSize;
  return kind === Kind.string ? json.detailOf(table, node) > 0 : (kind & absentOrNull) === 0;
};

/** False if the message that `messageShape` has read says nothing. */
const hasContent = (table: JsonTable) => isFilled(table, messageShape.at(table, slots.content));

const thoughtSlots = thoughtKeys.map((key) => slots[key]);
const saidSlots = [slots.content, ...thoughtSlots];

/** True if nothing with content stands before the first turn of the model. */
export const lacksPrompt = (table: JsonTable, list: number, { firstTurn }: TrajectoryFacts) => {
  for (let entry = list + nodeSize; entry < firstTurn; entry = json.nodeAfter(table, entry)) {
    if (kindAt(table, entry) !== Kind.object) return false;
    messageShape.read(table, entry);
    if (hasContent(table)) return false;
  }
  return firstTurn > 0;
};

/** The content and reasoning of turns of the walked messages that have marks. */
const marked: { readonly content: number; readonly mark: string; readonly isChoice: boolean }[] = [];

/** Keeps the marks in the content and reasoning of the message that `messageShape` has read. */
const findMarks = (table: JsonTable, { hasReasoning }: MessageShape, isChoice: boolean) => {
  for (const slot of hasReasoning ? saidSlots : [slots.content]) {
    const content = messageShape.at(table, slot);
    const texts = kindOf(table, content) === Kind.array ? listTexts(table, content) : [content];
    const isText = (node: number) => kindOf(table, node) === Kind.string;
    const [mark] = texts.filter(isText).flatMap((node) => findChatMark(json.readString(table, node)) ?? []);
    if (mark !== undefined) marked.push({ content, mark, isChoice });
  }
};

const reportMarks = ({ choices }: TrajectoryFacts, report: RuleReporter) => {
  // Without choices, each message of the assistant counts as sampled.
  for (const { content, mark, isChoice } of marked.splice(0))
    if (isChoice || choices === 0) report("chat-marks-in-content", { mark }, content);
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
  (element: ElementName, slot: number): ProblemReporter =>
  (table, _, report) => {
    const value = messageShape.at(table, slot);
    report("element-type", { element, found: describeValue(table, value) }, value);
  };

const partShape = new Shape(["type", "text"], kindsAsFacts);

/** Counts the message that `messageShape` has read. Some services send the reasoning under both names. */
const countTurn = (table: JsonTable, { hasReasoning }: MessageShape, { counts }: TrajectoryFacts) => {
  let said = 0;
  if (hasReasoning)
    for (const slot of thoughtSlots) said = Math.max(said, countCharacters(table, messageShape.at(table, slot)));
  said += countCharacters(table, messageShape.at(table, slots.content));
  counts[turns] = (counts[turns] ?? 0) + 1;
  counts[characters] = (counts[characters] ?? 0) + said;
};

type MessageShape = ReturnType<typeof messageShape.read>;

/** Counts the code points of a string or of a list's texts; 0 for another value. */
const countCharacters = (table: JsonTable, node: number) => {
  const kind = kindOf(table, node);
  if (kind === Kind.array) return listTexts(table, node).reduce((sum, text) => sum + json.detailOf(table, text), 0);
  return kind === Kind.string ? json.detailOf(table, node) : 0;
};

/** Some writers do not serialize the arguments. */
const countArguments = (table: JsonTable, node: number) => {
  const isSerialized = (kindOf(table, node) & (Kind.object | Kind.array)) === 0;
  return isSerialized ? countCharacters(table, node) : [...json.textOf({ table, node })].length;
};

/** Returns the nodes of the texts in a list of parts. */
export const listTexts = (table: JsonTable, list: number) => {
  const texts: number[] = [];
  const end = json.nodeAfter(table, list);
  for (let part = list + nodeSize; part < end; part = json.nodeAfter(table, part)) {
    const kinds = kindAt(table, part) === Kind.object ? partShape.read(table, part) : undefined;
    if (kinds?.text === Kind.string) texts.push(partShape.at(table, partShape.slots.text));
  }
  return texts;
};

interface Caller {
  readonly maker: number;
  /** True if the arguments count as characters. */
  readonly isSampled: boolean;
}

const addToolCalls = (table: JsonTable, list: number, facts: TrajectoryFacts, caller: Caller, report: RuleReporter) => {
  let areObjects = json.countNumbers(table, list) === 0;
  const end = json.nodeAfter(table, list);
  for (let node = list + nodeSize; node < end; node = json.nodeAfter(table, node)) {
    if (kindAt(table, node) !== Kind.object) {
      areObjects = false;
      continue;
    }
    const kinds = callShape.read(table, node);
    const id = kinds.id === Kind.string ? nonEmptyNode(table, callShape.at(table, callShape.slots.id)) : 0;
    const isCustom = kinds.custom === Kind.object;
    const slot = isCustom ? callShape.slots.custom : callShape.slots.function;
    const isCalled = isCustom || kinds.function === Kind.object;
    const fault = addCall(table, { node, id, called: isCalled ? callShape.at(table, slot) : 0 }, facts, caller);
    if (fault && !isCustom) report("element-type", { element: "calls", found: `a call without ${fault}` }, node);
  }
  if (!areObjects) checkElements(table, list, { kind: Kind.object, element: "calls" }, report);
};

/** Returns what the call lacks. @param called the object with the name and the arguments; 0 if there is none */
const addCall = (
  table: JsonTable,
  { node, id, called }: Readonly<{ node: number; id: number; called: number }>,
  facts: TrajectoryFacts,
  { maker, isSampled }: Caller,
) => {
  const { counts } = facts;
  let [name, hasArguments] = [0, false];
  if (called > 0) {
    const kinds = functionShape.read(table, called);
    const { slots } = functionShape;
    if (kinds.name === Kind.string) name = nonEmptyNode(table, functionShape.at(table, slots.name));
    hasArguments = kinds.arguments === Kind.string;
    const slot = kinds.arguments === Kind.absent ? slots.input : slots.arguments;
    const said = isSampled ? functionShape.at(table, slot) : 0;
    counts[characters] = (counts[characters] ?? 0) + countArguments(table, said);
  }
  if (name > 0) facts.callsTools = true;
  toolCalls.add(node, id, name, maker);
  if (name === 0) return "a name";
  return hasArguments ? undefined : "arguments as text";
};

/** Returns 0 for an empty string, which is no id and no name. */
const nonEmptyNode = (table: JsonTable, node: number) => (json.detailOf(table, node) > 0 ? node : 0);
