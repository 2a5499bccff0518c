import { createServer, type IncomingMessage } from "node:http";
import { connect, type Socket } from "node:net";
import { createServer as createTlsServer } from "node:tls";
import { describe, expect, it } from "vitest";
import { logTrajectories } from "../../../src/wire/contract/endpoint.ts";
import { listModels } from "../../../src/wire/contract/reads.ts";
import { findClosedPort, listenOnLoopback } from "../../support/server.ts";
import { certificate } from "./certificate.ts";
import { attemptAt, bodyOf, clientAt, failureOf, list, rawServer, wireReply } from "./open.ts";

const whole = wireReply("200 OK", '{"data":[]}');

interface ProxyRequest {
  readonly line: string;
  readonly headers: IncomingMessage["headers"];
}

/** A proxy on loopback that opens every tunnel to one port, and answers forwarded requests itself. */
const proxyTo = async (port: number, status = "200 Connection Established") => {
  const asked: ProxyRequest[] = [];
  const note = ({ method, url, headers }: IncomingMessage) => asked.push({ line: `${method} ${url}`, headers });
  const server = createServer((request, response) => {
    note(request);
    request.resume().on("end", () => response.end('{"data":[]}'));
  });
  server.on("connect", (request: IncomingMessage, socket: Socket) => {
    note(request);
    socket.write(`HTTP/1.1 ${status}\r\n\r\n`);
    if (!status.startsWith("200")) return socket.end();
    const through = connect(port, "127.0.0.1").on("error", () => socket.destroy());
    return socket
      .on("close", () => through.destroy())
      .pipe(through)
      .pipe(socket);
  });
  const { port: own, url } = await listenOnLoopback(server);
  return { asked, authority: `127.0.0.1:${own}`, url };
};

const insecureHttp = true;

