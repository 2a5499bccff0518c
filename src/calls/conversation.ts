/** Converts messages and choices to turns. */
import {
  findValue,
  itemsOf,
  parseRawJson,
  type RawJson,
  type RawMember,
  textAt,
  withoutAbsent,
} from "../json/raw-json.ts";
import { OpenCalls } from "../rollouts/messages/open-calls.ts";

export type Turn = Readonly<{
  /** The index in the list of messages and choices. */
  at: number;
  role: string | undefined;
  isSampled: boolean;
  name: string | undefined;
  toolCallId: string | undefined;
  /** The members of a choice, except `message`. */
  choiceMembers: readonly RawMember[];
  parts: readonly ContentPart[];
}>;

export type ContentPart = Readonly<
  | { kind: "said"; value: RawJson }
  | { kind: "thought" | "refusal"; text: string }
  | Media
  | ReturnType<typeof toToolCall>
  | { kind: "result"; id: string | undefined; isError: boolean; parts: readonly ContentPart[] }
  | { kind: "other"; members: readonly RawMember[] }
>;

/** `format` is text such as `image/png` or `wav`. */
export type Media = NonNullable<ReturnType<typeof toMedia>>;

export const hasMessages = (items: readonly RawJson[]) => items.some((item) => findMessage(item) !== undefined);

export const composeMessage = (role: string, content: RawJson) =>
  parseRawJson(`{"role":"${role}","content":${content.json}}`);

/** Assumed: a choice has a `message` and no `role`. */
export const findMessage = (item: RawJson | undefined) =>
  [item, findValue(item, "message")].find((value) => textAt(value, "role") !== undefined);

/** Returns the tool message that answers a call, as a turn. */
type ToolResultFinder = (call: RawJson) => Turn | undefined;

/** A tool message becomes the result of the call that it answers. */
export const toTurns = (items: readonly RawJson[], from = 0): readonly Turn[] => {
  const answers = findAnswers(items, from);
  const answerIndexes = new Set(answers.values());
  const toTurn = (item: RawJson, at: number): Turn => {
    const message = findMessage(item);
    const isSampled = message !== undefined && message !== item;
    const takeAnswer: ToolResultFinder = (call) => {
      const next = answers.get(call);
      const answer = items[next ?? -1];
      return next === undefined || !answer ? undefined : toTurn(answer, next);
    };
    return {
      at,
      role: textAt(message, "role"),
      isSampled,
      name: textAt(message, "name"),
      toolCallId: textAt(message, "tool_call_id"),
      choiceMembers: isSampled ? withoutAbsent(item.members).filter(({ key }) => key !== "message") : [],
      parts: message ? readParts(message, takeAnswer) : [{ kind: "said", value: item }],
    };
  };
  return items.flatMap((item, at) => (at < from || answerIndexes.has(at) ? [] : [toTurn(item, at)]));
};

/** For each call that is answered, the index of the tool message. */
const findAnswers = (items: readonly RawJson[], from: number): ReadonlyMap<RawJson, number> => {
  const answers = new Map<RawJson, number>();
  const calls = new OpenCalls<RawJson>((call) => textAt(call, "id") || undefined);
  for (const [at, item] of items.entries()) {
    if (at < from) continue;
    const message = findMessage(item);
    const isResult = message === item && textAt(item, "role") === "tool";
    const call = isResult ? calls.take(textAt(item, "tool_call_id") || undefined) : undefined;
    if (call && findName(call) !== undefined) answers.set(call, at);
    if (!isResult) for (const made of itemsOf(findValue(message, "tool_calls"))) calls.add(made);
  }
  return answers;
};

const thoughtKeys = ["reasoning_content", "reasoning", "thinking"];

const shownTexts = ["role", "refusal", "name", "tool_call_id", ...thoughtKeys];

