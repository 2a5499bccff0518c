/** Walks messages, for rules and facts. */

import { findChatMark } from "../../conversation/chat-marks.ts";
import { roles, thoughtKeys } from "../../conversation/message.ts";
import { nodeSize } from "../../json/reader.ts";
import { describeValue, isNothing, Kind, kindAt, kindOf, Shape } from "../../json/shape.ts";
import type { JsonTable } from "../../json/table.ts";
import * as json from "../../json/table.ts";
import { finishReasons, isCutOff } from "../facts.ts";
import { shortenName } from "../rules/positions.ts";
import type { RuleReporter } from "../rules/rules.ts";
import type { ElementName } from "../rules/trajectory-rules.ts";
import {
  addBlocks,
  addCall,
  addToolCalls,
  type Caller,
  countCharacters,
  countMedia,
  countScores,
  hasNoText,
  listTexts,
  MessageWalk,
  nonEmptyNode,
  SampledTurns,
} from "./message-walk.ts";
import { makers } from "./tool-calls.ts";
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
  ...(["function_call", "refusal", "audio"] as const),
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
    hasReasoning: thoughtKeys.some((key) => (kinds[key] & (Kind.string | Kind.array)) !== 0),
    hasLogprobs: kinds.logprobs === Kind.object,
    roleIndex,
    isOfPrompt: promptRoles.has(textOf("role") ?? ""),
    contentKind: kinds.content,
    callsKind: kinds.tool_calls,
    hasOlderCall: kinds.function_call === Kind.object,
    saysOtherwise: kinds.refusal === Kind.string || kinds.audio === Kind.object,
    isValid: reporters.length === 0,
    reporters,
  };
});
const { slots } = messageShape;

type MessageShape = ReturnType<typeof messageShape.read>;

export interface WalkOptions {
  /** True if the caller needs the sums of sampled turns. */
  readonly needsTurns?: boolean;
  /** False if no sampled text has a mark of a chat template. */
  readonly canHaveMarks?: boolean;
}

export const walkMessages = (
  table: JsonTable,
  list: number,
  report: RuleReporter,
  { needsTurns = false, canHaveMarks = false }: WalkOptions = {},
): MessageWalk => {
  const walk = new MessageWalk();
  walk.list = list;
  let areObjects = json.countNumbers(table, list) === 0;
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
    const { isChoice } = shape;
    if (isChoice) addFinish(table, shape, walk);
    if (isChoice && !shape.isFinishKnown) reportFinish(table, entry, report);
    const message = isChoice ? messageShape.at(table, slots.message) : entry;
    const score = shape.hasLogprobs ? messageShape.at(table, slots.logprobs) : 0;
    if (isChoice) shape = messageShape.read(table, message);
    const { roleIndex, contentKind, callsKind, hasOlderCall } = shape;
    isPrompt &&= shape.isOfPrompt && !isChoice;
    if (!shape.isValid) for (const reportProblem of shape.reporters) reportProblem(table, message, report);
    if (isChoice && roleIndex >= 0 && roleIndex !== assistant)
      report("choice-role", { role: roleNames[roleIndex] ?? "" }, messageShape.at(table, slots.role));
    if (callsKind === Kind.null && !isChoice)
      report("element-type", { element: "callsOfMessage", found: "null" }, messageShape.at(table, slots.tool_calls));
    if (walk.choices === 0 && (isChoice || (roleIndex === assistant && !walk.hasAssistantTurn))) {
      walk.firstTurn = entry;
      walk.promptEnd = hasTask ? before : 0;
      walk.hasGreeting = isGreeted;
    }
    if (isChoice) {
      // With a choice, messages of the assistant are not sampled.
      if (walk.choices++ === 0 && walk.hasAssistantTurn) walk.turns = new SampledTurns();
      if (score > 0 && countScores(table, score) > 0) walk.choicesWithLogprobs++;
    }
    const isSampled = isChoice || (roleIndex === assistant && walk.choices === 0);
    const isCounted = isSampled && needsTurns;
    if (isCounted) countTurn(table, shape, score, walk.turns);
    if (isSampled) walk.isSilent = isSilent(table, shape);
    if (needsTurns && contentKind === Kind.array)
      walk.media += countMedia(table, messageShape.at(table, slots.content));
    if (isSampled && canHaveMarks) findMarks(table, shape, walk.turns);
    if (roleIndex === assistant) walk.hasAssistantTurn = true;
    else if (roleIndex === user && !hasTask && hasContent(table)) {
      hasTask = true;
      isGreeted = walk.hasAssistantTurn;
    }
    if (roleIndex === tool || roleIndex === olderTool)
      addResult(table, message, walk, roleIndex === tool ? report : undefined);
    if (contentKind !== Kind.array && callsKind !== Kind.array && !hasOlderCall) continue;
    const maker = isChoice ? makers.choice : roleIndex === assistant ? makers.assistant : makers.other;
    addCalls(table, shape, walk, { maker, isLast: json.nodeAfter(table, entry) === end, isCounted }, report);
  }
  // The model gave nothing.
  if (isPrompt && hasTask) walk.promptEnd = messagesEnd;
  if (canHaveMarks) for (const { node, mark } of walk.turns.marked) report("chat-marks-in-content", { mark }, node);
  if (!areObjects) checkElements(table, list, { kind: Kind.object, element: "message" }, report);
  return walk;
};

