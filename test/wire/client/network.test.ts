import type { Socket } from "node:net";
import { createServer as createTlsServer } from "node:tls";
import { describe, expect, it } from "vitest";
import type { Attempt } from "../../../src/wire/client/client.ts";
import { listModels } from "../../../src/wire/contract/reads.ts";
import { findClosedPort } from "../../support/server.ts";
import { certificate } from "./certificate.ts";
import {
  attemptAt,
  bodyOf,
  clientAt,
  failureOf,
  list,
  listFailureOf,
  type Overrides,
  rawServer,
  wireReply,
} from "./open.ts";

const whole = wireReply("200 OK", '{"data":[]}');

const failureAt = async (url: string, overrides: Overrides = {}) =>
  await failureOf(clientAt(url, { maxWaitMs: 0, timeoutMs: 200, ...overrides }).client.send(listModels, list));

it("a silent service ends a read after 30 s, but no log request within 33 s", { tags: "slow" }, async () => {
  const { url } = await rawServer((socket) => {
    const timer = setTimeout(() => socket.end(whole), 33_000);
    socket.resume().on("close", () => clearTimeout(timer));
  });
  const [failure, attempt] = await Promise.all([
    failureAt(url, { timeoutMs: undefined }),
    attemptAt(url, bodyOf(2, 5), { timeoutMs: undefined }),
  ]);
  expect(failure.message).toMatch(/no data arrived for 30 s$/);
  expect(attempt).toMatchObject({ kind: "answered", status: 200 });
});

