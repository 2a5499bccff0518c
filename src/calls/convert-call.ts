/** Converts a traced call to a trajectory (interface 2.1) or to messages, with unchanged values. */
import {
  composeArray,
  composeMembers,
  findMember,
  findValue,
  isAbsent,
  itemsOf,
  type RawJson,
  sliceMembers,
  textAt,
} from "../json/raw-json.ts";
import { cutText } from "../text/sentences.ts";
import { endStatuses, findOperation, findState, readStatus } from "./call-facts.ts";
import { composeMessage, findMessage } from "./conversation.ts";
import { type CallPath, findPath, formatPath } from "./path.ts";
import { readConversation, readTools, toChatItems } from "./read-conversation.ts";
import { describeStandIn, findStandIn, listReferences } from "./stand-ins.ts";

export type RewardSource = { readonly text: string } | { readonly path: CallPath };
/** A line of JSON, or the reason for a failure, such as `it was deleted`. */
export type ConversionResult =
  | Readonly<{ line: string; references: ReturnType<typeof listReferences> }>
  | Readonly<{ why: string; needsReward?: true }>;

/** A JSON string never contains a raw line end. */
const toResult = (json: string, items: readonly RawJson[]): ConversionResult => {
  return { line: json.replaceAll(/[\r\n][ \t\r\n]*/g, ""), references: listReferences(items) };
};

export const toMessages = (call: RawJson): ConversionResult => {
  const items = readItems(call);
  if (typeof items === "string") return { why: items };
  const messages = items.map((item) => findMessage(item) ?? item);
  return toResult(composeArray(messages.map(({ json }) => json)), messages);
};

export const toTrajectory = (call: RawJson, from: RewardSource): ConversionResult => {
  const items = readItems(call);
  if (typeof items === "string") return { why: items };
  const isLogged = findOperation(call) === "rollcall.log";
  const tools = isLogged ? findValue(call, "inputs", "tools") : readTools(call);
  if (tools && tools.kind !== "list") return { why: "its tools are not a list" };
  const reward = "text" in from ? from.text : readReward(call, from.path);
  if (typeof reward !== "string") return reward;
  const members = composeMembers([
    ["messages_and_choices", composeArray(isLogged ? restoreChoices(items, call) : items.map(({ json }) => json))],
    ["tools", tools?.json],
    ...(isLogged ? readLoggedFields(call, reward) : readTracedFields(call, reward)),
  ]);
  return toResult(members, items);
};

const readReward = (call: RawJson, path: CallPath) => {
  const found = findPath(call, path);
  if (found.kind === "missing" || isAbsent(found.value))
    return { why: `it has no value at ${formatPath(path)}`, needsReward: true } as const;
  if (found.value.kind !== "number") return { why: "its reward is not a number", needsReward: true } as const;
  return found.value.json;
};

type Fields = readonly (readonly [key: string, json: string | undefined])[];

const readTracedFields = (call: RawJson, reward: string): Fields => {
  const text = (value: RawJson | undefined) => (value?.kind === "text" ? value.json : undefined);
  const model = findValue(call, "output", "model") ?? findValue(call, "inputs", "model");
  const keys = ["trace_id", "parent_id", "thread_id", "turn_id"];
  const origins = keys.map((key) => [key, text(findValue(call, key))] as const);
  return [
    ["reward", reward],
    ["metadata", composeMembers([["call_id", text(findValue(call, "id"))], ...origins, ["model", text(model)]])],
    ["start_time", text(findValue(call, "started_at"))],
  ];
};

const readLoggedFields = (call: RawJson, reward: string): Fields => {
  const attributes = findValue(call, "attributes");
  const otherFields = sliceMembers(findValue(attributes, "other")?.json ?? "{}");
  const usages = sliceMembers(findValue(call, "summary", "usage")?.json ?? "{}");
  return [
    ["additional_histories", findMember(findValue(call, "inputs"), "additional_histories")?.json],
    ["reward", reward],
    ...["initial_policy_version", "final_policy_version", "metrics", "metadata", "logs", "start_time"].map(
      (key) => [key, findMember(attributes, key)?.json] as const,
    ),
    ...otherFields,
    ["usage", [...usages.values()][0]],
  ];
};

/** Replaces messages with the choices that the local service stores in `attributes.choices`. */
const restoreChoices = (items: readonly RawJson[], call: RawJson) => {
  const choices = [...itemsOf(findValue(call, "attributes", "choices"))];
  const isChoice = (json: string) => findValue(choices[0], "message")?.json === json;
  return items.map(({ json }) => (isChoice(json) ? choices.shift()?.json : undefined) ?? json);
};

/** Logged messages and choices stay as they were logged. */
const readItems = (call: RawJson): readonly RawJson[] | string => {
  const items = describeState(call) ?? readRecordedItems(call);
  if (typeof items === "string" || findOperation(call) === "rollcall.log") return items;
  return items.map(findStandIn).find((why) => why !== undefined) ?? toChatItems(items);
};

/** Returns why the output is not the whole answer. */
const describeState = (call: RawJson) => {
  const state = findState(call);
  if (state === "deleted") return "it was deleted";
  if (state === "failed" && findValue(call, "exception")) return "it failed with an exception";
  if (readStatus(call) === "error") return "it failed";
  if (state === "running") return "it has not ended";
  const reply = findValue(call, "output");
  const replyStatus = textAt(reply, "object") === "response" ? textAt(reply, "status") : undefined;
  const status = [readStatus(call), replyStatus].find((text = "success") => !endStatuses.has(text.toLowerCase()));
  return status === undefined ? undefined : `it has the status ${JSON.stringify(cutText(status, 40))}`;
};

const readRecordedItems = (call: RawJson): readonly RawJson[] | string => {
  const { inputs, output: answer, obstacle } = readConversation(call);
  if (obstacle !== undefined) return obstacle;
  const messages = inputs.items ?? [];
  if (messages.length === 0 || !messages.every(hasMessage)) return "its inputs have no messages";
  const output = findValue(call, "output");
  if (output) {
    const answers = readAnswer(output, answer.items);
    return typeof answers === "string" ? answers : [...messages, ...answers];
  }
  // Without an output, the inputs can be a complete rollout.
  const isFromModel = (item: RawJson) => findMessage(item) !== item || textAt(item, "role") === "assistant";
  return messages.some(isFromModel) ? messages : "it has no output";
};

const hasMessage = (item: RawJson) => findMessage(item) !== undefined;

const readAnswer = (output: RawJson, items: readonly RawJson[] | undefined): readonly RawJson[] | string => {
  const choices = [findValue(output, "choices"), findValue(output, "candidates")];
  if (choices.some((list) => itemsOf(list).length > 1)) return "its output has several choices";
  if (output.kind === "text") return [composeMessage("assistant", output)];
  if (items?.every(hasMessage)) return items;
  const values = [output, ...itemsOf(output), findValue(output, "choices"), ...itemsOf(findValue(output, "choices"))];
  const replies = values.flatMap((value) => [value, findValue(value, "message")]);
  const reasons = replies.map((value) => value && describeStandIn("output", value));
  return reasons.find((why) => why !== undefined) ?? "its output is not a message";
};
