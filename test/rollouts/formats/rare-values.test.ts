/** Values that few records have, and what they become. */
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { runHere } from "../../support/here.ts";
import { convertHere as convert, folderOf, notesHere, turn, turnsHere, user } from "./converting.ts";

const said = (content: string, more: object = {}) => ({ role: "assistant", content, ...more });
const chat = { messages: [user("q"), said("a")], reward: 1 };
const rewardsOf = (rewards: Readonly<Record<string, number>>): readonly string[] => {
  const lines = Object.entries(rewards).map(([id, reward]) => ({ id, reward }));
  return ["--rewards", join(folderOf({ r: lines }), "r")];
};

it.each([
  [128_009, "stop"],
  ["</answer>", "stop"],
  ["tool_use", "tool_calls"],
  [null, "tool_calls"],
])("the stop_reason %j of a reply with calls is the finish reason %s", async (stop_reason, finish_reason) => {
  const tool_calls = [{ id: "c", type: "function", function: { name: "f", arguments: "{}" } }];
  const row = { messages: [user("q"), said("", { tool_calls, stop_reason })], reward: 1 };
  const [group] = await convert({ "a.jsonl": [row] });
  expect(group.trajectories[0].messages_and_choices[1]).toMatchObject({ finish_reason });
});

it.each<[object, string]>([
  [{ finish_reason: "length", stop_reason: 7 }, "length"],
  [{ finish_reason: { type: "length", length: 32 } }, "length"],
  [{ truncated: true }, "length"],
  [{ finish_reason: "tool_calls", truncated: true }, "length"],
  [{ truncated: 1 }, "length"],
  [{ truncated: false }, "stop"],
  [{ truncated: "no" }, "stop"],
])("a row with %j has the finish reason %s", async (more, finish_reason) => {
  const [group] = await convert({ "a.jsonl": [{ ...chat, ...more }] });
  expect(group.trajectories[0].messages_and_choices[1]).toMatchObject({ finish_reason });
});

it.each<[string, readonly object[]]>([
  ["converted the rewards true and false to 1 and 0", [{ ...chat, reward: true }]],
  [
    "read rollouts of the kinds train and eval (check and log read only the kind that --split names)",
    ["train", "eval"].map((kind) => ({
      ...{ id: kind, task: { key: "k" }, rewards: { x: 1 }, info: { kind } },
      nodes: [{ message: user("q") }, { parent: 0, sampled: true, message: said("a") }],
    })),
  ],
])("a conversion notes: %s", async (note, rows) => {
  expect(await notesHere(rows)).toContain(note);
});

describe("a trial of Harbor", () => {
  const trial = {
    ...{ trial_name: "t", task_name: "n", agent_info: { name: "a" }, started_at: "2026-01-02T00:00:00Z" },
    verifier_result: { rewards: { reward: 1, style: 0.5 } },
  };
  const steps = [
    { source: "user", message: "q", timestamp: "2026-01-01T00:00:00Z" },
    { source: "agent", message: "a" },
  ];
  const filesOf = (result: object) => ({
    "j/t/result.json": JSON.stringify(result),
    "j/t/agent/trajectory.json": JSON.stringify({ schema_version: "ATIF-v1.6", steps }),
  });

  it("has its own start, and its other rewards as metrics", async () => {
    const [group] = await convert(filesOf(trial));
    expect(group.trajectories).toMatchObject([{ reward: 1, start_time: trial.started_at }]);
    expect(group.trajectories[0].metrics).toEqual({ style: 0.5 });
  });

  it("is refused if it has a step", async () => {
    expect(await convert(filesOf({ ...trial, step_results: [{}] }))).toContain("trials of several steps are not supp");
  });
});

