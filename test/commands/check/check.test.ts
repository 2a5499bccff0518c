import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { filesOf, newFolder } from "../../support/inputs.ts";
import { newHome, runRollcall } from "../../support/run.ts";
import { check, document, line } from "./document.ts";

const groups = "test/samples/airline.groups.jsonl";
describe("rollcall check", () => {
  it("prints a page with -o table", async () => {
    const { stdout } = await check([groups, "-o", "table", "--split", "train"]);
    await expect(stdout).toMatchFileSnapshot("golden/check.txt");
  });

  it("prints a JSON document for valid and for invalid input", async () => {
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

  it("checks the other files if one cannot be read, and reports only files that it read as valid", async () => {
    const [bad = ""] = filesOf(line('"x"'));
    const [report = ""] = [join(newFolder(), "report.xml")];
    const args = [bad, "nowhere.jsonl", groups, "--report", `junit=${report}`];
    const { code, document: found } = await document(args);
    expect({ code, found }).toMatchObject({ code: 3, found: { status: "invalid", groups: { read: 21, rejected: 1 } } });
    expect(found.problems).toMatchObject(
      expect.arrayContaining([
        expect.objectContaining({ file: bad, rule: "wrong-type" }),
        expect.objectContaining({ file: "nowhere.jsonl", rule: "file-not-found" }),
      ]),
    );
    expect(readFileSync(report, "utf8").match(/classname="[^"]*" name="is valid"/g)).toEqual([
      `classname="${groups}" name="is valid"`,
      // The mixture of shapes is a warning of none of them.
      'classname="all inputs" name="is valid"',
    ]);
  });

  it("writes every report, but never over an input or a file of another program", async () => {
    const folder = newFolder();
    const [junit, github, own] = ["r.xml", "r.txt", "own.xml"].map((name) => join(folder, name));
    const [bad = ""] = filesOf(line('"x"'));
    const asked = ["--report", `junit=${junit}`, "--report", `github=${github}`];
    for (const round of [1, 2])
      expect({ round, code: (await check([bad, ...asked])).code }).toEqual({ round, code: 3 });
    expect(readFileSync(junit ?? "", "utf8")).toContain("<failure");
    expect(readFileSync(github ?? "", "utf8")).toContain("::error ");
    writeFileSync(own ?? "", "<mine/>");
    for (const [file, why] of [
      [own, "is not an unchanged report of rollcall"],
      [bad, "both are the same file"],
    ] as const) {
      const before = readFileSync(file ?? "", "utf8");
      const { code, stderr } = await check([bad, "--report", `junit=${file}`]);
      expect({ code, stderr }).toMatchObject({ code: 2, stderr: expect.stringContaining(why) });
      expect(readFileSync(file ?? "", "utf8")).toBe(before);
    }
    expect(readdirSync(folder).toSorted()).toEqual(["own.xml", "r.txt", "r.xml"]);
    expect((await check([bad, "--report", "junit", "--report", "github"])).code).toBe(2);
  });

  it("prints no metrics if nothing is valid", async () => {
    expect((await document(filesOf(line('"x"')))).document.metrics).toEqual({});
  });

  const one = line(1);
  it.each([
    ["groups", `{"trajectories":[${one}]}`],
    ["whole requests", `{"split":"a","trajectory_groups":[{"trajectories":[${one}]}]}`],
    ["an array of groups", `[{"trajectories":[${one}]},{"trajectories":[${one}]}]`],
  ])("notes that --group-by has no effect on %s", async (_, text) => {
    const files = filesOf(text);
    const note = "note: --group-by example_id has no effect: the input is already grouped\n";
    expect((await check([...files, "--group-by", "example_id"])).stderr).toContain(note);
    const log = ["log", "m", ...files, "--group-by", "example_id", "--split", "a", "--dry-run"];
    expect((await runRollcall(log)).stderr).toContain(note);
    expect((await check(files)).stderr).not.toContain("--group-by example_id");
    const [flat = ""] = filesOf(line(1, ',"example_id":1'));
    expect((await check([...files, flat, "--group-by", "example_id"])).stderr).not.toContain("no effect");
  });

  it("redacts WANDB_API_KEY, which looks like a commit id", async () => {
    const id = "f3a90c71d2b84e6655aa0c1d9e8f7b6a5c4d3e2f";
    const [file = ""] = filesOf(`{"messages_and_choices":[{"role":"${id}"}],"reward":1}`);
    const said = async (env: Record<string, string>) => (await runRollcall(["check", file], { env })).stderr;
    expect(await said({})).toContain(`unknown role ${id}`);
    expect(await said({ WANDB_API_KEY: id })).toContain("unknown role ***");
  });

  it("redacts a secret that is cut off in a long start_time", async () => {
    const secret = "4071398265".repeat(8);
    const [file = ""] = filesOf(line(1, `,"start_time":"2025-11-01T09:30:00.${secret}"`));
    const { stdout, stderr } = await runRollcall(["check", file], { env: { ROLLCALL_API_KEY: secret } });
    expect(stdout + stderr).toContain("has no UTC offset");
    expect(stdout + stderr).not.toContain(secret.slice(0, 12));
  });

  it("names standard input in locations and in messages", async () => {
    const { stderr } = await check(["-"], { stdin: `${line(1)}\n${line(1)}\n` });
    expect(stderr).toContain(
      "standard input:2:1: warning: the trajectory has the same bytes as the one at standard input:1 [",
    );
    const [file = ""] = filesOf(`{"trajectories":[${line(1)},${line(0)}]}`);
    const against = await check([file, "--against", "-"], { stdin: readFileSync(file) });
    expect(against.stderr).toContain("the one at standard input:1, which belongs to another split");
  });

  it("prints an error and no document if there is nothing to check", async () => {
    const { code, stdout, stderr } = await check(["nowhere.jsonl", "--json"]);
    expect({ code, stdout }).toEqual({ code: 3, stdout: "" });
    expect(JSON.parse(stderr)).toMatchObject({
      error: { problems: [{ file: "nowhere.jsonl", rule: "file-not-found" }] },
    });
  });

  it("needs no home and no writable folder, even for standard input", async () => {
    const env = { HOME: undefined, XDG_CONFIG_HOME: undefined, XDG_DATA_HOME: undefined, TMPDIR: "/nowhere" };
    const { code, document: found } = await document([], { env, stdin: line(2) });
    expect({ code, found }).toMatchObject({ code: 0, found: { metrics: { reward: 2 } } });
  });

  it("computes the same metrics for groups and for trajectories", async () => {
    const metrics = (await document([groups])).document.metrics;
    expect((await document(["test/samples/airline.trajectories.jsonl"])).document.metrics).toEqual(metrics);
    const wordle = await document(["test/samples/wordle.trajectories.jsonl", "--group-by", "prompt_id"]);
    expect(wordle.document.metrics).toMatchObject({
      reward: 1.2320991181688887,
      reward_std_dev: expect.closeTo(0.2348228268039439, 14),
    });
  });

  it("counts unreadable lines separately from rejected groups", async () => {
    const group = `{"trajectories":[${line(0)},${line(1)}]}`;
    const files = filesOf([group, "{", '{"trajectories":[{"messages_and_choices":[]}]}', group].join("\n"));
    expect((await document(files)).document).toMatchObject({ groups: { read: 4, rejected: 2 }, unreadable_lines: 1 });
    expect((await check(files)).stdout).toContain("groups\t4, 2 of them invalid (1 unreadable line)\n");
    expect((await document(filesOf(group))).document).not.toHaveProperty("unreadable_lines");
    const chosen = await document([...files, "--where", "reward >= 0"]);
    expect(chosen.document).toMatchObject({ groups: { read: 4, rejected: 2 }, unreadable_lines: 1 });
    const lines = await check(filesOf(`${group}\n{\n${group}\n{`));
    expect([lines.code, lines.stdout]).toEqual([3, expect.stringContaining("(2 unreadable lines)")]);
  });

  it("has log count unreadable lines separately from rejected groups", async () => {
    const group = `{"trajectories":[${line(0)},${line(1)}]}`;
    const files = filesOf([group, "{", '{"trajectories":[{"messages_and_choices":[]}]}', group].join("\n"));
    const log = ["log", "m", ...files, "--split", "t", "--local", "--on-invalid", "skip", "--resend-logged"];
    const env = newHome();
    const { stdout, stderr } = await runRollcall(log, { env });
    expect(stdout).toContain("groups\t4: 2 logged, 2 rejected (1 unreadable line)\n");
    expect(stderr).toContain("rollcall: 1 group and 1 unreadable record rejected (see ");
    expect(JSON.parse((await runRollcall([...log, "--json"], { env })).stdout)).toMatchObject({ unreadable_lines: 1 });
  });

  it("prints no control characters of the input", async () => {
    const [file = ""] = filesOf(
      `{"messages_and_choices":[{"role":"\\u001b[31mred\\u202e\\u0000"}],"reward":1,"metrics":{"\\u001b]0;x\\u0007":1}}`,
    );
    const { code, stdout, stderr } = await check([file]);
    expect(code).toBe(0);
    expect(stdout + stderr).not.toMatch(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202e]/);
  });

  it("prints each problem on one line for any file name", async () => {
    const cwd = newFolder();
    writeFileSync(join(cwd, "a\n::error::b"), "{}\u0000");
    const named = await check(["a\n::error::b"], { cwd, env: { GITHUB_ACTIONS: "true" } });
    expect(named.stderr).not.toMatch(/^[^\S\n]*(::|: :)/m);
    expect(named.stderr).toContain("rollcall: a ::error::b:1:3: ");
    expect((await check(["-"])).stderr).toContain("rollcall: standard input: the input is empty");
  });

  it("names an invisible character by its code point", async () => {
    const { stderr } = await check([], { stdin: "{\u0000}\n{\u0000}\n" });
    expect(stderr).toContain("rollcall: the input has 2 errors (2 json-syntax)\n");
    expect(stderr).toContain("standard input:1:2: error: unexpected U+0000");
  });

  it("counts warnings beyond the printed ones in a pipe", async () => {
    const lines = Array.from(
      { length: 1500 },
      (_, at) => `{"trajectories":[${line(0, ',"tools":null')},${line(at + 1)}]}`,
    );
    const { code, stderr } = await check([], { stdin: lines.join("\n") });
    expect(code).toBe(0);
    expect(stderr.match(/tools is null/g)).toHaveLength(1);
    expect(stderr).toContain("  and 1499 more: :2, :3,");
  });
});
