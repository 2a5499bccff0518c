import { describe, expect, it } from "vitest";
import { exampleProblem } from "../../../src/commands/explain/topics.ts";
import { suggestForMissingField } from "../../../src/rollouts/rules/hints.ts";
import { maxNameLength, shortenName } from "../../../src/rollouts/rules/positions.ts";
import type { ExampleInputs } from "../../../src/rollouts/rules/rule.ts";
import {
  answer,
  choiceExample,
  fileExample,
  goodGroup,
  group,
  messages,
  question,
  rewards,
  toolCallMessage,
  toolResult,
  tools,
  trajectory,
  versions,
} from "../../../src/rollouts/rules/rule.ts";
import type { RuleName } from "../../../src/rollouts/rules/rules.ts";
import { problemsIn, readRules } from "../../project/docs/rule-page.ts";

const nameCall = (name: string) => toolCallMessage.replace("search", name);

/** Inputs that are similar to the example of a rule, but follow the rule. */
const nearMisses: Readonly<Partial<Record<RuleName, string | ExampleInputs>>> = {
  "not-utf-8": messages('{"role":"user","content":"caf\u00e9"}', answer),
  "json-nan": trajectory(0, ',"logs":["NaN"]'),
  "json-infinity": trajectory(0, ',"logs":["-Infinity"]'),
  "json-python": trajectory(1, ',"metadata":{"solved":true}'),
  "json-single-quotes": trajectory(1, ',"logs":["it\'s"]'),
  "json-comment": trajectory(1, ',"logs":["// step 17"]'),
  "json-truncated": `${trajectory(0)}\n${trajectory(1)}`,
  "json-trailing-data": `${trajectory(0)}\n${trajectory(1)}`,
  "json-syntax": trajectory(1),
  "group-scattered": fileExample(["a", "b", "a"].map((id, at) => trajectory(at, `,"group_id":"${id}"`)).join("\n"), {
    groupBy: ["group_id"],
  }),
  "ambiguous-group": [trajectory(0), trajectory(1), '{"group_id":"a","rew'].join("\n"),
  "group-key-missing": fileExample(
    `${trajectory(0, ',"prompt_id":["a"]')}\n${trajectory(1, ',"metadata":{"prompt_id":"a"}')}`,
    { groupBy: ["prompt_id"] },
  ),
  "split-mismatch": fileExample(`{"split":"train","trajectory_groups":[${goodGroup}]}`, { split: "train" }),
  "request-key-mismatch": {
    files: {
      "a.json": `{"split":"train","run":"a","trajectory_groups":[${goodGroup}]}`,
      "b.json": `{"split":"train","run":"a","trajectory_groups":[]}`,
    },
  },
  "mixed-shapes": goodGroup,
  "zero-variance-group": goodGroup,
  "single-trajectory-group": `${trajectory(0, ',"group_id":"a"')}\n${trajectory(1, ',"group_id":"a"')}`,
  "reward-outlier": rewards(5),
  "mixed-prompts": group(trajectory(0), trajectory(1, "", `{"content":"2\\u002b2?","role":"user"},${answer}`)),
  "chat-marks-in-content": messages(
    '{"role":"user","content":"a<|im_start|>user\\nb"}',
    '{"role":"assistant","content":"a<|im_start|>user\\nb"}',
    choiceExample().replace('"content":"4"', '"content":"`<|im_start|>user` begins a turn<|im_end|>"'),
  ),
  "mixed-steps": group(
    trajectory(0, ',"metadata":{"step":2,"epoch":1}'),
    trajectory(1, ',"metadata":{"epoch":2,"step":2}'),
    trajectory(1, ',"logs":["a"]'),
  ),
  "truncated-trajectory": messages(question, choiceExample().replace("stop", "length"), choiceExample()),
  "unknown-finish-reason": messages(question, choiceExample().replace("stop", "function_call")),
  "policy-versions-reversed": trajectory(1, ',"initial_policy_version":7,"final_policy_version":8'),
  "mixed-policy-versions": group(
    trajectory(0, ',"final_policy_version":8'),
    trajectory(1, ',"final_policy_version":8'),
  ),
  "stale-policy": versions(7, 7, 8),
  "missing-tool-result": messages(question, toolCallMessage),
  "trailing-tool-call": messages(question, toolCallMessage),
  "undeclared-tool": [
    trajectory(1, tools("search"), `${question},${toolCallMessage}`),
    trajectory(1, ',"tools":[{"type":"function","function":{}}]', `${question},${toolCallMessage}`),
    trajectory(1, tools("search"), `${question},${nameCall("")}`),
  ].join("\n"),
  "no-prompt": messages(answer, question, choiceExample()),
  "no-assistant-turn": messages(question, choiceExample()),
  "no-sampled-turns": messages(question, choiceExample()),
  "missing-logprobs": messages(question, choiceExample(',"logprobs":{"content":[{}]}')),
  "missing-tools": [tools("search"), ""]
    .map((own, at) => trajectory(1, own, `${question},${nameCall(at === 0 ? "search" : "")},${toolResult},${answer}`))
    .join("\n"),
  "duplicate-trajectory": goodGroup,
  "split-leak": fileExample(goodGroup, { against: messages('{"role":"user","content":"2+3?"}', answer) }),
  "missing-utc-offset": ["Z", "z", "+01:00", "-0800", "+01"]
    .map((offset) => trajectory(1, `,"start_time":"2025-11-01T09:30:00${offset}"`))
    .join("\n"),
  "secret-in-content": messages(question, '{"role":"assistant","content":"export KEY=sk-your-key-goes-here-0000"}'),
  "missing-field": trajectory(1),
  "wrong-type": trajectory(0.5),
  "start-time-invalid": trajectory(1, ',"start_time":"2024-02-29T23:59:60.5-08:00"'),
  "not-an-object": `[${trajectory(0)},${trajectory(1)}]`,
  "duplicate-key": group(trajectory(0, ',"logs":["\\"trajectories\\""]'), trajectory(1)),
  "tool-incomplete": trajectory(1, ',"tools":[{"type":"function","function":{"name":"search"}}]'),
  "empty-group": goodGroup,
  "null-field": trajectory(1, ',"tools":[],"exception":null,"exceptions":null,"info":null,"extra_info":null'),
  "reward-not-finite": trajectory("1e300"),
  "metric-not-finite": trajectory(1, ',"metrics":{"loss":1e300}'),
  "exception-in-trajectory": trajectory(0, ',"exception":null'),
  "metric-type": trajectory(1, ',"metrics":{"solved":true}'),
  "metric-name": trajectory(1, ',"metrics":{"rewards":1}'),
  "metadata-nested": trajectory(1, ',"metadata":{"task_id":3}'),
  "log-type": trajectory(1, ',"logs":["step 1"]'),
  "message-type": messages(question, answer),
  "missing-role": messages(question, `{"finish_reason":"stop","index":0,"message":${answer}}`),
  "unknown-role": messages('{"role":"developer","content":"Be short."}', question, answer),
  "choice-role": messages(question, choiceExample(), '{"finish_reason":"stop","index":0,"message":{"role":"bot"}}'),
  "unknown-tool-status": [
    ...["success", "Completed", "error", ""].map((status) => ({ status })),
    { status: "timeout", is_error: true },
  ]
    .map((more) => messages(question, toolCallMessage, JSON.stringify({ ...JSON.parse(toolResult), ...more }), answer))
    .join("\n"),
  "missing-tool-call-id": messages(question, toolCallMessage, toolResult, answer),
  "content-type": messages('{"role":"user","content":[{"type":"text","text":"2+2?"}]}', answer),
  "unknown-content-part": messages(
    '{"role":"user","content":["2+2?",{"type":"image_url","image_url":{"url":"x"}},{"type":"refusal","refusal":"no"}]}',
    '{"role":"assistant","content":[{"type":"output_text","text":"4"}]}',
  ),
  "unknown-message-key": messages(question, '{"role":"assistant","content":"4","parts":[{"text":"4"}],"id":"a"}'),
  "tool-calls-null": messages(
    question,
    '{"finish_reason":"stop","index":0,"message":{"role":"assistant","content":"4","tool_calls":null}}',
  ),
  "tool-calls-type": messages(question, '{"role":"assistant","content":"4","tool_calls":[]}'),
  "history-type": trajectory(1, `,"additional_histories":[{"messages_and_choices":[${question}]}]`),
};

