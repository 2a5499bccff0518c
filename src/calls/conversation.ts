/** Messages and choices as a conversation: who spoke, what was said, which tools were called and what they answered. */
import {
  findValue,
  itemsOf,
  membersOf,
  parseRawJson,
  type RawJson,
  type RawMember,
  textAt,
  withoutAbsent,
} from "../json/raw-json.ts";

export interface Turn {
  /** Its position among the messages. */
  readonly at: number;
  /** Undefined if it is not a message. */
  readonly role: string | undefined;
  /** True for a choice: what the model sampled. */
  readonly isSampled: boolean;
  readonly name: string | undefined;
  /** The id of the call of a tool that it answers. */
  readonly toolCallId: string | undefined;
  /** What the choice says next to its message, such as why the model stopped. */
  readonly around: readonly RawMember[];
  readonly parts: readonly Part[];
}

export type Part =
  /** What was said: a text, or the value in the place of one. */
  | { readonly kind: "said"; readonly value: RawJson }
  | { readonly kind: "thought" | "refusal"; readonly text: string }
  | Media
  /** A call of a tool, with the message in which the tool answered. */
  | {
      readonly kind: "call";
      readonly name: string | undefined;
      readonly id: string | undefined;
      readonly callArguments: RawJson | undefined;
      readonly result: Turn | undefined;
    }
  | { readonly kind: "no call"; readonly value: RawJson }
  /** An answer of a tool that is a part of a message. */
  | { readonly kind: "result"; readonly id: string | undefined; readonly parts: readonly Part[] }
  | { readonly kind: "also"; readonly members: readonly RawMember[] };

/** An image, a sound or a file: its address, or its data in base64, or its name. */
export interface Media {
  readonly kind: "media";
  readonly mediaType: string;
  readonly url: string | undefined;
  readonly data: string | undefined;
  readonly format: string | undefined;
  readonly name: string | undefined;
}

/** What went into a call or came out of it. */
interface Conversation {
  /** Its messages and choices; undefined if it is not a conversation. */
  readonly items: readonly RawJson[] | undefined;
  readonly rest: RawJson | undefined;
}

/** Keys of inputs that may have messages. */
export const messageKeys = ["messages", "messages_and_choices"] as const;

/** What went into a call. */
export const readInputs = (call: RawJson): Conversation => {
  const inputs = findValue(call, "inputs");
  const key = messageKeys.find((one) => hasMessages(itemsOf(findValue(inputs, one))));
  if (key === undefined) return { items: undefined, rest: inputs };
  return { items: itemsOf(findValue(inputs, key)), rest: omitMembers(inputs, [key]) };
};

/** What came out of a call: a completion with choices, one message, or several. */
export const readOutput = (call: RawJson): Conversation => {
  const output = findValue(call, "output");
  const choices = findValue(output, "choices");
  const isMessage = choices === undefined && output !== undefined && findMessage(output) !== undefined;
  const items = isMessage ? [output] : itemsOf(choices ?? output);
  if (!hasMessages(items)) return { items: undefined, rest: output };
  return { items, rest: choices === undefined ? undefined : omitMembers(output, ["choices"]) };
};

const hasMessages = (items: readonly RawJson[]): boolean => items.some((item) => findMessage(item) !== undefined);

/** An object without some of its members; undefined if none is left. */
export const omitMembers = (value: RawJson | undefined, keys: readonly string[]): RawJson | undefined => {
  const kept = membersOf(value).filter(({ key }) => !keys.includes(key));
  return kept.length === 0 ? undefined : composeObject(kept);
};

export const composeObject = (members: readonly RawMember[]): RawJson =>
  parseRawJson(`{${members.map(({ key, value }) => `${JSON.stringify(key)}:${value.json}`).join(",")}}`);

/** The conversation of messages and choices from one on. A result is a part of the call that it answers. */
export const toTurns = (items: readonly RawJson[], from = 0): readonly Turn[] => {
  const results = openToolResults(items, from);
  const turns: Turn[] = [];
  for (let at = from; at < items.length; at++) {
    const turn = results.isTaken(at) ? undefined : toTurn(items, at, results);
    if (turn !== undefined) turns.push(turn);
  }
  return turns;
};

/** The message of an item, or in a choice; undefined if it is neither. Assumed: a choice has no role of its own. */
export const findMessage = (item: RawJson): RawJson | undefined =>
  [item, findValue(item, "message")].find((one) => textAt(one, "role") !== undefined);

const toTurn = (items: readonly RawJson[], at: number | undefined, results: ToolResults): Turn | undefined => {
  const item = at === undefined ? undefined : items[at];
  if (at === undefined || item === undefined) return undefined;
  const message = findMessage(item);
  const sampled = message !== undefined && message !== item;
  return {
    at,
    role: textAt(message, "role"),
    isSampled: sampled,
    name: textAt(message, "name"),
    toolCallId: textAt(message, "tool_call_id"),
    around: sampled ? withoutAbsent(item.members).filter(({ key }) => key !== "message") : [],
    parts:
      message === undefined
        ? [{ kind: "said", value: item }]
        : [
            ...readSaid(message),
            ...readCalls(message, (id) => toTurn(items, results.take(id, at), results)),
            ...readOtherMembers(message),
          ],
  };
};

