import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { runRollcall } from "../../support/run.ts";
import { folderOf, turn, user } from "./converting.ts";

const messages = [user("q"), { role: "assistant", content: "a" }];
const trajectory = { messages_and_choices: [user("q"), turn("a")], reward: 1 };
const long = { metadata: { text: "x".repeat(2 ** 17) } };

/** Checks a file, and returns the exit code, the group count, the name of the format in the notice, and the error. */
const check = async (content: readonly object[] | string, args: readonly string[] = [], file = "a.jsonl") => {
  const cwd = folderOf({ [file]: content });
  const { code, stdout, stderr } = await runRollcall(["check", ...args, file], { cwd });
  return {
    code,
    groups: /^groups\.read\t(\d+)/m.exec(stdout)?.[1],
    format: /--from ([\w-]+)/.exec(stderr)?.[1],
    stderr,
  };
};

describe("the format of a file", () => {
  it.each<[string, readonly object[], string]>([
    ["a first key split", [{ split: "train", messages, reward: 1 }], "openai-chat"],
    ["a first key trajectory_id", [{ trajectory_id: "t", prompt: "q", completion: "a", reward: 1 }], "trl"],
    ["trajectories in a nested object", [{ info: { trajectories: [1] }, messages, reward: 1 }], "openai-chat"],
    ["trajectories that are names", [{ trajectories: ["a"], messages, reward: 1 }], "openai-chat"],
    [
      "an unusual first record",
      [
        { step: 1, messages: [] },
        { messages, reward: 1 },
      ],
      "openai-chat",
    ],
    ["messages and an output", [{ messages, output: "a", reward: 1 }], "openai-chat"],
    ["messages and a completion", [{ messages, prompt: "q", completion: "a", reward: 1 }], "trl"],
    [
      "a failed first row",
      [
        { prompt: "q", completion: "a", example_id: 0, answer: "4", error: "e" },
        { prompt: "q", completion: "a", example_id: 0, answer: "4", reward: 1 },
      ],
      "verifiers-v0",
    ],
    ["no score", [{ prompt: "q", completion: "a", example_id: 0, answer: "4", reward: null }], "verifiers-v0"],
    ["only failures", [{ exceptions: [{ type: "E", message: "m" }], metadata: {} }], "art"],
    ["messages and exceptions", [{ messages, exceptions: [{ message: "m" }], reward: 1 }], "openai-chat"],
  ])("is the one with the highest score for rows with %s", async (_, rows, name) => {
    expect((await check(rows)).format).toBe(name);
  });

  it.each<[string, readonly object[] | string]>([
    ["a list after 128 kB of metadata", [{ ...long, ...trajectory }]],
    ["trajectories after 128 kB of metadata", [{ ...long, trajectories: [trajectory] }]],
    ["trajectories whose first key is another", [{ trajectories: [{ metadata: {}, ...trajectory }] }]],
    ["an indented request in an array", JSON.stringify([{ split: "s", trajectory_groups: [] }, trajectory], null, 2)],
    ["chat messages too", [{ messages, ...trajectory }]],
  ])("is rollcall's for records with %s", async (_, content) => {
    const { code, groups, format } = await check(content);
    expect({ code, groups, format }).toEqual({ code: 0, groups: "1", format: undefined });
  });

  it("is named in the errors of the records that have another format than the first ones", async () => {
    const gym = { responses_create_params: { input: "q" }, response: { output: [] }, reward: 1, _ng_task_index: 0 };
    const sample = { doc_id: 0, doc: {}, arguments: [["q"]], resps: [["a"]], filtered_resps: ["a"], target: "a" };
    const scored = { example_id: 0, task: "t", prompt: "q", completion: "a", reward: 1 };
    for (const [rows, other] of [
      [[scored, scored, { messages, reward: 1 }], "openai-chat"],
      [[gym, sample], "lm-eval"],
    ] as const) {
      const { code, stderr } = await check(rows, ["--reward-from", "reward"]);
      const fault = `and the record has the format ${other}, so the file has two formats [record-invalid]`;
      expect([code, stderr]).toEqual([3, expect.stringContaining(fault)]);
      expect(stderr).not.toContain("ambiguous");
    }
    const { stderr } = await check([scored, { ...scored, prompt: null }], [], "b.jsonl");
    expect(stderr).not.toContain("two formats");
  });

  it("is rollcall's for truncated records and records with NaN, also in a folder with other files", async () => {
    const text = JSON.stringify({ trajectories: [trajectory] });
    const cwd = folderOf({
      "r/cut.jsonl": text.slice(0, 90),
      "r/late.jsonl": [{ event: "log" }, text.slice(0, 90)],
      "r/nan.jsonl": text.replace('"reward":1', '"reward":NaN'),
      "r/wrong.jsonl": [{ trajectories: [{ messages }] }],
      "r/chat.jsonl": [{ messages, reward: 1 }],
    });
    const { code, stdout } = await runRollcall(["check", "r", "--json"], { cwd });
    const { problems } = JSON.parse(stdout);
    const errors = problems.filter(({ severity }: { severity: string }) => severity === "error");
    expect([code, errors.map(({ file, rule }: Record<string, string>) => `${file} ${rule}`)]).toEqual([
      3,
      expect.arrayContaining([
        "r/cut.jsonl json-truncated",
        "r/late.jsonl json-truncated",
        "r/nan.jsonl json-nan",
        "r/wrong.jsonl missing-field",
      ]),
    ]);
  });
});

