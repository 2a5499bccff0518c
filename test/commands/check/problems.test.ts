import { describe, expect, it } from "vitest";
import { runHereOnTerminal } from "../../support/here.ts";
import { filesOf } from "../../support/inputs.ts";
import { runRollcall } from "../../support/run.ts";
import { screenOf } from "../../support/terminal.ts";

const trajectory = (reward: unknown, more = "", role = "assistant") =>
  `{"messages_and_choices":[{"role":"user","content":"2+2?"},{"role":"${role}","content":"4"}],"reward":${reward}${more}}`;
const group = (...trajectories: readonly string[]) => `{"trajectories":[${trajectories.join(",")}]}`;

const check = async (...args: readonly string[]) => await runRollcall(["check", ...args]);

const onTerminal = async (args: readonly string[], columns: number, env: Readonly<Record<string, string>> = {}) => {
  const typed = { NO_COLOR: "1", TERM: "xterm-256color", ...env };
  const { code, written } = await runHereOnTerminal(["check", ...args], { env: typed, columns });
  return { code, lines: screenOf(written) };
};

describe("rollcall check of many errors", () => {
  it("counts all errors of a rule, although it keeps the positions of only the first 1,000", async () => {
    const lines = Array.from({ length: 1500 }, () => trajectory('"high"'));
    const { code, stderr } = await check(...filesOf(lines.join("\n")));
    expect([code, stderr]).toEqual([3, expect.stringContaining("and 1499 more: ")]);
  });
});

describe("rollcall check on a terminal", () => {
  it("shows equal errors in one frame, with the next locations and the advice", async () => {
    const lines = Array.from({ length: 60 }, (_, at) => trajectory(at < 50 ? '"1"' : "null"));
    const { code, lines: seen } = await onTerminal(filesOf(lines.join("\n")), 100);
    expect(code).toBe(3);
    expect(seen.filter((line) => /^ +│ +\^+$/.test(line))).toHaveLength(2);
    const text = seen.join(" ").replace(/\s+/g, " ");
    expect(text).toMatch(/= and 49 more: \S+:2, 3, 4, 5, 6, 7, …; write 1 without quotes/);
    expect(text).toMatch(/and 9 more: \S+:52,/);
  });

  it("shows twenty frames, the number of all problems, and how many it does not show", async () => {
    const tools = (at: number) => `[${'{"function":{}},'.repeat(at)}1]`;
    const lines = Array.from({ length: 60 }, (_, at) => trajectory(1, `,"tools":${tools(at)}`));
    const { code, lines: seen } = await onTerminal(filesOf(lines.join("\n")), 80);
    expect(code).toBe(3);
    expect(seen.filter((line) => /^ +│ +\^+$/.test(line))).toHaveLength(20);
    expect(seen.join(" ")).toContain("the input has 60 errors (60 wrong-type)");
    expect(seen.at(-1)).toBe("  and 40 more problems");
  });

  it("shows a problem of nearly every group once", async () => {
    const equal = (at: number) => group(trajectory(1, `,"logs":["${at}"]`), trajectory(1, `,"logs":["b${at}"]`));
    const others = Array.from({ length: 200 }, (_, at) => equal(at));
    const files = filesOf([group(trajectory(0), trajectory(1)), ...others].join("\n"));
    const { code, lines } = await onTerminal(files, 100);
    expect(code).toBe(0);
    const seen = lines.join("\n");
    expect([seen.match(/zero-variance-group/g), seen.match(/ equal/g)]).toMatchObject([{ length: 1 }, { length: 1 }]);
    expect(seen).toMatch(/and 199 more: \S+:3, 4, 5, 6, 7, 8, …/);
  });
});