describe("the reward of a row", () => {
  it.each("id idx uid example_id instance_id trajectory_id session_id".split(" "))(
    "is that of its %s in the file of --rewards, at the top level or in metadata",
    async (key) => {
      const rows = [
        { ...chat, [key]: "s" },
        { ...chat, metadata: { [key]: "t" } },
      ];
      const groups = await convert({ "a.jsonl": rows }, rewardsOf({ s: 0.25, t: 0.75 }));
      const rewards = [groups].flat().flatMap(({ trajectories }) => trajectories);
      expect(rewards).toMatchObject([{ reward: 0.25 }, { reward: 0.75 }]);
    },
  );

  it.each([
    ["TRUE", 1],
    ["False", 0],
    ["-1.5E2", -150],
    [true, 1],
    [false, 0],
  ])("can be %j with --reward-from", async (r, reward) => {
    expect(await convert({ "a.jsonl": [{ ...chat, r }] }, ["--reward-from", "r"])).toMatchObject([
      { trajectories: [{ reward }] },
    ]);
  });

  it("is missing without an id for --rewards", async () => {
    const simulated = { task_id: 1, termination_reason: "stop", reward_info: { reward: 1 }, messages: chat.messages };
    expect(await convert({ "a.jsonl": [simulated] }, rewardsOf({ x: 1 }))).toContain(
      "the record has no id for --rewards",
    );
  });

  it("is that of its id in the file of --rewards before that of other keys", async () => {
    const rows = ["x", "t"].map((id) => ({ ...chat, id, uid: "s" }));
    const groups = await convert({ "a.jsonl": rows }, rewardsOf({ s: 0.25, t: 0.75 }));
    const rewards = [groups].flat().flatMap(({ trajectories }) => trajectories);
    expect(rewards).toMatchObject([{ reward: 0.25 }, { reward: 0.75 }]);
  });

  it.each(["advantage", "advantages"])(
    "can be a column of TRL or the sum of several if the row has an %s",
    async (key) => {
      const row = { prompt: "q", completion: "a", [key]: 0.5, x_reward: 1, y_reward: 0, step: 3, task_id: 7 };
      expect(await convert({ "a.jsonl": [row] })).toContain(
        "write the sum of the reward functions to the column `reward`, as TRL adds them, or pass --reward-from with one of x_reward, y_reward",
      );
    },
  );
});

