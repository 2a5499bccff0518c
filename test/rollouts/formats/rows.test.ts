/** Rows of chat messages. */
import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { runHere } from "../../support/here.ts";
import { fileOf, itTells, type Row } from "./converting.ts";
import { call, chat, said, user } from "./records.ts";

const answer = said("6");
const asked = [user("q"), said("4"), user("r")];
const texts =
  "response_id outputFormat generation_model generated_by output_path judge_reply expected_output generated_patch";
const others = Object.fromEntries(texts.split(" ").map((name) => [name, "6"]));
const lists = { judge_messages: [user("q"), answer], raw_prompt: [answer], raw_messages: [answer, user("r")] };
const answers: Readonly<Record<string, unknown>> = {
  ...{ response: "6", reply: answer, other: [answer] },
  ...{ choices: [{ message: answer, finish_reason: "length" }], text: JSON.stringify([answer]) },
};
const ended = "some rows end with a message of the user";
const calling = (id: unknown, tool_call_id: unknown) => {
  const tool_calls = [{ ...call(""), id }];
  return [chat({ messages: [user("q"), said(null, { tool_calls }), { role: "tool", tool_call_id, content: "r" }] })];
};
/** A row of turns in alternation, which continues another one if it has more. */
const rowOf = (role: string, reward: number, ...contents: readonly string[]) => ({
  messages: ["q", ...contents].map((name, at) => ({
    role: at % 2 === 0 ? "user" : role,
    content: `{"name":"${name}"}`,
  })),
  reward,
});
const continued = "warning: the row continues the row before";
const fn = { name: "f", arguments: "{}" };
const older = [user("q"), said(null, { function_call: fn }), { role: "function", name: "f", content: "r" }];
const channels = (...more: readonly object[]) => more.map((own) => chat({ messages: [user("q"), said("a", own)] }));
const channel = "read turns of other channels than `final`, such as analysis, as answers";
const metrics = { reward: 0.5, tools: 2 };

itTells("a row of chat messages with %s", [
  ...Object.entries(answers).flatMap(([name, value]): readonly Row[] => {
    const refused = `the messages end before the answer, which can be \`${name}\``;
    const rows = [chat({ messages: asked, [name]: value })];
    return [
      [`the answer in ${name}`, rows, refused],
      [`the answer in ${name} and a format`, rows, refused, "--from openai-chat"],
    ];
  }),
  [
    "an expectation",
    [chat({ messages: asked, expected_response: "6", response: null })],
    `(u:q A:4 u:r) =1 & ${ended}`,
  ],
  ["other texts than answers", [chat({ messages: asked, ...others, ...lists })], "(u:q A:4 u:r) =1"],
  ["a result for no id", calling("c", ""), '"id":"c" & "tool_call_id":"c"'],
  ["a call without an id", calling("", ""), '"id":"call_1_0" & "tool_call_id":"call_1_0"'],
  ["ids that are numbers", calling(7, 7), '"id":7 & "tool_call_id":7'],
  ["another answer", ["f", "g"].map((own, at) => rowOf("assistant", at, own)), ") =0 (u:"],
  ["another call", ["f", "g"].map((own, at) => rowOf("tool_call", at, own)), ") =0 (u:"],
  ["messages in text", [chat({ messages: JSON.stringify(chat().messages) })], "(u:q A:a) =1"],
  ["metrics that are named like columns", [chat({ metrics })], '"reward":1,"metrics":{"reward":0.5,"tools":2}'],
  ["a reward in metrics", [chat({ metrics })], '"reward":0.5,"metrics":{"tools":2}', "--reward-from metrics.reward"],
  [
    "the calls, results and tools of OpenAI's older API",
    [{ messages: older, functions: [{ name: "f", description: "d", parameters: {} }], reward: 1 }],
    '"tool_calls":[{"id":"call_1_0","type":"function","function":{"name":"f","arguments":"{}"}}]}},' +
      '{"role":"tool","name":"f","content":"r","tool_call_id":"call_1_0"}],"tools":[{"type":"function","function":{"name":"f",' +
      '"description":"d","parameters":{}}}],"reward":1}',
  ],
  [
    "final answers and commentary with calls",
    channels({ channel: "final" }, { channel: "commentary", tool_calls: [call("c")] }),
    `no:${channel}`,
  ],
  ["an analysis", channels({ channel: "analysis" }), channel],
]);

it.each(["assistant", "tool_call"])("a check warns of a row that continues the %s of the row before", async (role) => {
  const { stderr } = await runHere(["check", fileOf([rowOf(role, 0, "f"), rowOf(role, 0, "f", "r", "g")])]);
  expect(stderr).toContain(continued);
});

it("rows of chat messages are rejected with their own reasons", async () => {
  const wrong = [{}, { reward: "none" }, {}, { messages: [7] }];
  const file = fileOf(wrong.map((faults, group_id) => chat({ group_id, ...faults })));
  const rejects = `${file}.rejected`;
  await runHere(["convert", file, "--on-invalid", "skip", "--rejects", rejects]);
  const reasons = readFileSync(`${rejects}.reasons`, "utf8").trimEnd().split("\n");
  expect(reasons.map((line) => JSON.parse(line))).toMatchObject([
    { line: 2, rule: "record-invalid", path: ["reward"], rejects_line: 1 },
    { line: 4, rule: "record-invalid", path: ["messages", 0], rejects_line: 2 },
  ]);
});
