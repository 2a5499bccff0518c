import { once } from "node:events";
import { Agent, request as httpRequest } from "node:http";
import { connect } from "node:net";
import { text } from "node:stream/consumers";
import { setImmediate, setTimeout as wait } from "node:timers/promises";
import { gzipSync } from "node:zlib";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { openTestService, reply, request, trajectory } from "./open.ts";

const log = "/v1/preview/models/m/log";

/** Writes bytes and returns the whole response. */
const speak = (url: string, text: string): Promise<string> =>
  new Promise((resolve, reject) => {
    const socket = connect(Number(new URL(url).port), "127.0.0.1", () => socket.write(text));
    const chunks: Buffer[] = [];
    socket.on("data", (chunk) => chunks.push(chunk));
    socket.on("error", reject);
    socket.on("close", () => resolve(Buffer.concat(chunks).toString()));
  });

describe("a body over the limit", () => {
  it("gets a 413 before the body is sent if it announces its length", async () => {
    const { url, key } = await openTestService({ maxBodyBytes: 1000 });
    const refused = await announce(url, key, "1001");
    expect(refused.status).toBe(413);
    expect(JSON.parse(refused.text)).toEqual({ detail: "the body is larger than 1000 bytes" });
  });

  it("gets a 413 if it exceeds the limit by a byte", async () => {
    const body = JSON.stringify(request(trajectory(1)));
    const service = await openTestService({ maxBodyBytes: body.length });
    expect((await service.log(body)).status).toBe(200);
    expect((await service.log(`${body} `)).status).toBe(413);
    // The same body without Content-Length.
    expect(await inPieces(service, body)).toBe(200);
    expect(await inPieces(service, `${body} `)).toBe(413);
  });

  it("gets a 413 if it exceeds the limit after decompression", async () => {
    const body = JSON.stringify(request(trajectory(1)));
    const { url, key } = await openTestService({ maxBodyBytes: body.length });
    const send = async (bytes: Uint8Array, encoding: string) => {
      const answer = await reply(`${url}${log}`, {
        method: "POST",
        headers: { Authorization: `Bearer ${key}`, "Content-Type": "application/json", "Content-Encoding": encoding },
        body: new Uint8Array(bytes),
      });
      return answer.status;
    };
    const packed = gzipSync(body);
    expect(await send(packed, "gzip")).toBe(200);
    expect(await send(packed, "X-GZIP")).toBe(200);
    expect(await send(Buffer.from(body), "Identity")).toBe(200);
    expect(await send(gzipSync(`${body} `), "gzip")).toBe(413);
    expect(await send(gzipSync(Buffer.alloc(2 ** 22)), "gzip")).toBe(413);
    expect(await send(packed.subarray(0, -9), "gzip")).toBe(400);
    expect(await send(Buffer.from(body), "x-gzip")).toBe(400);
    expect(await send(packed, "br")).toBe(415);
    expect(await send(packed, "gzip, gzip")).toBe(415);
  });
});

describe("the headers of a body", () => {
  it.each([
    ["application/json; charset=utf-8", 200],
    [" Application/JSON", 200],
    ["application/vnd.x+json;v=1", 200],
    ["text/json", 415],
    ["application/jsonl", 415],
    ["application/x-www-form-urlencoded", 415],
    ["text/plain, application/json", 415],
  ])("declare JSON with %s: %i", async (type, status) => {
    const service = await openTestService();
    expect((await service.log(request(trajectory(1)), { headers: { "Content-Type": type } })).status).toBe(status);
  });

  it("may be 16 KB long, and the body of a read 1 MiB", async () => {
    const { url, log, read } = await openTestService();
    const fitting = `GET /inference/router/x/models HTTP/1.1\r\nHost: localhost\r\nX: ${"x".repeat(16_000)}\r\n`;
    expect(await speak(url, `${fitting}Connection: close\r\n\r\n`)).toMatch(/^HTTP\/1\.1 200 /);
    const body = Buffer.byteLength(JSON.stringify({ project_id: "local/local", id: "" }));
    expect((await read("x".repeat(2 ** 20 - body))).body).toEqual({ call: null });
    const refused = { status: 413, body: { reason: `the body is larger than ${2 ** 20} bytes` } };
    expect(await read("x".repeat(2 ** 20 - body + 1))).toMatchObject(refused);
    expect((await log(request(trajectory(1, { logs: ["x".repeat(2 ** 20)] })))).status).toBe(200);
  });
});

/** Sends a body without Content-Length. Returns the status. */
const inPieces = ({ url, key }: { readonly url: string; readonly key: string }, text: string): Promise<number> =>
  new Promise((resolve, reject) => {
    const headers = { Authorization: `Bearer ${key}`, "Content-Type": "application/json" };
    const outgoing = httpRequest(`${url}${log}`, { method: "POST", headers }, (response) => {
      response.resume();
      resolve(response.statusCode ?? 0);
    });
    outgoing.on("error", reject);
    outgoing.write(text.slice(0, 10));
    outgoing.end(text.slice(10));
  });