describe("a sample of Inspect", () => {
  const sample = { id: 7, epoch: 1, messages: [user("q"), said("a", { source: "generate" })] };
  const scored = { ...sample, scores: { m: { value: 1 } } };
  const logOf = (samples: readonly object[], more: object = {}) =>
    JSON.stringify({ eval: { task: "t" }, samples, ...more });

  it.each(Object.entries({ C: 1, I: 0, P: 0.5, N: 0, Yes: 1, no: 0, TRUE: 1, false: 0 }))(
    "with the only score %s has the reward and the metric %d",
    async (value, reward) => {
      const files = { "a.json": logOf([{ ...sample, scores: { m: { value } } }]) };
      expect(await convert(files)).toMatchObject([{ trajectories: [{ reward, metrics: { "scores.m": reward } }] }]);
    },
  );

  it("has the first epoch and its uuid as ids for --rewards", async () => {
    const files = {
      "a.json": logOf([
        { ...sample, epoch: undefined },
        { ...sample, id: 8, uuid: "u" },
      ]),
    };
    const groups = await convert(files, rewardsOf({ "7_epoch_1": 0.5, u: 0.25 }));
    expect(groups).toMatchObject([{ trajectories: [{ reward: 0.5 }] }, { trajectories: [{ reward: 0.25 }] }]);
  });

  it.each([[[], 0] as const, [["m"], 1] as const])(
    "with the fallbacks %j has %d notes",
    async (model_fallbacks, count) => {
      const notes = await notesHere([{ eval: { task: "t" }, samples: [{ ...scored, model_fallbacks }] }]);
      expect(notes.filter((note) => note.includes("another model answered"))).toHaveLength(count);
    },
  );

  it("has its limit and the message of its error, and lacks members that are null", async () => {
    const odd = { ...scored, limit: { type: "token" }, error: { message: "late", traceback: "T" } };
    const messages = [{ ...user("q"), name: null }, said("a", { source: "generate" })];
    const [group] = await convert({ "a.json": logOf([{ ...odd, messages }]) });
    expect(group.trajectories[0].metadata).toMatchObject({ limit: "token", error: "late" });
    expect(group.trajectories[0].messages_and_choices[0]).toEqual(user("q"));
  });

  it("has its reasoning, its text and the tools of its model", async () => {
    const thinking = [
      { type: "reasoning", reasoning: "r" },
      { type: "reasoning", reasoning: "encrypted", redacted: true, summary: "s" },
      { type: "reasoning", redacted: true },
      { type: "text", text: "a" },
    ];
    const message = { role: "assistant", id: "x", source: "generate", content: thinking };
    const older = { role: "assistant", source: "generate", content: [{ type: "text", text: "b" }], reasoning: "s" };
    const output = { choices: [{ message, stop_reason: "stop" }] };
    const events = [{ event: "model", output, tools: [{ name: "f", description: "d", parameters: {} }] }];
    const [group] = await convert({ "a.json": logOf([{ ...scored, messages: [message, older], events }]) });
    expect(group.trajectories[0]).toMatchObject({
      messages_and_choices: [
        { message: { content: "a", reasoning_content: "r\ns" } },
        { message: { content: "b", reasoning_content: "s" } },
      ],
      tools: [{ type: "function", function: { name: "f", description: "d", parameters: {} } }],
    });
  });

  it("with an error and without a score is an exception, also with --rewards", async () => {
    const files = { "a.json": logOf([{ ...sample, error: { message: "late", traceback: "T" } }]) };
    expect(await convert(files, rewardsOf({ "7_epoch_1": 1 }))).toMatchObject([
      { trajectories: [], exceptions: [{ message: "late", traceback: "T" }] },
    ]);
  });

  it("needs --reward-from if the samples of a log have other scorers", async () => {
    const file = { "a.json": logOf([scored, { ...sample, id: 8, scores: { n: { value: 1 } } }]) };
    expect(await convert(file)).toContain("pass --reward-from with one of scores.m.value, scores.n.value");
  });

  it.each(["m", "other"])("does not note a model of one sample if the model of its log is %s", async (model) => {
    const output = { model: "m", choices: [{ message: said("a", { id: "x" }), stop_reason: "stop" }] };
    const messages = [user("q"), said("a", { id: "x", source: "generate" })];
    const one = { ...scored, messages, events: [{ event: "model", output, model: "m" }] };
    const notes = await notesHere(logOf([one], { eval: { task: "t", model } }));
    expect(notes.filter((note) => note.includes("model"))).toEqual([]);
  });

  it("has the error of a failed tool as its result, and the type of a call", async () => {
    const result = { role: "tool", content: "", tool_call_id: "c" };
    const messages = [
      said("", { tool_calls: [{ id: "c", function: "f", arguments: {}, type: "custom" }], source: "generate" }),
      { ...result, tool_error: "old" },
      { ...result, error: { message: "new" }, tool_error: "old" },
      { ...result, content: "cut", error: { type: "limit", message: "too long" } },
      { ...result, error: null },
    ];
    const [group] = await convert({ "a.json": logOf([{ ...scored, messages }]) });
    expect(group.trajectories[0].messages_and_choices).toMatchObject([
      { message: { tool_calls: [{ type: "custom" }] } },
      { content: "old", is_error: true },
      { content: "new", is_error: true },
      { content: "cut", is_error: true },
      { content: "" },
    ]);
    expect(group.trajectories[0].messages_and_choices[4]).not.toHaveProperty("is_error");
  });

  it.each([
    [2, []],
    [9, ["read a log of version 9 as version 2, so new fields may not be converted"]],
  ])("of a log of version %d has the notes %j", async (version, expected) => {
    const notes = await notesHere(JSON.stringify({ ...JSON.parse(logOf([scored])), version }));
    expect(notes.filter((note) => note.startsWith("read a"))).toEqual(expected);
  });
});

