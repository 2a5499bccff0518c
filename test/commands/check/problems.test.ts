import { describe, expect, it } from "vitest";
import { runHereOnTerminal } from "../../support/here.ts";
import { filesOf } from "../../support/inputs.ts";
import { runRollcall } from "../../support/run.ts";
import { screenOf } from "../../support/terminal.ts";

const trajectory = (reward: unknown, more = "", role = "assistant") =>
  `{"messages_and_choices":[{"role":"user","content":"2+2?"},{"role":"${role}","content":"4"}],"reward":${reward}${more}}`;
const group = (...trajectories: readonly string[]) => `{"trajectories":[${trajectories.join(",")}]}`;
const good = group(trajectory(0), trajectory(1));

const check = async (...args: readonly string[]) => await runRollcall(["check", ...args]);

const onTerminal = async (args: readonly string[], columns: number, env: Readonly<Record<string, string>> = {}) => {
  const typed = { NO_COLOR: "1", TERM: "xterm-256color", ...env };
  const { code, written } = await runHereOnTerminal(["check", ...args], { env: typed, columns });
  return { code, lines: screenOf(written) };
};

/** Returns the name and the count of each bar of `stats`. */
const readBars = async (files: readonly string[]) => {
  const { stdout } = await runRollcall(["stats", ...files, "-o", "table"]);
  const [, section = ""] = /Trajectories by reward\n((?: .*\n)+)/.exec(stdout) ?? [];
  return section
    .trim()
    .split("\n")
    .map((line) => line.trim().split(/ {2,}/));
};

describe("rollcall check of many errors", () => {
  it("counts all errors of a rule, although it keeps the positions of only the first 1,000", async () => {
    const lines = Array.from({ length: 1500 }, () => trajectory('"high"'));
    const { code, stderr } = await check(...filesOf(lines.join("\n")));
    expect([code, stderr]).toEqual([3, expect.stringContaining("and 1499 more: ")]);
  });
});

describe("rollcall check of secrets", () => {
  it("finds tokens of Hugging Face without a digit, but no names with the same prefix", async () => {
    const token = ["hf", "QmKvTzBnWsRxLp", "GdJcHfYqUeNaZoXiMwPk"].join("_").replace("_Gd", "Gd");
    const [secret = "", name = ""] = filesOf(
      ...[token, "hf_AutoModelForSequenceClassificationOutput"].map((text) => good.replace('"4"', `"${text}"`)),
    );
    expect((await check(secret)).stderr).toContain("a token of Hugging Face [secret-in-content]");
    expect((await check(secret)).stderr).not.toContain(token);
    expect((await check(name)).stderr).not.toContain("secret-in-content");
  });
});

describe("rollcall check --report", () => {
  it("exits with 2 for another value, or with --json", async () => {
    const files = filesOf(`${good}\n`);
    expect(await check(...files, "--report", "junt")).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('invalid --report "junt": expected github\n'),
    });
    expect(await check(...files, "--report", "github", "--json")).toMatchObject({ code: 2 });
  });
});

describe("rollcall check on a terminal", () => {
  it("shows equal errors in one frame, with the next locations and the advice", async () => {
    const lines = Array.from({ length: 60 }, (_, at) => trajectory(at < 50 ? '"1"' : "null"));
    const { code, lines: seen } = await onTerminal(filesOf(lines.join("\n")), 100);
    expect(code).toBe(3);
    expect(seen.filter((line) => /^ +│ +\^+$/.test(line))).toHaveLength(2);
    const at = seen.findIndex((line) => /and 49 more: \S+:2, 3, 4, 5, 6, 7, …/.test(line));
    expect(seen[at + 1]).toContain("= write 1 without quotes");
    expect(seen.join("\n")).toMatch(/and 9 more: \S+:52,/);
  });

  it("shows the columns of several problems on one line", async () => {
    const roles = Array.from({ length: 9 }, () => '{"role":"human","content":""}').join(",");
    const { lines } = await onTerminal(filesOf(`{"messages_and_choices":[${roles}],"reward":1}`), 100);
    expect(lines.join("\n")).toMatch(/and 8 more: \S+:1:\d+, 1:\d+/);
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
    const files = filesOf(Array.from({ length: 200 }, (_, at) => equal(at)).join("\n"));
    const { code, lines } = await onTerminal(files, 100);
    expect(code).toBe(0);
    const seen = lines.join("\n");
    expect([seen.match(/zero-variance-group/g), seen.match(/ equal/g)]).toMatchObject([{ length: 1 }, { length: 1 }]);
    expect(seen).toMatch(/and 199 more: \S+:2, 3, 4, 5, 6, 7, …/);
  });
});

describe("the bars of rollcall stats", () => {
  it.each([
    [8, 1, 1, ["1", "2", "3", "4", "5", "6", "7", "8"]],
    [9, 1, 1, ["0 – 2", "2 – 4", "4 – 6", "6 – 8", "8 – 10"]],
    [2, 0.12345, 0.00001, ["0.12345", "0.12346"]],
    [11, 0, 0.1, ["0 – 0.2", "0.2 – 0.4", "0.4 – 0.6", "0.6 – 0.8", "0.8 – 1"]],
    [9, 1e6, 0.25, ["1000000 – 1000000.5", "1000000.5 – 1000001", "1000001 – 1000001.5", "1000001.5 – 1000002"]],
  ])("draws a bar for each of %i different rewards, or for ranges of many", async (different, least, step, names) => {
    const files = filesOf(group(...Array.from({ length: different }, (_, at) => trajectory(least + at * step))));
    const bars = await readBars(files);
    expect(bars.map(([name]) => name)).toEqual(names);
  });

  it.each([
    ["in every bar", (at: number) => at / 1000, ["250", "250", "250", "250"]],
    ["below 0.2, and one of 1", (at: number) => (at === 999 ? 1 : 0.199 + at / 1e6), ["999", "0", "0", "1"]],
  ])("counts 1,000 different rewards %s within accurate edges", async (_, rewardAt, counts) => {
    const files = filesOf(group(...Array.from({ length: 1000 }, (_, at) => trajectory(rewardAt(at)))));
    const bars = await readBars(files);
    expect(bars.map(([name]) => name)).toEqual(["0 – 0.25", "0.25 – 0.5", "0.5 – 0.75", "0.75 – 1"]);
    expect(bars.map(([, count]) => count)).toEqual(counts);
  });
});