const thoughtKeys = ["reasoning_content", "reasoning", "thinking"];

/** Keys of a message that have their own place in a turn, and the kinds of values that are shown there. */
const placedKeys: Readonly<Record<string, RawJson["kind"]>> = {
  role: "text",
  tool_calls: "list",
  function_call: "object",
  refusal: "text",
  ...Object.fromEntries(thoughtKeys.map((key) => [key, "text" as const])),
  name: "text",
  tool_call_id: "text",
};

const readSaid = (message: RawJson): readonly Part[] => [
  ...thoughtKeys.flatMap((key) => toTextPart("thought", textAt(message, key))),
  ...toContentParts(findValue(message, "content")),
  ...toTextPart("refusal", textAt(message, "refusal")),
];

const toTextPart = (kind: "thought" | "refusal", text = ""): readonly Part[] => (text === "" ? [] : [{ kind, text }]);

const toContentParts = (content: RawJson | undefined): readonly Part[] => {
  if (content?.kind === "list") return content.items.flatMap(toParts);
  return content === undefined || (content.kind === "text" && content.text === "")
    ? []
    : [{ kind: "said", value: content }];
};

/** One part of a content that has several, in the spellings that clients use. */
const toParts = (part: RawJson): readonly Part[] => {
  const type = textAt(part, "type") ?? "";
  const text = findValue(part, "text");
  if (text?.kind === "text" && /^((input|output)_)?text$/.test(type)) return [{ kind: "said", value: text }];
  if (type === "refusal") return toTextPart("refusal", textAt(part, "refusal"));
  if (type === "thinking") return toTextPart("thought", textAt(part, "thinking"));
  if (type === "tool_use") {
    const [name, id] = [textAt(part, "name"), textAt(part, "id")];
    return [{ kind: "call", name, id, callArguments: findValue(part, "input"), result: undefined }];
  }
  if (type === "tool_result") {
    return [{ kind: "result", id: textAt(part, "tool_use_id"), parts: toContentParts(findValue(part, "content")) }];
  }
  return [toMedia(part, type) ?? { kind: "said", value: part }];
};

const toMedia = (part: RawJson, type: string): Media | undefined => {
  const what = /image|audio|video|file|document/.exec(type)?.[0];
  if (what === undefined) return undefined;
  const body = findValue(part, type) ?? findValue(part, "source") ?? part;
  const address = body.kind === "text" ? body.text : (textAt(body, "url") ?? textAt(body, "file_data"));
  const data = textAt(body, "data");
  const name = textAt(body, "filename") ?? textAt(body, "file_id");
  if (address === undefined && data === undefined && name === undefined) return undefined;
  return {
    kind: "media",
    mediaType: what,
    url: address,
    data,
    name,
    format: textAt(body, "media_type") ?? textAt(body, "format"),
  };
};

const readCalls = (message: RawJson, resultOf: (id: string | undefined) => Turn | undefined): readonly Part[] => {
  const calls = itemsOf(findValue(message, "tool_calls")).map((call): Part => {
    const of = findValue(call, "function") ?? findValue(call, "custom") ?? call;
    const [name, id] = [textAt(of, "name"), textAt(call, "id")];
    if (name === undefined) return { kind: "no call", value: call };
    return {
      kind: "call",
      name,
      id,
      callArguments: findValue(of, "arguments") ?? findValue(of, "input"),
      result: resultOf(id),
    };
  });
  const single = findValue(message, "function_call");
  if (single?.kind !== "object") return calls;
  const [name, given] = [textAt(single, "name"), findValue(single, "arguments")];
  return [...calls, { kind: "call", name, id: undefined, callArguments: given, result: undefined }];
};

const readOtherMembers = (message: RawJson): readonly Part[] => {
  const members = withoutAbsent(message.members).filter(
    ({ key, value }) => key !== "content" && !(Object.hasOwn(placedKeys, key) && placedKeys[key] === value.kind),
  );
  return members.length === 0 ? [] : [{ kind: "also", members }];
};

/** The answers of tools, each of which is shown with the call that it answers. */
interface ToolResults {
  /** The position of the first answer after a call that answers no other one. */
  take(id: string | undefined, call: number): number | undefined;
  isTaken(at: number): boolean;
}

const openToolResults = (items: readonly RawJson[], from: number): ToolResults => {
  /** The positions of the answers to an id, the first one last. */
  const waiting = new Map<string | undefined, number[]>();
  for (let at = items.length - 1; at >= from; at--) {
    const id = textAt(items[at], "role") === "tool" ? textAt(items[at], "tool_call_id") : undefined;
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