describe("a document of ATIF", () => {
  const step = (source: string, message: unknown, more: object = {}) => ({ source, message, ...more });
  const own = [step("user", "q"), step("agent", "a")];
  const document = (more: object, version = "1.6") =>
    JSON.stringify({ schema_version: `ATIF-v${version}`, steps: own, ...more });
  /** Returns the number of turns in each history of each trajectory, such as `2+2 2`. */
  const histories = async (files: Readonly<Record<string, string>>) => {
    const groups = await convert(files, rewardsOf({ s: 1, t: 1, a: 1, b: 1, c: 1 }));
    if (typeof groups === "string") return groups;
    return groups
      .flatMap(({ trajectories }) => trajectories)
      .map(({ messages_and_choices: main, additional_histories: more = [] }) =>
        [main, ...more.map((one: { messages_and_choices: unknown }) => one.messages_and_choices)]
          .map(({ length }) => length)
          .join("+"),
      )
      .join(" ");
  };

  it("has the history of a subagent that it contains instead of a file with the same id", async () => {
    const subagent = { trajectory_id: "c", schema_version: "ATIF-v1.6", steps: own };
    const results = [{ subagent_trajectory_ref: { trajectory_id: "c" } }];
    const steps = [...own, step("agent", "b", { observation: { results } })];
    const files = {
      "a.json": document({ steps, subagent_trajectories: [subagent] }),
      "x/c.json": document({ trajectory_id: "c", steps: [...own, ...own] }),
    };
    expect(await histories(files)).toBe("3+2 4");
  });

  it("lacks the history of a subagent whose id only a file above its folder has", async () => {
    const results = [{ subagent_trajectory_ref: { trajectory_id: "c" } }];
    const steps = [...own, step("agent", "b", { observation: { results } })];
    expect(await histories({ "x/a.json": document({ steps }), "c.json": document({ trajectory_id: "c" }) })).toBe(
      "3 2",
    );
  });

  it("has the tools of its first part", async () => {
    const tool_definitions = [{ type: "function", function: { name: "f" } }];
    const files = {
      "a.json": document({ agent: { tool_definitions }, continued_trajectory_ref: "b.json" }),
      "b.json": document({ steps: [step("user", "r"), step("agent", "b")] }),
    };
    expect(await convert(files, rewardsOf({ a: 1 }))).toMatchObject([
      { trajectories: [{ messages_and_choices: [{}, {}, {}, {}], tools: tool_definitions }] },
    ]);
  });

  it("lacks the history of a subagent whose id several files have", async () => {
    const results = [{ subagent_trajectory_ref: { trajectory_id: "c" } }];
    const [steps, other] = [
      [...own, step("agent", "b", { observation: { results } })],
      document({ trajectory_id: "c" }),
    ];
    expect(await histories({ "a.json": document({ steps }), "x/c.json": other, "y/c.json": other })).toBe("3 2 2");
  });

  it("keeps parts that are no images", async () => {
    const parts = [
      { type: "audio", source: { path: "p" } },
      { type: "image", source: { path: "i" } },
    ];
    expect(
      await convert({ "a.json": document({ steps: [step("user", parts), ...own] }) }, rewardsOf({ a: 1 })),
    ).toMatchObject([
      {
        trajectories: [
          { messages_and_choices: [{ content: [parts[0], { type: "image_url", image_url: { url: "i" } }] }, {}, {}] },
        ],
      },
    ]);
  });
});

it.each([
  ["an error that is recorded", { info: { error: "boom" }, termination_reason: "infrastructure_error" }, "boom"],
  ["no error", { termination_reason: "infrastructure_error" }, "the infrastructure failed"],
  ["no reward", { termination_reason: "max_steps", reward_info: null }, "the simulation has no reward_info"],
])("a failed simulation of tau2-bench with %s is an exception", async (_, more, message) => {
  const simulation = { task_id: 1, reward_info: { reward: 0 }, messages: chat.messages, ...more };
  expect(await convert({ "a.json": JSON.stringify(simulation) })).toMatchObject([
    { trajectories: [], exceptions: [{ type: more.termination_reason, message }] },
  ]);
});

it("several responses of lm-evaluation-harness have their own scores of each repeat", async () => {
  const row = { doc_id: 0, arguments: [["q", {}]], resps: [["a", "b"]], filtered_resps: ["a"], m: 0.5 };
  const files = { "a.jsonl": [{ ...row, scores_per_repeat: { m: [1, 0] } }] };
  expect(await convert(files, ["--reward-from", "m"])).toMatchObject([
    {
      trajectories: [
        { reward: 1, metrics: { m: 1 } },
        { reward: 0, metrics: { m: 0 } },
      ],
    },
  ]);
});

it("several responses of lm-evaluation-harness have their own finish reasons", async () => {
  const [row, ...others] = await convert(
    {
      "a.jsonl": [
        {
          ...{ doc_id: 0, arguments: [["q", {}]], resps: [["a", "b"]], filtered_resps: ["a", "b"], m: [1, 0], x: 2 },
          finish_reason: ["stop", "length"],
        },
      ],
    },
    ["--reward-from", "m"],
  );
  expect(others).toEqual([]);
  expect(row.trajectories).toMatchObject([
    { messages_and_choices: [user("q"), turn("a")], reward: 1 },
    { messages_and_choices: [user("q"), turn("b", "length")], reward: 0 },
  ]);
});

