import { describe, expect, it } from "vitest";
import { toChatMessage, toRowTools, toToolCall, toTools, toTurns } from "../../src/conversation/apis/openai.ts";
import { type Json, JsonWriter } from "../../src/json/output-json.ts";
import { Value } from "../../src/json/value.ts";

const parse = (data: unknown): Value => {
  const value = Value.parse(Buffer.from(JSON.stringify(data)));
  return value ?? expect.fail("no JSON");
};

const textOf = (json: Json): string => {
  const writer = new JsonWriter();
  writer.writeOnOneLine(json);
  return writer.take().toString();
};

const dataOf = (json: Json): unknown => JSON.parse(textOf(json));

interface Turn {
  readonly role?: string;
  readonly tool_call_id?: string;
  readonly tool_calls?: readonly { readonly id: string }[];
  readonly message?: Turn;
  readonly finish_reason?: string;
}

const fn = { name: "f", arguments: "{}" };
const complete = { id: "c", type: "function", function: fn };

describe("a tool call", () => {
  it.each<[string, unknown, object]>([
    ["without a type", { id: "c", function: fn }, complete],
    ["without arguments", { ...complete, function: { name: "f" } }, complete],
    ["with an object as arguments", { ...complete, function: { name: "f", arguments: {} } }, complete],
    ["in a string", JSON.stringify(complete), complete],
    ["that is flat", { id: "c", name: "f", arguments: "{}" }, complete],
    ["whose function is a name", { id: "c", function: "f", arguments: {} }, complete],
    ["with other members", { id: "c", name: "f", index: 0 }, { ...complete, index: 0 }],
    [
      "with other members of its function",
      { function: { ...fn, strict: true } },
      { type: "function", function: { ...fn, strict: true } },
    ],
    ["of LangChain", { name: "f", arguments: null, args: {}, id: "c", type: "tool_call" }, complete],
    ["of Llama 3's template", { id: "c", function: { name: "f", parameters: {} } }, complete],
    ["with an input", { id: "c", name: "f", input: {}, type: "tool_use" }, complete],
    ["with arguments and parameters", { ...complete, parameters: {} }, { ...complete, parameters: {} }],
    ["with args next to its function", { id: "c", function: { name: "f" }, args: {} }, complete],
    ["of another type", { type: "custom", name: "f", arguments: "{}" }, { type: "custom", function: fn }],
  ])("%s is completed", (_, call, expected) => {
    expect(dataOf(toToolCall(parse(call)))).toEqual(expected);
  });

  it.each([
    { id: "c", name: "f", kwargs: { x: 1 } },
    { id: "c", function: { name: "f", kwargs: { x: 1 } } },
  ])("without arguments is refused if another key can have them: %j", (call) => {
    expect(() => toToolCall(parse(call))).toThrow("the call has no arguments, but an object under another key");
  });

  it("stays the same value if it is complete or has no name, unless it gets an id", () => {
    for (const call of [complete, { id: "c" }, 1].map(parse)) expect(toToolCall(call)).toBe(call);
    expect(dataOf(toToolCall(parse(complete), "d"))).toEqual({ ...complete, id: "d" });
  });
});

it("a message that is not sampled has no null calls, and other messages stay the same value", () => {
  const message = parse({ role: "assistant", tool_calls: null });
  expect(dataOf(toChatMessage(message, false))).toEqual({ role: "assistant" });
  for (const same of [message, parse({ tool_calls: [complete] })]) expect(toChatMessage(same, true)).toBe(same);
  expect(dataOf(toChatMessage(parse({ tool_calls: [fn] }), true))).toEqual({
    tool_calls: [{ type: "function", function: fn }],
  });
});

const schemaOf = (object: string, string: string) => ({
  type: object,
  description: "STRING",
  required: ["type"],
  properties: { type: { type: string, enum: ["STRING"] } },
});
const schema = schemaOf("object", "string");
const geminiSchema = { ...schemaOf("OBJECT", "STRING"), title: null };

