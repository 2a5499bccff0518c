/** Converts a traced call to a trajectory (interface 2.1) or to messages, with the spelling of every value. */
import { composeArray, composeMembers } from "../json/compose.ts";
import { findMember, findValue, isAbsent, itemsOf, membersOf, type RawJson, textAt } from "../json/raw-json.ts";
import { findMessage, messageKeys } from "./conversation.ts";
import { findOperation } from "./facts.ts";
import type { ConversionObstacle } from "./failures.ts";
import { type CallPath, findPath } from "./path.ts";

/** The source of a reward: a typed number, a path in the call, or its `attributes.reward`. */
export type RewardSource =
  | { readonly kind: "number"; readonly text: string }
  | { readonly kind: "path"; readonly path: CallPath }
  | { readonly kind: "attributes" };

/** JSON on one line without a newline, or the reason why the call cannot be converted. */
export type ConversionResult =
  | { readonly kind: "converted"; readonly line: string }
  | { readonly kind: "not-convertible"; readonly why: ConversionObstacle };

const notConvertible = (why: ConversionObstacle): ConversionResult => ({ kind: "not-convertible", why });

/** Puts JSON on one line. Line ends in strings are escapes. */
const converted = (json: string): ConversionResult => ({
  kind: "converted",
  line: json.replaceAll(/[\r\n][ \t\r\n]*/g, ""),
});

/** Converts a call to a JSON list of messages. For a choice, the list has the message of the choice. */
export const toMessages = (call: RawJson): ConversionResult => {
  const items = readConversation(call);
  if (typeof items === "string") return notConvertible(items);
  return converted(composeArray(items.map(({ message, json }) => message?.json ?? json)));
};

/** Converts a call to a trajectory. */
export const toTrajectory = (call: RawJson, from: RewardSource): ConversionResult => {
  const items = readConversation(call);
  if (typeof items === "string") return notConvertible(items);
  const tools = findValue(call, "inputs", "tools");
  if (tools !== undefined && tools.kind !== "list") return notConvertible("odd-tools");
  const found = from.kind === "number" ? undefined : findPath(call, from.kind === "path" ? from.path : rewardPath);
  const value = found?.kind === "found" && !isAbsent(found.value) ? found.value : undefined;
  const reward = from.kind === "number" ? from.text : value?.json;
  if (reward === undefined) return notConvertible("no-reward");
  if (value !== undefined && value.kind !== "number") return notConvertible("odd-reward");
  const isLogged = findOperation(call) === loggedOperation;
  return converted(
    composeMembers([
      ["messages_and_choices", composeArray(isLogged ? restoreChoices(items, call) : items.map(({ json }) => json))],
      ["tools", tools?.json],
      ...(isLogged ? loggedFields(call, reward) : tracedFields(call, reward)),
    ]),
  );
};

const rewardPath = ["attributes", "reward"];

/** The operation of logged trajectories in the local service. */
const loggedOperation = "rollcall.log";

type Fields = readonly (readonly [key: string, json: string | undefined])[];

/** The origin of a traced call, as strings for `log --group-by`. */
const tracedFields = (call: RawJson, reward: string): Fields => {
  const text = (value: RawJson | undefined) => (value?.kind === "text" ? value.json : undefined);
  const model = findMember(findValue(call, "output"), "model") ?? findMember(findValue(call, "inputs"), "model");
  const origins = ["trace_id", "parent_id", "thread_id", "turn_id"].map(
    (key) => [key, text(findValue(call, key))] as const,
  );
  return [
    ["reward", reward],
    ["metadata", composeMembers([["call_id", text(findValue(call, "id"))], ...origins, ["model", text(model)]])],
    ["start_time", text(findValue(call, "started_at"))],
  ];
};

