import { describe, expect, it } from "vitest";
import { runHere, runHereOnTerminal } from "../../support/here.ts";
import { filesOf } from "../../support/inputs.ts";

interface Rollout {
  readonly reward: number;
  readonly finish?: string;
  /** The results of calls. A call can have no result. */
  readonly results?: readonly (string | undefined)[];
}

const toTrajectory = ({ reward, finish, results = [] }: Rollout) => {
  const calls = results.map((_, at) => ({ id: `${at}`, type: "function", function: { name: "f", arguments: "" } }));
  const answers = results.flatMap((content, at) => (content ? { role: "tool", tool_call_id: `${at}`, content } : []));
  const message = { role: "assistant", content: "four" };
  const turn = finish === undefined ? message : { finish_reason: finish, index: 0, message };
  const calling = { finish_reason: "tool_calls", index: 0, message: { ...message, content: "", tool_calls: calls } };
  const turns = [{ role: "user", content: "q" }, ...(calls.length > 0 ? [calling] : []), ...answers, turn];
  return { messages_and_choices: turns, reward };
};

const toGroup = (more: object, ...rollouts: readonly Rollout[]) =>
  JSON.stringify({ ...more, trajectories: rollouts.map(toTrajectory) });

const stop = { finish: "stop" };
const failed = ["late", "killed"];

describe("rollcall stats --by", () => {
  const first = { reward: 1, ...stop, results: ["Error: no", "ok", undefined] };
  const stdin = [
    toGroup({ step: 1, exceptions: failed }, first, { reward: 0, finish: "length" }),
    toGroup({ step: 1 }, { reward: 1, ...stop }, { reward: 1, ...stop }),
    toGroup({ step: 2 }, { reward: -1520.5 }),
    toGroup({ step: 3, exceptions: failed }),
  ].join("\n");

  it.each([
    [
      "tsv --header",
      `step,groups,trajectories,exceptions,reward.mean,reward.ci95_low,reward.ci95_high,solved.always,solved.sometimes,solved.never,solved.any,pass@1,pass@2,turns.mean,characters.mean,tokens.mean,truncated,failed,tool_errors
1,2,4,2,0.75,,,1,1,0,2,0.75,1,1.25,4,,0.25,0.333333,1
2,1,1,0,-1520.5,,,0,0,1,0,0,,1,4,,,0,
3,1,0,2,,,,,,,,,,,,,,1,
`,
    ],
    [
      "table",
      `step  groups   reward  solved  pass@1     truncated  failed  characters  calls with errors
   1       2     0.75       2    0.75           25%     33%           4             1 of 3
   2       1  -1520.5       0       0  not recorded      0%           4
   3       1                           not recorded    100%
`,
    ],
  ])("has a column for each number of a value, as %s", async (format, printed) => {
    const { stdout } = await runHere(["stats", ..."--by step --k 1,2 -o".split(" "), ...format.split(" ")], { stdin });
    expect(stdout.replaceAll("\t", ",")).toBe(printed);
  });
});

it.each(["stats - --by stepp", "compare - - --pair-by stepp"])(
  "a key that no trajectory has is an error with a key that is near: %s",
  async (words) => {
    const line = toGroup({}, { reward: 1 }).replace('"reward"', '"step":1,"reward"');
    const [file = ""] = filesOf(line);
    const { code, stderr } = await runHere(words.replaceAll(/(?<= )-(?= )/g, file).split(" "));
    expect([code, stderr]).toEqual([3, expect.stringContaining("the key stepp")]);
    expect(stderr).toContain("hint: did you mean step?");
  },
);

it("tools are null if none was called, and tokens are the stated number if a list of log probabilities is empty", async () => {
  const choice = { index: 0, finish_reason: "stop", logprobs: { content: [] }, message: { role: "assistant" } };
  const stdin = JSON.stringify({ messages_and_choices: [choice], reward: 1, usage: { completion_tokens: 7 } });
  const { stdout } = await runHere(["stats", "--json", "--fields", "tools,tokens.max"], { stdin });
  expect(JSON.parse(stdout)).toEqual({ tools: null, tokens: { max: 7 } });
});

