import { describe, expect, it } from "vitest";
import type { Charts, GroupRows } from "../../src/view/answers.ts";
import { chromium } from "../support/browser.ts";
import { runRollcall } from "../support/run.ts";
import { openPage } from "./shown.ts";
import { fileOf, startView, type ViewProcess, whenRead } from "./viewing.ts";

interface GroupOptions {
  readonly members?: object;
  readonly finish?: string;
  readonly failures?: number;
}

/** A group with a step in the `metadata` of its trajectories. */
const stepGroup = (step: unknown, rewards: readonly number[], options: GroupOptions = {}): string => {
  const { members = { metadata: { step, task_id: `task-${step}` } }, finish = "stop", failures = 0 } = options;
  const trajectories = rewards.map((reward, at) => ({
    messages_and_choices: [
      { role: "user", content: `what is ${step} + ${step}, and why is it so for every number that you know?` },
      { finish_reason: at === 0 ? finish : "stop", index: 0, message: { role: "assistant", content: `it is ${at}` } },
    ],
    ...{ reward, ...members },
  }));
  const exceptions = Array.from({ length: failures }, () => ({ type: "TimeoutError", message: "late" }));
  return JSON.stringify({ trajectories, ...(failures > 0 && { exceptions }) });
};

const steps = [
  ...[0.9, 0.7, 0.8].map((reward) => stepGroup(9, [reward, 1])),
  ...[0.5, 0.1, 0.4].map((reward) => stepGroup(10, [reward, 0.2], { finish: "length" })),
  ...[0.3, 0, 0.2].map((reward) => stepGroup(11, [reward, 0], { failures: 1 })),
].join("\n");

const chartsOf = async (page: ViewProcess, query?: object): Promise<Charts> =>
  JSON.parse((await page.ask("/api/charts", query)).body);

interface StatsSlice {
  readonly value: string | number | null;
  readonly groups: number;
  readonly exceptions: number;
  readonly reward: { readonly mean: number; readonly ci95: readonly number[] };
}

const statsBy = async (...args: readonly string[]): Promise<readonly StatsSlice[]> =>
  JSON.parse((await runRollcall(["stats", ...args, "--json"])).stdout).by;

