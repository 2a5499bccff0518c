import { rmSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { runHere } from "../../support/here.ts";
import { convertFile, convertFiles, fileOf, folderOf, turn, turnsHere, user } from "./converting.ts";

describe("results of tau2-bench", () => {
  it("are refused by name if they are too long to be read", { tags: "slow" }, async () => {
    const file = fileOf(['{"info":\n'], "results.json");
    // A sparse file needs no space on the disk.
    truncateSync(file, 2 ** 29);
    for (const words of [[], ["--from", "tau2"]]) {
      const { code, stderr } = await convertFile(file, words);
      expect({ code, told: stderr.replaceAll(/\s+/g, " ") }).toEqual({
        code: 3,
        told: expect.stringContaining(
          "results.json:1:1: cannot convert this tau2 record: it is over the limit of 536869888 bytes for a document [record-invalid] hint: write the document as several files",
        ),
      });
    }
  });

  it("miss only a simulation without a file, also if others are compressed", async () => {
    const simulation = { id: "a", task_id: 1, termination_reason: "user_stop", reward_info: { reward: 1 } };
    const results = { info: { agent_info: {} }, tasks: [], simulation_index: [{ id: "a" }, { id: "b" }] };
    const text = JSON.stringify({ ...simulation, messages: [user("q")] });
    const folder = folderOf({
      "results.json": JSON.stringify(results),
      "simulations/c": "",
      "e/simulations/b.json": text,
    });
    writeFileSync(join(folder, "simulations/a.json.gz"), gzipSync(text));
    const missing = "the results.json that tau2-bench writes is missing, so the domain is unknown";
    const { stdout } = await runHere(["check", folder, "--json"]);
    expect(stdout.match(/the simulation has no file/g)).toHaveLength(1);
    expect(stdout).toContain(`${missing}"`);
    rmSync(join(folder, "e"), { recursive: true });
    expect((await runHere(["check", folder, "--json"])).stdout).not.toContain(missing);
  });

  it("reject only the group of a simulation with NaN", async () => {
    const simulation = (id: string, reward: unknown) => ({
      ...{ id, task_id: id, termination_reason: "user_stop", reward_info: { reward } },
      messages: [user("q"), { role: "assistant", content: id }],
    });
    const text = JSON.stringify({ simulations: ["a", "b", "c"].map((id) => simulation(id, id === "b" ? "NaN" : 1)) });
    const files = { "results.json": text.replace('"NaN"', "NaN") };
    const { groups, errors } = await convertFiles(files, { args: ["--on-invalid", "skip"] });
    expect(errors).toEqual([
      expect.stringMatching(/^results\.json:1:\d+: error: NaN is not JSON \[json-not-finite\]$/),
    ]);
    expect(JSON.stringify(groups).match(/"content":"[abc]"/g)).toEqual(['"content":"a"', '"content":"c"']);
  });

  it("have the messages of a task's message_history only as messages", async () => {
    const calls = [{ id: "c", name: "f", arguments: {} }];
    const history = [user("q"), { role: "assistant", content: "h", tool_calls: calls }, { role: "tool", id: "c" }];
    const { message } = turn("a");
    const simulation = { task_id: 1, termination_reason: "user_stop", reward_info: { reward: 1 } };
    const tasks = [{ id: "1", initial_state: { message_history: history } }];
    const task = { id: "1", initial_state: { message_history: [] } };
    const messages = [...history, user("r"), message];
    const turnsOf = async (results: object) =>
      await turnsHere({ "results.json": JSON.stringify({ simulations: [{ ...simulation, messages }], ...results }) });
    expect([await turnsOf({ tasks }), await turnsOf({ tasks: [task] }), await turnsOf({})]).toEqual([
      "u a t u A",
      "u A t u A",
      "u A t u A",
    ]);
    const gym = { _ng_task_index: 0, reward: 1, responses_create_params: { input: "q" }, response: { output: [] } };
    const row = { ...gym, task: tasks[0], result: { termination_reason: "user_stop", messages } };
    expect(await turnsHere({ "a.jsonl": [row] })).toBe("u u a t u A");
  });

  it("name each simulation with NaN, also if all have it", async () => {
    const text = JSON.stringify({
      simulations: ["1", "1", "2"].map((task_id) => ({
        ...{ task_id, termination_reason: "user_stop", reward_info: { reward: "NaN" } },
        messages: [user("q"), turn("a").message],
      })),
    }).replaceAll('"NaN"', "NaN");
    const cwd = folderOf({ "results.json": text });
    const { stderr } = await runHere(["check", join(cwd, "results.json"), "--json"]);
    expect(
      JSON.parse(stderr).error.problems.map(({ column, rule }: { column: number; rule: string }) => [rule, column]),
    ).toEqual(Array.from(text.matchAll(/NaN/g), ({ index }) => ["json-not-finite", index + 1]));
  });
});
