/** Turns a traced call into a trajectory that can be logged (interface 2.1), and into messages. */

import { operationOf, readHead } from "./facts.ts";
import type { CallUnfit } from "./failures.ts";
import { type CallPath, findPath } from "./path.ts";
import { fieldsOf, isNone, itemsOfRaw, kindOf, listOf, objectOf, type Raw, rawText, textIn } from "./raw.ts";

/** Where a trajectory's reward comes from: a number as it was typed, a place in the call, or the call's `attributes.reward`. */
export type RewardFrom =
  | { readonly kind: "number"; readonly text: string }
  | { readonly kind: "path"; readonly path: CallPath }
  | { readonly kind: "attributes" };

/** What a call was turned into: one line of JSON without its line end; or why it can't be. */
export type Converted =
  | { readonly kind: "converted"; readonly line: Uint8Array }
  | { readonly kind: "unfit"; readonly why: CallUnfit };

const unfit = (why: CallUnfit): Converted => ({ kind: "unfit", why });

/** The messages of a call as a JSON list; of choices, the messages in them. */
export const messagesOf = (bytes: Uint8Array): Converted => {
  const conversation = conversationOf(fieldsOf(bytes));
  if (typeof conversation === "string") return unfit(conversation);
  return { kind: "converted", line: listOf(conversation.map(messageIn)) };
};

/** A call as a trajectory: messages, choices and tools as they were written. */
export const trajectoryOf = (bytes: Uint8Array, reward: RewardFrom): Converted => {
  const call = fieldsOf(bytes);
  const conversation = conversationOf(call);
  if (typeof conversation === "string") return unfit(conversation);
  const inputs = fieldsOf(call.get("inputs"));
  const tools = inputs.get("tools");
  if (!isNone(tools) && kindOf(tools) !== "list") return unfit("odd-tools");
  const rewarded = rewardOf(bytes, reward);
  if (rewarded === undefined) return unfit("no-reward");
  if (kindOf(rewarded) !== "number") return unfit("odd-reward");
  const attributes = fieldsOf(call.get("attributes"));
  const isLogged = operationOf(readHead(bytes)) === loggedOperation;
  const line = objectOf([
    ["messages_and_choices", listOf(isLogged ? withChoices(conversation, attributes) : conversation)],
    ["tools", isNone(tools) ? undefined : tools],
    ...(isLogged ? loggedFields(inputs, attributes, rewarded) : tracedFields(call, rewarded)),
    ...(isLogged ? otherFields(call, attributes) : []),
  ]);
  return { kind: "converted", line };
};

const rewardOf = (bytes: Uint8Array, from: RewardFrom): Raw | undefined => {
  if (from.kind === "number") return Buffer.from(from.text);
  const found = findPath(bytes, from.kind === "path" ? from.path : ["attributes", "reward"]);
  if (found.kind === "missing") return undefined;
  const value = bytes.subarray(found.span.start, found.span.end);
  return isNone(value) ? undefined : value;
};

/** The operation under which rollcall's own service records what was logged to it. */
const loggedOperation = "rollcall.log";

type Fields = readonly (readonly [key: string, value: Raw | undefined])[];

/** What a call says of where a trajectory came from: texts, so that `log --group-by` can use them. */
const tracedFields = (call: ReadonlyMap<string, Raw>, reward: Raw): Fields => {
  const id = call.get("id");
  const model = fieldsOf(call.get("output")).get("model") ?? fieldsOf(call.get("inputs")).get("model");
  const origins = [
    ["call_id", id],
    ...["trace_id", "parent_id", "thread_id", "turn_id"].map((key) => [key, call.get(key)] as const),
    ["model", model],
  ] as const;
  const metadata = objectOf(origins.map(([key, value]) => [key, isText(value) ? value : undefined] as const));
  const started = call.get("started_at");
  return [
    ["reward", reward],
    ["metadata", metadata],
    ["start_time", isText(started) ? started : undefined],
  ];
};

const isText = (raw: Raw | undefined): boolean => raw !== undefined && kindOf(raw) === "text";