describe("the notes of rollcall stats", () => {
  const pair = (more: object, ...rewards: readonly number[]) => toGroup(more, ...rewards.map((reward) => ({ reward })));
  const low = "no reward reaches 1.75 (the highest is 1.5), so no group is solved: set --pass";
  const overSeveral = (...names: readonly string[]) =>
    `one mean is over several values of ${names.join(" and ")}: to compare them, pass --by ${names.join(" or --by ")}`;
  it.each<[options: string, groups: readonly string[], note?: string]>([
    ["", [pair({}, 0, 1)]],
    [
      "",
      [pair({ exceptions: ["x"] }, 0, 1)],
      "1 exception without a reward: means, solved groups and pass@k leave exceptions out",
    ],
    [
      "--exceptions-as 0",
      [pair({ exceptions: failed }, 0, 1)],
      "means, solved groups and pass@k count 2 exceptions with the reward 0",
    ],
    ["", [pair({}, 2, 3)], "each reward is far above 1 (the lowest is 2), so each group is solved: set --pass"],
    ["", [pair({}, 1.9, 3)]],
    ["--pass 0", [pair({}, 2, 3)]],
    ["--pass 1.75", [pair({}, 0.5, 1.5)], low],
    ["--pass 1.5", [pair({}, 0.5, 1.5)]],
    ["", [1, 3, 2].map((step) => pair({ step }, 0, step)), overSeveral("step")],
    ["", [1, 1, 1].map((step) => pair({ step, env_name: "a" }, 0, 1))],
    ["", ["a", "b", "a"].map((id) => pair({ "env.id": id, step: id }, 0, 1)), overSeveral("step", "env.id")],
    ["", ["a", "a", "b", "b"].map((level) => pair({ level, task_id: level }, 0, 1)), overSeveral("level")],
    ["", ["a", "b", "b", "a"].map((level) => pair({ level }, 0, 1))],
    ["--by step", [1, 2].map((step) => pair({ step }, 0, step))],
    ["--by step", [pair({ step: 1 }, 0, 1)]],
    ["--by turn", [pair({ turn: 1 }, 0, 1), pair({}, 0, 2)]],
  ])("say what the numbers do not show: %s (row %$)", async (options, groups, note) => {
    const args = ["stats", "--json", "--fields", "notes", ...options.split(" ").filter(Boolean)];
    const { notes } = JSON.parse((await runHere(args, { stdin: groups.join("\n") })).stdout);
    expect(notes).toEqual(note === undefined ? [] : [note]);
  });
});

it("the rows of another tool's file have the lines of that file, also after blank lines", async () => {
  const row = (prompt: string) =>
    `{"messages":[{"role":"user","content":"${prompt}"},{"role":"assistant","content":"a"}],"reward":1}`;
  const [a = "", b = ""] = filesOf(`\n${row("q")}\n\n${row("r")}\n`, `${row("s")}\n \n\n${row("q")}`);
  const lines = (list: readonly { file: string; line: number }[]) =>
    list.map(({ file, line }) => `${file === a ? "a" : "b"}:${line}`);
  for (const each of ["group", "trajectory"]) {
    const { data } = JSON.parse((await runHere(["stats", a, b, "--each", each, "--json"])).stdout);
    expect(lines(data)).toEqual(["a:2", "a:4", "b:1", "b:4"]);
  }
});

