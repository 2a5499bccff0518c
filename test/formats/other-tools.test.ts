import { describe, expect, it } from "vitest";
import { filesOf, read } from "../support/inputs.ts";

const asked = { role: "user", content: "hi" };
const said = { role: "assistant", content: "yo" };
const trajectory = { messages_and_choices: [asked, said], reward: 1 };

const adviceOf = async (text: string): Promise<readonly (string | undefined)[]> =>
  (await read(filesOf(text))).problems.sorted([]).map(({ advice }) => advice);

const adviceFor = async (value: unknown) => (await adviceOf(JSON.stringify(value)))[0];

describe("the advice for a row of another tool", () => {
  const named: readonly (readonly [row: object, from: string])[] = [
    [{ prompt: [asked], completion: [said] }, "trl"],
    [{ prompt: "hi", completion: "yo" }, "trl"],
    [{ prompt: "hi", completions: ["yo"] }, "trl"],
    [{ input: "hi", output: "yo" }, "openrlhf --lossy"],
    [{ input: "hi", output: "yo", score: 1 }, "verl --lossy"],
    [{ messages: [asked, said] }, "openai-chat"],
    [{ conversations: [{ from: "human", value: "hi" }] }, "sharegpt --lossy"],
  ];

  it.each(named)("names the format that reads %j", async (row, from) => {
    expect(await adviceFor({ ...row, reward: 1 })).toBe(
      `it is another tool's row: say --from ${from}, without --follow, or have rollcall convert make groups first`,
    );
  });

  const shapes: readonly (readonly [value: unknown, advice: string])[] = [
    ...[
      { prompt: [asked], response: [said], reward: 1 },
      { prompt: [asked], response: "yo", reward: 1 },
    ].map((row): readonly [value: unknown, advice: string] => [
      row,
      "make messages_and_choices of prompt and response, each turn of the assistant a choice",
    ]),
    [
      { prompt: "hi", output: "yo", reward: 1 },
      "make messages_and_choices of prompt and output, each turn of the assistant a choice",
    ],
    [
      { history: [asked, said], reward: 1 },
      "rename history to messages_and_choices, and make each turn of the assistant a choice",
    ],
    [{ messages: [asked], reward: 1 }, "rename messages to messages_and_choices"],
    [{ messagesAndChoices: [asked], reward: 1 }, "rename messagesAndChoices to messages_and_choices"],
    [{ rollouts: [trajectory] }, "trajectories stand in rollouts: rename it to trajectories"],
    [
      { simulations: ["a", "b"].map((task_id) => ({ ...trajectory, task_id })) },
      "trajectories of several groups stand in simulations: write one a line, and group them by task_id with --group-by",
    ],
    [{ data: [{ trajectories: [trajectory] }] }, "groups stand in data: rename it to trajectory_groups"],
    [{ split: "train", data: [{ trajectories: [trajectory] }] }, "rename data to trajectory_groups"],
    [{ item: trajectory }, "it stands in item: put what is in that one level up"],
    [
      { prompt: [asked], chosen: [said], rejected: [said] },
      "this is a pair of preferences: a trajectory is one of chosen and rejected, behind its prompt, with a reward of its own",
    ],
    [
      { steps: [{ source: "user", message: "hi" }] },
      'a trajectory is {"messages_and_choices": […], "reward": 1}, and {"trajectories": […]} is a group of them, one on each line',
    ],
    [{ messages_and_choices: [asked], Reward: 1 }, "rename Reward to reward"],
    [{ messages_and_choices: [asked], info: { reward: 1 } }, "it stands in info: put it beside messages_and_choices"],
    [
      { ...trajectory, tools: [{ name: "f", description: "d", input_schema: {} }] },
      'a tool is {"type": "function", "function": {"name": …}}: put what is in this one into its function, and call input_schema parameters',
    ],
    [
      { ...trajectory, tools: [{ type: "function", name: "f", parameters: {} }] },
      'a tool is {"type": "function", "function": {"name": …}}: put what is in this one into its function',
    ],
    [
      { messages_and_choices: [asked], accuracy_reward: 1 },
      "accuracy_reward stands there: reward is one number for the whole trajectory",
    ],
  ];

  it.each(shapes)("explains how to convert %j", async (value, advice) => {
    expect(await adviceFor(value)).toBe(advice);
  });

  it.each([
    [
      { type: "function_call", call_id: "1", name: "f", arguments: "{}" },
      "write it as tool_calls of an assistant message",
    ],
    [
      { type: "function_call_output", call_id: "1", output: "x" },
      "write it as a tool message, call_id as tool_call_id",
    ],
    [{ type: "reasoning", summary: [] }, "leave it out, or keep it as a key of the assistant message"],
  ])("explains how to convert the item of the Responses API %j", async (item, advice) => {
    const row = { messages_and_choices: [asked, item, said], reward: 1 };
    expect(await adviceFor(row)).toContain(`this is an item of the Responses API: ${advice}`);
  });

  it("names Pydantic's option that leaves out null", async () => {
    const dumped = { ...trajectory, messages_and_choices: [asked, { ...said, tool_calls: null }], tools: null };
    const advice = "leave the key out (in Pydantic: model_dump(exclude_none=True))";
    expect(await adviceOf(JSON.stringify(dumped))).toEqual([advice, advice]);
  });

  it("names the type that services accept for a value of another type", async () => {
    const odd = {
      messages_and_choices: [1, { ...asked, content: { a: 1 } }, { ...said, tool_calls: {} }],
      reward: 1,
      additional_histories: [[asked]],
      metrics: { loss: "0.5" },
    };
    expect(await adviceOf(JSON.stringify(odd))).toEqual([
      'a message is {"role": …, "content": …}',
      "write it as text (in Python: json.dumps makes text of it)",
      "make it an array of calls",
      'write it as {"messages_and_choices": […]}',
      "write a number, leave the key out, or put it into metadata",
    ]);
    expect(await adviceOf(JSON.stringify(trajectory).replace('"reward":1', '"reward":1e999'))).toEqual([
      "write a finite number",
    ]);
  });

  it.each([
    [null, "a reward can't be left out: write a number, or leave out the trajectory"],
    [[0, 1], "it is one number for the whole trajectory"],
    [{ total: 1 }, "it is one number for the whole trajectory"],
    ["0.5", "write it without quotes: 0.5"],
  ])("explains how to write the reward %j", async (reward, advice) => {
    expect(await adviceFor({ ...trajectory, reward })).toBe(advice);
  });

  it("mentions no other missing keys of a row that is not a trajectory", async () => {
    const rulesOf = async (value: unknown) =>
      (await read(filesOf(JSON.stringify(value)))).problems.counts.map(({ rule, count }) => `${count} ${rule}`);
    expect(await rulesOf([asked, said])).toEqual(["2 missing-field"]);
    expect(await rulesOf({ rollouts: [trajectory] })).toEqual(["1 missing-field"]);
    expect(await rulesOf({ item: trajectory })).toEqual(["1 missing-field"]);
    expect(await rulesOf({ trajectories: [{ trajectories: [trajectory] }] })).toEqual(["1 missing-field"]);
    expect(await rulesOf({ messages: [asked] })).toEqual(["2 missing-field"]);
    expect(await rulesOf({})).toEqual(["2 missing-field"]);
  });

  it("is not given for a trajectory with a key named split", async () => {
    expect(await adviceFor({ split: "train", messages: [asked], reward: 1 })).toBe(
      "rename messages to messages_and_choices",
    );
  });
});