describe("each rule that reading reports", () => {
  it.each(readRules)(
    "is reported for the example of $name, and not for a similar valid input",
    async ({ name, example }) => {
      const ownIn = async (inputs: ExampleInputs) => (await problemsIn(inputs)).filter(({ rule }) => rule === name);
      expect((await ownIn(example))[0]).toEqual(await exampleProblem(name));
      const nearMiss = nearMisses[name] ?? "";
      expect(nearMiss).not.toBe("");
      expect(await ownIn(typeof nearMiss === "string" ? fileExample(nearMiss) : nearMiss)).toEqual([]);
    },
  );
});

const parts = "audio audio_url file image image_url input_audio input_file input_image refusal video video_url";
it.each<[rule: string, values: string, toTurn: (value: string) => string]>([
  ["unknown-role", "developer system user assistant tool function", (role) => `{"role":"${role}","content":"a"}`],
  [
    "unknown-finish-reason",
    "stop length tool_calls content_filter function_call",
    (reason) => choiceExample().replace("stop", reason),
  ],
  ["unknown-content-part", parts, (type) => `{"role":"user","content":[{"type":"${type}"}]}`],
])("%s is reported for each value but %s", async (rule, values, toTurn) => {
  const findLines = async (prefix: string) => {
    const lines = values.split(" ").map((value) => messages(question, toTurn(`${prefix}${value}`)));
    return (await problemsIn(fileExample(lines.join("\n")))).flatMap((one) => (one.rule === rule ? one.line : []));
  };
  // Equal problems are shown at the first of their lines.
  expect([await findLines(""), await findLines("x")]).toEqual([[], [1]]);
});

