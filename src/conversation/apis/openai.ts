/** Converts chat messages, tools, tool calls and logprobs, or throws ConversionError. */
import {
  elementsOf,
  type Json,
  literal,
  memberOf,
  nonEmpty,
  rawLiteral,
  replaceMembers,
  toText,
} from "../../json/output-json.ts";
import { type Members, Value } from "../../json/value.ts";
import { pluralize } from "../../text/sentences.ts";
import { findForeignTurn } from "../chat-marks.ts";
import { decideFinish, type Notes, openFinish, type SampledRecord, type StatedReasons } from "../finish-reason.ts";
import { OpenCalls } from "../message.ts";

/** Also receives the values that a conversion leaves out. */
export interface ConversionNotes extends Notes {
  /**
   * Returns the value if the output keeps it unchanged.
   * @param subject a noun phrase for the note
   */
  skip(subject: string, value?: Value): readonly Value[];
}

/** Only one choice of a response is recorded, so the index is 0. */
export const choice = (message: Json, finish: Json, logprobs?: Json) => ({
  finish_reason: finish,
  index: 0,
  message,
  logprobs,
});

/** @param message as it was recorded, or converted */
export const hasCalls = (message: Json) => {
  const calls = memberOf(message, "tool_calls");
  const content = memberOf(message, "content");
  if (memberOf(message, "function_call") || (content instanceof Value && content.items().some(isCall))) return true;
  return (calls instanceof Value ? calls.items() : elementsOf(calls)).length > 0;
};

/** True for a part of a content that is a call of Anthropic, Bedrock, Gemini or the AI SDK. */
const isCall = (part: Value) =>
  /^(?:tool_use|tool[_-]call|function_call)$/.test(part.textAt("type") ?? "") || part.hasAny("toolUse", "functionCall");

/** A choice with a stated finish reason, or with a derived one. */
export const decidedChoice = (run: ConversionNotes, message: Json, stated: StatedReasons = [], logprobs?: Json) =>
  choice(message, decideFinish(run, { callsTools: hasCalls(message), stated }), logprobs);

export const toPromptTurn = (content: Json) => ({ role: "user", content });

/** Returns the content of a sampled turn. @throws ConversionError if it contains a turn of another role */
const requireOwnWords = <Content extends Value | undefined>(run: Notes, content: Content): Content => {
  for (const part of content?.isList ? content.items() : [content]) {
    const value = part?.isObject ? part.get("text") : part;
    const { text = "" } = value ?? {};
    if (text.includes("<tool_call>")) run.note("tool calls are text (`<tool_call>`), so `stats` does not count them");
    const mark = findForeignTurn(text);
    if (value && mark !== undefined)
      throw value.error(
        `${value.path.join(".")} contains a turn that the model did not sample, after \`${mark}\` (write each turn to a message of its own)`,
      );
  }
  return content;
};

export const textChoice = (run: ConversionNotes, content: Value, sampled: SampledRecord) =>
  choice(
    { role: "assistant", content: requireOwnWords(run, content) },
    openFinish(run, sampled, 1)(0, { callsTools: false }),
  );

/** Matches members such as `loss` and `step_loss_mask`, with which trainers leave out a turn if they are false or 0. */
const maskKey = /(?:^|_)(?:loss(?:_mask)?|weight|train(?:able)?)$/;

const orderNote = "matched tool results without tool_call_id to the calls by name or order";

export const haveTexts = (list: Value | undefined, key: string) => {
  const items = list?.items() ?? [];
  return items.length > 0 && items.every((item) => item.textAt(key) !== undefined);
};

/**
 * Converts text, a list of messages, or a string with a JSON list of messages.
 * @param sampled the record of the turns if the assistant's turns were sampled
 */
