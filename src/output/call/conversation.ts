/** Messages and choices as a conversation: who spoke, what was said, which tools were called and what they answered. */

import {
  inline,
  isNothing,
  itemsOf,
  membersOf,
  readSpelledText,
  type Spelled,
  type SpelledMember,
  textFrom,
  valueAt,
} from "../../json/spelled.ts";
import { base64Bytes, binaryText, filled, membersText, sizeText, treeText } from "./tree.ts";

/** One message of a conversation. */
export interface Turn {
  /** Its role; one that nobody knows in quotes. */
  readonly role: string;
  /** What else is known of it, such as the tool's name or why the model stopped; empty where nothing is. */
  readonly about: string;
  /** What was said and called, in its order; empty where nothing was. */
  readonly parts: readonly Part[];
}

/** A part of a message. */
export interface Part {
  /** What it is, where it is not what was said: a thought, an image, a call of a tool. */
  readonly title?: string;
  /** As it was, line by line; empty where the title says all. */
  readonly text: string;
  /** What the tool that it calls answered. */
  readonly result?: { readonly title: string; readonly text: string };
}

/** The conversation that a list of messages and choices is; undefined where it is none. */
export const conversationOf = (value: Spelled | undefined): readonly Turn[] | undefined => {
  const items = itemsOf(value);
  if (!items.some((item) => messageOf(item) !== undefined)) return undefined;
  const results = openResults(items);
  const turns = items.map(
    (item, at) => (): Turn | undefined =>
      results.isTaken(at) ? undefined : turnOf(item, { alone: items.length === 1, at, results }),
  );
  return turns.flatMap((turn) => turn() ?? []);
};

/** The conversation that a model's reply is: a completion with choices, one message, or several. */
export const replyOf = (value: Spelled | undefined): readonly Turn[] | undefined => {
  const choices = valueAt(value, "choices");
  if (choices !== undefined) return conversationOf(choices);
  if (value !== undefined && messageOf(value) !== undefined) {
    return [turnOf(value, { alone: true, at: 0, results: openResults([]) })];
  }
  return conversationOf(value);
};

/** The message that an item is or, for a choice, holds. */
const messageOf = (item: Spelled): Spelled | undefined => {
  const message = valueAt(item, "message") ?? item;
  return textFrom(message, "role") === undefined ? undefined : message;
};

/** Where in its conversation a message stands. */
interface Place {
  readonly alone: boolean;
  readonly at: number;
  readonly results: Results;
}

const turnOf = (item: Spelled, place: Place): Turn => {
  const message = messageOf(item);
  if (message === undefined) return { role: "not a message", about: "", parts: [{ text: treeText(item) }] };
  const around = message === item ? [] : membersOf(item);
  const choice = filled(around.filter(({ key }) => key !== "message" && !(place.alone && key === "index")));
  const about = [...aboutMessage(message), ...choice.filter(isShort).map(aboutMember)];
  return {
    role: roleText(textFrom(message, "role") ?? ""),
    about: about.join(", "),
    parts: merged([...said(message), ...called(message, place), ...others(message), ...unsaid(choice)]),
  };
};

const roleText = (role: string): string => (/^[a-z][\w-]{0,30}$/i.test(role) ? role : JSON.stringify(role));

/** A name, or an id, in the middle of rollcall's own words: what could be taken for more than one stands in quotes. */
const nameText = (name: string): string => (/^[\p{L}\p{N}_.:/@+-]{1,120}$/u.test(name) ? name : JSON.stringify(name));

/** Texts that follow each other are one. */
const merged = (parts: readonly Part[]): readonly Part[] => {
  const all: Part[] = [];
  for (const part of parts) {
    const last = all.at(-1);
    if (last === undefined || last.title !== undefined || part.title !== undefined) all.push(part);
    else all.splice(-1, 1, { text: `${last.text}\n${part.text}` });
  }
  return all;
};

/** What of a choice stands in its title; the rest, such as token probabilities, is shown under its message. */
const isShort = ({ key, value }: SpelledMember): boolean =>
  (key === "finish_reason" || key === "index" || key === "stop_reason") &&
  value.kind !== "object" &&
  value.kind !== "list";

const aboutMember = ({ key, value }: SpelledMember): string => `${key.replaceAll("_", " ")} ${nameText(inline(value))}`;

const aboutMessage = (message: Spelled): readonly string[] =>
  [textFrom(message, "name"), textFrom(message, "tool_call_id")].flatMap((text) =>
    text === undefined ? [] : [nameText(text)],
  );

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

const marked = (title: string, text: string | undefined): readonly Part[] =>
  text === undefined || text === "" ? [] : [{ title, text }];

const contentParts = (content: Spelled | undefined): readonly Part[] => {
  if (content === undefined) return [];
  if (content.kind === "list") return content.items.flatMap(partsOf);
  return content.kind === "text" && content.text === "" ? [] : [{ text: treeText(content) }];
};