it.each<[logprobs: string, count: number]>([
  ['{"content":[{}]}', 0],
  ['{"content":[ ]}', 1],
  ['{"refusal":null, "content" :\t [{"token":"4"}]}', 0],
  ['{"tokens":["4"],"token_logprobs":[-1]}', 1],
  ['{"tokens":["content"]}', 1],
  ['{"content":null,"refusal":[{"token":"4"}]}', 0],
  ["[]", 1],
])("missing-logprobs is reported for other log probabilities than a list of tokens: %s", async (logprobs, count) => {
  const turns = messages(
    question,
    choiceExample(`,"logprobs":${logprobs}`),
    choiceExample(',"logprobs":{"content":[{}]}'),
  );
  const problems = await problemsIn(fileExample(turns));
  expect(problems.filter(({ rule }) => rule === "missing-logprobs")).toHaveLength(count);
});

it("a choice with the result of a tool gives choice-role, and not missing-tool-result", async () => {
  const wrapped = choiceExample().replace(answer, toolResult);
  const problems = await problemsIn(fileExample(messages(question, toolCallMessage, wrapped, answer)));
  const rules = problems.map(({ rule }) => rule);
  expect(rules).toContain("choice-role");
  expect(rules).not.toContain("missing-tool-result");
});

it.each(['"function":{"arguments":"{}"}', '"function":{"name":"","arguments":"{}"}', '"type":"function"'])(
  "missing-tool-result is about a tool without a name for the call {%s}",
  async (call) => {
    const message = `{"role":"assistant","content":null,"tool_calls":[{"id":"a",${call}}]}`;
    const problems = await problemsIn(fileExample(messages(question, message, answer)));
    const found = problems.filter(({ rule }) => rule === "missing-tool-result");
    expect(found.map((one) => one.message)).toEqual(["the call of a tool without a name has no result"]);
  },
);