/** The members besides the conversation of a trajectory that was logged to the local service. */
const loggedFields = (call: RawJson, reward: string): Fields => {
  const attributes = findValue(call, "attributes");
  const others = new Map(membersOf(findValue(attributes, "other")).map(({ key, value }) => [key, value.json]));
  const usages = new Map(membersOf(findValue(call, "summary", "usage")).map(({ key, value }) => [key, value.json]));
  return [
    ["additional_histories", findMember(findValue(call, "inputs"), "additional_histories")?.json],
    ["reward", reward],
    ...["initial_policy_version", "final_policy_version", "metrics", "metadata", "logs", "start_time"].map(
      (key) => [key, findMember(attributes, key)?.json] as const,
    ),
    ...others,
    ["usage", [...usages.values()][0]],
  ];
};

/** A message or a choice. */
interface Item {
  readonly json: string;
  /** The message in a choice. */
  readonly message: RawJson | undefined;
  readonly isFromModel: boolean;
}

/** Restores choices from their messages, because the local service stores choices separately. */
const restoreChoices = (items: readonly Item[], call: RawJson): readonly string[] => {
  const choices = [...itemsOf(findValue(call, "attributes", "choices"))];
  return items.map(({ json }) =>
    findValue(choices[0], "message")?.json === json ? (choices.shift()?.json ?? json) : json,
  );
};

/** Returns messages and choices, or the obstacle. */
const readConversation = (call: RawJson): readonly Item[] | ConversionObstacle => {
  if (findValue(call, "deleted_at") !== undefined) return "deleted";
  const messages = readMessages(findValue(call, "inputs"));
  const output = findValue(call, "output");
  if (output !== undefined) {
    if (messages === undefined) return "no-messages";
    const answer = readAnswer(output);
    return typeof answer === "string" ? answer : [...messages, ...answer];
  }
  const exception = findValue(call, "exception");
  if (exception !== undefined && exception.json !== '""') return "failed";
  if (findValue(call, "ended_at") === undefined) return "running";
  if (messages === undefined) return "no-messages";
  // The inputs may be a complete rollout, whose last message is not from the model.
  return messages.some(({ isFromModel }) => isFromModel) ? messages : "no-answer";
};

/** Returns the items of values; undefined if a value is not a message or choice, or if there are no values. */
const toItems = (values: readonly RawJson[]): readonly Item[] | undefined => {
  const items = values.flatMap((value): readonly Item[] => {
    const message = findMessage(value);
    if (message === undefined) return [];
    const isChoice = message !== value && findMember(value, "role") === undefined;
    const isFromModel = isChoice || textAt(message, "role") === "assistant";
    return [{ json: value.json, message: isChoice ? message : undefined, isFromModel }];
  });
  return items.length === 0 || items.length < values.length ? undefined : items;
};

const messageItem = (role: string, content: RawJson): Item => ({
  json: composeMembers([
    ["role", JSON.stringify(role)],
    ["content", content.json],
  ]),
  message: undefined,
  isFromModel: role === "assistant",
});

const readMessages = (inputs: RawJson | undefined): readonly Item[] | undefined => {
  const lists = messageKeys.map((key) => itemsOf(findValue(inputs, key)));
  const list = lists.find((values) => toItems(values) !== undefined) ?? [];
  // Some clients send the system message in `system`, not in the list.
  const system = findValue(inputs, "system");
  const roles = list.map((item) => textAt(findMessage(item), "role"));
  const isSeparate =
    (system?.kind === "text" || system?.kind === "list") && !roles.includes("system") && !roles.includes("developer");
  const items = toItems(list);
  return items !== undefined && isSeparate ? [messageItem("system", system), ...items] : items;
};

/** Reads the model's answer: a choice, a message, several messages, or a text. */
const readAnswer = (output: RawJson): readonly Item[] | ConversionObstacle => {
  const choices = findValue(output, "choices");
  if (choices?.kind === "list")
    return choices.items.length > 1 ? "several-choices" : (toItems(choices.items) ?? "odd-answer");
  const items = toItems([output]) ?? toItems(output.items);
  if (items !== undefined) return items;
  return output.kind === "text" ? [messageItem("assistant", output)] : "odd-answer";
};
