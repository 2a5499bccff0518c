import { describe, expect, it } from "vitest";
import { convertFile, convertRows, fileOf, turn, user } from "./rows.ts";

const trajectoriesOf = (lines: readonly string[]) => lines.flatMap((line) => JSON.parse(line).trajectories);

/** A row of each format, its trajectory, and the paths that are left out. */
const rows: readonly (readonly [format: string, row: object, trajectory: object, left: readonly string[]])[] = [
  [
    "sharegpt",
    {
      conversations: [
        { from: "human", value: "hi" },
        { from: "function_call", value: '{"name":"f","arguments":{"a":1.0}}' },
        { from: "observation", value: "ok" },
        { from: "gpt", value: "yo" },
        { from: "tool", value: "late" },
      ],
      reward: 1,
      system: "S",
      id: "a1",
    },
    {
      messages_and_choices: [
        { role: "system", content: "S" },
        user("hi"),
        {
          finish_reason: "tool_calls",
          index: 0,
          message: {
            role: "assistant",
            content: null,
            tool_calls: [{ id: "call_1", type: "function", function: { name: "f", arguments: '{"a":1.0}' } }],
          },
        },
        { role: "tool", tool_call_id: "call_1", content: "ok" },
        turn("yo"),
        user("late"),
      ],
      reward: 1,
      metadata: { id: "a1" },
    },
    [],
  ],
  [
    "openrlhf",
    { input: "q", output: "a", reward: 0.25 },
    { messages_and_choices: [user("q"), turn("a")], reward: 0.25 },
    [],
  ],
  [
    "verl",
    { input: "q", output: "a", gts: "4", score: 1, step: 7, acc: true, uid: "u1" },
    { messages_and_choices: [user("q"), turn("a")], reward: 1, metadata: { gts: "4", step: 7, acc: true, uid: "u1" } },
    [],
  ],
  [
    "skyrl",
    {
      input_prompt: "q",
      output_response: "a",
      score: [0, 0.5, 1],
      stop_reason: "length",
      env_class: "gsm8k",
      env_extras: { x: 1 },
      data_source: "d",
    },
    {
      messages_and_choices: [user("q"), turn("a", "length")],
      reward: 1.5,
      metadata: { stop_reason: "length", env_class: "gsm8k", data_source: "d" },
    },
    ["env_extras.x"],
  ],
  [
    "nemo-rl",
    { content: ["q", "a", "e", "b"], rewards: 1, input_lengths: 12, generation_logprobs: [0, -0.1], idx: 0 },
    {
      messages_and_choices: [user("q"), turn("a"), user("e"), turn("b")],
      reward: 1,
      metadata: { input_lengths: 12, idx: 0 },
    },
    ["generation_logprobs[]"],
  ],
];

describe.each(rows)("rows of %s with decoded text", (format, row, trajectory, left) => {
  it("are recognized, and converted only with --lossy", async () => {
    const file = fileOf([row]);
    const refused = await convertFile(file);
    expect(refused.code).toBe(3);
    expect(refused.stderr).toContain(`${format} lacks some of the tokens or turns`);
    const { code, lines, notes, left: without } = await convertFile(file, ["--lossy"]);
    expect(code).toBe(0);
    expect(notes[0]).toContain(`(--from ${format})`);
    expect(trajectoriesOf(lines)).toEqual([trajectory]);
    expect(without.map(([path]) => path)).toEqual(left);
  });
});

describe("rows of decoded text", () => {
  it("are grouped by their key, or by prompt and step without one", async () => {
    const verl = (score: number, more: object) => ({ input: "q", output: "a", gts: null, step: 1, score, ...more });
    const made = await convertRows(
      [verl(1, {}), verl(2, { step: 2 }), verl(3, {}), verl(4, { uid: "u" })],
      ["--lossy"],
    );
    const rewards = made.lines.map((line) => trajectoriesOf([line]).map(({ reward }) => reward));
    expect(rewards).toEqual([[1, 3], [2], [4]]);
  });

  it("give the position of their problems", async () => {
    const skyrl = { input_prompt: "q", output_response: "a" };
    const { stderr } = await convertRows(
      [
        { ...skyrl, score: ["x"] },
        { ...skyrl, input_prompt: 1, score: 1 },
      ],
      ["--lossy", "--from", "skyrl"],
    );
    expect(stderr).toContain(
      "rows.jsonl:1: error: score: cannot convert this record of skyrl: score is neither a number nor a list of numbers",
    );
    expect(stderr).toContain(
      "rows.jsonl:2: error: input_prompt: cannot convert this record of skyrl: input_prompt is not a string",
    );
    const nemo = [
      { content: "q and a", rewards: 1 },
      { content: ["q", 1], rewards: 1 },
    ];
    const other = await convertRows(nemo, ["--lossy", "--from", "nemo-rl"]);
    expect(other.stderr).toContain(
      "rows.jsonl:1: error: content: cannot convert this record of nemo-rl: content is not a list of at least two texts, so its prompt is unknown",
    );
    expect(other.stderr).toContain(
      "rows.jsonl:2: error: content.1: cannot convert this record of nemo-rl: content contains a value that is not a string",
    );
    const share = [
      { conversations: [{ from: "alien", value: "x" }], reward: 1 },
      { conversations: [{ from: "function_call", value: "{}" }], reward: 1 },
    ];
    const third = await convertRows(share, ["--lossy"]);
    expect(third.stderr).toContain(
      "rows.jsonl:1: error: conversations.0.from: cannot convert this record of sharegpt: from is not one of system, human",
    );
    expect(third.stderr).toContain(
      "rows.jsonl:2: error: conversations.0.value: cannot convert this record of sharegpt: value is not a call with a function name",
    );
  });
});
