/** Messages and choices as a conversation: who spoke, what was said, which tools were called. */
import { base64Bytes, binaryText, sizeText } from "./binary.ts";
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
} from "./spelled.ts";
import { filled, membersText, treeText } from "./tree.ts";

/** One message of a conversation. */
export interface Turn {
  /** Its role, as it was written. */
  readonly role: string;
  /** What else is known of it, such as the tool's name or why the model stopped; empty where nothing is. */
  readonly about: string;
  /** What was said and called, as lines; empty where nothing was. */
  readonly text: string;
}

/** The conversation that a list of messages and choices is; undefined where it is none. */
export const conversationOf = (value: Spelled | undefined): readonly Turn[] | undefined => {
  const items = itemsOf(value);
  const told = items.some((item) => messageOf(item) !== undefined);
  return told ? items.map((item) => turnOf(item, items.length === 1)) : undefined;
};

/** The conversation that a model's reply is: a completion with choices, one message, or several. */
export const replyOf = (value: Spelled | undefined): readonly Turn[] | undefined => {
  const choices = valueAt(value, "choices");
  if (choices !== undefined) return conversationOf(choices);
  if (value !== undefined && messageOf(value) !== undefined) return [turnOf(value, true)];
  return conversationOf(value);
};

/** The message that an item is or, for a choice, holds. */
const messageOf = (item: Spelled): Spelled | undefined => {
  const message = valueAt(item, "message") ?? item;
  return textFrom(message, "role") === undefined ? undefined : message;
};

const turnOf = (item: Spelled, alone: boolean): Turn => {
  const message = messageOf(item);
  if (message === undefined) return { role: "not a message", about: "", text: treeText(item) };
  const around = message === item ? [] : membersOf(item);
  const choice = filled(around.filter(({ key }) => key !== "message" && !(alone && key === "index")));
  return {
    role: textFrom(message, "role") ?? "",
    about: [...aboutMessage(message), ...choice.filter(isShort).map(aboutMember)].join(", "),
    text: [...said(message), ...called(message), ...others(message), ...unsaid(choice)].join("\n").trimEnd(),
  };
};

/** What of a choice stands in its title; the rest, such as token probabilities, is shown under its message. */
const isShort = ({ key, value }: SpelledMember): boolean =>
  (key === "finish_reason" || key === "index" || key === "stop_reason") &&
  value.kind !== "object" &&
  value.kind !== "list";

const aboutMember = ({ key, value }: SpelledMember): string => `${key.replaceAll("_", " ")} ${inline(value)}`;

const aboutMessage = (message: Spelled): readonly string[] => {
  const name = textFrom(message, "name");
  const id = textFrom(message, "tool_call_id");
  return [...(name === undefined ? [] : [name]), ...(id === undefined ? [] : [id])];
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

const said = (message: Spelled): readonly string[] => {
  const thought = thoughts.flatMap((key) => marked("thought", textFrom(message, key)));
  return [...thought, ...contentText(valueAt(message, "content")), ...marked("refusal", textFrom(message, "refusal"))];
};

const marked = (what: string, text: string | undefined): readonly string[] =>
  text === undefined || text === "" ? [] : [`[${what}] ${text}`];

const contentText = (content: Spelled | undefined): readonly string[] => {
  if (content === undefined) return [];
  if (content.kind === "list") return content.items.flatMap(partText);
  return content.kind === "text" && content.text === "" ? [] : [treeText(content)];
};

/** One part of a content that has several, in the spellings that clients use. */
const partText = (part: Spelled): readonly string[] => {
  if (part.kind !== "object") return [treeText(part)];
  const type = textFrom(part, "type") ?? "";
  const text = textFrom(part, "text");
  if (text !== undefined && /^((input|output)_)?text$/.test(type)) return [text];
  if (type === "refusal") return marked("refusal", textFrom(part, "refusal"));
  if (type === "thinking") return marked("thought", textFrom(part, "thinking"));
  if (type === "tool_use") return callText(textFrom(part, "name"), textFrom(part, "id"), valueAt(part, "input"));
  if (type === "tool_result") {
    return [`[result] ${textFrom(part, "tool_use_id") ?? ""}`.trim(), ...contentText(valueAt(part, "content"))];
  }
  return [mediaText(part, type) ?? treeText(part)];
};

/** An image, a sound or a file: by its type and size, or its address; undefined where nothing of the kind is known. */
const mediaText = (part: Spelled, type: string): string | undefined => {
  const kind = /image|audio|video|file|document/.exec(type)?.[0];
  if (kind === undefined) return undefined;
  const body = valueAt(part, type) ?? valueAt(part, "source") ?? part;
  const address = body.kind === "text" ? body.text : (textFrom(body, "url") ?? textFrom(body, "file_data"));
  if (address !== undefined) return `[${kind}: ${inside(binaryText(address)) ?? address}]`;
  const data = textFrom(body, "data");
  const name = textFrom(body, "filename") ?? textFrom(body, "file_id");
  if (data === undefined) return name === undefined ? undefined : `[${kind}: ${name}]`;
  const format = textFrom(body, "media_type") ?? textFrom(body, "format");
  return `[${kind}: ${format === undefined ? "" : `${format}, `}${sizeText(base64Bytes(data))}]`;
};

const inside = (bracketed: string | undefined): string | undefined => bracketed?.slice(1, -1);

const called = (message: Spelled): readonly string[] => {
  const single = valueAt(message, "function_call");
  const calls = itemsOf(valueAt(message, "tool_calls")).flatMap((call) => {
    const of = valueAt(call, "function") ?? valueAt(call, "custom") ?? call;
    if (textFrom(of, "name") === undefined) return [treeText(call)];
    return callText(textFrom(of, "name"), textFrom(call, "id"), valueAt(of, "arguments") ?? valueAt(of, "input"));
  });
  return single?.kind !== "object"
    ? calls
    : [...calls, ...callText(textFrom(single, "name"), undefined, valueAt(single, "arguments"))];
};

/** A call of a tool: its name and id, and its arguments under it. */
const callText = (name: string | undefined, id: string | undefined, given: Spelled | undefined): readonly string[] => {
  const parsed = given?.kind === "text" ? (readSpelledText(given.text) ?? given) : given;
  const text = isNothing(parsed) ? "" : treeText(parsed);
  const lines = text === "" || text === "{}" ? [] : text.split("\n").map((line) => `    ${line}`);
  return [`→ ${name ?? "a tool without a name"}${id === undefined ? "" : ` (${id})`}`, ...lines];
};

/** Whatever else a message holds. */
const others = (message: Spelled): readonly string[] =>
  treeOf(filled(membersOf(message)).filter(({ key, value }) => placed[key] !== "any" && placed[key] !== value.kind));

const unsaid = (choice: readonly SpelledMember[]): readonly string[] => treeOf(choice.filter((one) => !isShort(one)));

const treeOf = (members: readonly SpelledMember[]): readonly string[] =>
  members.length === 0 ? [] : [membersText(members)];
