import { describe, expect, it } from "vitest";
import { called, convertFiles, sampled, sampleText, user } from "./converting.ts";

const asked = { message: user("q"), sampled: false };
const answered = { parent: 0, message: { role: "assistant", content: "a" }, sampled: true };
const scored = { correct: { score: 1 } };

/** A trace of one turn. */
const traceOf = (more: object = {}) => ({ nodes: [asked, answered], rewards: scored, ok: true, ...more });

/** An episode with such traces. */
const episodeOf = (id: string, traces: readonly object[], more: object = {}) => ({
  id,
  task: { key: "0" },
  ok: true,
  errors: [],
  traces,
  ...more,
});

const rewardsOf = (groups: readonly { readonly trajectories: readonly { readonly reward: number }[] }[]) =>
  groups.map(({ trajectories }) => trajectories.map(({ reward }) => reward));

describe("traces of verifiers v1", () => {
  it("become one trajectory each, and the values left out are named", async () => {
    const { code, groups, notes, left } = await convertFiles({
      "traces.jsonl": sampleText("verifiers-v1.traces.jsonl"),
    });
    expect(code).toBe(0);
    expect(notes[0]).toContain("(--from verifiers-v1): group from group.id, else the task");
    expect(groups).toEqual([
      {
        trajectories: [
          {
            messages_and_choices: [user("2+2?"), sampled("4")],
            reward: 1,
            initial_policy_version: 3,
            final_policy_version: 4,
            metrics: { num_turns: 1, "rewards.correct": 1 },
            metadata: {
              version: 1,
              id: "t1",
              is_completed: true,
              ok: true,
              stop_condition: "agent_completed",
              "episode.id": "e1",
              "episode.ok": true,
              "env.id": "gsm8k",
              "task.type": "Task",
              "task.key": "0",
              "group.id": "g0",
              "run.type": "train",
              "run.id": "r",
              "run.work.type": "train",
              "run.work.step": 3,
              "agent.name": "agent",
            },
            start_time: "1970-01-01T00:00:01Z",
          },
        ],
      },
    ]);
    expect(Object.values(left).flat().sort()).toMatchInlineSnapshot(`
      [
        "errors",
        "task.data.idx",
        "task.data.prompt",
        "traces[].agent.config",
        "traces[].agent.trainable",
        "traces[].calls[].model",
        "traces[].calls[].node",
        "traces[].calls[].time.end",
        "traces[].calls[].time.start",
        "traces[].calls[].usage.completion_tokens",
        "traces[].calls[].usage.prompt_tokens",
        "traces[].errors",
        "traces[].nodes[].mask",
        "traces[].nodes[].parent",
        "traces[].nodes[].sampled",
        "traces[].nodes[].timestamp",
        "traces[].nodes[].token_ids",
        "traces[].task.data.idx",
        "traces[].task.data.prompt",
        "traces[].task.type",
        "traces[].tools",
        "traces[].verifiers.version",
      ]
    `);
  });

  it("get turns from the path to the last leaf, histories from other leaves, choices from sampled turns", async () => {
    const call = { id: "c", name: "f", arguments: '{"n": 9007199254740993}' };
    const calling = { role: "assistant", tool_calls: [call] };
    const nodes = [
      { message: { role: "system", content: "s" } },
      { parent: 0, message: user("q") },
      {
        parent: 1,
        message: calling,
        sampled: true,
        token_ids: [1, 2, "large"],
        mask: [false, true, true],
        logprobs: [-0.1, -1e-7],
      },
      { parent: 2, message: { role: "tool", tool_call_id: "c", content: "r" } },
      {
        parent: 3,
        message: { role: "assistant", content: "long" },
        sampled: true,
        token_ids: [7],
        mask: [true],
        logprobs: [-2.5],
      },
      { parent: 0, message: user("summary") },
      { parent: 5, message: { role: "assistant", content: "few-shot", tool_calls: null } },
      { parent: 6, message: { role: "assistant", content: "b", tool_calls: null }, sampled: true, logprobs: [-1] },
      { parent: 3, message: { role: "assistant", content: "done", reasoning_content: "hm" }, sampled: true },
    ];
    const calls = [
      { node: 2, finish_reason: "tool_calls" },
      { node: 4, finish_reason: "stop" },
      { node: 4, finish_reason: "length" },
      { node: 7, finish_reason: "stop" },
    ];
    const tools = [{ name: "f", description: "d", parameters: {}, strict: true }];
    const text = JSON.stringify(
      episodeOf("e", [traceOf({ nodes, calls, tools, timing: { start: 1763712000.123456 } })]),
    )
      .replace('"large"', "9007199254740993")
      .replace("-0.1,", "-0.10,")
      .replace("[-2.5]", "[-2.50]");
    const { lines, groups, notes, left } = await convertFiles({ "t.jsonl": text });
    const whole = { role: "assistant", tool_calls: [called("c", "f", call.arguments)] };
    const token = (id: number, logprob: number) => ({
      token: `token_id:${id}`,
      logprob,
      bytes: null,
      top_logprobs: [],
    });
    const system = { role: "system", content: "s" };
    const result = { role: "tool", tool_call_id: "c", content: "r" };
    const definitions = [{ type: "function", function: tools[0] }];
    expect(groups[0]?.trajectories[0]).toMatchObject({
      messages_and_choices: [
        system,
        user("q"),
        {
          ...sampled(whole, "tool_calls"),
          logprobs: { content: [token(2, -0.1), { ...token(0, -1e-7), token: "token_id:9007199254740993" }] },
        },
        result,
        sampled({ role: "assistant", content: "done", reasoning_content: "hm" }),
      ],
      tools: definitions,
      additional_histories: [
        {
          messages_and_choices: [
            system,
            user("q"),
            whole,
            result,
            { ...sampled("long", "length"), logprobs: { content: [token(7, -2.5)] } },
          ],
          tools: definitions,
        },
        {
          messages_and_choices: [
            system,
            user("summary"),
            { role: "assistant", content: "few-shot" },
            sampled({ role: "assistant", content: "b", tool_calls: null }),
          ],
          tools: definitions,
        },
      ],
      start_time: "2025-11-21T08:00:00.123456Z",
    });
    expect(lines[0]).toContain('{"token":"token_id:2","logprob":-0.10,"bytes":null,"top_logprobs":[]}');
    expect(lines[0]).toContain('"logprob":-2.50,');
    expect(notes.slice(1).toSorted()).toEqual([
      "added the missing finish_reason: tool_calls for a turn that calls tools, otherwise stop",
      "left out logprobs without token ids",
    ]);
    expect(left["logprobs without token ids"]).toEqual(["traces[].nodes[].logprobs[]"]);
  });

  it("get the sum of weighted scores as reward, and each score as a metric", async () => {
    const rewards = { a: { score: 0.5, weight: 2 }, b: { score: 0.25, weight: 0 }, c: null, d: { score: -1 } };
    const metrics = { turns: 2, gone: null };
    const one = `{"id":"e2","task":{"hash":"h"},"ok":true,"traces":[{"nodes":[],"ok":true,"rewards":{"r":{"score":0.50,"weight":1.0}}}]}`;
    const { groups, lines, left } = await convertFiles({
      "t.jsonl": `${JSON.stringify(episodeOf("e1", [traceOf({ rewards, metrics })]))}\n${one}\n`,
    });
    expect(groups[0]?.trajectories[0]).toMatchObject({
      reward: 0,
      metrics: { turns: 2, "rewards.a": 0.5, "rewards.b": 0.25, "rewards.d": -1 },
    });
    expect(lines[1]).toContain('"reward":0.50,"metrics":{"rewards.r":0.50}');
    expect(left["the value is null"]).toEqual(["traces[].metrics.gone", "traces[].rewards.c"]);
  });

  it("become exceptions if they or their episode failed, and are left out if their agent is not trained", async () => {
    const errors = [
      { type: "Timeout", message: "first" },
      { type: "ProviderError", message: "last", status_code: 500 },
    ];
    const episodes = [
      episodeOf("e1", [traceOf(), traceOf({ ok: false, errors, rewards: { correct: null } })]),
      episodeOf("e2", [], { ok: false, errors }),
      episodeOf("e3", [traceOf({ agent: { name: "judge", trainable: false } }), traceOf({ errors: errors.slice(1) })]),
      episodeOf("e4", [traceOf({ ok: false, stop_condition: "max_turns", rewards: {} })]),
    ];
    const { groups, notes, left } = await convertFiles({ "t.jsonl": episodes });
    expect(rewardsOf(groups)).toEqual([[1, 1]]);
    expect(groups[0]?.exceptions).toEqual([errors[1], errors[1], { type: "error", message: "max_turns" }]);
    expect(notes).toContain("left out a trace of an agent that is not trainable");
    expect(left["a trace of an agent that is not trainable"]).toContain("traces[].nodes[].message.content");
    expect(left["errors of repeated attempts are left out"]).toContain("traces[].errors[].message");
  });

  it("are grouped by group.id, or by run, step, environment and task, and by agent if several are trained", async () => {
    const run = (step: number, type = "train") => ({ type: "train", id: "r", work: { type, step } });
    const scoring = (score: number) => [traceOf({ rewards: { r: { score } } })];
    const first = [
      episodeOf("1", scoring(1), { group: { id: "g" }, run: run(1) }),
      episodeOf("2", scoring(2), { group: { id: "g" }, run: run(2), task: { key: "other" } }),
      episodeOf("3", scoring(3), { run: run(1), env: { id: "x" } }),
      episodeOf("4", scoring(4), { run: run(1), env: { id: "y" } }),
      episodeOf("5", scoring(5), { run: run(2), env: { id: "x" } }),
      episodeOf("6", scoring(6), { run: run(1, "eval"), env: { id: "x" } }),
      episodeOf("7", scoring(7)),
      episodeOf("8", [
        traceOf({ agent: { name: "agent" }, rewards: { r: { score: 8 } } }),
        traceOf({ agent: { name: "critic" }, rewards: { r: { score: 9 } } }),
      ]),
    ];
    const second = [
      episodeOf("9", scoring(10), { run: run(1), env: { id: "x" } }),
      episodeOf("10", scoring(11)),
      episodeOf("1", scoring(1), { group: { id: "g" }, run: run(1) }),
    ];
    const { groups, notes, left } = await convertFiles({
      "step_1/train/all/traces.jsonl": first,
      "step_1/train/effective/traces.jsonl": second,
    });
    expect(rewardsOf(groups)).toEqual([[1, 2], [3, 10], [4], [5], [6], [7, 8], [9], [11]]);
    expect(notes).toContain("left out an episode that was already read");
    expect(left["an episode that was already read"]).toContain("group.id");
  });

  it("give the position of each problem in the file once", async () => {
    const logprobs = (more: object) => traceOf({ nodes: [{ ...asked, sampled: true, ...more }] });
    const broken = [
      episodeOf("1", [{ rewards: scored, ok: true }]),
      episodeOf("2", [traceOf({ nodes: [{ ...asked, parent: 0 }] })]),
      episodeOf("3", [traceOf({ nodes: [{ sampled: true }] })]),
      episodeOf("4", [logprobs({ token_ids: [1, 2], mask: [true, true], logprobs: [-1] })]),
      episodeOf("5", [logprobs({ token_ids: [1], mask: [true], logprobs: ["x"] })]),
      episodeOf("6", [traceOf({ rewards: { r: { score: "x" } } })]),
      episodeOf("7", [traceOf({ rewards: {} })]),
      episodeOf("8", [traceOf()], { traces: 3 }),
    ].map((episode, at) => ({ ...episode, task: { key: String(at) } }));
    const { code, errors } = await convertFiles({
      "t.jsonl": [episodeOf("0", [traceOf()]), ...broken, episodeOf("9", [traceOf()], { task: {} })],
    });
    expect(code).toBe(3);
    expect(errors).toMatchInlineSnapshot(`
      [
        "t.jsonl:2: error: traces.0: cannot convert this record of verifiers-v1: nodes is missing [record-invalid]",
        "t.jsonl:3: error: traces.0.nodes.0.parent: cannot convert this record of verifiers-v1: parent is not an earlier node (0) [record-invalid]",
        "t.jsonl:4: error: traces.0.nodes.0: cannot convert this record of verifiers-v1: message is missing [record-invalid]",
        "t.jsonl:5: error: traces.0.nodes.0.logprobs: cannot convert this record of verifiers-v1: 1 logprobs do not match 2 sampled tokens [record-invalid]",
        "t.jsonl:6: error: traces.0.nodes.0.logprobs.0: cannot convert this record of verifiers-v1: a logprob is not a number [record-invalid]",
        "t.jsonl:7: error: traces.0.rewards.r: cannot convert this record of verifiers-v1: score or weight of r is not a number [record-invalid]",
        "t.jsonl:8: error: traces.0: cannot convert this record of verifiers-v1: the reward is missing [record-invalid]",
        "t.jsonl:9: error: traces: cannot convert this record of verifiers-v1: traces is not a list [record-invalid]",
        "t.jsonl:10: error: cannot convert this record of verifiers-v1: group.id, task.key and task.hash are missing, so the group is unknown [record-invalid]",
      ]
    `);
  });
});
