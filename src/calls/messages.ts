/** The messages that went into a call, and what the model answered, as they were written. */
import type { CallUnfit } from "../failure.ts";
import { fieldsOf, isNone, itemsOfRaw, objectOf, type Raw, rawText, textIn } from "./fields.ts";

/** A call as a conversation: messages, and choices in the places of the model's own. */
export interface Conversation {
  readonly items: readonly Raw[];
}

/** The messages of a call's inputs; undefined where it has none. */
const inputsOf = (inputs: ReadonlyMap<string, Raw>): readonly Raw[] | undefined => {
  const list = ["messages", "messages_and_choices"]
    .map((key) => itemsOfRaw(inputs.get(key)))
    .find((items) => items !== undefined && items.length > 0 && items.every(isTurn));
  if (list === undefined) return undefined;
  // Some clients give what the system says beside the messages.
  const system = inputs.get("system");
  const has = list.some((item) => ["system", "developer"].includes(roleOf(item) ?? ""));
  if (system === undefined || has || !["text", "list"].includes(kindName(system))) return list;
  return [
    objectOf([
      ["role", rawText("system")],
      ["content", system],
    ]),
    ...list,
  ];
};

const kindName = (raw: Raw): string =>
  textIn(raw) !== undefined ? "text" : itemsOfRaw(raw) !== undefined ? "list" : "";

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

/** Whether it is the model's own turn. */
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

/** The conversation of a call, with what it says of itself: nothing is left out, and nothing made up. */
export const conversationOf = (call: ReadonlyMap<string, Raw>): Conversation | CallUnfit => {
  if (!isNone(call.get("deleted_at"))) return "deleted";
  const messages = inputsOf(fieldsOf(call.get("inputs")));
  const answer = answerOf(call.get("output"));
  if (answer === "none") {
    if (!isNone(call.get("exception")) && textIn(call.get("exception")) !== "") return "failed";
    if (isNone(call.get("ended_at"))) return "running";
    if (messages === undefined) return "no-messages";
    // A whole rollout may end with somebody else's word.
    return messages.some(isModels) ? { items: messages } : "no-answer";
  }
  if (messages === undefined) return "no-messages";
  return typeof answer === "string" ? answer : { items: [...messages, ...answer] };
};

/** The message that an item is or, for a choice, holds. */
export const messageIn = (raw: Raw): Raw => (isChoice(raw) ? (fieldsOf(raw).get("message") ?? raw) : raw);