const trl = { prompt: "q", completion: "a", reward: 1 };
const gym = { _ng_task_index: 0, reward: 1, responses_create_params: { input: "q" } };
const sampled = { parent: 0, sampled: true, message: said("a"), finish_reason: "stop" };
const trace = { id: "t", task: { key: "k" }, rewards: { x: 1 }, nodes: [{ message: user("q") }, sampled] };
const exchange = (seconds: number, messages: readonly object[], answer: string) => ({
  start_time: `2026-01-01T00:00:0${seconds}+02:00`,
  request: { messages },
  response: { choices: [turn(answer)] },
});

it.each<[string, object, object]>([
  [
    "the reason of a call",
    { ...trace, calls: [{ node: 1, finish_reason: "abort" }] },
    { messages_and_choices: [{}, turn("a", "abort")] },
  ],
  ["the policy of a trace", { ...trace, info: { policy_version: 3 } }, { initial_policy_version: 3 }],
  [
    "the tools of a response",
    { ...gym, response: { output: [], tools: [{ name: "f" }] } },
    { tools: [{ function: { name: "f" } }] },
  ],
  [
    "the total reward of verl",
    { input: "q", output: "a", step: 0, score: 1, reward: 1, overlong_reward: -1 },
    { reward: 1 },
  ],
  [
    "an older mini-swe-agent",
    { ...chat, r: 1, info: { submission: "d", model_stats: { api_calls: 1 } } },
    { metadata: { submission: "d" } },
  ],
  [
    "numbers that are no metrics",
    { r: 1, x: 2, metrics: ["r"], doc_id: 0, arguments: [["q", {}]], resps: [["a"]], filtered_resps: ["a"] },
    { metrics: { r: 1 }, metadata: { x: 2 } },
  ],
  [
    "the filtered reward of verl",
    { input: "q", output: "a", step: 0, score: 1, reward: 0.25, system_prompt: "s" },
    { reward: 0.25, messages_and_choices: [user("q"), turn("a")] },
  ],
  [
    "the instructions of an exchange with the Responses API",
    {
      reward: 1,
      exchanges: { responses: [{ request: { input: "q", instructions: "s" }, response: { output: [said("a")] } }] },
    },
    { messages_and_choices: [{ role: "system", content: "s" }, user("q"), { message: { content: "a" } }] },
  ],
  [
    "the reward of a path in a line of ART",
    { r: 0.5, reward: 1, exchanges: { chat_completions: [exchange(1, [user("q")], "a")] } },
    { reward: 0.5, messages_and_choices: [user("q"), turn("a")] },
  ],
  [
    "the text of a reply of Anthropic",
    {
      reward: 1,
      exchanges: {
        messages: [{ request: { messages: [user("q")] }, response: { ...said("a"), stop_reason: "max_tokens" } }],
      },
    },
    { messages_and_choices: [user("q"), turn("a", "length")] },
  ],
  ["the tools of a trace", { ...trace, tools: [{ name: "f" }] }, { tools: [{ function: { name: "f" } }] }],
  ["the sum of the rewards of a trace", { ...trace, rewards: { x: 1, y: 0.5 } }, { reward: 1.5 }],
  [
    "the weights of the rewards of an older trace",
    { ...trace, rewards: { x: { score: 1, weight: 0.5 }, y: { score: 2, weight: 2 } } },
    { reward: 4.5 },
  ],
  [
    "the answer of a trace whose logprobs have no token ids",
    { ...trace, nodes: [{ message: user("q") }, { ...sampled, logprobs: [-1] }] },
    { messages_and_choices: [user("q"), turn("a")] },
  ],
  [
    "the tools of an exchange",
    {
      reward: 1,
      exchanges: {
        chat_completions: [
          {
            request: { messages: [user("q")], tools: [{ type: "function", function: { name: "f" } }] },
            response: { choices: [turn("a")] },
          },
        ],
      },
    },
    { tools: [{ type: "function", function: { name: "f" } }] },
  ],
  ["the value in metadata", { ...chat, lang: "a", metadata: { lang: "b" } }, { metadata: { lang: "b" } }],
  ["the start of a text in HTML", { ...trl, completion: "<s>3</s>" }, { messages_and_choices: [{}, turn("<s>3</s>")] }],
  [
    "exchanges of ART in the order of their times, each after the longest one that it continues",
    {
      reward: 1,
      exchanges: {
        chat_completions: [
          exchange(3, [user("q"), said("a"), user("r"), said("b"), user("s")], "c"),
          exchange(1, [user("q"), said("a"), user("r")], "b"),
          exchange(2, [user("q")], "a"),
        ],
      },
    },
    {
      messages_and_choices: [user("q"), said("a"), user("r"), turn("b"), user("s"), turn("c")],
      start_time: "2026-01-01T00:00:01+02:00",
    },
  ],
  [
    "the reasoning of an item instead of its summary",
    {
      ...gym,
      response: { output: [{ type: "reasoning", content: [{ text: "r" }], summary: [{ text: "s" }] }, said("a")] },
    },
    { messages_and_choices: [user("q"), { message: { reasoning_content: "r" } }] },
  ],
])("a conversion keeps %s", async (_, record, trajectory) => {
  const args = "r" in record ? ["--reward-from", "r"] : [];
  expect(await convert({ "a.jsonl": [record] }, args)).toMatchObject([{ trajectories: [trajectory] }]);
});

