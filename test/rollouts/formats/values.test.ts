/** Values of a record besides its turns, and what they become. */
import { expect, it } from "vitest";
import { runHere } from "../../support/here.ts";
import { fileOf, itTells, type Row, tell } from "./converting.ts";
import {
  art,
  atif,
  chat,
  example,
  exchange,
  generated,
  gym,
  harness,
  inspect,
  miniSwe,
  said,
  sample,
  simulation,
  trace,
  trl,
  user,
  verl,
} from "./records.ts";

const tool = { type: "function", function: { name: "f" } };
const schemas = ["input_schema", "parameters_json_schema", "parametersJsonSchema", "parameters"];
const declared = ["functionDeclarations", "function_declarations"].flatMap((list) =>
  schemas.map((schema) => ({ [list]: [{ name: "f", [schema]: {} }] })),
);
const asked = { input: "q", tools: [{ name: "f" }] };
const modelEvent = { event: "model", tools: [{ name: "f" }], output: { choices: [{ message: { id: "x" } }] } };
const ofTools = '"tools":[{"type":"function","function":{"name":"f"}}]';
const scored = (scores: object, more: object = {}) => [inspect([sample({ scores, ...more })])];
const trial = {
  ...{ trial_name: "t", task_name: "n", agent_info: { name: "a" }, started_at: "2026-01-02T00:00:00Z" },
  verifier_result: { rewards: { reward: 1, style: 0.5 } },
};
const harbor = (more: object = {}) => ({
  "j/t/result.json": JSON.stringify({ ...trial, ...more }),
  "j/t/agent/trajectory.json": JSON.stringify(atif()),
});
const deep = `${"[".repeat(50_000)}${"]".repeat(50_000)}`;
const fallback = "another model answered";

