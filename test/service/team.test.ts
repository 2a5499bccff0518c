/** Several services on one database that can become unavailable, and services that are stopped. */
import type { ChildProcessWithoutNullStreams } from "node:child_process";
import { once } from "node:events";
import { request as httpRequest } from "node:http";
import { connect, createServer, type Socket } from "node:net";
import { createInterface } from "node:readline";
import { describe, expect, it, onTestFinished } from "vitest";
import { hasPostgres, newDatabase, startOwnServer } from "../support/postgres.ts";
import { endOf, newHome, runRollcall, startRollcall } from "../support/run.ts";
import { listenOnLoopback } from "../support/server.ts";
import { basic, callIds, idsOf, openTestService, type Reply, reply, request, trajectory } from "./open.ts";

interface Process {
  readonly child: ChildProcessWithoutNullStreams;
  readonly url: string;
  readonly lines: readonly Record<string, unknown>[];
}

const key = "a-key-of-this-service";

const serve = async (store: string | undefined, more: Readonly<Record<string, string>> = {}): Promise<Process> => {
  const env = { ...newHome(), ROLLCALL_LOCAL_KEY: key, ROLLCALL_STORE: store, ...more };
  const child = startRollcall(["serve", "--port", "0", "--log", "json"], { env });
  onTestFinished(() => void child.kill("SIGKILL"));
  const lines: Record<string, unknown>[] = [];
  const first = once(child.stderr, "data");
  createInterface({ input: child.stderr }).on("line", (line) => lines.push(JSON.parse(line)));
  await first;
  await expect.poll(() => lines.length).toBeGreaterThan(0);
  return { child, lines, url: String(lines[0]?.url) };
};

const log = async (
  { url }: { readonly url: string },
  reward = 1,
  own = key,
  headers: Record<string, string> = {},
): Promise<Reply> =>
  await reply(`${url}/v1/preview/models/m/log`, {
    method: "POST",
    headers: { Authorization: `Bearer ${own}`, "Content-Type": "application/json", ...headers },
    body: JSON.stringify(request(trajectory(reward))),
  });

const read = async ({ url }: Process, id: string): Promise<Reply> =>
  await reply(`${url}/call/read`, {
    method: "POST",
    headers: { Authorization: basic(key), "Content-Type": "application/json" },
    body: JSON.stringify({ project_id: "local/local", id }),
  });

describe.skipIf(!hasPostgres)("services of one database in PostgreSQL", { timeout: 120_000, tags: "database" }, () => {
  it("ask credential_command for the password of the database", async () => {
    const store = await newDatabase("guarded");
    const service = await serve(store, { ROLLCALL_CREDENTIAL_COMMAND: `node -p '"secret"'` });
    expect((await log(service)).status).toBe(200);
  });

  it("share an empty database that they open at once", async () => {
    const store = await newDatabase();
    const [one, other] = await Promise.all([serve(store), serve(store)]);
    const [id = ""] = idsOf(await log(one, 7));
    expect((await read(other, id)).body.call).toMatchObject({ id, attributes: { reward: 7 } });
  });

  it("store one of several requests with equal keys that they get at once", async () => {
    const store = await newDatabase();
    const services = await Promise.all([serve(store), serve(store)]);
    const logAtOnce = async (own: string, rewards: readonly number[]) => {
      const headers = { "Idempotency-Key": own };
      const sent = rewards.flatMap((reward) => services.map((service) => log(service, reward, key, headers)));
      return await Promise.all(sent);
    };
    const equal = await logAtOnce("equal", Array(10).fill(1));
    expect(new Set(equal.map(({ status, text }) => `${status} ${text}`)).size).toBe(1);
    const [answer] = equal;
    const different = await logAtOnce("different", [1, 2, 1, 2, 1, 2]);
    const accepted = different.filter(({ status }) => status === 200);
    expect(different.filter(({ status }) => status === 422)).toHaveLength(6);
    expect(new Set(accepted.map(({ text }) => text)).size).toBe(1);
    const again = await openTestService({ store: { path: store, password: undefined } });
    const stored = [accepted[0], answer].flatMap((one) => (one === undefined ? [] : idsOf(one)));
    expect(await callIds(again.service)).toEqual(stored);
    const ended = services.flatMap(({ lines }) => lines.filter(({ event }) => event === "request"));
    expect(ended.filter(({ stored_bytes }) => Number(stored_bytes) > 0)).toHaveLength(2);
  });

  it("answer 503 and store nothing while the database is unavailable, and then continue", {
    tags: "slow",
  }, async () => {
    const server = await startOwnServer({ onTestFinished });
    const store = server.address;
    const service = await serve(store);
    const [before = ""] = idsOf(await log(service, 1));
    server.stopNow();
    try {
      const refused = await Promise.all([log(service, 2), log(service, 3)]);
      for (const { status, headers } of refused) expect([status, headers.get("retry-after")]).toEqual([503, "5"]);
      expect((await reply(`${service.url}/readyz`)).status).toBe(503);
      expect((await reply(`${service.url}/healthz`)).status).toBe(200);
    } finally {
      server.start();
    }
    await expect.poll(async () => (await reply(`${service.url}/readyz`)).status, { timeout: 20_000 }).toBe(200);
    const [after = ""] = idsOf(await log(service, 4));
    for (const id of [before, after]) expect((await read(service, id)).body.call).toMatchObject({ id });
    const again = await openTestService({ store: { path: store, password: undefined } });
    expect(await callIds(again.service)).toEqual([after, before]);
  });
});

