import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { CallDetail, CallRows } from "../../src/view/index.ts";
import { newHome, runRollcall } from "../support/run.ts";
import { json, listening, scriptedServer } from "../support/server.ts";
import { asked, groupLine, serving, type Viewing, whenRead } from "./viewing.ts";

const project = "acme-travel/airline-agent";
const sample = (name: string) => JSON.parse(readFileSync(`test/samples/${name}.json`, "utf8")).call;

/** A service that has calls by their ids, each asked for any number of times; what is no object is the whole reply. */
const serviceOf = async (calls: Readonly<Record<string, object | number>>, { times = 1 } = {}) => {
  const exchanges = Object.entries(calls).flatMap(([id, call]) =>
    Array.from({ length: times }, () => ({
      when: ({ body }: { readonly body: Buffer }) => JSON.parse(body.toString()).id === id,
      answer: typeof call === "number" ? json({ reason: "not now" }, call) : json({ call: { id, ...call } }),
    })),
  );
  const server = await scriptedServer([...exchanges]);
  const env = { ROLLCALL_BASE_URL: server.url, ROLLCALL_API_KEY: "key-1234", ROLLCALL_PROJECT: project };
  return { server, env: { ...newHome(), ...env } };
};

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
  it("says how its calls come into a page that is a file, and they do", async () => {
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
    const named = await runRollcall(["view", "--calls", "a", "--html", file], { env });
    expect(named.stderr).toContain("rollcall call read <id…> --as trajectory | rollcall view - --html <file>\n");
  });

  it("lists all calls of the local service, the newest first, and shows one as it was logged", async () => {
    const env = await logged(groupLine([0, 1], { prompt: "first" }), groupLine([0.5], { prompt: "second" }));
    const page = await serving(["view", "--local", "--no-open"], { env });
    expect((await whenRead(page)).calls).toEqual({
      from: "local/local, the local service",
      unread: 0,
      stopped: null,
      costs: true,
      sizes: true,
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

  it("has a page without calls where nothing was logged, and is searched for what stands in them", async () => {
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

  it("reads the calls that are named with --calls, each once", async () => {
    const env = await logged(groupLine([0, 1, 2]));
    const all = await serving(["view", "--local", "--no-open"], { env });
    const ids = (await rowsOf(all)).rows.map(({ id }) => id);
    const page = await serving(["view", "--no-open", "--local", "--calls", "-"], {
      env,
      stdin: `${ids[2]}\n${ids[0]}\n${ids[2]}\n`,
    });
    await whenRead(page);
    expect((await rowsOf(page)).rows.map(({ id }) => id)).toEqual([ids[2], ids[0]]);
  });
});

describe("rollcall view --calls", () => {
  it("has the facts of each call, and names what can't be read beside the rest", async () => {
    const { env } = await serviceOf({ a: sample("call"), b: sample("call.exception"), c: 403 });
    const page = await serving(["view", "--no-open", "--calls", "a", "b", "c"], { env });
    expect((await whenRead(page)).calls).toMatchObject({ unread: 1, stopped: null });
    const { rows } = await rowsOf(page);
    expect(rows[0]).toMatchObject({
      id: "a",
      why: null,
      facts: { op: "openai.chat.completions.create", status: "ok", tokens: 1894, cost: "0.0048925" },
    });
    expect(rows[1]?.facts).toMatchObject({ status: "failed", tokens: null, cost: null });
    expect(rows[2]).toMatchObject({ id: "c", facts: null, why: expect.stringContaining("403") });
    expect((await rowsOf(page, "?sort=tokens&descending=true")).rows.map(({ id }) => id)).toEqual(["a", "b", "c"]);
    expect((await rowsOf(page, "?sort=duration")).rows.map(({ id }) => id)).toEqual(["b", "a", "c"]);
    expect((await rowsOf(page, "?status=failed")).rows.map(({ id }) => id)).toEqual(["b"]);
    expect((await rowsOf(page, "?status=unread")).rows.map(({ id }) => id)).toEqual(["c"]);
    expect((await page.ask("/api/calls?sort=nothing")).status).toBe(400);
    expect((await page.ask("/api/calls/d")).status).toBe(404);
  });

  it("reads a call when it is looked at, and asks for costs and sizes", async () => {
    const { env, server } = await serviceOf({ a: sample("call") }, { times: 2 });
    const page = await serving(["view", "--no-open", "--calls", "a"], { env });
    await whenRead(page);
    expect(server.received).toHaveLength(1);
    expect((await callOf(page, "a")).lines[0]).toMatchObject({ label: "status", text: "ok" });
    expect(server.received).toHaveLength(2);
    expect(JSON.parse(String(server.received[1]?.body))).toMatchObject({
      include_costs: true,
      include_storage_size: true,
    });
  });

  it("blots out the keys of the run, whatever holds them", async () => {
    const held = { ...sample("call"), attributes: { "key-1234": "key-1234", basic: btoa("api:key-1234") } };
    const { env } = await serviceOf({ a: held }, { times: 2 });
    const page = await serving(["view", "--no-open", "--calls", "a"], { env });
    await whenRead(page);
    const { body } = await page.ask("/api/calls/a");
    expect(body).not.toContain("key-1234");
    expect(body).not.toContain(btoa("api:key-1234"));
    expect((await rowsOf(page, "?text=key-1234")).selected).toBe(0);
  });

  it("reads at most eight at the same time, those on the screen first", async () => {
    const asked: string[] = [];
    const waiting: (() => void)[] = [];
    const server = createServer(async (incoming, response) => {
      const chunks: Buffer[] = [];
      for await (const chunk of incoming) chunks.push(chunk);
      const { id } = JSON.parse(Buffer.concat(chunks).toString());
      asked.push(id);
      waiting.push(() => {
        response.writeHead(200, { "content-type": "application/json" });
        response.end(JSON.stringify({ call: { id } }));
      });
    });
    const { url } = await listening(server);
    const env = { ROLLCALL_BASE_URL: url, ROLLCALL_API_KEY: "key-1234", ROLLCALL_PROJECT: project };
    const ids = Array.from({ length: 40 }, (_, at) => `id-${at}`);
    const page = await serving(["view", "--no-open", "--calls", ...ids], { env });
    await expect.poll(() => asked.length).toBe(8);
    expect((await rowsOf(page, "?from=30&count=3")).rows.map(({ facts }) => facts)).toEqual([null, null, null]);
    expect(asked).toHaveLength(8);
    for (const answer of waiting.splice(0, 3)) answer();
    await expect.poll(() => asked.length).toBe(11);
    expect(asked.slice(8).sort()).toEqual(["id-30", "id-31", "id-32"]);
    const answering = setInterval(() => {
      for (const answer of waiting.splice(0)) answer();
    }, 1);
    await whenRead(page);
    clearInterval(answering);
    expect(asked).toHaveLength(40);
  });

  it("stops where all further calls would end the same way", async () => {
    const { env } = await serviceOf({ a: 401 });
    const ids = Array.from({ length: 20 }, (_, at) => `${at}`);
    const one = await serving(["view", "--no-open", "--calls", "a"], { env });
    expect((await whenRead(one)).calls?.stopped).toContain("401");
    const closed = await serving(["view", "--no-open", "--calls", ...ids], {
      env: { ...env, ROLLCALL_BASE_URL: "http://127.0.0.1:1" },
    });
    expect((await whenRead(closed)).calls?.stopped).toEqual(expect.any(String));
    expect((await rowsOf(closed)).rows).toHaveLength(20);
  });

  it("is told nothing of calls without the token", async () => {
    const page = await serving(["view", "--local", "--no-open"], { env: await logged(groupLine([1])) });
    const [row] = (await rowsOf(page)).rows;
    for (const path of ["/api/calls", `/api/calls/${row?.id}`]) {
      expect((await asked(page.url, path)).status).toBe(401);
      expect((await asked(page.url, path, { headers: { Authorization: `Bearer ${page.token}x` } })).status).toBe(401);
    }
  });

  it.each<[words: string[], code: number, says: string]>([
    [["--calls", "a", "--where", "reward > 0.5"], 2, "--where"],
    [["--local", "--group-by", "task"], 2, "--group-by"],
    [["--calls", "a", "--port", "x"], 2, "--port"],
    [["--calls", "-"], 3, "call id"],
    [["--calls", ""], 2, "id"],
  ])("ends %j with exit code %i before anything is served", async (words, code, says) => {
    const { env } = await serviceOf({});
    const ran = await runRollcall(["view", "--no-open", ...words], { env });
    expect(ran).toMatchObject({ code, stdout: "" });
    expect(ran.stderr).toContain(says);
  });
});

describe("rollcall call read --web", () => {
  it("shows the calls that it would read, and asks for no more than it would", async () => {
    const { env, server } = await serviceOf({
      a: sample("call"),
      b: sample("call.exception"),
      c: sample("call.tools"),
    });
    const page = await serving(["call", "read", "a", "b", "c", "--failed", "--web"], { env });
    await whenRead(page);
    const { rows, selected, of } = await rowsOf(page);
    expect([rows.map(({ id }) => id), selected, of]).toEqual([["b"], 1, 1]);
    expect(page.printed()).toBe(`${page.address}\n`);
    const { include_costs, include_storage_size } = JSON.parse(String(server.received[0]?.body));
    expect([include_costs, include_storage_size]).toEqual([false, false]);
  });

  it("is served at a port that is asked for, opens no browser where none is wanted, and says of neither without a page", async () => {
    const { env } = await serviceOf({ a: sample("call") }, { times: 2 });
    const words = ["call", "read", "a", "--web"];
    const first = await serving([...words, "--no-open"], { env: { ...env, DISPLAY: ":0", PATH: "/no-such-folder" } });
    const { port } = new URL(first.url);
    await whenRead(first);
    first.child.kill("SIGINT");
    expect(await first.ended).toBe(0);
    expect(first.said()).not.toContain("browser");
    const second = await serving([...words, "--no-open", "--port", port], { env });
    expect(second.url).toBe(first.url);
    await whenRead(second);
    for (const option of [["--no-open"], ["--port", port]]) {
      const ran = await runRollcall(["call", "read", "a", ...option], { env });
      expect(ran).toMatchObject({ code: 2, stdout: "", stderr: expect.stringContaining("--web") });
    }
  });

  it("leaves contents out with --no-content", async () => {
    const { env } = await serviceOf({ a: sample("call.tools") }, { times: 2 });
    const page = await serving(["call", "read", "a", "--no-content", "--costs", "--web"], { env });
    await whenRead(page);
    const { facts, json: text, lines } = await callOf(page, "a");
    expect(facts).toMatchObject({ status: "ok", cost: expect.any(String) });
    expect(JSON.parse(text)).not.toHaveProperty("inputs");
    expect(lines).toContainEqual(expect.objectContaining({ label: "inputs" }));
  });

  it.each([
    ["--summary", "--web"],
    ["--as", "messages", "--web"],
    ["--wait", "--web"],
    ["--fields", "id", "--web"],
  ])("does not go with %s", async (...words) => {
    const { env } = await serviceOf({});
    expect(await runRollcall(["call", "read", "a", ...words], { env })).toMatchObject({ code: 2, stdout: "" });
  });
});