describe("a proxy", () => {
  it.each(["http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"])(
    "forwards plain http by the whole URL if %s names the proxy",
    async (variable) => {
      const proxy = await proxyTo(1);
      const { client } = clientAt("http://service.invalid:8080/x", { env: { [variable]: proxy.url }, insecureHttp });
      await client.send(listModels, list);
      expect(proxy.asked).toMatchObject([
        {
          line: "GET http://service.invalid:8080/x/v1/models",
          headers: { host: "service.invalid:8080", authorization: "Bearer key-1" },
        },
      ]);
      expect(proxy.asked[0]?.headers).not.toHaveProperty("proxy-authorization");
    },
  );

  it.each([
    ["http_proxy", "HTTP_PROXY"],
    ["HTTP_PROXY", "all_proxy"],
    ["all_proxy", "ALL_PROXY"],
  ])("comes from %s if %s names another proxy", async (variable, other) => {
    const proxy = await proxyTo(1);
    const env = { [variable]: proxy.url, [other]: "http://127.0.0.1:1" };
    await clientAt("http://service.invalid", { env, insecureHttp }).client.send(listModels, list);
    expect(proxy.asked).toHaveLength(1);
  });

  it("forwards a log request", async () => {
    const proxy = await proxyTo(1);
    const { client } = clientAt("http://service.invalid", { env: { HTTP_PROXY: proxy.url }, insecureHttp });
    const request = { parameters: { model_id: "a/b" }, body: bodyOf(2, 5) };
    expect(await client.attempt(logTrajectories, request)).toMatchObject({ status: 200, isBodySent: true });
    expect(proxy.asked).toMatchObject([
      { line: "POST http://service.invalid/v1/preview/models/a%2Fb/log", headers: { "content-length": "10" } },
    ]);
  });

  it("gets the user and password of its URL, unlike all other servers", async () => {
    const proxy = await proxyTo(1);
    const withUser = proxy.url.replace("http://", "http://us%40er:p%25w@");
    const { client, traced } = clientAt("http://service.invalid", { env: { http_proxy: withUser }, insecureHttp });
    await client.send(listModels, list);
    expect(proxy.asked[0]?.headers["proxy-authorization"]).toBe(`Basic ${Buffer.from("us@er:p%w").toString("base64")}`);
    expect(traced.join("\n")).not.toMatch(/p%25w|p%w|proxy-authorization/i);
  });

  it("works without a scheme in its URL", async () => {
    const proxy = await proxyTo(1);
    const { client } = clientAt("http://service.invalid", { env: { http_proxy: proxy.authority }, insecureHttp });
    await client.send(listModels, list);
    expect(proxy.asked).toHaveLength(1);
  });

  it("opens a tunnel to an https URL", async () => {
    const tls = createTlsServer(certificate({ names: ["service.invalid"] }), (socket) => {
      socket.on("error", () => undefined);
    });
    const server = await rawServer(() => undefined, tls);
    const proxy = await proxyTo(server.port);
    const env = { https_proxy: proxy.url.replace("http://", "http://user:word@"), HTTP_PROXY: "http://127.0.0.1:1" };
    const failure = await failureOf(clientAt("https://service.invalid", { env }).client.send(listModels, list));
    // The tunnel works: only the certificate of the server is unknown.
    expect(failure).toMatchObject({
      message: expect.stringContaining(`cannot connect to service.invalid:443 through the proxy ${proxy.authority}: `),
      details: { systemCode: "DEPTH_ZERO_SELF_SIGNED_CERT" },
    });
    expect(proxy.asked).toMatchObject([
      { line: "CONNECT service.invalid:443", headers: { "proxy-authorization": "Basic dXNlcjp3b3Jk" } },
    ]);
    expect(proxy.asked[0]?.headers).not.toHaveProperty("authorization");
    expect(failure.message + JSON.stringify(failure)).not.toContain("word");
  });

  it.each([
    ["407 Proxy Authentication Required", 407, 0, "put the proxy's user and password into HTTPS_PROXY"],
    ["403 Forbidden", 403, 0, "ask the operator of the proxy to allow the host of the service"],
    ["502 Bad Gateway", 502, 1, "check inference_base_url and the proxy variables"],
  ])("fails with its status and a hint if it refuses a tunnel with %s", async (status, number, waited, hint) => {
    const proxy = await proxyTo(1, status);
    const { client, waits } = clientAt("https://service.invalid", {
      env: { HTTPS_PROXY: proxy.url },
      maxWaitMs: 100,
    });
    const failure = await failureOf(client.send(listModels, list));
    expect(failure).toMatchObject({
      code: "unavailable",
      message: expect.stringMatching(
        `through the proxy ${proxy.authority}( on .*)?: the proxy refused the connection \\(${number}\\)`,
      ),
      details: { hint: expect.stringContaining(hint) },
    });
    expect(waits.length > 0).toBe(waited > 0);
  });

  it("gets one request if it drops a tunnel", async () => {
    const server = await rawServer((socket) => socket.once("data", () => socket.destroy()));
    const env = { HTTPS_PROXY: server.url };
    const attempt = await attemptAt("https://service.invalid", bodyOf(2, 5), { env, maxWaitMs: 0 });
    expect(attempt).toMatchObject({ code: "CUT", isBodySent: false });
    expect(server.connections()).toBe(1);
  });

  it("fails with its host and port, but not its password, if it is unreachable", async () => {
    const port = await findClosedPort();
    const env = { HTTPS_PROXY: `http://user:word@127.0.0.1:${port}` };
    const { client } = clientAt("https://service.invalid", { env, maxWaitMs: 0 });
    const failure = await failureOf(client.send(listModels, list));
    expect(failure).toMatchObject({
      code: "unavailable",
      message: `cannot connect to service.invalid:443 through the proxy 127.0.0.1:${port}: the connection was refused (ECONNREFUSED)`,
    });
    expect(failure.message + JSON.stringify(failure)).not.toContain("word");
  });

  it.each([
    "socks5://127.0.0.1:1080",
    "http://",
    "127.0.0.1:port",
    "http://user:12#word@127.0.0.1:1",
    "user:12/word@127.0.0.1:1",
    "http://us?er:word@127.0.0.1:1",
    "http://user:12\\word@127.0.0.1:1",
  ])("needs a scheme and a host (row %$)", async (value) => {
    const { client } = clientAt("https://service.invalid", { env: { HTTPS_PROXY: value } });
    const failure = await failureOf(client.send(listModels, list));
    const withUser = /^set HTTPS_PROXY to http:\/\/user:password@host:port, and percent-encode/;
    const withoutUser = /^set HTTPS_PROXY to http:\/\/host:port or https:\/\/host:port$/;
    expect(failure).toMatchObject({
      code: "usage",
      kind: "invalid-proxy",
      message: "HTTPS_PROXY is not a valid proxy URL",
      details: { hint: expect.stringMatching(value.includes("@") ? withUser : withoutUser) },
    });
    expect(failure.details.hint).not.toContain("12");
  });

  it("is named, not the service, if it does not speak TLS", async () => {
    const proxy = await proxyTo(1);
    const env = { HTTPS_PROXY: proxy.url.replace("http:", "https:") };
    const failure = await failureOf(clientAt("https://service.invalid", { env }).client.send(listModels, list));
    expect(failure).toMatchObject({
      message: expect.stringContaining("the proxy does not speak TLS"),
      details: { hint: expect.stringContaining("begin HTTPS_PROXY with http://") },
    });
  });
});

