import { mkdirSync, truncateSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { newFolder } from "../support/inputs.ts";
import { convertFile, fileOf, turn, user } from "./rows.ts";

const info = { agent_info: { llm: "m" }, environment_info: { domain_name: "retail" } };
const greeting = { role: "assistant", content: "Hi!", raw_data: null };

const simulation = (id: string, more: object = {}) => ({
  id,
  task_id: "1",
  termination_reason: "user_stop",
  reward_info: { reward: 1 },
  messages: [greeting, user("hi"), { role: "assistant", content: "yo", raw_data: null }],
  ...more,
});

const results = (simulations: readonly object[], more: object = {}) => ({ info, tasks: [], simulations, ...more });

const resultsFile = (text: object | string): string => fileOf([text], "results.json");

const folderOf = (files: Readonly<Record<string, object | string>>): string => {
  const folder = newFolder();
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), typeof content === "string" ? content : JSON.stringify(content));
  }
  return folder;
};

const promptless = "the agent's system prompt is not recorded, so the messages begin without it";

describe("results of tau2-bench", () => {
  it("become one trajectory for each simulation, whose turns are choices except for the greeting", async () => {
    const { code, lines, notes, left } = await convertFile("test/samples/formats/tau2.results.json");
    const groups = lines.map((line) => JSON.parse(line));
    expect(code).toBe(0);
    expect(groups.map(({ trajectories }) => trajectories.length)).toEqual([1, 1, 1]);
    const [{ messages_and_choices: turns, ...own }] = groups[2].trajectories;
    expect(own).toEqual({
      reward: 0,
      metrics: { "reward_breakdown.DB": 0, "reward_breakdown.COMMUNICATE": 1, duration: 60 },
      metadata: {
        id: "9908d1e9-391d-4dfd-baba-659b7931b54d",
        task_id: "57",
        trial: 0,
        start_time: "2025-01-01T00:00:00.000000",
        end_time: "2025-01-01T00:01:00.000000",
        timestamp: "2025-01-01T00:01:00.000000",
        termination_reason: "user_stop",
        domain: "retail",
        model: "gpt-4.1-mini-2025-04-14",
      },
    });
    expect(turns[0]).toEqual({ role: "assistant", content: "Hi! How can I help you today?" });
    expect(turns.map((one: { role?: string; finish_reason?: string }) => one.finish_reason ?? one.role)).toEqual(
      "assistant user stop user tool_calls tool tool_calls tool tool_calls tool stop user".split(" "),
    );
    expect(turns[5]).toEqual({
      role: "tool",
      tool_call_id: turns[4].message.tool_calls[0].id,
      content: expect.any(String),
    });
    expect(notes.slice(0, 3)).toEqual([
      "read the input as results of tau2-bench (--from tau2): group from the domain and task_id; reward from reward_info.reward; choices from the assistant's turns except the opening greeting",
      `${promptless} (3 times)`,
      "added the missing finish_reason: tool_calls for a turn that calls tools, otherwise stop (16 times)",
    ]);
    const ofRun = "it describes the run, not a rollout";
    const tops = left.filter(([path]) => path === "timestamp" || path === "tasks[].id" || path === "info.seed");
    expect(tops.sort()).toEqual([
      ["info.seed", "metadata cannot contain nested values"],
      ["tasks[].id", ofRun],
      ["timestamp", ofRun],
    ]);
    expect(left.filter(([path]) => path.startsWith("simulations[].messages"))).toEqual([
      ["simulations[].messages[].turn_idx", "the interface has no field for it"],
      ["simulations[].messages[].tool_calls", "the value is null"],
      ["simulations[].messages[].requestor", "the interface has no field for it"],
      ["simulations[].messages[].content", "the value is null"],
    ]);
  });

  it("have their duration and costs as metrics, and other numbers as metadata", async () => {
    const numbers = { duration: 2.5, agent_cost: 0.25, user_cost: null, trial: 3, seed: 7 };
    const { lines } = await convertFile(resultsFile(results([simulation("s", numbers)])));
    const [{ metrics, metadata }] = JSON.parse(lines[0] ?? "").trajectories;
    expect(metrics).toEqual({ duration: 2.5, agent_cost: 0.25 });
    expect(metadata).toMatchObject({ trial: 3, seed: 7 });
    expect(Object.keys(metadata)).not.toContain("agent_cost");
  });

  it("are grouped by task within a file", async () => {
    const file = (rewards: readonly number[]) =>
      results(rewards.map((reward, at) => simulation(`s${at}`, { task_id: String(at % 2), reward_info: { reward } })));
    const folder = folderOf({ "a/results.json": file([0.1, 0.2, 0.3]), "b/results.json": file([4]) });
    const { lines } = await convertFile(folder);
    expect(lines.map(rewardsOf)).toEqual([[0.1, 0.3], [0.2], [4]]);
  });

  it("keep the provider's choice whole, and get a composed choice for another kind of reply", async () => {
    const given = { ...turn("raw", "length"), logprobs: null };
    const text = JSON.stringify(
      results([
        simulation("s", {
          seed: 1,
          messages: [
            { role: "assistant", content: "Hi!", raw_data: given },
            { role: "assistant", content: "2", raw_data: { id: "x", choices: [given] } },
            { role: "assistant", content: "3", raw_data: { choices: [{ text: "<3>", finish_reason: "stop" }] } },
            { role: "assistant", content: "4", raw_data: { content: [{ text: "4" }] } },
            { role: "assistant", content: null, tool_calls: [{ id: "c", name: "f", arguments: { n: 1 } }] },
            { role: "tool", id: "c", content: "ok", requestor: "assistant", error: false },
          ],
        }),
      ]),
    )
      .replace('{"n":1}', '{"n":12345678901234567890}')
      .replace('"seed":1', '"seed":12345678901234567890');
    const { lines, notes } = await convertFile(resultsFile(text));
    const call = String.raw`{"id":"c","type":"function","function":{"name":"f","arguments":"{\"n\":12345678901234567890}"}}`;
    expect(lines).toEqual([
      `{"trajectories":[{"messages_and_choices":[${JSON.stringify(given)},${JSON.stringify(given)},` +
        '{"finish_reason":"stop","index":0,"message":{"role":"assistant","content":"3"}},' +
        '{"finish_reason":"stop","index":0,"message":{"role":"assistant","content":"4"}},' +
        `{"finish_reason":"tool_calls","index":0,"message":{"role":"assistant","content":null,"tool_calls":[${call}]}},` +
        '{"role":"tool","tool_call_id":"c","content":"ok"}],"reward":1,' +
        '"metadata":{"id":"s","task_id":"1","termination_reason":"user_stop","seed":12345678901234567890,"domain":"retail","model":"m"}}]}',
    ]);
    expect(notes[2]).toBe(
      "added the missing finish_reason: tool_calls for a turn that calls tools, otherwise stop (2 times)",
    );
  });

  it("leave out and count the tool calls of the simulated user, and keep the text of a turn with calls", async () => {
    const calls = [{ id: "u", name: "look", arguments: {}, requestor: "user" }];
    const messages = [
      { role: "system", content: "be kind" },
      greeting,
      { role: "user", content: null, tool_calls: calls },
      { role: "tool", tool_messages: [{ role: "tool", id: "u", content: "dark", requestor: "user" }] },
      { role: "user", content: "it is dark", tool_calls: null },
      { role: "user", content: "let me look", tool_calls: calls },
    ];
    const { lines, notes, left } = await convertFile(resultsFile(results([simulation("s", { messages })])));
    expect(JSON.parse(lines[0] ?? "").trajectories[0].messages_and_choices).toEqual([
      { role: "system", content: "be kind" },
      { role: "assistant", content: "Hi!" },
      user("it is dark"),
      user("let me look"),
    ]);
    expect(notes).toContain(
      "left out a message of the simulated user's own tools, which the agent did not see (2 times)",
    );
    expect(notes.some((note) => note.startsWith(promptless))).toBe(false);
    expect(left).toContainEqual([
      "simulations[].messages[].tool_messages[].content",
      "a message of the simulated user's own tools, which the agent did not see",
    ]);
  });

  it("become an exception if they have no reward, and are refused with a position if they are voice", async () => {
    const text = [
      `{"info":${JSON.stringify(info)},"tasks":[],"simulations":[`,
      `${JSON.stringify(simulation("a"))},`,
      `${JSON.stringify(simulation("b", { reward_info: null, termination_reason: "max_steps" }))},`,
      `${JSON.stringify(simulation("c", { task_id: "2", ticks: [{ tick_id: 0 }] }))},`,
      `${JSON.stringify(simulation("d", { task_id: "2" }))},`,
      `${JSON.stringify(simulation("e", { task_id: "3", messages: undefined }))},`,
      `${JSON.stringify(simulation("f", { task_id: undefined }))}]}`,
    ].join("\n");
    const { code, lines, stderr } = await convertFile(resultsFile(text), ["--on-invalid", "skip"]);
    expect(lines).toHaveLength(1);
    expect(JSON.parse(lines[0] ?? "")).toMatchObject({
      trajectories: [{ reward: 1 }],
      exceptions: [{ type: "max_steps", message: "the simulation has no reward_info" }],
    });
    const told = stderr.replaceAll(/\s+/g, " ");
    for (const said of [
      "simulations.2.ticks: cannot convert this record of tau2: simulations of voice (with ticks) are",
      "simulations.4: cannot convert this record of tau2: messages is missing",
      "simulations.5: cannot convert this record of tau2: task_id is missing",
    ])
      expect(told).toContain(`results.json:1: error: ${said}`);
    expect(code).toBe(7);
  });

  it("may be a folder with one file for each simulation", async () => {
    const index = ["a", "b"].map((id) => ({ id, task_id: "1" }));
    const files = {
      "run/results.json": { info, tasks: [], simulation_index: index },
      "run/simulations/a.json": simulation("a"),
      "run/simulations/b.json": simulation("b", { reward_info: { reward: 0 } }),
    };
    const folder = folderOf(files);
    const whole = await convertFile(folder);
    expect(whole.lines.map(rewardsOf)).toEqual([[1, 0]]);
    expect(JSON.parse(whole.lines[0] ?? "").trajectories[0].metadata).toMatchObject({ domain: "retail", model: "m" });
    const alone = await convertFile(join(folder, "run/results.json"));
    expect(alone.stderr).toContain("the simulation has no file in simulations/ (pass the folder that contains both)");
    const { "run/simulations/b.json": _, ...cut } = files;
    const missing = await convertFile(
      folderOf({ ...cut, "run/simulations/c.json": simulation("c", { task_id: "2" }) }),
      ["--on-invalid", "skip"],
    );
    expect(missing.lines.map(rewardsOf)).toEqual([[1]]);
    expect(missing.stderr).toContain("run/results.json:1:");
  });

  it("are refused by name if they are too long to be read", async () => {
    const file = resultsFile('{"info":\n');
    // A sparse file needs no space on the disk.
    truncateSync(file, 2 ** 29);
    for (const words of [[], ["--from", "tau2"]]) {
      const { code, stderr } = await convertFile(file, words);
      expect({ code, told: stderr.replaceAll(/\s+/g, " ") }).toEqual({
        code: 3,
        told: expect.stringContaining(
          "results.json:1:1: cannot convert this record of tau2: it is over the limit of 536869888 bytes for a document, so write it as several files [record-invalid]",
        ),
      });
    }
  });
});

const rewardsOf = (line: string): readonly number[] =>
  JSON.parse(line).trajectories.map(({ reward }: { reward: number }) => reward);
