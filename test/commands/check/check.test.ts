import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { filesOf, newFolder } from "../../support/inputs.ts";
import { runRollcall } from "../../support/run.ts";
import { check, document, line } from "./document.ts";

const groups = "test/samples/airline.groups.jsonl";
describe("rollcall check", () => {
  it("prints a page with -o table", async () => {
    const { stdout } = await check([groups, "-o", "table", "--split", "train"]);
    await expect(stdout).toMatchFileSnapshot("golden/check.txt");
  });

  it.each([
    [19, false],
    [20, true],
  ])("prints 20 problems: after %i errors, a warning is omitted: %s", async (errors, isOmitted) => {
    const [file = ""] = filesOf(`${line(1, ',"tools":null')}\n${`${line('"x"')}\n`.repeat(errors)}`);
    const { stderr } = await check([file, "--allow", "single-trajectory-group", "--allow", "no-assistant-turn"]);
    expect([stderr.includes("tools must be absent"), / 1 element-type/.test(stderr)]).toEqual([!isOmitted, isOmitted]);
  });

  it("counts last answers without text, with their rewards beside those of the others", async () => {
    const silent = [{ content: null, reasoning_content: "t" }, { content: "\n" }, { content: [{ thinking: "t" }] }];
    const others = [{ content: null, refusal: "no" }, { content: [{ text: "a" }] }, { tool_calls: [{ id: "c" }] }];
    const toLine = (message: object, reward: number) =>
      JSON.stringify({ messages_and_choices: [{ message: { role: "assistant", ...message } }], reward });
    const lines = [...silent.map((message) => toLine(message, 0.25)), ...others.map((message) => toLine(message, 1))];
    const { document: found } = await document([], { stdin: lines.join("\n") });
    const note = "3 of 6 trajectories end with an empty answer (mean reward 0.25, of the others 1)";
    expect(found).toMatchObject({ notes: expect.arrayContaining([note]) });
  });

  it.each([
    ["in all groups", [], [1, 1, 2, 2], "has equal rewards in each group"],
    ["outside of training", ["--split", "eval"], [1, 1, 2, 3], "1 of 2 groups have equal rewards"],
    ["outside of training, of all groups", ["--split", "eval"], [1, 1], "has equal rewards in each group"],
  ])("notes equal rewards %s, and warns of none", async (_, args, rewards, note) => {
    const turn = '{"role":"assistant","content":"a"}';
    const lines = rewards.map((reward, at) => line(reward, `,"group_id":${at >> 1}`).replace("[]", `[${turn}]`));
    const { document: found } = await document([...args, "--allow", "duplicate-trajectory"], {
      stdin: lines.join("\n"),
    });
    expect(found).toMatchObject({ notes: [expect.stringContaining(note)] });
    expect(JSON.stringify(found.warnings)).not.toContain("zero-variance-group");
  });

  it("names known columns first among keys that were not converted, in two lines", async () => {
    const more = Object.fromEntries(
      Array.from({ length: 40 }, (_, at) => [`setting_${at}`, { text: "long ".repeat(9) }]),
    );
    const messages = ["user", "assistant"].map((role) => ({ role, content: role }));
    const row = JSON.stringify({ messages, reward: 1, ...more, extra: { images: ["a"] } });
    const { stderr } = await check([], { stdin: row });
    const [note = ""] =
      /values were not converted: extra\.images\[\], setting_0\.text, .* and \d+ more$/m.exec(stderr) ?? [];
    expect([note === "", note.length < 160]).toEqual([false, true]);
  });

  it("redacts a secret that is cut off in a long start_time", async () => {
    const secret = "4071398265".repeat(8);
    const [file = ""] = filesOf(line(1, `,"start_time":"2025-11-01T09:30:00.${secret}"`));
    const { stdout, stderr } = await runRollcall(["check", file], { env: { ROLLCALL_API_KEY: secret } });
    expect(stdout + stderr).toContain("times without a UTC offset");
    expect(stdout + stderr).not.toContain(secret.slice(0, 12));
  });

  it("needs no home and no writable folder, even for standard input", async () => {
    const env = { HOME: undefined, XDG_CONFIG_HOME: undefined, XDG_DATA_HOME: undefined, TMPDIR: "/nowhere" };
    const { code, document: found } = await document([], { env, stdin: line(2) });
    expect({ code, found }).toMatchObject({ code: 0, found: { metrics: { reward: 2 } } });
  });

  it("prints each problem on one line for any file name", async () => {
    const cwd = newFolder();
    writeFileSync(join(cwd, "a\n::error::b"), "{}\u0000");
    const named = await check(["a\n::error::b"], { cwd, env: { GITHUB_ACTIONS: "true" } });
    expect(named.stderr).not.toMatch(/^[^\S\n]*(::|: :)/m);
    expect(named.stderr).toContain("rollcall: a ::error::b:1:3: ");
    expect((await check(["-"])).stderr).toContain("rollcall: standard input: the input is empty");
  });

  it("suggests the name of a warning", async () => {
    const { code, stderr } = await check(["-", "--allow", "unknown-rol"]);
    expect([code, stderr]).toEqual([2, expect.stringContaining("did you mean unknown-role?")]);
  });

  it("names an invisible character by its code point", async () => {
    const { stderr } = await check([], { stdin: "{\u0000}\n{\u00a0}\n" });
    expect(stderr).toContain("rollcall: the input has 2 errors (2 json-syntax)\n");
    for (const position of ["1:2: error: unexpected U+0000", "2:2: error: unexpected U+00A0"])
      expect(stderr).toContain(`standard input:${position}`);
  });

  it("counts warnings beyond the printed ones in a pipe", async () => {
    const lines = Array.from(
      { length: 1500 },
      (_, at) => `{"trajectories":[${line(0, ',"tools":null')},${line(at + 1)}]}`,
    );
    const { code, stderr } = await check([], { stdin: lines.join("\n") });
    expect(code).toBe(0);
    expect(stderr.match(/tools must be absent/g)).toHaveLength(1);
    expect(stderr).toContain("  and 1499 more: standard input:2, 3,");
  });
});