it.each<[string, unknown, readonly object[] | undefined, note?: string]>([
  ["complete", { type: "function", function: { name: "f" } }, [{ type: "function", function: { name: "f" } }]],
  ["without a type", { function: { name: "f" } }, [{ type: "function", function: { name: "f" } }]],
  ["flat", { name: "f", type: "function", description: null }, [{ type: "function", function: { name: "f" } }]],
  ["Anthropic's", { name: "f", input_schema: {} }, [{ type: "function", function: { name: "f", parameters: {} } }]],
  ["Gemini's", { function_declarations: [{ name: "f" }] }, [{ type: "function", function: { name: "f" } }]],
  [
    "Gemini's with types",
    { function_declarations: [{ name: "f", parameters: geminiSchema }] },
    [{ type: "function", function: { name: "f", parameters: schema } }],
  ],
  ["MCP's", { name: "f", inputSchema: schema }, [{ type: "function", function: { name: "f", parameters: schema } }]],
  [
    "Bedrock's",
    { toolSpec: { name: "f", inputSchema: { json: schema } } },
    [{ type: "function", function: { name: "f", parameters: schema } }],
  ],
  [
    "of another type",
    { type: "bash_20250124", name: "f", size: 1 },
    [{ type: "function", function: { type: "bash_20250124", name: "f", size: 1 } }],
    "wrote a tool of type bash_20250124 as a function",
  ],
  [
    "custom",
    { type: "custom", custom: { name: "f", format: {} } },
    [{ type: "function", function: { type: "custom", name: "f", format: {} } }],
    "wrote a tool of type custom as a function",
  ],
  ["of the service", { type: "web_search" }, undefined, "left out a tool of type web_search"],
  ["without a name", { description: "d" }, undefined, "left out a tool without a definition"],
  ["a name only", "f", undefined, "left out a tool without a definition"],
])("a tool that is %s becomes a function or is left out, with a note", (_, tool, expected, note) => {
  const notes: string[] = [];
  const run = { note: (text: string) => notes.push(text) };
  const tools = toTools(run, parse([tool]));
  expect(tools && dataOf(tools)).toEqual(expected);
  expect(notes).toEqual(note === undefined ? [] : [note]);
});

it.each([
  [{ f: { name: "g" } }, ["left out tools that are not a list"]],
  ["f, g", ["left out tools that are not a list"]],
  [{}, []],
  [[], []],
])("tools that are %j are noted if they are not a list", (tools, notes) => {
  const noted: string[] = [];
  const run = { note: (text: string) => noted.push(text) };
  expect([toTools(run, parse(tools)), toRowTools(run, parse(tools)), [...new Set(noted)]]).toEqual([
    undefined,
    undefined,
    notes,
  ]);
});

it.each([
  [{ content: { type: "string", enum: null, default: null }, arguments: null }, { content: { type: "string" } }],
  [{ a: { default: null, enum: [null] } }, { a: { default: null, enum: [null] } }],
])("a tool of a row has no nulls of Arrow (row %$)", (properties, kept) => {
  const tools = [
    { type: "function", function: { name: "f", parameters: { properties } } },
    { name: "f", parameters: { properties } },
  ];
  const expected = { type: "function", function: { name: "f", parameters: { properties: kept } } };
  expect(dataOf(toRowTools({ note: () => {} }, parse(tools)) ?? null)).toEqual([expected, expected]);
  const recorded = toTools({ note: () => {} }, parse(tools));
  expect(recorded && dataOf(recorded)).toMatchObject([{ function: { parameters: { properties } } }, {}]);
});

