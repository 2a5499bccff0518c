import { describe, expect, it } from "vitest";
import {
  joinWheres,
  openGroupFilter,
  openValueParser,
  parseFilter,
  readFinish,
} from "../../../src/rollouts/index/expression.ts";

const turns = [
  { role: "user", content: "q", name: null },
  { finish_reason: "stop", message: { role: "assistant", content: "a" } },
  { role: "tool", message: { content: "of a message" }, content: "t" },
];
const infinite = Number.POSITIVE_INFINITY;
const late = { iteration: null, info: { iteration: 5 } };
const trajectories = [
  { reward: 1, messages_and_choices: turns, metadata: { k: 1 }, step: 1, tools: [{}], group_id: "g", logs: ["l"] },
  { reward: 2, messages_and_choices: [], metadata: { k: "x", step: 9 }, info: { step: 2 }, metrics: { m: 0.5 } },
  { reward: 6, messages_and_choices: [], metadata: { k: null }, initial_policy_version: 3, truncated: true },
  {
    reward: infinite,
    messages_and_choices: [],
    step: null,
    additional_histories: [[]],
    final_policy_version: 4,
    ...late,
  },
];
const facts = [7, null, 5, 5].map((tokens, at) => ({ turns: at === 0 ? 1 : 0, tokens }));

/** Shows each result as `+`, `-` or, if the trajectory lacks a value, `?`. */
const evaluate = (where: string, pass?: number) => {
  const options = { group: 4, trajectories, facts, exceptions: 2, holder: { step: 8 }, pass, locate: () => "a:5" };
  const isTrue = openGroupFilter(parseFilter(where), options);
  return trajectories.map((one, at) => ({ true: "+", false: "-", absent: "?" })[`${isTrue(one, at)}`]).join("");
};

it("takes the mean of a group and the advantage from all its rewards, also those that are not selected", () => {
  const [one] = trajectories;
  const group = { group: 0, trajectories: [{ ...one }], allRewards: [1, 4], exceptions: 0, locate: () => "a:1" };
  const filter = parseFilter("group.reward_mean == 2.5 && group.size == 2 && advantage == -1.5");
  expect(openGroupFilter(filter, group)({ ...one }, 0)).toBe(true);
});

it("takes whole numbers of more digits than a double has as they are, and others as doubles", () => {
  const parse = openValueParser("metadata.seed == 12345678901234567");
  const deep = "[[[[[[[[[12345678901234567]]]]]]]]]";
  const value = parse(
    `{"reward":12345678901234568,"a":[12345678901234567,{"b":1.5}],"c":"12345678901234567","d":${deep}}`,
  );
  const doubles = JSON.parse(deep);
  expect(value).toEqual({
    ...{ reward: 12345678901234568n, a: [12345678901234567n, { b: 1.5 }], c: "12345678901234567" },
    d: doubles,
  });
  expect(openValueParser("reward > 1.0")("12345678901234567")).toBe(JSON.parse("12345678901234567"));
  expect(openValueParser("metadata.a == metadata.b")("12345678901234567")).toBe(12345678901234567n);
  const options = { group: 0, trajectories: [{ reward: 2n }, { reward: "3" }], exceptions: 0, locate: () => "a:1" };
  const isTrue = openGroupFilter(parseFilter("solved && group.reward_mean == 2.0"), options);
  expect(options.trajectories.map((one, at) => isTrue(one, at))).toEqual([true, false]);
});

it("evaluates a group without trajectories by its own values and steps alone", () => {
  const options = {
    group: 1,
    trajectories: [],
    exceptions: 3,
    holder: { step: 8, info: { global_step: 2 } },
    locate: () => "a:2",
  };
  const wheres =
    "group.size == 0 && group.exceptions == 3; step == 8; global_step == 2 && step != 8; reward > 0.0; group.reward_mean > 0.0; iteration == 1";
  const results = wheres.split("; ").map((where) => openGroupFilter(parseFilter(where), options)(undefined, 0));
  expect(results).toEqual([true, true, false, "absent", "absent", "absent"]);
});

const failureOf = (where: string) => {
  try {
    return evaluate(where);
  } catch (thrown) {
    return thrown;
  }
};

