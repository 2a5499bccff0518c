import { describe, expect, it } from "vitest";
import { type ConversionResult, toMessages, toTrajectory } from "../../src/calls/convert-call.ts";
import { parseRawJson } from "../../src/json/raw-json.ts";
import { page } from "../output/call.ts";
import { runHere } from "../support/here.ts";

const ended = { id: "c", started_at: "2026-01-01T00:00:00Z", ended_at: "2026-01-01T00:00:01Z" };
const messagesOf = (call: object): unknown => {
  const result = toMessages(parseRawJson(JSON.stringify({ ...ended, ...call })));
  return "line" in result ? JSON.parse(result.line) : result.why;
};
const trajectoryOf = (call: object): ConversionResult =>
  toTrajectory(parseRawJson(JSON.stringify({ ...ended, ...call })), { text: "1" });

const user = { role: "user", content: "Weather in Bern?" };
const askWeather = (id: string) => ({
  id,
  type: "function",
  function: { name: "get_weather", arguments: '{"city":"Bern"}' },
});
const answered = (id: string, content: unknown, more: object = {}) => ({
  role: "tool",
  tool_call_id: id,
  content,
  ...more,
});
const said = (content: string | null, more: object = {}) => ({ role: "assistant", content, ...more });

const item = { type: "function_call", call_id: "a", name: "get_weather", arguments: '{"city":"Bern"}' };
const message = { type: "message", role: "assistant", content: [{ type: "output_text", text: "Rain." }] };
const response = { object: "response", status: "completed", output: [message] };
const responses = {
  inputs: {
    instructions: "Be brief.",
    input: [user, item, { type: "function_call_output", call_id: "a", output: "rain" }],
    tools: [{ type: "function", name: "get_weather", parameters: { type: "object" } }, { type: "web_search" }],
  },
  output: response,
};

const ask = { functionCall: { name: "get_weather", args: { city: "Bern" } } };
const contents = [
  { role: "user", parts: [{ text: "Weather in Bern?" }] },
  { role: "model", parts: [ask] },
  { role: "user", parts: [{ functionResponse: { name: "get_weather", response: { result: "rain" } } }] },
];
const candidate = { content: { role: "model", parts: [{ text: "Rain." }] }, finish_reason: "STOP", index: 0 };
const declared = [{ function_declarations: [{ name: "get_weather", parameters_json_schema: { type: "object" } }] }];
const gemini = {
  inputs: { model: "g", contents, config: { system_instruction: "Be brief.", tools: declared } },
  output: { candidates: [candidate], model_version: "g" },
};

const geminiOverHttp = {
  inputs: {
    ...{ contents, systemInstruction: { parts: [{ text: "Be brief." }] } },
    tools: [{ functionDeclarations: [{ name: "get_weather", parameters: { type: "object" } }] }],
  },
  output: { candidates: [{ ...candidate, finish_reason: undefined, finishReason: "STOP" }], modelVersion: "g" },
};

const textPart = (text: string) => ({ type: "text", text });
const imagePart = (url: string) => ({ type: "image_url", image_url: { url } });
const filePart = (file: object) => ({ type: "file", file });
const image = (source: object) => ({ role: "user", content: [{ type: "image", source }] });
const use = { type: "tool_use", id: "a", name: "get_weather", input: { city: "Bern" } };
const twoTexts = [textPart("no city"), textPart("no country")];
const failure = { type: "tool_result", tool_use_id: "a", is_error: true, content: [textPart("no city")] };
const anthropic = {
  inputs: {
    system: "Be brief.",
    messages: [user, { role: "assistant", content: [use] }, { role: "user", content: [failure] }],
    tools: [{ name: "get_weather", input_schema: { type: "object" } }],
  },
  output: {
    type: "message",
    role: "assistant",
    content: [
      { type: "thinking", thinking: "Sorry.", signature: "x" },
      { type: "text", text: "No such city." },
    ],
    stop_reason: "max_tokens",
  },
};

const system = { role: "system", content: "Be brief." };
const tool = { type: "function", function: { name: "get_weather", parameters: { type: "object" } } };

