import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { readHead } from "../../src/calls/index.ts";
import { type CallRead, CallTable } from "../../src/view/calls.ts";
import type { CallDetail, CallRows, CallSelection } from "../../src/view/index.ts";
import { newHome, runRollcall } from "../support/run.ts";
import { asked, groupLine, serving, type Viewing, whenRead } from "./viewing.ts";

/** A home whose local service was logged to. */
const logged = async (...lines: readonly string[]) => {
  const env = newHome();
  for (const stdin of lines) {
    const ran = await runRollcall(["log", "gpt-4o", "-", "--split", "train", "--local"], { env, stdin });
    expect(ran.code).toBe(0);
  }
  return env;
};

const rowsOf = async (page: Viewing, query = ""): Promise<CallRows> =>
  JSON.parse((await page.ask(`/api/calls${query}`)).body);
const callOf = async (page: Viewing, id: string): Promise<CallDetail> =>
  JSON.parse((await page.ask(`/api/calls/${encodeURIComponent(id)}`)).body);

describe("rollcall view --local", () => {
  it("exits with 2 for --html, and names commands that write a page with its calls", async () => {
    const env = await logged(`${groupLine([1, 0])}\n`);
    const file = join(newHome().HOME, "page.html");
    const refused = await runRollcall(["view", "--local", "--html", file], { env });
    expect([refused.code, refused.stderr]).toEqual([
      2,
      "rollcall: --local without files and --html can't go together: it is about files of rollouts\n" +
        "hint: a page in a file shows trajectories: rollcall ledger calls --local | rollcall call read - --local --as trajectory | rollcall view - --html <file>\n",
    ]);
    const ids = await runRollcall(["ledger", "calls", "--local"], { env });
    const read = await runRollcall(["call", "read", "-", "--local", "--as", "trajectory"], { env, stdin: ids.stdout });
    const written = await runRollcall(["view", "-", "--html", file], { env, stdin: read.stdout });
    expect([ids.code, read.code, written.code]).toEqual([0, 0, 0]);
    expect(readFileSync(file, "utf8")).toContain("<html");
  });

  it("lists all calls of the local service, the newest first, and shows one as it was logged", async () => {
    const env = await logged(groupLine([0, 1], { prompt: "first" }), groupLine([0.5], { prompt: "second" }));
    const page = await serving(["view", "--local", "--no-open"], { env });
    expect((await whenRead(page)).calls).toEqual({
      from: "local/local, the local service",
      unread: 0,
      stopped: null,
    });
    const { rows, selected, of } = await rowsOf(page);
    expect([selected, of, rows.length]).toEqual([3, 3, 3]);
    const [newest] = rows;
    expect(newest?.facts).toMatchObject({
      name: "gpt-4o (train)",
      op: "rollcall.log",
      model: "gpt-4o",
      status: "ok",
      tokens: null,
      cost: null,
    });
    const call = await callOf(page, newest?.id ?? "");
    expect(call).toMatchObject({ at: 0, of: 3, before: null, after: rows[1]?.id });
    expect(call.command).toBe(`rollcall call read ${call.id} --local`);
    expect(call.lines).toContainEqual({ label: "reward", text: "0.5" });
    expect(JSON.parse(call.json).inputs.messages[0].content).toBe("second");
    expect(JSON.parse(call.trajectory ?? "")).toMatchObject({ reward: 0.5, metrics: { turns: 0 } });
    const read = await runRollcall(["call", "read", call.id, "--local", "--path", "inputs"], { env });
    expect(call.json).toContain(read.stdout.trim());
  });

  it("serves a page without calls if nothing was logged, and searches the text of calls", async () => {
    const empty = await serving(["view", "--local", "--no-open"]);
    await whenRead(empty);
    expect(await rowsOf(empty)).toMatchObject({ selected: 0, of: 0, rows: [] });
    const page = await serving(["view", "--local", "--no-open"], {
      env: await logged(groupLine([0], { prompt: "say hi" }), groupLine([1], { prompt: "grüße" })),
    });
    await whenRead(page);
    expect((await rowsOf(page, `?text=${encodeURIComponent("grüße")}`)).selected).toBe(1);
    expect((await rowsOf(page, "?text=nowhere")).selected).toBe(0);
    expect((await rowsOf(page, "?text=rollcall.log")).selected).toBe(2);
  });

  it("filters and sorts its calls, and answers 400 or 404 for unknown columns and calls", async () => {
    const page = await serving(["view", "--local", "--no-open"], { env: await logged(groupLine([0, 1, 2])) });
    await whenRead(page);
    const ids = (await rowsOf(page)).rows.map(({ id }) => id);
    expect((await rowsOf(page, "?descending=true")).rows.map(({ id }) => id)).toEqual(ids.toReversed());
    expect((await rowsOf(page, "?status=ok&from=1&count=1")).rows.map(({ id }) => id)).toEqual(ids.slice(1, 2));
    expect((await rowsOf(page, "?status=failed")).selected).toBe(0);
    expect((await page.ask("/api/calls?sort=nothing")).status).toBe(400);
    expect((await page.ask("/api/calls/d")).status).toBe(404);
  });

  it("redacts the keys of the run in calls", async () => {
    const env = await logged(groupLine([1], { prompt: "key-1234" }));
    const page = await serving(["view", "--local", "--no-open"], { env: { ...env, ROLLCALL_API_KEY: "key-1234" } });
    await whenRead(page);
    const [row] = (await rowsOf(page)).rows;
    expect((await page.ask(`/api/calls/${row?.id}`)).body).not.toContain("key-1234");
    expect((await rowsOf(page, "?text=key-1234")).selected).toBe(0);
  });

  it("answers 401 without the token, and with a wrong one", async () => {
    const page = await serving(["view", "--local", "--no-open"], { env: await logged(groupLine([1])) });
    const [row] = (await rowsOf(page)).rows;
    for (const path of ["/api/calls", `/api/calls/${row?.id}`]) {
      expect((await asked(page.url, path)).status).toBe(401);
      expect((await asked(page.url, path, { headers: { Authorization: `Bearer ${page.token}x` } })).status).toBe(401);
    }
  });

  it.each<[words: string[], says: string]>([
    [["--group-by", "task"], "--group-by"],
    [["--where", "reward > 0.5"], "--where"],
    [["--port", "x"], "--port"],
  ])("exits with 2 for %j before it serves anything", async (words, says) => {
    const ran = await runRollcall(["view", "--no-open", "--local", ...words]);
    expect(ran).toMatchObject({ code: 2, stdout: "" });
    expect(ran.stderr).toContain(says);
  });
});

