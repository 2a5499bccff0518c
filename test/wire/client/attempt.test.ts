import { setTimeout } from "node:timers/promises";
import { brotliCompressSync, gzipSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import type { StreamedBody } from "../../../src/wire/client/exchange.ts";
import { logTrajectories } from "../../../src/wire/contract/endpoint.ts";
import { findClosedPort, json, scriptedServer } from "../../support/server.ts";
import { attemptAt, bodyOf, clientAt, failureOf, mebibyte, rawServer, serverAfter, wireReply } from "./open.ts";

describe("a log request", () => {
  it("has its length in its headers, and no Expect", async () => {
    const server = await scriptedServer([{ answer: json({ metrics: {} }) }, { answer: json({}) }]);
    const { client } = clientAt(server.url);
    const request = { parameters: { model_id: "m" }, body: bodyOf(3, 70_000) };
    const attempt = await client.attempt(logTrajectories, request);
    await client.attempt(logTrajectories, request);
    expect(attempt).toMatchObject({
      kind: "answered",
      status: 200,
      ...{ retryAfterMs: undefined, hasRetryAfter: false, isWebPage: false },
      bytes: Buffer.from('{"metrics":{}}'),
      isCut: false,
      isBodySent: true,
      failure: undefined,
    });
    expect(server.received[0]?.body.toString()).toBe("x".repeat(210_000));
    for (const { headers } of server.received) {
      expect(headers).toMatchObject({ connection: "close", "content-length": "210000" });
      expect(headers).not.toHaveProperty("expect");
      expect(headers).not.toHaveProperty("transfer-encoding");
    }
  });

  it("sends extra headers, and returns the key that the service echoes", async () => {
    const headers = { "Idempotency-Key": "abc-1" };
    const server = await scriptedServer([
      { answer: { headers: { "idempotency-key": "abc-1", "content-encoding": "gzip" }, body: gzipSync("{}") } },
    ]);
    const request = { parameters: { model_id: "m" }, body: bodyOf(1, 2), headers };
    const attempt = await clientAt(server.url).client.attempt(logTrajectories, request);
    expect(attempt).toMatchObject({ headers: { "idempotency-key": "abc-1" }, bytes: Buffer.from("{}") });
    expect(server.received[0]?.rawHeaders).toEqual(expect.arrayContaining(["Idempotency-Key", "abc-1"]));
  });

  it.each([
    [400, "refused"],
    [401, "auth"],
    [403, "auth"],
    [404, "not_found"],
    [409, "refused"],
    [413, "refused"],
    [422, "refused"],
    [300, "refused"],
    [307, "refused"],
    [429, "unavailable"],
    [500, "unavailable"],
    [503, "unavailable"],
  ])("ends after an answer of %i, with a failure of code %s", async (status, code) => {
    const server = await scriptedServer([
      { answer: { status, headers: { "retry-after": "3" }, body: '{"detail":"because"}' } },
    ]);
    const attempt = await attemptAt(server.url);
    expect(attempt).toMatchObject({
      kind: "answered",
      status,
      ...{ retryAfterMs: 3000, hasRetryAfter: true },
      isCut: false,
      isBodySent: true,
      failure: { code, details: { http: { status, method: "POST" } } },
    });
  });

  it.each(["", "null", "{}", "ok", "[1", "<answer/>", "<?xml version='1.0'?><answer/>", "a <html>"])(
    "succeeds after an answer of 200 with a body that is not a web page (row %$)",
    async (body) => {
      const server = await scriptedServer([{ answer: { status: 200, body } }]);
      expect(await attemptAt(server.url)).toMatchObject({ status: 200, isWebPage: false, failure: undefined });
    },
  );

  it.each([
    ["<html>"],
    ["\ufeff \r\n<!-- a\n> --><!---->\t<!DOCTYPE HTML PUBLIC>"],
    ["<?xml version='1.0'?>\n<!-- a --><HTML>"],
    ["<h1>Sign in"],
    ["<!-- under construction"],
    ["<answer/>", { "content-type": "Application/XHTML+xml" }],
    [Buffer.from("\ufeff<html>", "utf16le")],
    [`${" ".repeat(5_000_000)}<html>`],
    [`<!--${" ".repeat(5_000_000)}--><html>`],
    [gzipSync("<html>"), { "content-encoding": "gzip" }],
    [brotliCompressSync("<html>"), { "content-encoding": "br" }],
    ["<html>", { "content-encoding": "gzip" }],
    [gzipSync("<html>").subarray(0, 12), { "content-encoding": "gzip", "content-type": "text/html" }],
    [gzipSync(`<html>${"<br>".repeat(9)}`).subarray(0, -9), { "content-encoding": "gzip" }],
    ["?", { "content-encoding": "zstd", "content-type": "text/html" }],
  ] as [string | Buffer, Record<string, string>?][])("fails after a web page (row %$)", async (body, headers = {}) => {
    const server = await scriptedServer([{ answer: { status: 200, headers, body } }]);
    const failure = { kind: "html-reply", code: "refused" };
    expect(await attemptAt(server.url)).toMatchObject({ status: 200, isWebPage: true, failure });
  });

  it.each([
    [200, { error: "no disk" }, "error-in-reply"],
    [202, [{ error: { code: 500, message: "no disk" } }], "error-in-reply"],
    [200, { call_ids: ["a"], errors: ["no disk"] }, "error-in-reply"],
    [200, { errors: "x".repeat(2_000_000) }, "error-in-reply"],
    [207, [{ status: 200 }], "invalid-reply"],
    [200, { metrics: { "train/errors": 2 }, call_ids: ["a"], error: null, errors: [], failed: 0 }, undefined],
    [200, { status: "ok", message: "logged", success: true, code: 200, accepted: 1 }, undefined],
  ])("fails after an answer of %i that states a failure (row %$)", async (status, body, kind) => {
    const server = await scriptedServer([{ answer: { status, body: JSON.stringify(body) } }]);
    expect((await attemptAt(server.url)).failure?.kind).toBe(kind);
  });

  it.each([
    ["<!do", "", true],
    ["<", "", true],
    ["", "Content-Type: text/html", true],
    ["", "", false],
    ["{", "", false],
    ["{", "Content-Type: text/html", false],
  ])("fails after a cut body that may begin a web page (row %$)", async (body, header, isWebPage) => {
    const head = `HTTP/1.1 200 OK\r\nContent-Length: 60\r\n${header === "" ? "" : `${header}\r\n`}\r\n`;
    const server = await serverAfter(10, (socket) => void socket.end(head + body));
    expect(await attemptAt(server.url)).toMatchObject({ status: 200, isCut: true, isWebPage });
  });

  it("counts as not sent if it cannot connect", async () => {
    const port = await findClosedPort();
    expect(await attemptAt(`http://127.0.0.1:${port}`)).toMatchObject({
      kind: "broken",
      isBodySent: false,
      code: "ECONNREFUSED",
      failure: {
        code: "unavailable",
        kind: "connection-failed",
        details: { http: { url: `http://127.0.0.1:${port}/v1/preview/models/m/log` } },
      },
    });
  });

  it("lasts as long as its body makes progress", async () => {
    const { url } = await scriptedServer([{ answer: json({ metrics: {} }) }]);
    const body: StreamedBody = {
      length: 8,
      async *chunks() {
        for (const piece of ["{", '"a"', ":", "[", "]}"]) {
          await setTimeout(400);
          yield Buffer.from(piece);
        }
      },
    };
    expect(await attemptAt(url, body, { timeoutMs: 300 })).toMatchObject({ kind: "answered", status: 200 });
  });

  it("throws the error that its body throws", async () => {
    const server = await rawServer((socket) => socket.resume());
    const body: StreamedBody = {
      length: 10,
      async *chunks() {
        yield Buffer.from("12345");
        throw new Error("the file changed");
      },
    };
    await expect(attemptAt(server.url, body)).rejects.toMatchObject({ message: "the file changed" });
  });

  it.each([
    ["shorter", 11],
    ["longer", 9],
  ])("counts as not sent if its body is %s than its length", async (_, length) => {
    const server = await rawServer((socket) => socket.resume());
    const attempt = await attemptAt(server.url, { ...bodyOf(2, 5), length });
    expect(attempt).toMatchObject({ kind: "broken", isBodySent: false });
  });
});

describe("a second log request", () => {
  const logTwice = async (url: string) => {
    const { client } = clientAt(url);
    const parameters = { model_id: "m" };
    const first = await client.attempt(logTrajectories, { parameters, body: bodyOf(1, 10) });
    expect(first).toMatchObject({ kind: "answered", status: 200 });
    return await client.attempt(logTrajectories, { parameters, body: bodyOf(1, 10) });
  };

  it("has its own connection, even if the service keeps the first connection open", async () => {
    const server = await scriptedServer([{ answer: json({}) }, { answer: json({}) }]);
    expect(await logTwice(server.url)).toMatchObject({ kind: "answered", status: 200 });
    expect(server.connections()).toBe(2);
  });

  it("is answered if the service resets each connection after its answer", async () => {
    for (let round = 0; round < 20; round++) {
      const server = await rawServer((socket) => {
        let seen = "";
        socket.on("data", (chunk) => {
          seen += chunk.toString("latin1");
          if (seen.endsWith("xxxxxxxxxx")) socket.write(wireReply("200 OK", "{}"), () => socket.resetAndDestroy());
        });
      });
      expect(await logTwice(server.url)).toMatchObject({ kind: "answered", status: 200 });
      expect(server.connections()).toBe(2);
    }
  });
});

describe("closing the client", () => {
  it("ends a log request in flight as not sent", async () => {
    const server = await serverAfter(mebibyte, () => arrived.tell());
    const arrived = { tell: (): void => undefined };
    const told = new Promise<void>((resolve) => {
      arrived.tell = resolve;
    });
    const { client } = clientAt(server.url);
    const attempt = client.attempt(logTrajectories, { parameters: { model_id: "m" }, body: bodyOf(100, mebibyte) });
    await told;
    await client.close();
    expect(await attempt).toMatchObject({ kind: "broken", isBodySent: false });
  });
});

describe("a broken log request", () => {
  it("counts as not sent if it breaks before its last byte was given to the system", async () => {
    const server = await serverAfter(mebibyte, (socket) => socket.resetAndDestroy());
    expect(await attemptAt(server.url, bodyOf(100, mebibyte))).toMatchObject({ kind: "broken", isBodySent: false });
  });

  it("ends as unknown if it breaks after its last byte was given to the system", async () => {
    const server = await serverAfter(10, (socket) => socket.resetAndDestroy());
    expect(await attemptAt(server.url)).toMatchObject({
      kind: "broken",
      code: "ECONNRESET",
      isBodySent: true,
      failure: { code: "unavailable" },
    });
  });

  it("counts as not sent if it breaks within a single piece of 64 MiB", async () => {
    const server = await serverAfter(mebibyte, (socket) => socket.resetAndDestroy());
    expect(await attemptAt(server.url, bodyOf(1, 64 * mebibyte))).toMatchObject({ kind: "broken", isBodySent: false });
  });

  it("never counts as not sent if the service received its whole body", async () => {
    for (let number = 0; number < 12; number++) {
      const body = bodyOf(number + 1, 100_000);
      // Ends at the last byte, at the byte before it, or further before.
      const end = Math.max(0, body.length - (number % 4) * (number % 4) * number * 100 - (number % 4));
      const service = { hasAll: false };
      const server = await serverAfter(end, (socket, seen) => {
        service.hasAll = seen === body.length;
        socket.resetAndDestroy();
      });
      const attempt = await attemptAt(server.url, body);
      expect(attempt).toMatchObject({ kind: "broken", isBodySent: service.hasAll ? true : expect.any(Boolean) });
    }
  });

  it.each([
    ["counts as not sent if the run is interrupted before its last byte", mebibyte, bodyOf(100, mebibyte), false],
    ["ends as unknown if the run is interrupted after its last byte", 10, bodyOf(2, 5), true],
  ])("%s", async (_, count, body, isBodySent) => {
    const stop = { now: (): void => undefined };
    const server = await serverAfter(count, () => stop.now());
    const { client, interrupt } = clientAt(server.url);
    stop.now = interrupt;
    const attempt = await client.attempt(logTrajectories, { parameters: { model_id: "m" }, body });
    expect(attempt).toMatchObject({ kind: "broken", code: "ABORTED", isBodySent });
  });

  it("never starts after an interruption of the run", async () => {
    const server = await rawServer(() => undefined);
    const { client, interrupt } = clientAt(server.url);
    interrupt();
    const body = bodyOf(2, 5);
    const attempt = await client.attempt(logTrajectories, { parameters: { model_id: "m" }, body });
    expect(attempt).toMatchObject({ kind: "broken", code: "ABORTED", isBodySent: false });
    expect(body.given()).toBe(0);
  });
});

describe("a log request with a credential", () => {
  it("throws before it reads its body if the URL is plain http", async () => {
    const body = bodyOf(1, 1);
    const failure = await failureOf(attemptAt("http://service.invalid", body));
    expect(failure).toMatchObject({ code: "usage", kind: "credential-over-http" });
    expect(body.given()).toBe(0);
  });
});