describe("a call of a model's API", () => {
  it.each([
    ["OpenAI's Responses", responses, "a", answered("a", "rain"), said("Rain."), "stop"],
    ["Gemini", gemini, "call_0", answered("call_0", "rain", { name: "get_weather" }), said("Rain."), "stop"],
    [
      "Gemini over HTTP",
      geminiOverHttp,
      "call_0",
      answered("call_0", "rain", { name: "get_weather" }),
      said("Rain."),
      "stop",
    ],
    [
      "Anthropic",
      anthropic,
      "a",
      answered("a", "no city", { is_error: true }),
      said("No such city.", { reasoning_content: "Sorry." }),
      "length",
    ],
  ])("becomes the same messages, choice and tools in %s", async (_, call, id, result, answer, finish_reason) => {
    const before = [system, user, said(null, { tool_calls: [askWeather(id)] }), result];
    expect(messagesOf(call)).toEqual([...before, answer]);
    const converted = trajectoryOf(call);
    const line = "line" in converted ? converted.line : "";
    expect(JSON.parse(line)).toMatchObject({
      messages_and_choices: [...before, { finish_reason, index: 0, message: answer }],
      tools: [tool],
    });
    expect((await runHere(["check", "--json"], { stdin: line })).code).toBe(0);
    const text = await page({ ...ended, ...call });
    expect(text).toMatch(/system\n +│ Be brief\.[\s\S]*→ get_weather[\s\S]*│ city: Bern/);
    expect(text.match(/Be brief\.|in Bern\?|Rain\.|No such city\./g)).toHaveLength(3);
    expect(text).not.toMatch(/type: (input_text|output_text|function_call)|functionCall|function_response/);
  });

  const withInput = (input: unknown, more: object = {}) => ({ inputs: { input, ...more }, output: response });

  it.each([
    ["text", "Weather in Bern?", [user]],
    [
      "parts with a picture",
      [{ role: "user", content: [{ type: "input_image", image_url: "data:image/png;base64,AA" }] }],
      [{ role: "user", content: [imagePart("data:image/png;base64,AA")] }],
    ],
    [
      "a custom tool whose result is incomplete",
      [
        user,
        { type: "custom_tool_call", call_id: "b", name: "run", input: "ls" },
        { type: "custom_tool_call_output", call_id: "b", output: "x", status: "incomplete" },
      ],
      [
        user,
        said(null, { tool_calls: [{ id: "b", type: "custom", custom: { name: "run", input: "ls" } }] }),
        answered("b", "x", { status: "incomplete" }),
      ],
    ],
    ["an earlier answer", [{ role: "assistant", content: "Hi." }, user], [said("Hi."), user]],
  ])("has the input of Responses if it is %s", (_, input, expected) => {
    expect(messagesOf(withInput(input))).toEqual([...expected, said("Rain.")]);
  });

  it("has the instructions of the reply if the inputs of Responses have none", () => {
    const call = { inputs: { input: "q" }, output: { ...response, instructions: "Be brief." } };
    expect(messagesOf(call)).toEqual([system, { role: "user", content: "q" }, said("Rain.")]);
    const listed = withInput("q", { instructions: [{ role: "developer", content: "Be kind." }] });
    expect(messagesOf(listed)).toEqual([
      ...[{ role: "developer", content: "Be kind." }, { role: "user", content: "q" }, said("Rain.")],
    ]);
  });

  it("is shown with a part of Responses that is no text", async () => {
    const content = [...message.content, { type: "output_audio", transcript: "Sun." }];
    const output = { ...response, output: [{ ...message, content }] };
    expect(await page({ ...ended, ...withInput("x"), output })).toMatch(/Rain\.[\s\S]*Sun\./);
  });

  it("has the other members of a candidate of Gemini in its choice", () => {
    const output = { candidates: [{ ...candidate, avgLogprobs: -0.5 }] };
    expect(trajectoryOf({ ...gemini, output })).toMatchObject({ line: expect.stringContaining('"avgLogprobs":-0.5') });
  });

  it.each([
    ["an earlier response", withInput("x", { previous_response_id: "r" }), /earlier messages \(previous_response_id\)/],
    ["a stored conversation", withInput("x", { conversation: "c" }), /earlier messages \(conversation\)/],
    ["a stored prompt", withInput("x", { prompt: { id: "p" } }), /earlier instructions \(prompt\)/],
    [
      "a built-in tool",
      { ...responses, output: { output: [{ type: "web_search_call", id: "w" }, message] } },
      /web_search_call/,
    ],
    [
      "code that Gemini ran",
      { ...gemini, output: { candidates: [{ content: { parts: [{ executable_code: { code: "1" } }] } }] } },
      /executable_code/,
    ],
    ["several candidates", { ...gemini, output: { candidates: [candidate, candidate] } }, /several choices/],
    ["no candidate", { ...gemini, output: { prompt_feedback: {} } }, /its output is not a message/],
    [
      "a search by Anthropic",
      { ...anthropic, output: { ...anthropic.output, content: [{ type: "server_tool_use", id: "s" }] } },
      /server_tool_use/,
    ],
    [
      "events of a stream of Anthropic",
      { ...anthropic, output: [{ type: "message_start", message: { role: "assistant", content: [] } }] },
      /its output is not a message/,
    ],
  ])("is not exported but shown if it has %s", async (_, call, why) => {
    expect(messagesOf(call)).toMatch(why);
    expect(trajectoryOf(call)).toMatchObject({ why: expect.stringMatching(why) });
    expect(await page({ ...ended, ...call })).toMatch(/│ Be brief\.|│ x/);
  });

  it.each([
    ["text", "Weather in Bern?", [user]],
    ["a list of texts", ["Weather in", "Bern?"], [{ role: "user", content: ["Weather in", "Bern?"].map(textPart) }]],
    ["one content", contents[0], [user]],
    [
      "texts before and after a content",
      ["Hi", { role: "model", parts: [{ text: "Rain." }] }, "Weather in Bern?"],
      [{ role: "user", content: "Hi" }, said("Rain."), user],
    ],
    ["a content without a role", [{ parts: [{ text: "Weather in Bern?" }] }], [user]],
    ["one part", { text: "Weather in Bern?" }, [user]],
    [
      "a picture",
      { inline_data: { mime_type: "image/png", data: "AA" } },
      [{ role: "user", content: [imagePart("data:image/png;base64,AA")] }],
    ],
    [
      "a sound",
      { inlineData: { mimeType: "audio/wav", data: "AA" } },
      [{ role: "user", content: [{ type: "input_audio", input_audio: { data: "AA", format: "wav" } }] }],
    ],
    [
      "calls with ids and an error",
      [
        { role: "model", parts: [{ function_call: { id: "b", name: "get_weather", args: { city: "Bern" } } }] },
        { role: "user", parts: [{ function_response: { id: "b", name: "get_weather", response: { error: "down" } } }] },
        { role: "model", parts: [ask] },
        { role: "user", parts: [{ function_response: { name: "get_weather", response: { result: "rain" } } }] },
      ],
      [
        ...[said(null, { tool_calls: [askWeather("b")] }), answered("b", '{"error":"down"}', { name: "get_weather" })],
        ...[said(null, { tool_calls: [askWeather("call_0")] }), answered("call_0", "rain", { name: "get_weather" })],
      ],
    ],
    [
      "files, a picture and a text",
      [
        { file_data: { mime_type: "application/pdf", file_uri: "gs://a" } },
        { inline_data: { mime_type: "application/pdf", data: "AA", display_name: "a.pdf" } },
        { fileData: { mimeType: "image/png", fileUri: "gs://b" } },
        "Hi",
      ],
      [
        {
          role: "user",
          content: [
            filePart({ file_id: "gs://a" }),
            filePart({ filename: "a.pdf", file_data: "data:application/pdf;base64,AA" }),
            ...[imagePart("gs://b"), textPart("Hi")],
          ],
        },
      ],
    ],
    [
      "thoughts, a text in two parts, and a call without arguments",
      {
        role: "model",
        parts: [{ text: "Hm.", thought: true }, { text: "Ra" }, { text: "in." }, { functionCall: { name: "f" } }],
      },
      [
        said("Rain.", {
          reasoning_content: "Hm.",
          tool_calls: [{ id: "call_0", type: "function", function: { name: "f", arguments: "{}" } }],
        }),
      ],
    ],
    [
      "two results of a function and a text in one content",
      [
        { role: "model", parts: [ask, ask] },
        {
          role: "user",
          parts: [
            { functionResponse: { name: "get_weather", response: { output: "rain" } } },
            { functionResponse: { name: "get_weather", response: { result: "sun", at: 1 } } },
            { text: "Then?" },
          ],
        },
      ],
      [
        said(null, { tool_calls: [askWeather("call_0"), askWeather("call_1")] }),
        answered("call_0", "rain", { name: "get_weather" }),
        answered("call_1", '{"result":"sun","at":1}', { name: "get_weather" }),
        { role: "user", content: "Then?" },
      ],
    ],
  ])("has the contents of Gemini if they are %s", (_, given, expected) => {
    expect(messagesOf({ ...gemini, inputs: { contents: given } })).toEqual([...expected, said("Rain.")]);
  });

  it.each([
    [
      "results and a text",
      {
        role: "user",
        content: [
          { type: "tool_result", tool_use_id: "b" },
          failure,
          { ...failure, content: twoTexts },
          textPart("Then?"),
        ],
      },
      [
        ...[
          answered("b", ""),
          answered("a", "no city", { is_error: true }),
          answered("a", twoTexts, { is_error: true }),
        ],
        { role: "user", content: [textPart("Then?")] },
      ],
    ],
    [
      "an answer with two thoughts and a call",
      { role: "assistant", content: [...["A", "B"].map((thinking) => ({ type: "thinking", thinking })), use] },
      [said(null, { reasoning_content: "A\nB", tool_calls: [askWeather("a")] })],
    ],
    [
      "an answer with citations",
      { role: "assistant", content: [{ ...textPart("Rain."), citations: [1] }, use] },
      [said(null, { content: [{ ...textPart("Rain."), citations: [1] }], tool_calls: [askWeather("a")] })],
    ],
    [
      "a picture by its address",
      image({ type: "url", url: "https://a" }),
      [{ role: "user", content: [imagePart("https://a")] }],
    ],
    ["a picture that the service keeps", image({ type: "file", file_id: "f" }), /image/],
  ])("has the messages of Anthropic if they are %s", (_, given, expected) => {
    const messages = messagesOf({ ...anthropic, inputs: { messages: [given] } });
    if (expected instanceof RegExp) expect(messages).toMatch(expected);
    else expect(messages).toEqual([...expected, said("No such city.", { reasoning_content: "Sorry." })]);
  });

  it("has the pictures and texts in the documents of Anthropic", () => {
    const source = { type: "base64", media_type: "image/png", data: "AA" };
    const chunks = { type: "content", content: [{ type: "text", text: "a chunk" }] };
    const text = { type: "text", media_type: "text/plain", data: "the terms" };
    const content = [
      { type: "image", source },
      ...[chunks, text].map((given) => ({ type: "document", source: given })),
      { type: "document", title: "t.pdf", source: { ...source, media_type: "application/pdf" } },
    ];
    expect(messagesOf({ ...anthropic, inputs: { messages: [{ role: "user", content }] } })).toMatchObject([
      {
        role: "user",
        content: [
          imagePart("data:image/png;base64,AA"),
          { type: "text", text: "a chunk" },
          { type: "text", text: "the terms" },
          filePart({ filename: "t.pdf", file_data: "data:application/pdf;base64,AA" }),
        ],
      },
      {},
    ]);
  });

  it("keeps the blocks of a logged trajectory", () => {
    const { messages } = anthropic.inputs;
    expect(messagesOf({ op_name: "rollcall.log", inputs: { messages } })).toEqual(messages);
  });

  it("joins the chunks of a stream of Gemini, and takes the last event of a stream of Responses", () => {
    const chunk = (part: object, more: object = {}) => ({ candidates: [{ content: { parts: [part] }, ...more }] });
    const chunks = [
      chunk({ text: "Let me", thought: true }),
      chunk({ text: "Ra" }),
      chunk({ text: "in." }, { finishReason: "MAX_TOKENS" }),
    ];
    const answer =
      '"finish_reason":"length","index":0,"message":{"role":"assistant","content":"Rain.","reasoning_content":"Let me"}';
    expect(trajectoryOf({ ...gemini, output: chunks })).toMatchObject({ line: expect.stringContaining(answer) });
    const events = [
      { type: "response.created", response: { output: [] } },
      { type: "response.completed", response },
    ];
    expect(messagesOf({ ...responses, output: events })).toEqual(messagesOf(responses));
  });

  it("has the calls that the SDK of Gemini made itself, only once", async () => {
    const output = { ...gemini.output, automatic_function_calling_history: contents };
    const call = { ...gemini, inputs: { contents: "Weather in Bern?" }, output };
    expect(messagesOf(call)).toHaveLength(4);
    expect(await page(call)).not.toContain("automatic_function_calling_history");
  });

  it("shows all parts of a block", async () => {
    const block = (type: string, more: object) => ({ type, ...more });
    const content = [
      block("document", { source: { type: "text", media_type: "text/plain", data: "the terms" }, title: "Terms" }),
      block("text", { text: "Read it.", cache_control: { type: "ephemeral" } }),
      block("image", { source: { type: "url", url: "https://a.example/b.png" }, note: "kept" }),
    ];
    const text = await page({ ...ended, inputs: { messages: [{ role: "user", content }] } });
    for (const shown of ["│ the terms", "title: Terms", "│ Read it.", "cache_control", "note: kept"])
      expect(text).toContain(shown);
  });

  it.each([
    { input: 5 },
    { input: [5] },
    { input: [{ type: "function_call" }] },
    { contents: [{ parts: [{ functionCall: {} }] }] },
  ])("is shown as data if its inputs are of another shape (row %$)", async (inputs) => {
    const call = { ...ended, op_name: "openai.responses.create", inputs };
    expect(await page(call)).toMatch(/│ (input|contents):/);
    expect(messagesOf(call)).toMatch(/^it/);
  });
});
