/** Chat messages of other tools → messages and choices of the interface, with their tools, calls and logprobs. */
import { asText, type Built, list, type OwnJson, object, objectOf, replaced, said } from "./built.ts";
import type { FormatRun } from "./format.ts";
import { Unfit, Value } from "./value.ts";

export const choice = (message: Built, finish: Built, logprobs?: Built): Built =>
  logprobs === undefined
    ? { kind: "object", keys: choiceKeys, values: [finish, only, message] }
    : object({ finish_reason: finish, index: only, message, logprobs });

/** Most choices have these: one list for all of them is faster. */
const choiceKeys = ["finish_reason", "index", "message"];

/** The position of a choice in its response: no other is recorded. */
const only = said(0);
const [stopped, calling, assistant, user] = [said("stop"), said("tool_calls"), said("assistant"), said("user")];

/** The finish reason of a turn if none is recorded; people are told. */
export const derivedFinish = (run: FormatRun, callsTools: boolean): OwnJson => {
  run.note("finish_reason is not recorded: tool_calls where a turn calls tools, else stop");
  return callsTools ? calling : stopped;
};

export const userTurn = (content: Value): Built => object({ role: user, content });

export const sampledText = (run: FormatRun, content: Value, finish?: Built): Built =>
  choice(object({ role: assistant, content }), finish ?? derivedFinish(run, false));

export const systemTurn = (content: Value): Built => object({ role: said("system"), content });

/** Given turns: messages, or a text. @throws Unfit */
export const givenTurns = (run: FormatRun, prompt: Value, name: string): readonly Built[] => {
  if (prompt.isText) return [userTurn(prompt)];
  const messages = messagesIn(prompt, name);
  const complete = completion(run);
  return messages.map((message) => complete(message, toolCalls(message), false));
};

/**
 * Sampled turns: messages, of which the assistant's are choices, or a text.
 * @param lastFinish the finish reason of the last sampled turn, if it is known
 * @throws Unfit
 */
export const sampledTurns = (
  run: FormatRun,
  sampled: Value,
  { name, lastFinish }: { readonly name: string; readonly lastFinish?: Built | undefined },
): readonly Built[] => {
  if (sampled.isText) return [sampledText(run, sampled, lastFinish)];
  const messages = messagesIn(sampled, name);
  const last = lastFinish === undefined ? -1 : messages.findLastIndex(isAssistants);
  const complete = completion(run);
  return messages.map((message, at) => {
    const calls = toolCalls(message);
    const isSampled = isAssistants(message);
    const whole = complete(message, calls, isSampled);
    if (!isSampled) return whole;
    return choice(whole, (at === last ? lastFinish : undefined) ?? derivedFinish(run, calls !== undefined));
  });
};

export const isAssistants = (message: Value): boolean => message.textAt("role") === "assistant";

const messagesIn = (value: Value, name: string): readonly Value[] => {
  if (!value.isList) throw new Unfit(`${name} is neither messages nor text`, value);
  const messages = value.items();
  for (const message of messages) {
    if (message.textAt("role") === undefined) throw new Unfit(`a message of ${name} has no role`, message);
  }
  return messages;
};

/** Completes messages one after the other: results without the id of a call answer the open calls in their order. */
const completion = (run: FormatRun) => {
  let asking: Value | undefined;
  let answered: string[] = [];
  return (message: Value, calls: Built | undefined, isSampled: boolean): Built => {
    const role = message.textAt("role");
    if (role === "assistant") {
      asking = message;
      if (answered.length > 0) answered = [];
    }
    if (role !== "tool") return withCalls(message, calls, isSampled);
    const own = message.textAt("tool_call_id");
    if (own !== undefined) {
      answered.push(own);
      return withCalls(message, calls, isSampled);
    }
    const id = (asking === undefined ? [] : callIds(asking)).find((open) => !answered.includes(open));
    if (id === undefined) {
      throw new Unfit("tool_call_id is missing, and no call is left that it could answer", message);
    }
    answered.push(id);
    run.note("tool_call_id is missing: results answer the calls in their order");
    const saysNone = message.isNullAt("tool_calls");
    return replaced(message, { tool_call_id: said(id), ...(saysNone ? { tool_calls: undefined } : {}) });
  };
};