describe("an expression", () => {
  it.each([
    ["++++", "group.number == 5; group.size == 4; group.exceptions == 2; group.reward_mean == 3.0"],
    ["++++", "group.reward_min == 1.0; group.reward_max == 6.0; true || metadata.k == 1; start_time == null"],
    ["++++", "group.reward_std_dev > 2.16 && group.reward_std_dev < 2.17"],
    ["++++", "finish_reason == null; global_step == null; _step == null && checkpoint == null && trainStep == null"],
    ["++++", "solved"],
    ["-+++", "reward >= 2.0; group_id == null; turns == 0"],
    ["-+--", "step == 9"],
    ["-+-?", "advantage == -1.0"],
    ["---+", "advantage == null; metadata == {}"],
    ["--+-", "6 == reward"],
    ["++--", "[1.0, 2.0].exists(r, r == reward)"],
    ["+???", "messages[1].content == 'a'; messages_and_choices[1].message.content == 'a'; group_id != 'h'"],
    ["+---", "size(messages) == 3 && messages[2].content == 't'; messages.exists(reward, reward.role == 'tool')"],
    ["+---", "messages.exists(m, m.name != 'z')"],
    ["-++-", "size(tools) + size(logs) + size(additional_histories) == 0"],
    ["+--+", "metrics == {} && !truncated"],
    ["--+-", "double(truncated) > 0.5"],
    ["+++-", "has(metadata.k)"],
    ["+-??", "metadata.k == 1"],
    ["-+??", "metadata.k != 1; metadata['k'] != 1"],
    ["-++?", "metadata.k == null || 2.0 == reward"],
    ["++-+", "initial_policy_version == null"],
    ["??++", "initial_policy_version == 3 || final_policy_version == 4"],
    ["+?--", "tokens != 5; tokens > 5"],
    ["--++", "step == 8"],
    ["???+", "iteration == 5"],
    ["?+??", "trajectory.info.step == 2"],
  ])("matches, does not match, or lacks a value: %s by %s", (results, wheres) => {
    for (const where of wheres.split("; ")) expect([where, evaluate(where)]).toEqual([where, results]);
  });

  it("calls a trajectory solved if its reward is at least --pass", () => expect(evaluate("solved", 2.5)).toBe("--++"));

  it.each([
    ["reward >", "Unexpected token: EOF", "use a CEL expression"],
    ["rewrd > 1.0", "Unknown variable: rewrd", "did you mean reward, metadata.rewrd or metrics.rewrd?"],
    ["1 + 'a' == 2", "no such overload: int + string", "use a CEL expression"],
    ["difficulty == 2", "Unknown variable: difficulty", "did you mean metadata.difficulty or metrics.difficulty?"],
    ["reward", "the result is neither true nor false", "compare the value: 'reward > 0.5'", ", at a:5"],
    ["metadata.k > 0", "no such overload: dyn<string> > int", "test that a value exists", ", at a:5"],
  ])("fails with a hint if it cannot be parsed or evaluated: %s", (where, fault, hint, position = "") => {
    const message = expect.stringMatching(position === "" ? /^cannot parse/ : /^cannot evaluate .* at a:5: /);
    const details = { subject: `${fault}${position}`, hint: expect.stringContaining(hint) };
    expect(failureOf(where)).toMatchObject({ message, details });
  });
});

it("joined expressions must all be true", () => {
  expect(["a || b", "c"].map((where) => joinWheres(undefined, where))).toEqual(["a || b", "c"]);
  expect([joinWheres("a || b", undefined, "c"), joinWheres(undefined)]).toEqual(["(a || b) && (c)", undefined]);
});

it.each<[trajectory: object, truncated: boolean | null]>([
  [{ metadata: { is_truncated: false } }, false],
  [{ metadata: { a: 1, response_truncated: 0 } }, false],
  [{ metadata: { truncated: false, is_truncated: 1 } }, null],
  [{ metadata: { truncated: null, truncated_at: false } }, null],
  [{ metadata: { truncated: false }, truncated: true }, true],
])("without a finish reason, flags that are false say that no answer was cut (row %$)", (trajectory, truncated) => {
  expect(readFinish({ messages_and_choices: [], ...trajectory }, true).truncated).toBe(truncated);
});

const [cut, stopped, aborted] = ["length", "stop", "abort"].map((finish_reason) => ({ finish_reason, message: {} }));

it.each<[turns: readonly unknown[], isDerived: boolean, finish: string | null, truncated: boolean | null]>([
  [[cut], false, "length", true],
  [[cut, stopped], false, "stop", false],
  [[stopped, { role: "user", finish_reason: "length" }], false, "stop", false],
  [[cut], true, null, null],
  [[aborted], false, "abort", null],
  [[{ message: {} }], false, null, null],
  [[], false, null, null],
])("the last choice has the finish reason, and says if the trajectory was cut (row %$)", (list, isDerived, ...both) => {
  const [finish_reason, truncated] = both;
  expect(readFinish({ messages_and_choices: list }, isDerived)).toEqual({ finish_reason, truncated });
  const own = { finish_reason, truncated: truncated ?? true };
  expect(readFinish({ messages_and_choices: list, truncated: true }, isDerived)).toEqual(own);
});
