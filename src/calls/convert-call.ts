/** Converts a traced call to a trajectory (interface 2.1) or to messages, with unchanged values. */
import * as raw from "../json/raw-json.ts";
import { isSilentKey } from "../rollouts/messages/said-content.ts";
import { cutText, isBlankText } from "../text/sentences.ts";
import { endStatuses, findOperation, findState, readStatus } from "./call-facts.ts";
import { composeMessage, findMessage, hasMessage, thoughtKeys } from "./conversation.ts";
import { hasContent } from "./other-uses.ts";
import { type CallPath, findPath, formatPath } from "./path.ts";
import { readConversation, readTools, toChatItems } from "./read-conversation.ts";

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
  if (tools && (tools.kind !== "list" || tools.items.some(({ kind }) => kind !== "object")))
    return { why: "its tools are not a list of objects" };
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
  const unread = findUnreadPrompt(messages, inputs.rest);
  if (unread !== undefined) return `its inputs have ${JSON.stringify(unread)}, which can be a part of the prompt`;
  const output = raw.findValue(call, "output");
  if (output) {
    const answers = readAnswer(output, answer.items);
    return typeof answers === "string" ? answers : [...messages, ...answers];
  }
  // Without an output, the inputs can be a complete rollout.
  const isFromModel = (item: raw.RawJson) => findMessage(item) !== item || raw.textAt(item, "role") === "assistant";
  return messages.some(isFromModel) ? messages : "it has no output";
};

const promptKey = /persona(?!l)|history|developer|few_?shot|demonstrations/i;

/** Returns the name of a member with texts that are not in the messages. */
const findUnreadPrompt = (messages: readonly raw.RawJson[], rest: raw.RawJson | undefined) => {
  const others = raw.membersOf(rest).filter(({ key }) => promptKey.test(key) && !isSilentKey(key));
  if (others.length === 0) return undefined;
  const textsOf = (value: raw.RawJson) =>
    Array.from(walkValues(value)).flatMap(({ kind, text }) => (kind === "text" ? text : []));
  const said = new Set(messages.flatMap(textsOf));
  return others.find(({ value }) => textsOf(value).some((text) => !said.has(text) && !isBlankText(text)))?.key;
};

const answerKeys = ["tool_calls", "function_call", "refusal", ...thoughtKeys];

/** Returns the name of an unknown member of a message that has no known answer. */
const findUnreadAnswer = (message: raw.RawJson | undefined) => {
  const hasAnswer = ["content", ...answerKeys].some((key) => hasContent(raw.findValue(message, key)));
  const isOther = ({ key, value }: raw.RawMember) =>
    !isSilentKey(key) && hasContent(value) && ["text", "list", "object"].includes(value.kind);
  return hasAnswer ? undefined : raw.membersOf(message).find(isOther)?.key;
};

/** A stream that breaks off can state an error next to the text that was sent before. */
const isFailed = (reply: raw.RawJson) =>
  raw.textAt(reply, "finish_reason") === "error" || statesError(raw.findValue(reply, "error"));

/** An error can state nothing, as `{"message": null}` does. */
const statesError = (error: raw.RawJson | undefined) =>
  hasContent(error) && (error?.kind !== "object" || error.members.some(({ value }) => hasContent(value)));

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
  const unread = items?.map((item) => findUnreadAnswer(findMessage(item))).find((key) => key !== undefined);
  if (unread !== undefined) return `its output has an unknown member ${JSON.stringify(unread)} in place of the content`;
  if (items?.every(hasMessage)) return items;
  const values = [output, ...raw.itemsOf(output), choices, ...raw.itemsOf(choices)];
  const replies = values.flatMap((value) => [value, raw.findValue(value, "message")]);
  const reasons = replies.map((value) => value && describeStandIn("output", value));
  return reasons.find((why) => why !== undefined) ?? "its output is not a message";
};

const maxLevels = 32;
const maxShown = 80;

/** Says why the message or choice does not state what was said: `its message 2 is a placeholder`. */
const findStandIn = (item: raw.RawJson, at: number): string | undefined => {
  const message = findMessage(item) ?? item;
  const role = raw.textAt(message, "role");
  const name = `message ${at + 1}`;
  // Other roles can say what an object prints.
  const canBePrinted = role !== "assistant" && message === item;
  const content = raw.findValue(message, "content");
  if (Array.from(walkValues(item)).some(isPlaceholder)) return describePlaceholder(name);
  // A tool can return a path or a printed object, so its text can be the true result.
  if (role === "tool") return undefined;
  const parts = raw.itemsOf(content).map((part) => raw.findValue(part, "text") ?? part);
  const calls = raw.itemsOf(raw.findValue(message, "tool_calls"));
  const values = [
    ...[item, message, content, raw.findValue(message, "tool_calls")],
    ...[...thoughtKeys, "refusal"].map((key) => raw.findValue(message, key)),
    ...calls.flatMap((call) => [call, raw.findValue(call, "function"), raw.findValue(call, "function", "arguments")]),
    ...(parts.every((part) => describeStandIn(name, part, canBePrinted)) ? parts : []),
  ];
  const isUnknown = content && !canBePrinted && content.kind !== "text" && content.kind !== "list";
  return (
    values.map((value) => value && describeStandIn(name, value, canBePrinted)).find(Boolean) ??
    (isUnknown ? `the content of its ${name} is neither a text nor a list` : undefined)
  );
};