describe("the turns of a row", () => {
  const said = (content: string, more: object = {}) => ({ role: "assistant", content, ...more });
  const called = (...ids: readonly string[]) =>
    said("", { tool_calls: ids.map((id) => ({ ...complete, id: id === "" ? undefined : id })) });
  const ofTools = (...names: readonly string[]) =>
    said("", { tool_calls: names.map((name) => ({ type: "function", function: { name, arguments: {} } })) });
  const result = (more: object = {}) => ({ role: "tool", content: "r", ...more });
  const resultOf = (name: string) => result({ name });
  const [response, user] = [result({ role: "tool_response" }), { role: "user", content: "q" }];
  const older = { role: "assistant", content: null, function_call: fn };
  const swift = { role: "tool_call", content: JSON.stringify(fn) };

  /** Shows results by their ids, calls by their ids, and sampled turns by their finish reasons. */
  const turnsOf = (messages: unknown, record: object = {}, notes: string[] = []): string => {
    const run = { note: (text: string) => void notes.push(text), skip: () => [] };
    const sampled = { record: parse(record) };
    const turns: readonly Turn[] = toTurns(run, parse(messages), { name: "messages", sampled }).map((turn) =>
      JSON.parse(textOf(turn)),
    );
    const show = ({ message, finish_reason, role, tool_call_id, tool_calls = [] }: Turn): string => {
      if (message) return `${show(message)} ${finish_reason}`;
      const ids = tool_calls.map(({ id }) => id);
      return `${role?.charAt(0)}${tool_call_id === undefined ? "" : ` ${tool_call_id}`}${ids.length > 0 ? ` [${ids}]` : ""}`;
    };
    return turns.map(show).join(", ");
  };

  it.each<[string, unknown, string, object?]>([
    ["a text", "a", "a stop"],
    ["a list in a string", JSON.stringify([said("a")]), "a stop"],
    ["a call", [called("c"), result({ tool_call_id: "c" })], "a [c] tool_calls, t c"],
    ["calls under an unknown key", [said("", { toolInvocations: [{ toolName: "search" }] })], "a null"],
    ["no calls under an unknown key", [said("a", { function_calls: [], tool_uses: "[]" })], "a stop"],
    ["results without ids", [called("c", "d"), result(), result()], "a [c,d] tool_calls, t c, t d"],
    ["results in turn", [called("c"), result(), called("d"), result()], "a [c] tool_calls, t c, a [d] tool_calls, t d"],
    ["an id", [called("c", "d"), result({ tool_call_id: "d" }), result()], "a [c,d] tool_calls, t d, t c"],
    [
      "results of named tools",
      [ofTools("f", "g", "f", "x"), ...["g", "f", "h"].map(resultOf), result()],
      "a [call_0_0,call_0_1,call_0_2,call_0_3] tool_calls, t call_0_1, t call_0_0, t call_0_2, t call_0_3",
    ],
    [
      "an id and a named tool",
      [called("c", "d"), result({ tool_call_id: "c" }), resultOf("f")],
      "a [c,d] tool_calls, t c, t d",
    ],
    ["calls without ids", [called("", ""), result()], "a [call_0_0,call_0_1] tool_calls, t call_0_0"],
    [
      "calls as messages",
      [swift, swift, response, swift],
      "a [call_0,call_1] tool_calls, t call_0, a [call_3] tool_calls",
    ],
    ["an older call", [older, { role: "function", name: "f", content: "r" }], "a [call_0_0] tool_calls, t call_0_0"],
    ["an older call without a result", [user, older], "u, a [call_1_0] tool_calls"],
    ["a result of no older call", [{ role: "function", name: "f", content: "r" }, said("a")], "f, a stop"],
    ["reasons", [said("a"), said("b")], "a length, a abort", { finish_reason: ["length", "abort"] }],
    ["more reasons", [said("a"), said("b")], "a stop, a abort", { finish_reason: ["length", "length", "abort"] }],
    ["the last reason", [said("a"), said("b"), user], "a stop, a length, u", { finish_reason: "length" }],
    ["its own reason", [said("a", { finish_reason: "length" }), called("c")], "a length, a [c] tool_calls"],
    ["a cut answer", [said("a", { finish_reason: "stop", truncated: true })], "a length"],
    [
      "a call as a part",
      [{ role: "assistant", content: [{ type: "tool_use", name: "f", input: {} }] }],
      "a tool_calls",
    ],
    ["a reason of an SDK", [said("a", { finish_reason: "maxTokens" })], "a length"],
    ["a call of Bedrock", [said("", { content: [{ toolUse: { name: "f" } }] })], "a tool_calls"],
    ["a call of Gemini", [said("", { content: [{ functionCall: { name: "f" } }] })], "a tool_calls"],
    [
      "a call in a function",
      [{ role: "tool_call", content: JSON.stringify({ function: fn }) }],
      "a [call_0] tool_calls",
    ],
    ["a list of reasons", [said("a")], "a abort", { stop_reasons: ["abort"] }],
    ["a stated end", [said("a"), said("b")], "a stop, a length", { status: "truncated" }],
    ["an end of its own", [said("a", { stopping_reason: "max_tokens" })], "a length"],
    ["another status", [said("a")], "a stop", { status: "completed", end: 3, stop: "</s>" }],
    ["a reason in an object", [said("a")], "a length", { finish_reason: { type: "length", length: 32 } }],
    ["a reason and a stop token", [said("a")], "a length", { finish_reason: "length", stop_reason: 7 }],
    ["a stop token", [{ ...called("c"), stop_reason: 128_009 }], "a [c] stop"],
    ["a stop text", [{ ...called("c"), stop_reason: "</answer>" }], "a [c] stop"],
    ["a call of Anthropic", [{ ...called("c"), stop_reason: "tool_use" }], "a [c] tool_calls"],
    ["no stop", [{ ...called("c"), stop_reason: null }], "a [c] tool_calls"],
    ["a flag of the row", [said("a")], "a length", { finish_reason: "tool_calls", truncated: true }],
    ["a filtered answer", [said("a", { finish_reason: "content_filter", truncated: true })], "a content_filter"],
  ])("with %s", (_, messages, turns, record) => {
    expect(turnsOf(messages, record)).toBe(turns);
  });

  it.each([
    ["overlong", true],
    ["hit_max_tokens", true],
    ["is_complete", false],
    ["has_eos", false],
  ])("note a flag `%s` that can say that an answer was cut", (key, value) => {
    const notes: string[] = [];
    for (const given of [value, !value, "x", 1]) turnsOf([said("a")], { [key]: given, game_finished: false }, notes);
    expect(notes.filter((note) => note.startsWith("`"))).toEqual([
      `\`${key}\` can say that an answer was cut, which rollcall does not read`,
    ]);
  });

  const unreadable = "`is_truncated` has values other than true and false, which rollcall does not read";

  it.each<[flags: readonly unknown[], finish: string, notes: readonly string[]]>([
    [[true, 1, 2, "1", "true", "TRUE", "yes", "T"], "length", []],
    [[false, 0, "0", "False", "no", "f", "", null], "stop", []],
    [[-1, "maybe", {}], "stop", [unreadable]],
  ])("with one of the flags %j have the finish reason %s", (flags, finish, expected) => {
    for (const is_truncated of flags)
      for (const read of [
        (notes: string[]) => turnsOf([said("a")], { is_truncated }, notes),
        (notes: string[]) => turnsOf([said("a", { is_truncated })], {}, notes),
      ]) {
        const notes: string[] = [];
        expect(read(notes)).toBe(`a ${finish}`);
        expect(notes.filter((note) => !note.startsWith("derived the missing finish_reason"))).toEqual(expected);
      }
  });

  it.each<[unknown, string]>([
    [[result()], "tool_call_id is missing, and no earlier call waits for a result"],
    [[called("c"), said("a"), result()], "tool_call_id is missing, and no earlier call waits for a result"],
    [[{ content: "a" }], "a message of messages has no role"],
    [{}, "messages is neither a list of messages nor text"],
    [[{ role: "tool_call", content: "{}" }], "the value is not a call with a function name"],
  ])("are refused if they are invalid (row %$)", (messages, fault) => {
    expect(() => turnsOf(messages)).toThrow(fault);
  });
});

it.each(['{"a":1}', '{"a":NaN}'])("the value of a document has its name: %s", (json) => {
  expect(Value.parsePython(Buffer.from(json), "b.json")?.require("a").document).toBe("b.json");
});