const readParts = (message: RawJson, takeAnswer: ToolResultFinder): readonly ContentPart[] => {
  const isShown = ({ key, value: { kind } }: RawMember) =>
    key === "content" || (key === "tool_calls" ? kind === "list" : kind === "text" && shownTexts.includes(key));
  const members = withoutAbsent(message.members).filter((member) => !isShown(member));
  return [
    ...thoughtKeys.flatMap((key) => toTextPart("thought", textAt(message, key))),
    ...toContentParts(findValue(message, "content")),
    ...toTextPart("refusal", textAt(message, "refusal")),
    ...itemsOf(findValue(message, "tool_calls")).map((call) => toToolCall(call, takeAnswer)),
    ...(members.length === 0 ? [] : [{ kind: "other", members } as const]),
  ];
};

const findCallee = (call: RawJson) => findValue(call, "function") ?? findValue(call, "custom") ?? call;

const findName = (call: RawJson) => textAt(findCallee(call), "name");

const toToolCall = (call: RawJson, takeAnswer: ToolResultFinder) => {
  const kind = "call" as const;
  const [callee, name, id] = [findCallee(call), findName(call), textAt(call, "id")];
  // Without a name, the whole call is shown as arguments.
  if (name === undefined) return { kind, name, id: undefined, callArguments: call, result: undefined };
  const callArguments = findValue(callee, "arguments") ?? findValue(callee, "input");
  return { kind, name, id, callArguments, result: takeAnswer(call) };
};

const toTextPart = (kind: "thought" | "refusal", text = ""): readonly ContentPart[] =>
  text === "" ? [] : [{ kind, text }];

const toContentParts = (content: RawJson | undefined): readonly ContentPart[] => {
  if (content?.kind === "list") return content.items.flatMap(toParts);
  return !content || content.json === '""' ? [] : [{ kind: "said", value: content }];
};

const toParts = (part: RawJson): readonly ContentPart[] => {
  const type = textAt(part, "type") ?? "";
  const text = findValue(part, "text");
  if (text?.kind === "text" && /^((input|output)_)?text$/.test(type))
    return [{ kind: "said", value: text }, ...toOthers(part, ["text"])];
  if (type === "refusal") return toTextPart("refusal", textAt(part, "refusal"));
  if (type === "thinking")
    return [...toTextPart("thought", textAt(part, "thinking")), ...toOthers(part, ["thinking", "signature"])];
  if (type === "tool_use") return [toToolCall(part, () => undefined), ...toOthers(part, ["id", "name", "input"])];
  if (type === "tool_result") {
    const isError = textAt(part, "status") === "error" || findValue(part, "is_error")?.json === "true";
    const parts = [
      ...toContentParts(findValue(part, "content")),
      ...toOthers(part, ["content", "tool_use_id", "is_error"]),
    ];
    return [{ kind: "result", id: textAt(part, "tool_use_id"), isError, parts }];
  }
  const source = findValue(part, "source");
  const document = findValue(source, textAt(source, "type") === "content" ? "content" : "data");
  if (type === "document" && document && /^(text|content)$/.test(textAt(source, "type") ?? ""))
    return [...toContentParts(document), ...toOthers(part, ["source"])];
  const media = toMedia(part, type);
  return media
    ? [media, ...toOthers(part, ["source", "file_data", "image_url", type])]
    : [{ kind: "said", value: part }];
};

/** Empty lists, such as `annotations` of most texts, say nothing. */
const toOthers = (part: RawJson, shown: readonly string[]): readonly ContentPart[] => {
  const isOther = ({ key, value }: RawMember) => key !== "type" && !shown.includes(key) && value.json !== "[]";
  const members = withoutAbsent(part.members).filter(isOther);
  return members.length === 0 ? [] : [{ kind: "other", members }];
};

const toMedia = (part: RawJson, type: string) => {
  const category = /image|audio|video|file|document/.exec(type)?.[0];
  if (category === undefined) return undefined;
  const body = findValue(part, type) ?? findValue(part, "source") ?? part;
  const url = body.kind === "text" ? body.text : (textAt(body, "url") ?? textAt(body, "file_data"));
  const data = textAt(body, "data");
  const name = textAt(body, "filename") ?? textAt(body, "file_id");
  if (url === undefined && data === undefined && name === undefined) return undefined;
  const format = textAt(body, "media_type") ?? textAt(body, "format");
  return { kind: "media" as const, category, url, data, name, format };
};
