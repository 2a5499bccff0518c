import { describe, expect, it } from "vitest";
import { sliceText } from "../../../src/json/json-bytes.ts";
import { JsonReader } from "../../../src/json/reader.ts";
import { findInnermost, startOf } from "../../../src/json/table.ts";
import { keyUses } from "../../../src/rollouts/check/block.ts";
import { inspectTrajectory } from "../../../src/rollouts/check/trajectory.ts";
import { findPrompt } from "../../../src/rollouts/check/trajectory-prompt.ts";
import { TrajectoryFacts } from "../../../src/rollouts/index/fact-columns.ts";

const trainingNames = ["choice", "message", "scored", "unscored", "tools", "untooled", "offset", "local"];
/** All trajectories share these facts, so the facts of an earlier trajectory must not remain. */
const facts = new TrajectoryFacts();

/** Returns the facts of a trajectory, and its problems as rules with paths. */
const inspect = (json: string) => {
  const reader = new JsonReader(keyUses);
  const bytes = Buffer.from(json);
  expect(reader.read(bytes, { skipsLeaves: true })).toBe(true);
  const table = reader.copyTable(bytes);
  const problems: string[] = [];
  const report = (rule: string, _: unknown, node: number, ...steps: readonly (string | number)[]) => {
    const { path } = findInnermost(table, { from: 0, byte: startOf(table, node) });
    problems.push(`${rule} ${[...path, ...steps].join(".")}`);
  };
  const walk = inspectTrajectory(table, 0, facts, report, { needsTurns: true, canHaveMarks: true });
  if (!walk) return { problems };
  const { choices, choicesWithLogprobs, finishReason, callsTools } = walk;
  const { reward, hasGreeting } = facts;
  const prompt = findPrompt(table, facts);
  return {
    ...{ choices, choicesWithLogprobs, finishReason, reward, callsTools, hasGreeting, problems },
    turns: walk.turns.count,
    characters: walk.turns.characters,
    scores: walk.turns.scores.length,
    prompt: prompt && JSON.parse(`[${sliceText(table.bytes, prompt)}]`),
    hasSteps: facts.steps > 0,
    metrics: Object.fromEntries(facts.metricNames.map((name, at) => [name, facts.metrics[at]])),
    training: trainingNames.filter((_, at) => (facts.training & (1 << at)) !== 0).join(" "),
  };
};

const question = { role: "user", content: "q" };
const said = (content: unknown, more: object = {}) => ({ role: "assistant", content, ...more });
const choice = (content: unknown, finish_reason: unknown = "stop", more: object = {}) => {
  return { finish_reason, index: 0, message: said(content), ...more };
};
const call = { id: "c", function: { name: "f", arguments: '{"a":1}' } };
const scored = choice("six", "stop", { logprobs: { content: [{ token: "a" }] } });
const marked = said("a<|im_end|>\n<|im_start|>user\nb");

/** @param more members in JSON, of which the first can be the reward */
const toTrajectory = (turns: unknown, more = "") => {
  const members = [more.startsWith('"reward"') ? "" : '"reward":1', more].filter(Boolean);
  return `{"messages_and_choices":${JSON.stringify(turns)},${members.join(",")}}`;
};