/** Everything but the conversation of a trajectory that was logged to rollcall's own service, as it was. */
const loggedFields = (inputs: ReadonlyMap<string, Raw>, attributes: ReadonlyMap<string, Raw>, reward: Raw): Fields => [
  ["additional_histories", inputs.get("additional_histories")],
  ["reward", reward],
  ...["initial_policy_version", "final_policy_version", "metrics", "metadata", "logs", "start_time"].map(
    (key) => [key, attributes.get(key)] as const,
  ),
];

const otherFields = (call: ReadonlyMap<string, Raw>, attributes: ReadonlyMap<string, Raw>): Fields => [
  ...fieldsOf(attributes.get("other")),
  ["usage", [...fieldsOf(fieldsOf(call.get("summary")).get("usage")).values()][0]],
];

const withChoices = (items: readonly Raw[], attributes: ReadonlyMap<string, Raw>): readonly Raw[] => {
  const choices = [...(itemsOfRaw(attributes.get("choices")) ?? [])];
  return items.map((item) => {
    const [choice] = choices;
    const message = choice === undefined ? undefined : fieldsOf(choice).get("message");
    if (choice === undefined || message === undefined || Buffer.compare(message, item) !== 0) return item;
    choices.shift();
    return choice;
  });
};

/** The conversation of a call, messages, and choices in the places of the model's own: nothing is left out, and nothing made up. */
const conversationOf = (call: ReadonlyMap<string, Raw>): readonly Raw[] | CallUnfit => {
  if (!isNone(call.get("deleted_at"))) return "deleted";
  const messages = inputsOf(fieldsOf(call.get("inputs")));
  const answer = answerOf(call.get("output"));
  if (answer === "none") {
    if (!isNone(call.get("exception")) && textIn(call.get("exception")) !== "") return "failed";
    if (isNone(call.get("ended_at"))) return "running";
    if (messages === undefined) return "no-messages";
    // A whole rollout may end with somebody else's word.
    return messages.some(isModels) ? messages : "no-answer";
  }
  if (messages === undefined) return "no-messages";
  return typeof answer === "string" ? answer : [...messages, ...answer];
};

const inputsOf = (inputs: ReadonlyMap<string, Raw>): readonly Raw[] | undefined => {
  const list = ["messages", "messages_and_choices"]
    .map((key) => itemsOfRaw(inputs.get(key)))
    .find((items) => items !== undefined && items.length > 0 && items.every(isTurn));
  if (list === undefined) return undefined;
  // Some clients give what the system says beside the messages.
  const system = inputs.get("system");
  const has = list.some((item) => ["system", "developer"].includes(roleOf(item) ?? ""));
  if (system === undefined || has || !["text", "list"].includes(kindOf(system))) return list;
  return [
    objectOf([
      ["role", rawText("system")],
      ["content", system],
    ]),
    ...list,
  ];
};

/** Whether something is a message, or a choice that holds one. */
const isTurn = (raw: Raw): boolean => roleOf(raw) !== undefined;

const roleOf = (raw: Raw): string | undefined => {
  const own = fieldsOf(raw);
  return textIn(own.get("role")) ?? textIn(fieldsOf(own.get("message")).get("role"));
};

const isChoice = (raw: Raw): boolean => {
  const own = fieldsOf(raw);
  return !own.has("role") && own.has("message");
};

const isModels = (raw: Raw): boolean => isChoice(raw) || roleOf(raw) === "assistant";

/** What the model answered: choices, a message, several, or a text. */
const answerOf = (output: Raw | undefined): readonly Raw[] | "none" | CallUnfit => {
  if (isNone(output)) return "none";
  const choices = itemsOfRaw(fieldsOf(output).get("choices"));
  if (choices !== undefined) {
    if (choices.length > 1) return "several-choices";
    return choices.length === 1 && choices.every(isTurn) ? choices : "odd-answer";
  }
  if (isTurn(output)) return [output];
  const items = itemsOfRaw(output);
  if (items !== undefined && items.length > 0 && items.every(isTurn)) return items;
  if (textIn(output) === undefined) return "odd-answer";
  return [
    objectOf([
      ["role", rawText("assistant")],
      ["content", output],
    ]),
  ];
};

/** The message that an item is or, for a choice, holds. */
const messageIn = (raw: Raw): Raw => (isChoice(raw) ? (fieldsOf(raw).get("message") ?? raw) : raw);
