/** Records with values that most records of their format lack, as whole trajectories. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { readRewardsFile } from "../../../src/rollouts/formats/convert-opened.ts";
import { runHere } from "../../support/here.ts";
import { testHost } from "../../support/host.ts";
import { convertHere as convert, folderOf, turn, user } from "./converting.ts";

const said = (content: string, more: object = {}) => ({ role: "assistant", content, ...more });
const sampled = (message: object, finish_reason = "stop") => ({ finish_reason, index: 0, message });

const gym = { _ng_task_index: 0, reward: 1, responses_create_params: { input: "q" } };
const simulated = { task_id: 1, termination_reason: "user_stop", reward_info: { reward: 1 } };
const chat = { messages: [user("q"), said("a")], reward: 1 };
const turns = [user("q"), turn("a")];
const generated = said("a", { source: "generate" });
const sample = { id: 1, epoch: 1, messages: [user("q"), generated] };
const result = { type: "function_call_output", call_id: "c", output: "", extra: { exception_info: "" } };
const trace = { id: "t", task: { key: "k" }, rewards: { x: 1 } };
const ofTrace = { metrics: { "rewards.x": 1 }, metadata: { id: "t", "task.key": "k" } };
const compacting = (type: string) => ({
  ...trace,
  nodes: [
    { message: user("q") },
    { parent: 0, sampled: true, message: said("brief"), semantic_parents: [{ type: "compaction_attempt", node: 0 }] },
    { message: user("brief"), semantic_parents: [{ type, node: 1 }] },
    { parent: 2, sampled: true, message: said("a") },
  ],
});
const withHistory = (answer: object) => ({
  ...ofTrace,
  additional_histories: [{ messages_and_choices: [user("q"), answer] }],
});

it.each<[string, object, readonly object[], object]>([
  [
    "metrics in objects of NeMo Gym",
    {
      ...gym,
      response: { output: [said("a")] },
      scores: { x: 0.5, note: "n" },
      reward_format: 0.25,
      agent_ref: { name: "A" },
    },
    turns,
    { metrics: { reward_format: 0.25, "scores.x": 0.5 }, metadata: { _ng_task_index: 0, "agent_ref.name": "A" } },
  ],
  [
    "the finish reason of a turn of tau2-bench without its message",
    { ...simulated, messages: [user("q"), said("a", { raw_data: { choices: [{ finish_reason: "length" }] } })] },
    [user("q"), turn("a", "length")],
    { metadata: { task_id: 1, termination_reason: "user_stop" } },
  ],
  [
    "a compaction that a trace of prime-rl continues",
    compacting("compaction"),
    [user("brief"), turn("a")],
    withHistory(turn("brief")),
  ],
  [
    "a compaction that a trace of prime-rl does not continue",
    compacting("other"),
    [user("brief"), turn("a")],
    withHistory(said("brief")),
  ],
  [
    "a tool without a type",
    { ...chat, tools: [{ function: { name: "f" } }] },
    turns,
    { tools: [{ type: "function", function: { name: "f" } }] },
  ],
  [
    "finish reasons of more turns than the row has",
    { ...chat, finish_reason: ["stop", "length"] },
    [user("q"), turn("a", "length")],
    {},
  ],
  [
    "other finish reasons of a turn and of its row",
    { messages: [user("q"), said("a", { finish_reason: "length" })], finish_reason: "content_filter", reward: 1 },
    [user("q"), sampled(said("a", { finish_reason: "length" }), "length")],
    { metadata: { finish_reason: "content_filter" } },
  ],
  [
    "an empty exception of a command of mini-swe-agent",
    { r: 1, info: {}, trajectory_format: "mini-swe-agent-1", messages: [result] },
    [{ role: "tool", tool_call_id: "c", content: "" }],
    { metadata: { r: 1, trajectory_format: "mini-swe-agent-1" } },
  ],
  [
    "a metric of lm-evaluation-harness once",
    { r: 1, x: 2, metrics: ["r"], doc_id: 0, arguments: [["q", {}]], resps: [["a"]], filtered_resps: ["a"] },
    turns,
    { metrics: { r: 1 }, metadata: { x: 2, doc_id: 0 } },
  ],
  [
    "the name of the scorer in an older log of Inspect",
    { eval: { task: "t" }, results: { scores: [{ name: "acc" }] }, samples: [{ ...sample, score: { value: "C" } }] },
    [user("q"), sampled(generated)],
    { metrics: { "scores.acc": 1 }, metadata: { id: 1, epoch: 1, task: "t" } },
  ],
])("a conversion keeps %s", async (_, records, messages_and_choices, more) => {
  const args = "r" in records ? ["--reward-from", "r"] : [];
  const groups = await convert({ "a.jsonl": [records].flat() }, args);
  expect(groups).toEqual([{ trajectories: [{ messages_and_choices, reward: 1, ...more }] }]);
});

it("a failed row of verifiers needs no completion", async () => {
  const row = { example_id: 0, prompt: [user("q")], info: {}, reward: 0, error: "boom" };
  expect(await convert({ "a.jsonl": [row] })).toEqual([
    { trajectories: [], exceptions: [{ type: "error", message: "boom" }] },
  ]);
});

it.each([
  ["a simulation of tau2-bench with ticks", { ...simulated, ticks: [{}] }, "voice simulations (with ticks)"],
  [
    "a sample of lm-evaluation-harness with several requests",
    {
      doc_id: 0,
      arguments: [
        ["q", {}],
        ["r", {}],
      ],
      resps: [["a"]],
      filtered_resps: ["a"],
      acc: 1,
    },
    "the model rated texts instead of sampling them",
  ],
])("%s is refused", async (_, record, fault) => {
  expect(await convert({ "a.json": JSON.stringify(record) }, ["--reward-from", "acc"])).toContain(fault);
});

describe("a conversion of files", () => {
  const steps = [
    { source: "user", message: "q" },
    { source: "agent", message: "a" },
  ];
  const atif = (more: object, message = "a") =>
    JSON.stringify({
      schema_version: "ATIF-v1.6",
      session_id: "s",
      steps: [steps[0], { ...steps[1], message }],
      ...more,
    });
  const scored = { id: 0, prompt: [{ role: "user", content: [{ type: "text", text: "q" }] }], task: "t", reward: 1 };
  const row = { ...scored, completion: [said("a")] };
  const rated = (k: number) => ({
    doc_id: k,
    k,
    filter: "f",
    arguments: [["q", {}]],
    resps: [["a"]],
    filtered_resps: ["a"],
    m: 1,
  });
  const keyed = [1, 2, 1].map((k) => ({ ...chat, k }));

  it.each<[expected: string, files: Parameters<typeof convert>[0], args?: readonly string[]]>([
    [
      `${JSON.stringify(turns)},"reward"`,
      { "a.json": atif({ continued_trajectory_ref: "b.json" }), "b.json": atif({}) },
      ["--rewards"],
    ],
    [
      JSON.stringify([...turns, turn("b"), turn("c")]),
      {
        "a.json": atif({ continued_trajectory_ref: "/x/b.json" }),
        "b.json": atif({ continued_trajectory_ref: "../c.json" }, "b"),
        "c.json": atif({}, "c"),
      },
      ["--rewards"],
    ],
    [
      '}]},{"trajectories"',
      {
        "a.json": atif({
          steps: [
            {
              ...steps[1],
              observation: { results: [{ subagent_trajectory_ref: [{ trajectory_path: "m.json", session_id: "s" }] }] },
            },
          ],
        }),
        "b.json": atif({}),
      },
      ["--rewards"],
    ],
    ['}],"reward":1,"metadata":{"id":0,"task":"t"}},{"messages', { "results.jsonl": [row, { ...row, id: 1 }] }],
    ["[ambiguous-group]", { a: [...[1, 2, 1].map(rated), '{"doc'] }, ["--group-by", "k", "--reward-from", "m"]],
    [
      JSON.stringify(turn("a")),
      { a: ["x\ny", "x\ny\nz"].map((prompt, at) => ({ prompt, completion: ["", "a"][at], reward: at })) },
    ],
    ["so the group is unknown", { "result.json": '{"a":1}' }, ["--from", "harbor"]],
    [
      "several filters rate the sample",
      { "a.json": JSON.stringify(["f", "g"].map((filter) => ({ ...rated(1), filter }))) },
      ["--reward-from", "m"],
    ],
    [
      '}]},{"trajectories":[{"messages_and_choices"',
      { a: [chat], b: [{ trajectories: [{ messages_and_choices: turns, reward: 0 }] }] },
    ],
    ["[ambiguous-group]", { a: keyed, b: ['{"mess'] }, ["--group-by", "k"]],
    [
      "[ambiguous-group]",
      { a: [atif({}), atif({ session_id: "t" }), atif({}), '{"schema_ver'] },
      ["--rewards", "--group-by", "session_id"],
    ],
  ])("has %s for %j with %j", async (expected, files, args = []) => {
    const rewards =
      args[0] === "--rewards" ? [join(folderOf({ r: ["s", "t"].map((id) => ({ id, reward: 1 })) }), "r")] : [];
    const converted = await convert(files, [...args.slice(0, 1), ...rewards, ...args.slice(1)]);
    expect(typeof converted === "string" ? converted : JSON.stringify(converted)).toContain(expected);
  });

  it("names the record of a copied failure", async () => {
    const failed = { example_id: 0, ...row, rollout_id: "x", error: "boom" };
    const file = join(
      folderOf({
        a: [{ ...failed, error: null, rollout_id: "y" }, failed, failed].map((one) => JSON.stringify(one)).join("\n"),
      }),
      "a",
    );
    expect((await runHere(["check", file])).stderr).toContain(`${file}:3`);
  });
});

it.each([
  ["m,strict", ["strict"], "1"],
  ["m,strict", ["flexible"], "no row of the file has the filter strict [record-invalid]\nhint: pass --reward-from m\n"],
  ["m,strict", ["flexible", "none"], "pass --reward-from with one of m,flexible, m,none\n"],
  ["m", ["strict"], "1"],
  ["m", ["strict", "none"], "several filters rate the sample [record-invalid]"],
])(
  "--reward-from %s of lm-evaluation-harness takes rewards only of its filter, for %j",
  async (from, filters, said) => {
    const sample = { doc_id: 0, arguments: [["q", {}]], resps: [["a"]], filtered_resps: ["a"], m: 1 };
    const rows = filters.map((filter) => ({ ...sample, filter }));
    const converted = await convert({ "a.jsonl": rows }, ["--reward-from", from]);
    expect(typeof converted === "string" ? converted : `${converted[0].trajectories[0].reward}`).toContain(said);
  },
);

describe("a sample of lm-evaluation-harness before 0.4.7, whose rows do not name their filters,", () => {
  const row = (doc_id: number, answer: string, m: number) => ({
    ...{ doc_id, doc_hash: `d${doc_id}`, arguments: [["q", {}]], resps: [[answer]], filtered_resps: ["a"], m },
  });
  const rows = [row(0, "a", 0), row(1, "b", 0), row(0, "a", 1), row(1, "b", 0)];

  it.each([
    ["lines", { "a.jsonl": rows }],
    ["lists", { "a.json": JSON.stringify(rows) }],
    ["two files", { "a.jsonl": rows.slice(0, 3), "b.jsonl": [...rows.slice(0, 1), ...rows.slice(2, 3)] }],
  ])("has the reward of one numbered filter, in %s", async (_, files) => {
    const rewardsFrom = async (from: string) => {
      const groups = await convert(files, ["--reward-from", from]);
      return typeof groups === "string" ? groups : groups.map(({ trajectories: [{ reward }] }) => reward).join();
    };
    expect(await rewardsFrom("m")).toContain("several filters, numbered here because the rows name none, rate the");
    expect(await rewardsFrom("m")).toContain("pass --reward-from with one of m,1, m,2");
    const others = "b.jsonl" in files;
    expect(await rewardsFrom("m,1")).toBe(others ? "0,0,0" : "0,0");
    expect(await rewardsFrom("m,2")).toBe(others ? "1,1" : "1,0");
  });

  it("is two rollouts if the answers differ", async () => {
    const groups = await convert({ "a.jsonl": [row(0, "a", 0), row(0, "b", 1)] }, ["--reward-from", "m"]);
    expect(groups).toMatchObject([{ trajectories: [{ reward: 0 }, { reward: 1 }] }]);
  });
});

describe("an exchange of ART", () => {
  const mark = { cache_control: { type: "ephemeral" } };
  const textOf = (text: string, more: object = {}) => ({ type: "text", text, ...more });
  const [first, second] = [textOf("first"), textOf("second")];

  /** Converts two exchanges with an API, of which the second one has the answer of the first one. */
  const joinExchanges = async (api: string, requests: readonly (readonly object[])[], responses: readonly object[]) => {
    const exchanges = requests.map((messages, at) => ({
      start_time: `2026-01-01T00:00:0${at}Z`,
      request: { messages },
      response: responses[at],
    }));
    const [group] = await convert({ "a.jsonl": [{ reward: 1, exchanges: { [api]: exchanges } }] });
    const { messages_and_choices, additional_histories } = group.trajectories[0];
    return { messages_and_choices, additional_histories };
  };

  it.each<[continues: string, difference: string, object, object]>([
    ["continues", "a cache mark of a message", { content: "q", ...mark }, { content: "q" }],
    ["continues", "a cache mark", { content: [textOf("a", mark), second] }, { content: [textOf("a"), second] }],
    ["continues", "the part with a mark", { content: [first, textOf("a", mark)] }, { content: [first, textOf("a")] }],
    ["continues", "a cache mark of its only part", { content: [textOf("a", mark)] }, { content: "a" }],
    ["continues", "annotations", { content: "q", annotations: [{ type: "a" }] }, { content: "q" }],
    ["continues", "null", { content: "q", name: null }, { content: "q" }],
    ["continues", "an empty text", { content: "q", refusal: "" }, { content: "q" }],
    ["continues", "an empty list", { content: "q", tool_calls: [] }, { content: "q" }],
    [
      "continues",
      "the order of members of a part",
      { content: [first, second] },
      { content: [{ text: "first", type: "text" }, second] },
    ],
    ["continues", "the order of members", { content: [first] }, { content: [{ text: "first", type: "text" }] }],
    ["does not continue", "its text", { content: "q" }, { content: "r" }],
    ["does not continue", "a member", { content: "q", name: "n" }, { content: "q" }],
    ["does not continue", "a part", { content: [first, second] }, { content: [first] }],
    ["does not continue", "the order of parts", { content: [first, second] }, { content: [second, first] }],
  ])("%s the one before if a message differs in %s", async (continues, _, one, other) => {
    const [a, b] = [
      { role: "user", ...one },
      { role: "user", ...other },
    ] as const;
    for (const [before, after] of [[a, b] as const, [b, a] as const]) {
      const requests = [[before], [after, said("a"), user("r")]];
      const histories = [{ messages_and_choices: [before, turn("a")] }];
      expect(
        await joinExchanges(
          "chat_completions",
          requests,
          ["a", "b"].map((text) => ({ choices: [turn(text)] })),
        ),
      ).toEqual(
        continues === "continues"
          ? { messages_and_choices: [before, turn("a"), user("r"), turn("b")] }
          : { messages_and_choices: [after, said("a"), user("r"), turn("b")], additional_histories: histories },
      );
    }
  });

  it("continues the one before if the client of Anthropic moved its cache mark", async () => {
    const marked = (text: string) => ({ role: "user", content: [textOf(text, mark)] });
    const answers = ["a", "b"].map((text) => said("", { content: [textOf(text)], stop_reason: "end_turn" }));
    const requests = [[marked("q")], [user("q"), said("", { content: [textOf("a")] }), marked("r")]];
    expect(await joinExchanges("messages", requests, answers)).toEqual({
      messages_and_choices: [marked("q"), turn("a"), marked("r"), turn("b")],
    });
  });
});