/** Opens a proxy to the database that loses the answers to commits. */
const openWay = async (to: number): Promise<{ readonly port: number; lose(times: number): void }> => {
  let left = 0;
  const sockets = new Set<Socket>();
  const server = createServer((near) => {
    const far = connect(to, "127.0.0.1");
    for (const socket of [near, far]) {
      sockets.add(socket);
      socket
        .on("error", () => undefined)
        .on("close", () => {
          near.destroy();
          far.destroy();
        });
    }
    near.on("data", (chunk: Buffer) => {
      far.write(chunk);
      if (left === 0 || !/COMMIT(?!TED)/.test(chunk.toString("latin1"))) return;
      left--;
      far.removeAllListeners("data");
      // The commit ends before the connection.
      far.once("data", () => near.destroy());
    });
    far.on("data", (chunk: Buffer) => void near.write(chunk));
  });
  const { port } = await listenOnLoopback(server);
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return {
    port,
    lose: (times) => {
      left = times;
    },
  };
};

describe.skipIf(!hasPostgres)(
  "a request whose commit is not answered by PostgreSQL",
  { timeout: 60_000, tags: "database" },
  () => {
    it("has one stored copy and an answer if the store can be asked again", async () => {
      const address = new URL(await newDatabase());
      const way = await openWay(Number(address.port));
      const path = address.href.replace(address.port, String(way.port));
      const { log: logged, service } = await openTestService({ store: { path, password: undefined } });
      way.lose(1);
      const reply = await logged(request(trajectory(1)));
      expect(reply.status).toBe(200);
      expect(await callIds(service)).toEqual(idsOf(reply));
    });

    it("gets a 500 without Retry-After if the store cannot be asked again", { tags: "slow" }, async () => {
      const address = new URL(await newDatabase());
      const way = await openWay(Number(address.port));
      const path = address.href.replace(address.port, String(way.port));
      const { log: logged, service } = await openTestService({ store: { path, password: undefined } });
      way.lose(1000);
      const reply = await logged(request(trajectory(1)));
      expect([reply.status, reply.headers.get("retry-after")]).toEqual([500, null]);
      way.lose(0);
      expect(await callIds(service)).toHaveLength(1);
    });
  },
);

