import { describe, expect, it } from "vitest";
import type { GroupRows, RunComparison } from "../../src/view/answers.ts";
import { runRollcall } from "../support/run.ts";
import { fileOf, groupLine, startView, whenRead } from "./viewing.ts";

const linesOf = (prompts: Readonly<Record<string, readonly number[]>>, answer: string): string =>
  Object.entries(prompts)
    .map(([prompt, rewards]) => groupLine(rewards, { prompt, answer }))
    .join("\n");

const runs = (): readonly [a: string, b: string] => [
  fileOf("a.jsonl", linesOf({ easy: [1, 1], hard: [0, 0], mixed: [1, 0], same: [1, 0], old: [1] }, "in a")),
  fileOf("b.jsonl", linesOf({ easy: [0, 0], hard: [1, 0], mixed: [0, 0], same: [1, 0], new: [1] }, "in b")),
];

describe("the comparison of two runs on the page", () => {
  it("has the numbers and sentences of rollcall compare, and reads the prompts of a transition", async () => {
    const [a, b] = runs();
    const page = await startView([a, b]);
    expect((await whenRead(page)).summary?.runs).toEqual([a, b]);
    const comparison: RunComparison = JSON.parse((await page.ask("/api/compare", { compare: true })).body);
    const ask = async (query: object): Promise<GroupRows> =>
      JSON.parse((await page.ask("/api/rows", { compare: true, ...query })).body);
    const { reward, only_a, only_b, transitions } = JSON.parse((await runRollcall(["compare", a, b, "--json"])).stdout);
    const { verdict, title, lines, ...numbers } = comparison;
    expect(numbers).toEqual({ reward, only_a, only_b, transitions });
    const printed = (await runRollcall(["compare", a, b, "-o", "table"])).stdout.replaceAll(/\s+/g, " ");
    expect(lines.length).toBeGreaterThan(0);
    for (const text of [verdict, title, ...lines.map((line) => `${line.label} ${line.text}`)])
      expect(printed).toContain(text);
    expect((await ask({})).rows.map(({ prompt, pair }) => [prompt, pair?.difference])).toEqual([
      ["easy", -1],
      ["hard", 0.5],
      ["mixed", -0.5],
      ["same", 0],
    ]);
    expect((await ask({ page: 2 })).rows).toEqual([]);
    const ofB = { compare: true, group: 3, trajectory: 3 };
    expect((await page.ask("/api/trajectory", ofB)).body).toContain("in b");
    for (const { from, to, prompts } of transitions) {
      const filters = { text: "hard", mean: [9, 9], trainable: true, rule: "any", sort: "mean", descending: true };
      const { selected, rows } = await ask({ from, to, ...filters });
      expect([selected, rows.length]).toEqual([prompts, prompts]);
    }
  });

  it("lists pairs without a reward on both sides last", async () => {
    const task = (id: string, reward?: number) =>
      reward === undefined
        ? `{"trajectories":[],"exceptions":[{"type":"E","message":"m"}],"task_id":"${id}"}`
        : groupLine([reward], { prompt: id }).replace("{", `{"task_id":"${id}",`);
    const a = fileOf("a.jsonl", [task("failing"), task("other", 0)].join("\n"));
    const b = fileOf("b.jsonl", [task("failing", 1), task("other", 0.5)].join("\n"));
    const page = await startView([a, b]);
    await whenRead(page);
    const { rows }: GroupRows = JSON.parse((await page.ask("/api/rows", { compare: true })).body);
    expect(rows.map(({ pair }) => pair?.difference)).toEqual([0.5, null]);
  });

  it("says which run has several steps", async () => {
    const [first, second] = [2, 3].map((step) => linesOf({ [step]: [1, 0] }, "a").replace("{", `{"step":${step},`));
    const page = await startView([fileOf("a.jsonl", first ?? ""), fileOf("b.jsonl", `${first}\n${second}`)]);
    await whenRead(page);
    const { lines }: RunComparison = JSON.parse((await page.ask("/api/compare", { compare: true })).body);
    const text = "b has 2 values of step (2, 3), which are compared together";
    expect(lines).toContainEqual(expect.objectContaining({ label: "steps", text }));
  });

  it("takes --pass for the reward from which a trajectory is solved, also in the reading list and in expressions", async () => {
    const page = await startView([...runs(), "--pass", "2"]);
    await whenRead(page);
    const { transitions }: RunComparison = JSON.parse((await page.ask("/api/compare", { compare: true })).body);
    expect(transitions).toEqual([{ from: "never", to: "never", prompts: 4 }]);
    expect((await page.ask("/api/reading")).body).not.toContain("sometimes solved");
    await expect
      .poll(async () => JSON.parse((await page.ask("/api/rows", { where: "solved" })).body))
      .toMatchObject({ selected: 0, searched: 1 });
  });

  it("is offered for two inputs only", async () => {
    const [a, b] = runs();
    const page = await startView([a, b, fileOf("c.jsonl", groupLine([1]))]);
    expect((await whenRead(page)).summary?.runs).toEqual([]);
    expect((await page.ask("/api/compare", { compare: true })).status).toBe(404);
  });
});
