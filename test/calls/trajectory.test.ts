import { readFileSync } from "node:fs";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  type ConversionResult,
  parsePath,
  type RewardSource,
  toMessages,
  toTrajectory,
} from "../../src/calls/index.ts";
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
        const call = `{"inputs":{"messages":[${list.join(" , ")}],"tools":[${tool}]},"output":{"choices":[${answer}]}}`;
        expect(trajectory(call)).toBe(
          `{"messages_and_choices":[${[...list, answer].join(",")}],"tools":[${tool}],"reward":1,"metadata":{}}`,
        );
      }),
    );
  });

  it("loses only the line ends of JSON on several lines", () => {
    const spread = JSON.stringify(
      { inputs: { messages: [{ role: "user", content: "a\n  b" }] }, output: "ok" },
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
  ])("ends with an output that consists of %s", (_, output, added) => {
    expect(JSON.parse(trajectory({ ...done, output })).messages_and_choices).toEqual([...messages, ...added]);
  });

  it("names the model that answered rather than the requested model", () => {
    const modelOf = (own: object) => JSON.parse(trajectory({ ...done, ...own })).metadata.model;
    const inputs = { messages, model: "alias" };
    expect(modelOf({ inputs, output: { choices: [choice], model: "exact" } })).toBe("exact");
    expect(modelOf({ inputs })).toBe("alias");
  });

  it("starts with a system prompt that is outside the messages", () => {
    const call = { ...done, inputs: { messages, system: "be kind" } };
    expect(JSON.parse(trajectory(call)).messages_and_choices[0]).toEqual({ role: "system", content: "be kind" });
  });

  it.each(["system", "developer"])(
    "starts with a %s message, without the system prompt outside the messages",
    (role) => {
      const start = [{ role, content: "be short" }, ...messages];
      const call = { ...done, inputs: { messages: start, system: "be kind" } };
      expect(JSON.parse(trajectory(call)).messages_and_choices).toEqual([...start, choice]);
    },
  );

  it.each([
    ["it has no output", { ...done, ended_at: null, output: null }],
    ["it was deleted", { ...done, deleted_at: "2025-01-01T00:00:02Z" }],
    ["it has no output", { ...done, output: null, exception: "boom" }],
    ["its inputs have no messages", { ...done, inputs: { prompt: "x" } }],
    ["its inputs have no messages", { ...done, inputs: { messages: [] } }],
    ["its inputs have no messages", { ...done, inputs: { messages: [7] } }],
    ["its inputs have no messages", { ...done, inputs: "x" }],
    ["it has no output", { ...done, output: null }],
    ["its output is not a message", { ...done, output: { choices: [] } }],
    ["its output is not a message", { ...done, output: { choices: [7] } }],
    ["its output is not a message", { ...done, output: 42 }],
    ["its output is not a message", { ...done, output: { score: 1 } }],
    ["its output has several choices", { ...done, output: { choices: [choice, choice] } }],
    ["its tools are not a list", { ...done, inputs: { messages, tools: "none" } }],
  ])("fails because %s (row %$)", (why, call) => {
    expect(trajectory(call)).toBe(`unfit: ${why}`);
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
      `{"inputs":{"messages":[{"role":"user"}]},"output":{"role":"assistant","score":${score}}}`;
    expect(trajectory(call("1.50"), from)).toContain('"reward":1.50,');
    expect(trajectory(call("true"), from)).toBe("unfit: its reward is not a number");
    expect(trajectory(call("null"), from)).toBe("unfit: it has no value at output.score");
  });
});

describe("a call as messages", () => {
  it("consists of its messages and the messages of its choices", () => {
    expect(JSON.parse(textOf(toMessages(parseRawJson(JSON.stringify(done)))))).toEqual([...messages, choice.message]);
  });
});