itTells("a conversion keeps %s", [
  [
    "metrics in objects of NeMo Gym",
    [gym(undefined, { scores: { x: 0.5, note: "n" }, reward_format: 0.25, agent_ref: { name: "A" } })],
    '"metrics":{"reward_format":0.25,"scores.x":0.5},"metadata":{"_ng_task_index":0,"agent_ref.name":"A"}}',
  ],
  [
    "facts of tau2-bench",
    [simulation()],
    '"reward":1,"metadata":{"task_id":1,"trial":0,"termination_reason":"user_stop"}}]}',
  ],
  ["a metric once", [harness({ x: 2, metrics: ["r"] })], '"metrics":{"r":1},"metadata":{"doc_id":0,"x":2}}'],
  [
    "the scores of each repeat",
    [harness({ resps: [["a", "b"]], r: 0.5, scores_per_repeat: { r: [1, 0] } })],
    '=1 (u:q A:b) =0 & "metrics":{"r":1} & "metrics":{"r":0}',
  ],
  ["the score of a repeat", [harness({ r: 1, scores_per_repeat: { r: [0.5] } })], '"reward":0.5'],
  [
    "the name of the scorer in an older log",
    [inspect([sample({ scores: undefined, score: { value: "C" } })], { results: { scores: [{ name: "acc" }] } })],
    '"reward":1,"metrics":{"scores.acc":1},"metadata":{"id":1,"epoch":1,"task":"t"}}',
  ],
  ...Object.entries({ C: 1, I: 0, P: 0.5, N: 0, Yes: 1, no: 0, TRUE: 1, false: 0 }).map(([value, reward]): Row => {
    return [`the score ${value}`, scored({ m: { value } }), `"reward":${reward},"metrics":{"scores.m":${reward}}`];
  }),
  [
    "a limit and an error",
    scored({ m: { value: 1 } }, { limit: { type: "token" }, error: { message: "late", traceback: "T" } }),
    '"limit":"token","task":"t","error":"late"',
  ],
  ["a model of the sample", scored({ m: { value: 1 } }, { model_fallbacks: ["m"] }), fallback],
  ["no other model", scored({ m: { value: 1 } }, { model_fallbacks: [] }), `=1 & no:${fallback}`],
  ["a start", harbor(), `"metrics":{"style":0.5},"metadata" & "start_time":"${trial.started_at}"}]}`, "--from harbor"],
  ["a submission", [miniSwe([user("q"), said("a")], { info: { submission: "d" } })], '"submission":"d"'],
  ["a policy", [trace({ info: { policy_version: 3 } })], '"initial_policy_version":3'],
  ["the weight of a single reward", [trace({ rewards: { x: { score: 1, weight: 0.5 } } })], '"reward":0.5'],
  ["the sum of rewards", [trace({ rewards: { x: 1, y: 0.5 } })], '"reward":1.5'],
  [
    "the weights of rewards of an older trace",
    [trace({ rewards: { x: { score: 1, weight: 0.5 }, y: { score: 2, weight: 2 } } })],
    '"reward":4.5',
  ],
  ["its facts", [trace({ timing: { start: 0 } })], '"metrics":{"rewards.x":1},"metadata":{"id":"t","task.key":"k"}}'],
  ["no ids", [trace(), ...[2, 3].map((x) => trace({ id: undefined, rewards: { x } }))], '"reward":2 & "reward":3'],
  ["the total reward of verl", [verl({ reward: 1, overlong_reward: -1 })], '"reward":1'],
  ["a false reward", [chat({ reward: false })], '"reward":0 & converted the rewards true and false to 1 and 0'],
  ["values in metadata first", [chat({ lang: "a", metadata: { lang: "b" } })], '"metadata":{"lang":"b"}'],
  [
    "values of its completion",
    [{ prompt: "q", completions: ["a", "b"], rewards: [1, 0], note: ["x", "y"], other: ["z"] }],
    '"reward":1,"metadata":{"note":"x"}} & "reward":0,"metadata":{"note":"y"}}',
  ],
  ["a usage of verifiers", [example({ token_usage: { input_tokens: 8, output_tokens: 2 } })], '"output_tokens":2'],
  ["a usage", [chat({ usage: { prompt_tokens: 8, completion_tokens: 2 } })], '"completion_tokens":2'],
  ...["image", "images", "videos", "audios"].map(
    (name): Row => [name, [trl({ [name]: ["i"] })], `"${name}":["i"],"reward"`],
  ),
  ["images that are no list", [trl({ images: 2 })], '"metadata":{"images":2}'],
  ["the order of keys", [`{"reward":1,"x":1e2,"prompt":"q","completion":"a"}`], '"metadata":{"x":1e2}'],
  [
    "members of parts that are null",
    [
      `{"reward":1,"messages":[{"role":"user","content":[{"type":"x","y":null,"arguments":{"k":null}}]},{"role":"assistant"}]}`,
    ],
    '[{"type":"x","arguments":{"k":null}}]',
  ],
  ["nested answers", [`${JSON.stringify(example({ id: 1, answer: "@" })).replace('"@"', deep)}`], '"reward":1'],
  ["a tool without a type", [chat({ tools: [{ function: { name: "f" } }] })], ofTools],
  [
    "a schema of Arrow",
    [chat({ tools: [{ ...tool, function: { name: "f", parameters: { anyOf: [{ type: "a", minimum: null }] } } }] })],
    '"anyOf":[{"type":"a"}]',
  ],
  [
    "a custom tool",
    [trl({ tools: [{ type: "custom", name: "f", input_schema: {} }] })],
    '"function":{"name":"f","parameters":{}}',
  ],
  ...declared.map(
    (own): Row => ["tools of Gemini", [trl({ tools: [own] })], '"function":{"name":"f","parameters":{}}'],
  ),
  ["tools of a response", [gym([], { response: { output: [], tools: [{ name: "f" }] } })], ofTools],
  ["tools of a request", [gym([], { responses_create_params: asked })], ofTools],
  ["tools of a trace", [trace({ tools: [{ name: "f" }] })], ofTools],
  [
    "tools of an exchange",
    [art({ chat_completions: [{ ...exchange([user("q")]), request: { messages: [user("q")], tools: [tool] } }] })],
    ofTools,
  ],
  ["tools of a model's event", [inspect([sample({ events: [modelEvent] })])], '"source":"generate"}}],"reward"'],
  [
    "tools of its model",
    [
      inspect([
        sample({
          messages: [user("q"), { ...generated, id: "x" }],
          events: [
            { ...modelEvent, output: { choices: [{ message: { ...generated, id: "x" }, stop_reason: "stop" }] } },
          ],
        }),
      ]),
    ],
    ofTools,
  ],
]);

