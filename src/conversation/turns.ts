/** Converts messages and choices to turns. */
import * as raw from "../json/raw-json.ts";
import * as messages from "./message.ts";
import { pairCalls } from "./message.ts";

export type Turn = Readonly<{
  /** The index in the list of messages and choices. */
  at: number;
  role: string | undefined;
  isSampled: boolean;
  name: string | undefined;
  toolCallId: string | undefined;
  /** True for a result without a call that is marked as an error. */
  isError: boolean;
  /** The members of a choice, except `message`. */
  choiceMembers: readonly raw.RawMember[];
  parts: readonly ContentPart[];
}>;

export type ContentPart = Readonly<
  | { kind: "said"; value: raw.RawJson }
  | { kind: "thought" | "refusal"; text: string }
  | Media
  | ToolCall
  | ToolResult
  | { kind: "other"; members: readonly raw.RawMember[] }
>;

type ToolNames = Record<"name" | "id", string | undefined>;

/** Without a name, the arguments are the whole call. `result` is null if a later message has it as a part. */
export type ToolCall = Readonly<
  ToolNames & { kind: "call"; callArguments: raw.RawJson | undefined; result: ToolResult | undefined | null }
>;

/** `at` is the index of a tool message, which can name the tool. */
type ToolResult = Readonly<
  ToolNames & { kind: "result"; at?: number; isError: boolean; parts: readonly ContentPart[] }
>;

/** `category` is text such as `image`, and `format` is text such as `image/png` or `wav`. */
export type Media = Readonly<
  { kind: "media"; category: string } & Record<"url" | "data" | "name" | "format", string | undefined>
>;

/** True if a tool message is an error, or if the model refused. */
export const isFailedTurn = ({ isError, parts }: Turn) =>
  isError || parts.some((part) => part.kind === "refusal" || (part.kind === "call" && part.result?.isError));

type ResultFinder = (call: raw.RawJson) => ToolResult | undefined | null;

/** A tool message becomes the result of the call that it answers. */
export const toTurns = (items: readonly raw.RawJson[], from = 0): readonly Turn[] => {
  const results = new Map(pairCalls(items, from).map(({ call, result = -1 }) => [call, result]));
  const joined = new Set(results.values());
  const findResult: ResultFinder = (call) => {
    const at = results.get(call) ?? -1;
    const item = items[at];
    if (!item) return undefined;
    const [name, id] = ["name", "tool_call_id"].map((key) => raw.textAt(item, key));
    return { kind: "result", at, name, id, isError: messages.isErrorResult(item), parts: readParts(item, findResult) };
  };
  return items.flatMap((item, at) => (at < from || joined.has(at) ? [] : [toTurn(item, at, findResult)]));
};

const toTurn = (item: raw.RawJson, at: number, findResult: ResultFinder): Turn => {
  const isSampled = messages.isChoice(item);
  const message = messages.messageOf(item);
  const role = raw.textAt(message, "role");
  return {
    at,
    role,
    isSampled,
    name: raw.textAt(message, "name"),
    toolCallId: raw.textAt(message, "tool_call_id"),
    isError: messages.isResult(item) && messages.isErrorResult(item),
    choiceMembers: isSampled ? raw.withoutAbsent(item.members).filter(({ key }) => key !== "message") : [],
    parts: isSampled || role !== undefined ? readParts(message, findResult) : [{ kind: "said", value: item }],
  };
};

const shownTexts = ["role", "refusal", "name", "tool_call_id"];
const isThought = (key: string) => messages.thoughtKeys.some((name) => name === key);

const readParts = (message: raw.RawJson, findResult: ResultFinder): readonly ContentPart[] => {
  const isShown = ({ key, value }: raw.RawMember) => {
    if (key === "content") return true;
    if (key === "tool_calls") return value.kind === "list";
    if (key === "function_call") return value.kind === "object";
    if (value.kind === "list" && isThought(key))
      return value.items.every((part) => part.kind === "text" || raw.textAt(part, "text") !== undefined);
    return value.kind === "text" && (isThought(key) || shownTexts.includes(key));
  };
  const members = raw.withoutAbsent(message.members).filter((member) => !isShown(member));
  return [
    ...messages.listThoughts(message).map((text) => ({ kind: "thought", text }) as const),
    ...toContentParts(raw.findValue(message, "content")),
    ...toTextPart("refusal", raw.textAt(message, "refusal")),
    ...messages.callsOf(message).map((call) => toToolCall(call, findResult)),
    ...(members.length === 0 ? [] : [{ kind: "other", members } as const]),
  ];
};

const toToolCall = (call: raw.RawJson, findResult: ResultFinder): ToolCall => {
  const callee = messages.calleeOf(call);
  const name = raw.textAt(callee, "name") || undefined;
  const result = findResult(call);
  if (name === undefined) return { kind: "call", name, id: undefined, callArguments: call, result };
  const callArguments = raw.findValue(callee, "arguments") ?? raw.findValue(callee, "input");
  return { kind: "call", name, id: raw.textAt(call, "id"), callArguments, result };
};

const toTextPart = (kind: "thought" | "refusal", text = ""): readonly ContentPart[] =>
  text === "" ? [] : [{ kind, text }];

/** A content can have results, and a result documents. */
const maxLevels = 3;

const toContentParts = (content: raw.RawJson | undefined, levels = maxLevels): readonly ContentPart[] => {
  if (content?.kind === "list" && levels > 0) return content.items.flatMap((part) => toParts(part, levels - 1));
  return !content || content.json === '""' ? [] : [{ kind: "said", value: content }];
};

const toParts = (part: raw.RawJson, levels: number): readonly ContentPart[] => {
  const type = raw.textAt(part, "type") ?? "";
  const text = raw.findValue(part, "text");
  if (text?.kind === "text" && (messages.textType.test(type) || raw.findValue(part, "type") === undefined))
    return [{ kind: "said", value: text }, ...toOthers(part, ["text"])];
  if (type === "refusal") return toTextPart("refusal", raw.textAt(part, "refusal"));
  if (type === "thinking")
    return [...toTextPart("thought", raw.textAt(part, "thinking")), ...toOthers(part, ["thinking", "signature"])];
  if (type === "tool_use") return [toToolCall(part, () => null), ...toOthers(part, ["id", "name", "input"])];
  if (type === "tool_result") {
    const parts = [
      ...toContentParts(raw.findValue(part, "content"), levels),
      ...toOthers(part, ["content", "tool_use_id", "is_error"]),
    ];
    const id = raw.textAt(part, "tool_use_id");
    return [{ kind: "result", name: undefined, id, isError: messages.isErrorResult(part), parts }];
  }
  const source = raw.findValue(part, "source");
  const document = raw.findValue(source, raw.textAt(source, "type") === "content" ? "content" : "data");
  if (type === "document" && document && /^(text|content)$/.test(raw.textAt(source, "type") ?? ""))
    return [...toContentParts(document, levels), ...toOthers(part, ["source"])];
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
