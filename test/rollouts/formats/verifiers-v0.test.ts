import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { runRollcall } from "../../support/run.ts";
import { convertFiles, convertHere, folderOf } from "./converting.ts";
import { example, user } from "./records.ts";

const row = example();

describe("results of verifiers v0", () => {
  it("of older versions are one group if only the spelling of their prompt and info differs", async () => {
    const { example_id: _, ...older } = { ...row, id: 0, answer: "4", info: { a: 1, b: [2] } };
    const sent = { ...user("q"), tool_calls: null, timestamp: 1 };
    const rows = [older, { ...older, id: 1, prompt: [sent], info: '{"b":[2],"a":1.0}' }, { ...older, info: { a: 2 } }];
    const groups = await convertHere({ "results.jsonl": rows });
    expect(groups).toMatchObject([{ trajectories: [{}, {}] }, { trajectories: [{}] }]);
  });

  it("have no groups next to a row that is cut off, until the row is complete", async () => {
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
      '"message":"the record at results.jsonl:5:13 is unreadable and may belong to this group"',
    );
    writeFileSync(join(folder, "results.jsonl"), rows.join("\n"));
    expect(await log()).toMatchObject({ read: 3, logged: 1, already_logged: 2 });
    // If groups are mixed, or could be mixed, the row can belong to any group.
    const lone = [0, 1, 2].map((example_id) => JSON.stringify({ ...row, example_id }));
    const { code } = await convertFiles({ "results.jsonl": [...lone, '{"example'].join("\n") }, { args: skipping });
    expect(code).toBe(3);
    const convert = async (last: string) => {
      const files = { "results.jsonl": [...lone, last].join("\n") };
      const { groups, errors } = await convertFiles(files, { args: skipping });
      return [groups.length, errors.length];
    };
    // A row that is cut off after its example_id belongs to the group of that id.
    expect(await convert('{"example_id":2,"pro')).toEqual([2, 1]);
    // A line of another program belongs to no group.
    expect(await convert('{"event":"log"}')).toEqual([3, 1]);
    const mixed = [0, 1, 0, 1].map((example_id, at) => JSON.stringify({ ...row, example_id, reward: at }));
    const { errors } = await convertFiles({ "results.jsonl": [...mixed, '{"example'].join("\n") });
    expect(errors.map((error) => error.replace(/: error: .*\[/, " ["))).toEqual([
      "results.jsonl:1 [ambiguous-group]",
      "results.jsonl:5:10 [json-truncated]",
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
    expect(message).toMatch(/^1 group rejected \(see .*\), 3 groups logged$/);
    expect(hint).toContain("results.jsonl.rejected.reasons lists the problems), then rerun the same command");
    const mended = [row, { ...broken, completion: row.completion }, bare, { ...row, example_id: 3 }];
    writeFileSync(join(folder, "results.jsonl"), mended.map((one) => JSON.stringify(one)).join("\n"));
    const words = next.split(" ").slice(1);
    const { groups } = JSON.parse((await runRollcall(words, { env, cwd: folder })).stdout);
    expect(groups).toMatchObject({ read: 4, logged: 1, already_logged: 3 });
  });

  it("have the model and the environment of metadata.json, unless the row has its own", async () => {
    const folder = folderOf({
      "results.jsonl": [{ ...row, model: "own" }],
      "metadata.json": '{"env_id":"e","model":"m"}',
    });
    const { stdout } = await runRollcall(["convert", folder, "-q"]);
    expect(JSON.parse(stdout).trajectories[0].metadata).toMatchObject({ env_id: "e", model: "own" });
  });
});