export const toTurns = (
  run: ConversionNotes,
  given: Value,
  { name, sampled }: { name: string; sampled?: SampledRecord | undefined },
) => {
  const value = haveTexts(given.embeddedJson, "role") ? unwrap(given) : given;
  if (value.isText) return sampled ? [textChoice(run, value, sampled)] : [toPromptTurn(value)];
  if (!value.isList) throw value.error(`${name} is neither a list of messages nor text`);
  const messages = value.items();
  const roles = messages.map((message) => message.textAt("role"));
  const unknown = messages[roles.indexOf(undefined)];
  if (unknown) throw unknown.error(`a message of ${name} has no role`);
  const isAnswer = (at: number) => roles[at] === "assistant" || (roles[at] === callRole && roles[at - 1] !== callRole);
  const finish = sampled && openFinish(run, sampled, messages.filter((_, at) => isAnswer(at)).length);
  let answers = 0;
  let openCalls = new OpenCalls<string>();
  const needsIds = messages.some((message, at) => lacksId(message, roles[at]));
  const turns = messages.map((message, at): Json | undefined => {
    const role = roles[at] ?? "";
    if (resultRoles.has(role)) return toResultMessage(run, message, openCalls);
    if (role === callRole && !isAnswer(at)) return undefined;
    if (!isAnswer(at)) return toRowMessage(message);
    let end = at;
    while (roles[end] === callRole) end++;
    const calls = messages.slice(at, end);
    const own = needsIds ? addCallIds(message, at) : {};
    const ids = own.ids ?? calls.map((_, index) => `call_${at + index}`);
    const called = [...listCalls(message), ...calls.map((call) => call.require("content"))];
    if (needsIds) openCalls = openTurnCalls(called, ids);
    const turn = role === callRole ? joinCalls(calls, ids) : toRowMessage(message, own.added);
    if (!finish) return turn;
    const position = answers++;
    requireOwnWords(run, message.get("content"));
    const isMask = ([key, value]: Members[number]) => maskKey.test(key) && (value.data === false || value.number === 0);
    const [mask] = message.members().filter(isMask);
    if (mask) run.note(`counted a turn as sampled although a trainer leaves it out (\`${mask[0]}\`: ${mask[1].raw})`);
    const callsTools = calls.length > 0 || hasCalls(message);
    if (!callsTools && !/^(?:final)?$/.test(message.textAt("channel") ?? ""))
      run.note("read turns of other channels than `final`, such as analysis, as answers");
    return choice(turn, finish(position, { callsTools, message }));
  });
  return turns.filter((turn) => turn !== undefined);
};

/** Opens the ids of a turn's calls. @param ids default: the recorded ids */
const openTurnCalls = (calls: readonly Value[], ids: readonly string[]) => {
  const open = new OpenCalls<string>();
  for (const [at, call] of calls.entries()) {
    const id = ids[at] ?? unwrap(call).idAt("id");
    if (id !== undefined) open.add(id, `id ${id}`, `name ${nameOf(unwrap(call))?.text}`);
  }
  return open;
};

/** A result without an id answers the first open call, of the named tool if it has one. */
const toResultMessage = (run: ConversionNotes, message: Value, openCalls: OpenCalls<string>) => {
  const recordedId = message.idAt("tool_call_id");
  const taken = openCalls.take(recordedId === undefined ? `name ${message.textAt("name")}` : `id ${recordedId}`);
  const id = recordedId ?? taken ?? openCalls.take();
  if (id === undefined && message.textAt("role") === "function") return toRowMessage(message);
  if (id === undefined) throw message.error("tool_call_id is missing, and no earlier call waits for a result");
  const renamed = message.textAt("role") === "tool" ? {} : { role: literal("tool", message.get("role")) };
  if (recordedId !== undefined) return toRowMessage(message, renamed);
  run.note(orderNote);
  return toRowMessage(message, { ...renamed, tool_call_id: id });
};

/** A message of OpenAI's older API has one call, without an id. */
const listCalls = (message: Value) => {
  const older = message.get("function_call");
  return older ? [older] : message.items("tool_calls");
};

type AddedIds = { ids?: readonly string[]; added?: Record<string, Json | undefined> };

/** Rows for the templates of transformers have neither ids of calls nor `tool_call_id`. */
const addCallIds = (message: Value, at: number): AddedIds => {
  const calls = listCalls(message);
  if (calls.length === 0 || calls.some((call) => unwrap(call).idAt("id"))) return {};
  const ids = calls.map((_, index) => `call_${at}_${index}`);
  return {
    ids,
    added: {
      tool_calls: calls.map((call, index) => toToolCall(call, ids[index])),
      function_call: undefined,
    },
  };
};

/** In rows of ms-swift, each call is a message with this role. */
const callRole = "tool_call";
const resultRoles: ReadonlySet<string> = new Set(["tool", "tool_response", "function"]);

/** True for a call or a result that is paired by its order. */
const lacksId = (message: Value, role = "") =>
  message.has("function_call") || (resultRoles.has(role) && message.idAt("tool_call_id") === undefined);

const joinCalls = (messages: readonly Value[], ids: readonly string[]) => ({
  role: literal("assistant", ...messages.map((message) => message.get("role"))),
  content: null,
  tool_calls: messages.map((message, at) => toNamedCall(message.require("content"), ids[at] ?? null)),
});

