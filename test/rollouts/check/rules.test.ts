import { describe, expect, it } from "vitest";
import { suggestForMissingField } from "../../../src/rollouts/rules/hints.ts";
import {
  answer,
  choice,
  goodGroup,
  messages,
  problemsIn,
  question,
  toolResult,
  trajectory,
} from "../../support/problems.ts";

it.each<[rule: string, values: string, toTurn: (value: string) => string]>([
  ["unknown-role", "developer system user assistant tool function", (role) => `{"role":"${role}","content":"a"}`],
  [
    "unknown-finish-reason",
    "stop length tool_calls content_filter function_call",
    (reason) => choice().replace("stop", reason),
  ],
])("%s is reported for each value but %s", async (rule, values, toTurn) => {
  const findLines = async (prefix: string) => {
    const lines = values.split(" ").map((value) => messages(question, toTurn(`${prefix}${value}`)));
    return (await problemsIn(lines.join("\n"))).flatMap((one) => (one.rule === rule ? one.line : []));
  };
  // Equal problems are shown at the first of their lines.
  expect([await findLines(""), await findLines("x")]).toEqual([[], [1]]);
});

it.each(['"function":{"arguments":"{}"}', '"function":{"name":"","arguments":"{}"}', '"type":"function"'])(
  "missing-tool-result is about a tool without a name for the call {%s}",
  async (call) => {
    const message = `{"role":"assistant","content":null,"tool_calls":[{"id":"a",${call}}]}`;
    const problems = await problemsIn(messages(question, message, answer));
    const found = problems.filter(({ rule }) => rule === "missing-tool-result");
    expect(found.map((one) => one.message)).toEqual(["the call of a tool without a name has no result"]);
  },
);

describe("element-type", () => {
  const fn = '"name":"f","arguments":"{}"';
  it.each([
    [`{"id":"a","function":{${fn}}}`, undefined],
    ['{"id":"a","type":"custom","custom":{"name":"f","input":"x"}}', undefined],
    [`{"id":"a",${fn}}`, "a call without a name"],
    [`{"id":"a","function":"f"}`, "a call without a name"],
    ['{"id":"a","function":{"name":"","arguments":"{}"}}', "a call without a name"],
    ['{"id":"a","function":{"name":"f"}}', "a call without arguments as text"],
    ['{"id":"a","function":{"name":"f","arguments":{}}}', "a call without arguments as text"],
    [`"f"`, "a string"],
    ["null", "null"],
    ["1", "the number 1"],
  ])("is reported for a call that nobody can read: %s", async (call, found) => {
    const message = `{"role":"assistant","content":null,"tool_calls":[${call}]}`;
    const problems = await problemsIn(messages(question, message, toolResult, answer));
    const texts = problems.flatMap((one) => (one.rule === "element-type" ? one.message : []));
    const wanted = "tool_calls must be an array of calls with a name and arguments as text";
    expect(texts).toEqual(found ? [`${wanted}, not ${found}`] : []);
  });
});

describe("single-trajectory-group", () => {
  const adviceFor = async (groupBy?: string) => {
    const input = `${trajectory(1, ',"prompt_id":"a"')}\n${goodGroup}`;
    const problems = await problemsIn(input, groupBy === undefined ? {} : { groupBy: [groupBy] });
    return problems.find(({ rule }) => rule === "single-trajectory-group")?.advice;
  };

  it("advises to group by a key only if the trajectory has no group key", async () => {
    expect(await adviceFor()).toContain("--group-by");
    expect(await adviceFor("prompt_id")).toBe("sample several trajectories of each prompt");
  });
});

describe("empty-group", () => {
  it.each([
    [0, "the group has no trajectories"],
    [1, "the group has exceptions but no trajectories"],
    [2, "the group has exceptions but no trajectories"],
  ])("has, for a group with %i exceptions, the message: %s", async (count, message) => {
    const exceptions = JSON.stringify(Array.from({ length: count }, () => "timeout"));
    const problems = await problemsIn(`{"exceptions":${exceptions},"trajectories":[]}\n${goodGroup}`);
    expect(problems).toContainEqual(expect.objectContaining({ rule: "empty-group", line: 1, message }));
  });
});

it.each("rewards score scores return total_reward final_reward episode_reward reward_score".split(" "))(
  "suggests to rename %s, which means the reward",
  (alias) => {
    const suggest = (value: unknown) => suggestForMissingField("reward", { messages_and_choices: [], [alias]: value });
    expect(suggest(1)).toBe(`rename ${alias} to reward`);
    for (const value of [null, "1", true, [1]]) expect(suggest(value)).toBeUndefined();
  },
);
