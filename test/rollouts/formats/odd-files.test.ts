import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readlinkSync, statSync, truncateSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { readDataset } from "../../../src/rollouts/dataset/read-dataset.ts";
import { readRewardsFile } from "../../../src/rollouts/formats/convert-opened.ts";
import { ignoreErrors } from "../../../src/system/files.ts";
import { testHost } from "../../support/host.ts";
import { runRollcall } from "../../support/run.ts";
import { convertFiles, convertRows, folderOf, turn, user } from "./converting.ts";

const chat = (reward: unknown, role = "assistant") => ({
  messages: [
    { role: "user", content: "q" },
    { role, content: `a${reward}` },
  ],
  reward,
});

describe.runIf(process.platform === "linux")("the temporary files of a conversion", () => {
  it("are closed if a temporary file cannot be read", async () => {
    const rows = [0, 1, 0].map((group, at) => ({ ...chat(at), group_id: `group ${group}` }));
    const now = 8_640_000_000_000_000;
    const temporaryFiles = () =>
      readdirSync("/proc/self/fd")
        .map((descriptor) => `/proc/self/fd/${descriptor}`)
        .filter((path) => ignoreErrors(() => readlinkSync(path))?.includes(`-${now}`));
    const opened: number[] = [];
    // A random number is part of the name of each temporary file. The second file opens when the first is complete.
    const random = () => {
      for (const path of temporaryFiles()) truncateSync(path);
      return opened.push(temporaryFiles().length) / 10;
    };
    const reading = readDataset({
      host: { ...testHost(), now: () => now, random },
      files: [join(folderOf({ "a.jsonl": rows }), "a.jsonl")],
      maxUnpackedBytes: 1e9,
      from: "openai-chat",
    });
    await expect(reading).rejects.toThrow();
    expect([opened, temporaryFiles()]).toEqual([[0, 1], []]);
  });
});

describe("the output of convert", () => {
  it("does not depend on temporary files, for any mixture of the rollouts of groups", async () => {
    const rows = [0, 1, 0, 1, 0].map((group, at) => ({ ...chat(at), group_id: `group ${group}` }));
    const folder = folderOf({ "a.jsonl": rows });
    const [usual, inMemory] = await Promise.all(
      [{}, { TMPDIR: join(folder, "none") }].map((env) =>
        runRollcall(["convert", "a.jsonl", "-q"], { cwd: folder, env }),
      ),
    );
    expect(inMemory).toEqual(usual);
    expect(usual?.stdout.split("\n")).toHaveLength(3);
  });

  it("is written into a named pipe, which stays a pipe", async () => {
    const folder = folderOf({ "a.jsonl": [chat(0), chat(1)] });
    const pipe = join(folder, "pipe");
    expect(spawnSync("mkfifo", [pipe]).status).toBe(0);
    const reader = spawn("cat", [pipe]);
    const closed = once(reader, "close");
    let text = "";
    reader.stdout.on("data", (data: Buffer) => {
      text += data;
    });
    const { code, stderr } = await runRollcall(["convert", "a.jsonl", "--out", pipe], { cwd: folder });
    expect({ code, stderr }).toEqual({ code: 0, stderr });
    expect(statSync(pipe).isFIFO()).toBe(true);
    await closed;
    expect(JSON.parse(text).trajectories).toHaveLength(2);
  });
});

describe("the file of --rewards", () => {
  it("can be a named pipe, and a signal ends the wait for its writer", async () => {
    const pipe = join(folderOf({}), "pipe");
    expect(spawnSync("mkfifo", [pipe]).status).toBe(0);
    const stop = new AbortController();
    const sleep = async (ms: number) => await new Promise<void>((resolve) => setTimeout(resolve, ms));
    const waiting = readRewardsFile(pipe, { ...testHost(), sleep, signal: stop.signal });
    setTimeout(() => stop.abort(new Error("stopped")), 20);
    await expect(waiting).rejects.toThrow("stopped");
    const reading = readRewardsFile(pipe, testHost());
    await writeFile(pipe, '{"id":"a","reward":1.50}\n');
    expect([...(await reading)]).toEqual([["a", "1.50"]]);
  });
});