/** @throws ConversionError for a value that is not a call */
const toNamedCall = (given: Value, id: Json) => {
  if (!unwrap(given).has("name") && !unwrap(given).has("function"))
    throw given.error("the value is not a call with a function name");
  return toToolCall(given, id);
};

/** Omits null `tool_calls` from a message that is not a choice. */
export const toChatMessage = (message: Value, isSampled: boolean) => {
  const calls = toToolCalls(message);
  if (calls instanceof Value) return message;
  const hasNullCalls = !isSampled && message.isNullAt("tool_calls");
  return !calls && !hasNullCalls ? message : replaceMembers(message, { tool_calls: calls });
};

/** Completes the tool calls of a message in a row, and removes null members. */
const toRowMessage = (message: Value, added?: AddedIds["added"]): Json => {
  const complete = removeNulls(message);
  const calls = toToolCalls(message);
  const changes = calls && !(calls instanceof Value) ? { tool_calls: calls, ...added } : added;
  if (!changes || Object.keys(changes).length === 0) return complete;
  const members = complete instanceof Map ? complete : message.members();
  return new Map<string, Json | undefined>([...members, ...Object.entries(changes)]);
};

/** Arrow writes null for each key that only other rows have. Null can also be a content or an argument. */
const removeNulls = (value: Value, isMessage = true): Json => {
  if (!value.hasNulls(isMessage ? "content" : undefined)) return value;
  if (value.isList) {
    const items = value.items();
    const kept = items.map((item) => removeNulls(item, isMessage));
    return kept.every((item, at) => item === items[at]) ? value : kept;
  }
  const members = value.members();
  const kept = members.flatMap(([key, member]): readonly (readonly [string, Json])[] => {
    if (isMessage && key === "arguments") return [[key, member]];
    return member.isNull && !(isMessage && key === "content") ? [] : [[key, removeNulls(member, isMessage)]];
  });
  const isSame = kept.length === members.length && kept.every(([, member], at) => member === members[at]?.[1]);
  return isSame ? value : new Map(kept);
};

export const toToolCalls = (message: Value) => {
  const items = message.items("tool_calls");
  if (items.length === 0) return undefined;
  const calls = items.map((call) => toToolCall(call));
  return calls.every((call, at) => call === items[at]) ? message.get("tool_calls") : calls;
};

export const unwrap = <Own extends Value | undefined>(value: Own): Own | Value => value?.embeddedJson ?? value;

/** LangChain has args, Llama 3 parameters, and Anthropic input. */
const argumentKeys = ["arguments", "args", "parameters", "input"];

/** @throws ConversionError for a call whose arguments can have another key */
const findArguments = (...holders: readonly Value[]) => {
  for (const holder of holders)
    for (const key of argumentKeys) {
      const args = holder.get(key);
      if (args) return { key, args };
    }
  const others = holders.flatMap((holder) => holder.members().filter(([key]) => key !== "function"));
  const other = others.find(([, { isObject }]) => isObject)?.[1];
  if (other) throw other.error("the call has no arguments, but an object under another key");
  return { key: "arguments", args: undefined };
};

/** Completes a call that is flat (`{id, name, arguments}`), in a string, or without type or arguments. */
export const toToolCall = (call: Value, newId?: Json) => {
  const unwrapped = unwrap(call);
  const fn = unwrapped.get("function");
  const isNested = fn?.isObject;
  const name = nameOf(unwrapped);
  const type = unwrapped.get("type");
  const isComplete = unwrapped === call && isNested && type && fn.get("arguments")?.isText;
  if ((isComplete && newId === undefined) || !name) return call;
  const { key, args } = findArguments(...(isNested ? [fn, unwrapped] : [unwrapped]));
  return {
    id: newId ?? unwrapped.get("id"),
    type: type && /^tool_(?:call|use)$/.test(type.text ?? "") ? literal("function", type) : (type ?? "function"),
    function: { name, arguments: toArguments(args), ...omitKeys(fn, ["name", "arguments", key]) },
    ...omitKeys(unwrapped, ["id", "type", "function", "name", "arguments", key]),
  };
};

const nameOf = (call: Value) => {
  const fn = call.get("function");
  return fn?.isObject ? fn.get("name") : (call.get("name") ?? fn);
};

export const buildCall = (id: Json | undefined, name: Json, args: Json) => ({
  id,
  type: "function",
  function: { name, arguments: args },
});

export const toArguments = (args: Value | undefined) => (args ? toText(args) : "{}");

const omitKeys = (value: Value | undefined, keys: readonly string[]) =>
  Object.fromEntries((value?.members() ?? []).filter(([key]) => !keys.includes(key)));