describe("a service that is stopped", { timeout: 60_000 }, () => {
  it("reports that it is not ready, answers requests in flight, and exits with 0", async () => {
    const service = await serve(undefined);
    const body = JSON.stringify(request(trajectory(1)));
    const answered = new Promise<number | undefined>((resolve, reject) => {
      const headers = {
        Authorization: `Bearer ${key}`,
        "Content-Type": "application/json",
        "Content-Length": body.length,
        Expect: "100-continue",
      };
      const outgoing = httpRequest(
        `${service.url}/v1/preview/models/m/log`,
        { method: "POST", headers },
        (response) => {
          response.resume();
          resolve(response.statusCode);
        },
      );
      outgoing.on("error", reject).on("continue", async () => {
        service.child.kill("SIGTERM");
        await expect.poll(() => service.lines.at(-1)?.event).toBe("stopping");
        expect(await reply(`${service.url}/readyz`)).toMatchObject({ status: 503, body: { status: "stopping" } });
        expect(await reply(`${service.url}/v1/models?a=b`)).toMatchObject({ status: 503 });
        outgoing.end(body);
      });
      outgoing.flushHeaders();
    });
    const ended = endOf(service.child);
    expect(await answered).toBe(200);
    expect((await ended).code).toBe(0);
    const events = service.lines.map(({ event, operation, status }) =>
      [event, operation, status].filter(Boolean).join(" "),
    );
    expect(events).toEqual([
      "listening",
      "stopping",
      "request ready 503",
      "request list_models 503",
      "request log_trajectories 200",
      "stopped",
    ]);
    expect(service.lines.find(({ operation }) => operation === "log_trajectories")).toEqual({
      time: expect.stringMatching(/^\d{4}-.*Z$/),
      event: "request",
      id: expect.any(String),
      operation: "log_trajectories",
      method: "POST",
      status: 200,
      duration_ms: expect.any(Number),
      bytes: body.length,
      stored_bytes: body.length,
    });
  });
});

describe("the end of a service with --log json", { timeout: 60_000 }, () => {
  it("writes a line of JSON if a request was broken off", { tags: "slow" }, async () => {
    const service = await serve(undefined);
    const json = { "Content-Type": "application/json", "Content-Length": 1000, Expect: "100-continue" };
    const headers = { Authorization: `Bearer ${key}`, ...json };
    const outgoing = httpRequest(`${service.url}/v1/preview/models/m/log`, { method: "POST", headers });
    outgoing.on("error", () => undefined).flushHeaders();
    await once(outgoing, "continue");
    const ended = endOf(service.child);
    service.child.kill("SIGTERM");
    expect((await ended).code).toBe(143);
    expect(service.lines.slice(-2)).toMatchObject([
      { event: "stopped", whole: false },
      { error: { code: "interrupted", message: expect.stringContaining("longer than 10 s"), exit_code: 143 } },
    ]);
  });

  it.for([
    ["an invalid port", "--port 99999", 2, "usage"],
    ["an unknown option", "--prot 1", 2, "usage"],
    ["an unavailable store", "--store postgres://u@127.0.0.1:1/d", 5, "unavailable"],
  ] as const)(
    "writes a line of JSON instead of a start with %s",
    { tags: "slow" },
    async ([, words, exit_code, error]) => {
      const { code, stderr } = await runRollcall(["serve", "--log", "json", ...words.split(" ")]);
      expect(code).toBe(exit_code);
      expect(JSON.parse(stderr)).toMatchObject({ error: { code: error, exit_code } });
    },
  );
});

describe("a store", () => {
  it("refuses a URL with a password on the command line, and a URL of another kind", async () => {
    const refused = async (...words: readonly string[]) => {
      const { code, stderr } = await runRollcall(["serve", ...words]);
      expect(stderr).not.toContain("s3cret");
      return [code, stderr.replaceAll(/\s+/g, " ")];
    };
    expect(await refused("--store", "postgres://u:s3cret@db.example/d")).toEqual([
      2,
      expect.stringContaining("the URL without the password"),
    ]);
    for (const address of ["libsql://db.example?authToken=s3cret", "mysql://u@db.example/d"]) {
      expect(await refused("--store", address)).toEqual([
        2,
        expect.stringContaining("a path, or postgres://user@host/database"),
      ]);
    }
  });
});