it("rollcall stats counts no turns of an invalid group or trajectory between valid ones", async () => {
  const rollout = (reward: unknown, turns: number) => {
    const message = { role: "assistant", content: "a" };
    const choices = Array.from({ length: turns }, () => ({ finish_reason: "stop", index: 0, message }));
    return { messages_and_choices: [{ role: "user", content: "q" }, ...choices], reward };
  };
  const groups = [
    { step: 1, trajectories: [rollout(1, 2), rollout(0, 3)] },
    { step: 1, trajectories: [rollout(1, 7), rollout("1", 9)] },
    { step: 2, trajectories: [rollout(1, 4), rollout(0, 6)] },
    { ...rollout("x", 8), step: 2 },
    { ...rollout(1, 5), step: 3 },
  ];
  const stdin = groups.map((group) => JSON.stringify(group)).join("\n");
  const fields = ["--fields", "step,trajectories,turns.mean", "-o", "tsv"];
  const { stdout } = await runHere(["stats", "-", "--on-invalid", "skip", "--by", "step", ...fields], { stdin });
  expect(stdout).toBe("1\t2\t2.5\n2\t2\t5\n3\t1\t5\n");
});

it("the page of rollcall stats lists tools by calls, then by errors, then by name, and metrics by name", async () => {
  const said = (message: object, finish_reason: string) => ({ index: 0, finish_reason, message });
  const toCall = (name: string) => ({ id: name, type: "function", function: { name, arguments: "" } });
  const result = (id: string, content = "ok") => ({ role: "tool", tool_call_id: id, content });
  const turns = [
    said({ role: "assistant", tool_calls: ["read", "open", "wait", "find"].map(toCall) }, "tool_calls"),
    ...[result("read"), result("open"), result("find", "Error: no"), result("none", "Error: no")],
    said({ role: "assistant", content: "a" }, "stop"),
  ];
  const rewards = [1, 0, 0, 0, 0, 0, 0];
  const groups = rewards.map((reward) => ({
    trajectories: [{ messages_and_choices: turns, reward, metrics: reward === 1 ? { z: 1, m: 2 } : { z: 1 } }],
  }));
  const stdin = groups.map((group) => JSON.stringify(group)).join("\n");
  const { stdout } = await runHere(["stats", "-o", "table", "-q"], { stdin });
  expect(stdout).toContain("\n  always     1  14%  ███▍\n");
  expect(stdout.slice(stdout.indexOf("Tools"))).toBe(`Tools
  find       7 calls, 7 errors (100%)
  open       7 calls
  read       7 calls
  wait       7 calls, 7 unanswered
  (unknown)  0 calls, 7 errors

Metrics
  m  2 (1 of 7 trajectories)
  z  1, between 1 and 1 (95 % interval)
`);
  const { written } = await runHereOnTerminal(["stats", ...filesOf(stdin), "-q"], { columns: 200 });
  const warnings = written.split("\r\n").filter((line) => line.includes("\u001b[33m"));
  const labels = warnings.map((line) => /\w+/.exec(line.replaceAll(/\u001b\[\d+m/g, ""))?.[0]);
  expect(labels).toEqual(["find", "wait", "unknown"]);
});

it("rollcall stats names no command for more than eight inputs", async () => {
  const group = toGroup({}, { reward: 1 }, { reward: 1 });
  for (const [count, advice] of [
    [8, "(see `rollcall check "],
    [9, "(check the same input to see them)"],
  ] as const) {
    const { stderr } = await runHere(["stats", ...filesOf(...Array.from({ length: count }, () => group))]);
    expect(stderr).toContain(`${count} zero-variance-group`);
    expect(stderr).toContain(advice);
  }
});

it.each([
  ["Anthropic", { type: "tool_use", id: "c", name: "f", input: {} }, { type: "tool_result", tool_use_id: "c" }],
  ["Bedrock", { toolUse: { toolUseId: "c", name: "f", input: {} } }, { toolResult: { toolUseId: "c" } }],
])("rollcall stats counts the calls and results in blocks of %s", async (_, call, result) => {
  const messages = [call, result].map((block, at) => ({ role: at === 0 ? "assistant" : "user", content: [block] }));
  const stdin = JSON.stringify({ messages_and_choices: [...messages, { role: "assistant", content: "a" }], reward: 1 });
  const { tools } = JSON.parse((await runHere(["stats", "--json"], { stdin })).stdout);
  expect(tools).toEqual([{ name: "f", calls: 1, errors: 0, unanswered: 0 }]);
});
