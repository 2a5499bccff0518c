import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { readRewards } from "../../src/formats/index.ts";
import { runRollcall } from "../support/run.ts";
import { called, convertFiles, type Files, folderOf, sampled, sampleText, user } from "./converting.ts";

const indented = (document: object): string => JSON.stringify(document, null, 2);

const documentOf = (id: string, steps: readonly object[], more: object = {}) => ({
  schema_version: "ATIF-v1.7",
  session_id: id,
  agent: { name: "a", version: "1", model_name: "m" },
  steps: steps.map((step, at) => ({ step_id: at + 1, ...step })),
  ...more,
});

const asks = { source: "user", message: "q" };
const says = (message: string, more: object = {}) => ({ source: "agent", message, ...more });
const refersTo = (...subagent_trajectory_ref: readonly object[]) => ({
  source: "system",
  message: "delegated",
  observation: { results: [{ subagent_trajectory_ref }] },
});

const rewarded = { "rewards.lines": '{"id":"x","reward":1}\n{"id":"y","reward":0.50}\n{"id":"z","reward":-1}\n' };

const convertAll = async (files: Files, ...args: readonly string[]) =>
  await convertFiles({ ...files, ...rewarded }, { names: ["."], args: ["--rewards", "rewards.lines", ...args] });

const turnsOf = ({ groups }: Awaited<ReturnType<typeof convertAll>>) =>
  groups.map(({ trajectories }) => trajectories[0]?.messages_and_choices);

describe("a file of rewards", () => {
  it("may repeat the reward of an id", async () => {
    const folder = folderOf({ "a.lines": '{"id":"x","reward":1}\n{"id":7,"reward":2}\n{"id":"x","reward":1}\n' });
    expect(readRewards(join(folder, "a.lines"))).toEqual(
      new Map([
        ["x", "1"],
        ["7", "2"],
      ]),
    );
  });

  it("is refused if an id has two rewards", async () => {
    const folder = folderOf({ "a.lines": '{"id":"x","reward":1}\n{"id":"x","reward":0}\n' });
    expect(() => readRewards(join(folder, "a.lines"))).toThrow(
      expect.objectContaining({ message: expect.stringContaining("expected a file of rewards: x has two rewards") }),
    );
  });
});