describe("the ids of --rewards", () => {
  const findIds = async (file: string, args: readonly string[] = []) => {
    const words = ["check", file, "--rewards", join(folderOf({ r: [{ id: "?", reward: 1 }] }), "r"), ...args];
    return /has no reward for (.*) \[/.exec((await runRollcall(words)).stderr)?.[1];
  };

  it.each(
    Object.entries({
      "art-v2.airline.parquet": "0/0",
      "atif.simple_trajectory.json": "sess-abc123-simple or atif.simple_trajectory or atif.simple_trajectory.json",
      "harbor-2026-02": "hello-world__aaaaaaa or 00000000-0000-4000-8000-000000000001",
      "inspect.log_formats.eval": "1_epoch_1",
      "inspect.log_formats.json": "1_epoch_1 or inspect.log_formats or inspect.log_formats.json",
      "lm-eval-0.4.0.gsm8k.jsonl": "0",
      "lm-eval-0.5.0.samples_gsm8k.jsonl": "0/0",
      "nemo-gym-0.1.0.rollouts.jsonl": "resp_0_0",
      "tau2.results.json": "19aa3920-c7b6-4d41-bfa8-c8693e20fddf",
      "verifiers-v0.wordle.results.jsonl": "0",
      "verifiers-v1.traces.jsonl": "t1 or e1",
    }),
  )("of the first rollout in %s are %s", async (sample, ids) => {
    expect(await findIds(join("test/samples/formats", sample))).toBe(ids);
  });

  it("of the first completion of a list are the ids of its row with 0", async () => {
    const file = join(folderOf({ "a.jsonl": [{ id: "x", prompt: "q", completions: ["a"] }] }), "a.jsonl");
    expect(await findIds(file)).toBe("x/0");
  });

  it.each("json jsonl ndjson traj eval JSON".split(" "))("are also a file's name without .%s", async (ending) => {
    const file = join(folderOf({ [`a.b.${ending}`]: [chat(1)] }), `a.b.${ending}`);
    expect(await findIds(file, ["--from", "openai-chat"])).toBe(`a.b or a.b.${ending}`);
  });
});

describe("rows of another tool", () => {
  const rows = [chat(0), chat(1), chat(0.5)].map((row, at) => ({ ...row, group_id: `g${at >> 1}` }));

  it.each([
    ["in a list on one line", JSON.stringify(rows)],
    ["in an indented list after a byte order mark", `\ufeff${JSON.stringify(rows, null, 2)}\r\n`],
    ["in a list with one row on each line", `[\n${rows.map((row) => JSON.stringify(row)).join(",\n")}\n]\n`],
    ["in two lists", `${JSON.stringify(rows.slice(0, 1))}\n${JSON.stringify(rows.slice(1))}`],
  ])("are converted like lines if they are %s", async (_, text) => {
    const lines = await convertFiles({ "a.jsonl": rows });
    expect(lines.groups.map(({ trajectories }) => trajectories.length)).toEqual([2, 1]);
    expect((await convertFiles({ "a.json": text })).groups).toEqual(lines.groups);
  });

  const scored = { example_id: 0, task: "t", prompt: "q", completion: "a", reward: 1 };
  const sampled = { prompt: "q", completion: "a", reward: 1 };
  it.each([
    ["verifiers-v0", [scored, { ...scored, completion: 3 }], "completion"],
    ["trl", [sampled, { ...sampled, reward: "x" }], "reward"],
  ])("have their positions after blank lines if they are rows of %s", async (name, [good, broken], at) => {
    for (const [text, path] of [
      [`${JSON.stringify(good)}\n \t\r\n${JSON.stringify(broken)}\n`, at],
      [`[${JSON.stringify(good)},\n\n${JSON.stringify(broken)}]\n`, at],
      [`\n\n[${JSON.stringify(good)},${JSON.stringify(broken)}]\n`, `1.${at}`],
    ] as const) {
      const { stderr } = await runRollcall(["check", "a.jsonl"], { cwd: folderOf({ "a.jsonl": text }) });
      expect(stderr).toContain(`a.jsonl:3: ${path}: cannot convert this ${name} record`);
    }
  });

  it("have their positions after a row that is longer than a block of a file", async () => {
    const long = { ...chat(1), id: "x".repeat(2 ** 21) };
    const folder = folderOf({ "a.jsonl": [chat(0), long, chat("none")] });
    const { stderr } = await runRollcall(["check", "a.jsonl"], { cwd: folder });
    expect(stderr).toContain("a.jsonl:3: reward: cannot convert this openai-chat record");
  });
});

const gym = '"_ng_task_index":0,"reward":1,"responses_create_params":{"input":"q"},"response":{"output":[]}';
const ungraded = gym.replace('"reward":1', '"reward":0');
const trl = '"prompt":"q","completion":"a","reward":1';
const [no, yes, result] = ['{"role":"user","content":"no"}', '{"role":"user","content":"yes"}', '"content":"1"}'];
const blocks =
  "thinking redacted_thinking search_result container_upload tool_use server_tool_use web_search_tool_result";
const schemas = ["input_schema", "parameters_json_schema", "parametersJsonSchema", "parameters"];
const tools = ["functionDeclarations", "function_declarations"].flatMap((list) =>
  schemas.map((schema) => `"${list}":[{"name":"f","${schema}":{}}]`),
);
const asked = '"reward":1,"response":{"output":[]},"responses_create_params":{"input":"q"';
const [said, end] = ["stop", "max_tokens"].map((stop) => `{"message":{"content":"a"},"stop_reason":"${stop}"}`);
const log = (
  choices: readonly (string | undefined)[],
  rest = '{"role":"assistant","content":"a","source":"generate"}]',
) => {
  const scores = choices.length > 0 ? '{"m":{"value":1}}' : "{}";
  const sample = `"id":1,"epoch":1,"messages":[${yes},${rest},"scores":${scores},"output":{"choices":[${choices}]}`;
  return `"eval":{"task":"t"},"samples":[{${sample}}]}`;
};
const own = '{"finish_reason":"length","index":0,"message":{"role":"assistant","content":"a"}}';
const scored = '"task_id":1,"termination_reason":"x","reward_info":{"reward":1}';
const output = '"output":[{"type":"message","role":"assistant","content":"a"}]';
/** A response with these parts after the text `a`. */
const saying = (parts: string) =>
  output.replace('"a"', `[{"type":"output_text","text":"a"},${parts}]`).replace(/^/, '"response":{').concat("}");
const rated = (more: string) => `{"r":1,${more}}`;
const attached = "0123456789abcdef".repeat(2);
const texts = '{"type":"document","source":{"type":"content","content":';
const v1 = (id: string) =>
  `"id":"${id}","task":{"key":"t"},"rewards":{"r":1},"nodes":[{"sampled":true,"message":{"role":"assistant","content":"a"}}]`;
const models = ["a", "b"].map((model) => `{"request":{"model":"${model}","messages":[]},"response":{"choices":[]}}`);

/** Rows by the part that a writer seldom records. */
const rowsWith = (complete: (part: string) => string, parts: Readonly<Record<string, string>>) =>
  Object.entries(parts).map(([part, expected]) => [complete(part), expected]);

const seldom = [
  ...rowsWith((message) => rated(`"info":{},"trajectory_format":"mini-swe-agent-1","messages":[${yes},${message}]`), {
    [`{"object":"response",${output}}`]: '"message":{"role":"assistant","content":"a"}',
    [`{"role":"assistant","content":"z","extra":{"response":{${output}}}}`]: '{"role":"assistant","content":"a"}',
    '{"type":"function_call_output","call_id":"c","output":"","extra":{"exception_info":"E"}}': '"is_error":true',
    '{"type":"message","role":"user","content":[{"text":"b"}]}': '"role":"user","content":"b"',
  }),
  ...rowsWith(
    (step) => rated(`"schema_version":"ATIF-v1.8","steps":[{"source":"user","message":"q"},{"source":${step}]`),
    {
      '"agent","message":"a"}': "read ATIF-v1.8 as ATIF-v1.7",
      '"user","message":[{"type":"image","source":{"path":"p"}}]}': '"image_url":{"url":"p"}',
      '"user","message":[{"type":"image"}]}': '"content":[{"type":"image"}]',
      '"agent","tool_calls":[{"tool_call_id":"c","function_name":"f"}]}': '"content":null',
      '"system","observation":{"results":[{"content":"b"}]}}': '{"role":"user","content":"b"}',
      '"agent","message":"a","context_management":{}}': "edited its context",
    },
  ),
  ...rowsWith((more) => `{${gym},${more}}`, {
    '"response":{"output":[[{}]]}': "transitions are not supported",
    '"exception_type":"E","exception_message":{"k":1}': '{"type":"E","message":"{\\"k\\":1}"}',
    '"exception_type":"E"': "no message is recorded",
    [`"response":{"object":"response","status":"incomplete",${output}}`]: '"finish_reason":"incomplete"',
    [saying('{"type":"reasoning_text","text":"b"},{"type":"summary_text","text":"c"}')]:
      '"content":"a","reasoning_content":"b\\nc"',
    [saying('{"type":"refusal","refusal":"b"}')]: '"content":"a","refusal":"b"',
    [saying('{"type":"output_audio","transcript":"b"}')]: "left out a part of type output_audio",
    [`"response":{"output":[{"type":"reasoning","generation_token_ids":[1],"generation_log_probs":[-1],"content":[{"text":"b"}]},{"type":"function_call","call_id":"c","name":"f","arguments":"{}"},{"type":"reasoning","content":[{"text":"d"}]},${output.slice(10)}}`]:
      '"reasoning_content":"d"',
    '"result":{"termination_reason":"x","messages":[{"role":"system","content":"s"}]}': '[{"role":"system"',
    [`"responses_create_params":{"input":[${yes}]},"result":{"termination_reason":"x","messages":[${no}]}`]: `[${yes},${no}]`,
    '"responses_create_params":{"input":[{"role":"user","content":[{"type":"input_file","file_id":"F"},{"type":"x"}]}]}':
      '{"type":"file","file":{"file_id":"F"}},{"type":"x"}',
  }),
  ...rowsWith((rest) => `{"status":"success",${log([said], `{"role":"assistant",${rest}`)}`, {
    '"source":"generate"}],"invalidation":{}': "a sample that is marked as invalidated",
    '"content":"b","id":"m"}]': '"content":"b","id":"m"}],"reward"',
    '"source":"generate","tool_calls":[{"function":{"name":"f"}}]}]': '"function":{"name":"f","arguments":"{}"}',
    '"source":"generate","tool_calls":[{"function":"f","arguments":"{}"}]}]': '{"name":"f","arguments":"{}"}',
    '"source":"generate","reasoning":"why"}]': '"reasoning_content":"why"',
    '"content":[{"type":"audio","audio":"a.wav"}]}]': '"content":[{"type":"audio","audio":"a.wav"}]',
    [`"source":"generate","content":[{"type":"reasoning","reasoning":"attachment://${attached}"}]}],"attachments":{"${attached}":"why"}`]:
      '"reasoning_content":"why"',
    [`"source":"generate","tool_calls":[{"function":"f","arguments":{"a":"attachment://${attached}","b":["tc://${attached}"]}}]}],"attachments":{"${attached}":"why"}`]: String.raw`"arguments":"{\"a\":\"why\",\"b\":[\"why\"]}"`,
    '"source":"generate"}],"events":[{"event":"model","tools":[{"name":"f"}],"output":{"choices":[{"message":{"id":"x"}}]}}]':
      '"source":"generate"}}],"reward"',
  }),
  ...rowsWith((more) => rated(`"doc_id":0,"arguments":[["q",{}]],"filtered_resps":["a"],"resps":${more}`), {
    "[[3]]": "a response is not text",
    '["b"]': '"content":"b"',
  }),
  ['{"m":1,"doc_id":0,"arguments":[["q",{}]],"filtered_resps":["a"],"resps":[["b"]]}', "pass --reward-from m"],
  [
    `{"reward":1,"exchanges":{"messages":[{"request":{"messages":[{"role":"user","content":[${texts}"b"}},${texts}[{"type":"text","text":"c"}]}}]}]},"response":{}}]}}`,
    '[{"type":"text","text":"b"},{"type":"text","text":"c"}]',
  ],
  [`{"reward":1,"exchanges":{"chat_completions":[${models}]}}`, "the exchanges of a trajectory have several models"],
  ['{"format_version":2,"group_index":0.5,"group_json":"{}"}', "group_index is not an integer"],
  [
    '{"format_version":2,"group_index":0,"group_json":"{}","trajectory_index":0.5}',
    "trajectory_index is not an integer",
  ],
  ...rowsWith((more) => `{${trl},${more}`, {
    '"reward":false}': '"reward":0',
    '"example_id":0,"task":"t","doc_id":0,"arguments":[],"resps":[],"filtered_resps":[]}': "[ambiguous-format]",
  }),
  [
    `{"reward":1,"messages":[{"role":"user","content":[{"type":"x","y":null,"arguments":{"k":null}}]},{"role":"assistant"}]}`,
    '[{"type":"x","arguments":{"k":null}}]',
  ],
  [`[{${trl}}] x`, "other data follows the list of records"],
  [
    rated(
      '"schema_version":"ATIF-v1.6","steps":[{"source":"agent","message":"b","extra":{"is_sidechain":true}},{"source":"agent","message":"a"}]',
    ),
    '"additional_histories":[{"messages_and_choices":[{"role":"assistant","content":"b"}]}]',
  ],
  ['{"group_index":0,"messages":[{"role":"user","trainable":false}]}', "found version 1, without"],
  ['{"format_version":1,"group_index":0,"group_json":"{}"}', "found version 1, without"],
  [
    `{"reward":1,"exceptions":[],"exchanges":{"chat_completions":[{"request":{"messages":[${yes}]},"response":{"choices":[${own}]}}]}}`,
    `[${yes},${own}]`,
  ],
  [
    rated('"doc_id":0,"arguments":[["q",{}]],"filtered_resps":["a"],"resps":[["a"]],"scores_per_repeat":{"r":[0.5]}'),
    '"reward":0.5',
  ],
  ['{"prompt":"q","completion":"a","advantage":1}', "pass --reward-from <path>, or --rewards <file>"],
  ['{"prompt":"q","completion":"a","error":"None"}', "the reward is missing"],
  [`{${trl},"images":2}`, '"metadata":{"images":2}'],
  [
    '{"input":"q","output":"a","score":1,"step":1}\n{"input":"q","output":"a","overlong_reward":-1,"step":1}',
    "the reward is missing",
  ],
  [`{"example_id":0,"prompt":[${yes}],"info":{},"reward":0,"error":{"type":"E"}}`, '"exceptions":[{"type":"E"}]'],
  [`{${v1("a")},"timing":{"start":0}}`, '"metadata":{"id":"a","task.key":"t"}}'],
  [
    `{${v1("a")}}\n${[2, 3].map((n) => `{${v1("").replace('"id":"",', "").replace("1", `${n}`)}}`).join("\n")}`,
    '"reward":2',
  ],
  ['{"id":"e","env":{},"task":{"key":"t"},"ok":false,"traces":[{"agent":{"trainable":false}}]}', '"exceptions":[{'],
  [
    `{"reward":1,"exchanges":{"responses":[{"request":{"input":"q"},"response":{${output},"token_generations":[{"output_indices":[],"output_tokens":[{"token_id":1,"logprob":-1}]}]}}]}}`,
    '"content":"a"}}]}]}',
  ],
  [
    `{"reward":1,"messages":[${yes},{"role":"assistant"}],"tools":[{"type":"function","function":{"name":"f","parameters":{"anyOf":[{"type":"a","minimum":null}]}}}]}`,
    '"anyOf":[{"type":"a"}]',
  ],
  [`{"r":{"score":1},${trl}}`, "pass --reward-from r.score"],
  [`{"id":"e","env":{},"ok":true,"traces":[{${v1("a")}},{"agent":{"name":"y"},${v1("b")}}]}`, "}]}\n{"],
];

it.each([
  [`{${gym},"mask_sample":true}`, '{"type":"masked"'],
  [`{${gym},"instance_config":{"mask_sample":true}}`, '{"type":"masked"'],
  [`{${ungraded},"grading_type":"unknown","grading_notes":"","status":"missing_task"}`, '{"type":"missing_task"'],
  [`{${ungraded},"grading_type":"unknown","grading_notes":"run failed","status":"error"}`, '"message":"run failed"'],
  [`{${ungraded},"grading_type":"unknown","status":"success"}`, '"reward":0'],
  [`{${ungraded},"segale_error":"actor_unavailable"}`, '"message":"actor_unavailable"'],
  [`{${ungraded},"judge_skipped":true}`, '"message":"judge_skipped is true"'],
  [`{${ungraded},"invalid_judge_response":true}`, '"message":"invalid_judge_response is true"'],
  [`{${ungraded},"invalid_judge_response":true,"verdict":"NO"}`, '"reward":0'],
  [`{${gym},"invalid_judge_response":true}`, '"reward":1'],
  [`{${gym},"result":{"termination_reason":"x","messages":[${no}],"agent_messages":[${yes}]}}`, `${yes}],"reward"`],
  [`{${scored},"messages":[${yes},{"role":"tool","tool_messages":[{"role":"tool","id":"c",${result}]}]}`, result],
  [`{${trl},"tools":[{"type":"custom","name":"f","input_schema":{}}]}`, '"function":{"name":"f","parameters":{}}'],
  [`{${asked},"instructions":"a"}}\n{${asked},"instructions":"b"}}`, '"reward":1}]}\n{"trajectories"'],
  [`{"status":"success",${log([said, end])}`, '"finish_reason":"length"'],
  ...["null", '"NaN"', "NaN"].map((score) => [
    `{${log([said]).replace('"value":1', `"value":${score}`)}`,
    "a sample without a score",
  ]),
  ...["started", "error", "cancelled"].map((status) => [
    `{"status":"${status}",${log([])}`,
    "a sample without a score",
  ]),
  ...["system", "system_prompt", "system_message"].map((key) => [`{${trl},"${key}":"s"}`, '"role":"system"']),
  ...[own, `{"choices":[${own}]}`].map((raw) => [
    `{${scored},"messages":[${yes},{"role":"assistant","content":"a","raw_data":${raw}}]}`,
    '"finish_reason":"length"',
  ]),
  [
    `{"_ng_task_index":0,${asked}},"exception_type":"E","response":{"output":[{"role":"assistant","content":"a"}]}}`,
    '"finish_reason":"stop"',
  ],
  ...['""', "null", "[]"].map((empty) => {
    const answer = (more: string) => `{"role":"assistant","content":"a"${more}}`;
    const choices = `{"choices":[{"finish_reason":"stop","index":0,"message":${answer(`,"refusal":${empty}`)}}]}`;
    const asks = [yes, `${yes},${answer("")},${no}`];
    const list = asks.map((messages) => `{"request":{"messages":[${messages}]},"response":${choices}}`);
    return [`{"reward":1,"exchanges":{"chat_completions":[${list}]}}`, `"refusal":${empty}}},${no}`];
  }),
  ...tools.map((tool) => [`{${trl},"tools":[{${tool}}]}`, '"function":{"name":"f","parameters":{}}']),
  ...["image", "images", "videos", "audios"].map((name) => [`{${trl},"${name}":["i"]}`, `"${name}":["i"],"reward"`]),
  ...blocks.split(" ").map((type) => {
    const exchange = `{"request":{"messages":[{"role":"user","content":[{"type":"${type}"}]}]},"response":{}}`;
    return [`{"reward":1,"exchanges":{"messages":[${exchange}]}}`, `left out a block of type ${type}`];
  }),
  ...seldom,
])("a row of another tool has each value that a writer seldom records: %s", async (row = "", expected) => {
  const args = row.startsWith('{"r"') ? ["--reward-from", "r"] : [];
  const { lines, notes, stderr } = await convertRows([row], [...args]);
  expect([...lines, ...notes, stderr].join("\n")).toContain(expected);
});

it("a document of ATIF is no part of another one that names a session of several documents", async () => {
  const said = '{"schema_version":"ATIF-v1.6","session_id":"s","steps":[{"source":"agent","message":"a"';
  const part = `${said.replace('"s"', '"t"')}}]}`;
  const files = { "m.json": `${said},"observation":{"results":[{"subagent_trajectory_ref":{"session_id":"t"}}]}}]}` };
  const args = ["--rewards", join(folderOf({ r: '{"id":"s","reward":1}\n{"id":"t","reward":1}' }), "r")];
  const one = await convertFiles({ ...files, "s/a.json": part }, { args });
  const several = await convertFiles({ ...files, "s/a.json": part, "s/b.json": part }, { args });
  expect([one.groups.length, several.groups.length]).toEqual([1, 3]);
});

it.each([
  ["message", '"message":"a"', '"message":"b"'],
  ["tool_calls", '"f"', '"b"'],
  ["observation", '"1"', '"b"'],
])("a continuation of ATIF repeats no step with another %s", async (_, old, other) => {
  const call = '"tool_calls":[{"tool_call_id":"c","function_name":"f","arguments":{}}]';
  const step = `{"source":"agent","message":"a",${call},"observation":{"results":[{"source_call_id":"c","content":"1"}]}}`;
  const files = [step, step.replace(old, other)].map((one, at) => {
    const more = at === 0 ? ',"continued_trajectory_ref":"b.json"' : "";
    return `{"schema_version":"ATIF-v1.6","session_id":"s"${more},"steps":[{"source":"user","message":"q"},${one}${at === 0 ? "" : `,${step}`}]}`;
  });
  const args = ["--rewards", join(folderOf({ r: '{"id":"s","reward":1}' }), "r")];
  const { groups } = await convertFiles({ "a.json": files[0] ?? "", "b.json": files[1] ?? "" }, { args });
  expect(JSON.stringify(groups)).toContain('"b"');
});

it("the trajectories of --group-by are from several files only if the files are several", async () => {
  const { notes } = await convertRows(
    [1, 2].map((reward) => ({ ...chat(reward), key: 1 })),
    ["--group-by", "key"],
  );
  expect(notes.join()).not.toContain("several files");
});

it.each([
  ["tags.0", { tags: ["x", "y"] }, { tags: ["x", "z"] }, 1],
  ["step", { info: { step: 1 } }, { step: null, extra_info: { step: 2 } }, 2],
  ["n", '{"n":12345678901234567890', '{"n":12345678901234567891', 2],
])("--group-by %s compares this value of two rows", async (key, a, b, groups) => {
  const rows = [a, b].map((own) => `${typeof own === "string" ? own : JSON.stringify(own).slice(0, -1)},${trl}}`);
  expect((await convertRows(rows, ["--group-by", key])).lines).toHaveLength(groups);
});

it.each([
  [
    "an example that has no id",
    `{"id":1,"task":"t","prompt":[${yes}],"completion":"a","answer":@,"reward":1}`,
    '"reward":1',
  ],
  [
    "a sample of Inspect",
    `{"eval":{"task":"t","run_id":"r"},"samples":[{"id":1,"epoch":1,"scores":{},"messages":[{"role":"user","content":@}]}]}`,
    "the record is nested too deeply",
  ],
])("%s can be nested as deeply as the stack allows", async (_, record, expected) => {
  const levels = 50_000;
  const { lines, stderr } = await convertRows([record.replace("@", "[".repeat(levels) + "]".repeat(levels))]);
  expect([...lines, stderr].join("\n")).toContain(expected);
});

it("a single part of the reward has its weight", async () => {});

it("a record from standard input has no documents in the working folder", async () => {
  const result = { trial_name: "t", task_name: "x", agent_info: {}, verifier_result: { rewards: { reward: 1 } } };
  const steps = [{ source: "user", message: "q" }];
  const cwd = folderOf({ "agent/trajectory.json": JSON.stringify({ schema_version: "ATIF-v1.6", steps }) });
  const { stderr } = await runRollcall(["check", "-"], { cwd, stdin: JSON.stringify(result) });
  expect(stderr).toContain("the trajectory agent/trajectory.json is missing");
});

it("a truncated file of mini-swe-agent can belong to the group of a later file", async () => {
  const messages = [{ role: "system", content: "s" }, user("q"), turn("a").message];
  const info = { exit_status: "Submitted", model_stats: { api_calls: 1 } };
  const text = JSON.stringify({ info, messages, trajectory_format: "mini-swe-agent-1.1", instance_id: "x" });
  const rewards = join(folderOf({ r: [{ id: "x", reward: 1 }] }), "r");
  const args = ["--rewards", rewards, "--on-invalid", "skip"];
  const { groups } = await convertFiles({ "a.traj.json": text.slice(0, -9), "b.traj.json": text }, { args });
  expect(groups).toEqual([]);
});

describe("a conversion", () => {
  it("writes no group of a prompt if a record with an unreadable prompt can belong to it", async () => {
    const row = JSON.stringify({ trajectory_id: "t", messages: [user("q"), turn("a").message], reward: 1 });
    const { lines, stderr } = await convertRows([row, row.replace("[", "\\")], ["--on-invalid", "skip"]);
    expect(lines).toEqual([]);
    expect(stderr).toContain("[ambiguous-group]");
  });

  it("is refused if the positions of its rollouts would fill the memory", { tags: "slow" }, async () => {
    const exchange = { request: { messages: [user("q")] }, response: { choices: [turn("a")] } };
    const group = { trajectories: [{ exchanges: { chat_completions: [exchange] } }], exceptions: [] };
    const line = JSON.stringify(group).replace('"exceptions":[', `"exceptions":[${"1,".repeat(2_000_000)}1`);
    const { code, stderr } = await convertRows([line]);
    expect([code, stderr]).toEqual([3, expect.stringContaining("the converted files have more than 2000000 rollouts")]);
    expect(stderr).toContain("[too-many-records]");
  });
});
