import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { runHere, runHereOnTerminal } from "../../support/here.ts";
import { filesOf, newFolder } from "../../support/inputs.ts";

/** A group of one trajectory. */
const toGroup = (prompt: string, reward: string, rest = "") =>
  `{"trajectories":[{"messages_and_choices":[{"role":"user","content":"${prompt}"},{"role":"assistant","content":"a"}],"reward":${reward}${rest}}]}`;

const toRun = (...rewards: readonly string[]) => rewards.map((reward, at) => toGroup(`q${at}`, reward)).join("\n");

const [first, second] = ["t", "u"].map((task) => toGroup(task, "1", `,"metadata":{"task_id":"${task}"}`));
const failing = [
  `{"trajectories":[],"exceptions":[{"type":"E","message":"m"}],"task_id":"t"}\n${second}`,
  `${first}\n${second}`,
] as const;
const failures = "a 1 of 2 rollouts (50%), b 0 of 2 rollouts (0%), all of 1 task in a and 0 in b";

/** Returns the annotations, and the summary of the job. */
const runReport = async (args: readonly string[], stdin = "") => {
  const summary = join(newFolder(), "summary.md");
  const env = { GITHUB_STEP_SUMMARY: summary };
  const result = await runHere(["compare", ...args, "--report", "github"], { stdin, env });
  return { ...result, summary: readFileSync(summary, "utf8") };
};

it("one input of a comparison can be standard input", async () => {
  const { summary } = await runReport(["-", ...filesOf(toRun("1", "0"))], toRun("1", "0"));
  expect(summary).toContain("### Comparison of `-` and");
  const { stderr } = await runHere(["compare", "-", "-"]);
  expect(stderr).toContain("standard input is a single input");
});

it("a comparison of a file with its own conversion finds no difference, and says so in --json", async () => {
  const sample = "test/samples/formats/tau2.results.json";
  const [converted = ""] = filesOf((await runHere(["convert", sample])).stdout);
  const { written } = await runHereOnTerminal(["compare", sample, converted, "--no-color"], { columns: 300 });
  expect(written).not.toContain("What changed");
  const { stdout } = await runHere(["compare", sample, converted, "--json", "--fields", "verdict,facts"]);
  const { verdict, facts } = JSON.parse(stdout);
  expect(verdict).toMatch(/^No difference that this data can show: 0|too few to judge: .* difference 0\.$/);
  expect(facts.filter(({ a, b }: Record<"a" | "b", number>) => a !== b)).toEqual([]);
});