describe("the numbers of the page", () => {
  it.each<[name: string, query: object, first: number, end: number]>([
    ["all groups", {}, 0, 9],
    ["the groups that a filter selects", { truncated: true }, 3, 6],
  ])("are those of stats --by step for %s", async (_, query, first, end) => {
    const file = fileOf("g.jsonl", steps);
    const page = await startView([file]);
    await whenRead(page);
    const { series } = await chartsOf(page, query);
    const shown = (series[0]?.values ?? []).filter(({ selected }) => selected !== null);
    const selectedFile = fileOf("selected.jsonl", steps.split("\n").slice(first, end).join("\n"));
    const byStep = await statsBy(selectedFile, "--by", "step");
    expect(
      shown.map(({ value, selected }) => [value, selected?.groups, selected?.failures, selected?.mean, selected?.ci95]),
    ).toEqual(
      byStep.map(({ value, groups, exceptions, reward }) => [
        String(value),
        groups,
        exceptions,
        reward.mean,
        reward.ci95,
      ]),
    );
  });

  it("divide groups with several steps, by the first column of steps that the input has", async () => {
    const mixed = JSON.parse(stepGroup(1, [1, 0], { failures: 1 }));
    mixed.trajectories[0].metadata = { global_step: 3, epoch: 1 };
    mixed.trajectories[1].metadata = { global_step: 4, epoch: 1 };
    const inInfo = stepGroup(4, [0, 1], { members: { info: { global_step: 4 } } });
    const ofGroup = `{"global_step":5,${stepGroup(5, [1, 1], { members: {} }).slice(1)}`;
    const failed = '{"global_step":5,"trajectories":[],"exceptions":[{"type":"E","message":"m"}]}';
    const none = stepGroup(6, [1, 0.5], { members: {} });
    const file = fileOf("g.jsonl", [JSON.stringify(mixed), inInfo, ofGroup, failed, none].join("\n"));
    const page = await startView([file]);
    expect((await whenRead(page)).summary?.stepName).toBe("global_step");
    const { series } = await chartsOf(page);
    expect(series[0]?.values.map(({ value, all }) => [value, all.groups, all.mean, all.failures])).toEqual([
      ["3", 1, 1, 0],
      ["4", 2, 1 / 3, 0],
      ["5", 2, 1, 1],
      [null, 2, 0.75, 1],
    ]);
    const rowsOf = async (query: object): Promise<readonly number[]> => {
      for (;;) {
        const { rows, searched }: GroupRows = JSON.parse((await page.ask("/api/rows", query)).body);
        if (searched === 1) return rows.map(({ group }) => group);
      }
    };
    const same = await startView([fileOf("g.jsonl", JSON.stringify(mixed))]);
    expect((await whenRead(same)).summary?.series).toEqual(["step"]);
    expect(await rowsOf({ step: "4" })).toEqual([0, 1]);
  });

  it.each<[by: string, files: () => readonly string[]]>([
    ["file", () => ["test/samples/formats/art-v2.airline.parquet", fileOf("g.jsonl", steps)]],
    ["step", () => [fileOf("g.jsonl", [1, 0.5, 10, -1, 0.25].map((step) => stepGroup(step, [0, 1])).join("\n"))]],
  ])("are those of stats --by %s in its order", async (by, listFiles) => {
    const files = listFiles();
    const page = await startView(files);
    const { summary } = await whenRead(page);
    const { series } = await chartsOf(page);
    const values = (await statsBy(...files, "--by", by)).map(({ value, groups }) => [String(value), groups]);
    const shown = series.find((one) => one.by === by)?.values.map(({ value, all }) => [value, all.groups]);
    expect([shown, summary?.fileCount]).toEqual([values, files.length]);
    const { rows }: GroupRows = JSON.parse((await page.ask("/api/rows", { sort: "step" })).body);
    if (by === "step") expect(rows.map(({ step }) => step)).toEqual(values.map(([value]) => value));
  });

  it("come with the notes of the check, also in a file", async () => {
    const file = fileOf("g.jsonl", steps);
    const page = await startView([file]);
    const { summary } = await whenRead(page);
    const { notes } = JSON.parse((await runRollcall(["check", file, "--json"])).stdout);
    expect(summary?.notes).toEqual(notes);
    expect(notes).toEqual([expect.stringContaining("no log probabilities")]);
  });
});