describe("--from with a folder", () => {
  const row = { prompt: "q", response: "a", my_reward: 1 };

  it("reads files that the format does not recognize, also compressed, and skips others with a warning", async () => {
    const cwd = folderOf({
      "r/a.jsonl": [row],
      "r/c.json": '{"seed":1}',
      "r/own.jsonl": [{ trajectories: [trajectory] }],
    });
    writeFileSync(join(cwd, "r/b.jsonl.gz"), gzipSync(JSON.stringify({ ...row, prompt: "r" })));
    writeFileSync(join(cwd, "r/log.eval"), "PK\x03\x04");
    const args = ["check", "r", "--from", "trl", "--reward-from", "my_reward", "--json"];
    const { code, stdout } = await runRollcall(args, { cwd });
    const { groups, warnings } = JSON.parse(stdout);
    const skipped = warnings.flatMap(({ rule, file }: Record<string, string>) => (rule === "skipped-file" ? file : []));
    expect([code, groups.read, skipped]).toEqual([0, 2, ["r/c.json", "r/log.eval", "r/own.jsonl"]]);
  });

  it.each([
    ["openrlhf", { input: "q", output: "a", my_reward: 1 }],
    ["verl", { input: "q", output: "a", my_reward: 1 }],
    ["openai-chat", { messages, my_reward: 1, trajectory_format: "a" }],
    ["verifiers-v0", { prompt: "q", completion: "a", example_id: 1, my_reward: 1 }],
  ])("reads rows of %s without the keys that identify them", async (name, one) => {
    const cwd = folderOf({ "r/a.jsonl": [one] });
    const args = ["check", "r", "--from", name, "--lossy", "--reward-from", "my_reward"];
    expect(await runRollcall(args, { cwd })).toMatchObject({ code: 0 });
  });
});