it("completions of a row have their own values in its lists, and a failed row has the type of its error", async () => {
  const row = { prompt: "q", completions: ["a", "b"], rewards: [1, 0], note: ["x", "y"], other: ["z"] };
  const [{ trajectories }] = await convert({ "a.jsonl": [row] });
  expect(trajectories.map(({ metadata }: { metadata: object }) => metadata)).toEqual([{ note: "x" }, { note: "y" }]);
  const failed = { ...trl, reward: undefined, error: { type: "Timeout", message: "late" } };
  expect(await convert({ "a.jsonl": [trl, failed] })).toMatchObject([
    { exceptions: [{ type: "Timeout", message: "late" }] },
  ]);
  const [prompt, completion] = [[{ role: "tutor", content: "q" }], [said("a")]];
  const rows = [failed, trl].map((one) => ({ ...one, prompt, completion }));
  const { stdout } = await runHere(["check", join(folderOf({ r: rows }), "r"), "--json"]);
  expect(JSON.parse(stdout).problems).toContainEqual(expect.objectContaining({ rule: "unknown-role", line: 2 }));
});

const lmEval = (texts: readonly string[]) => ({
  ...{ doc_id: texts.length, arguments: [["q", {}]], resps: [texts], filtered_resps: ["a"], m: 1 },
});
const episode = (id: string, traces: readonly object[]) => ({ id, env: { id: "e" }, ok: true, errors: [], traces });

it.each<[string, readonly object[], string]>([
  [
    "completions of TRL",
    [
      { prompt: "q", completions: ["a"], rewards: [1] },
      { prompt: "p", completions: [], rewards: [], id: "p" },
    ],
    "",
  ],
  ["samples of lm-evaluation-harness", [lmEval(["a"]), lmEval([])], "m"],
  ["samples of lm-evaluation-harness without a response", [lmEval(["a"]), { ...lmEval([]), resps: [[]] }], "m"],
  ["episodes of verifiers v1", [episode("a", [trace]), episode("b", [])], ""],
])("%s without a rollout are noted", async (_, rows, from) => {
  const notes = await notesHere(rows, from === "" ? [] : ["--reward-from", from]);
  expect(notes).toContain("left out a record without a rollout");
});

it("a missing list of responses of lm-evaluation-harness is an error", async () => {
  const rows = [lmEval(["a"]), { ...lmEval(["b"]), resps: undefined, doc_id: 1 }];
  expect(await convert({ "a.jsonl": rows }, ["--reward-from", "m"])).toContain("`resps` is missing");
});

describe("a command in a file of mini-swe-agent", () => {
  const command = "\n```bash\nls\n```";
  const response = { choices: [turn("a")] };
  const turnsOf = async (api_calls: number, ...answers: readonly object[]) => {
    const messages = [user("q"), ...answers, said(command)];
    const file = { r: 1, info: { submission: "d", model_stats: { api_calls } }, messages };
    return await turnsHere({ "a.traj.json": JSON.stringify(file) }, ["--reward-from", "r"]);
  };

  it("is a message if a person typed it, and a choice if the model can have sampled it", async () => {
    const turns = [turnsOf(2, said("a", { extra: { response } })), turnsOf(1, said("a")), turnsOf(2, said("a"))];
    expect(await Promise.all(turns)).toEqual(["u A a", "u A a", "u A A"]);
  });
});

