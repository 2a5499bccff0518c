import { describe, expect, it } from "vitest";
import type { GroupDetail, GroupRows } from "../../src/view/answers.ts";
import { chromium } from "../support/browser.ts";
import { newHome, runRollcall } from "../support/run.ts";
import { addressOf, openServedPage } from "./shown.ts";
import { asked, groupLine, startPageServer, type ViewProcess, whenRead } from "./viewing.ts";

const logged = async (splits: Readonly<Record<string, string>>) => {
  const env = newHome();
  for (const [split, stdin] of Object.entries(splits)) {
    const ran = await runRollcall(["log", "gpt-4o", "-", "--split", split, "--local", "--no-ledger"], { env, stdin });
    expect(ran.code).toBe(0);
  }
  return env;
};

const rowsOf = async (page: ViewProcess): Promise<GroupRows> => JSON.parse((await page.ask("/api/rows")).body);
const groupOf = async (page: ViewProcess, group: number): Promise<GroupDetail> =>
  JSON.parse((await page.ask("/api/group", { group })).body);

const view = ["view", "--local", "--no-open"];

describe("rollcall view --local", () => {
  it("shows the groups that were logged, the newest request first, with split, rewards and call ids", async () => {
    const first = `${groupLine([0, 1], { prompt: "first" })}\n${groupLine([0.5], { prompt: "second" })}\n`;
    const env = await logged({ train: first, eval: groupLine([3, 3], { prompt: "third" }) });
    const page = await startPageServer(view, { env });
    expect((await whenRead(page)).summary).toMatchObject({
      files: ["local/local, local service"],
      groups: { read: 3, rejected: 0 },
      trajectories: { read: 5, rejected: 0 },
    });
    const { rows } = await rowsOf(page);
    expect(rows.map(({ prompt, logged, mean }) => [prompt, logged?.split, mean])).toEqual([
      ["third", "eval", 3],
      ["first", "train", 0.5],
      ["second", "train", 0.5],
    ]);
    const group = await groupOf(page, 2);
    expect(group).toMatchObject({ logged: { model: "gpt-4o", split: "train" } });
    const ids = group.logged?.callIds ?? [];
    expect(group.command).toBe(`rollcall call read ${ids.join(" ")} --local`);
    const read = await runRollcall(["call", "read", ids[1] ?? "", "--local", "--json"], { env });
    expect(JSON.parse(read.stdout).call).toMatchObject({ id: ids[1], attributes: { reward: 1, split: "train" } });
    const { body } = await page.ask("/api/trajectory", { group: 2, trajectory: 2 });
    expect(JSON.parse(body).messages_and_choices[0].content).toBe("first");
  });

  it("shows only trajectories that match --where, with their own call ids", async () => {
    const env = await logged({ train: `${groupLine([0, 1])}\n${groupLine([0, 0])}\n`, eval: groupLine([0.2, 3]) });
    const page = await startPageServer([...view, "--where", "reward > 0.5 && group.number < 3"], { env });
    expect((await whenRead(page)).summary?.filteredOut).toEqual([{ by: "where", trajectories: 4, groups: 1 }]);
    const { rows } = await rowsOf(page);
    expect(rows.map(({ logged, rewards }) => [logged?.split, rewards])).toEqual([
      ["eval", [3]],
      ["train", [1]],
    ]);
    const ids = (await groupOf(page, 2)).logged?.callIds ?? [];
    const read = await runRollcall(["call", "read", ...ids, "--local", "--json"], { env });
    expect(JSON.parse(read.stdout).call).toMatchObject({ id: ids[0], attributes: { reward: 1 } });
  });

  it("serves a page without groups if nothing was logged, and reads new calls on reload", async () => {
    const env = newHome();
    const page = await startPageServer(view, { env });
    expect((await whenRead(page)).summary?.groups.read).toBe(0);
    await asked(page.url, "/");
    expect((await whenRead(page)).summary?.groups.read).toBe(0);
    const stdin = groupLine([1]);
    await runRollcall(["log", "gpt-4o", "-", "--split", "train", "--local", "--no-ledger"], { env, stdin });
    await asked(page.url, "/");
    expect((await whenRead(page)).summary?.groups.read).toBe(1);
  });

  it("redacts the keys of the run", async () => {
    const env = await logged({ train: groupLine([1], { prompt: "key-1234" }) });
    const page = await startPageServer(view, { env: { ...env, ROLLCALL_API_KEY: "key-1234" } });
    await whenRead(page);
    expect((await page.ask("/api/trajectory", { group: 1, trajectory: 1 })).body).not.toContain("key-1234");
    expect((await page.ask("/api/rows")).body).not.toContain("key-1234");
  });
});

describe.skipIf(chromium === undefined)("the page of rollcall view --local", { tags: "browser" }, () => {
  it("has columns for model, split and batch, and the id of each trajectory's call", async () => {
    const env = newHome();
    const log = ["log", "gpt-4o", "-", "--split", "train", "--batch", "step-7", "--local"];
    await runRollcall(log, { env, stdin: groupLine([0, 1]) });
    const served = await startPageServer(view, { env });
    const { page } = await openServedPage(served);
    for (const [name, text] of Object.entries({ model: "gpt-4o", split: "train", batch: "step-7" })) {
      await page.getByRole("columnheader", { name }).waitFor();
      expect(await page.locator(`td[data-name="${name}"]`).innerText()).toBe(text);
    }
    await page.goto(`${served.url}/${addressOf({ group: 1 })}`);
    await page.getByText("logged to gpt-4o as train").waitFor();
    await page.getByRole("columnheader", { name: "call" }).waitFor();
    await page.getByText("read the calls of this group").click();
    await page.getByText("rollcall call read").waitFor();
  });
});