describe("the table of calls", () => {
  const sample = (name: string) => JSON.parse(readFileSync(`test/samples/${name}.json`, "utf8")).call;
  const unread = (why: string, stops = false): CallRead => ({ kind: "unread", why, stops });
  const tableOf = (ids: readonly string[], read: (id: string) => Promise<CallRead>) =>
    new CallTable({ from: "team/project", ids, atOnce: 8, vendorPrefix: "vendor", commandOf: (id) => id, read });
  const usual = { sort: "call", descending: false } as const;
  const all = { from: 0, most: 100 };

  it("has the facts of each call, and sorts by them", async () => {
    const calls: Record<string, object> = { a: sample("call"), b: sample("call.exception") };
    const table = tableOf(["a", "b"], async (id) => {
      const json = Buffer.from(JSON.stringify({ id, ...calls[id] }));
      return { kind: "found", json, head: readHead(json), lines: () => [] };
    });
    await expect.poll(() => table.progress().phase).toBe("read");
    const [a, b] = table.rows(usual, all).rows;
    expect(a).toMatchObject({
      id: "a",
      why: null,
      facts: { op: "openai.chat.completions.create", status: "ok", tokens: 1894, cost: "0.0048925" },
    });
    expect(b?.facts).toMatchObject({ status: "failed", tokens: null, cost: null });
    const idsBy = (chosen: Partial<CallSelection>) => table.rows({ ...usual, ...chosen }, all).rows.map(({ id }) => id);
    expect(idsBy({ sort: "tokens", descending: true })).toEqual(["a", "b"]);
    expect(idsBy({ sort: "tokens" })).toEqual(["a", "b"]);
    expect(idsBy({ sort: "duration" })).toEqual(["b", "a"]);
    expect(idsBy({ status: "failed" })).toEqual(["b"]);
  });

  it("marks a call that cannot be read, and reads it again when it is opened", async () => {
    const answers = [unread("not now")];
    const table = tableOf(["a"], async () => answers.shift() ?? unread("not then"));
    await expect.poll(() => table.summary()).toMatchObject({ unread: 1, stopped: null });
    expect(table.rows({ ...usual, status: "unread" }, all).rows).toEqual([{ id: "a", facts: null, why: "not now" }]);
    expect(await table.call("a")).toMatchObject({ why: "not then", json: "", trajectory: null });
    expect(await table.call("b")).toBeUndefined();
  });

  it("counts a call as unread until it is read, however often that fails", async () => {
    const json = Buffer.from('{"id":"a"}');
    const found: CallRead = { kind: "found", json, head: readHead(json), lines: () => [] };
    const answers = [unread("not now"), unread("not then"), found];
    const table = tableOf(["a"], async () => answers.shift() ?? found);
    for (const count of [1, 1, 0]) {
      await expect.poll(() => table.progress().phase).toBe("read");
      expect(table.summary().unread).toBe(count);
      await table.call("a");
    }
  });

  it("stops if all further calls would fail the same way", async () => {
    const ids = Array.from({ length: 20 }, (_, at) => `${at}`);
    let asked = 0;
    const table = tableOf(ids, async () => unread(`no ${++asked}`, true));
    await expect.poll(() => table.progress().phase).toBe("read");
    expect([table.summary().stopped, asked, table.rows(usual, all).rows.length]).toEqual(["no 1", 8, 20]);
  });

  it("reads at most eight calls at a time, those on the screen first", async () => {
    const asked: string[] = [];
    const waiting: ((read: CallRead) => void)[] = [];
    const ids = Array.from({ length: 40 }, (_, at) => `id-${at}`);
    const table = tableOf(ids, async (id) => {
      asked.push(id);
      return await new Promise<CallRead>((resolve) => waiting.push(resolve));
    });
    expect(table.rows(usual, { from: 30, most: 3 }).rows.map(({ facts }) => facts)).toEqual([null, null, null]);
    expect(asked).toHaveLength(8);
    for (const answer of waiting.splice(0, 3)) answer(unread("no"));
    await expect.poll(() => asked.slice(8)).toEqual(["id-30", "id-31", "id-32"]);
    await expect
      .poll(() => {
        for (const answer of waiting.splice(0)) answer(unread("no"));
        return table.summary().unread;
      })
      .toBe(40);
  });
});
