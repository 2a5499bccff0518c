/** Converts a traced call to a trajectory (interface 2.1) or to messages, with unchanged values. */
import * as raw from "../json/raw-json.ts";
import { cutText } from "../text/sentences.ts";
import { endStatuses, findOperation, findState, readStatus } from "./call-facts.ts";
import { composeMessage, findMessage, hasMessage } from "./conversation.ts";
import { type CallPath, findPath, formatPath } from "./path.ts";
import { readConversation, readTools, toChatItems } from "./read-conversation.ts";
import { describeStandIn, findStandIn, listReferences } from "./stand-ins.ts";

export type RewardSource = { readonly text: string } | { readonly path: CallPath };
/** A line of JSON, or the reason for a failure, such as `it was deleted`. */
export type ConversionResult =
  | Readonly<{ line: string; references: ReturnType<typeof listReferences> }>
  | Readonly<{ why: string; needsReward?: true }>;

/** A JSON string never contains a raw line end. */
const toResult = (json: string, items: readonly raw.RawJson[]): ConversionResult => {
  return { line: json.replaceAll(/[\r\n][ \t\r\n]*/g, ""), references: listReferences(items) };
};

export const toMessages = (call: raw.RawJson): ConversionResult => {
  const items = readItems(call);
  if (typeof items === "string") return { why: items };
  const messages = items.map((item) => findMessage(item) ?? item);
  return toResult(raw.composeArray(messages.map(({ json }) => json)), messages);
};

export const toTrajectory = (call: raw.RawJson, from: RewardSource): ConversionResult => {
  const items = readItems(call);
  if (typeof items === "string") return { why: items };
  const isLogged = findOperation(call) === "rollcall.log";
  const tools = isLogged ? raw.findValue(call, "inputs", "tools") : readTools(call);
  if (tools && tools.kind !== "list") return { why: "its tools are not a list" };
  const reward = "text" in from ? from.text : readReward(call, from.path);
  if (typeof reward !== "string") return reward;
  const members = raw.composeMembers([
    ["messages_and_choices", raw.composeArray(isLogged ? restoreChoices(items, call) : items.map(({ json }) => json))],
    ["tools", tools?.json],
    ...(isLogged ? readLoggedFields(call, reward) : readTracedFields(call, reward)),
  ]);
  return toResult(members, items);
};

const readReward = (call: raw.RawJson, path: CallPath) => {
  const found = findPath(call, path);
  if (found.kind === "missing" || raw.isAbsent(found.value))
    return { why: `it has no value at ${formatPath(path)}`, needsReward: true } as const;
  if (found.value.kind !== "number") return { why: "its reward is not a number", needsReward: true } as const;
  return found.value.json;
};

type Fields = readonly (readonly [key: string, json: string | undefined])[];

const readTracedFields = (call: raw.RawJson, reward: string): Fields => {
  const text = (value: raw.RawJson | undefined) => (value?.kind === "text" ? value.json : undefined);
  const model = raw.findValue(call, "output", "model") ?? raw.findValue(call, "inputs", "model");
  const keys = ["trace_id", "parent_id", "thread_id", "turn_id"];
  const origins = keys.map((key) => [key, text(raw.findValue(call, key))] as const);
  return [
    ["reward", reward],
    [
      "metadata",
      raw.composeMembers([["call_id", text(raw.findValue(call, "id"))], ...origins, ["model", text(model)]]),
    ],
    ["start_time", text(raw.findValue(call, "started_at"))],
  ];
};

const readLoggedFields = (call: raw.RawJson, reward: string): Fields => {
  const attributes = raw.findValue(call, "attributes");
  const otherFields = raw.sliceMembers(raw.findValue(attributes, "other")?.json ?? "{}");
  const usages = raw.sliceMembers(raw.findValue(call, "summary", "usage")?.json ?? "{}");
  return [
    ["additional_histories", raw.findMember(raw.findValue(call, "inputs"), "additional_histories")?.json],
    ["reward", reward],
    ...["initial_policy_version", "final_policy_version", "metrics", "metadata", "logs", "start_time"].map(
      (key) => [key, raw.findMember(attributes, key)?.json] as const,
    ),
    ...otherFields,
    ["usage", [...usages.values()][0]],
  ];
};

