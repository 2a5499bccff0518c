/** Reads the messages of a call to the APIs of OpenAI and Anthropic. */
import type { ConversionNotes } from "../conversation/apis/openai.ts";
import { convertInput, convertOutput } from "../conversation/apis/responses.ts";
import { messageOf } from "../conversation/message.ts";
import { type Json, JsonWriter } from "../json/output-json.ts";
import * as raw from "../json/raw-json.ts";
import { ConversionError, Value } from "../json/value.ts";
import { toSnakeCase } from "../text/nearest.ts";
import { findOperation } from "./call-facts.ts";

/** `rest` is the part of the inputs or output that is not in `items`. */
type Messages = Readonly<{ items: readonly raw.RawJson[] | undefined; rest: raw.RawJson | undefined }>;
type CallConversation = Readonly<Record<"inputs" | "output", Messages>>;

/** Items that are not messages, such as a call of a built-in tool, stay as they are. */
export const readConversation = (call: raw.RawJson): CallConversation => {
  const response = findResponse(raw.findValue(call, "output"));
  const isResponse = response !== undefined || /\bresponses\./i.test(findOperation(call) ?? "");
  const chat = { inputs: readInputs(call), output: readOutput(call) };
  if (chat.inputs.items || !isResponse) return chat;
  const value = Value.parse(Buffer.from(call.json));
  try {
    return value ? readResponsesCall(call, value, response) : chat;
  } catch (thrown) {
    // A value that is nested too deeply exceeds the stack.
    if (!(thrown instanceof ConversionError || thrown instanceof RangeError)) throw thrown;
    return chat;
  }
};

/** Values without an equivalent stay in the result. */
const run: ConversionNotes = { note: () => {}, skip: (_, value) => (value ? [value] : []) };

/** A stream of events ends with the whole response. */
const findResponse = (output: raw.RawJson | undefined) =>
  [output, ...raw.itemsOf(output).map((event) => raw.findValue(event, "response"))].findLast(
    (response) => raw.findValue(response, "output")?.kind === "list",
  );

const readResponsesCall = (call: raw.RawJson, value: Value, response: raw.RawJson | undefined): CallConversation => {
  const inputs = value.get("inputs");
  const reply = response && Value.parse(Buffer.from(response.json));
  const instructions = inputs?.get("instructions") ?? reply?.get("instructions");
  const system = instructions?.isText ? [{ role: "system", content: instructions }] : undefined;
  const before = system ?? (instructions ? convertInput(run, instructions) : []);
  const input = inputs?.get("input");
  const answer = reply && toRaw(convertOutput(run, reply));
  return {
    inputs: {
      items: toRaw([...before, ...(input ? convertInput(run, input) : [])]),
      rest: omitMembers(raw.findValue(call, "inputs"), ["input", "instructions"]),
    },
    output: { items: answer, rest: answer ? omitMembers(response, ["output"]) : raw.findValue(call, "output") },
  };
};

const toRaw = (json: readonly Json[]) => raw.parseRawJson(new JsonWriter().writeOnOneLine(json).toString("utf8")).items;

const hasMessage = (item: raw.RawJson) => raw.textAt(messageOf(item), "role") !== undefined;

const systemKeys = "system system_prompt system_message instructions preamble".split(" ");

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
    .find(({ key, value: { kind } }) => systemKeys.includes(toSnakeCase(key)) && (kind === "text" || kind === "list"));
  const hasSystem = items.some((item) => /^(system|developer)$/.test(raw.textAt(messageOf(item), "role") ?? ""));
  if (hasSystem || !system) return { items, rest: omitMembers(inputs, [key]) };
  const rest = omitMembers(inputs, [key, system.key]);
  const message = raw.parseRawJson(`{"role":"system","content":${system.value.json}}`);
  return { items: [message, ...items], rest };
};

const readOutput = (call: raw.RawJson): Messages => {
  const output = raw.findValue(call, "output");
  const choices = raw.findValue(output, "choices");
  const isMessage = choices === undefined && output && hasMessage(output);
  const items = isMessage ? [output] : raw.itemsOf(choices ?? output);
  const isStream = items.some((item) => raw.textAt(item, "type") === "message_start");
  if (isStream || !items.some(hasMessage)) return { items: undefined, rest: output };
  return { items, rest: choices && omitMembers(output, ["choices"]) };
};

const omitMembers = (value: raw.RawJson | undefined, keys: readonly string[]) => {
  const others = raw.membersOf(value).filter(({ key }) => !keys.includes(key));
  return others.length === 0 ? undefined : raw.toRawObject(others);
};
