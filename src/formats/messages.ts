/** Chat messages of other tools → messages and choices of the interface, with their tools, calls and logprobs. */

import type { FormatRun } from "./format.ts";
import {
  type JsonLiteral,
  list,
  literal,
  type OutputJson,
  object,
  objectFrom,
  replaceMembers,
  toText,
} from "./output-json.ts";
import { ConversionError, Value } from "./value.ts";

export const choice = (message: OutputJson, finish: OutputJson, logprobs?: OutputJson): OutputJson =>
  logprobs === undefined
    ? { kind: "object", keys: choiceKeys, values: [finish, firstIndex, message] }
    : object({ finish_reason: finish, index: firstIndex, message, logprobs });

/** Most choices have these: one list for all of them is faster. */
const choiceKeys = ["finish_reason", "index", "message"];

/** The position of a choice in its response: no other is recorded. */
const firstIndex = literal(0);
const [stopFinish, callFinish, assistant, user] = [
  literal("stop"),
  literal("tool_calls"),
  literal("assistant"),
  literal("user"),
];

/** The finish reason of a turn if none is recorded; people are told. */
export const deriveFinish = (run: FormatRun, callsTools: boolean): JsonLiteral => {
  run.note("finish_reason is not recorded: tool_calls where a turn calls tools, else stop");
  return callsTools ? callFinish : stopFinish;
};

export const userMessage = (content: Value): OutputJson => object({ role: user, content });

export const textChoice = (run: FormatRun, content: Value, finish?: OutputJson): OutputJson =>
  choice(object({ role: assistant, content }), finish ?? deriveFinish(run, false));

export const systemMessage = (content: Value): OutputJson => object({ role: literal("system"), content });

/** Given turns: messages, or a text. @throws Unfit */
export const promptTurns = (run: FormatRun, prompt: Value, name: string): readonly OutputJson[] => {
  if (prompt.isText) return [userMessage(prompt)];
  const messages = requireMessages(prompt, name);
  const complete = createCompleter(run);
  return messages.map((message) => complete(message, toToolCalls(message), false));
};

/**
 * Sampled turns: messages, of which the assistant's are choices, or a text.
 * @param lastFinish the finish reason of the last sampled turn, if it is known
 * @throws Unfit
 */
export const sampledTurns = (
  run: FormatRun,
  sampled: Value,
  { name, lastFinish }: { readonly name: string; readonly lastFinish?: OutputJson | undefined },
): readonly OutputJson[] => {
  if (sampled.isText) return [textChoice(run, sampled, lastFinish)];
  const messages = requireMessages(sampled, name);
  const last = lastFinish === undefined ? -1 : messages.findLastIndex(isAssistantMessage);
  const complete = createCompleter(run);
  return messages.map((message, at) => {
    const calls = toToolCalls(message);
    const isSampled = isAssistantMessage(message);
    const whole = complete(message, calls, isSampled);
    if (!isSampled) return whole;
    return choice(whole, (at === last ? lastFinish : undefined) ?? deriveFinish(run, calls !== undefined));
  });
};

export const isAssistantMessage = (message: Value): boolean => message.textAt("role") === "assistant";

const requireMessages = (value: Value, name: string): readonly Value[] => {
  if (!value.isList) throw new ConversionError(`${name} is neither messages nor text`, value);
  const messages = value.items();
  for (const message of messages) {
    if (message.textAt("role") === undefined) throw new ConversionError(`a message of ${name} has no role`, message);
  }
  return messages;
};

/** Completes messages one after the other: results without the id of a call answer the open calls in their order. */
const createCompleter = (run: FormatRun) => {
  let asking: Value | undefined;
  let answered: string[] = [];
  return (message: Value, calls: OutputJson | undefined, isSampled: boolean): OutputJson => {
    const role = message.textAt("role");
    if (role === "assistant") {
      asking = message;
      if (answered.length > 0) answered = [];
    }
    if (role !== "tool") return replaceCalls(message, calls, isSampled);
    const own = message.textAt("tool_call_id");
    if (own !== undefined) {
      answered.push(own);
      return replaceCalls(message, calls, isSampled);
    }
    const id = (asking === undefined ? [] : callIds(asking)).find((open) => !answered.includes(open));
    if (id === undefined) {
      throw new ConversionError("tool_call_id is missing, and no call is left that it could answer", message);
    }
    answered.push(id);
    run.note("tool_call_id is missing: results answer the calls in their order");
    const saysNone = message.isNullAt("tool_calls");
    return replaceMembers(message, { tool_call_id: literal(id), ...(saysNone ? { tool_calls: undefined } : {}) });
  };
};