/** Completes flat tools (`{name, description, …}`), also those of Anthropic and Gemini. */
export const toTools = (run: Notes, tools: Value | undefined) =>
  nonEmpty(listTools(run, tools).flatMap((tool) => toTool(run, tool)));

const listTools = (run: Notes, tools: Value | undefined) => {
  if (tools && !tools.isList && !tools.isBlank) run.note("left out tools that are not a list");
  return tools?.items() ?? [];
};

/** Completes the tools of a row, and removes the nulls of Arrow. */
export const toRowTools = (run: Notes, tools: Value | undefined) =>
  nonEmpty(
    listTools(run, tools).flatMap((tool) => {
      const hasNulls = tool.hasNulls() && hasSchemaNulls(tool);
      return toTool(run, tool, hasNulls ? (value) => removeNulls(value, false) : undefined);
    }),
  );

/** A schema itself can have null as a default, and a tool no value for `strict`. */
const hasSchemaNulls = (value: Value): boolean =>
  value.items().some(hasSchemaNulls) ||
  value.members().some(([key, member]) => (member.isNull ? !/^(?:default|strict)$/.test(key) : hasSchemaNulls(member)));

/** @param read converts the parts of the tool */
const toTool = (run: Notes, tool: Value, read = (value: Value): Json => value): readonly Json[] => {
  const declared = tool.get("function_declarations") ?? tool.get("functionDeclarations");
  if (declared) return declared.items().flatMap((one) => toTool(run, one, toSchema));
  const spec = tool.get("toolSpec");
  if (spec) return toTool(run, spec, read);
  const type = tool.get("type");
  const isFunction = !type || type.text === "function" || tool.has("input_schema");
  const fn = tool.get("function");
  if (fn && isFunction) return [type ? read(tool) : { type: "function", function: read(fn) }];
  const inner = isFunction ? undefined : tool.get(type.text ?? "");
  const named = [tool, inner].find((one) => one?.has("name"));
  const kind = type ? `of type ${type.text}` : "without a definition";
  if (!named) run.note(`left out a tool ${kind}`);
  if (!named) return [];
  if (!isFunction) run.note(`wrote a tool ${kind} as a function`);
  const members = named.members().filter(([key, { isNull }]) => key !== "type" && !isNull);
  const parts = members.map(([key, value]) =>
    schemaKeys.has(key) ? (["parameters", read(value.get("json") ?? value)] as const) : ([key, read(value)] as const),
  );
  const own = isFunction ? parts : [["type", type] as const, ...parts];
  return [{ type: type?.text === "function" ? type : "function", function: new Map<string, Json>(own) }];
};

/** Keys for the parameters of a tool in Anthropic's and Gemini's APIs, in MCP, and in Bedrock (with `json`). */
const schemaKeys = new Set(["input_schema", "parameters_json_schema", "parametersJsonSchema", "inputSchema"]);

const geminiType = /^(?:STRING|NUMBER|INTEGER|BOOLEAN|ARRAY|OBJECT|NULL)$/;

/** Writes Gemini's types as in JSON Schema, and removes the nulls of SDKs. */
const toSchema = (value: Value): Json => {
  if (value.isList) return value.items().map(toSchema);
  if (!value.isObject) return value;
  const members = value.members().filter(([, { isNull }]) => !isNull);
  return new Map(
    members.map(([key, member]) => {
      const { text = "" } = member;
      const isType = key === "type" && geminiType.test(text);
      return [key, isType ? literal(text.toLowerCase(), member) : toSchema(member)];
    }),
  );
};

/** Trainers read token ids from `token_id:<n>`. @param part the elements of `logprobs` for `ids`; default: all */
export const toLogprobs = (
  logprobs: Value,
  ids: readonly Value[],
  sources: readonly Value[] = [],
  part?: readonly Value[],
) => {
  const values = part ?? logprobs.items();
  if (values.length !== ids.length)
    throw logprobs.error(`found ${pluralize(values.length, "logprob")} for ${pluralize(ids.length, "sampled token")}`);
  const tokens = values.map((logprob, at) => {
    const id = ids[at];
    if (!logprob.isNumber) throw logprob.error("a logprob is not a number");
    if (id?.isNumber !== true) throw (id ?? logprob).error("a token id is not a number");
    return `{"token":"token_id:${id.raw}","logprob":${logprob.raw},"bytes":null,"top_logprobs":[]}`;
  });
  return rawLiteral(`{"content":[${tokens.join(",")}]}`, [...(part ?? [logprobs]), ...sources]);
};
