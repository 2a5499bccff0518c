import { writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { fileOf, groupLine } from "../viewing.ts";
import { closePage, formatHtml, openPage, settle, writePage } from "./open-page.ts";

afterEach(closePage);

describe("the comparison on the page", () => {
  it("has the verdict, a matrix whose numbers select prompts, and the trajectories of both runs by rank", async () => {
    const toRun = (prompts: Readonly<Record<string, readonly number[]>>) =>
      Object.entries(prompts)
        .map(([prompt, rewards]) => groupLine(rewards, { prompt }))
        .join("\n");
    const a = fileOf("a.jsonl", toRun({ easy: [1, 1], hard: [0, 0], mixed: [0, 1, 0.5], same: [1, 0], old: [1] }));
    const b = join(dirname(a), "b.jsonl");
    writeFileSync(b, toRun({ easy: [0, 0], hard: [1, 0], mixed: [0, 0], same: [1, 0], new: [1] }));
    const page = await openPage(await writePage([a, b]));
    await page.click("a with b");
    await settle();
    await expect(formatHtml(page.find("main").outerHTML).replaceAll(dirname(a), "")).toMatchFileSnapshot(
      "golden/compare.txt",
    );
    await page.click("1", "a[aria-label='1 prompt sometimes in a, never in b']");
    expect([page.textsOf(".count"), page.textsOf("tbody .prompt")]).toEqual([["1 of 4 prompts"], ["mixed"]]);
    await page.click("mixed");
    expect(page.textsOf(".column h2 a")).toEqual([
      "a, trajectory 2",
      "b, trajectory 1",
      "a, trajectory 1",
      "b, trajectory 2",
      "a, trajectory 3",
    ]);
    expect(page.attributesOf(".beside", "class")).toEqual(["beside runs"]);
    await page.press("Escape", "Escape");
    expect(page.query()).toEqual({});
  });

  it("has a row and a column in the matrix for a state that prompts have only in b", async () => {
    const [a = "", b = ""] = [0, 1].map((reward) => fileOf(`${reward}.jsonl`, groupLine([reward])));
    const page = await openPage(await writePage([a, b]));
    await page.show({ compare: true });
    expect(page.textsOf(".matrix th").slice(1)).toEqual(["always", "never", "always", "never"]);
  });

  it("shows the exceptions of a run in which all rollouts of a task failed", async () => {
    const [done = "", other = ""] = ["t", "u"].map((task) => groupLine([1]).replace("{", `{"task_id":"${task}",`));
    const failed = (text: string) => `{"task_id":"t","trajectories":[],"exceptions":["${text}"]}`;
    const both = failed("late").replace('"t"', '"v"');
    const lines = [
      [other, failed("killed"), both],
      [done, other, both],
    ];
    const [a = "", b = ""] = lines.map((each, at) => fileOf(`${at}.jsonl`, each.join("\n")));
    const page = await openPage(await writePage([a, b]));
    const column = () => [page.textsOf("h2"), page.textsOf("pre.raw")];
    await page.show({ compare: true, group: 1 });
    const first = column();
    await page.show({ compare: true, group: 3 });
    expect(page.textsOf(".copied code")).toEqual([`${a}:3`]);
    await page.show({ compare: true });
    expect(page.textsOf(".matrix thead th").slice(1)).toEqual(["always", "failed"]);
    await page.show({ compare: true, group: 2 });
    expect([first, column()]).toEqual([
      [["a, trajectory 1 10", "b, trajectory 1 10"], []],
      [["1 exception", "b, trajectory 1 10"], ["killed"]],
    ]);
  });
});