/** One part of a content that has several, in the spellings that clients use. */
const partsOf = (part: Spelled): readonly Part[] => {
  if (part.kind !== "object") return [{ text: treeText(part) }];
  const type = textFrom(part, "type") ?? "";
  const text = textFrom(part, "text");
  if (text !== undefined && /^((input|output)_)?text$/.test(type)) return [{ text }];
  if (type === "refusal") return marked("refusal", textFrom(part, "refusal"));
  if (type === "thinking") return marked("thought", textFrom(part, "thinking"));
  if (type === "tool_use") return [callPart(textFrom(part, "name"), textFrom(part, "id"), valueAt(part, "input"))];
  if (type === "tool_result") {
    const id = textFrom(part, "tool_use_id");
    const content = contentParts(valueAt(part, "content"));
    return [{ title: `← result${id === undefined ? "" : ` (${nameText(id)})`}`, text: flatText(content) }];
  }
  const media = mediaText(part, type);
  return [media === undefined ? { text: treeText(part) } : { title: media, text: "" }];
};

/** Parts as one text, each that has a title under it. */
const flatText = (parts: readonly Part[]): string =>
  parts
    .map(({ title, text }) =>
      [...(title === undefined ? [] : [`[${title}]`]), ...(text === "" ? [] : [text])].join("\n"),
    )
    .join("\n");

/** An image, a sound or a file: by its type and size, or its address; undefined where nothing of the kind is known. */
const mediaText = (part: Spelled, type: string): string | undefined => {
  const kind = /image|audio|video|file|document/.exec(type)?.[0];
  if (kind === undefined) return undefined;
  const body = valueAt(part, type) ?? valueAt(part, "source") ?? part;
  const address = body.kind === "text" ? body.text : (textFrom(body, "url") ?? textFrom(body, "file_data"));
  if (address !== undefined) return `${kind}: ${inside(binaryText(address)) ?? nameText(address)}`;
  const data = textFrom(body, "data");
  const name = textFrom(body, "filename") ?? textFrom(body, "file_id");
  if (data === undefined) return name === undefined ? undefined : `${kind}: ${nameText(name)}`;
  const format = textFrom(body, "media_type") ?? textFrom(body, "format");
  return `${kind}: ${format === undefined ? "" : `${nameText(format)}, `}${sizeText(base64Bytes(data))}`;
};

const inside = (bracketed: string | undefined): string | undefined => bracketed?.slice(1, -1);

const called = (message: Spelled, place: Place): readonly Part[] => {
  const single = valueAt(message, "function_call");
  const calls = itemsOf(valueAt(message, "tool_calls")).map((call): Part => {
    const of = valueAt(call, "function") ?? valueAt(call, "custom") ?? call;
    const [name, id] = [textFrom(of, "name"), textFrom(call, "id")];
    if (name === undefined) return { title: "→ not a call", text: treeText(call) };
    const part = callPart(name, id, valueAt(of, "arguments") ?? valueAt(of, "input"));
    const answer = place.results.take(id, place.at);
    return answer === undefined ? part : { ...part, result: resultOf(answer, name) };
  });
  return single?.kind !== "object"
    ? calls
    : [...calls, callPart(textFrom(single, "name"), undefined, valueAt(single, "arguments"))];
};

/** A call of a tool: its name and id, and its arguments. */
const callPart = (name: string | undefined, id: string | undefined, given: Spelled | undefined): Part => {
  const parsed = given?.kind === "text" ? (readSpelledText(given.text) ?? given) : given;
  const text = isNothing(parsed) ? "" : treeText(parsed);
  const called = name === undefined ? "a tool without a name" : nameText(name);
  return { title: `→ ${called}${id === undefined ? "" : ` (${nameText(id)})`}`, text: text === "{}" ? "" : text };
};

/** What a tool answered; its own name only where it is another than the one that was called. */
const resultOf = (message: Spelled, called: string): NonNullable<Part["result"]> => {
  const name = textFrom(message, "name");
  const title = `← result${name === undefined || name === called ? "" : ` of ${nameText(name)}`}`;
  return { title, text: flatText([...contentParts(valueAt(message, "content")), ...others(message)]) };
};

/** Whatever else a message holds. */
const others = (message: Spelled): readonly Part[] =>
  treeOf(filled(membersOf(message)).filter(({ key, value }) => placed[key] !== "any" && placed[key] !== value.kind));

const unsaid = (choice: readonly SpelledMember[]): readonly Part[] => treeOf(choice.filter((one) => !isShort(one)));

const treeOf = (members: readonly SpelledMember[]): readonly Part[] =>
  members.length === 0 ? [] : [{ title: "also", text: membersText(members) }];

/** What tools answered, to be shown where they were called. */
interface Results {
  /** The first answer to a call that comes behind it and stands nowhere else yet. */
  take(id: string | undefined, behind: number): Spelled | undefined;
  isTaken(at: number): boolean;
}

/** Looks through the messages of a conversation once. */
const openResults = (items: readonly Spelled[]): Results => {
  const waiting = new Map<
    string,
    { readonly answers: { readonly at: number; readonly message: Spelled }[]; next: number }
  >();
  for (const [at, message] of items.entries()) {
    const id = textFrom(message, "role") === "tool" ? textFrom(message, "tool_call_id") : undefined;
    if (id === undefined) continue;
    const known = waiting.get(id);
    if (known === undefined) waiting.set(id, { answers: [{ at, message }], next: 0 });
    else known.answers.push({ at, message });
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
      return answer?.message;
    },
    isTaken: (at) => taken.has(at),
  };
};