describe("the result of a comparison", () => {
  it.each<[pairs: number, rewards: readonly string[], exit: number, error: string | undefined]>([
    [0, [], 3, "the rewards of 0 pairs have no interval"],
    [2, ["1", "0"], 3, "the rewards of 2 pairs have no interval"],
    [3, ["1", "0", "1"], 0, undefined],
    [3, ["1e300", "-1e300", "1e300"], 3, "the rewards of 3 pairs have no interval"],
  ])("needs three pairs of %i for --exit-code: %j", async (_, rewards, exit, error) => {
    const [a, b] = [toRun(...rewards), toRun(...rewards.map((reward) => (reward.includes("e") ? "0" : reward)))];
    const files = filesOf(`${a}\n${toGroup("a", "0")}`, `${b}\n${toGroup("b", "0")}`);
    const { code, stderr } = await runHere(["compare", ...files, "--exit-code", "--json"]);
    expect([code, stderr === "" ? undefined : JSON.parse(stderr).error.message]).toEqual([exit, error]);
  });

  it("has each pass@k only below Solved, and each metric only below Metrics", async () => {
    const toGroups = (...rewards: readonly number[]) =>
      rewards
        .map((reward, at) => toGroup(`q${at}`, `${reward}`, `,"metrics":{"m":${reward + 2},"n":${reward * 4}}`))
        .join("\n");
    const files = filesOf(toGroups(0, 1, 1), toGroups(1, 1, 1));
    const { written } = await runHereOnTerminal(["compare", ...files, "-q", "--no-color"], { columns: 300 });
    const sections = written
      .trimEnd()
      .split("\r\n\r\n")
      .map((section) => section.split("\r\n"));
    expect(sections.slice(2)).toEqual([
      ["Solved", "  pass@1  0.666667 → 1, difference +0.333333, between -1 and +1 (95 % interval), 3 pairs"],
      [
        "Metrics",
        "  m  2.66667 → 3, difference +0.333333, between 0 and +1 (95 % interval), 3 pairs",
        "  n  2.66667 → 4, difference +1.33333, between 0 and +4 (95 % interval), 3 pairs",
      ],
      ["Last finish reasons", "  not recorded  100% → 100%"],
    ]);
  });

  it.each([
    [[], "::error file="],
    [["--on-invalid", "skip"], "::warning file="],
  ])("in a report has invalid groups as failures only if they are one: %j", async (skip, annotation) => {
    const { stdout } = await runReport([...filesOf(toRun("1", "0"), toRun("1", "0", '"x"')), ...skip]);
    expect(/::(?:error|warning) file=/.exec(stdout)?.[0]).toBe(annotation);
  });

  it("in rows calls a metric by its path if its name is that of another row", async () => {
    const run = toGroup("q", "1", ',"metrics":{"pass@1":3,"reward":2,"exceptions":4,"m":5}');
    const args = ["compare", ...filesOf(run, run), "--k", "1", "--fields", "name,a"];
    const names = "verdict\t reward\t1 pass@1\t1 metrics.exceptions\t4 m\t5 metrics.pass@1\t3 exceptions\t0";
    expect((await runHere(args)).stdout.trimEnd().split("\n").join(" ")).toBe(names);
  });

  it("in a report has no interval and no verdict of two pairs", async () => {
    const { code, summary } = await runReport([...filesOf(toRun("1", "1"), toRun("0", "0")), "--exit-code"]);
    expect([code, summary]).toEqual([3, expect.stringContaining("**Two pairs are too few to judge: 1 → 0")]);
    expect(summary).toContain("| `pass@1` | `1 → 0, difference -1, 2 pairs` |");
  });

  it("in a report has the failures, and finish reasons that are not recorded", async () => {
    const files = filesOf(...failing);
    const { stdout, summary } = await runReport(files);
    expect(summary).toContain(`| \`failures\` | \`${failures}\` |`);
    expect(stdout).toContain(`%0Afailures: ${failures.replaceAll("%", "%25")}`);
    expect(summary).toContain("| `not recorded` | `100% → 100%` |");
    const { stdout: json } = await runHere(["compare", ...files, "--json", "--fields", "failed_a,transitions"]);
    const transitions = ["always", "failed"].map((from) => ({ from, to: "always", prompts: 1 }));
    expect(JSON.parse(json)).toEqual({ failed_a: 1, transitions });
  });

  it("counts exceptions with their reward in the means of all rollouts", async () => {
    const args = ["compare", ...filesOf(...failing), "--exceptions-as", "0", "--json", "--fields", "reward_of_all"];
    expect(JSON.parse((await runHere(args)).stdout)).toEqual({ reward_of_all: { a: 0.5, b: 1 } });
  });

  it("has no difference of rewards if it is too large for a number", async () => {
    const files = filesOf(toRun("1e308"), toRun("-1e308", "0"));
    const { code, summary, stderr } = await runReport([...files, "--exit-code"]);
    expect(summary).toContain("**Nothing is compared, because no pair has comparable rewards.**\n");
    expect([code, stderr]).toEqual([3, expect.stringContaining("rollcall: the rewards of 0 pairs have no interval\n")]);
    expect(summary).toContain("of all prompts is 1e+308 → -5e+307` |\n");
    const { stdout: json } = await runHere(["compare", ...files, "--json", "--fields", "causes,changed"]);
    expect(JSON.parse(json)).toEqual({ causes: null, changed: [] });
  });

  it("excludes pairs whose difference is too large from rewards and metrics", async () => {
    const toGroups = (value: string) =>
      [
        toGroup("q", value, `,"metrics":{"loss":${value},"cost":${value},"m":1}`),
        toGroup("p", "1", ',"metrics":{"loss":2}'),
      ].join("\n");
    const files = filesOf(toGroups("1e308"), toGroups("-1e308"));
    const { stdout } = await runHere(["compare", ...files, "--json", "--fields", "metrics,reward"]);
    const { reward, metrics } = JSON.parse(stdout);
    expect([reward.pairs, reward.a, metrics[0]]).toMatchObject([1, 1, { name: "loss", pairs: 1, a: 2 }]);
  });

  it("counts rewards that differ only by rounding as equal", async () => {
    const files = filesOf(
      toRun("0.3", "0.3", "0", "1"),
      toRun("0.30000000000000004", "0.29999999999999993", "1", "1e-9"),
    );
    const { stdout } = await runHere(["compare", ...files, "--json", "--fields", "reward,changed"]);
    const { reward, changed } = JSON.parse(stdout);
    expect([reward, changed.length]).toMatchObject([{ better: 1, worse: 1, equal: 2 }, 2]);
  });

  it.each(["a", "b"])("shows the line of an error in %s on a terminal", async (side) => {
    const [valid, invalid] = [toRun("0", "0"), toRun('"x"')];
    const files = filesOf(...(side === "a" ? [invalid, valid] : [valid, invalid]));
    const { written } = await runHereOnTerminal(["compare", ...files, "--no-color"], { columns: 200 });
    expect(written).toContain('"reward":"x"');
  });

  it("counts the failures of both inputs, also if they are equally many", async () => {
    const failed = (task: string) => `{"trajectories":[],"exceptions":["killed"],"task_id":"${task}"}`;
    const done = (task: string) => toGroup(task, "1", `,"metadata":{"task_id":"${task}"}`);
    const toLines = (...lines: readonly string[]) => [done("both"), ...lines].join("\n");
    const files = filesOf(toLines(failed("t"), done("u")), toLines(done("t"), failed("u")));
    const { written } = await runHereOnTerminal(["compare", ...files, "--no-color"], { columns: 300 });
    const text = written.replaceAll(/\s+/g, " ");
    for (const part of [
      "1 exception in a and 1 in b have no reward",
      "failures a 1 of 3 rollouts (33%), b 1 of 3 rollouts (33%), all of 1 task in a and 1 in b",
      "pairs 1, 0 only in a, 0 only in b, 1 failed in a, 1 failed in b",
    ])
      expect(text).toContain(part);
  });

  it("has the means of the rewards that are finite, and of metrics and tokens that not all rollouts have", async () => {
    const join = (...metrics: readonly string[]) =>
      `{"trajectories":[${metrics.map((own) => toGroup("q", "1", `,"metrics":{${own}}`).slice(17, -2)).join()}]}`;
    const a = join('"m":1', '"n":5,"m":2,"completion_tokens":2').replace('"reward":1', '"reward":1e999');
    const files = filesOf(a, join('"m":4,"completion_tokens":6', '"n":8'));
    const { stdout } = await runHere(["compare", ...files, "--json", "--fields", "metrics,causes,facts"]);
    expect(JSON.parse(stdout).facts[2]).toMatchObject({ name: "tokens", a: 2, b: 6 });
    expect(JSON.parse(stdout).causes[2]).toMatchObject({ name: "other", a: { share: 1, reward: 1 } });
    expect(JSON.parse(stdout).metrics).toMatchObject([
      { name: "completion_tokens", a: 2, b: 6 },
      { name: "m", a: 1.5, b: 4 },
      { name: "n", a: 5, b: 8 },
    ]);
  });

  it("names the place in a document of another tool, and the key that pairs nothing", async () => {
    const toDocument = (reward: number) =>
      `{"info":{"agent_info":{"llm":"m"},"environment_info":{"domain_name":"d"}},"tasks":[],"simulations":[{"id":"a","task_id":"1","termination_reason":"user_stop","reward_info":{"reward":${reward}},"messages":[{"role":"user","content":"q"},{"role":"assistant","content":"a"}]}]}`;
    const files = filesOf(toDocument(0), toDocument(1));
    const { stdout } = await runHere(["compare", ...files, "--json", "--fields", "changed"]);
    expect(JSON.parse(stdout).changed).toMatchObject([{ at_a: `${files[0]}#simulations.0` }]);
    const { code, stderr } = await runHere(["compare", ...files, "--pair-by", "x", "--exit-code"]);
    expect([code, stderr]).toEqual([3, expect.stringContaining("no trajectory has a value for the key x in")]);
  });
});