/** A message with its calls. Only in a choice's message, null can say that there are none. */
export const toChatMessage = (message: Value, isSampled: boolean): OutputJson =>
  replaceCalls(message, toToolCalls(message), isSampled);

const replaceCalls = (message: Value, calls: OutputJson | undefined, isSampled: boolean): OutputJson => {
  if (calls !== undefined) return calls instanceof Value ? message : replaceMembers(message, { tool_calls: calls });
  const saysNone = !isSampled && message.isNullAt("tool_calls");
  return saysNone ? replaceMembers(message, { tool_calls: undefined }) : message;
};

/** The calls of a message: the list as it is if they are whole; undefined if it has none. */
export const toToolCalls = (message: Value): OutputJson | undefined => {
  const given = message.get("tool_calls");
  if (given === undefined) return undefined;
  const calls = given.items();
  if (calls.length === 0) return undefined;
  const own = calls.map((call) => toToolCall(call));
  return own.every((call, at) => call === calls[at]) ? given : list(own);
};

const callIds = (message: Value): readonly string[] =>
  (message.get("tool_calls")?.items() ?? []).flatMap((call) => unwrapJson(call).textAt("id") ?? []);

/** The JSON in a text; any other value as it is. */
export const unwrapJson = <Own extends Value | undefined>(value: Own): Own | Value => value?.embeddedJson ?? value;

/**
 * A call: as it is if it is `{id, type, function: {name, arguments}}`; else made of a flat `{id, name, arguments}`,
 * of one without a type, or of a text that contains either. An object of arguments becomes a text, as it was written.
 * @param id an id of our own, in place of that of the call
 */
export const toToolCall = (call: Value, id?: OutputJson): OutputJson => {
  const own = unwrapJson(call);
  const fn = own.get("function");
  const isNested = fn?.isObject === true;
  const name = isNested ? fn.get("name") : (own.get("name") ?? fn);
  const args = (isNested ? fn : own).get("arguments");
  const isWhole = own === call && isNested && own.get("type") !== undefined && args?.isText === true;
  if (isWhole || name === undefined) return call;
  return object({
    id: id ?? own.get("id"),
    type: own.get("type") ?? literal("function"),
    function: object({ name, arguments: toArguments(args), ...omitKeys(fn, ["name", "arguments"]) }),
    ...omitKeys(own, ["id", "type", "function", "name", "arguments"]),
  });
};

export const toArguments = (args: Value | undefined): OutputJson => (args === undefined ? literal("{}") : toText(args));

const omitKeys = (value: Value | undefined, keys: readonly string[]): Readonly<Record<string, Value>> =>
  Object.fromEntries((value?.members() ?? []).filter(([key]) => !keys.includes(key)));

/** Tools that are functions, completed if they are flat `{name, description, …}`; undefined if there are none. */
export const toFunctionTools = (tools: Value | undefined): OutputJson | undefined => {
  const own = (tools?.items() ?? []).flatMap((tool) => toFunctionTool(tool) ?? []);
  return own.length === 0 ? undefined : list(own);
};

const toFunctionTool = (tool: Value): OutputJson | undefined => {
  const type = tool.get("type");
  if (type !== undefined && type.text !== "function") return undefined;
  const fn = tool.get("function");
  if (fn !== undefined) return type === undefined ? object({ type: literal("function"), function: fn }) : tool;
  if (tool.get("name") === undefined) return undefined;
  const members = tool.members().filter(([key, { isNull }]) => key !== "type" && !isNull);
  return object({ type: type ?? literal("function"), function: objectFrom(members) });
};

/**
 * Logprobs by token ids → as a choice has them, their digits as they were written: trainers read the id after the
 * colon of `token_id:<n>`.
 * @throws Unfit if they are not as many as the ids of the sampled tokens, or not numbers
 */
export const toLogprobs = (logprobs: Value, ids: readonly Value[], of: readonly Value[] = []): OutputJson => {
  const own = logprobs.items();
  if (own.length !== ids.length) {
    throw new ConversionError(`${own.length} logprobs can't be those of ${ids.length} sampled tokens`, logprobs);
  }
  const tokens = own.map((logprob, at) => {
    const id = ids[at];
    if (!logprob.isNumber) throw new ConversionError("a logprob is no number", logprob);
    if (id?.isNumber !== true) throw new ConversionError("a token's id is no number", id ?? logprob);
    return `{"token":"token_id:${id.raw}","logprob":${logprob.raw},"bytes":null,"top_logprobs":[]}`;
  });
  return { kind: "said", json: `{"content":[${tokens.join(",")}]}`, sources: [logprobs, ...of] };
};