/** Announces a body of a length and sends none. */
const announce = (url: string, key: string, length: string): Promise<{ status: number; text: string }> =>
  new Promise((resolve, reject) => {
    const headers = { Authorization: `Bearer ${key}`, "Content-Type": "application/json", "Content-Length": length };
    const outgoing = httpRequest(`${url}${log}`, { method: "POST", headers }, async (response) => {
      resolve({ status: response.statusCode ?? 0, text: await text(response) });
      outgoing.destroy();
    });
    outgoing.on("error", reject);
    outgoing.flushHeaders();
  });

describe("a client that sends Expect: 100-continue", () => {
  it("gets 100 Continue if its credentials are valid", async () => {
    const { url, key } = await openTestService();
    const body = JSON.stringify(request(trajectory(1)));
    const head = `POST ${log} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${key}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\nExpect: 100-continue\r\nConnection: close\r\n\r\n`;
    const answer = await speak(url, head + body);
    expect(answer).toMatch(/^HTTP\/1\.1 100 Continue\r\n\r\nHTTP\/1\.1 200 OK\r\n/);
  });

  it("gets 401 and no 100 Continue if its credentials are wrong", async () => {
    const { url } = await openTestService();
    const head = `POST ${log} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer wrong\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n`;
    expect(await speak(url, head)).toMatch(/^HTTP\/1\.1 401 Unauthorized\r\n/);
  });
});

describe("an unusual or invalid HTTP request", () => {
  it.each<[what: string, text: string, start: RegExp]>([
    [
      "headers that are too long",
      `GET /v1/models HTTP/1.1\r\nHost: localhost\r\nX: ${"x".repeat(20_000)}\r\n\r\n`,
      /^HTTP\/1\.1 431 /,
    ],
    ["another protocol", "HELO localhost\r\n\r\n", /^HTTP\/1\.1 400 /],
    ["no host", "GET /v1/models HTTP/1.1\r\nConnection: close\r\n\r\n", /^HTTP\/1\.1 400 /],
    [
      "two lengths",
      "POST /call/read HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
      /^HTTP\/1\.1 400 /,
    ],
    [
      "a length and chunks",
      "POST /call/read HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
      /^HTTP\/1\.1 400 /,
    ],
    ["HTTP/1.0 without a host", "GET /inference/router/x/models HTTP/1.0\r\n\r\n", /^HTTP\/1\.1 40[03] /],
    [
      "an absolute URL of another host",
      "GET http://evil.example/v1/models HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n",
      /^HTTP\/1\.1 403 /,
    ],
    [
      "an absolute URL of this host",
      "GET http://localhost/inference/router/x/models HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
      /^HTTP\/1\.1 200 /,
    ],
    [
      "HEAD",
      "HEAD /inference/router/x/models HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
      /^HTTP\/1\.1 200 [\s\S]*\r\n\r\n$/,
    ],
  ])("gets an answer: %s", async (_what, text, start) => {
    const { url } = await openTestService();
    expect(await speak(url, text)).toMatch(start);
    expect((await fetch(`${url}/inference/router/local/models`)).status).toBe(200);
  });
});

describe("a body that is cut off", () => {
  it("leaves nothing in the store", async () => {
    const { url, key } = await openTestService();
    const body = JSON.stringify(request(trajectory(1)));
    await new Promise<void>((resolve) => {
      const headers = {
        Authorization: `Bearer ${key}`,
        "Content-Type": "application/json",
        "Content-Length": body.length,
      };
      const outgoing = httpRequest(`${url}${log}`, { method: "POST", headers });
      outgoing.on("error", () => resolve());
      outgoing.write(body.slice(0, -1), () => outgoing.destroy(new Error("cut")));
    });
    const listed = await reply(`${url}/v1/models`, { headers: { Authorization: `Bearer ${key}` } });
    expect(listed.body.data).toEqual([]);
  });
});