/** Replaces messages with the choices that the local service stores in `attributes.choices`. */
const restoreChoices = (items: readonly raw.RawJson[], call: raw.RawJson) => {
  const choices = [...raw.itemsOf(raw.findValue(call, "attributes", "choices"))];
  const isChoice = (json: string) => raw.findValue(choices[0], "message")?.json === json;
  return items.map(({ json }) => (isChoice(json) ? choices.shift()?.json : undefined) ?? json);
};

/** Logged messages and choices stay as they were logged. */
const readItems = (call: raw.RawJson): readonly raw.RawJson[] | string => {
  const items = describeState(call) ?? readRecordedItems(call);
  if (typeof items === "string" || findOperation(call) === "rollcall.log") return items;
  return items.map(findStandIn).find((why) => why !== undefined) ?? toChatItems(items);
};

/** Returns why the output is not the whole answer. */
const describeState = (call: raw.RawJson) => {
  const state = findState(call);
  if (state === "deleted") return "it was deleted";
  if (state === "failed" && raw.findValue(call, "exception")) return "it failed with an exception";
  if (readStatus(call) === "error") return "it failed";
  if (state === "running") return "it has not ended";
  const reply = raw.findValue(call, "output");
  const replyStatus = raw.textAt(reply, "object") === "response" ? raw.textAt(reply, "status") : undefined;
  const status = [readStatus(call), replyStatus].find((text = "success") => !endStatuses.has(text.toLowerCase()));
  return status === undefined ? undefined : `it has the status ${JSON.stringify(cutText(status, 40))}`;
};

const readRecordedItems = (call: raw.RawJson): readonly raw.RawJson[] | string => {
  const { inputs, output: answer, obstacle } = readConversation(call);
  if (obstacle !== undefined) return obstacle;
  const messages = inputs.items ?? [];
  if (messages.length === 0 || !messages.every(hasMessage)) return "its inputs have no messages";
  const output = raw.findValue(call, "output");
  if (output) {
    const answers = readAnswer(output, answer.items);
    return typeof answers === "string" ? answers : [...messages, ...answers];
  }
  // Without an output, the inputs can be a complete rollout.
  const isFromModel = (item: raw.RawJson) => findMessage(item) !== item || raw.textAt(item, "role") === "assistant";
  return messages.some(isFromModel) ? messages : "it has no output";
};

/** A stream that breaks off can state an error next to the text that was sent before. */
const isFailed = (reply: raw.RawJson) =>
  raw.textAt(reply, "finish_reason") === "error" || raw.findValue(reply, "error") !== undefined;

const readAnswer = (
  output: raw.RawJson,
  items: readonly raw.RawJson[] | undefined,
): readonly raw.RawJson[] | string => {
  const choices = raw.findValue(output, "choices");
  if ([choices, raw.findValue(output, "candidates")].some((list) => raw.itemsOf(list).length > 1))
    return "its output has several choices";
  if (output.kind === "text") return [composeMessage("assistant", output)];
  const sampled = items?.filter((item) => findMessage(item) !== item) ?? [];
  if ([output, ...sampled].some(isFailed)) return "its output has an error";
  if (sampled.some((item) => hasMessage(item) && raw.textAt(findMessage(item), "role") !== "assistant"))
    return "its output is not a message of the assistant";
  if (items?.every(hasMessage)) return items;
  const values = [output, ...raw.itemsOf(output), choices, ...raw.itemsOf(choices)];
  const replies = values.flatMap((value) => [value, raw.findValue(value, "message")]);
  const reasons = replies.map((value) => value && describeStandIn("output", value));
  return reasons.find((why) => why !== undefined) ?? "its output is not a message";
};
