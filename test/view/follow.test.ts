import { appendFileSync, mkdirSync, mkdtempSync, renameSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { Charts, Findings, GroupDetail, Rows, State } from "../../src/view/index.ts";
import { chromium } from "../support/browser.ts";
import { runRollcall } from "../support/run.ts";
import { shownPage } from "./shown.ts";
import { fileOf, groupLine, type Viewing, viewing } from "./viewing.ts";

/** Waits until so many groups were read. */
const whenGroups = async (page: Viewing, count: number): Promise<State> => {
  for (;;) {
    const state: State = JSON.parse((await page.ask("/api/state")).body);
    if (state.progress.phase === "read" && state.progress.of === count) return state;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
};

const rowsOf = async (page: Viewing, query = ""): Promise<Rows> =>
  JSON.parse((await page.ask(`/api/rows${query}`)).body);

const newFolder = (): string => mkdtempSync(join(tmpdir(), "view-"));

describe("rollcall view --follow", () => {
  it("adds what is written meanwhile, lines once they are complete, and nothing moves", async () => {
    const file = fileOf("groups.jsonl", `${groupLine([0, 1])}\n${groupLine([1, 1])}\n`);
    const page = await viewing([file, "--follow"]);
    expect((await whenGroups(page, 2)).summary).toMatchObject({ groups: { read: 2 }, trajectories: { read: 4 } });
    const whole = groupLine([2, 4], { prompt: "added" });
    appendFileSync(file, `${groupLine([3])}\n${whole.slice(0, 40)}`);
    await whenGroups(page, 3);
    appendFileSync(file, `${whole.slice(40)}\n`);
    expect((await whenGroups(page, 4)).summary).toMatchObject({ reward: { most: 4 } });
    const { rows } = await rowsOf(page);
    expect(rows.map(({ group, mean, words }) => [group, mean, words])).toEqual([
      [0, 0.5, "2 + 2?"],
      [1, 1, "2 + 2?"],
      [2, 3, "2 + 2?"],
      [3, 3, "added"],
    ]);
    // What was there when the page asked first stands by itself.
    expect((await rowsOf(page, "?groups=2&sort=mean&descending=true")).rows.map(({ group }) => group)).toEqual([1, 0]);
    expect((await rowsOf(page, "?groups=3&text=added")).of).toBe(3);
    const group: GroupDetail = JSON.parse((await page.ask("/api/groups/3")).body);
    expect(group).toMatchObject({ of: 4, place: { file, line: 4 } });
    page.child.kill("SIGINT");
    expect(await page.ended).toBe(0);
  });

  it("has trajectories join the groups that they belong to, and measures these anew", async () => {
    const line = (id: string, reward: number) =>
      `${JSON.stringify({ messages_and_choices: [{ role: "user", content: id }], reward, id })}\n`;
    const file = fileOf("flat.jsonl", line("a", 0) + line("b", 1));
    const page = await viewing([file, "--follow", "--group-by", "id"]);
    await whenGroups(page, 2);
    appendFileSync(file, line("a", 1) + line("c", 1));
    await whenGroups(page, 3);
    const { rows } = await rowsOf(page);
    expect(rows.map(({ size, mean, untrainable }) => [size, mean, untrainable])).toEqual([
      [2, 0.5, null],
      [1, 1, "a group of one"],
      [1, 1, "a group of one"],
    ]);
    expect((await rowsOf(page, "?reward=1,1")).rows.map(({ group }) => group)).toEqual([0, 1, 2]);
  });

  it("waits for a file that is not there yet, and goes on with the one that takes its name", async () => {
    const file = join(newFolder(), "later.jsonl");
    const page = await viewing([file, "--follow"]);
    await expect.poll(() => page.said()).toContain("later.jsonl is not there yet");
    writeFileSync(file, `${groupLine([0, 1])}\n`);
    expect((await whenGroups(page, 1)).following?.at(-1)).toContain("later.jsonl is there now");
    renameSync(file, `${file}.1`);
    writeFileSync(file, `${groupLine([0, 0])}\n`);
    const { following } = await whenGroups(page, 2);
    expect(following?.at(-1)).toContain("another file is called");
    const commandOf = async (group: number) => {
      const { status, body } = await page.ask(`/api/groups/${group}`);
      return [status, JSON.parse(body).command];
    };
    // Lines of what was moved away are not where its name says.
    expect(await commandOf(0)).toEqual([200, null]);
    expect(await commandOf(1)).toEqual([200, expect.stringContaining(`sed -n 1p ${file} | `)]);
  });

  it("reads a file once that was renamed, goes on with it, and has a name that leads to it in its command", async () => {
    const folder = newFolder();
    const [file, rotated] = [join(folder, "a.jsonl"), join(folder, "a.1.jsonl")];
    writeFileSync(file, `${groupLine([0, 1], { prompt: "old" })}\n`);
    const page = await viewing([folder, "--follow"]);
    await whenGroups(page, 1);
    renameSync(file, rotated);
    writeFileSync(file, `${groupLine([1, 0], { prompt: "new" })}\n`);
    await whenGroups(page, 2);
    appendFileSync(rotated, `${groupLine([1, 0], { prompt: "late" })}\n`);
    await whenGroups(page, 3);
    // What was there is looked for once more with whatever comes later.
    appendFileSync(file, `${groupLine([1, 1], { prompt: "last" })}\n`);
    expect((await whenGroups(page, 4)).summary?.groups).toEqual({ read: 4, rejected: 0 });
    expect((await rowsOf(page)).rows.map(({ words }) => words)).toEqual(["old", "new", "late", "last"]);
    const commands = [0, 1].map(async (at) => JSON.parse((await page.ask(`/api/groups/${at}`)).body).command);
    expect(await Promise.all(commands)).toEqual([
      expect.stringContaining(`sed -n 1p ${rotated} | `),
      expect.stringContaining(`sed -n 1p ${file} | `),
    ]);
  });

  it("has problems and what is searched for at their groups, in whichever order files grow", async () => {
    const folder = newFolder();
    const [file, beside] = [join(folder, "a.jsonl"), join(folder, "b.jsonl")];
    writeFileSync(file, `${groupLine([0, 1], { prompt: "one" })}\n`);
    const page = await viewing([folder, "--follow"]);
    await whenGroups(page, 1);
    writeFileSync(beside, `${groupLine([0, 1], { prompt: "two" })}\n`);
    await whenGroups(page, 2);
    appendFileSync(file, "{bad\n");
    await whenGroups(page, 3);
    appendFileSync(beside, `${groupLine([0, 1], { prompt: "four" })}\n`);
    await whenGroups(page, 4);
    appendFileSync(file, `${groupLine([0, 1], { prompt: "five" })}\n`);
    await whenGroups(page, 5);
    expect((await rowsOf(page)).rows.map(({ problems }) => problems)).toEqual([0, 0, 1, 0, 0]);
    const { findings }: Findings = JSON.parse((await page.ask("/api/problems?rule=json-syntax")).body);
    expect(findings.map(({ group }) => group)).toEqual([2]);
    const found = async (text: string) => (await rowsOf(page, `?text=${text}`)).rows.map(({ group }) => group);
    for (const [at, text] of [
      [0, "one"],
      [1, "two"],
      [3, "four"],
      [4, "five"],
    ] as const) {
      await expect.poll(async () => await found(text)).toEqual([at]);
    }
  });

  it("tells of a file that was written anew, and shows what it holds now", async () => {
    const file = fileOf("groups.jsonl", `${groupLine([0, 1])}\n${groupLine([0, 1])}\n`);
    const page = await viewing([file, "--follow"]);
    await whenGroups(page, 2);
    writeFileSync(file, `${groupLine([1, 0], { prompt: "anew" })}\n`);
    const { following, summary } = await whenGroups(page, 3);
    expect(following?.at(-1)).toContain("was written anew");
    expect(page.said()).toContain("was written anew");
    expect(summary?.groups).toEqual({ read: 3, rejected: 2 });
    const { rows } = await rowsOf(page);
    expect(rows.map(({ untrainable, words }) => [untrainable, words])).toEqual([
      ["not valid", ""],
      ["not valid", ""],
      [null, "anew"],
    ]);
    expect(rows.map(({ mean }) => mean)).toEqual([null, null, 0.5]);
    expect((await page.ask("/api/groups/0")).status).toBe(409);
  });

  it("reads the files of a folder, and those that are added, beside one that is none", async () => {
    const folder = newFolder();
    writeFileSync(join(folder, "step-1.jsonl"), `${groupLine([0, 1])}\n`);
    mkdirSync(join(folder, "more"));
    const page = await viewing([folder, "--follow"]);
    await whenGroups(page, 1);
    writeFileSync(join(folder, "more", "step-2.jsonl"), `${groupLine([1, 1])}\n`);
    writeFileSync(join(folder, "packed.jsonl"), Buffer.from([0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0]));
    writeFileSync(join(folder, "notes.txt"), "nothing");
    await whenGroups(page, 2);
    const { runs }: Charts = JSON.parse((await page.ask("/api/charts")).body);
    expect(runs.map(({ groups, mean }) => [groups, mean])).toEqual([
      [1, 1],
      [1, 0.5],
    ]);
    appendFileSync(join(folder, "step-1.jsonl"), "not json\n");
    await whenGroups(page, 3);
    const { findings }: Findings = JSON.parse((await page.ask("/api/problems")).body);
    expect(findings.map(({ severity, place }) => [severity, place?.line])).toContainEqual(["error", 2]);
  });

  it.each<[words: string[], says: string]>([
    [["g.jsonl", "--where", "reward > 0.5"], "--where"],
    [["g.jsonl", "--html", "page.html"], "--html"],
    [["g.jsonl", "--from", "tau2"], "--from tau2"],
    [["-"], "can't be followed"],
  ])("refuses %j", async (words, says) => {
    const ran = await runRollcall(["view", "--no-open", "--follow", ...words]);
    expect(ran).toMatchObject({ code: 2, stdout: "" });
    expect(ran.stderr).toContain(says);
  });

  it("has no other file be followed than one of lines", async () => {
    const packed = fileOf("g.jsonl", Buffer.from([0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0]));
    const ran = await runRollcall(["view", "--no-open", "--follow", packed]);
    expect(ran).toMatchObject({ code: 2, stderr: expect.stringContaining("is compressed") });
  });
});

describe.skipIf(chromium === undefined)("the page of files that are followed", () => {
  it("says how many groups are new, and shows them once they are asked for; nothing moves meanwhile", async () => {
    const lines = Array.from({ length: 300 }, (_, at) => groupLine([at % 2, 1], { prompt: `task ${at + 1}` }));
    const file = fileOf("groups.jsonl", `${lines.join("\n")}\n`);
    const served = await viewing([file, "--follow"]);
    const { page } = await shownPage(served);
    await page.getByText("task 1", { exact: true }).waitFor();
    await page.evaluate("document.querySelector('.rows').scrollTo({ top: 3400 })");
    await page.getByText("task 105", { exact: true }).waitFor();
    const shifts = `new Promise((resolve) => {
      let sum = 0;
      new PerformanceObserver((list) => list.getEntries().forEach((one) => { sum += one.value; }))
        .observe({ type: "layout-shift", buffered: false });
      document.addEventListener("told", () => resolve(sum), { once: true });
    })`;
    const shifted = page.evaluate(shifts);
    const top = await page.locator("tr[data-at='104']").boundingBox();
    appendFileSync(file, `${groupLine([9, 0], { prompt: "the new one" })}\n`);
    await page.getByRole("button", { name: "1 new group" }).waitFor();
    expect(await page.locator(".count").innerText()).toBe("300 of 300 groups");
    expect(await page.locator("tr[data-at='104']").boundingBox()).toEqual(top);
    await page.getByRole("button", { name: "1 new group" }).click();
    await expect.poll(async () => await page.locator(".count").innerText()).toBe("301 of 301 groups");
    expect(await page.locator("tr[data-at='104']").boundingBox()).toEqual(top);
    expect(await page.getByRole("region", { name: "what was read" }).innerText()).toContain("301 groups");
    await page.evaluate("document.dispatchEvent(new Event('told'))");
    expect(await shifted).toBeLessThan(0.01);
    await page.evaluate("document.querySelector('.rows').scrollTo({ top: 1e6 })");
    await page.getByText("the new one").waitFor();
    truncateSync(file, 0);
    await page.getByRole("button", { name: "301 groups not valid any more" }).click();
    const last = page.locator("tr[data-at='300']");
    await expect.poll(async () => await last.innerText()).toMatch(/–\s+–\s+–\s+–\s+not valid/);
    await last.getByRole("link").click();
    await page.getByText("changed since it was read").waitFor();
  });
});
