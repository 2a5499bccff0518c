/** Converts messages and choices to turns. */
import * as raw from "../json/raw-json.ts";
import { OpenCalls } from "../rollouts/messages/open-calls.ts";

export type Turn = Readonly<{
  /** The index in the list of messages and choices. */
  at: number;
  role: string | undefined;
  isSampled: boolean;
  name: string | undefined;
  toolCallId: string | undefined;
  /** The members of a choice, except `message`. */
  choiceMembers: readonly raw.RawMember[];
  parts: readonly ContentPart[];
}>;

export type ContentPart = Readonly<
  | { kind: "said"; value: raw.RawJson }
  | { kind: "thought" | "refusal"; text: string }
  | Media
  | ReturnType<typeof toToolCall>
  | { kind: "result"; id: string | undefined; isError: boolean; parts: readonly ContentPart[] }
  | { kind: "other"; members: readonly raw.RawMember[] }
>;

/** `category` is text such as `image`, and `format` is text such as `image/png` or `wav`. */
export type Media = Readonly<
  { kind: "media"; category: string } & Record<"url" | "data" | "name" | "format", string | undefined>
>;

export const hasMessage = (item: raw.RawJson) => findMessage(item) !== undefined;

/** Assumed: a choice has a `message` and no `role`. */
export const findMessage = (item: raw.RawJson | undefined) =>
  [item, raw.findValue(item, "message")].find((value) => raw.textAt(value, "role") !== undefined);

/** Returns the tool message that answers a call, as a turn. Null if the next message has the answer. */
type ToolResultFinder = (call: raw.RawJson) => Turn | undefined | null;

/** A tool message becomes the result of the call that it answers. */
export const toTurns = (items: readonly raw.RawJson[], from = 0): readonly Turn[] => {
  const answers = findAnswers(items, from);
  const answerIndexes = new Set(answers.values());
  const toTurn = (item: raw.RawJson, at: number): Turn => {
    const message = findMessage(item);
    const isSampled = message !== undefined && message !== item;
    const takeAnswer: ToolResultFinder = (call) => {
      const next = answers.get(call);
      const answer = items[next ?? -1];
      return next === undefined || !answer ? undefined : toTurn(answer, next);
    };
    return {
      at,
      role: raw.textAt(message, "role"),
      isSampled,
      name: raw.textAt(message, "name"),
      toolCallId: raw.textAt(message, "tool_call_id"),
      choiceMembers: isSampled ? raw.withoutAbsent(item.members).filter(({ key }) => key !== "message") : [],
      parts: message ? readParts(message, takeAnswer) : [{ kind: "said", value: item }],
    };
  };
  return items.flatMap((item, at) => (at < from || answerIndexes.has(at) ? [] : [toTurn(item, at)]));
};

/** For each call that is answered, the index of the tool message. */
const findAnswers = (items: readonly raw.RawJson[], from: number): ReadonlyMap<raw.RawJson, number> => {
  const answers = new Map<raw.RawJson, number>();
  const calls = new OpenCalls<raw.RawJson>();
  for (const [at, item] of items.entries()) {
    if (at < from) continue;
    const message = findMessage(item);
    const isResult = message === item && raw.textAt(item, "role") === "tool";
    const call = isResult ? calls.take(raw.textAt(item, "tool_call_id") || undefined) : undefined;
    if (call && findName(call) !== undefined) answers.set(call, at);
    if (isResult) continue;
    for (const made of raw.itemsOf(raw.findValue(message, "tool_calls")))
      calls.add(made, raw.textAt(made, "id") || undefined);
  }
  return answers;
};

const thoughtKeys = ["reasoning_content", "reasoning", "thinking"];

const shownTexts = ["role", "refusal", "name", "tool_call_id", ...thoughtKeys];

const readParts = (message: raw.RawJson, takeAnswer: ToolResultFinder): readonly ContentPart[] => {
  const isShown = ({ key, value: { kind } }: raw.RawMember) =>
    key === "content" || (key === "tool_calls" ? kind === "list" : kind === "text" && shownTexts.includes(key));
  const members = raw.withoutAbsent(message.members).filter((member) => !isShown(member));
  return [
    ...thoughtKeys.flatMap((key) => toTextPart("thought", raw.textAt(message, key))),
    ...toContentParts(raw.findValue(message, "content")),
    ...toTextPart("refusal", raw.textAt(message, "refusal")),
    ...raw.itemsOf(raw.findValue(message, "tool_calls")).map((call) => toToolCall(call, takeAnswer)),
    ...(members.length === 0 ? [] : [{ kind: "other", members } as const]),
  ];
};

