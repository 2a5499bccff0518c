import { mkdtempSync, writeFileSync } from "node:fs";
import { createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createServer as createTlsServer } from "node:tls";
import { describe, expect, it } from "vitest";
import { json, listenOnLoopback } from "../../support/server.ts";
import { certificate } from "../../wire/client/certificate.ts";
import { doctor, foldersOf, isTo, key, serviceWith } from "./findings.ts";

describe("rollcall doctor about credentials", () => {
  it("exits with 4 if the service refuses a credential", async () => {
    const refuse = json({ error: `not ${key}` }, 401);
    const { env, server } = await serviceWith([
      { when: isTo("HEAD", "/"), answer: { status: 404 } },
      { when: isTo("GET", "/v1/models"), answer: refuse },
      { when: isTo("POST", "/call/read"), answer: refuse },
    ]);
    const { code, of, stderr } = await doctor([], { env });
    expect(code).toBe(4);
    expect(of("credential inference")).toMatchObject([
      {
        status: "error",
        code: "auth",
        message: expect.stringContaining(": [text omitted: it contains a credential]"),
        facts: { accepted: false, state: "ready", origin: server.url, from: "ROLLCALL_API_KEY" },
      },
    ]);
    expect(JSON.parse(stderr)).toMatchObject({
      error: { code: "auth", message: expect.stringContaining("credential calls") },
    });
  });

  it("exits with 0 if only one use lacks a credential", async () => {
    const { env } = await serviceWith([{ when: isTo("HEAD", "/"), answer: { status: 404 } }]);
    const some = await doctor([], { env: { ...env, ROLLCALL_API_KEY: undefined, ROLLCALL_TOKEN: key } });
    expect(some.code).toBe(0);
    expect(some.of("credential calls")).toMatchObject([{ status: "warning" }]);
  });

  it("exits with 4 and advises a login for a credential of another origin", async () => {
    const { env, server } = await serviceWith([{ when: isTo("HEAD", "/"), answer: { status: 404 } }]);
    const { config } = foldersOf(env);
    const login = { key, origin: "https://elsewhere.example" };
    writeFileSync(
      join(config, "credentials.json"),
      JSON.stringify({ profiles: { default: { log: login, inference: login, calls: login } } }),
      {
        mode: 0o600,
      },
    );
    const { code, of } = await doctor([], { env: { ...env, ROLLCALL_API_KEY: undefined } });
    expect(code).toBe(4);
    expect(of("credential log")).toMatchObject([
      { status: "error", fix: expect.stringContaining(server.url), facts: { state: "elsewhere" } },
    ]);
  });

  it("reports a credential as untested if the service neither accepts nor refuses the credential", async () => {
    const { env } = await serviceWith([
      { when: isTo("HEAD", "/"), answer: { status: 200 } },
      { when: isTo("GET", "/v1/models"), answer: { body: "<html>hello</html>" } },
      { when: isTo("POST", "/call/read"), answer: json({ reason: "busy" }, 503) },
    ]);
    const { code, of } = await doctor([], { env });
    expect(code).toBe(6);
    expect(of("credential inference")).toMatchObject([
      { status: "error", code: "refused", message: expect.stringContaining("HTML") },
    ]);
    const unknown = { accepted: null, from: "ROLLCALL_API_KEY", username: "api" };
    expect(of("credential calls")).toMatchObject([{ status: "ok", facts: unknown }]);
    const missing = await serviceWith([
      { when: isTo("HEAD", "/"), answer: { status: 200 } },
      { when: isTo("GET", "/v1/models"), answer: json({ detail: "no list" }, 404) },
      { when: isTo("POST", "/call/read"), answer: json({ call: null }) },
    ]);
    const untested = { status: "warning", message: expect.stringMatching(/^the key from \S+ could not be tested: /) };
    expect((await doctor([], { env: missing.env })).of("credential inference")).toMatchObject([untested]);
  });
});