/** True if the message that `messageShape` has read says and calls nothing. */
const isSilent = (table: JsonTable, { saysOtherwise, hasOlderCall, callsKind }: MessageShape) =>
  !saysOtherwise &&
  !hasOlderCall &&
  (callsKind !== Kind.array || isNothing(table, messageShape.at(table, slots.tool_calls))) &&
  hasNoText(table, messageShape.at(table, slots.content));

/** The next functions add the choice or the message that `messageShape` has read. */
const addFinish = (table: JsonTable, { finish }: MessageShape, walk: MessageWalk) => {
  walk.cutNode = isCutOff(finish) ? messageShape.at(table, slots.finish_reason) : 0;
  walk.finishReason = finish;
};

const addResult = (table: JsonTable, message: number, walk: MessageWalk, reportMissingId?: RuleReporter) => {
  const idNode = messageShape.at(table, slots.tool_call_id);
  const id = kindOf(table, idNode) === Kind.string ? nonEmptyNode(table, idNode) : 0;
  if (id === 0) reportMissingId?.("missing-tool-call-id", undefined, message);
  walk.addResult(message, id);
};

const addCalls = (
  table: JsonTable,
  { contentKind, callsKind, hasOlderCall }: MessageShape,
  walk: MessageWalk,
  caller: Caller,
  report: RuleReporter,
) => {
  const older = messageShape.at(table, slots.function_call);
  if (hasOlderCall) addCall(table, { node: older, id: 0, called: older }, walk, caller);
  if (contentKind === Kind.array) addBlocks(table, messageShape.at(table, slots.content), walk, caller);
  if (callsKind === Kind.array) addToolCalls(table, messageShape.at(table, slots.tool_calls), walk, caller, report);
};

/** False if the message that `messageShape` has read says nothing. */
const hasContent = (table: JsonTable) => !isNothing(table, messageShape.at(table, slots.content));

const thoughtSlots = thoughtKeys.map((key) => slots[key]);
const saidSlots = [slots.content, ...thoughtSlots];

/** True if nothing with content stands before the first turn of the model. */
export const lacksPrompt = (table: JsonTable, list: number, { firstTurn }: MessageWalk) => {
  for (let entry = list + nodeSize; entry < firstTurn; entry = json.nodeAfter(table, entry)) {
    if (kindAt(table, entry) !== Kind.object) return false;
    messageShape.read(table, entry);
    if (hasContent(table)) return false;
  }
  return firstTurn > 0;
};

/** Keeps the marks in the content and reasoning of the message that `messageShape` has read. */
const findMarks = (table: JsonTable, { hasReasoning }: MessageShape, { marked }: SampledTurns) => {
  for (const slot of hasReasoning ? saidSlots : [slots.content]) {
    const node = messageShape.at(table, slot);
    const texts = kindOf(table, node) === Kind.array ? listTexts(table, node) : [node];
    const isText = (text: number) => kindOf(table, text) === Kind.string;
    const [mark] = texts.filter(isText).flatMap((text) => findChatMark(json.readString(table, text)) ?? []);
    if (mark !== undefined) marked.push({ node, mark });
  }
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

/** Counts the message that `messageShape` has read. Some services send the reasoning under both names. */
const countTurn = (table: JsonTable, { hasReasoning }: MessageShape, score: number, turns: SampledTurns) => {
  let said = 0;
  if (hasReasoning)
    for (const slot of thoughtSlots) said = Math.max(said, countCharacters(table, messageShape.at(table, slot)));
  turns.count++;
  turns.characters += said + countCharacters(table, messageShape.at(table, slots.content));
  if (score > 0) turns.scores.push(score);
};
