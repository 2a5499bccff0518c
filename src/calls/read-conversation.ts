/** Reads the messages of a call to the APIs of OpenAI, Anthropic and Gemini. */
import * as raw from "../json/raw-json.ts";
import { convertBlocks, convertReply } from "../rollouts/messages/anthropic.ts";
import { type ConversionNotes, toTools } from "../rollouts/messages/chat.ts";
import { findIn, GeminiConverter } from "../rollouts/messages/gemini.ts";
import { type Json, JsonWriter } from "../rollouts/messages/output-json.ts";
import { convertInput, convertOutput } from "../rollouts/messages/responses.ts";
import { ConversionError, Value } from "../rollouts/messages/value.ts";
import { toSnakeCase } from "../text/nearest.ts";
import { findOperation } from "./call-facts.ts";
import { composeMessage, findMessage, hasMessage } from "./conversation.ts";

/** `rest` is the part of the inputs or output that is not in `items`. */
interface Messages {
  readonly items: readonly raw.RawJson[] | undefined;
  readonly rest: raw.RawJson | undefined;
}

interface CallConversation {
  readonly inputs: Messages;
  readonly output: Messages;
  /** The reason why the messages are not the whole conversation. */
  readonly obstacle?: string | undefined;
}

/** Items that are not messages, such as a call of a built-in tool, stay as they are. */
export const readConversation = (call: raw.RawJson): CallConversation => {
  const output = raw.findValue(call, "output");
  const response = findResponse(output);
  const isResponse = response !== undefined || /\bresponses\./i.test(findOperation(call) ?? "");
  const isGemini = raw.findValue(call, "inputs", "contents") !== undefined || hasCandidates(output);
  const chat = { inputs: readInputs(call), output: readOutput(call) };
  if (chat.inputs.items || !(isResponse || isGemini)) return chat;
  const value = Value.parse(Buffer.from(call.json));
  if (!value) return chat;
  const { result = chat, obstacle } = attempt((run) =>
    isResponse ? readResponsesCall(run, call, value, response) : readGeminiCall(run, call, value),
  );
  return { obstacle, ...result };
};

/** Converts messages and the reply of Anthropic's API. Returns other items unchanged, or why it failed. */
export const toChatItems = (items: readonly raw.RawJson[]): readonly raw.RawJson[] | string => {
  const value = Value.parse(Buffer.from(raw.composeArray(items.map(({ json }) => json))));
  if (!value) return items;
  const { result = [], obstacle } = attempt((run) =>
    value.items().flatMap((item): readonly Json[] => {
      const isReply = item.textAt("type") === "message" && item.get("content")?.isList;
      return isReply ? [convertReply(run, item)] : convertBlocks(run, item);
    }),
  );
  return obstacle ?? toRaw(result);
};

/** Values without an equivalent stay in the result. `obstacle` says why a value was not converted. */
const attempt = <Result>(convert: (run: ConversionNotes) => Result): { result?: Result; obstacle?: string } => {
  const skipped: string[] = [];
  const skip: ConversionNotes["skip"] = (value, subject) => {
    skipped.push(`${subject} cannot become a message`);
    return [value];
  };
  try {
    const result = convert({ note: () => {}, skip });
    const [obstacle] = skipped;
    return obstacle === undefined ? { result } : { result, obstacle };
  } catch (thrown) {
    if (!(thrown instanceof ConversionError)) throw thrown;
    return { obstacle: `it cannot be converted to messages (${thrown.message})` };
  }
};

/** Returns tools in the format of chat messages as JSON. */
export const readTools = (call: raw.RawJson) => {
  const inputs = raw.findValue(call, "inputs");
  const given = raw.findValue(inputs, "tools") ?? raw.findValue(inputs, "config", "tools");
  const tools = given ?? raw.findValue(inputs, "functions");
  const has = (tool: raw.RawJson, ...keys: readonly string[]) =>
    keys.some((key) => raw.findValue(tool, key) !== undefined);
  const isOther = (tool: raw.RawJson) =>
    !has(tool, "function") && has(tool, "type", "name", "function_declarations", "functionDeclarations");
  if (tools?.kind !== "list" || !raw.itemsOf(tools).some(isOther)) return tools;
  const value = Value.parse(Buffer.from(tools.json));
  return value && toRaw([toTools({ note: () => {} }, value) ?? []])[0];
};

/** A stream of events ends with the whole response. */
const findResponse = (output: raw.RawJson | undefined) =>
  [output, ...raw.itemsOf(output).map((event) => raw.findValue(event, "response"))].findLast(
    (response) => raw.findValue(response, "output")?.kind === "list",
  );

/** The service has these parts of the input. */
const storedParts = { previous_response_id: "messages", conversation: "messages", prompt: "instructions" };