describe("the advice for a line that is not JSON", () => {
  const find = "(in Python: json.dumps(…, allow_nan=False) finds it)";
  const reward = `a reward can't be left out: write a finite number, or leave out the trajectory ${find}`;
  const texts: readonly (readonly [text: string, advice: string])[] = [
    ['{"messages_and_choices":[],"reward": NaN}', reward],
    ['{"messages_and_choices":[],"reward":-Infinity}', reward],
    ['{"messages_and_choices":[],"metrics":{"loss":NaN},"reward":1}', `leave the key out, or write null ${find}`],
    ['{"reward":[NaN]}', `leave the key out, or write null ${find}`],
    ['{"loss":Infinity}', `write a finite number, or leave the key out ${find}`],
    ['{"a":1,}', "leave one comma out"],
    ['{"a":"\t"}', "write it as an escape, such as \\n or \\t"],
    ['{"a":"\\x41"}', "JSON has \\u0041 for \\x41, and a backslash itself is \\\\"],
    ['{"a":.5}', "a number has digits on both sides of its point, and neither + nor zeros in front"],
    ['{"a":+1}', "a number has digits on both sides of its point, and neither + nor zeros in front"],
    ['{"a":1} // no', "leave the comment out"],
  ];

  it.each([
    ["[\n1,\n]", "nothing stands between a comma and ]"],
    ['{"a":1, }', "nothing stands between a comma and }"],
    ['{"a":}', "a value is missing before }"],
    ["[,1]", "a value is missing before ,"],
    ["]", "] closes nothing"],
  ])("distinguishes a missing value from an extra comma in %j", async (text, message) => {
    expect((await read(filesOf(text))).problems.sorted([])[0]?.message).toBe(message);
  });

  it.each(texts)("explains how to write %j", async (text, advice) => {
    expect((await adviceOf(text))[0]).toBe(advice);
  });
});
