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
      `read the file with --from ${from}, or convert it first with rollcall convert`,
    );
  });

  const shapes: readonly (readonly [value: unknown, advice: string])[] = [
    [
      { history: [asked, said], reward: 1 },
      "rename history to messages_and_choices, and make each assistant turn a choice",
    ],
    [{ messages: [asked], reward: 1 }, "rename messages to messages_and_choices"],
    [{ messagesAndChoices: [asked], reward: 1 }, "rename messagesAndChoices to messages_and_choices"],
    [{ rollouts: [trajectory] }, "rename rollouts to trajectories"],
    [
      { simulations: ["a", "b"].map((task_id) => ({ ...trajectory, task_id })) },
      "write the trajectories in simulations on separate lines, and group them with --group-by task_id",
    ],
    [{ data: [{ trajectories: [trajectory] }] }, "rename data to trajectory_groups"],
    [{ split: "train", data: [{ trajectories: [trajectory] }] }, "rename data to trajectory_groups"],
    [{ item: trajectory }, "move the members of item one level up"],
    [
      { steps: [{ source: "user", message: "hi" }] },
      'write {"messages_and_choices": […], "reward": 1} or a group {"trajectories": […]} on each line',
    ],
    [{ messages_and_choices: [asked], Reward: 1 }, "rename Reward to reward"],
    [{ messages_and_choices: [asked], info: { reward: 1 } }, "move reward from info next to messages_and_choices"],
    [
      { ...trajectory, tools: [{ name: "f", description: "d", input_schema: {} }] },
      'move the members of the tool into its function: {"type": "function", "function": {"name": …}}, and rename input_schema to parameters',
    ],
    [
      { ...trajectory, tools: [{ type: "function", name: "f", parameters: {} }] },
      'move the members of the tool into its function: {"type": "function", "function": {"name": …}}',
    ],
  ];

  it.each(shapes)("explains how to convert %j", async (value, advice) => {
    expect(await adviceFor(value)).toBe(advice);
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
      'write it as {"role": …, "content": …}',
      "write it as text (in Python: json.dumps)",
      "write an array of calls",
      'write it as {"messages_and_choices": […]}',
      "write a number, leave the key out, or move it to metadata",
    ]);
    expect(await adviceOf(JSON.stringify(trajectory).replace('"reward":1', '"reward":1e999'))).toEqual([
      "write a finite number",
    ]);
  });

  it.each([
    [null, "write a number, or leave out the trajectory"],
    [[0, 1], "write one number for the whole trajectory"],
    [{ total: 1 }, "write one number for the whole trajectory"],
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
  const find = "(in Python, json.dumps(…, allow_nan=False) finds it)";
  const reward = `write a finite reward, or leave out the trajectory ${find}`;
  const texts: readonly (readonly [text: string, advice: string])[] = [
    ['{"messages_and_choices":[],"reward": NaN}', reward],
    ['{"messages_and_choices":[],"reward":-Infinity}', reward],
    ['{"messages_and_choices":[],"metrics":{"loss":NaN},"reward":1}', `leave the key out, or write null ${find}`],
    ['{"reward":[NaN]}', `leave the key out, or write null ${find}`],
    ['{"loss":Infinity}', `write a finite number, or leave the key out ${find}`],
    ['{"a":1,}', "remove a comma"],
    ['{"a":"\t"}', "write it as an escape, such as \\n or \\t"],
    ['{"a":"\\x41"}', "write \\u0041 for \\x41, and \\\\ for a backslash"],
    ['{"a":.5}', "write digits on both sides of the point, without + or leading zeros"],
    ['{"a":+1}', "write digits on both sides of the point, without + or leading zeros"],
    ['{"a":1} // no', "remove the comment"],
  ];

  it.each([
    ["[\n1,\n]", "missing value between a comma and ]"],
    ['{"a":1, }', "missing value between a comma and }"],
    ['{"a":}', "missing value before }"],
    ["[,1]", "missing value before ,"],
    ["]", "] without an opening bracket"],
  ])("distinguishes a missing value from an extra comma in %j", async (text, message) => {
    expect((await read(filesOf(text))).problems.sorted([])[0]?.message).toBe(message);
  });

  it.each(texts)("explains how to write %j", async (text, advice) => {
    expect((await adviceOf(text))[0]).toBe(advice);
  });
});
