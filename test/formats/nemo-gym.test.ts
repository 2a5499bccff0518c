import { describe, expect, it } from "vitest";
import { called, convertFiles, sampled, sampleText, user } from "./converting.ts";

const said = (text: string, more: object = {}) => ({
  type: "message",
  role: "assistant",
  content: [{ type: "output_text", text, annotations: [] }],
  ...more,
});

const calling = (call_id: string, name = "f") => ({ type: "function_call", call_id, name, arguments: "{}" });

/** A rollout of one turn. */
const rowOf = (more: object = {}) => ({
  responses_create_params: { input: [user("q")] },
  response: { output: [said("a")] },
  reward: 1,
  ...more,
});

const indexed = (task: number, rollout: number, more: object = {}) => ({
  ...rowOf(more),
  _ng_task_index: task,
  _ng_rollout_index: rollout,
});

describe("rollouts of NeMo Gym", () => {
  it("become one trajectory each, and the values left out are named", async () => {
    const text = sampleText("nemo-gym.example_mcp_weather.jsonl");
    const { code, groups, notes, left } = await convertFiles({ "rollouts.jsonl": text });
    expect(code).toBe(0);
    expect(notes).toEqual([
      "read the input as rollouts of NeMo Gym (--from nemo-gym): group from _ng_task_index, else the prompt; reward from reward; choices from response.output",
      "added the missing finish_reason: tool_calls for a turn that calls tools, otherwise stop (10 times)",
    ]);
    expect(groups).toEqual(
      ["Paris", "Tokyo", "Seattle", "Nairobi", "Toronto"].map((city) => {
        const id = `toolu_weather_${city.toLowerCase()}`;
        const weather = `The weather in ${city} is sunny and 72 F.`;
        const calls = [called(id, "get_weather", JSON.stringify({ city }))];
        const asking = `Use the get_weather MCP tool for ${city}, then answer with exactly the weather sentence returned by the tool.`;
        return {
          trajectories: [
            {
              messages_and_choices: [
                user(asking),
                sampled({ role: "assistant", content: null, tool_calls: calls }, "tool_calls"),
                { role: "tool", tool_call_id: id, content: weather },
                sampled(weather),
              ],
              reward: 1,
              metrics: { tool_call_seen: true, final_response_mentions_weather: true },
              metadata: { expected_weather: weather },
            },
          ],
        };
      }),
    );
    expect(Object.values(left).flat().sort()).toMatchInlineSnapshot(`
      [
        "response.created_at",
        "response.id",
        "response.model",
        "response.object",
        "response.output[].content[].annotations",
        "response.output[].content[].type",
        "response.output[].id",
        "response.output[].status",
        "response.output[].type",
        "response.parallel_tool_calls",
        "response.tool_choice",
        "response.tools",
        "responses_create_params.tools",
        "verifier_metadata.expected_city",
      ]
    `);
  });

  it("get turns of reasoning, at most one message, and calls, and plain messages for the input", async () => {
    const thought = (text: string) => ({ type: "reasoning", id: "r", summary: [{ type: "summary_text", text }] });
    const input = [
      { role: "developer", content: "d" },
      {
        type: "message",
        role: "user",
        content: [
          { type: "input_text", text: "look" },
          { type: "input_image", image_url: "data:,", detail: "low" },
        ],
      },
      thought("old"),
      said("using"),
      calling("g1"),
      { type: "function_call_output", call_id: "g1", output: "given" },
    ];
    const output = [
      thought("one"),
      { type: "reasoning", id: "r", summary: [], content: [{ type: "reasoning_text", text: "two" }] },
      said("first"),
      calling("c1"),
      calling("c2"),
      { type: "web_search_call", id: "w" },
      { type: "function_call_output", call_id: "c1", output: "r1" },
      { type: "function_call_output", call_id: "c2", output: [{ type: "input_text", text: "r2" }] },
      thought("three"),
      said("second"),
      thought("four"),
      {
        ...said("third"),
        content: [
          { type: "output_text", text: "th" },
          { type: "output_text", text: "ird" },
          { type: "refusal", refusal: "no" },
        ],
      },
      user("more"),
      said("last"),
    ];
    const tools = [
      { type: "function", name: "f", description: "d", parameters: {}, strict: true },
      { type: "web_search" },
    ];
    const row = rowOf({
      responses_create_params: { instructions: "s", input, tools },
      response: { output, incomplete_details: { reason: "max_output_tokens" } },
    });
    const { groups, notes, left } = await convertFiles({ "r.jsonl": [row] });
    expect(groups[0]?.trajectories[0]).toMatchObject({
      messages_and_choices: [
        { role: "system", content: "s" },
        { role: "developer", content: "d" },
        {
          role: "user",
          content: [
            { type: "text", text: "look" },
            { type: "image_url", image_url: { url: "data:,", detail: "low" } },
          ],
        },
        { role: "assistant", content: "using", reasoning_content: "old", tool_calls: [called("g1", "f")] },
        { role: "tool", tool_call_id: "g1", content: "given" },
        sampled(
          {
            role: "assistant",
            content: "first",
            reasoning_content: "one\ntwo",
            tool_calls: [called("c1", "f"), called("c2", "f")],
          },
          "tool_calls",
        ),
        { role: "tool", tool_call_id: "c1", content: "r1" },
        { role: "tool", tool_call_id: "c2", content: "r2" },
        sampled({ role: "assistant", content: "second", reasoning_content: "three" }),
        sampled({ role: "assistant", content: "third", refusal: "no", reasoning_content: "four" }),
        user("more"),
        sampled("last", "length"),
      ],
      tools: [{ type: "function", function: { name: "f", description: "d", parameters: {}, strict: true } }],
    });
    expect(notes).toContain("left out an item of type web_search_call");
    expect(left["an item of type web_search_call"]).toEqual(["response.output[].id", "response.output[].type"]);
    expect(left["only function tools are converted"]).toEqual(["responses_create_params.tools[].type"]);
  });

  it("get logprobs from token ids, or from the API's own logprobs without token ids", async () => {
    const tokens = { prompt_token_ids: [1], generation_token_ids: [5, 6], generation_log_probs: [-0.5, -0.25] };
    const own = { token: "a", logprob: -1, bytes: [97], top_logprobs: [] };
    const answer = {
      type: "message",
      role: "assistant",
      content: [{ type: "output_text", text: "a", logprobs: [own] }],
    };
    const output = [{ ...calling("c"), ...tokens }, calling("d"), answer];
    const text = JSON.stringify(rowOf({ response: { output } })).replace("-0.5,", "-0.50,");
    const { lines, groups, left } = await convertFiles({ "r.jsonl": text });
    expect(lines[0]).toContain('"logprob":-0.50,');
    const token = (id: number, logprob: number) => ({
      token: `token_id:${id}`,
      logprob,
      bytes: null,
      top_logprobs: [],
    });
    const calls = (id: string) => ({ role: "assistant", tool_calls: [called(id, "f")] });
    expect(groups[0]?.trajectories[0]?.messages_and_choices).toMatchObject([
      user("q"),
      {
        ...sampled({ ...calls("c"), content: null }, "tool_calls"),
        logprobs: { content: [token(5, -0.5), token(6, -0.25)] },
      },
      { ...sampled({ ...calls("d"), content: "a" }, "tool_calls"), logprobs: { content: [own] } },
    ]);
    expect(left["the messages determine these tokens"]).toEqual(["response.output[].prompt_token_ids[]"]);
  });

  it("are grouped by task within their file or by prompt, with the verifier's numbers and booleans as metrics", async () => {
    const prompt = (content: string, more: object = {}) =>
      rowOf({ responses_create_params: { input: content, temperature: 1, ...more }, response: { output: [] } });
    const first = [
      indexed(0, 0, {
        score: 0.5,
        passed: true,
        note: "n",
        none: null,
        agent_ref: { type: "a", name: "simple" },
        nested: {},
      }),
      indexed(1, 0),
      indexed(0, 1),
      prompt("p"),
      prompt("p", { temperature: 0.5 }),
      prompt("p", { instructions: "s" }),
    ];
    const long =
      '{"responses_create_params":{"input":"\\u0070"},"response":{"output":[]},"reward":1.50,"n":9007199254740993}';
    const { groups, lines, left } = await convertFiles({
      "a.jsonl": first,
      "b.jsonl": `${JSON.stringify(indexed(0, 0))}\n${long}`,
    });
    expect(groups.map(({ trajectories }) => trajectories.length)).toEqual([2, 1, 2, 1, 1, 1]);
    expect(groups[0]?.trajectories[0]).toMatchObject({
      metrics: { score: 0.5, passed: true },
      metadata: { note: "n", none: null, _ng_task_index: 0, _ng_rollout_index: 0, "agent_ref.name": "simple" },
    });
    expect(lines.at(-1)).toContain('"content":"\\u0070"}],"reward":1.50,"metrics":{"n":9007199254740993}');
    expect(left["metadata cannot contain nested values"]).toEqual(["agent_ref.type"]);
  });

  it("become one exception each if they failed, and inputs and profiles become nothing", async () => {
    const failed = (task: number, rollout: number, more: object) => ({
      _ng_task_index: task,
      _ng_rollout_index: rollout,
      _ng_failure_class: "agent_run_error",
      reward: 0,
      ...more,
    });
    const files = {
      "r_failures.jsonl": [
        failed(0, 0, { error: "succeeded later" }),
        failed(0, 1, { error: "first", _ng_failure_message: "plain" }),
        failed(0, 1, { error: "second" }),
        failed(2, 0, { response: { output: [] } }),
      ],
      "r.jsonl": [indexed(0, 0), indexed(0, 0, { reward: 0 })],
      "r_materialized_inputs.jsonl": [{ responses_create_params: { input: "q" }, _ng_task_index: 0 }],
      "r_reward_profiling.jsonl": [{ _ng_task_index: 0, "mean/reward": 1 }],
    };
    const { code, groups, notes, left } = await convertFiles(files);
    expect(code).toBe(0);
    expect(groups.map(({ trajectories, exceptions }) => [trajectories.length, exceptions])).toEqual([
      [2, [{ type: "agent_run_error", message: "plain" }]],
      [0, [{ type: "agent_run_error", message: "no message is recorded" }]],
    ]);
    expect(notes).toContain("left out a failed attempt at a rollout that succeeded, or failed before (2 times)");
    expect(notes).toContain("skipped a row of inputs or of a profile, which is not a rollout (2 times)");
    expect(left["a failed attempt at a rollout that succeeded, or failed before"]).toContain("error");
  });

  it("give the position of each problem in the file once", async () => {
    const output = (item: object) => rowOf({ response: { output: [item] } });
    const tokens = { generation_token_ids: [1], generation_log_probs: [-1, -2] };
    const rows = [
      rowOf(),
      { responses_create_params: { input: "q" }, reward: 1 },
      rowOf({ responses_create_params: {} }),
      rowOf({ reward: "1" }),
      rowOf({ reward: null }),
      output({}),
      output({ type: "function_call", name: "f", arguments: "{}" }),
      output(said("x", tokens)),
      rowOf({ response: { output: "x" } }),
    ].map((row, at) => (at === 2 ? row : { ...row, _ng_task_index: at }));
    const { code, errors } = await convertFiles({ "r.jsonl": rows });
    expect(code).toBe(3);
    expect(errors).toMatchInlineSnapshot(`
      [
        "r.jsonl:1: error: r.jsonl:3 names no group and can belong to this group [ambiguous-group]",
        "r.jsonl:2: error: cannot convert this record of nemo-gym: response is missing [record-invalid]",
        "r.jsonl:3: error: cannot convert this record of nemo-gym: _ng_task_index and the prompt are missing, so the group is unknown [record-invalid]",
        "r.jsonl:5: error: cannot convert this record of nemo-gym: the reward is missing [record-invalid]",
        "r.jsonl:6: error: response.output.0: cannot convert this record of nemo-gym: an item has no type [record-invalid]",
        "r.jsonl:7: error: response.output.0: cannot convert this record of nemo-gym: call_id is missing [record-invalid]",
        "r.jsonl:8: error: response.output.0.generation_log_probs: cannot convert this record of nemo-gym: 2 logprobs do not match 1 sampled tokens [record-invalid]",
        "r.jsonl:9: error: response.output: cannot convert this record of nemo-gym: the value is neither a list of items nor text [record-invalid]",
      ]
    `);
  });
});