const readResponsesCall = (
  run: ConversionNotes,
  call: raw.RawJson,
  value: Value,
  response: raw.RawJson | undefined,
): CallConversation => {
  const inputs = value.get("inputs");
  const reply = response && Value.parse(Buffer.from(response.json));
  const instructions = inputs?.get("instructions") ?? reply?.get("instructions");
  const system = instructions?.isText ? [{ role: "system", content: instructions }] : undefined;
  const before = system ?? (instructions ? convertInput(run, instructions) : []);
  const input = inputs?.get("input");
  const answer = reply && toRaw(convertOutput(run, reply));
  const stored = Object.entries(storedParts).find(([key]) => inputs?.has(key));
  return {
    inputs: {
      items: toRaw([...before, ...(input ? convertInput(run, input) : [])]),
      rest: omitMembers(raw.findValue(call, "inputs"), ["input", "instructions"]),
    },
    output: answer
      ? { items: answer, rest: omitMembers(response, ["output"]) }
      : { items: undefined, rest: raw.findValue(call, "output") },
    ...(stored && { obstacle: `the service has its earlier ${stored[1]} (${stored[0]})` }),
  };
};

const hasCandidates = (output: raw.RawJson | undefined) =>
  [output, ...raw.itemsOf(output)].some((chunk) => raw.findValue(chunk, "candidates")?.kind === "list");

const historyKey = "automatic_function_calling_history";

const readGeminiCall = (run: ConversionNotes, call: raw.RawJson, value: Value): CallConversation => {
  const gemini = new GeminiConverter(run);
  const inputs = value.get("inputs");
  const output = value.get("output");
  const system = findIn(inputs?.get("config"), "system_instruction") ?? findIn(inputs, "system_instruction");
  // If the SDK calls functions itself, the history has the contents and the calls.
  const history = findIn(output, historyKey);
  const contents = history?.items().length ? history : inputs?.get("contents");
  const before = [
    ...(system ? [gemini.convertSystem(system)] : []),
    ...(contents ? gemini.convertContents(contents) : []),
  ];
  const chunks = output?.isList ? output.items() : output ? [output] : [];
  const answer = gemini.convertCandidates(chunks);
  const rest = omitMembers(raw.findValue(call, "inputs"), ["contents", "system_instruction"]);
  const others = raw.membersOf(rest).map(({ key, value: member }) => {
    return {
      key,
      value: key === "config" ? (omitMembers(member, ["system_instruction"]) ?? raw.parseRawJson("{}")) : member,
    };
  });
  const lastChunk = raw.itemsOf(raw.findValue(call, "output")).at(-1) ?? raw.findValue(call, "output");
  return {
    inputs: { items: toRaw(before), rest: others.length === 0 ? undefined : raw.toRawObject(others) },
    output:
      answer.length === 0
        ? { items: undefined, rest: raw.findValue(call, "output") }
        : { items: toRaw(answer), rest: omitMembers(lastChunk, ["candidates", historyKey]) },
  };
};

const toRaw = (json: readonly Json[]) => raw.parseRawJson(new JsonWriter().writeOnOneLine(json).toString("utf8")).items;

const systemKeys: ReadonlySet<string> = new Set([
  ...["system", "system_prompt", "system_message", "system_instruction", "system_instructions"],
  ...["instructions", "preamble"],
]);

/** Adds a system prompt next to the messages as the first message, unless a system message exists. */
const readInputs = (call: raw.RawJson): Messages => {
  const inputs = raw.findValue(call, "inputs");
  const key = ["messages", "messages_and_choices"].find((name) =>
    raw.itemsOf(raw.findValue(inputs, name)).some(hasMessage),
  );
  if (key === undefined) return { items: undefined, rest: inputs };
  const items = raw.itemsOf(raw.findValue(inputs, key));
  const system = raw
    .withoutAbsent(raw.membersOf(inputs))
    .find(({ key, value: { kind } }) => systemKeys.has(toSnakeCase(key)) && (kind === "text" || kind === "list"));
  const hasSystem = items.some((item) => /^(system|developer)$/.test(raw.textAt(findMessage(item), "role") ?? ""));
  if (hasSystem || !system) return { items, rest: omitMembers(inputs, [key]) };
  const rest = omitMembers(inputs, [key, toSnakeCase(system.key)]);
  return { items: [composeMessage("system", system.value), ...items], rest };
};

const readOutput = (call: raw.RawJson): Messages => {
  const output = raw.findValue(call, "output");
  const choices = raw.findValue(output, "choices");
  const isMessage = choices === undefined && output && findMessage(output) !== undefined;
  const items = isMessage ? [output] : raw.itemsOf(choices ?? output);
  const isStream = items.some((item) => raw.textAt(item, "type") === "message_start");
  if (isStream || !items.some(hasMessage)) return { items: undefined, rest: output };
  return { items, rest: choices && omitMembers(output, ["choices"]) };
};

/** Also omits `systemInstruction` for `system_instruction`. */
const omitMembers = (value: raw.RawJson | undefined, keys: readonly string[]) => {
  const others = raw.membersOf(value).filter(({ key }) => !keys.includes(toSnakeCase(key)));
  return others.length === 0 ? undefined : raw.toRawObject(others);
};
