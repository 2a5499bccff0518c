import { chmodSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { request as httpRequest } from "node:http";
import { networkInterfaces } from "node:os";
import { join } from "node:path";
import { json } from "node:stream/consumers";
import { describe, expect, it } from "vitest";
import { tryLock } from "../../src/database/own-file.ts";
import { isAuthorized } from "../../src/service/http-server.ts";
import { testHost } from "../support/host.ts";
import { basic, newDataDir, openTestService, reply, request, trajectory } from "./open.ts";

const log = "/v1/preview/models/m/log";

describe("the service's check of credentials (interface 5)", () => {
  it("happens before the body is read", async () => {
    const { url } = await openTestService();
    const { status, sent } = await sendSlowly(`${url}${log}`, {
      Authorization: "Bearer wrong",
      "Content-Length": "1000",
    });
    expect(status).toBe(401);
    expect(sent).toBe(0);
  });
});

/** Sends headers that announce a body, and the body only after an answer. */
const sendSlowly = (url: string, headers: Record<string, string>): Promise<{ status: number; sent: number }> =>
  new Promise((resolve, reject) => {
    const outgoing = httpRequest(url, { method: "POST", headers: { "Content-Type": "application/json", ...headers } });
    outgoing.on("response", (response) => {
      response.resume();
      resolve({ status: response.statusCode ?? 0, sent: 0 });
      outgoing.destroy();
    });
    outgoing.on("error", reject);
    outgoing.flushHeaders();
  });

describe("a credential", () => {
  const key = "a:key";
  it.each<[header: string | undefined, ofBearer: boolean, ofBasic: boolean]>([
    ["Bearer a:key", true, false],
    ["bEARER   a:key", true, false],
    ["Bearer a:key ", false, false],
    ["Bearer a:KEY", false, false],
    ["Bearer a:key2", false, false],
    ["a:key", false, false],
    ["Bearer", false, false],
    [undefined, false, false],
    [basic(key), false, true],
    [basic(key, "someone"), false, true],
    [basic(key, ""), false, true],
    [basic(key).replace("Basic", "basic"), false, true],
    [`Basic ${Buffer.from("key").toString("base64")}`, false, false],
    [basic("other"), false, false],
    [basic(""), false, false],
    [`Token ${key}`, false, false],
  ])("is the key after Bearer, or a password for Basic (row %$)", (header, ofBearer, ofBasic) => {
    expect([isAuthorized(header, key), isAuthorized(header, key, "basic")]).toEqual([ofBearer, ofBasic]);
  });
});

describe("the service's key", () => {
  it("has a file that only its owner can read", async () => {
    const { key, dataDir } = await openTestService();
    const file = join(dataDir, "local.key");
    expect(readFileSync(file, "utf8")).toBe(`${key}\n`);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(statSync(dataDir).mode & 0o777).toBe(0o700);
    expect(statSync(join(dataDir, "local.db")).mode & 0o777).toBe(0o600);
  });

  it("differs between data folders, and does not change in a folder", async () => {
    const first = await openTestService();
    const second = await openTestService();
    const third = await openTestService({ dataDir: first.dataDir });
    expect(second.key).not.toBe(first.key);
    expect(third.key).toBe(first.key);
  });

  it("is equal for services that start at once", async () => {
    const dataDir = newDataDir();
    const services = await Promise.all(Array.from({ length: 20 }, async () => await openTestService({ dataDir })));
    expect(new Set(services.map(({ key }) => key)).size).toBe(1);
  });

  it("comes from the option, and no file is written", async () => {
    const key = "a:key of my own";
    const service = await openTestService({ key });
    expect(service.key).toBe(key);
    const headers = { Authorization: basic(key), "Content-Type": "application/json" };
    const body = JSON.stringify({ project_id: "local/local", id: "none" });
    expect((await reply(`${service.url}/call/read`, { method: "POST", headers, body })).status).toBe(200);
    expect(() => statSync(join(service.dataDir, "local.key"))).toThrow();
    expect((await service.log(request(trajectory(1)))).status).toBe(200);
  });

  it("cannot be made while another process makes it, which a start reports after a wait", async () => {
    const dataDir = newDataDir();
    const path = join(dataDir, "local.key");
    const lock = await tryLock({ path: `${path}.lock`, noun: "lock", moveWith: "-" });
    let slept = 0;
    const sleep = async () => {
      slept += 10_000;
    };
    const starting = openTestService({ dataDir, host: { ...testHost(), elapsed: () => slept, sleep } });
    await expect(starting).rejects.toMatchObject({ kind: "database-locked", details: { where: { file: path } } });
    lock?.release();
  });

  it.each(["local.key", "local.db"])("causes a warning with a fix if other users can read %s", async (name) => {
    const { dataDir, service } = await openTestService();
    await service.close();
    const file = join(dataDir, name);
    chmodSync(file, 0o644);
    const { warnings } = await openTestService({ dataDir });
    expect(warnings).toEqual([
      {
        file,
        rule: "insecure-permissions",
        severity: "warning",
        message: `other users can access ${file} (mode 0644)`,
        advice: `chmod 600 ${file}`,
      },
    ]);
  });

  it("has at least 16 characters of any kind, and may end with spaces", async () => {
    const dataDir = newDataDir();
    mkdirSync(dataDir, { recursive: true });
    writeFileSync(join(dataDir, "local.key"), " own-key/16~chars\r\n", { mode: 0o600 });
    expect((await openTestService({ dataDir })).key).toBe("own-key/16~chars");
  });

  it.each(["", "\n", "15-characters-0", "two words in it, so it is none\n"])(
    "cannot be short or several words (row %$)",
    async (text) => {
      const dataDir = newDataDir();
      mkdirSync(dataDir, { recursive: true });
      writeFileSync(join(dataDir, "local.key"), text);
      const thrown: unknown = await openTestService({ dataDir }).catch((reason: unknown) => reason);
      expect(thrown).toMatchObject({
        kind: "invalid-local-key",
        details: { where: { file: join(dataDir, "local.key") } },
      });
      expect(readFileSync(join(dataDir, "local.key"), "utf8")).toBe(text);
    },
  );
});

/** Sends a GET with headers that `fetch` would not send, without credentials. */
const ask = (url: string, headers: Record<string, string>): Promise<{ status: number; body: unknown }> =>
  new Promise((resolve, reject) => {
    const outgoing = httpRequest(url, { headers, setHost: false }, async (response) => {
      resolve({ status: response.statusCode ?? 0, body: await json(response) });
    });
    outgoing.on("error", reject);
    outgoing.end();
  });

const catalog = "/inference/analysis/local/models";

it("the service answers 404 at another path, and 405 with the methods of a path", async () => {
  const { url } = await openTestService();
  expect(await reply(`${url}/v2/models`)).toMatchObject({ status: 404, body: { detail: "Not Found" } });
  for (const [path, method, allowed] of [["/v1/models", "POST", "GET, HEAD"] as const, [log, "GET", "POST"] as const]) {
    const { status, headers } = await reply(`${url}${path}`, { method });
    expect([status, headers.get("allow")]).toEqual([405, allowed]);
  }
});

describe("the service's check of web pages", () => {
  it.each<[what: string, headers: (port: string) => Record<string, string>]>([
    ["with another host name that resolves to this machine", (port) => ({ Host: `evil.example:${port}` })],
    ["with a host name that begins with 127.0.0.1", (port) => ({ Host: `127.0.0.1.evil.example:${port}` })],
    ["with a host name that begins with localhost", (port) => ({ Host: `localhost.evil.example:${port}` })],
    ["of another origin", (port) => ({ Host: `127.0.0.1:${port}`, Origin: "https://evil.example" })],
    ["of another port", (port) => ({ Host: `127.0.0.1:${port}`, Origin: "http://127.0.0.1:3000" })],
    ["in a sandbox", (port) => ({ Host: `127.0.0.1:${port}`, Origin: "null" })],
    ["of another site", (port) => ({ Host: `127.0.0.1:${port}`, "Sec-Fetch-Site": "cross-site" })],
    [
      "of another port without an Origin header",
      (port) => ({ Host: `127.0.0.1:${port}`, "Sec-Fetch-Site": "same-site" }),
    ],
  ])("refuses a page %s, also for public data", async (_what, headers) => {
    const { url } = await openTestService();
    const refused = await ask(`${url}${catalog}`, headers(new URL(url).port));
    expect(refused.status).toBe(403);
    expect(refused.body).toEqual({ detail: expect.stringMatching(/refused|unknown host.*with --allow-host/) });
  });

  it("refuses with an error in the format of the operation", async () => {
    const { url } = await openTestService();
    const { body } = await ask(`${url}/v1/models`, { Host: "evil.example" });
    expect(body).toMatchObject({ error: { message: expect.stringContaining("unknown host"), code: null } });
  });

  it.each<[what: string, headers: (port: string) => Record<string, string>]>([
    ["its address", (port) => ({ Host: `127.0.0.1:${port}` })],
    ["localhost", (port) => ({ Host: `LOCALHOST:${port}` })],
    ["[::1]", (port) => ({ Host: `[::1]:${port}` })],
    ["its own origin", (port) => ({ Host: `localhost:${port}`, Origin: `http://localhost:${port}` })],
    ["its own origin behind TLS", (port) => ({ Host: `localhost:${port}`, Origin: `https://LOCALHOST:${port}` })],
    ["its own script", (port) => ({ Host: `localhost:${port}`, "Sec-Fetch-Site": "same-origin" })],
    ["the address bar", (port) => ({ Host: `localhost:${port}`, "Sec-Fetch-Site": "none" })],
  ])("answers a page that uses %s", async (_what, headers) => {
    const { url } = await openTestService();
    expect((await ask(`${url}${catalog}`, headers(new URL(url).port))).status).toBe(200);
  });

  const hasIpv6 = Object.values(networkInterfaces()).some((ones) => ones?.some(({ address }) => address === "::1"));
  it.skipIf(!hasIpv6)("has a URL with its IPv6 address in brackets", async () => {
    const { url } = await openTestService({ address: "::1" });
    expect(url).toMatch(/^http:\/\/\[::1\]:\d+$/);
  });

  it("answers a page with an allowed host name in any case", async () => {
    const { url } = await openTestService({ allowHosts: ["build-7.example", "CI.Example"] });
    expect((await ask(`${url}${catalog}`, { Host: "ci.example:8700" })).status).toBe(200);
    expect((await ask(`${url}${catalog}`, { Host: "Build-7.example:8700" })).status).toBe(200);
    expect((await ask(`${url}${catalog}`, { Host: "other.example:8700" })).status).toBe(403);
  });

  it("sends no CORS headers", async () => {
    const { url } = await openTestService();
    const response = await fetch(`${url}${catalog}`);
    expect(response.headers.has("access-control-allow-origin")).toBe(false);
  });
});
