import { readFileSync } from "node:fs";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type ConversionResult, type RewardSource, toMessages, toTrajectory } from "../../src/calls/convert-call.ts";
import { parsePath } from "../../src/calls/path.ts";
import { parseRawJson } from "../../src/json/raw-json.ts";

const sample = (name: string): string => {
  const text = readFileSync(`test/samples/${name}`, "utf8");
  return text.slice(text.indexOf(":") + 1, text.lastIndexOf("}"));
};

const textOf = (converted: ConversionResult): string =>
  "line" in converted ? converted.line : `unfit: ${converted.why}`;

const fromAttributes: RewardSource = { path: parsePath("attributes.reward", "--reward-from") };
const one: RewardSource = { text: "1" };
const trajectory = (call: unknown, reward: RewardSource = one): string =>
  textOf(toTrajectory(parseRawJson(typeof call === "string" ? call : JSON.stringify(call)), reward));

const messages = [{ role: "user", content: "hi" }];
const choice = { index: 0, finish_reason: "stop", message: { role: "assistant", content: "ho" } };
const done = { id: "c", ended_at: "2025-01-01T00:00:01Z", inputs: { messages }, output: { choices: [choice] } };

describe("a call as a trajectory", () => {
  it("has its messages, choice, tools and origin on one line", () => {
    const json = sample("call.tools.json");
    const line = textOf(toTrajectory(parseRawJson(json), fromAttributes));
    expect(line).not.toMatch(/[\n\r]/);
    const call = JSON.parse(json);
    expect(JSON.parse(line)).toEqual({
      messages_and_choices: [...call.inputs.messages, call.output.choices[0]],
      tools: call.inputs.tools,
      reward: 1,
      metadata: {
        call_id: call.id,
        trace_id: call.trace_id,
        thread_id: call.thread_id,
        turn_id: call.turn_id,
        model: "gpt-4o-2024-08-06",
      },
      start_time: call.started_at,
    });
    expect(line).toContain('"reward":1.0,');
  });

  it("keeps every byte of messages, choices and tools that are on one line", () => {
    const raw = fc.constantFrom(
      '{"role" : "user", "content":"\\u0061\\u200b", "n":1e400}',
      '{"role":"user","role":"tool"}',
    );
    fc.assert(
      fc.property(fc.array(raw, { minLength: 1, maxLength: 4 }), raw, (list, tool) => {
        const answer = '{"index": 0, "message":{"role":"assistant","x":12345678901234567890},"logprobs":{"a":-0.0}}';
        const call = `{"ended_at":"1","inputs":{"messages":[${list.join(" , ")}],"tools":[${tool}]},"output":{"choices":[${answer}]}}`;
        expect(trajectory(call)).toBe(
          `{"messages_and_choices":[${[...list, answer].join(",")}],"tools":[${tool}],"reward":1,"metadata":{}}`,
        );
      }),
    );
  });

  it("loses only the line ends of JSON on several lines", () => {
    const spread = JSON.stringify(
      { ...done, id: undefined, inputs: { messages: [{ role: "user", content: "a\n  b" }] }, output: "ok" },
      null,
      2,
    );
    const lines = spread.replaceAll("\n", "\r\n");
    expect(JSON.parse(trajectory(lines))).toEqual({
      messages_and_choices: [
        { role: "user", content: "a\n  b" },
        { role: "assistant", content: "ok" },
      ],
      reward: 1,
      metadata: {},
    });
    expect(trajectory(lines)).not.toMatch(/[\n\r]/);
  });

  it.each([
    ["a message", { role: "assistant", content: "ho" }, [{ role: "assistant", content: "ho" }]],
    ["several messages", [{ role: "assistant" }, { role: "tool" }], [{ role: "assistant" }, { role: "tool" }]],
    ["a text", "ho", [{ role: "assistant", content: "ho" }]],
    ["a choice", { choices: [choice] }, [choice]],
    ["a choice and the error null", { choices: [choice], error: null }, [choice]],
  ])("ends with an output that consists of %s", (_, output, added) => {
    const call = { ...done, output, exception: "" };
    expect(JSON.parse(trajectory(call)).messages_and_choices).toEqual([...messages, ...added]);
  });

  it("names the model that answered rather than the requested model", () => {
    const modelOf = (own: object) => JSON.parse(trajectory({ ...done, ...own })).metadata.model;
    const inputs = { messages, model: "alias" };
    expect(modelOf({ inputs, output: { choices: [choice], model: "exact" } })).toBe("exact");
    expect(modelOf({ inputs })).toBe("alias");
  });

  it.each([
    ...["system", "system_prompt", "systemPrompt", "system_message", "system_instruction", "systemInstruction"],
    ...["instructions", "preamble"],
  ])("starts with the system prompt that is outside the messages in %s", (key) => {
    const call = { ...done, inputs: { messages, [key]: "be kind" } };
    expect(JSON.parse(trajectory(call)).messages_and_choices[0]).toEqual({ role: "system", content: "be kind" });
  });

  it("has the tools of older requests, and no second copy of a history in the messages", () => {
    const history = [messages[0]];
    const call = { ...done, inputs: { messages, functions: [{ name: "f" }], history, max_history: 5, persona: "" } };
    expect(JSON.parse(trajectory(call))).toMatchObject({ tools: [{ type: "function", function: { name: "f" } }] });
  });

  it.each(["system", "developer"])(
    "starts with a %s message, without the system prompt outside the messages",
    (role) => {
      const start = [{ role, content: "be short" }, ...messages];
      const call = { ...done, inputs: { messages: start, system: "be kind" } };
      expect(JSON.parse(trajectory(call)).messages_and_choices).toEqual([...start, choice]);
    },
  );

  it.each<readonly [why: string, call: object]>([
    ["it has not ended", { ...done, ended_at: null }],
    ["it has not ended", { ...done, summary: { vendor: { status: "running" } } }],
    ["it failed with an exception", { ...done, exception: "boom" }],
    ["it failed", { ...done, summary: { status: "error" } }],
    ['it has the status "cancelled"', { ...done, summary: { weave: { status: "cancelled" } } }],
    ['it has the status "in_progress"', { ...done, output: { object: "response", status: "in_progress", output: [] } }],
    ["it was deleted", { ...done, deleted_at: "2025-01-01T00:00:02Z" }],
    ["it failed with an exception", { ...done, output: null, exception: "boom" }],
    ["its inputs have no messages", { ...done, inputs: { prompt: "x" } }],
    ["its inputs have no messages", { ...done, inputs: { messages: [] } }],
    ["its inputs have no messages", { ...done, inputs: { messages: [7] } }],
    ["its inputs have no messages", { ...done, inputs: "x" }],
    ...["persona", "history", "developer", "few_shot", "demonstrations"].map((key) => {
      const why = `its inputs have "${key}", which can be a part of the prompt`;
      return [why, { ...done, inputs: { messages, [key]: [{ text: "You are X." }] } }] as const;
    }),
    ...["toolCalls", "parts", "text"].map((key) => {
      const output = { role: "assistant", content: "", id: "a", [key]: ["4"] };
      return [`its output has an unknown member "${key}" in place of the content`, { ...done, output }] as const;
    }),
    ["it has no output", { ...done, output: null }],
    ["its output is not a message", { ...done, output: { choices: [] } }],
    ["its output is not a message", { ...done, output: { choices: [7] } }],
    ["its output is not a message", { ...done, output: 42 }],
    ["its output is not a message", { ...done, output: { score: 1 } }],
    ["its output has several choices", { ...done, output: { choices: [choice, choice] } }],
    ["its output has an error", { ...done, output: { choices: [choice], error: { code: 502 } } }],
    ["its output has an error", { ...done, output: { role: "assistant", content: "h", error: "broken off" } }],
    ["its output has an error", { ...done, output: { role: "assistant", content: "h", finish_reason: "error" } }],
    ["its output has an error", { ...done, output: { choices: [{ ...choice, error: { code: 502 } }] } }],
    ["its output has an error", { ...done, output: { choices: [{ ...choice, finish_reason: "error" }] } }],
    ["its output is not a message of the assistant", { ...done, output: { choices: [{ message: messages[0] }] } }],
    ["its tools are not a list of objects", { ...done, inputs: { messages, tools: "none" } }],
    ["its tools are not a list of objects", { ...done, inputs: { messages, tools: ["weave:///e/p/object/t:1"] } }],
    [
      "the content of its message 2 is neither a text nor a list",
      { ...done, output: { choices: [{ message: { role: "assistant", content: 7 } }] } },
    ],
  ])("fails because %s (row %$)", (why, call) => {
    expect(trajectory(call)).toBe(`unfit: ${why}`);
  });

  it("has its conversation next to members that say nothing", () => {
    const inputs = { messages, developer_id: "d", chat_history: "none", personalization: "on", historyVersion: "v" };
    const output = { role: "assistant", content: "", service_tier: "default", finish_status: "stop", phase: "final" };
    expect(trajectory({ ...done, inputs, output })).not.toContain("unfit");
    expect(trajectory({ ...done, inputs, output: { ...output, error: { message: null } } })).not.toContain("unfit");
  });

  const uri = "weave:///team/project/object/Answer:d1gEst";
  const placeholder = { _weave: { error: "<EXCEEDS_LIMITS>" } };
  const said = (content: unknown, more: object = {}) => ({
    choices: [{ message: { role: "assistant", content, ...more } }],
  });
  const spoken = { type: "message", role: "assistant", content: [{ type: "output_text", text: uri }] };
  const gemini = { candidates: [{ content: { role: "model", parts: [{ text: uri }] } }] };
  const asked = (content: unknown, role = "user") => ({ messages: [{ role, content }] });
  const call = (args: string) => ({ id: "1", type: "function", function: { name: "get", arguments: args } });

  it.each([
    ["is a reference", { output: uri }],
    ["is a reference", { output: "\ts3-artifact:///bucket/answer.json\n" }],
    ["is a reference", { output: "@@@langfuseMedia:type=text/plain|id=7|source=bytes@@@" }],
    ["is a reference", { output: { choices: uri } }],
    ["is a reference", { output: { choices: [{ index: 0, message: uri }] } }],
    ["is a reference", { output: said(uri) }],
    ["is a reference", { output: { role: "assistant", content: uri } }],
    ["is a reference", { output: said([{ type: "text", text: uri }]) }],
    ["is a reference", { output: said(null, { tool_calls: uri }) }],
    ["is a reference", { output: said(null, { tool_calls: [call(uri)] }) }],
    ["is a reference", { output: said("4", { reasoning_content: uri }) }],
    ["is a reference", { inputs: asked(uri) }],
    ["is a reference", { inputs: asked(uri, "system") }],
    ["is a reference", { inputs: { input: "hi" }, output: { object: "response", output: [spoken] } }],
    ["is a reference", { inputs: { contents: [{ role: "user", parts: [{ text: "hi" }] }] }, output: gemini }],
    ["is a reference", { output: { type: "message", role: "assistant", content: [{ type: "text", text: uri }] } }],
    ["is a placeholder", { output: placeholder }],
    ["is a placeholder", { output: [placeholder] }],
    ["is a placeholder", { output: JSON.stringify(placeholder) }],
    ["is a placeholder", { output: "<EXCEEDS_LIMITS>" }],
    ["is a placeholder", { output: "REDACTED" }],
    ["is a placeholder", { output: said("[REDACTED]") }],
    ["is a placeholder", { output: said(placeholder) }],
    ["is a placeholder", { output: said(["4", { _type: "CustomWeaveType", files: {} }]) }],
    ["is a placeholder", { inputs: asked(placeholder) }],
    ["is a placeholder", { inputs: asked(placeholder, "tool") }],
    ["is the printed name of an object", { output: "<openai.AsyncStream object at 0x7f1b2c3d4e50>" }],
    ["is the printed name of an object", { output: "<bound method Chat.run of <chat.Chat object at 0x10fA>>" }],
    ["is the printed name of an object", { output: "<class 'openai.Stream'>" }],
    ["is the printed name of an object", { output: "<Response [200 OK]>" }],
    ["is the printed name of an object", { output: "{'role': 'assistant', 'content': 'a'}" }],
    ["is the printed name of an object", { output: "[{'index': 0, 'finish_reason': 'stop'}]" }],
    ["is the printed name of an object", { output: "ModelResponse(id='1', tool_calls=[])" }],
    ["is the printed name of an object", { output: said("[object Object]") }],
    ["is the printed name of an object", { output: { choices: "[object Object]" } }],
    ["is the printed name of an object", { output: "ChatCompletion(id='1', choices=[Choice(finish_reason='stop')])" }],
  ])("fails because a message or the output %s (row %$)", (why, own) => {
    const { inputs = { messages }, ...others } = { inputs: undefined, ...own };
    expect(trajectory({ ...done, ...others, inputs })).toMatch(new RegExp(`^unfit: its (output|message \\d) ${why}`));
    expect(textOf(toMessages(parseRawJson(JSON.stringify({ ...done, ...others, inputs }))))).toMatch(/^unfit: /);
  });

  it.each([
    "<b>4</b>",
    "see <a.B object at 0x7f> for 4",
    "Search(query='4')",
    "{'answer': 4}",
    "{'question': 'q', 'choices': ['3', '4']}",
    "<class 'int'>",
    "<class>",
    "The name is REDACTED",
    "https://example.com/object/4",
    '{"weave":1}',
    '{"type":"_weave"}',
    "file:///tmp is a folder",
    "s3:/// has no path",
  ])("has the answer %s, which only looks like a reference or a printed object", (content) => {
    const result = toTrajectory(parseRawJson(JSON.stringify({ ...done, output: said(content) })), one);
    expect(result).toMatchObject({ line: expect.stringContaining(JSON.stringify(content)), references: [] });
  });

  it("has a printed object that a tool or a person said", () => {
    for (const role of ["tool", "user"])
      expect(trajectory({ ...done, inputs: asked("<a.B object at 0x7f>", role) })).toMatch(/^\{/);
    expect(trajectory({ ...done, inputs: asked("file:///tmp/report.txt", "tool") })).toMatch(/^\{/);
    expect(trajectory({ ...done, inputs: asked("REDACTED") })).toMatch(/^\{/);
  });

  it.each([
    ["a text", asked(`Read ${uri}, please`), uri],
    [
      "a part of several",
      asked([
        { type: "text", text: "Look" },
        { type: "image_url", image_url: { url: uri } },
      ]),
      uri,
    ],
    ["a result", asked(uri, "tool"), uri],
  ])("names the reference in %s", (_, inputs, reference) => {
    const result = toTrajectory(parseRawJson(JSON.stringify({ ...done, inputs })), one);
    expect(result).toMatchObject({ references: [{ message: 1, reference: expect.stringContaining(reference) }] });
  });

  it.each(
    "file unix SQLite sqlite3 duckdb postgres postgresql+psycopg mysql mariadb oracle mssql redis jdbc data".split(" "),
  )("has no reference in an address of %s", (scheme) => {
    const inputs = asked(`see ${scheme}:///tmp/x`);
    expect(toTrajectory(parseRawJson(JSON.stringify({ ...done, inputs })), one)).toMatchObject({ references: [] });
  });

  it("is the trajectory that the local service logged, whatever it says", () => {
    const logged = { ...done, op_name: "rollcall.log", output: said(uri) };
    expect(trajectory(logged)).toContain(uri);
  });

  it("has the reward of attributes.reward by default", () => {
    expect(JSON.parse(trajectory({ ...done, attributes: { reward: 0.25 } }, fromAttributes)).reward).toBe(0.25);
    expect(trajectory(done, fromAttributes)).toBe("unfit: it has no value at attributes.reward");
    expect(trajectory({ ...done, attributes: { reward: "1" } }, fromAttributes)).toBe(
      "unfit: its reward is not a number",
    );
  });

  it("has the reward of another path, as it is spelled", () => {
    const from: RewardSource = { path: parsePath("output.score", "--reward-from") };
    const call = (score: string) =>
      `{"ended_at":"1","inputs":{"messages":[{"role":"user"}]},"output":{"role":"assistant","score":${score}}}`;
    expect(trajectory(call("1.50"), from)).toContain('"reward":1.50,');
    expect(trajectory(call("true"), from)).toBe("unfit: its reward is not a number");
    expect(trajectory(call("null"), from)).toBe("unfit: it has no value at output.score");
  });
});

describe("a call as messages", () => {
  it("fails if its output has an error next to its text", () => {
    const cut = { ...done, output: { choices: [choice], error: { code: 502 } } };
    expect(textOf(toMessages(parseRawJson(JSON.stringify(cut))))).toBe("unfit: its output has an error");
  });

  it("consists of its messages and the messages of its choices", () => {
    expect(JSON.parse(textOf(toMessages(parseRawJson(JSON.stringify(done)))))).toEqual([...messages, choice.message]);
  });
});
