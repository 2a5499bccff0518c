import { describe, expect, it } from "vitest";
import { runHere, runHereOnTerminal } from "../../support/here.ts";
import { filesOf } from "../../support/inputs.ts";

const turns =
  '[{"role":"user","content":"2+2?"},{"finish_reason":"stop","index":0,"message":{"role":"assistant","content":"4"}}]';
const histories = `"additional_histories":[{"messages_and_choices":${turns}}]`;
const trajectory = (reward: number, more = "") => `{"messages_and_choices":${turns},"reward":${reward}${more}}`;
const group = `{"trajectories":[${trajectory(1, `,${histories}`)},${trajectory(0)}]}\n`;

describe("rollcall convert", () => {
  it.each([
    ["groups", "groups"],
    ["messages", "rows"],
    ["preferences", "rows"],
  ])("needs a file for %s if another document or a person gets standard output", async (to, what) => {
    const args = ["convert", ...filesOf(group), "--to", to];
    const { code, stderr } = await runHere([...args, "--json"]);
    const reason = `--json requires --out <file>, because otherwise the ${what} also go to standard output`;
    expect([code, JSON.parse(stderr).error.message]).toEqual([2, reason]);
    const { written } = await runHereOnTerminal(args, { columns: 200, env: { NO_COLOR: "1" } });
    expect(written.trim().split("\r\n")).toEqual([
      `rollcall: convert does not print ${what} to a terminal`,
      `hint: pass --out ${what}.jsonl, or redirect standard output`,
    ]);
  });

  it("notes that rows lack the additional histories", async () => {
    const { stdout, stderr } = await runHere(["convert", ...filesOf(group), "--to", "messages"]);
    expect(stdout.trim().split("\n")).toHaveLength(2);
    expect(stderr).toContain("note: rows do not contain the additional histories of 1 trajectory\n");
  });
});
