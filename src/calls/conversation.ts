/** Messages and choices as a conversation: who spoke, what was said, which tools were called and what they answered. */
import {
  filled,
  itemsOf,
  membersOf,
  readSpelled,
  type Spelled,
  type SpelledMember,
  textFrom,
  valueAt,
} from "../json/spelled.ts";

export interface Turn {
  /** Its position among the messages. */
  readonly at: number;
  /** Undefined if it is not a message. */
  readonly role: string | undefined;
  /** True for a choice: what the model sampled. */
  readonly sampled: boolean;
  readonly name: string | undefined;
  /** The id of the call of a tool that it answers. */
  readonly answers: string | undefined;
  /** What the choice says next to its message, such as why the model stopped. */
  readonly around: readonly SpelledMember[];
  readonly parts: readonly Part[];
}

export type Part =
  /** What was said: a text, or the value in the place of one. */
  | { readonly kind: "said"; readonly value: Spelled }
  | { readonly kind: "thought" | "refusal"; readonly text: string }
  | Media
  /** A call of a tool, with the message in which the tool answered. */
  | {
      readonly kind: "call";
      readonly name: string | undefined;
      readonly id: string | undefined;
      readonly given: Spelled | undefined;
      readonly result: Turn | undefined;
    }
  | { readonly kind: "no call"; readonly value: Spelled }
  /** An answer of a tool that is a part of a message. */
  | { readonly kind: "result"; readonly id: string | undefined; readonly parts: readonly Part[] }
  | { readonly kind: "also"; readonly members: readonly SpelledMember[] };

/** An image, a sound or a file: its address, or its data in base64, or its name. */
export interface Media {
  readonly kind: "media";
  readonly what: string;
  readonly address: string | undefined;
  readonly data: string | undefined;
  readonly format: string | undefined;
  readonly name: string | undefined;
}

/** What went into a call or came out of it. */
interface Told {
  /** Its messages and choices; undefined if it is not a conversation. */
  readonly items: readonly Spelled[] | undefined;
  readonly rest: Spelled | undefined;
}

/** Keys of inputs that may have messages. */
export const messageKeys = ["messages", "messages_and_choices"] as const;

/** What went into a call. */
export const inputsOf = (call: Spelled): Told => {
  const inputs = valueAt(call, "inputs");
  const key = messageKeys.find((one) => areMessages(itemsOf(valueAt(inputs, one))));
  if (key === undefined) return { items: undefined, rest: inputs };
  return { items: itemsOf(valueAt(inputs, key)), rest: without(inputs, [key]) };
};

/** What came out of a call: a completion with choices, one message, or several. */
export const outputOf = (call: Spelled): Told => {
  const output = valueAt(call, "output");
  const choices = valueAt(output, "choices");
  const isMessage = choices === undefined && output !== undefined && messageOf(output) !== undefined;
  const items = isMessage ? [output] : itemsOf(choices ?? output);
  if (!areMessages(items)) return { items: undefined, rest: output };
  return { items, rest: choices === undefined ? undefined : without(output, ["choices"]) };
};

const areMessages = (items: readonly Spelled[]): boolean => items.some((item) => messageOf(item) !== undefined);

/** An object without some of its members; undefined if none is left. */
export const without = (value: Spelled | undefined, keys: readonly string[]): Spelled | undefined => {
  const kept = membersOf(value).filter(({ key }) => !keys.includes(key));
  return kept.length === 0 ? undefined : objectOf(kept);
};

export const objectOf = (members: readonly SpelledMember[]): Spelled =>
  readSpelled(`{${members.map(({ key, value }) => `${JSON.stringify(key)}:${value.json}`).join(",")}}`);

/** The conversation of messages and choices from one on. A result is a part of the call that it answers. */
export const conversationOf = (items: readonly Spelled[], from = 0): readonly Turn[] => {
  const results = openResults(items, from);
  const turns: Turn[] = [];
  for (let at = from; at < items.length; at++) {
    const turn = results.isTaken(at) ? undefined : turnAt(items, at, results);
    if (turn !== undefined) turns.push(turn);
  }
  return turns;
};

/** The message of an item, or in a choice; undefined if it is neither. Assumed: a choice has no role of its own. */
export const messageOf = (item: Spelled): Spelled | undefined =>
  [item, valueAt(item, "message")].find((one) => textFrom(one, "role") !== undefined);

const turnAt = (items: readonly Spelled[], at: number | undefined, results: Results): Turn | undefined => {
  const item = at === undefined ? undefined : items[at];
  if (at === undefined || item === undefined) return undefined;
  const message = messageOf(item);
  const sampled = message !== undefined && message !== item;
  return {
    at,
    role: textFrom(message, "role"),
    sampled,
    name: textFrom(message, "name"),
    answers: textFrom(message, "tool_call_id"),
    around: sampled ? filled(item.members).filter(({ key }) => key !== "message") : [],
    parts:
      message === undefined
        ? [{ kind: "said", value: item }]
        : [
            ...saidIn(message),
            ...callsIn(message, (id) => turnAt(items, results.take(id, at), results)),
            ...alsoIn(message),
          ],
  };
};

