import { describe, expect, it } from "vitest";
import { isNotTrajectory, suggestForMissingField, suggestForWrongType } from "../../../src/rollouts/rules/hints.ts";
import { findRewardCandidates, findRewardColumns } from "../../../src/rollouts/rules/names.ts";

const turns = [
  { role: "user", content: "q" },
  { role: "assistant", content: "a" },
];
const rename = "rename chat to messages_and_choices, and write each assistant turn as a choice";
const moved = "put the messages into the messages_and_choices of a trajectory";

describe("the advice for a value without messages_and_choices", () => {
  it.each<[value: object, advice: string | undefined, isNotTrajectory?: boolean]>([
    [{ chat: turns, reward: 1 }, "write `chat` to the key messages, and pass --from openai-chat", true],
    [
      { chat: turns, score: 1 },
      "write `chat` to the key messages, and pass --from openai-chat --reward-from score",
      true,
    ],
    [
      { chat: turns, a_score: 1, b_score: 2 },
      "write `chat` to the key messages, and pass --from openai-chat, and --reward-from with one of a_score b_score",
      true,
    ],
    [{ messages: turns, reward: 1 }, "pass --from openai-chat", true],
    [{ messages: JSON.stringify(turns), reward: "0.5" }, "pass --from openai-chat", true],
    [{ messages: "[{'role': 'user'}]" }, "write `messages` as JSON (in Python, with json.dumps, not with str)", true],
    [
      { messages: "\n[ {'role': 'user'}]" },
      "write `messages` as JSON (in Python, with json.dumps, not with str)",
      true,
    ],
    [{ prompt: "q", completion: "a" }, "pass --from trl", true],
    [{ prompt: turns, completions: [turns] }, "pass --from trl", true],
    [{ prompt: "q", answer: "a", score: 1 }, "pass --from trl --reward-from score", true],
    [{ completion: "a", reward: 1 }, undefined],
    [{ prompt: "q", reward: 1 }, undefined],
    [{ input: "q", output: "a" }, undefined],
    [{ input: "q", output: "a", score: 0 }, "pass --from verl", true],
    [{ input: "q", output: 1 }, undefined],
    [{ chat: [turns[0]] }, "rename chat to messages_and_choices"],
    [{ chat: [turns[0]], response: "a" }, undefined],
    [{ chat: [] }, undefined],
    [{ messages_and_choises: [{ message: {} }] }, "rename messages_and_choises to messages_and_choices"],
    [{ trajectories: [] }, "move the trajectories of the group one level up", true],
    [{ role: "user", content: "q" }, moved, true],
    [{ role: 1 }, undefined],
  ])("names the format, the option or the key (row %$)", (value, advice, isRow = false) => {
    expect(suggestForMissingField("messages_and_choices", value)).toBe(advice);
    expect(isNotTrajectory(value)).toBe(isRow);
    expect(isNotTrajectory({ ...value, messages_and_choices: [] })).toBe(false);
  });

  it("limits an option to a file that has only such records, because it holds for all records", () => {
    const suggest = (row: object) => suggestForMissingField("messages_and_choices", row, { mayBeMixed: true });
    const start = "for a file that has only such records, pass";
    expect(suggest({ messages: turns, reward: 1 })).toBe(`${start} --from openai-chat`);
    expect(suggest({ prompt: "q", completion: "a" })).toBe(`${start} --from trl`);
  });

  it("renames a key of an element of an array, which is not a row of another tool, but no other short key", () => {
    expect(suggestForMissingField("messages_and_choices", { chat: turns, score: 1 }, { isElement: true })).toBe(rename);
    expect(suggestForMissingField("reward", { chat: turns, rewardz: 1 }, { isElement: true })).toBeUndefined();
  });
});

it.each([
  ["messages_and_choices", turns, "messages conversation conversations messages_and_choice choices turns chat"],
  ["trajectories", [{ messages_and_choices: [] }], "trajectory rollouts samples group"],
  ["trajectory_groups", [{ trajectories: [] }], "groups data"],
])("a key that means %s can be renamed if its value fits", (field, value, names) => {
  for (const name of names.split(" ")) {
    const advise = (own: unknown) => suggestForMissingField(field, { [name]: own }, { isElement: true });
    expect(advise(value)).toMatch(`rename ${name} to ${field}`);
    for (const other of [[], {}, "a", [{ role: 1 }]]) expect(advise(other)).toBeUndefined();
  }
});

it("a row with a prompt is of TRL if it has one of the columns of answers", () => {
  for (const name of "completion response answer output generation responses".split(" "))
    expect([name, suggestForMissingField("messages_and_choices", { prompt: "q", [name]: "a" })]).toEqual([
      name,
      "pass --from trl",
    ]);
});

it("names of columns that mean rewards are known, in any spelling", () => {
  for (const name of "reward Score rating return total_reward final_score overall_rating episode_return".split(" "))
    expect([name, ...findRewardColumns(["a_reward", `a.${name}`])]).toEqual([name, `a.${name}`]);
  for (const name of "total final overall value".split(" "))
    for (const holder of "rewards my_score rating_1 evaluation".split(" "))
      expect(findRewardColumns(["a_reward", `${holder}.${name}`])).toEqual([`${holder}.${name}`]);
  const possible = "a_rewards a_score a_rating reward.a scores.b rating.c evals.d".split(" ");
  const ids = "id idx index step prediction metadata.a own_id".split(" ").map((name) => `scores.${name}`);
  expect(findRewardColumns([...possible, ...ids, "a"])).toEqual(possible);
});

it.each<[found: unknown, wanted: string, advice: string | undefined, isElement?: boolean]>([
  ["1.50", "a number", "write 1.5 without quotes"],
  ["-2", "a finite number", "write -2 without quotes"],
  [" ", "a number", undefined],
  ["1e999", "a number", undefined],
  ["high", "a number", undefined],
  ["2", "an object", undefined],
  [' {"a":1}', "an object", "write the JSON without quotes around it, because it was encoded twice"],
  ["[1]", "an array", "write the JSON without quotes around it, because it was encoded twice"],
  ["a [1]", "an array", undefined],
  [[{ a: 1 }], "an object", "remove one pair of brackets"],
  [[{ a: 1 }], "an object", "remove one pair of brackets", true],
  [[1, 2], "an object", "remove one pair of brackets", true],
  [[1, 2], "an object", 'write a key for each value: "metrics": {"<name>": …}'],
  [[1], "a string", undefined],
  [7, "a string", undefined],
])("a value of another type gets advice if it is only written in another way (row %$)", (...row) => {
  const [found, wanted, advice, isElement = false] = row;
  expect(suggestForWrongType(found, { field: "metrics", wanted, isElement })).toBe(advice);
});

it.each([
  ["reward a b_score", "reward"],
  ["a.reward total_score", "a.reward total_score"],
  ["reward a.reward total_score", "reward"],
  ["rewards.total rewards.a", "rewards.total"],
  ["a b", ""],
])("rewards are the most certain of the columns %s", (names, found) => {
  expect(findRewardColumns(names.split(" ")).join(" ")).toBe(found);
});

it.each([
  ["reward rewards.a", "reward"],
  ["score rewards.a rewards.b", "score rewards.a rewards.b"],
  ["rewards.total rewards.a scores.b", "rewards.total scores.b"],
])("parts of rewards are candidates next to another reward, but not to their total: %s", (names, found) => {
  expect(findRewardCandidates(names.split(" ")).join(" ")).toBe(found);
});