describe.skipIf(chromium === undefined)("the first page with steps", { tags: "browser" }, () => {
  const input = () => fileOf("g.jsonl", steps);

  it("shows the worst groups first by one click, failures and errors of tools, without entries of the history", async () => {
    const { page } = await openPage([input()], { width: 1920 });
    const groups = async () => (await page.locator("tbody td:first-child").allTextContents()).join("");
    const before = await page.evaluate("history.length");
    await page.getByRole("button", { name: "mean", exact: true }).click();
    await expect.poll(groups).toBe("897564231");
    await page.getByRole("button", { name: "mean", exact: true }).press("Enter");
    await expect.poll(groups).toBe("132465798");
    expect(await page.evaluate("history.length")).toBe(before);
    await page.getByRole("link", { name: "worst of step 11" }).click();
    await expect.poll(groups).toBe("897");
    await page.goBack();
    await page.getByRole("region", { name: "summary" }).getByRole("link", { name: "3", exact: true }).click();
    await expect.poll(groups).toBe("798");
    expect(await page.locator("td[data-name=failed]").allTextContents()).toEqual(["1", "1", "1"]);
  });

  it("draws steps at their distances, opens them by their columns and labels, and keeps the axis with a filter", async () => {
    const lines = [0, 10, 20, 500].map((step) =>
      stepGroup(step, [step / 500, 1], { finish: step ? "stop" : "length" }),
    );
    const { page } = await openPage([fileOf("step-0.jsonl", lines.join("\n"))]);
    const chart = page.getByRole("group", { name: "mean and 95 % interval by step" });
    const textsOf = async (found: string) => await chart.locator(found).allTextContents();
    await expect.poll(async () => await textsOf(".axis.x")).toEqual(["0", "20", "500"]);
    await page.setViewportSize({ width: 1920, height: 860 });
    await expect.poll(async () => await textsOf(".axis.x")).toEqual(["0", "10", "20", "500"]);
    const places = await page.evaluate(
      "[...document.querySelectorAll('.dot')].map((dot) => dot.cx.baseVal.valueInSpecifiedUnits)",
    );
    expect(places).toEqual([2, 3.92, 5.84, 98].map((place) => expect.closeTo(place)));
    const heights = await textsOf(".axis.y");
    await page.getByRole("link", { name: "truncated", exact: true }).click();
    await page.getByText("1 of 4 groups").waitFor();
    expect(await textsOf(".axis.y")).toEqual(heights);
    await page.goBack();
    // The column covers its label.
    await chart.locator(".axis.x", { hasText: "500" }).click({ force: true });
    await page.getByRole("link", { name: "step 500 ×" }).click();
    const box = await chart.boundingBox();
    await page.mouse.click((box?.x ?? 0) + (box?.width ?? 0) * 0.8, (box?.y ?? 0) + 2);
    await page.getByRole("link", { name: "step 500 ×" }).waitFor();
  });

  it("has charts in one row, 14 rows at 1280 x 800, and the first row in 480 pixels at 390 x 844", async () => {
    // The page has three lines of notes.
    const silent = (line: string) =>
      line.replace(/"it is \d"/, '"","logprobs":{"content":[{"token":"a","logprob":-1}]}');
    const files = [9, 10, 11].map((step, at) => {
      const groups = steps
        .split("\n")
        .slice(3 * at, 3 * at + 3)
        .map((line) => (at === 0 ? silent(line) : line));
      return fileOf(`step-${step}.jsonl`, Array(4).fill(groups).flat().join("\n"));
    });
    const { page } = await openPage(files, { width: 1280, height: 800 });
    expect((await page.locator("tbody tr").nth(13).boundingBox())?.y).toBeLessThanOrEqual(772);
    expect(await page.locator("figcaption b").allTextContents()).toEqual([
      "trajectories by reward",
      "mean and 95 % interval by step",
    ]);
    for (const width of [1280, 390]) {
      await page.setViewportSize({ width, height: 844 });
      expect((await page.locator(".charts").boundingBox())?.height).toBeLessThanOrEqual(150);
      const cut =
        "[...document.querySelectorAll('.facts *, figcaption, .filters *')].filter((one) => one.scrollWidth > one.clientWidth + 1 && one.clientWidth > 0).length";
      expect([width, await page.evaluate(cut)]).toEqual([width, 0]);
    }
    expect((await page.locator("tbody tr").first().boundingBox())?.y).toBeLessThanOrEqual(480);
  });

  it("gives the prompt 40 characters at 1280 pixels, and names the columns that it hides", async () => {
    const { page } = await openPage([input()], { width: 1280 });
    await page.locator(".parts").getByText("hidden columns: trainable").waitFor();
    const shown = await page.evaluate<number>(`(() => {
      const link = document.querySelector(".rows td.words a");
      const range = document.createRange();
      range.setStart(link.firstChild, 0);
      for (let at = 1; at <= link.firstChild.length; at++) {
        range.setEnd(link.firstChild, at);
        if (range.getBoundingClientRect().right > link.getBoundingClientRect().right - 12) return at - 1;
      }
      return link.firstChild.length;
    })()`);
    expect(shown).toBeGreaterThanOrEqual(40);
    await page.getByRole("button", { name: "trainable" }).click();
    await page.getByRole("columnheader", { name: "trainable" }).waitFor();
  });

  it("has rows of two lines at 390 pixels", async () => {
    const { page } = await openPage([input()], { width: 390 });
    const lines = await page.evaluate<
      readonly number[]
    >(`[...document.querySelectorAll(".rows tbody tr")].map((row) => {
      const middles = [...row.children].map((cell) => cell.getBoundingClientRect()).map(({ top, bottom }) => top + bottom);
      return new Set(middles.map((middle) => Math.round(middle / 20))).size;
    })`);
    expect(lines).toEqual(lines.map(() => 2));
    expect(await page.evaluate("document.documentElement.scrollWidth")).toBe(390);
    await page.getByText("hidden columns:").waitFor();
    await page.locator(".rows td.words a").first().click();
    await page.locator(".members").waitFor();
    expect(await page.evaluate("document.querySelector('.members').scrollWidth")).toBeLessThanOrEqual(360);
  });
});