describe("the facts of a trajectory", () => {
  const sampled = [question, choice("seven")];

  it("are none of an earlier trajectory", () => {
    const more = '"reward":9,"metrics":{"z":9},"final_policy_version":9,"step":9,"tools":[]';
    const own = { ...choice("a", "length"), message: said("a", { tool_calls: [call] }), logprobs: { content: [{}] } };
    inspect(toTrajectory([said("a"), question, own], more));
    expect(inspect(toTrajectory([]))).toEqual({
      ...{ choices: 0, choicesWithLogprobs: 0, turns: 0, characters: 0, scores: 0, finishReason: undefined },
      ...{ prompt: undefined, hasGreeting: false, reward: 1, hasSteps: false, callsTools: false, metrics: {} },
      ...{ training: "", problems: ["no-assistant-turn messages_and_choices"] },
    });
  });

  it.each<[claim: string, turns: readonly unknown[], expected: object, more?: string]>([
    [
      "count choices",
      sampled,
      { choices: 1, turns: 1, characters: 5, finishReason: "stop", training: "choice unscored" },
    ],
    ["count turns without choices", [question, said("four")], { choices: 0, turns: 1, characters: 4 }],
    [
      "do not count messages next to a choice",
      [question, said("four", { logprobs: {} }), scored, said("five", { logprobs: {} })],
      { turns: 1, characters: 3, scores: 1 },
    ],
    ["tell messages from choices", [question, said("four")], { training: "message" }],
    [
      "do not take a message with a role as a choice",
      [question, { ...said("b"), message: said("six") }],
      { choices: 0, characters: 1 },
    ],
    ["count the texts of parts", [question, said([{ text: "abc" }, { type: "audio" }])], { characters: 3 }],
    [
      "count only the longest reasoning",
      [question, said("abc", { reasoning: "xy", thinking: "z" })],
      { characters: 5 },
    ],
    ["have the last finish reason", [question, choice("a", "length"), choice("b")], { finishReason: "stop" }],
    [
      "lack a finish reason if that of the last choice is null",
      [question, choice("a"), choice("b", null)],
      { finishReason: undefined },
    ],
    [
      "count choices with log probabilities",
      [question, scored, scored, choice("a")],
      { choices: 3, choicesWithLogprobs: 2, training: "choice scored unscored" },
    ],
    [
      "do not count log probabilities of a message",
      [question, said("a", { logprobs: { content: [{ token: "a" }] } })],
      { choicesWithLogprobs: 0, training: "message" },
    ],
    ["have the messages before the first choice as the prompt", sampled, { prompt: [question], hasGreeting: false }],
    [
      "have all messages as the prompt if the model gave nothing",
      [question, question],
      { prompt: [question, question], turns: 0, problems: ["no-assistant-turn messages_and_choices"] },
    ],
    [
      "have a prompt with other values than messages",
      [question, 7, choice("a")],
      { prompt: [question, 7], problems: ["element-type messages_and_choices.1"] },
    ],
    [
      "lack a prompt after a greeting without a choice",
      [said("hi"), question, said("a")],
      { prompt: undefined, problems: ["no-prompt messages_and_choices"] },
    ],
    [
      "have a prompt with a greeting",
      [said("hi"), question, choice("a"), question, choice("b")],
      { prompt: [said("hi"), question], hasGreeting: true, turns: 2 },
    ],
    ["lack a prompt without a question", [{ role: "system", content: "s" }, choice("a")], { prompt: undefined }],
    ["have a message with marks in the prompt", [question, marked, choice("a")], { prompt: [question, marked] }],
    [
      "have the calls of a choice, and count their arguments",
      [question, { ...choice(""), message: said("", { tool_calls: [call] }) }, { role: "tool", tool_call_id: "c" }],
      { callsTools: true, characters: 7, training: "choice unscored untooled" },
    ],
    [
      "have the calls of a user, but do not count their arguments",
      [question, { role: "user", tool_calls: [call] }, { role: "tool", tool_call_id: "c" }, said("four")],
      { callsTools: true, characters: 4, training: "message untooled" },
    ],
    [
      "have older calls, and count their arguments",
      [
        question,
        said(null, { function_call: { name: "f", arguments: "{}" } }),
        { role: "function", content: "r" },
        said("a"),
      ],
      { callsTools: true, characters: 3, training: "message untooled" },
    ],
    [
      "do not count the reasoning of a turn that was not sampled",
      [...sampled, said([{ type: "thinking", thinking: "hm" }]), choice("a")],
      { characters: 6 },
    ],
    ["have tools", sampled, { training: "choice unscored tools" }, '"tools":[]'],
    [
      "lack tools that are null",
      sampled,
      { training: "choice unscored", problems: ["element-type tools"] },
      '"tools":null',
    ],
    [
      "have a time with an offset",
      sampled,
      { training: "choice unscored offset" },
      '"start_time":"2024-05-15T15:00:00Z"',
    ],
    [
      "have a time without an offset",
      sampled,
      { training: "choice unscored local" },
      '"start_time":"2024-05-15T15:00:00"',
    ],
    ["have the reward", sampled, { reward: -0.5 }, '"reward":-0.5'],
    ["have the step", sampled, { hasSteps: true }, '"step":1'],
    ["have the step in info", sampled, { hasSteps: true }, '"info":{"step":2}'],
    ["have the model in extra_info", sampled, { hasSteps: true }, '"extra_info":{"model":"x"}'],
    ["lack a step by default", sampled, { hasSteps: false }],
    [
      "have a reward that is not finite",
      sampled,
      { reward: Infinity, problems: ["reward-not-finite reward"] },
      '"reward":1e999',
    ],
    ["have the last of equal metrics", sampled, { metrics: { a: 3 } }, '"metrics":{"a":2,"a":3}'],
    [
      "lack invalid metrics",
      sampled,
      { metrics: { a: 2 }, problems: ["element-type metrics.b", "metric-name metrics.reward"] },
      '"metrics":{"b":"x","reward":1,"a":2}',
    ],
    ["have metrics", sampled, { metrics: { a: 2, b: 1, c: 0 } }, '"metrics":{"a":2,"b":true,"c":false}'],
  ])("%s", (_, turns, expected, more) => {
    expect(inspect(toTrajectory(turns, more))).toMatchObject({ problems: [], ...expected });
  });
});
