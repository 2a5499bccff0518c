import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { runCommandLine } from "../../../src/run.ts";
import { runHere, runHereOnTerminal } from "../../support/here.ts";
import { testHost } from "../../support/host.ts";
import { filesOf, newFolder } from "../../support/inputs.ts";

const turns =
  '[{"role":"user","content":"2+2?"},{"finish_reason":"stop","index":0,"message":{"role":"assistant","content":"4"}}]';
const histories = `"additional_histories":[{"messages_and_choices":${turns}}]`;
const trajectory = (reward: number, more = "") => `{"messages_and_choices":${turns},"reward":${reward}${more}}`;
const group = `{"trajectories":[${trajectory(1, `,${histories}`)},${trajectory(0)}]}\n`;

describe("rollcall convert", () => {
  it("needs a file if another document or a person gets standard output", async () => {
    const args = ["convert", ...filesOf(group)];
    const { code, stderr } = await runHere([...args, "--json"]);
    const reason = "--json requires --out <file>, because otherwise the groups also go to standard output";
    expect([code, JSON.parse(stderr).error.message]).toEqual([2, reason]);
    const { written } = await runHereOnTerminal(args, { columns: 200, env: { NO_COLOR: "1" } });
    expect(written.trim().split("\r\n")).toEqual([
      "rollcall: convert does not print groups to a terminal",
      "hint: pass --out groups.jsonl, or redirect standard output",
    ]);
    const out = join(newFolder(), "out");
    await runHereOnTerminal([...args, "--out", out], { columns: 200 });
    expect(readFileSync(out, "utf8")).toBe(group);
  });

  it.each([
    [{ stdin: true, stdout: false, stderr: true }, 0],
    [{ stdin: false, stdout: true, stderr: true }, 2],
    [{ stdin: false, stdout: true, stderr: false }, 2],
    [{ stdin: true, stdout: true, stderr: true }, 2],
  ])("prints groups unless standard output is a terminal: %j", async (terminal, expected) => {
    const host = testHost({ terminal });
    const code = await runCommandLine({ ...host, argv: ["convert", ...filesOf(group), "-q"] });
    expect([code, host.printed()]).toEqual([expected, expected === 0 ? group : ""]);
  });

  it("copies a group that is longer than the bytes that it reads ahead", async () => {
    const long = `{"trajectories":[${trajectory(1, `,"logs":["${"x".repeat(1_500_000)}"]`)}]}\n`;
    expect((await runHere(["convert", ...filesOf(group + long)])).stdout).toBe(group + long);
  });

  it("counts what it wrote, without what it rejected", async () => {
    const [out, rejects] = [join(newFolder(), "out"), join(newFolder(), "rejects")];
    const files = filesOf(group + group.replace('"reward":1', '"reward":"x"'));
    const skipping = ["--on-invalid", "skip", "--rejects", rejects];
    const { code, stdout } = await runHere(["convert", ...files, "--out", out, ...skipping]);
    expect([code, stdout]).toEqual([7, expect.stringContaining("groups\t1\ntrajectories\t2\nrejected\t1 group\n")]);
  });
});
