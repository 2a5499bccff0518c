/** Turns a traced call into a trajectory that can be logged (interface 2.1), and into messages: every value as it was written. */
import { arrayText, membersText } from "../json/compose.ts";
import { isNothing, itemsOf, memberOf, membersOf, type Spelled, textFrom, valueAt } from "../json/spelled.ts";
import { messageKeys, messageOf } from "./conversation.ts";
import { operationOf } from "./facts.ts";
import type { CallUnfit } from "./failures.ts";
import { type CallPath, findPath } from "./path.ts";

/** Where a trajectory's reward comes from: a number as it was typed, a path in the call, or the call's `attributes.reward`. */
export type RewardFrom =
  | { readonly kind: "number"; readonly text: string }
  | { readonly kind: "path"; readonly path: CallPath }
  | { readonly kind: "attributes" };

/** One line of JSON without its line end, or why there is none. */
export type Converted =
  | { readonly kind: "converted"; readonly line: string }
  | { readonly kind: "unfit"; readonly why: CallUnfit };

const unfit = (why: CallUnfit): Converted => ({ kind: "unfit", why });

/** JSON on one line: only strings can hold other line ends, and theirs are escapes. */
const converted = (json: string): Converted => ({
  kind: "converted",
  line: json.replaceAll(/[\r\n][ \t\r\n]*/g, ""),
});

/** The messages of a call as a JSON list; of choices, the messages in them. */
export const messagesOf = (call: Spelled): Converted => {
  const items = conversationIn(call);
  if (typeof items === "string") return unfit(items);
  return converted(arrayText(items.map(({ message, json }) => message?.json ?? json)));
};

/** A call as a trajectory. */
export const trajectoryOf = (call: Spelled, from: RewardFrom): Converted => {
  const items = conversationIn(call);
  if (typeof items === "string") return unfit(items);
  const tools = valueAt(call, "inputs", "tools");
  if (tools !== undefined && tools.kind !== "list") return unfit("odd-tools");
  const found = from.kind === "number" ? undefined : findPath(call, from.kind === "path" ? from.path : rewardPath);
  const value = found?.kind === "found" && !isNothing(found.value) ? found.value : undefined;
  const reward = from.kind === "number" ? from.text : value?.json;
  if (reward === undefined) return unfit("no-reward");
  if (value !== undefined && value.kind !== "number") return unfit("odd-reward");
  const isLogged = operationOf(call) === loggedOperation;
  return converted(
    membersText([
      ["messages_and_choices", arrayText(isLogged ? withChoices(items, call) : items.map(({ json }) => json))],
      ["tools", tools?.json],
      ...(isLogged ? loggedFields(call, reward) : tracedFields(call, reward)),
    ]),
  );
};

const rewardPath = ["attributes", "reward"];

/** The operation under which rollcall's own service records what was logged to it. */
const loggedOperation = "rollcall.log";

type Fields = readonly (readonly [key: string, json: string | undefined])[];

/** Where the trajectory of a traced call came from, as texts, so that `log --group-by` can use them. */
const tracedFields = (call: Spelled, reward: string): Fields => {
  const text = (value: Spelled | undefined) => (value?.kind === "text" ? value.json : undefined);
  const model = memberOf(valueAt(call, "output"), "model") ?? memberOf(valueAt(call, "inputs"), "model");
  const origins = ["trace_id", "parent_id", "thread_id", "turn_id"].map(
    (key) => [key, text(valueAt(call, key))] as const,
  );
  return [
    ["reward", reward],
    ["metadata", membersText([["call_id", text(valueAt(call, "id"))], ...origins, ["model", text(model)]])],
    ["start_time", text(valueAt(call, "started_at"))],
  ];
};