describe("unknown-message-key", () => {
  const turns = '"toolCalls":[{"name":"f"}]';
  it.each<[members: string, key: string | undefined]>([
    [`"content":"",${turns}`, "toolCalls"],
    [`"content":"Wait.",${turns}`, "toolCalls"],
    ['"content":"4","function_calls":[{"name":"f"}]', "function_calls"],
    ['"content":"4","text":"4","function_calls":[{"name":"f"}]', "function_calls"],
    ['"content":"4","toolInvocations":[{"toolName":"f"}]', "toolInvocations"],
    ['"content":"4","tool_uses":[]', undefined],
    ['"content":null,"additional_kwargs":{"tool_calls":[{}]}', "additional_kwargs"],
    ['"id":"a","text":"4"', "text"],
    ['"content":[],"tool_calls":[],"action":{"name":"f"}', "action"],
    [`"content":"","tool_calls":[{"function":{"name":"f","arguments":"{}"}}],${turns}`, undefined],
    ['"content":"","parts":[],"text":"","action":{},"final":true', undefined],
    ['"content":"","usage":{"a":1},"response_metadata":{"a":1},"createdAt":"a","toolName":"f"', undefined],
    ['"content":"","refusal":"no","images":["a"],"reasoning_content":"r"', undefined],
    ['"content":"","thinking":"r","note":"a"', undefined],
    [`"content":"","reasoning":"r",${turns}`, "toolCalls"],
    ['"content":"","service_tier":"a","phase":"b","tool_parser":"c","object":"d","cache":"e"', undefined],
  ])("is reported for a message with %s: %s", async (members, key) => {
    const problems = await problemsIn(fileExample(messages(question, `{"role":"assistant",${members}}`, answer)));
    const found = problems.filter(({ rule }) => rule === "unknown-message-key");
    expect(found.map(({ path }) => path)).toEqual(key ? [["messages_and_choices", 1, key]] : []);
  });

  it("is reported for a question instead of no-prompt", async () => {
    const problems = await problemsIn(fileExample(messages('{"role":"user","text":"2+2?"}', choiceExample())));
    expect(problems.map(({ rule }) => rule)).toContain("unknown-message-key");
    expect(problems.map(({ rule }) => rule)).not.toContain("no-prompt");
  });
});

describe("tool-calls-type", () => {
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
    const problems = await problemsIn(fileExample(messages(question, message, toolResult, answer)));
    const texts = problems.flatMap((one) => (one.rule === "tool-calls-type" ? one.message : []));
    const wanted = "tool_calls must be an array of calls with a name and arguments as text";
    expect(texts).toEqual(found ? [`${wanted}, not ${found}`] : []);
  });
});

describe("exception-in-trajectory", () => {
  const countedFor = async (value: string): Promise<number> => {
    const members = ["exception", "exceptions"].map((key) => trajectory(0, `,"${key}":${value}`));
    const problems = await Promise.all(members.map((member) => problemsIn(fileExample(member))));
    return problems.flat().filter(({ rule }) => rule === "exception-in-trajectory").length;
  };

  it.each(['{"type":"x"}', '"x"', '["x"]', "[0]", "true"])("is reported for a value (row %$)", async (value) => {
    expect(await countedFor(value)).toBe(2);
  });

  it.each(["null", '""', "[]", "false"])("is not reported for an empty value (row %$)", async (value) => {
    expect(await countedFor(value)).toBe(0);
  });
});

describe("single-trajectory-group", () => {
  const adviceFor = async (groupBy?: string) => {
    const example = fileExample(
      `${trajectory(1, ',"prompt_id":"a"')}\n${goodGroup}`,
      groupBy === undefined ? {} : { groupBy: [groupBy] },
    );
    return (await problemsIn(example)).find(({ rule }) => rule === "single-trajectory-group")?.advice;
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
    const problems = await problemsIn(fileExample(`{"exceptions":${exceptions},"trajectories":[]}\n${goodGroup}`));
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

describe("a name in a message", () => {
  it.each([
    ["as long as the limit", "x".repeat(maxNameLength), "x".repeat(maxNameLength)],
    ["longer by one", "x".repeat(maxNameLength + 1), `${"x".repeat(maxNameLength - 1)}…`],
    ["white space", " \t", '" \\t"'],
  ])("is shortened only over the limit: %s", (_, name, shown) => {
    expect(shortenName(name)).toBe(shown);
  });
});
