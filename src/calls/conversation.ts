/** Messages and choices as a conversation: who spoke, what was said, which tools were called and what they answered. */
import { filled, itemsOf, membersOf, type Spelled, type SpelledMember, textFrom, valueAt } from "../json/spelled.ts";

/** One message of a conversation. */
export interface Turn {
  /** Its position among the messages. */
  readonly at: number;
  /** Undefined where it is no message. */
  readonly role: string | undefined;
  /** Whether it is a choice: what the model sampled. */
  readonly sampled: boolean;
  readonly name: string | undefined;
  /** The id of the call of a tool that it answers. */
  readonly answers: string | undefined;
  /** What the choice says beside its message, such as why the model stopped. */
  readonly around: readonly SpelledMember[];
  /** What was said and called, in its order; empty where nothing was. */
  readonly parts: readonly Part[];
}

/** A part of a message. */
export type Part =
  /** What was said: a text, or what stands in the place of one. */
  | { readonly kind: "said"; readonly value: Spelled }
  | { readonly kind: "thought" | "refusal"; readonly text: string }
  | Media
  /** A call of a tool, with what the tool answered. */
  | {
      readonly kind: "call";
      readonly name: string | undefined;
      readonly id: string | undefined;
      readonly given: Spelled | undefined;
      readonly result: Turn | undefined;
    }
  | { readonly kind: "no call"; readonly value: Spelled }
  /** What a tool answered, where that is a part of a message. */
  | { readonly kind: "result"; readonly id: string | undefined; readonly parts: readonly Part[] }
  /** Whatever else the message holds. */
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

/** What went in or came out of a call: the messages and choices that it is, and what else there is. */
export interface Told {
  /** Undefined where it is no conversation. */
  readonly items: readonly Spelled[] | undefined;
  readonly rest: Spelled | undefined;
}

/** What went into a call. */
export const inputsOf = (call: Spelled): Told => {
  const inputs = valueAt(call, "inputs");
  const key = ["messages", "messages_and_choices"].find((one) => areMessages(itemsOf(valueAt(inputs, one))));
  if (key === undefined) return { items: undefined, rest: inputs };
  return { items: itemsOf(valueAt(inputs, key)), rest: without(inputs, [key]) };
};

/** What came out of it: a completion with choices, one message, or several. */
export const outputOf = (call: Spelled): Told => {
  const output = valueAt(call, "output");
  const choices = valueAt(output, "choices");
  const isMessage = choices === undefined && output !== undefined && messageOf(output) !== undefined;
  const items = isMessage ? [output] : itemsOf(choices ?? output);
  if (!areMessages(items)) return { items: undefined, rest: output };
  return { items, rest: choices === undefined ? undefined : without(output, ["choices"]) };
};

const areMessages = (items: readonly Spelled[]): boolean => items.some((item) => messageOf(item) !== undefined);

/** An object without some of its members; undefined where nothing is left. */
export const without = (value: Spelled | undefined, keys: readonly string[]): Spelled | undefined => {
  const members = membersOf(value).filter(({ key }) => !keys.includes(key));
  return members.length === 0 ? undefined : { kind: "object", members };
};

/** The conversation that messages and choices are; results stand beside the calls that they answer. `from`: those before are left out. */
export const conversationOf = (items: readonly Spelled[], from = 0): readonly Turn[] => {
  const results = openResults(items, from);
  const turns: Turn[] = [];
  for (const [at, item] of items.entries()) {
    if (at >= from && !results.isTaken(at)) turns.push(turnOf(item, at, results));
  }
  return turns;
};

/** The message that an item is or, for a choice, holds. */
const messageOf = (item: Spelled): Spelled | undefined => {
  const message = valueAt(item, "message") ?? item;
  return textFrom(message, "role") === undefined ? undefined : message;
};

const turnOf = (item: Spelled, at: number, results: Results): Turn => {
  const message = messageOf(item);
  const sampled = message !== undefined && message !== item;
  return {
    at,
    role: textFrom(message, "role"),
    sampled,
    name: textFrom(message, "name"),
    answers: textFrom(message, "tool_call_id"),
    around: sampled ? filled(membersOf(item)).filter(({ key }) => key !== "message") : [],
    parts:
      message === undefined
        ? [{ kind: "said", value: item }]
        : [...said(message), ...called(message, at, results), ...others(message)],
  };
};

