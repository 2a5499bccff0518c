/** Tools and their calls as other tools write them → as the interface's tools and chat messages have them. */
import { asText, type Built, list, object, objectOf, replaced, said } from "./built.ts";
import { Value } from "./value.ts";

/**
 * A call: as it is where it is `{id, type, function: {name, arguments}}` already; else made of flat `{id, name, arguments}`,
 * of one without a type, or of a text that holds either. An object of arguments is serialised as it was written. An id
 * of our own stands in place of its.
 */
export const toolCall = (call: Value, id?: Built): Built => {
  const own = call.inner ?? call;
  const fn = own.get("function");
  const [name, args] =
    fn?.isObject === true ? [fn.get("name"), fn.get("arguments")] : [own.get("name") ?? fn, own.get("arguments")];
  const isWhole = own === call && fn?.isObject === true && own.get("type") !== undefined && args?.isText === true;
  if (isWhole || name === undefined) return call;
  const known = new Set(["id", "type", "function", "name", "arguments"]);
  return object({
    id: id ?? own.get("id"),
    type: own.get("type") ?? said("function"),
    function: object({
      name,
      arguments: args === undefined ? said("{}") : asText(args),
      ...rest(fn, new Set(["name", "arguments"])),
    }),
    ...rest(own, known),
  });
};

const rest = (value: Value | undefined, known: ReadonlySet<string>): Record<string, Value> =>
  Object.fromEntries((value?.isObject === true ? value.members() : []).filter(([key]) => !known.has(key)));

/** The calls of a message, the list as it is where they are; undefined where it has none. */
export const toolCalls = (message: Value): Built | undefined => {
  const given = message.get("tool_calls");
  const calls = given?.items() ?? [];
  if (given === undefined || calls.length === 0) return undefined;
  const own = calls.map((call) => toolCall(call));
  return own.every((call, at) => call === calls[at]) ? given : list(own);
};

/** The ids of the calls of a message, in their order. */
export const callIds = (message: Value): readonly Value[] =>
  (message.get("tool_calls")?.items() ?? []).flatMap((call) => {
    const id = (call.inner ?? call).get("id");
    return id?.isText === true ? id : [];
  });

/** A message with its calls as they should be. That it has none is said by a null in a choice's message alone. */
export const chatMessage = (message: Value, { isSampled }: { readonly isSampled: boolean }): Built => {
  const calls = toolCalls(message);
  if (calls !== undefined) return calls instanceof Value ? message : replaced(message, { tool_calls: calls });
  const saysNone = message.isNullAt("tool_calls");
  return saysNone && !isSampled ? replaced(message, { tool_calls: undefined }) : message;
};

/** Tools that are functions, made whole where they are flat `{name, description, parameters, strict}`; undefined where there are none. */
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