describe("rollcall doctor about URLs", () => {
  it("exits with 5 if nothing listens at a URL", async () => {
    const { code, of } = await doctor([], { env: { ROLLCALL_BASE_URL: "http://127.0.0.1:1" } });
    expect(code).toBe(4);
    expect(of("address base")).toMatchObject([
      { status: "error", code: "unavailable", message: expect.stringContaining("the connection was refused") },
    ]);
    const keyed = await doctor([], { env: { ROLLCALL_BASE_URL: "http://127.0.0.1:1", ROLLCALL_TOKEN: key } });
    expect(keyed.code).toBe(5);
    expect(JSON.parse(keyed.stderr)).toMatchObject({ error: { code: "unavailable", retryable: true } });
  });

  it.each([
    ["BASE_URL", ["base error", "inference ok"]],
    ["INFERENCE_BASE_URL", ["base ok", "inference error"]],
    ["LOG_BASE_URL", ["base ok", "log error"]],
    ["INFERENCE_BASE_URL LOG_BASE_URL", ["base ok", "inference error", "log error"]],
    ["BASE_URL INFERENCE_BASE_URL LOG_BASE_URL", ["base error", "inference error", "log error"]],
  ])("examines each URL once, and exits with 5 if nothing listens at %s", async (names, statuses) => {
    const head = { when: isTo("HEAD", "/"), answer: { status: 404 } };
    const { env, server } = await serviceWith(statuses.includes("base ok") || names === "BASE_URL" ? [head] : []);
    const unreachable = names.split(" ").map((name) => [`ROLLCALL_${name}`, `http://127.0.0.1:1/${name}`]);
    const { code, findings } = await doctor([], {
      env: { ...env, ROLLCALL_API_KEY: undefined, ROLLCALL_TOKEN: key, ...Object.fromEntries(unreachable) },
    });
    const urls = unreachable.map(([, url]) => url);
    const found = findings.filter(({ check }) => check.startsWith("address"));
    expect(found.map(({ check, status, facts }) => [`${check} ${status}`, facts?.address])).toEqual(
      statuses.map((one) => [`address ${one}`, one.endsWith("ok") ? server.url : urls.shift()]),
    );
    expect(code).toBe(5);
  });

  it.each([
    [200, "ok"],
    [499, "ok"],
    [407, "warning"],
    [500, "warning"],
  ])("rates a URL that answers %i as %s", async (status, rating) => {
    const { env } = await serviceWith([{ when: isTo("HEAD", "/"), answer: { status } }]);
    const { of } = await doctor([], { env: { ...env, ROLLCALL_API_KEY: undefined, ROLLCALL_TOKEN: key } });
    expect(of("address base")).toMatchObject([{ status: rating, facts: { status } }]);
  });

  it("reports a web page at a URL, unless the service answers a read", async () => {
    const page = { when: isTo("HEAD", "/"), answer: { headers: { "content-type": "text/html" }, body: "" } };
    const site = await serviceWith([
      page,
      { when: isTo("GET", "/v1/models"), answer: { status: 503 } },
      { when: isTo("POST", "/call/read"), answer: json({ reason: "busy" }, 503) },
    ]);
    const profiles = JSON.stringify({ profiles: { work: {} } });
    writeFileSync(join(foldersOf(site.env).config, "settings.json"), profiles, { mode: 0o600 });
    const env = { ...site.env, ROLLCALL_PROFILE: "work", ROLLCALL_LOG_BASE_URL: "http://127.0.0.1:1" };
    const found = await doctor([], { env });
    // An unavailable service is less serious.
    expect(found.code).toBe(6);
    const [address] = found.of("address base");
    expect(address).toMatchObject({ status: "error", message: expect.stringContaining("a web page") });
    expect(address?.fix).toContain("rollcall config set base_url https://… --profile work");
    const service = await serviceWith([
      page,
      { when: isTo("GET", "/v1/models"), answer: json({ data: [] }) },
      { when: isTo("POST", "/call/read"), answer: json({ call: null }) },
    ]);
    expect((await doctor([], { env: service.env })).of("address base")).toMatchObject([{ status: "ok" }]);
  });

  it("exits with 5 if a server is silent for --timeout", async () => {
    const { url } = await listenOnLoopback(createServer());
    const { code, of } = await doctor(["--timeout", "1s"], { env: { ROLLCALL_BASE_URL: url, ROLLCALL_TOKEN: key } });
    expect(code).toBe(5);
    expect(of("address base")).toMatchObject([
      { status: "error", message: expect.stringContaining("no data arrived for 1 s") },
    ]);
  });

  it.each([
    ["closes every connection", (socket: Socket) => socket.destroy(), "the connection"],
    ["uses another protocol", (socket: Socket) => socket.end("220 mail.example ESMTP\r\n"), "HTTP"],
    [
      "switches to another protocol",
      (socket: Socket) => socket.write("HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n"),
      "the headers of the answer are incomplete or invalid",
    ],
    ["sends an endless head", (socket: Socket) => socket.end(`HTTP/1.1 200 OK\r\nx: ${"a".repeat(100_000)}`), ""],
  ] as const)("reports a server that %s", async (_, handle, saying) => {
    const { url } = await listenOnLoopback(createServer(handle));
    const { of } = await doctor([], { env: { ROLLCALL_BASE_URL: url, ROLLCALL_TOKEN: key } });
    const [found] = of("address base");
    expect(found?.message).toContain(saying);
  });

  it("exits with 5 and names NODE_EXTRA_CA_CERTS for an unknown certificate", async () => {
    const { cert, key: own } = certificate({ names: ["localhost"] });
    const server = createTlsServer({ cert, key: own }, (socket) =>
      socket.on("error", () => undefined).once("data", () => socket.end("HTTP/1.1 204 No Content\r\n\r\n")),
    );
    server.on("tlsClientError", () => undefined);
    const { port } = await listenOnLoopback(server);
    const env = { ROLLCALL_BASE_URL: `https://localhost:${port}`, ROLLCALL_TOKEN: key };
    const unknown = await doctor([], { env });
    expect(unknown.code).toBe(5);
    expect(unknown.of("address base")).toMatchObject([
      { status: "error", fix: expect.stringContaining("NODE_EXTRA_CA_CERTS") },
    ]);
    const file = join(mkdtempSync(join(tmpdir(), "ca-")), "ca.pem");
    writeFileSync(file, cert);
    const known = await doctor([], { env: { ...env, NODE_EXTRA_CA_CERTS: file } });
    expect(known.code).toBe(0);
    expect(known.of("address base")).toMatchObject([{ status: "ok", facts: { status: 204 } }]);
  });

  it("exits with 2 for an unusable proxy", async () => {
    const env = { ROLLCALL_BASE_URL: "https://service.invalid", ROLLCALL_TOKEN: key };
    const { code, of } = await doctor([], { env: { ...env, https_proxy: "socks5://127.0.0.1:1" } });
    expect(code).toBe(2);
    expect(of("address base")).toMatchObject([{ status: "error", code: "usage" }]);
  });
});