const describePlaceholder = (name: string) =>
  `its ${name} is a placeholder, because the client did not record the value`;

/** Returns why the value is not what was said. */
const describeStandIn = (name: string, value: raw.RawJson, canBePrinted = false): string | undefined => {
  if (isPlaceholder(value) || (!canBePrinted && isPlaceholderText(value))) return describePlaceholder(name);
  if (value.kind !== "text") return undefined;
  const text = value.text.trim();
  if (isReference(text)) return `its ${name} is a reference to another object (${cutText(text, maxShown)})`;
  if (!canBePrinted && isPrinted(text))
    return `its ${name} is the printed name of an object (${cutText(text, maxShown)})`;
  return undefined;
};

const isPlaceholder = (value: raw.RawJson) =>
  raw.findMember(value, "_weave") !== undefined || raw.textAt(value, "_type") === "CustomWeaveType";

const isPlaceholderText = ({ kind, text }: raw.RawJson) => {
  if (kind !== "text") return false;
  if (/^\s*(?:<EXCEEDS_LIMITS>|[<[]?REDACTED[>\]]?)\s*$/.test(text)) return true;
  const parsed = /"(?:_weave|CustomWeaveType)"/.test(text) ? raw.tryParseRawJson(text) : undefined;
  return parsed !== undefined && isPlaceholder(parsed);
};

/** Assumed: a reference is a URI without a host, or a token between `@@@`. */
const isReference = (text: string) => /^(?:[a-z][a-z\d+.-]*:\/\/\/\S+|@@@\w+:[^@\s]+@@@)$/i.test(text);

/** Names of members and values that only answers of models have. */
const answerMember = /\brole(?:=|': )["']assistant["']|\b(?:finish_reason|stop_reason|tool_calls)(?:=|': )/;

/** True for what Python and JavaScript print, such as `<a.Stream object at 0x7f1b>` and `Message(role='assistant')`. */
const isPrinted = (text: string) =>
  /^<[^\n]* at 0x[\da-f]+>+$/i.test(text) ||
  /^<(?:(?:class|module|enum) '\w+\.|bound method |Response \[)[^\n]*>$/.test(text) ||
  /^\[object \w+\]$/.test(text) ||
  (/^(?:[A-Z]\w*\(\w+=.*\)|\[?\{'\w+': .*\}\]?)$/s.test(text) && answerMember.test(text));

/** Lists the messages with a text that contains a reference, and the first reference of each. */
const listReferences = (items: readonly raw.RawJson[]) =>
  items.flatMap((item, at) => {
    const reference = Array.from(walkValues(item), findReference).find(Boolean);
    return reference === undefined ? [] : { message: at + 1, reference };
  });

/** Deeper values are not examined, because a call can have 100,000 levels. */
function* walkValues(value: raw.RawJson, levels = maxLevels): Generator<raw.RawJson> {
  yield value;
  if (levels === 0) return;
  for (const child of value.items) yield* walkValues(child, levels - 1);
  for (const { value: child } of value.members) yield* walkValues(child, levels - 1);
}

/** URIs with these schemes are addresses of this machine or of a database. */
const localSchemes: ReadonlySet<string> = new Set(
  "file unix sqlite sqlite3 duckdb postgres postgresql mysql mariadb oracle mssql redis jdbc data".split(" "),
);

const findReference = ({ kind, text }: raw.RawJson) => {
  if (kind !== "text") return undefined;
  for (let at = text.indexOf(":///"); at !== -1; at = text.indexOf(":///", at + 1)) {
    const scheme = /[a-z][a-z\d+.-]{0,30}$/i.exec(text.slice(Math.max(0, at - 31), at))?.[0] ?? "";
    const path = /^\w[^\s"'<>)\]}]*/.exec(text.slice(at + 4, at + maxShown))?.[0];
    const isLocal = localSchemes.has(scheme.toLowerCase().replace(/\+.*/, ""));
    if (scheme !== "" && path !== undefined && !isLocal) return `${scheme}:///${path}`;
  }
  return /@@@\w{1,40}:[^@\s]{1,200}@@@/.exec(text)?.[0];
};