/** A message with its calls. Only in a choice's message, null can say that there are none. */
export const chatMessage = (message: Value, isSampled: boolean): Built =>
  withCalls(message, toolCalls(message), isSampled);

const withCalls = (message: Value, calls: Built | undefined, isSampled: boolean): Built => {
  if (calls !== undefined) return calls instanceof Value ? message : replaced(message, { tool_calls: calls });
  const saysNone = !isSampled && message.isNullAt("tool_calls");
  return saysNone ? replaced(message, { tool_calls: undefined }) : message;
};

/** The calls of a message: the list as it is if they are whole; undefined if it has none. */
export const toolCalls = (message: Value): Built | undefined => {
  const given = message.get("tool_calls");
  if (given === undefined) return undefined;
  const calls = given.items();
  if (calls.length === 0) return undefined;
  const own = calls.map((call) => toolCall(call));
  return own.every((call, at) => call === calls[at]) ? given : list(own);
};

const callIds = (message: Value): readonly string[] =>
  (message.get("tool_calls")?.items() ?? []).flatMap((call) => parsed(call).textAt("id") ?? []);

/** The JSON in a text; any other value as it is. */
export const parsed = <Own extends Value | undefined>(value: Own): Own | Value => value?.inner ?? value;

/**
 * A call: as it is if it is `{id, type, function: {name, arguments}}`; else made of a flat `{id, name, arguments}`,
 * of one without a type, or of a text that contains either. An object of arguments becomes a text, as it was written.
 * @param id an id of our own, in place of that of the call
 */
export const toolCall = (call: Value, id?: Built): Built => {
  const own = parsed(call);
  const fn = own.get("function");
  const isNested = fn?.isObject === true;
  const name = isNested ? fn.get("name") : (own.get("name") ?? fn);
  const args = (isNested ? fn : own).get("arguments");
  const isWhole = own === call && isNested && own.get("type") !== undefined && args?.isText === true;
  if (isWhole || name === undefined) return call;
  return object({
    id: id ?? own.get("id"),
    type: own.get("type") ?? said("function"),
    function: object({ name, arguments: argumentsOf(args), ...without(fn, ["name", "arguments"]) }),
    ...without(own, ["id", "type", "function", "name", "arguments"]),
  });
};

export const argumentsOf = (args: Value | undefined): Built => (args === undefined ? said("{}") : asText(args));

const without = (value: Value | undefined, keys: readonly string[]): Readonly<Record<string, Value>> =>
  Object.fromEntries((value?.members() ?? []).filter(([key]) => !keys.includes(key)));

/** Tools that are functions, completed if they are flat `{name, description, …}`; undefined if there are none. */
export const functionTools = (tools: Value | undefined): Built | undefined => {
  const own = (tools?.items() ?? []).flatMap((tool) => functionTool(tool) ?? []);
  return own.length === 0 ? undefined : list(own);
};

const functionTool = (tool: Value): Built | undefined => {
  const type = tool.get("type");
  if (type !== undefined && type.text !== "function") return undefined;
  const fn = tool.get("function");
  if (fn !== undefined) return type === undefined ? object({ type: said("function"), function: fn }) : tool;
  if (tool.get("name") === undefined) return undefined;
  const members = tool.members().filter(([key, { isNull }]) => key !== "type" && !isNull);
  return object({ type: type ?? said("function"), function: objectOf(members) });
};

/**
 * Logprobs by token ids → as a choice has them, their digits as they were written: trainers read the id after the
 * colon of `token_id:<n>`.
 * @throws Unfit if they are not as many as the ids of the sampled tokens, or not numbers
 */
export const logprobsOf = (logprobs: Value, ids: readonly Value[], of: readonly Value[] = []): Built => {
  const own = logprobs.items();
  if (own.length !== ids.length) {
    throw new Unfit(`${own.length} logprobs can't be those of ${ids.length} sampled tokens`, logprobs);
  }
  const tokens = own.map((logprob, at) => {
    const id = ids[at];
    if (!logprob.isNumber) throw new Unfit("a logprob is no number", logprob);
    if (id?.isNumber !== true) throw new Unfit("a token's id is no number", id ?? logprob);
    return `{"token":"token_id:${id.raw}","logprob":${logprob.raw},"bytes":null,"top_logprobs":[]}`;
  });
  return { kind: "said", json: `{"content":[${tokens.join(",")}]}`, of: [logprobs, ...of] };
};