describe("an ATIF document", () => {
  it("becomes a group whose choices are the agent's steps, with calls, results, metrics, metadata and time", async () => {
    const text = sampleText("atif.simple_trajectory.json");
    const [asked, calling, last] = JSON.parse(text).steps;
    const rewards = '{"id":"sess-abc123-simple","reward":0.50}';
    const files = { "trajectory.json": text, "rewards.lines": rewards };
    const args = ["--rewards", "rewards.lines"];
    const { code, groups, lines, notes, left } = await convertFiles(files, { names: ["trajectory.json"], args });
    expect(code).toBe(0);
    const [call] = calling.tool_calls;
    expect(groups).toEqual([
      {
        trajectories: [
          {
            messages_and_choices: [
              user(asked.message),
              sampled(
                {
                  role: "assistant",
                  content: calling.message,
                  reasoning_content: calling.reasoning_content,
                  tool_calls: [called(call.tool_call_id, "financial_search", '{"ticker": "GOOGL", "metric": "price"}')],
                },
                "tool_calls",
              ),
              { role: "tool", tool_call_id: call.tool_call_id, content: calling.observation.results[0].content },
              sampled(last.message),
            ],
            reward: 0.5,
            metrics: {
              total_prompt_tokens: 1120,
              total_completion_tokens: 124,
              total_cost_usd: 0.00078,
              total_steps: 3,
            },
            metadata: {
              schema_version: "ATIF-v1.4",
              session_id: "sess-abc123-simple",
              "agent.name": "finance-assistant",
              "agent.version": "1.0.0",
              "agent.model_name": "gpt-4",
            },
            start_time: "2025-01-15T10:30:00Z",
          },
        ],
      },
    ]);
    expect(lines[0]).toContain('"reward":0.50,');
    expect(notes).toEqual([
      "read the input as ATIF trajectories (--from atif): group from each file; reward from --rewards; choices from the agent's steps",
      "added the missing finish_reason: tool_calls for a turn that calls tools, otherwise stop (2 times)",
    ]);
    const metrics = ["completion_tokens", "cost_usd", "prompt_tokens"].map((key) => `steps[].metrics.${key}`);
    expect(left).toEqual({
      "the interface has no field for it": [...metrics, "steps[].model_name", "steps[].timestamp"],
    });
  });

  it("gives the name of a missing file of its continuation or of a subagent", async () => {
    const names = ["openhands", "terminus2_continuation", "terminus2_continuation_cont1"];
    const files = Object.fromEntries(
      names.map((name) => [`${name}.json`, sampleText(`atif.harbor_${name}.json`)] as const),
    );
    const rewards = names.map((name) => `{"id":"${name}","reward":1}\n`).join("");
    const given = { ...files, "r.lines": rewards };
    const { code, groups, notes } = await convertFiles(given, { names: ["."], args: ["--rewards", "r.lines"] });
    expect([code, groups.length]).toEqual([0, 3]);
    expect(notes.slice(2)).toEqual([
      "terminus2_continuation.json continues in trajectory.cont-1.json, which is missing, so the trajectory ends early",
      "a summary or an edit replaced the context, so later turns follow messages that the model did not see",
      "a subagent's trajectory is missing: trajectory.summarization-1-summary.json",
      "a subagent's trajectory is missing: trajectory.summarization-1-questions.json",
      "a subagent's trajectory is missing: trajectory.summarization-1-answers.json",
    ]);
    const [first, , copied] = groups.map(({ trajectories }) => trajectories[0]);
    expect(first?.tools).toHaveLength(6);
    // A document that was copied from another begins with messages.
    expect(
      copied?.messages_and_choices.map((one) => ("finish_reason" in one ? "choice" : Reflect.get(one, "role"))),
    ).toEqual(["user", "user", "assistant", "user", ..."choice user choice user choice user choice user".split(" ")]);
  });

  it("is joined with its continuations, without repeated steps, or keeps each as a history", async () => {
    const copied = { is_copied_context: true };
    const files = {
      "r/trajectory.json": indented(
        documentOf("x", [asks, says("1")], { continued_trajectory_ref: "trajectory.cont-1.json" }),
      ),
      "r/trajectory.cont-1.json": indented(
        documentOf("x", [{ ...asks, ...copied }, says("sum", copied), says("2")], {
          continued_trajectory_ref: "/logs/agent/trajectory.cont-2.json",
          final_metrics: { total_steps: 1 },
        }),
      ),
      "r/trajectory.cont-2.json": indented(documentOf("c", [asks, says("3")], { final_metrics: { total_steps: 9 } })),
    };
    const one = await convertAll(files);
    expect(turnsOf(one)).toEqual([[user("q"), sampled("1"), sampled("2"), sampled("3")]]);
    expect(one.groups[0]?.trajectories[0]).toMatchObject({
      reward: 1,
      metrics: { total_steps: 9 },
      metadata: { session_id: "x" },
    });
    expect(one.notes.filter((note) => note.includes("joined the parts"))).toHaveLength(1);
    expect(one.left["a continuation repeats it"]).toContain("steps[].message");
    const parts = await convertAll(files, "--histories");
    expect(parts.groups[0]?.trajectories[0]).toMatchObject({
      messages_and_choices: [user("q"), sampled("1")],
      additional_histories: [
        { messages_and_choices: [user("q"), { role: "assistant", content: "sum" }, sampled("2")] },
        { messages_and_choices: [user("q"), sampled("3")] },
      ],
    });
    expect(parts.notes.some((note) => note.includes("joined the parts"))).toBe(false);
  });

  it("gets the subagents in it and in files as histories, and their files give no trajectory", async () => {
    const inner = documentOf("in", [asks, says("inner")], {
      trajectory_id: "t-in",
      agent: { name: "s", version: "1", model_name: "other" },
    });
    const tool = { type: "function", function: { name: "f" } };
    const files = {
      "r/a.json": indented(
        documentOf(
          "x",
          [
            asks,
            refersTo(
              { trajectory_id: "t-in" },
              { trajectory_path: "sub/b.json" },
              { trajectory_id: "t-c" },
              { session_id: "d" },
            ),
            says("end"),
          ],
          {
            subagent_trajectories: [inner],
          },
        ),
      ),
      "r/sub/b.json": indented(
        documentOf("b", [asks, says("by path")], { agent: { name: "s", version: "1", tool_definitions: [tool] } }),
      ),
      "r/sub/c.json": indented(
        documentOf("c", [asks, says("by id"), refersTo({ session_id: "e" })], { trajectory_id: "t-c" }),
      ),
      "r/d.json": indented(documentOf("d", [asks, says("by session")])),
      "r/sub/e.json": indented(documentOf("e", [asks, says("of a subagent")])),
      "other/d.json": indented(documentOf("d", [asks, says("elsewhere")], { trajectory_id: "y" })),
    };
    const { groups, notes } = await convertAll(files);
    expect(groups.map(({ trajectories }) => trajectories[0]?.reward)).toEqual([0.5, 1]);
    const history = (message: string) => ({ messages_and_choices: [user("q"), sampled(message)] });
    expect(groups[1]?.trajectories[0]?.additional_histories).toEqual([
      { messages_and_choices: [user("q"), { role: "assistant", content: "inner" }] },
      { ...history("by path"), tools: [tool] },
      { messages_and_choices: [user("q"), sampled("by id"), { role: "system", content: "delegated" }] },
      history("of a subagent"),
      history("by session"),
    ]);
    expect(notes).toContain("converted the turns of a subagent with another model to plain messages");
  });

  it("keeps every key of a step", async () => {
    const image = { type: "image", source: { media_type: "image/png", path: "a.png" } };
    const text = { type: "text", text: "look" };
    const steps = [
      { source: "user", message: [text, image] },
      says("given", { is_copied_context: true }),
      says("dispatched", {
        llm_call_count: 0,
        tool_calls: [{ tool_call_id: "c0", function_name: "f", arguments: {} }],
      }),
      says("", {
        tool_calls: [{ tool_call_id: "c1", function_name: "f", arguments: { n: "N" }, extra: { x: 1 } }],
        observation: {
          results: [
            { source_call_id: "c1" },
            { content: "seen" },
            { content: null },
            { source_call_id: null, content: [text] },
          ],
        },
        metrics: { completion_token_ids: ["I", 2], logprobs: ["L", -2], prompt_token_ids: [7] },
      }),
      { source: "system", observation: { results: [] }, extra: { context_management: { type: "compaction" } } },
      says("end", { metrics: { logprobs: [-1] } }),
    ];
    const written = indented(
      documentOf("x", steps, { final_metrics: { total_steps: "N" }, notes: "é", extra: { x: 1 } }),
    )
      .replaceAll('"N"', "9007199254740993")
      .replace('"I"', "12345678901234567890")
      .replace('"L"', "-0.10")
      .replace("é", "\\u00e9");
    const { code, lines, notes, left, groups } = await convertAll({ "a.json": written });
    expect(code).toBe(0);
    const token = (id: string, logprob: string) =>
      `{"token":"token_id:${id}","logprob":${logprob},"bytes":null,"top_logprobs":[]}`;
    expect(lines[0]).toContain(
      `"logprobs":{"content":[${token("12345678901234567890", "-0.10")},${token("2", "-2")}]}`,
    );
    expect(lines[0]).toContain('"arguments":"{\\"n\\": 9007199254740993}"');
    expect(lines[0]).toContain('"metrics":{"total_steps":9007199254740993}');
    expect(lines[0]).toContain('"notes":"\\u00e9"');
    const turns = groups[0]?.trajectories[0]?.messages_and_choices ?? [];
    expect(turns.map((one) => ("finish_reason" in one ? { choice: one.finish_reason } : one))).toEqual([
      { role: "user", content: [text, { type: "image_url", image_url: { url: "a.png" } }] },
      { role: "assistant", content: "given" },
      { role: "assistant", content: "dispatched", tool_calls: [called("c0", "f")] },
      { choice: "tool_calls" },
      { role: "tool", tool_call_id: "c1", content: "" },
      user("seen"),
      { role: "user", content: [text] },
      { choice: "stop" },
    ]);
    expect(notes).toContain(
      "a summary or an edit replaced the context, so later turns follow messages that the model did not see",
    );
    expect(left).toMatchObject({
      "completion_token_ids are missing, or the turn was not sampled": ["steps[].metrics.logprobs[]"],
      "the messages determine these tokens": ["steps[].metrics.prompt_token_ids[]"],
      "metadata cannot contain nested values": ["extra.x"],
    });
  });

  it("is noted if its version is newer than ATIF-v1.7", async () => {
    const files = {
      "a.json": indented(documentOf("x", [asks, says("a")])),
      "b.json": indented(documentOf("y", [asks, says("b")], { schema_version: "ATIF-v1.8" })),
    };
    const { code, groups, notes } = await convertAll(files);
    expect([code, groups.length]).toEqual([0, 2]);
    expect(notes.filter((note) => note.includes("newer"))).toEqual([
      "left out new fields of ATIF-v1.8, which is newer than ATIF-v1.7",
    ]);
  });

  it("gives the position of its problems, also if it is a continuation", async () => {
    const lines = (...texts: readonly string[]) => `${texts.join("\n")}\n`;
    const start = [
      '{"schema_version":"ATIF-v1.0","agent":{},"session_id":"x",',
      '"steps":[{"source":"user","message":"q"},',
    ];
    const files = {
      "a.json": lines(...start, '{"source":"robot","message":"x"}]}'),
      "b.json": lines(...start, '{"source":"agent"}]}'),
      "c.json": lines(...start, '{"source":"agent","message":7}]}'),
      "d.json": lines(...start, '{"source":"agent","message":"","tool_calls":[{"tool_call_id":"c"}]}]}'),
      "e.json": lines(...start, '{"source":"agent","message":"","observation":{"results":{}}}]}'),
      "f.json": lines(
        ...start,
        '{"source":"agent","message":"","metrics":{"logprobs":[1],"completion_token_ids":[]}}]}',
      ),
      "g.json": '{"schema_version":"ATIF-v1.0","steps":[]}',
      "h.json": '{"schema_version":"ATIF-v2.0","steps":[{"source":"user","message":"q"}]}',
      "i.json": lines(...start, "3],", '"continued_trajectory_ref":"i.json"}'),
      "j.json": lines(...start, '{"source":"agent","message":"a"}],', '"continued_trajectory_ref":"k.json"}'),
      "k.json": lines(...start, '{"source":"agent","message":[],"tool_calls":[{"function_name":"f"}]}]}'),
      "l.json": '{"schema_version":"ATIF-v1.0","session_id":"nobody","steps":[{"source":"user","message":"q"}]}',
      "trajectory.json": '{"schema_version":',
    };
    const { code, errors } = await convertAll(files);
    expect(code).toBe(3);
    expect(errors).toMatchInlineSnapshot(`
      [
        "a.json:1: error: steps.1.source: cannot convert this record of atif: source is not system, user or agent [record-invalid]",
        "b.json:1: error: steps.1: cannot convert this record of atif: message is missing [record-invalid]",
        "c.json:1: error: steps.1.message: cannot convert this record of atif: the content is neither text nor a list of parts [record-invalid]",
        "d.json:1: error: steps.1.tool_calls.0: cannot convert this record of atif: function_name is missing [record-invalid]",
        "e.json:1: error: steps.1.observation.results: cannot convert this record of atif: results is not a list [record-invalid]",
        "f.json:1: error: steps.1.metrics.logprobs: cannot convert this record of atif: 1 logprobs do not match 0 sampled tokens [record-invalid]",
        "g.json:1: error: steps: cannot convert this record of atif: steps is empty [record-invalid]",
        "h.json:1: error: schema_version: cannot convert this record of atif: schema_version is not between ATIF-v1.0 and ATIF-v1.7 [record-invalid]",
        "i.json:1: error: cannot convert this record of atif: the document refers to itself through i.json [record-invalid]",
        "k.json:1: error: steps.1.tool_calls.0: cannot convert this record of atif: tool_call_id is missing [record-invalid]",
        "l.json:1: error: cannot convert this record of atif: --rewards has no reward for nobody or l [record-invalid]",
        "trajectory.json:1:19: error: cannot convert this record of atif: it is cut off [record-invalid]",
      ]
    `);
  });

  it("needs a reward from a file", async () => {
    const folder = folderOf({ "a.json": indented(documentOf("x", [asks, says("a")])) });
    expect((await runRollcall(["check", "a.json"], { cwd: folder })).stderr).toContain("the reward is missing");
  });
});