describe("bodies that together exceed the memory limit", () => {
  it("are all logged", async () => {
    const { url, key } = await openTestService({ maxBodyBytes: 64 * 1024 * 1024 });
    const headers = { Authorization: `Bearer ${key}`, "Content-Type": "application/json" };
    // Without Content-Length, each body may be as long as the limit. 20 such bodies exceed the memory limit.
    const send = (): Promise<number> =>
      new Promise((resolve, reject) => {
        const outgoing = httpRequest(`${url}${log}`, { method: "POST", headers, agent: false }, (response) => {
          response.resume();
          resolve(response.statusCode ?? 0);
        });
        outgoing.on("error", reject);
        outgoing.write(" ");
        outgoing.end(JSON.stringify(request(trajectory(1))));
      });
    expect(await Promise.all(Array.from({ length: 20 }, send))).toEqual(Array.from({ length: 20 }, () => 200));
  });

  it("do not wait for slow bodies of any announced length", async () => {
    const service = await openTestService({ maxBodyBytes: 300 * 1024 * 1024 });
    const { url, key } = service;
    const headers = { Authorization: `Bearer ${key}`, "Content-Type": "application/json", "Content-Length": 3e8 };
    const slow = Array.from({ length: 5 }, () => {
      const outgoing = httpRequest(`${url}${log}`, { method: "POST", headers, agent: false });
      outgoing.on("error", () => undefined);
      return new Promise<typeof outgoing>((resolve) => outgoing.write("{", () => resolve(outgoing)));
    });
    const open = await Promise.all(slow);
    expect((await service.log(request(trajectory(1)))).status).toBe(200);
    for (const outgoing of open) outgoing.destroy();
  });
});

describe("the limit on values in a body", () => {
  const bodyOf = (members: string): string =>
    `{"split":"a","trajectory_groups":[{"trajectories":[{"messages_and_choices":[],"reward":1${members}}]}]}`;
  const names = (count: number): string => `{${Array.from({ length: count }, (_, at) => `"k${at}":1`).join(",")}}`;

  it.each([
    ["a list", `[],"x":[${"[],".repeat(2 ** 23)}[]]`],
    ["nested lists", `${"[".repeat(2 ** 23)}${"]".repeat(2 ** 23)}`],
  ])("causes a 413 that names values of %s", { tags: "slow" }, async (_, groups) => {
    const service = await openTestService();
    const { status, body } = await service.log(`{"split":"a","trajectory_groups":${groups}}`);
    expect([status, body]).toEqual([413, { detail: expect.stringContaining("values") }]);
  });

  it.each([
    ["metrics, or more than", bodyOf(`,"metrics":${names(10_001)}`)],
    ["metrics, or more than", bodyOf("").replace("}]}]}", `}]}],${names(10_003).slice(1)}`)],
    ["metrics, or more than", bodyOf("").replace("}]}]}", `}],${names(10_003).slice(1)}]}`)],
    ["metrics, or more than", bodyOf(`,"metrics":${names(10_001)},"tools":null,"x":1,"x":2`)],
  ])("causes a 413 that names %s", async (what, body) => {
    const service = await openTestService();
    expect(await service.log(body)).toMatchObject({ status: 413, body: { detail: expect.stringContaining(what) } });
  });

  it.each([
    ["numbers", `{"split":"a","trajectory_groups":[${"1,".repeat(5_000_000)}1]}`],
    ["empty groups", `{"split":"a","trajectory_groups":[${"{},".repeat(3_000_000)}{}]}`],
    ["numbers in an object", `{"split":"a","trajectory_groups":{"x":[${"1,".repeat(5_000_000)}1]}}`],
    ["objects in an object", `{"split":"a","trajectory_groups":{"x":[${"{},".repeat(2 ** 22)}{}]}}`],
    ["arrays in place of tools", bodyOf(`,"tools":${"[".repeat(2 ** 22)}${"]".repeat(2 ** 22)}`)],
  ])(
    "causes a 422 for millions of %s, in memory of less than 20 times their bytes",
    { tags: "slow" },
    async (_, body) => {
      const service = await openTestService();
      const before = process.resourceUsage().maxRSS;
      expect((await service.log(body)).status).toBe(422);
      expect((process.resourceUsage().maxRSS - before) * 1024).toBeLessThan(20 * body.length);
    },
  );

  it.each([
    ["many logs", bodyOf(`,"logs":[${"{},".repeat(300_000)}{}]`)],
    ["deep logs", bodyOf(`,"logs":${"[".repeat(300_000)}${"]".repeat(300_000)}`)],
    ["braces inside text", bodyOf(`,"other":"${"{[".repeat(300_000)}"`)],
    ["as many metrics as the limit", bodyOf(`,"metrics":${names(10_000)}`)],
  ])("allows a body with %s", async (_, body) => {
    const service = await openTestService({ maxBodyBytes: 2_000_000 });
    expect((await service.log(body)).status).toBe(200);
  });
});