const late = { type: "EnvError", message: "late" };
const episode = (ok: boolean, more: object = {}) => ({
  ...{ id: `${ok}`, env: { id: "e" }, ok, errors: [], traces: [trace({ id: `${ok}`, ok: true })] },
  ...more,
});
const infrastructure = { termination_reason: "infrastructure_error" };
const run = (more: object, text = "") => [
  gym([]),
  gym([said("b")], { metadata: {}, instance_id: "i" }),
  gym([said("c")], { metadata: { trial_name: "t", verifier_result: { rewards: { x: 0 } }, exception_info: {} } }),
  gym(text ? [said(text)] : [], { ...more, reward: 0 }),
];
/** The other rollouts of a run, before its failure. */
const counted = "(u:q) =1 (u:q A:b) =1 (u:q A:c) =1 !";
const untried = { trial_name: "t", exception_info: { exception_type: "E" } };
const ungraded = (more: object) => [gym([], { reward: 0, ...more })];
const noTurns = "no_turns: no message is recorded";
const ofError = (error: unknown) => [
  example(),
  example({ error, reward: 0 }),
  example({ error: failure, reward: null }),
];
const failure = { error: "ModelError", error_chain_repr: "ModelError('x')", error_chain_str: "x" };
const none = Object.fromEntries(Object.keys(failure).map((key) => [key, null]));

itTells("a rollout that failed is an exception with %s", [
  ["a text", [simulation(undefined, { info: { error: "boom" }, ...infrastructure })], "!infrastructure_error: boom"],
  ["the infrastructure", [simulation(undefined, infrastructure)], "!infrastructure_error: the infrastructure failed"],
  ["no reward", [simulation(undefined, { reward_info: null })], "!user_stop: the simulation has no reward_info"],
  ["a row", [trl(), trl({ reward: undefined, error: { type: "Timeout", message: "late" } })], "=1 !Timeout: late"],
  [
    "an error of verifiers",
    [example({ completion: undefined, reward: 0, error: "boom" })],
    '"trajectories":[],"exceptions":[{"type":"error","message":"boom"}]',
  ],
  [
    "a type of an error",
    [example({ completion: undefined, reward: 0, error: { type: "E" } })],
    '"exceptions":[{"type":"E"}]',
  ],
  ...[null, "", false, 0, "None", "nan", "No error", {}, [], none, { error: [none] }].map(
    (error): Row => [
      `only the last error ${JSON.stringify(error)}`,
      ofError(error),
      "=1 (u:q A:a) =0 !ModelError: ModelError('x')",
    ],
  ),
  [
    "an episode's last error",
    [episode(true), episode(false, { errors: [{ ...late, message: "first" }, late] })],
    "=1 !EnvError: late",
  ],
  ["an episode without an error", [episode(true), episode(false)], "=1 !error: no error is recorded"],
  ["errors of an episode that did not fail", [episode(true, { ok: undefined, errors: [late] })], "(u:q A:a) =1\n"],
  [
    "an episode that trains nothing",
    [episode(false, { task: { key: "t" }, traces: [{ agent: { trainable: false } }] })],
    '"exceptions":[{',
  ],
  [
    "an error of a sample",
    [inspect([sample({ scores: {}, error: { message: "late", traceback: "T" } })])],
    '"trajectories":[],"exceptions":[{"type":"error","message":"late","traceback":"T"}]',
  ],
  ["Harbor's agent", run({ metadata: untried }, "a"), `${counted} & "type":"E"`],
  ["no verifier", run({ metadata: { trial_name: "t", verifier_result: null } }, "a"), `${counted} & "type":"unscored"`],
  [
    "an error of mini-swe-agent",
    run({ metadata: { error: "late", traceback: "T" } }),
    `${counted} & "message":"late","traceback":"T"`,
  ],
  ["a run without a cause", run({ instance_id: "i", metadata: {} }), `${counted}${noTurns}`],
  ["the finance agent", run({ response: { id: "error", output: [] } }), `${counted}${noTurns}`],
  [
    "a message that is an object",
    [gym([], { exception_type: "E", exception_message: { k: 1 } })],
    '"type":"E","message":"{\\"k\\":1}"',
  ],
  ["no message", [gym([], { exception_type: "E" })], "no message is recorded"],
  ["a mask", [gym([], { mask_sample: true })], '{"type":"masked"'],
  ["a mask of the configuration", [gym([], { instance_config: { mask_sample: true } })], '{"type":"masked"'],
  [
    "no task",
    ungraded({ grading_type: "unknown", grading_notes: "", status: "missing_task" }),
    '{"type":"missing_task"',
  ],
  [
    "a note",
    ungraded({ grading_type: "unknown", grading_notes: "run failed", status: "error" }),
    '"message":"run failed"',
  ],
  ["a judge's error", ungraded({ segale_error: "actor_unavailable" }), '"message":"actor_unavailable"'],
  ["a judge that skipped", ungraded({ judge_skipped: true }), '"message":"judge_skipped is true"'],
  ["an invalid judge", ungraded({ invalid_judge_response: true }), '"message":"invalid_judge_response is true"'],
]);