describe("a request to loopback", () => {
  it("never goes through a proxy, for any environment", async () => {
    const server = await rawServer((socket) => socket.once("data", () => socket.end(whole)));
    const env = {
      HTTP_PROXY: "http://127.0.0.1:1",
      http_proxy: "http://127.0.0.1:1",
      HTTPS_PROXY: "http://127.0.0.1:1",
      ALL_PROXY: "socks5://127.0.0.1:1",
    };
    for (const host of ["127.0.0.1", "localhost"]) {
      const { client } = clientAt(`http://${host}:${server.port}`, { env });
      expect((await client.send(listModels, list)).entries).toHaveLength(0);
    }
  });
});

describe("NO_PROXY", () => {
  const noWay = "http://127.0.0.1:1";

  /** True if a URL bypasses the proxy, so that the failure names no proxy. */
  const goesPast = async (url: string, no_proxy: string, variable = "NO_PROXY", others = {}) => {
    const { client } = clientAt(url, {
      env: { http_proxy: noWay, https_proxy: noWay, [variable]: no_proxy, ...others },
      insecureHttp,
      maxWaitMs: 0,
    });
    const failure = await failureOf(client.send(listModels, list));
    return !failure.message.includes("through the proxy");
  };

  it.each([
    ["*", "http://service.invalid"],
    ["service.invalid", "http://service.invalid"],
    ["SERVICE.invalid", "http://service.INVALID"],
    ["a.b, invalid", "http://service.invalid"],
    [".service.invalid", "http://service.invalid"],
    [".service.invalid", "http://a.b.service.invalid"],
    ["*.service.invalid", "http://a.service.invalid"],
    ["x y service.invalid", "http://service.invalid"],
    ["service.invalid:8080", "http://service.invalid:8080"],
    ["service.invalid:443", "https://service.invalid"],
    ["service.invalid:80", "http://service.invalid"],
    // Addresses of this machine that do not count as loopback.
    ["0.0.0.0", "http://0.0.0.0:1"],
    ["::ffff:7f00:1", "http://[::ffff:7f00:1]:1"],
    ["[::ffff:7f00:1]", "http://[::ffff:7f00:1]:1"],
    ["[::ffff:7f00:1]:1", "http://[::ffff:7f00:1]:1"],
    ["10.0.0.0/8,0.0.0.0/31", "http://0.0.0.0:1"],
    ["::ffff:7f00:0/112", "http://[::ffff:7f00:1]:1"],
  ])("bypasses the proxy for a host, domain, port, address or range of the list (row %$)", async (list, url) => {
    expect(await goesPast(url, list)).toBe(true);
    expect(await goesPast(url, list, "no_proxy")).toBe(true);
  });

  it("has no effect if no_proxy is set and not empty", async () => {
    const url = "http://service.invalid";
    expect(await goesPast(url, "", "no_proxy", { NO_PROXY: "*" })).toBe(true);
    expect(await goesPast(url, "a.invalid", "no_proxy", { NO_PROXY: "*" })).toBe(false);
    expect(await goesPast(url, "*", "no_proxy", { NO_PROXY: "" })).toBe(true);
  });

  it.each([
    ["", "http://service.invalid"],
    [",", "http://service.invalid"],
    ["vice.invalid", "http://service.invalid"],
    ["service.invalid.example", "http://service.invalid"],
    ["service.invalid:8080", "http://service.invalid"],
    ["service.invalid:80", "https://service.invalid"],
    ["10.0.0.1", "http://10.0.0.11"],
    ["0.0.1", "http://10.0.0.1"],
    ["10.0.0.0/24", "http://10.0.1.1"],
    ["10.0.0.0/", "http://10.0.0.1"],
    ["10.0.0.0/33", "http://10.0.0.1"],
    ["::/0", "http://10.0.0.1"],
    ["10.0.0.0/8", "http://service.invalid"],
  ])("uses the proxy for any other host, port or address (row %$)", async (list, url) => {
    expect(await goesPast(url, list)).toBe(false);
  });
});