describe("a body with 30,000 faults", () => {
  const size = 30_000;
  const ones = (count: number): string => `[${"1,".repeat(count - 1)}1]`;
  it.each([
    ["numbers in place of groups", `{"split":"a","trajectory_groups":${ones(size)}}`],
    ["numbers in place of trajectories", `{"split":"a","trajectory_groups":[{"trajectories":${ones(size)}}]}`],
    ["groups without trajectories", `{"split":"a","trajectory_groups":[${"{},".repeat(size / 3)}{}]}`],
    [
      "numbers in place of tools",
      `{"split":"a","trajectory_groups":[{"trajectories":[{"messages_and_choices":[],"reward":1,"tools":${ones(size)}}]}]}`,
    ],
  ])("gets a 422 that lists a hundred faults: %s", async (_what, body) => {
    const service = await openTestService();
    const refused = await service.log(body);
    expect([refused.status, Array.isArray(refused.body.detail) && refused.body.detail.length]).toEqual([422, 100]);
    expect(refused.text.length).toBeLessThan(100_000);
  });

  it("gets a short 422", async () => {
    const service = await openTestService();
    for (const body of [ones(size), `{"x":${ones(size / 3)}}`, JSON.stringify({ split: ["x".repeat(size / 3)] })]) {
      const refused = await service.log(body);
      expect([refused.status, refused.text.length < 10_000]).toEqual([422, true]);
    }
  });
});

describe("a large unusual request", { tags: "slow" }, () => {
  const groups = '{"trajectories":[]},'.repeat(400_000);
  it.each([
    ["a duplicate key", 200, `{"x":1,"x":2,"split":"a","trajectory_groups":[${groups}{"trajectories":[]}]}`],
    ["no split", 422, `{"x":1,"x":2,"trajectory_groups":[${groups}{"trajectories":[]}]}`],
    ["a fault in its last group", 422, `{"x":1,"x":2,"split":"a","trajectory_groups":[${groups}{}]}`],
  ])("does not block the event loop while it is checked: %s", async (_what, status, body) => {
    const service = await openTestService();
    let [longest, before, going] = [0, process.cpuUsage(), true];
    const cpuSince = (start: NodeJS.CpuUsage) => {
      const { user, system } = process.cpuUsage(start);
      return user + system;
    };
    const tick = (): void => {
      longest = Math.max(longest, cpuSince(before));
      before = process.cpuUsage();
      if (going) setImmediate(tick);
    };
    const start = process.cpuUsage();
    setImmediate(tick);
    expect((await service.log(body)).status).toBe(status);
    going = false;
    expect(longest / cpuSince(start)).toBeLessThan(0.65);
  });
});

describe("service.close", () => {
  it("does not wait for connections that are idle", async () => {
    const { url, service } = await openTestService();
    const agent = new Agent({ keepAlive: true });
    await new Promise<void>((resolve, reject) => {
      httpRequest(`${url}/inference/router/local/models`, { agent }, (response) => {
        response.resume().on("end", resolve);
      })
        .on("error", reject)
        .end();
    });
    expect(await service.close()).toBe(true);
    agent.destroy();
  });

  it("does not wait for a request that is never complete", async () => {
    const { url, service } = await openTestService();
    const ended = speak(url, "GET /v1/models HTTP/1.1\r\nHost: localhost\r\n").catch(() => "");
    await wait(100);
    expect(await service.close()).toBe(true);
    expect(await ended).toBe("");
  });

  it("can be called twice", async () => {
    const { service } = await openTestService();
    expect(await Promise.all([service.close(), service.close()])).toEqual([true, true]);
  });
});

describe("closing the service", () => {
  /** Starts a request whose body comes later. */
  const openRequest = async () => {
    const { url, key, service } = await openTestService();
    const headers = { Authorization: `Bearer ${key}`, "Content-Type": "application/json", Expect: "100-continue" };
    const outgoing = httpRequest(`${url}${log}`, { method: "POST", headers, agent: new Agent({ keepAlive: true }) });
    const answered = new Promise<unknown>((resolve) => {
      outgoing.on("response", ({ statusCode, headers: { connection } }) => resolve(`${statusCode} ${connection}`));
      outgoing.on("error", () => resolve("aborted"));
    });
    outgoing.flushHeaders();
    await once(outgoing, "continue");
    return { url, service, outgoing, answered };
  };

  it("answers requests in flight, and refuses new requests", async () => {
    const { url, service, outgoing, answered } = await openRequest();
    const closing = service.close();
    const refused = await fetch(`${url}/inference/router/x/models`);
    expect([refused.status, refused.headers.get("connection"), refused.headers.get("retry-after")]).toEqual([
      ...[503, "close", "1"],
    ]);
    outgoing.end(JSON.stringify(request(trajectory(1))));
    expect([await answered, await closing]).toEqual(["200 close", true]);
  });

  it("aborts requests that take more than 10 s", async () => {
    const { service, answered } = await openRequest();
    vi.useFakeTimers({ toFake: ["setTimeout"] });
    onTestFinished(() => void vi.useRealTimers());
    const closing = service.close();
    vi.advanceTimersByTime(9_999);
    expect(await Promise.race([answered, setImmediate("open")])).toBe("open");
    vi.advanceTimersByTime(1);
    expect([await answered, await closing]).toEqual(["aborted", false]);
  });
});