const filters = (...names: readonly string[]) => names.map((filter) => harness({ filter, r: undefined, m: 1 }));
const oldRow = (doc_id: number, answer: string, m: number) =>
  harness({ doc_id, doc_hash: `d${doc_id}`, resps: [[answer]], m, r: undefined });
const old = [oldRow(0, "a", 0), oldRow(1, "b", 0), oldRow(0, "a", 1), oldRow(1, "b", 0)];
const unnamed = [inspect([sample({ scores: { m: { value: 1 } } }), sample({ id: 8, scores: { n: { value: 1 } } })])];
const tokens = (status: string) => [inspect([sample({ scores: {} })], { status })];
const version = (own: unknown) => `read a trace of version ${own} as version 2, so new fields may not be converted`;
const ofModel = (model: string) => {
  const message = { ...generated, id: "x" };
  const output = { model: "m", choices: [{ message, stop_reason: "stop" }] };
  const events = [{ event: "model", output, model: "m" }];
  return [inspect([sample({ messages: [user("q"), message], events })], { eval: { task: "t", model } })];
};

itTells("a rollout is told with %s", [
  ["a grade of an unknown type that succeeded", ungraded({ grading_type: "unknown", status: "success" }), '"reward":0'],
  ["a verdict", ungraded({ invalid_judge_response: true, verdict: "NO" }), '"reward":0'],
  ["a reward in spite of the judge", [gym([], { invalid_judge_response: true })], '"reward":1'],
  ["steps of Harbor", harbor({ step_results: [{}] }), "trials of several steps are not supp", "--from harbor"],
  ["voice", [simulation(undefined, { ticks: [{}] })], "voice simulations (with ticks)"],
  [
    "several requests",
    [
      harness({
        arguments: [
          ["q", {}],
          ["r", {}],
        ],
      }),
    ],
    "the model rated texts instead of sampling them",
  ],
  ["no responses", [harness(), harness({ resps: undefined, doc_id: 1 })], "`resps` is missing"],
  [
    "an empty list of completions",
    [
      { prompt: "q", completions: ["a"], rewards: [1] },
      { prompt: "p", completions: [], rewards: [], id: "p" },
    ],
    "left out a record without a rollout",
  ],
  ["no response", [harness(), harness({ doc_id: 1, resps: [[]] })], "left out a record without a rollout"],
  ["no list of responses", [harness(), harness({ doc_id: 1, resps: [] })], "left out a record without a rollout"],
  ["no trace", [episode(true), episode(true, { id: "b", traces: [] })], "left out a record without a rollout"],
  ["a score of no filter", filters("none"), "pass --reward-from m"],
  ["a filter's reward", filters("strict"), '"reward":1', "--reward-from m,strict"],
  [
    "another filter",
    filters("flexible"),
    "no row of the file has the filter strict [record-invalid]\nhint: pass --reward-from m\n",
    "--reward-from m,strict",
  ],
  [
    "other filters",
    filters("flexible", "none"),
    "pass --reward-from with one of m,flexible, m,none\n",
    "--reward-from m,strict",
  ],
  ["one filter", filters("strict"), '"reward":1', "--reward-from m"],
  ["two filters", filters("strict", "none"), "several filters rate the sample [record-invalid]", "--reward-from m"],
  ["filters without names", old, "a.jsonl:3: error: the record has the rollout", "--reward-from m"],
  ["other answers", [oldRow(0, "a", 0), oldRow(0, "b", 1)], "(u:q A:a) =0 (u:q A:b) =1", "--reward-from m"],
  ["other scorers", unnamed, "pass --reward-from with one of scores.m.value, scores.n.value"],
  ...["null", '"NaN"', "NaN"].map(
    (value): Row => [
      `the score ${value}`,
      [JSON.stringify(inspect([sample({ scores: { m: { value: "@" } } })])).replace('"@"', value)],
      "a sample without a score",
    ],
  ),
  ...["started", "error", "cancelled"].map((status): Row => [status, tokens(status), "a sample without a score"]),
  ["an invalidation", [inspect([sample({ invalidation: {} })])], "a sample that is marked as invalidated"],
  [
    "a newer log",
    [inspect([sample()], { version: 9 })],
    "read a log of version 9 as version 2, so new fields may not be converted",
  ],
  ["a log of its version", [inspect([sample()], { version: 2 })], "=1 & no:read a log"],
  ["a model of its log", ofModel("m"), "=1 & no:models"],
  ["another model of its log", ofModel("other"), "=1 & no:models"],
  ...[1, 2].map((own): Row => [`version ${own}`, [trace({ version: own })], "=1 & no:of version"]),
  ...[99, "a"].map((own): Row => [`version ${own}`, [trace({ version: own })], version(own)]),
  [
    "two kinds of rollouts",
    ["train", "eval"].map((kind) => trace({ id: kind, info: { kind } })),
    "read rollouts of the kinds train and eval (check and log read only the kind that --split names)",
  ],
  [
    "nesting without end",
    [JSON.stringify(inspect([sample({ messages: [user("@")] })])).replace('"@"', deep)],
    "the record is nested too deeply",
  ],
  ["no version", ['{"group_index":0,"messages":[{"role":"user","trainable":false}]}'], "found version 1, without"],
  ["an older version of a row", ['{"format_version":1,"group_index":0,"group_json":"{}"}'], "found version 1, without"],
  ["a group of a row", ['{"format_version":2,"group_index":0.5,"group_json":"{}"}'], "group_index is not an integer"],
  [
    "an index of a row",
    ['{"format_version":2,"group_index":0,"group_json":"{}","trajectory_index":0.5}'],
    "trajectory_index is not an integer",
  ],
  ["two formats", [{ ...example(), doc_id: 0, arguments: [], resps: [], filtered_resps: [] }], "[ambiguous-format]"],
  ["data after a list", { "a.json": `[${JSON.stringify(trl())}] x` }, "other data follows the list of records"],
  ["a task of no name", { "result.json": '{"a":1}' }, "so the group is unknown", "--from harbor"],
  ["another role", [trl({ prompt: [{ role: "tutor", content: "q" }], completion: [said("a")] })], "[unknown-role]"],
  ["a decoded prompt", [trl({ step: 0, advantage: 0 })], "; converted each prompt to one message"],
  [
    "a NaN of several completions",
    ['{"prompt":"q","completions":["a","b"],"rewards":[1,0],"more":NaN}'],
    "rollcall: a.jsonl:1:62: NaN is not JSON [json-not-finite]",
  ],
  ["a NaN", [JSON.stringify(trl({ x: "@" })).replace('"@"', "NaN")], "NaN is not JSON [json-not-finite]"],
]);

it("a sample of Inspect with NaN is rejected only if it would contain the NaN", async () => {
  const call = said("", { source: "generate", tool_calls: [{ id: "c", function: "f", arguments: { x: "NaN" } }] });
  const samples = [sample({ messages: [call] }), sample({ id: 2, store: { x: "NaN" } }), sample({ id: 3 })];
  const log = JSON.stringify(inspect(samples)).replaceAll('"NaN"', "NaN");
  const told = await tell({ "log.json": log }, "--on-invalid skip");
  expect([told.match(/^\(/gm)?.length, told.match(/NaN is not JSON/g)]).toEqual([2, ["NaN is not JSON"]]);
});

it("a check names the record of a copied failure", async () => {
  const copied = example({ rollout_id: "x", error: "boom" });
  const file = fileOf([example({ rollout_id: "y" }), copied, copied]);
  expect((await runHere(["check", file])).stderr).toContain(`${file}:3`);
});
