/** `rollcall serve` answers log requests in a thread, which only the built program has. */
import { once } from "node:events";
import { request as httpRequest } from "node:http";
import { join } from "node:path";
import Connection from "libsql";
import { describe, expect, it, onTestFinished } from "vitest";
import { startRollcall } from "../support/run.ts";
import { newDataDir, openTestService, reply, request, trajectory } from "./open.ts";

const logPath = "/v1/preview/models/m/log";

const startService = async (nodeOptions = "") => {
  const [key, dataDir] = ["key-of-the-service-1234", newDataDir()];
  const env = { ROLLCALL_LOCAL_KEY: key, NODE_OPTIONS: nodeOptions };
  const child = startRollcall(["serve", "--port", "0", "--data-dir", dataDir], { env });
  const ended = once(child, "close");
  const stop = async () => {
    child.kill();
    const [code] = await ended;
    return code;
  };
  onTestFinished(async () => void (await stop()));
  let printed = "";
  const findUrl = () => /http:\/\/[\d.:]+/.exec(printed)?.[0];
  child.stderr.on("data", (chunk) => {
    printed += String(chunk);
  });
  await expect.poll(findUrl).toBeDefined();
  const url = findUrl() ?? "";
  const headers = { Authorization: `Bearer ${key}`, "Content-Type": "application/json" };
  const log = (body: string, more: Record<string, string> = {}) =>
    reply(url + logPath, { method: "POST", headers: { ...headers, ...more }, body });
  const models = () => reply(`${url}/v1/models`, { headers });
  return { url, headers, dataDir, log, models, stop, said: () => printed };
};

const valid = JSON.stringify(request(trajectory(1)));

describe("the thread for log requests", () => {
  it("lets the service answer while a log request waits for the lock of the store", async () => {
    const { dataDir, log, models } = await startService();
    expect((await log(valid)).status).toBe(200);
    const other = new Connection(join(dataDir, "local.db"), { timeout: 10_000 });
    other.exec("BEGIN IMMEDIATE");
    let isLogged = false;
    const logged = log(valid).finally(() => {
      isLogged = true;
    });
    for (let count = 0; count < 20; count++) expect((await models()).status).toBe(200);
    expect(isLogged).toBe(false);
    other.exec("ROLLBACK");
    expect((await logged).status).toBe(200);
    other.close();
  });

  it("lets the service answer while it reads a large body", { tags: "slow" }, async () => {
    const { url, headers, models } = await startService();
    const body = `{"split":"a","trajectory_groups":[${"1,".repeat(30_000_000)}1]}`;
    let status: number | undefined;
    const outgoing = httpRequest(url + logPath, { method: "POST", headers, agent: false });
    const answered = once(outgoing, "response").then(([response]) => {
      response.resume();
      status = response.statusCode;
    });
    await new Promise<void>((resolve) => outgoing.end(body, resolve));
    let count = 0;
    for (; status === undefined; count++) expect((await models()).status).toBe(200);
    await answered;
    expect([status, count > 10]).toEqual([422, true]);
  });

  it("answers as the service of --local", async () => {
    const [inProcess, service] = [await openTestService(), await startService()];
    const faulty = {
      split: 1,
      trajectory_groups: Array.from({ length: 300 }, () => ({ trajectories: [{ tools: 1 }] })),
    };
    const withKey = { "Idempotency-Key": "one" };
    const bodies: readonly (readonly [body: string, headers?: Record<string, string>])[] = [
      [valid],
      [JSON.stringify(faulty)],
      [""],
      ['{"split":{"__proto__":{"x":[-0,1e999]}},"trajectory_groups":[]}'],
      [`{"split":"a","trajectory_groups":{"x":[${"{},".repeat(2 ** 22)}{}]}}`],
      [valid, withKey],
      [valid, withKey],
      [JSON.stringify(request(trajectory(2))), withKey],
      [valid, { "Idempotency-Key": "x".repeat(256) }],
    ];
    const ids = /[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f-]{21}/g;
    for (const [body, headers = {}] of bodies) {
      const [expected, got] = [await inProcess.log(body, { headers }), await service.log(body, headers)];
      expect([got.status, got.text.replaceAll(ids, "id")]).toEqual([
        expected.status,
        expected.text.replaceAll(ids, "id"),
      ]);
    }
  });

  it("gives the first answer again for a repeated Idempotency-Key", async () => {
    const { log } = await startService();
    const headers = { "Idempotency-Key": "one" };
    expect((await log(valid, headers)).text).toBe((await log(valid, headers)).text);
  });

  it("is replaced after its memory was full, which one request gets as 500", { tags: "slow" }, async () => {
    const { log, models, said, stop } = await startService("--max-old-space-size=64");
    const tools = '{"a":1},'.repeat(2 ** 21);
    const large = `{"split":"a","trajectory_groups":[{"trajectories":[{"messages_and_choices":1,"tools":[${tools}1]}]}]}`;
    const failed = await log(large);
    expect([failed.status, failed.headers.get("retry-after")]).toEqual([500, null]);
    expect(said()).toContain("the thread for log requests ended: Worker terminated due to reaching memory limit");
    expect((await models()).body.data).toEqual([]);
    expect((await log(valid)).status).toBe(200);
    expect(await stop()).toBe(0);
  });
});
