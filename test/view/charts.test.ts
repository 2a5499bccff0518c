import { writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import type { Charts, GroupRows } from "../../src/view/answers.ts";
import { fileOf, groupLine, startView, whenRead } from "./viewing.ts";

describe("a chart of the page", () => {
  const rowsOf = (body: string): GroupRows => JSON.parse(body);

  it.each<[what: string, rewards: readonly number[]]>([
    ["whole numbers, at the edges of bars", Array.from({ length: 25 }, (_, at) => at)],
    ["too many for a sketch to keep", Array.from({ length: 200 }, (_, at) => Math.sin(at))],
    ["as far apart as doubles can be", [...Array.from({ length: 20 }, (_, at) => at * 1e306), -1.7e308, 1.7e308]],
  ])("counts rewards exactly in bars if they are %s", async (_, rewards) => {
    const page = await startView([fileOf("g.jsonl", rewards.map((reward) => groupLine([reward])).join("\n"))]);
    await whenRead(page);
    const { rewards: bars }: Charts = JSON.parse((await page.ask("/api/charts")).body);
    expect(bars.reduce((sum, { count }) => sum + count, 0)).toBe(rewards.length);
    expect([bars[0]?.range[0], bars.at(-1)?.range[1]]).toEqual([Math.min(...rewards), Math.max(...rewards)]);
    for (const { range, count } of bars) {
      const { selected } = rowsOf((await page.ask("/api/rows", { reward: range })).body);
      expect([range, selected]).toEqual([range, count]);
    }
  });

  it.each([1, -1])("scales by rewards up to the range of most rewards away from it (row %$)", async (sign) => {
    const lists = [...Array.from({ length: 200 }, () => [0, 1]), [1.9, 2.1, 1e6]];
    const lines = lists.map((rewards) => groupLine(rewards.map((reward) => sign * reward)));
    const { summary } = await whenRead(await startView([fileOf("g.jsonl", lines.join("\n"))]));
    expect(summary?.scale.map(Math.abs).sort()).toEqual([0, 1.9]);
  });

  it.each([
    [16, 16],
    [17, 24],
  ])("has, for %i different rewards, %i bars", async (count, bars) => {
    const page = await startView([fileOf("g.jsonl", groupLine(Array.from({ length: count }, (_, at) => at)))]);
    await whenRead(page);
    const { rewards }: Charts = JSON.parse((await page.ask("/api/charts")).body);
    expect(rewards).toHaveLength(bars);
  });

  it("draws the first thousand files, and counts all files", { tags: "slow" }, async () => {
    const folder = dirname(fileOf("step-0.jsonl", groupLine([0, 1])));
    for (let at = 1; at <= 1000; at++) writeFileSync(join(folder, `step-${at}.jsonl`), groupLine([0, 1]));
    const page = await startView([folder]);
    const { summary } = await whenRead(page);
    const [files] = (JSON.parse((await page.ask("/api/charts")).body) as Charts).series;
    expect([summary?.groupFiles, summary?.fileCount, files?.values.length, files?.of]).toEqual([
      1001, 1001, 1000, 1001,
    ]);
    expect(files?.values.at(-1)?.value).toBe(join(folder, "step-999.jsonl"));
  });
});