describe("a failed episode of verifiers v1", () => {
  const episode = (ok: boolean, ...errors: readonly object[]) => ({
    ...{ id: `${ok}`, env: { id: "e" }, ok, errors },
    traces: [{ ...trace, id: `${ok}`, ok: true }],
  });
  const late = { type: "EnvError", message: "late" };

  it.each([
    ["its last error", [{ ...late, message: "first" }, late], late],
    ["no error", [], { type: "error", message: "no error is recorded" }],
  ])("makes its traces failures, whose rewards are not final, with %s", async (_, errors, exception) => {
    expect(await convert({ "a.jsonl": [episode(true), episode(false, ...errors)] })).toMatchObject([
      { trajectories: [{ reward: 1 }], exceptions: [exception] },
    ]);
  });

  it.each([
    [1, []],
    [2, []],
    [99, ["read a trace of version 99 as version 2, so new fields may not be converted"]],
    ["a", ["read a trace of version a as version 2, so new fields may not be converted"]],
  ])("has the notes of its trace of version %j", async (version, expected) => {
    const notes = await notesHere([{ ...trace, version }]);
    expect(notes.filter((note) => note.startsWith("read a"))).toEqual(expected);
  });

  it("states that it failed, because attempts before its traces can have errors, too", async () => {
    const { ok: _, ...unstated } = episode(true, late);
    expect(await convert({ "a.jsonl": [unstated] })).toMatchObject([{ trajectories: [{ reward: 1 }] }]);
  });
});

describe("an agent of NeMo Gym", () => {
  const ids = { prompt_token_ids: [0], generation_token_ids: [0], generation_log_probs: [0] };
  const item = (text: string, more: object = {}) => ({ ...said("", more), content: [{ type: "output_text", text }] });
  const gymRow = (...output: readonly object[]) => ({ ...gym, response: { output } });

  it("can add a placeholder with token ids, which is no turn, and alone is a failure", async () => {
    const rows = [
      gymRow(item("a"), item("", ids)),
      gymRow(item("", ids)),
      gymRow(item("late", ids)),
      gymRow(item("0", { ...ids, generation_token_ids: [0, 1], generation_log_probs: [0, -1] })),
    ];
    const [{ trajectories, exceptions }] = await convert({ "a.jsonl": rows });
    expect(trajectories).toMatchObject(
      ["a", "0"].map((content) => ({ messages_and_choices: [user("q"), { message: { content } }] })),
    );
    expect(exceptions).toEqual([
      { type: "no_turns", message: "no message is recorded" },
      { type: "no_turns", message: "late" },
    ]);
  });

  it.each([
    [
      "of Harbor's agent",
      { metadata: { trial_name: "t", exception_info: { exception_type: "E" } } },
      "a",
      { type: "E" },
    ],
    ["of an unverified trial", { metadata: { trial_name: "t", verifier_result: null } }, "a", { type: "unscored" }],
    ["of mini-swe-agent", { metadata: { error: "late", traceback: "T" } }, "", { message: "late", traceback: "T" }],
    ["without a cause", { instance_id: "i", metadata: {} }, "", { type: "no_turns" }],
    ["of the finance agent", { response: { id: "error", output: [] } }, "", { type: "no_turns" }],
  ])("has the reward 0 for a failed run %s, which becomes a failure", async (_, run, text, failure) => {
    const scored = { trial_name: "t", verifier_result: { rewards: { r: 0 } }, exception_info: {} };
    const rows = [
      gymRow(),
      { ...run, ...gymRow(item("b")), metadata: {}, instance_id: "i" },
      { ...gymRow(item("c")), metadata: scored },
      { ...gymRow(...(text ? [item(text)] : [])), ...run, reward: 0 },
    ];
    const [{ trajectories, exceptions }] = await convert({ "a.jsonl": rows });
    expect([trajectories.length, exceptions]).toEqual([3, [expect.objectContaining(failure)]]);
  });

  it("can ask again, so that the response follows the last request", async () => {
    const attempts = ["q", "again"].map((input) => ({ input: { input } }));
    const [{ trajectories }] = await convert({ "a.jsonl": [{ ...gymRow(item("a")), all_attempts: attempts }] });
    expect(trajectories).toMatchObject([{ messages_and_choices: [user("again"), { message: { content: "a" } }] }]);
    expect(await notesHere([{ ...gymRow(item("a")), all_attempts: attempts }])).toContain(
      "left out an earlier attempt with another prompt",
    );
  });
});