describe("a file of an unknown format", () => {
  it.each<[string, readonly object[]]>([
    ["Codex", [{ timestamp: "t", type: "session_meta", payload: { id: "s" } }]],
    ...["response_item", "event_msg", "turn_context", "compacted"].map((type): [string, object[]] => [
      "Codex",
      [{ timestamp: "t", type, payload: {} }],
    ]),
    ...["assistant", "system", "attachment", "progress", "file-history-snapshot", "queue-operation"].map(
      (type): [string, object[]] => ["Claude Code", [{ type, sessionId: "s" }]],
    ),
    ...["SPAN", "EVENT", "AGENT", "TOOL", "CHAIN"].map((type): [string, object[]] => [
      "Langfuse",
      [{ id: "o", trace_id: "t", type }],
    ]),
    ...["sessionId", "session_id", "leafUuid", "snapshot", "parentUuid", "uuid"].map((key): [string, object[]] => [
      "Claude Code",
      [{ type: "user", [key]: "k" }],
    ]),
    ...["sample_id grades trajectory", "sample grade trajectory", "sample submissions agent_id"].map(
      (keys): [string, object[]] => ["letta-evals", [Object.fromEntries(keys.split(" ").map((key) => [key, "k"]))]],
    ),
    ...["steps", "total_reward"].map((key): [string, object[]] => [
      "the Tinker cookbook",
      [{ group_idx: 0, traj_idx: 0, [key]: 1 }],
    ]),
    ...["test_result", "metrics", "metadata", "git_patch"].map((key): [string, object[]] => [
      "OpenHands",
      [{ issue: {}, history: [], [key]: "k" }],
    ]),
    ...["response", "error"].map((key): [string, object[]] => ["batch API", [{ custom_id: "c", [key]: {} }]]),
    ...["episode_id", "task_hash", "termination_reason", "eval_idx"].map((key): [string, object[]] => [
      "rLLM",
      [{ trajectories: [], [key]: "k" }],
    ]),
    ["Codex", [{ id: "s", timestamp: "t", instructions: "i" }, { record_type: "state" }]],
    ["Codex", [{ id: "s", timestamp: "t", git: {} }]],
    ["Claude Code", [{ type: "summary", summary: "s", leafUuid: "u" }]],
    ["Claude Code", [{ parentUuid: null, sessionId: "s", type: "user", message: user("q"), uuid: "u" }]],
    ["OpenHands", [{ instance_id: "i", test_result: {}, history: [{ source: "agent" }], metrics: {} }]],
    ["OpenHands", [{ issue: {}, git_patch: "", history: [{ id: 0 }], success: true }]],
    ["OpenHands", [{ id: 0, timestamp: "t", source: "user", message: "q", action: "message", args: {} }]],
    ["OpenHands", [{ id: "u", timestamp: "t", source: "agent", kind: "MessageEvent" }]],
    ["OpenHands", [{ id: 1, timestamp: "t", source: "agent", observation: "run" }]],
    ["demonstrations of SWE-agent", [{ history: [{ role: "user", content: "q", message_type: "demonstration" }] }]],
    ["lines of columns", [{ questions: 1 }, { question: ["q", "r"], answer: ["a", "b"] }]],
    ["lines of columns", [{ messages: [[], []], reward: [0, 1] }]],
    ["LangSmith", [{ id: "r", run_type: "llm", inputs: {}, outputs: {}, trace_id: "t" }]],
    ...["trace_id", "dotted_order", "inputs", "outputs", "child_runs"].flatMap((key): [string, object[]][] =>
      ["runs", "traces", "data"].map((list) => ["LangSmith", [{ [list]: [{ id: "r", run_type: "llm", [key]: {} }] }]]),
    ),
    ["Langfuse", [{ id: "t", observations: [{ id: "o", traceId: "t" }] }]],
    ...["htmlPath", "projectId", "bookmarked", "totalCost"].map((key): [string, object[]] => [
      "Langfuse",
      [{ [key]: 1, input: "q" }],
    ]),
    ["Langfuse", [{ id: "o", traceId: "t", type: "GENERATION", input: messages, output: messages[1] ?? {} }]],
    ["preference rows", [{ chosen: messages, rejected: messages, margin: 6 }]],
    ["preference rows", [{ prompt: "q", chosen: "a", rejected: "b" }]],
    ["rLLM", [{ episode_id: "e", task_hash: "h", termination_reason: "env_done", trajectories: [] }]],
    ["rLLM", [{ id: "e", termination_reason: null, trajectories: [], eval_idx: 0 }]],
    ["rLLM", [{ id: "e", task: {}, trajectories: [{ uid: "u", steps: [{ chat_completions: [] }] }] }]],
  ])("is refused by the name of %s, with the guide", async (name, records) => {
    const { code, stderr } = await check(records);
    expect([code, stderr]).toEqual([
      3,
      expect.stringMatching(new RegExp(`unknown format: .*${name}.*\\n.*input-formats\\.md`)),
    ]);
    expect(stderr).not.toContain("rename");
  });

  it("gets the list of the formats", async () => {
    const { code, stderr } = await check([{ question: "q", reply: "a", reward: 1 }]);
    expect([code, stderr]).toEqual([
      3,
      expect.stringMatching(/the keys question, reply, reward.*\n.*--from \(atif, .*rollcall\).*guide/),
    ]);
    const many = await check([Object.fromEntries([..."abcdefghij"].map((key) => [key, 1]))]);
    expect(many.stderr).toMatch(/the keys a, b, c, d, e, f, g, h \[/);
  });

  it.each<[string, object]>([
    ["a row with some members of a Codex session", { id: "s", timestamp: "t", instructions: "i" }],
    ["a conversation with the members of a Codex session", { id: "s", timestamp: "t", git: {}, messages: {} }],
    ["steps with a version", { schema_version: "1", steps: [] }],
    ["lists of several lengths", { rows: [1, 2], more: [1] }],
    ["empty lists", { rows: [], more: [] }],
    ["a header of another log", { eval: { task: 1 }, status: "success" }],
    ["a type without a payload", { type: "event_msg" }],
    ["a message without a session", { type: "user" }],
    ["an output without an instruction", { output: "a", reward: 1 }],
    ["a time and a source", { timestamp: "t", source: "web" }],
    ["an issue without a history", { issue: {}, metadata: "k" }],
    ["an id and a repository without a time", { id: "s", git: {} }],
    ["a history without results", { instance_id: "i", history: [] }],
    ["a history and metrics without an instance", { history: [], metrics: {} }],
    ["a session with an output", { sessionId: "s", input: "q", output: "a" }],
    ["a type of Claude Code's and a reward", { type: "user", uuid: "u", reward: 1 }],
    ["a type of LangSmith's and a reward", { run_type: "train", inputs: "x", outputs: "y", score: 1 }],
    ["an action and a reward", { timestamp: "t", source: "web", action: "click", reward: 1 }],
    ["an answer with a custom_id", { custom_id: "c", prompt: "q", response: "a" }],
    ["the items of a response", { id: "r", timestamp: "t", instructions: "i", input: [], output: [] }],
    ["steps of another agent", { task: "t", steps: [{ url: "u", action: "click" }] }],
    ["observations of an episode", { observations: ["o", "p"], actions: ["a", "b"], terminated: true }],
    ["lists with an element for each step", { states: ["s", "t"], responses: ["a", "b"] }],
    ["an episode without a list of trajectories", { episode_id: "e" }],
  ])("has no name if it has %s", async (_, record) => {
    const { stderr } = await check([record]);
    expect(stderr).toMatch(/no format that rollcall reads has records with|records, pass --from (?:trl|openrlhf)/);
  });

  it("reports the fields of rollcall's format if a later record has them", async () => {
    const { stderr } = await check([{ event: "l".repeat(2 ** 20) }, { trajectories: [{ messages }], note: "n" }]);
    expect(stderr).toContain("[missing-field]");
  });

  it("gets no advice to rename a field whose content does not fit", async () => {
    for (const record of [
      { history: [{ kind: "event" }] },
      { messages: {} },
      { chat: "text" },
      { conversations: [] },
    ]) {
      for (const args of [[], ["--from", "rollcall"]]) {
        const { code, stderr } = await check([{ ...record, reward: 1 }], args);
        expect([code, stderr]).toEqual([3, expect.not.stringContaining("rename")]);
      }
    }
  });

  it("gets the options that read a folder of single documents", async () => {
    const row = { prompt: "q", response: "a", a: { score: 1 }, b: { score: 2 } };
    const cwd = folderOf({ "r/1.json": JSON.stringify(row, null, 2), "r/2.json": JSON.stringify(row, null, 2) });
    const { code, stderr } = await runRollcall(["check", "r"], { cwd });
    expect([code, stderr]).toEqual([
      3,
      expect.stringContaining("hint: pass --from trl, and --reward-from with one of a.score b.score"),
    ]);
    const args = ["check", "r", "--from", "trl", "--reward-from", "a.score"];
    expect(await runRollcall(args, { cwd })).toMatchObject({ code: 0 });
  });
});
