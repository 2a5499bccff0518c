import { readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { type RunOptions, runRollcall } from "../run.ts";
import { filesOf, newFolder } from "../trajectories/inputs.ts";

const groups = "test/samples/airline.groups.jsonl";
const line = (reward: unknown, more = "") => `{"messages_and_choices":[],"reward":${reward}${more}}`;

const check = async (args: readonly string[], options: RunOptions = {}) => {
  const { code, stdout, stderr } = await runRollcall(["check", ...args], options);
  return { code, stdout, stderr };
};

const document = async (args: readonly string[], options: RunOptions = {}) => {
  const { code, stdout } = await check([...args, "--json"], options);
  return { code, document: JSON.parse(stdout) as Record<string, unknown> };
};

describe("rollcall check", () => {
  it("prints the metrics without a prefix, or with that of a split", async () => {
    const { code, stdout } = await check([groups]);
    expect(code).toBe(0);
    expect(stdout).toContain("\nreward\t0.25\n");
    expect(stdout).not.toContain("trainable");
    const split = await check([groups, "--split", "train"]);
    expect(split.stdout).toContain("\ntrain/reward_std_dev\t0.22320508075688772\n");
    expect(split.stdout).toContain("\ndata/step_num_groups_trainable\t10\n");
  });

  it("is a page on a terminal", async () => {
    const { stdout } = await check([groups, "-o", "table", "--split", "train"]);
    await expect(stdout).toMatchFileSnapshot("golden/check.txt");
  });

  it("prints what it found as a document, valid or not", async () => {
    expect(await document([groups])).toMatchObject({
      code: 0,
      document: {
        status: "valid",
        split: null,
        groups: { read: 20, rejected: 0 },
        trajectories: { read: 80, rejected: 0 },
        metrics: { reward: 0.25 },
      },
    });
    const [file = ""] = filesOf(`${line(1, ',"group_id":1')}\n${line('"x"', ',"group_id":1')}\n${line(3)}`);
    expect(await document([file])).toMatchObject({
      code: 3,
      document: {
        status: "invalid",
        groups: { read: 2, rejected: 1 },
        trajectories: { read: 3, rejected: 2 },
        metrics: { reward: 3, "data/step_num_trajectories": 1 },
        problems: expect.arrayContaining([
          expect.objectContaining({
            file,
            line: 2,
            column: 37,
            path: ["reward"],
            rule: "wrong-type",
            severity: "error",
          }),
        ]),
      },
    });
  });

  it("says of every problem what to do, in the document too", async () => {
    const files = filesOf(line(1, ',"tools":null'));
    expect((await document(files)).document.problems).toMatchObject([
      { rule: "group-of-one", advice: expect.stringContaining("--group-by") },
      { rule: "no-assistant", advice: expect.stringContaining("assistant") },
      { rule: "null-field", advice: expect.stringContaining("leave the key out") },
    ]);
  });

  it("prints an error and no document where there was nothing to check", async () => {
    const { code, stdout, stderr } = await check(["nowhere.jsonl", "--json"]);
    expect({ code, stdout }).toEqual({ code: 3, stdout: "" });
    expect(JSON.parse(stderr)).toMatchObject({
      error: { problems: [{ file: "nowhere.jsonl", rule: "file-missing" }] },
    });
  });

  it("needs no writable folder and no home, also for standard input", async () => {
    const env = { HOME: undefined, XDG_CONFIG_HOME: undefined, XDG_DATA_HOME: undefined, TMPDIR: "/nowhere" };
    const { code, document: found } = await document([], { env, stdin: line(2) });
    expect({ code, found }).toMatchObject({ code: 0, found: { metrics: { reward: 2 } } });
  });

  it("reads every shape of the samples to the same metrics", async () => {
    const metrics = (await document([groups])).document.metrics;
    expect((await document(["test/samples/airline.trajectories.jsonl"])).document.metrics).toEqual(metrics);
    const wordle = await document(["test/samples/wordle.trajectories.jsonl", "--group-by", "prompt_id"]);
    expect(wordle.document.metrics).toMatchObject({ reward: 1.2320991181688887, reward_std_dev: 0.2348228268039439 });
  });

  it("says the first warnings of a rule, and how many more there are", async () => {
    const [file = ""] = filesOf(`${line(1, ',"tools":null')}\n`.repeat(10));
    const { code, stderr } = await check([file]);
    expect(code).toBe(0);
    expect(stderr.match(/tools is null/g)).toHaveLength(3);
    expect(stderr).toContain("7 more");
  });

  it("strips what a terminal would obey from text of the input", async () => {
    const [file = ""] = filesOf(
      `{"messages_and_choices":[{"role":"\\u001b[31mred\\u202e\\u0000"}],"reward":1,"metrics":{"\\u001b]0;x\\u0007":1}}`,
    );
    const { code, stdout, stderr } = await check([file]);
    expect(code).toBe(0);
    expect(stdout + stderr).not.toMatch(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202e]/);
  });

  it("keeps a problem on its line, whatever a file is called, and calls standard input by its name", async () => {
    const cwd = newFolder();
    writeFileSync(join(cwd, "a\n::error::b"), "{}\u0000");
    const named = await check(["a\n::error::b"], { cwd, env: { GITHUB_ACTIONS: "true" } });
    expect(named.stderr).not.toMatch(/^[^\S\n]*(::|: :)/m);
    expect(named.stderr).toContain("rollcall: a ::error::b:1:3: ");
    expect((await check(["-"])).stderr).toContain("rollcall: standard input: there is nothing in it");
  });

  it("names a character that can't be seen by its number, and does not speak of sending", async () => {
    const { stderr } = await check([], { stdin: "{\u0000}\n{\u0000}\n" });
    expect(stderr).toContain("rollcall: the input has 2 errors (2 json-syntax)\n");
    expect(stderr).toContain("standard input:1:2: error: U+0000 can't stand here");
  });

  it("counts in a pipe what it did not keep, too", async () => {
    const lines = Array.from(
      { length: 1500 },
      (_, at) => `{"trajectories":[${line(0, ',"tools":null')},${line(at + 1)}]}`,
    );
    const { code, stderr } = await check([], { stdin: lines.join("\n") });
    expect(code).toBe(0);
    expect(stderr.match(/tools is null/g)).toHaveLength(3);
    expect(stderr).toContain("note: 1497 more of null-field");
  });

  it("leaves nothing in the folder it runs in", async () => {
    const cwd = newFolder();
    await check([], { cwd, stdin: line(1) });
    expect(readdirSync(cwd)).toEqual([]);
  });
});
