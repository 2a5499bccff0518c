import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { runHere } from "../support/here.ts";
import { runRollcall } from "../support/run.ts";
import { called, convertFiles, folderOf, sampled, sampleText, user } from "./converting.ts";

const row = {
  example_id: 0,
  prompt: [user("q")],
  completion: [{ role: "assistant", content: "a" }],
  task: "t",
  reward: 1,
};

describe("results of verifiers v0", () => {
  it("are grouped by example, with metrics, and with model and environment from their metadata", async () => {
    const wordle = sampleText("verifiers-v0.wordle.results.jsonl");
    const rows = wordle
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line));
    const files = {
      "results.jsonl": wordle,
      "metadata.json": sampleText("verifiers-v0.wordle.metadata.json"),
    };
    const { code, groups, notes, left } = await convertFiles(files, { names: ["results.jsonl"], args: ["--exact"] });
    expect({ code, left }).toEqual({ code: 0, left: {} });
    expect(notes).toEqual([
      "read the input as results of verifiers v0 (--from verifiers-v0): group from example_id; reward from reward; choices from the assistant's turns of completion",
      "added the missing finish_reason: tool_calls for a turn that calls tools, otherwise stop (29 times)",
    ]);
    const ids = [...new Set(rows.map(({ example_id }) => example_id))];
    expect(groups).toEqual(
      ids.map((id) => ({
        trajectories: rows
          .filter(({ example_id }) => example_id === id)
          .map((one) => ({
            messages_and_choices: [
              ...one.prompt,
              ...one.completion.map((turn: { role: string }) => (turn.role === "assistant" ? sampled(turn) : turn)),
            ],
            reward: one.reward,
            metrics: {
              check_answer_reward_func: one.check_answer_reward_func,
              partial_credit_reward_func: one.partial_credit_reward_func,
              count_turns_reward_func: one.count_turns_reward_func,
              format_reward_func: one.format_reward_func,
            },
            metadata: {
              example_id: id,
              task: one.task,
              generation_ms: one.generation_ms,
              scoring_ms: one.scoring_ms,
              total_ms: one.total_ms,
              answer: one.answer,
              env_id: "wordle",
              model: "gpt-4.1-mini",
            },
          })),
      })),
    );
  });

  it("get whole calls from texts, and results get the id of their call", async () => {
    const text = sampleText("verifiers-v0.mcp_env.results.jsonl");
    const { prompt, completion } = JSON.parse(text);
    const [calling, result, last] = completion;
    const { groups, notes, left } = await convertFiles({ "results.jsonl": text });
    const id = "call_Y1PnKFLfORtzLOU8zexgmtwE";
    expect(groups[0]?.trajectories[0]).toEqual({
      messages_and_choices: [
        ...prompt,
        sampled(
          { ...calling, tool_calls: [called(id, "fetch_fetch", '{"url":"https://primeintellect.ai"}')] },
          "tool_calls",
        ),
        { role: "tool", content: result.content, tool_call_id: id },
        sampled(last),
      ],
      reward: 0,
      metadata: { id: 0, task: "default", answer: "ENVIRONMENTS HUB" },
    });
    expect(notes).toContain("assigned results without tool_call_id to the calls in order");
    expect(left).toEqual({ "the value is null": ["completion[].tool_calls"] });
  });

  it("are grouped by example_id if rows also have an id", async () => {
    const folder = folderOf({ "results.jsonl": [1, 2].map((id) => ({ ...row, id })) });
    const { code, stdout } = await runHere(["convert", join(folder, "results.jsonl"), "--out", "-"]);
    const groups = stdout.trimEnd().split("\n");
    expect([code, groups.map((line) => JSON.parse(line).trajectories.length)]).toEqual([0, [2]]);
  });

  it("get empty arguments for calls without arguments", async () => {
    const calls = [{ id: "c1", name: "f" }, '{"id":"c2","name":"g"}'];
    const turn = { role: "assistant", content: "", tool_calls: calls };
    const { groups } = await convertFiles({ "results.jsonl": [{ ...row, completion: [turn] }] });
    expect(groups[0]?.trajectories[0]?.messages_and_choices[1]).toEqual(
      sampled({ ...turn, tool_calls: [called("c1", "f", "{}"), called("c2", "g", "{}")] }, "tool_calls"),
    );
  });

  it("keep the text, calls, tools, metrics, errors, cut turns and digits of a row", async () => {
    const tool = { name: "f", description: "d", parameters: { type: "object" }, strict: null };
    const calls = {
      role: "assistant",
      content: "",
      tool_calls: [
        { id: "c1", name: "f", arguments: "{}" },
        '{"id":"c2","name":"g","arguments":{"n":9007199254740993}}',
      ],
    };
    const rows = [
      { ...row, prompt: "q", completion: "a", is_truncated: true, stop_condition: "max_tokens", error: null },
      {
        ...row,
        example_id: 1,
        prompt: [user("q"), calls, { role: "tool", content: "given" }],
        completion: [
          calls,
          { role: "tool", content: "second", tool_call_id: "c2" },
          { role: "tool", content: "first" },
          { role: "assistant", content: "done" },
        ],
        tool_defs: [tool, { type: "web_search" }],
        is_truncated: true,
      },
      {
        ...row,
        example_id: 2,
        metrics: { m: 0.5, won: true, why: "x" },
        m: 0.5,
        other: 3,
        info: { oai_tools: [{ type: "function", function: tool }], x: 1 },
      },
      { ...row, example_id: 2, won: 0.25, my_id: 3, total_ms: 4, info: JSON.stringify({ oai_tools: [tool] }) },
      { ...row, example_id: 2, error: "ModelError: down", metrics: { m: 1 } },
      { ...row, example_id: 2, error: { error: "InfraError", error_chain_str: "InfraError -> OOM" }, reward: 0 },
    ];
    const lines = [
      ...rows.map((one) => JSON.stringify(one)),
      '{"example_id":9007199254740993,"prompt":"q","completion":"\\u0061","task":"t","reward":1.50,"big":12345678901234567890}',
    ];
    const { code, groups, lines: written, left } = await convertFiles({ "a.jsonl": lines.join("\n") });
    expect(code).toBe(0);
    const whole = { ...calls, tool_calls: [called("c1", "f"), called("c2", "g", '{"n":9007199254740993}')] };
    const { strict: _, ...definition } = tool;
    expect(groups.slice(0, 3)).toEqual([
      {
        trajectories: [
          {
            messages_and_choices: [user("q"), sampled("a", "length")],
            reward: 1,
            metadata: { example_id: 0, task: "t", is_truncated: true, stop_condition: "max_tokens", error: null },
          },
        ],
      },
      {
        trajectories: [
          {
            messages_and_choices: [
              user("q"),
              whole,
              { role: "tool", content: "given", tool_call_id: "c1" },
              sampled(whole, "tool_calls"),
              { role: "tool", content: "second", tool_call_id: "c2" },
              { role: "tool", content: "first", tool_call_id: "c1" },
              sampled("done", "length"),
            ],
            tools: [{ type: "function", function: definition }],
            reward: 1,
            metadata: { example_id: 1, task: "t", is_truncated: true },
          },
        ],
      },
      {
        trajectories: [
          {
            messages_and_choices: [user("q"), sampled("a")],
            tools: [{ type: "function", function: tool }],
            reward: 1,
            metrics: { m: 0.5, won: true },
            metadata: { example_id: 2, task: "t", other: 3 },
          },
          {
            messages_and_choices: [user("q"), sampled("a")],
            tools: [{ type: "function", function: definition }],
            reward: 1,
            metrics: { won: 0.25 },
            metadata: { example_id: 2, task: "t", my_id: 3, total_ms: 4, info: JSON.stringify({ oai_tools: [tool] }) },
          },
        ],
        exceptions: [
          { type: "error", message: "ModelError: down" },
          { error: "InfraError", error_chain_str: "InfraError -> OOM" },
        ],
      },
    ]);
    expect(written[3]).toContain(
      '"content":"\\u0061"}}],"reward":1.50,"metrics":{"big":12345678901234567890},"metadata":{"example_id":9007199254740993,',
    );
    expect(left["metrics are numbers"]).toEqual(["metrics.why"]);
    expect(left["only function tools are converted"]).toEqual(["tool_defs[].type"]);
    expect(left["metadata cannot contain nested values"]).toEqual(["info.x"]);
    expect(left["a failed rollout becomes only an exception"]).toContain("metrics.m");
  });

  it("are separate groups for each file, also for equal example ids", async () => {
    const { groups } = await convertFiles({ "a/results.jsonl": [row, row], "b/results.jsonl": [row] });
    expect(groups.map(({ trajectories }) => trajectories.length)).toEqual([2, 1]);
  });

  it("give the position of each problem in the file once", async () => {
    const rows = [
      row,
      { ...row, example_id: 1, prompt: undefined },
      { ...row, example_id: 2, completion: 3 },
      { ...row, example_id: 3, completion: [{ content: "x" }] },
      { ...row, example_id: 4, completion: [{ role: "tool", content: "x" }] },
      { ...row, example_id: 5, reward: null },
      { ...row, example_id: undefined },
    ];
    const text = `${rows.map((one) => JSON.stringify(one)).join("\n")}\n{"example_id":6,"prompt":[}\n`;
    const { code, errors } = await convertFiles({ "results.jsonl": text });
    expect(code).toBe(3);
    expect(errors).toMatchInlineSnapshot(`
      [
        "results.jsonl:1: error: results.jsonl:7 names no group and can belong to this group [ambiguous-group]",
        "results.jsonl:2: error: cannot convert this record of verifiers-v0: prompt is missing [record-invalid]",
        "results.jsonl:3: error: completion: cannot convert this record of verifiers-v0: completion is neither messages nor text [record-invalid]",
        "results.jsonl:4: error: completion.0: cannot convert this record of verifiers-v0: a message of completion has no role [record-invalid]",
        "results.jsonl:5: error: completion.0: cannot convert this record of verifiers-v0: tool_call_id is missing, and no call is unanswered [record-invalid]",
        "results.jsonl:6: error: cannot convert this record of verifiers-v0: the reward is missing [record-invalid]",
        "results.jsonl:7: error: cannot convert this record of verifiers-v0: example_id is missing [record-invalid]",
        "results.jsonl:8:27: error: expected a record of verifiers-v0, found text that is not JSON [record-invalid]",
      ]
    `);
  });

  it("count failed rollouts, and keep a group in which all failed", async () => {
    const failed = { ...row, error: "ModelError: down" };
    const rows = [row, failed, { ...failed, example_id: 1 }, { ...failed, example_id: 1 }];
    const folder = folderOf({ "results.jsonl": rows });
    const { stderr } = await runRollcall(["check", "results.jsonl"], { cwd: folder });
    expect(stderr).toContain("note: converted a failed rollout to an exception of its group (3 times)\n");
    expect(stderr).toContain("warning: the group has exceptions but no trajectories [empty-group]\n");
    expect(stderr).toContain("keep the group so that exception_rate counts its failures");
    expect(stderr).not.toContain("leave it out");
  });

  it("reject the groups next to a row that is cut off, until it is complete", async () => {
    const rows = [0, 0, 0, 1, 1, 1, 2, 2, 2].map((example_id, at) =>
      JSON.stringify({ ...row, example_id, reward: at }),
    );
    const cut = rows.map((line, at) => (at === 4 ? line.slice(0, 12) : line));
    const folder = folderOf({ "results.jsonl": cut.join("\n") });
    const env = { HOME: folder, XDG_CONFIG_HOME: `${folder}/config`, XDG_DATA_HOME: `${folder}/data` };
    const skipping = ["--on-invalid", "skip"];
    const log = async () => {
      const words = ["log", "m", "results.jsonl", "--split", "train", "--local", ...skipping, "--json"];
      return JSON.parse((await runRollcall(words, { env, cwd: folder })).stdout).groups;
    };
    expect(await log()).toMatchObject({ read: 4, logged: 2, rejected: 2 });
    expect(readFileSync(join(folder, "results.jsonl.rejected.reasons"), "utf8")).toContain(
      '"message":"results.jsonl:5 is unreadable and can belong to this group"',
    );
    writeFileSync(join(folder, "results.jsonl"), rows.join("\n"));
    expect(await log()).toMatchObject({ read: 3, logged: 1, already_logged: 2 });
    // If groups are mixed, or could be, the row may belong to any of them.
    const lone = [0, 1, 2].map((example_id) => JSON.stringify({ ...row, example_id }));
    const { code } = await convertFiles({ "results.jsonl": [...lone, '{"example'].join("\n") }, { args: skipping });
    expect(code).toBe(3);
    // A row that is cut off after its example_id belongs to the group of that id.
    const named = await convertFiles(
      { "results.jsonl": [...lone, '{"example_id":2,"pro'].join("\n") },
      { args: skipping },
    );
    expect([named.groups.length, named.errors.length]).toEqual([2, 1]);
    // A line of another program belongs to no group.
    const foreign = await convertFiles(
      { "results.jsonl": [...lone, '{"event":"log"}'].join("\n") },
      { args: skipping },
    );
    expect([foreign.groups.length, foreign.errors.length]).toEqual([3, 1]);
    const mixed = [0, 1, 0, 1].map((example_id, at) => JSON.stringify({ ...row, example_id, reward: at }));
    const { errors } = await convertFiles({ "results.jsonl": [...mixed, '{"example'].join("\n") });
    expect(errors.map((error) => error.replace(/: error: .*\[/, " ["))).toEqual([
      "results.jsonl:1 [ambiguous-group]",
      "results.jsonl:5:10 [record-invalid]",
    ]);
  });

  it("are rejected byte for byte if they are broken, and a rerun after a fix logs only them", async () => {
    const broken = { ...row, example_id: 1, completion: 3 };
    const bare = { ...row, example_id: 2, completion: [{ role: "user", content: "x" }] };
    const folder = folderOf({ "results.jsonl": [row, broken, bare, { ...row, example_id: 3 }] });
    const env = { HOME: folder, XDG_CONFIG_HOME: `${folder}/config`, XDG_DATA_HOME: `${folder}/data` };
    const log = async (...args: readonly string[]) =>
      await runRollcall(["log", "m", ...args, "--split", "train", "--local", "--json"], { env, cwd: folder });
    // One run reports records that cannot be converted and values that break a rule.
    const stopped = await log("results.jsonl", "--strict");
    const { problems } = JSON.parse(stopped.stderr.trim().split("\n").at(-1) ?? "").error;
    const told = problems.map(({ rule, line }: Record<string, unknown>) => `${line}: ${rule}`);
    expect([stopped.code, told]).toEqual([3, expect.arrayContaining(["2: record-invalid", "3: no-assistant-turn"])]);
    const skipped = await log("results.jsonl", "--on-invalid", "skip");
    expect([skipped.code, JSON.parse(skipped.stdout).groups]).toMatchObject([7, { read: 4, logged: 3, rejected: 1 }]);
    expect(readFileSync(join(folder, "results.jsonl.rejected"), "utf8")).toBe(`${JSON.stringify(broken)}\n`);
    // A record whose group is known does not count separately.
    expect(JSON.parse(skipped.stdout)).not.toHaveProperty("unreadable_lines");
    const { message, hint, next } = JSON.parse(skipped.stderr.trim().split("\n").at(-1) ?? "").error;
    expect(message).toMatch(/^1 group rejected \(see .*\), 3 logged$/);
    expect(hint).toContain("results.jsonl.rejected.reasons), then rerun the same command");
    const mended = [row, { ...broken, completion: row.completion }, bare, { ...row, example_id: 3 }];
    writeFileSync(join(folder, "results.jsonl"), mended.map((one) => JSON.stringify(one)).join("\n"));
    const words = next.split(" ").slice(1);
    const { groups } = JSON.parse((await runRollcall(words, { env, cwd: folder })).stdout);
    expect(groups).toMatchObject({ read: 4, logged: 1, already_logged: 3 });
  });
});