describe("an answer that never ends", () => {
  const early = ["informational replies", "", "HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n"] as const;
  const chunk = ["chunk extensions", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1;", "x"] as const;
  const headers = ["headers", "HTTP/1.1 200 OK\r\nX-Long: ", "x"] as const;
  const body = ["body", "HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n", "x"] as const;
  const endlessServer = async (opening: string, again: string, read: (socket: Socket) => void) =>
    await rawServer((socket) => {
      socket.once("data", () => {
        socket.write(opening);
        const timer = setInterval(() => socket.write(again), 10);
        socket.on("close", () => clearInterval(timer));
      });
      read(socket);
    });

  const endsRead = async (opening: string, again: string, code: string, maxWaitMs: number): Promise<void> => {
    const server = await endlessServer(opening, again, () => undefined);
    const { client } = clientAt(server.url, { maxWaitMs, retries: false, timeoutMs: 300 });
    const failure = await failureOf(client.send(listModels, list));
    expect(failure).toMatchObject({ code: "unavailable", details: { systemCode: code } });
    expect(server.connections()).toBe(1);
  };

  it("ends a read at twice the limit of silence, in its informational replies", async () => {
    await endsRead(early[1], early[2], "ENDLESS", 0);
  });

  it.each([chunk, headers])("ends a read at the limit of silence, in its %s", async (_, opening, again) => {
    // So long that a busy machine does not reach the limit of the whole time.
    await endsRead(opening, again, "SILENT", 60_000);
  });

  const attemptWith = async (opening: string, again: string): Promise<Attempt> => {
    const server = await endlessServer(opening, again, (socket) => socket.resume());
    return await attemptAt(server.url, bodyOf(2, 1000), { timeoutMs: 300 });
  };

  it.each([chunk, body])("gives a log the status that came before its %s", async (_, opening, again) => {
    expect(await attemptWith(opening, again)).toMatchObject({
      kind: "answered",
      status: 200,
      isCut: true,
    });
  });

  it.each([
    [...early, "ENDLESS"],
    [...headers, "SILENT"],
  ] as const)("leaves a log unknown in its %s", async (_, opening, again, code) => {
    expect(await attemptWith(opening, again)).toMatchObject({ kind: "broken", code, isBodySent: true });
  });

  it("ends a log as not sent if the service does not read the body", async () => {
    const [, opening, again] = early;
    const server = await endlessServer(opening, again, (socket) => socket.once("data", () => socket.pause()));
    const attempt = await attemptAt(server.url, bodyOf(64, 1024 * 1024), { timeoutMs: 300 });
    expect(attempt).toMatchObject({ kind: "broken", code: "ENDLESS", isBodySent: false });
  });
});

describe("the limit of silence", () => {
  it("ends a read if no answer comes", async () => {
    const server = await rawServer(() => undefined);
    const { code, message } = await failureAt(server.url);
    expect([code, message]).toEqual(["unavailable", expect.stringMatching(/no data arrived for 0\.2 s$/)]);
  });

  it("does not end a read whose answer takes longer than --max-wait", async () => {
    const server = await rawServer((socket) => socket.once("data", () => setTimeout(() => socket.end(whole), 300)));
    const { client } = clientAt(server.url, { maxWaitMs: 100, timeoutMs: 60_000 });
    expect(await client.send(listModels, list)).toMatchObject({ entries: expect.anything() });
  });

  it("does not end a read whose answer arrives slowly, but steadily", { tags: "slow" }, async () => {
    const server = await rawServer((socket) => {
      socket.once("data", async () => {
        socket.write(whole.slice(0, -11));
        for (const byte of whole.slice(-11))
          await new Promise((done) => socket.write(byte, () => setTimeout(done, 250)));
      });
    });
    const { client } = clientAt(server.url, { timeoutMs: 500 });
    expect(await client.send(listModels, list)).toMatchObject({ entries: expect.anything() });
  });

  it("ends a read at a shorter --max-wait while it connects", async () => {
    const server = await rawServer(() => undefined);
    const url = server.url.replace("http:", "https:");
    const failure = await failureAt(url, { maxWaitMs: 100, timeoutMs: 60_000 });
    expect(failure).toMatchObject({ code: "unavailable", details: { systemCode: "CONNECT_ENDLESS" } });
    expect([failure.message, failure.details.hint].join()).toContain("--max-wait");
    expect(server.connections()).toBe(1);
  });

  it("ends a log as not sent if the service does not read, after few megabytes of the body", async () => {
    const server = await rawServer((socket) => socket.pause());
    const size = 64 * 1024;
    const body = bodyOf(1000, size);
    const attempt = await attemptAt(server.url, body, { timeoutMs: 300 });
    expect(attempt).toMatchObject({ kind: "broken", code: "SILENT", isBodySent: false });
    // The system buffers this much for both ends of a connection.
    expect(body.given() * size).toBeLessThan(16 * 1024 * 1024);
  });

  it("ends a log as unknown if no answer comes after its body", async () => {
    const server = await rawServer((socket) => socket.resume());
    const attempt = await attemptAt(server.url, bodyOf(2, 1000), { timeoutMs: 200 });
    expect(attempt).toMatchObject({ kind: "broken", code: "SILENT", isBodySent: true });
  });

  it("lets a service read a log slowly", { tags: "slow" }, async () => {
    const length = 24 * 1024 * 1024;
    // The server reads the end fast, because the client cannot see when the system's buffers are read.
    const slow = length / 2;
    const step = 512 * 1024;
    const server = await rawServer((socket) => {
      let seen = 0;
      socket.on("data", (chunk) => {
        seen += chunk.length;
        if (seen >= length) socket.end(wireReply("200 OK", "{}"));
        if (seen > slow || Math.floor(seen / step) === Math.floor((seen - chunk.length) / step)) return;
        socket.pause();
        setTimeout(() => socket.resume(), 80);
      });
    });
    const attempt = await attemptAt(server.url, bodyOf(3, length / 3), { timeoutMs: 1500 });
    expect(attempt).toMatchObject({ kind: "answered", status: 200 });
  });

  it("does not apply between two reads", async () => {
    const server = await rawServer((socket) => socket.on("data", () => socket.write(whole)));
    const { client } = clientAt(server.url, { timeoutMs: 400 });
    await client.send(listModels, list);
    await new Promise((resolve) => setTimeout(resolve, 600));
    await client.send(listModels, list);
    expect(server.connections()).toBe(1);
  });
});

/** A part of a name has at most 63 characters, so no resolver gets this name. */
const impossibleName = `${"a".repeat(64)}.invalid`;

describe("a connection", () => {
  it("causes a failure with host and port if it is refused", async () => {
    const port = await findClosedPort();
    const failure = await failureAt(`http://127.0.0.1:${port}`);
    expect(failure).toMatchObject({
      code: "unavailable",
      kind: "connection-failed",
      message: `cannot connect to 127.0.0.1:${port}: the connection was refused (ECONNREFUSED)`,
      details: {
        hint: "check inference_base_url, or rerun the same command when the service is up",
        http: { method: "GET", url: `http://127.0.0.1:${port}/v1/models` },
      },
    });
  });

  it("causes a failure with the host if the name does not exist", async () => {
    const failure = await failureAt(`https://${impossibleName}`);
    expect(failure).toMatchObject({ code: "unavailable", message: expect.stringContaining(`${impossibleName}:443: `) });
    expect(["ENOTFOUND", "EAI_AGAIN"]).toContain(failure.details.systemCode);
  });

  it("causes a failure if it closes without an answer", async () => {
    const server = await rawServer((socket) => socket.once("data", () => socket.end()));
    expect(await failureAt(server.url)).toMatchObject({ code: "unavailable", details: { systemCode: "CUT" } });
  });

  it("causes no second attempt if the server does not speak HTTP", async () => {
    const server = await rawServer((socket) => socket.end("SSH-2.0-OpenSSH_9.6\r\n"));
    const { failure, waits } = await listFailureOf(clientAt(server.url));
    expect(failure).toMatchObject({ code: "unavailable", details: { systemCode: "NOT_HTTP" } });
    expect(waits).toEqual([]);
  });

  it("is not used again if the service closed it while it was idle", async () => {
    const closed: unknown[] = [];
    const server = await rawServer((socket) =>
      socket.once("data", () => socket.end(whole)).once("close", () => closed.push(socket)),
    );
    const { client, waits } = clientAt(server.url);
    await client.send(listModels, list);
    await expect.poll(() => closed.length).toBe(1);
    await client.send(listModels, list);
    expect([server.connections(), waits]).toEqual([2, []]);
  });

  it("ends when the run is interrupted", async () => {
    const stop = { now: (): void => undefined };
    const server = await rawServer((socket) => socket.once("data", () => stop.now()));
    const { client, interrupt } = clientAt(server.url);
    stop.now = interrupt;
    expect(await failureOf(client.send(listModels, list))).toMatchObject({
      code: "interrupted",
      details: { signal: "SIGINT" },
    });
  });

  it("closes with the client", async () => {
    const open = new Set<unknown>();
    const server = await rawServer((socket) => {
      open.add(socket);
      socket.on("close", () => open.delete(socket)).once("data", () => socket.write(whole));
    });
    const { client } = clientAt(server.url);
    await client.send(listModels, list);
    expect(open.size).toBe(1);
    await client.close();
    await expect.poll(() => open.size).toBe(0);
  });

  it("is not opened after the client is closed", async () => {
    const server = await rawServer((socket) => socket.on("data", () => socket.end(whole)));
    const { client } = clientAt(server.url);
    await client.send(listModels, list);
    await client.close();
    await Promise.all([1, 2].map(async () => await failureOf(client.send(listModels, list))));
    expect(server.connections()).toBe(1);
  });
});

describe("a connection over TLS", () => {
  const tlsServer = async (options: Parameters<typeof certificate>[0]) => {
    const tls = createTlsServer(certificate(options), (socket) => {
      socket.on("error", () => undefined).once("data", () => socket.end(whole));
    });
    const server = await rawServer(() => undefined, tls);
    return { ...server, url: server.url.replace("http:", "https:") };
  };

  it("causes no second attempt if the certificate is self-signed", async () => {
    const server = await tlsServer({});
    const { failure, waits } = await listFailureOf(clientAt(server.url));
    expect(failure).toMatchObject({ code: "unavailable", details: { systemCode: "DEPTH_ZERO_SELF_SIGNED_CERT" } });
    expect(waits).toEqual([]);
  });
});