const findCallee = (call: raw.RawJson) => raw.findValue(call, "function") ?? raw.findValue(call, "custom") ?? call;

const findName = (call: raw.RawJson) => raw.textAt(findCallee(call), "name");

const toToolCall = (call: raw.RawJson, takeAnswer: ToolResultFinder) => {
  const kind = "call" as const;
  const [callee, name, id] = [findCallee(call), findName(call), raw.textAt(call, "id")];
  // Without a name, the whole call is shown as arguments.
  if (name === undefined) return { kind, name, id: undefined, callArguments: call, result: undefined };
  const callArguments = raw.findValue(callee, "arguments") ?? raw.findValue(callee, "input");
  return { kind, name, id, callArguments, result: takeAnswer(call) };
};

const toTextPart = (kind: "thought" | "refusal", text = ""): readonly ContentPart[] =>
  text === "" ? [] : [{ kind, text }];

const toContentParts = (content: raw.RawJson | undefined): readonly ContentPart[] => {
  if (content?.kind === "list") return content.items.flatMap(toParts);
  return !content || content.json === '""' ? [] : [{ kind: "said", value: content }];
};

const toParts = (part: raw.RawJson): readonly ContentPart[] => {
  const type = raw.textAt(part, "type") ?? "";
  const text = raw.findValue(part, "text");
  if (text?.kind === "text" && /^((input|output)_)?text$/.test(type))
    return [{ kind: "said", value: text }, ...toOthers(part, ["text"])];
  if (type === "refusal") return toTextPart("refusal", raw.textAt(part, "refusal"));
  if (type === "thinking")
    return [...toTextPart("thought", raw.textAt(part, "thinking")), ...toOthers(part, ["thinking", "signature"])];
  if (type === "tool_use") return [toToolCall(part, () => null), ...toOthers(part, ["id", "name", "input"])];
  if (type === "tool_result") {
    const isError = raw.textAt(part, "status") === "error" || raw.findValue(part, "is_error")?.json === "true";
    const parts = [
      ...toContentParts(raw.findValue(part, "content")),
      ...toOthers(part, ["content", "tool_use_id", "is_error"]),
    ];
    return [{ kind: "result", id: raw.textAt(part, "tool_use_id"), isError, parts }];
  }
  const source = raw.findValue(part, "source");
  const document = raw.findValue(source, raw.textAt(source, "type") === "content" ? "content" : "data");
  if (type === "document" && document && /^(text|content)$/.test(raw.textAt(source, "type") ?? ""))
    return [...toContentParts(document), ...toOthers(part, ["source"])];
  const body = raw.findValue(part, type) ?? raw.findValue(part, "source") ?? part;
  const media = toMedia(body, type);
  if (!media) return [{ kind: "said", value: part }];
  const ofBody = body === part ? [] : toOthers(body, mediaKeys);
  return [media, ...ofBody, ...toOthers(part, ["source", "file_data", "image_url", type])];
};

/** Empty lists, such as `annotations` of most texts, say nothing. */
const toOthers = (part: raw.RawJson, shown: readonly string[]): readonly ContentPart[] => {
  const isOther = ({ key, value }: raw.RawMember) => key !== "type" && !shown.includes(key) && value.json !== "[]";
  const members = raw.withoutAbsent(part.members).filter(isOther);
  return members.length === 0 ? [] : [{ kind: "other", members }];
};

/** What the line of an image or another file shows. */
const mediaKeys = ["url", "data", "file_data", "filename", "file_id", "media_type", "format"];

const toMedia = (body: raw.RawJson, type: string): Media | undefined => {
  const category = /image|audio|video|file|document/.exec(type)?.[0];
  if (category === undefined) return undefined;
  const file = raw.textAt(body, "file_data");
  const isDataUrl = file?.startsWith("data:");
  const url = body.kind === "text" ? body.text : (raw.textAt(body, "url") ?? (isDataUrl ? file : undefined));
  const data = raw.textAt(body, "data") ?? (isDataUrl ? undefined : file);
  const name = raw.textAt(body, "filename") ?? raw.textAt(body, "file_id");
  if (url === undefined && data === undefined && name === undefined) return undefined;
  const format = raw.textAt(body, "media_type") ?? raw.textAt(body, "format");
  return { kind: "media", category, url, data, name, format };
};