it("a file of --rewards can begin with a byte order mark", async () => {
  const file = join(folderOf({ r: '\ufeff{"id":"a","reward":1}\r\n\r\n{"id":"b","reward":0.5}\r\n' }), "r");
  expect(Object.fromEntries(await readRewardsFile(file, testHost()))).toEqual({ a: "1", b: "0.5" });
});

describe("a continuation of ATIF", () => {
  const step = (source: string, message: string, more: object = {}) => ({ source, message, ...more });
  const own = [step("user", "q"), step("agent", "a")];
  const copied = [step("user", "brief"), ...own].map((one) => ({ ...one, is_copied_context: true }));
  const document = (steps: readonly object[], more: object = {}) =>
    JSON.stringify({ schema_version: "ATIF-v1.6", session_id: "s", steps, ...more });
  const files = {
    "a.json": document(own, { continued_trajectory_ref: "b.json" }),
    "b.json": document([...copied, step("user", "q"), step("agent", "b"), step("agent", "c", { llm_call_count: 0 })]),
  };
  const rewards = () => ["--rewards", join(folderOf({ r: '{"id":"s","reward":1}' }), "r")];
  const rest = [user("q"), turn("b"), said("c")];

  it("adds all steps that it does not mark as copied, also if they repeat others", async () => {
    expect(await convert(files, rewards())).toMatchObject([
      { trajectories: [{ messages_and_choices: [...turns, ...rest] }] },
    ]);
  });

  it("is rejected with each of its documents once", async () => {
    const calling = step("agent", "", { tool_calls: [{ tool_call_id: "c", function_name: "f", arguments: {} }] });
    const parts = [document([calling, ...own], { continued_trajectory_ref: "b.json" }), document(own)];
    const all = { "a.json": parts[0] ?? "", "b.json": parts[1] ?? "", "c.json": document(own) };
    const rejects = join(folderOf({}), "rejects");
    expect(await convert(all, [...rewards(), "--strict", "--on-invalid", "skip", "--rejects", rejects])).toHaveLength(
      1,
    );
    expect(readFileSync(rejects, "utf8")).toBe(`${parts.join("\n")}\n`);
  });

  it("and a subagent that two results refer to count once", async () => {
    const results = [1, 2].map((source_call_id) => ({
      source_call_id: `${source_call_id}`,
      subagent_trajectory_ref: [{ trajectory_path: "c.json" }],
    }));
    const delegating = step("agent", "a", { observation: { results } });
    const both = { "a.json": document([delegating]), "c.json": document(own, { session_id: "c" }) };
    expect(await convert(both, rewards())).toMatchObject([
      { trajectories: [{ additional_histories: [{ messages_and_choices: turns }] }] },
    ]);
  });

  it("does not need the file of a subagent if its id leads to another file", async () => {
    const reference = [{ trajectory_path: "moved.json", session_id: "c" }];
    const delegating = step("agent", "a", { observation: { results: [{ subagent_trajectory_ref: reference }] } });
    const both = { "a.json": document([delegating]), "c.json": document(own, { session_id: "c" }) };
    expect(await convert(both, rewards())).toMatchObject([
      {
        trajectories: [{ messages_and_choices: [turn("a")], additional_histories: [{ messages_and_choices: turns }] }],
      },
    ]);
  });

  it("keeps a step of a continuation whose calls differ", async () => {
    const called = (a: number) => {
      const call = { tool_call_id: "c", function_name: "f", arguments: { a } };
      return step("agent", "", { tool_calls: [call] });
    };
    const files = {
      "a.json": document([step("user", "q"), called(1)], { continued_trajectory_ref: "b.json" }),
      "b.json": document([step("user", "q"), called(2)]),
    };
    const args = JSON.stringify(await convert(files, rewards())).match(/{\W*a\W*\d/g);
    expect(args).toEqual([1, 2].map((a) => expect.stringContaining(`${a}`)));
  });
});
