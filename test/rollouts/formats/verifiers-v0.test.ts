import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { runRollcall } from "../../support/run.ts";
import { folderOf, itTells } from "./converting.ts";
import { example } from "./records.ts";

const row = example();

describe("results of verifiers v0", () => {
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
  });

  const lone = [0, 1, 2].map((example_id) => example({ example_id, reward: example_id }));
  const mixed = [0, 1, 0, 1].map((example_id, reward) => example({ example_id, reward }));
  itTells("can be in a group of %s", [
    ["any example if a row is cut off before its id", [...lone, '{"example'], "no:(u", "--on-invalid skip"],
    [
      "its own example if a row is cut off after its id",
      [...lone, '{"example_id":2,"pro'],
      "=0 & =1 & no:=2",
      "--on-invalid skip",
    ],
    ["no example if a line is of another program", [...lone, '{"event":"log"}'], "=0 & =1 & =2", "--on-invalid skip"],
    [
      "each example if examples are mixed",
      [...mixed, '{"example'],
      "a.jsonl:1: error: & [ambiguous-group] & a.jsonl:5:10: error: & [json-truncated]",
    ],
  ]);

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