const thoughtKeys = ["reasoning_content", "reasoning", "thinking"];

/** Keys of a message that have their own place in a turn, and the kinds of values that are shown there. */
const ownKeys: Readonly<Record<string, Spelled["kind"]>> = {
  role: "text",
  tool_calls: "list",
  function_call: "object",
  refusal: "text",
  ...Object.fromEntries(thoughtKeys.map((key) => [key, "text" as const])),
  name: "text",
  tool_call_id: "text",
};

const saidIn = (message: Spelled): readonly Part[] => [
  ...thoughtKeys.flatMap((key) => textPart("thought", textFrom(message, key))),
  ...contentParts(valueAt(message, "content")),
  ...textPart("refusal", textFrom(message, "refusal")),
];

const textPart = (kind: "thought" | "refusal", text = ""): readonly Part[] => (text === "" ? [] : [{ kind, text }]);

const contentParts = (content: Spelled | undefined): readonly Part[] => {
  if (content?.kind === "list") return content.items.flatMap(partsOf);
  return content === undefined || (content.kind === "text" && content.text === "")
    ? []
    : [{ kind: "said", value: content }];
};

/** One part of a content that has several, in the spellings that clients use. */
const partsOf = (part: Spelled): readonly Part[] => {
  const type = textFrom(part, "type") ?? "";
  const text = valueAt(part, "text");
  if (text?.kind === "text" && /^((input|output)_)?text$/.test(type)) return [{ kind: "said", value: text }];
  if (type === "refusal") return textPart("refusal", textFrom(part, "refusal"));
  if (type === "thinking") return textPart("thought", textFrom(part, "thinking"));
  if (type === "tool_use") {
    const [name, id] = [textFrom(part, "name"), textFrom(part, "id")];
    return [{ kind: "call", name, id, given: valueAt(part, "input"), result: undefined }];
  }
  if (type === "tool_result") {
    return [{ kind: "result", id: textFrom(part, "tool_use_id"), parts: contentParts(valueAt(part, "content")) }];
  }
  return [mediaOf(part, type) ?? { kind: "said", value: part }];
};

const mediaOf = (part: Spelled, type: string): Media | undefined => {
  const what = /image|audio|video|file|document/.exec(type)?.[0];
  if (what === undefined) return undefined;
  const body = valueAt(part, type) ?? valueAt(part, "source") ?? part;
  const address = body.kind === "text" ? body.text : (textFrom(body, "url") ?? textFrom(body, "file_data"));
  const data = textFrom(body, "data");
  const name = textFrom(body, "filename") ?? textFrom(body, "file_id");
  if (address === undefined && data === undefined && name === undefined) return undefined;
  return { kind: "media", what, address, data, name, format: textFrom(body, "media_type") ?? textFrom(body, "format") };
};

const callsIn = (message: Spelled, resultOf: (id: string | undefined) => Turn | undefined): readonly Part[] => {
  const calls = itemsOf(valueAt(message, "tool_calls")).map((call): Part => {
    const of = valueAt(call, "function") ?? valueAt(call, "custom") ?? call;
    const [name, id] = [textFrom(of, "name"), textFrom(call, "id")];
    if (name === undefined) return { kind: "no call", value: call };
    return { kind: "call", name, id, given: valueAt(of, "arguments") ?? valueAt(of, "input"), result: resultOf(id) };
  });
  const single = valueAt(message, "function_call");
  if (single?.kind !== "object") return calls;
  const [name, given] = [textFrom(single, "name"), valueAt(single, "arguments")];
  return [...calls, { kind: "call", name, id: undefined, given, result: undefined }];
};

const alsoIn = (message: Spelled): readonly Part[] => {
  const members = filled(message.members).filter(
    ({ key, value }) => key !== "content" && !(Object.hasOwn(ownKeys, key) && ownKeys[key] === value.kind),
  );
  return members.length === 0 ? [] : [{ kind: "also", members }];
};

/** The answers of tools, each of which is shown with the call that it answers. */
interface Results {
  /** The position of the first answer after a call that answers no other one. */
  take(id: string | undefined, call: number): number | undefined;
  isTaken(at: number): boolean;
}

const openResults = (items: readonly Spelled[], from: number): Results => {
  /** The positions of the answers to an id, the first one last. */
  const waiting = new Map<string | undefined, number[]>();
  for (let at = items.length - 1; at >= from; at--) {
    const id = textFrom(items[at], "role") === "tool" ? textFrom(items[at], "tool_call_id") : undefined;
    if (id === undefined) continue;
    const answers = waiting.get(id);
    if (answers === undefined) waiting.set(id, [at]);
    else answers.push(at);
  }
  const taken = new Set<number>();
  return {
    take(id, call) {
      const answers = waiting.get(id) ?? [];
      let at = answers.pop();
      while (at !== undefined && at <= call) at = answers.pop();
      if (at !== undefined) taken.add(at);
      return at;
    },
    isTaken: (at) => taken.has(at),
  };
};