/** Keys of a message that have their own place in a turn, and what must stand there to be shown in it. */
const placed: Readonly<Record<string, Spelled["kind"] | "any">> = {
  role: "text",
  content: "any",
  tool_calls: "list",
  function_call: "object",
  refusal: "text",
  reasoning_content: "text",
  reasoning: "text",
  thinking: "text",
  name: "text",
  tool_call_id: "text",
};
const thoughts = ["reasoning_content", "reasoning", "thinking"];

const said = (message: Spelled): readonly Part[] => [
  ...thoughts.flatMap((key) => marked("thought", textFrom(message, key))),
  ...contentParts(valueAt(message, "content")),
  ...marked("refusal", textFrom(message, "refusal")),
];

const marked = (kind: "thought" | "refusal", text: string | undefined): readonly Part[] =>
  text === undefined || text === "" ? [] : [{ kind, text }];

const contentParts = (content: Spelled | undefined): readonly Part[] => {
  if (content === undefined) return [];
  if (content.kind === "list") return content.items.flatMap(partsOf);
  return content.kind === "text" && content.text === "" ? [] : [{ kind: "said", value: content }];
};

/** One part of a content that has several, in the spellings that clients use. */
const partsOf = (part: Spelled): readonly Part[] => {
  const type = textFrom(part, "type") ?? "";
  const text = valueAt(part, "text");
  if (text?.kind === "text" && /^((input|output)_)?text$/.test(type)) return [{ kind: "said", value: text }];
  if (type === "refusal") return marked("refusal", textFrom(part, "refusal"));
  if (type === "thinking") return marked("thought", textFrom(part, "thinking"));
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

const called = (message: Spelled, at: number, results: Results): readonly Part[] => {
  const calls = itemsOf(valueAt(message, "tool_calls")).map((call): Part => {
    const of = valueAt(call, "function") ?? valueAt(call, "custom") ?? call;
    const [name, id] = [textFrom(of, "name"), textFrom(call, "id")];
    if (name === undefined) return { kind: "no call", value: call };
    const answer = results.take(id, at);
    const result = answer === undefined ? undefined : turnOf(answer.item, answer.at, results);
    return { kind: "call", name, id, given: valueAt(of, "arguments") ?? valueAt(of, "input"), result };
  });
  const single = valueAt(message, "function_call");
  if (single?.kind !== "object") return calls;
  const [name, given] = [textFrom(single, "name"), valueAt(single, "arguments")];
  return [...calls, { kind: "call", name, id: undefined, given, result: undefined }];
};

const others = (message: Spelled): readonly Part[] => {
  const members = filled(membersOf(message)).filter(({ key, value }) => {
    const place = Object.hasOwn(placed, key) ? placed[key] : undefined;
    return place !== "any" && place !== value.kind;
  });
  return members.length === 0 ? [] : [{ kind: "also", members }];
};

interface Placed {
  readonly at: number;
  readonly item: Spelled;
}

/** What tools answered, to be shown where they were called. */
interface Results {
  /** The first answer to a call that comes behind it and stands nowhere else yet. */
  take(id: string | undefined, behind: number): Placed | undefined;
  isTaken(at: number): boolean;
}

const openResults = (items: readonly Spelled[], from: number): Results => {
  const waiting = new Map<string, { readonly answers: Placed[]; next: number }>();
  for (const [at, item] of items.entries()) {
    const id = at >= from && textFrom(item, "role") === "tool" ? textFrom(item, "tool_call_id") : undefined;
    if (id === undefined) continue;
    const known = waiting.get(id);
    if (known === undefined) waiting.set(id, { answers: [{ at, item }], next: 0 });
    else known.answers.push({ at, item });
  }
  const taken = new Set<number>();
  return {
    take(id, behind) {
      const own = id === undefined ? undefined : waiting.get(id);
      if (own === undefined) return undefined;
      // Calls are looked at in their order: what stands before one of them answers none of the next.
      while ((own.answers[own.next]?.at ?? behind + 1) <= behind) own.next++;
      const answer = own.answers[own.next++];
      if (answer !== undefined) taken.add(answer.at);
      return answer;
    },
    isTaken: (at) => taken.has(at),
  };
};