/** All but the conversation of a trajectory that was logged to rollcall's own service. */
const loggedFields = (call: Spelled, reward: string): Fields => {
  const attributes = valueAt(call, "attributes");
  const others = new Map(membersOf(valueAt(attributes, "other")).map(({ key, value }) => [key, value.json]));
  const usages = new Map(membersOf(valueAt(call, "summary", "usage")).map(({ key, value }) => [key, value.json]));
  return [
    ["additional_histories", memberOf(valueAt(call, "inputs"), "additional_histories")?.json],
    ["reward", reward],
    ...["initial_policy_version", "final_policy_version", "metrics", "metadata", "logs", "start_time"].map(
      (key) => [key, memberOf(attributes, key)?.json] as const,
    ),
    ...others,
    ["usage", [...usages.values()][0]],
  ];
};

/** A message or a choice. */
interface Item {
  readonly json: string;
  /** The message in a choice. */
  readonly message: Spelled | undefined;
  readonly isModels: boolean;
}

/** The items of a logged trajectory: its service has the choices apart from their messages. */
const withChoices = (items: readonly Item[], call: Spelled): readonly string[] => {
  const choices = [...itemsOf(valueAt(call, "attributes", "choices"))];
  return items.map(({ json }) =>
    valueAt(choices[0], "message")?.json === json ? (choices.shift()?.json ?? json) : json,
  );
};

/** Messages, and choices in the places of the model's own messages; or why there are none. */
const conversationIn = (call: Spelled): readonly Item[] | CallUnfit => {
  if (valueAt(call, "deleted_at") !== undefined) return "deleted";
  const messages = messagesIn(valueAt(call, "inputs"));
  const output = valueAt(call, "output");
  if (output !== undefined) {
    if (messages === undefined) return "no-messages";
    const answer = answerIn(output);
    return typeof answer === "string" ? answer : [...messages, ...answer];
  }
  const exception = valueAt(call, "exception");
  if (exception !== undefined && exception.json !== '""') return "failed";
  if (valueAt(call, "ended_at") === undefined) return "running";
  if (messages === undefined) return "no-messages";
  // A whole rollout may end with a message that is not the model's.
  return messages.some(({ isModels }) => isModels) ? messages : "no-answer";
};

/** Items, if all of them are messages or choices, and there is one. */
const itemsIn = (values: readonly Spelled[]): readonly Item[] | undefined => {
  const items = values.flatMap((value): readonly Item[] => {
    const message = messageOf(value);
    if (message === undefined) return [];
    const isChoice = message !== value && memberOf(value, "role") === undefined;
    const isModels = isChoice || textFrom(message, "role") === "assistant";
    return [{ json: value.json, message: isChoice ? message : undefined, isModels }];
  });
  return items.length === 0 || items.length < values.length ? undefined : items;
};

const messageItem = (role: string, content: Spelled): Item => ({
  json: membersText([
    ["role", JSON.stringify(role)],
    ["content", content.json],
  ]),
  message: undefined,
  isModels: role === "assistant",
});

const messagesIn = (inputs: Spelled | undefined): readonly Item[] | undefined => {
  const lists = messageKeys.map((key) => itemsOf(valueAt(inputs, key)));
  const list = lists.find((values) => itemsIn(values) !== undefined) ?? [];
  // Some clients give the system's message next to the others.
  const system = valueAt(inputs, "system");
  const roles = list.map((item) => textFrom(messageOf(item), "role"));
  const isApart =
    (system?.kind === "text" || system?.kind === "list") && !roles.includes("system") && !roles.includes("developer");
  const items = itemsIn(list);
  return items !== undefined && isApart ? [messageItem("system", system), ...items] : items;
};

/** What the model answered: a choice, a message, several messages, or a text. */
const answerIn = (output: Spelled): readonly Item[] | CallUnfit => {
  const choices = valueAt(output, "choices");
  if (choices?.kind === "list")
    return choices.items.length > 1 ? "several-choices" : (itemsIn(choices.items) ?? "odd-answer");
  const items = itemsIn([output]) ?? itemsIn(output.items);
  if (items !== undefined) return items;
  return output.kind === "text" ? [messageItem("assistant", output)] : "odd-answer";
};
