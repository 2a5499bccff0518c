import type { Socket } from "node:net";
import { createServer as createTlsServer } from "node:tls";
import { describe, expect, it } from "vitest";
import { logTrajectories } from "../../src/contract/log.ts";
import { listModels } from "../../src/contract/models.ts";
import { closedPort } from "../support/server.ts";
import { certificate } from "./certificate.ts";
import { bodyOf, clientAt, failureOf, rawServer, type Wishes, wireReply } from "./open.ts";

const list = { parameters: {}, body: undefined };
const whole = wireReply("200 OK", '{"data":[]}');

/** What a list at an address fails with, when it is not tried again. */
const failureAt = async (url: string, wishes: Wishes = {}) =>
  await failureOf(clientAt(url, { maxWaitMs: 0, timeoutMs: 200, ...wishes }).client.send(listModels, list));

describe("an answer that does not end", () => {
  const endless = [
    ["in informational replies", "", "HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n"],
    ["in the extensions of a chunk", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1;", "x"],
    ["in its headers", "HTTP/1.1 200 OK\r\nX-Long: ", "x"],
    ["in its body", "HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n", "x"],
  ] as const;
  const endlessServer = async (opening: string, again: string, read: (socket: Socket) => void) =>
    await rawServer((socket) => {
      socket.once("data", () => {
        socket.write(opening);
        const timer = setInterval(() => socket.write(again), 10);
        socket.on("close", () => clearInterval(timer));
      });
      read(socket);
    });

  it.each(endless)("%s ends a read when its time as a whole is over", async (_, opening, again) => {
    const server = await endlessServer(opening, again, () => undefined);
    const { client, waits } = clientAt(server.url, { maxWaitMs: 400, timeoutMs: 300 });
    const failure = await failureOf(client.send(listModels, list));
    expect(failure).toMatchObject({ code: "unavailable", data: { code: "ENDLESS" } });
    expect([server.connections(), waits]).toEqual([1, []]);
  });

  it.each(endless)("%s ends a log, which is what its status says, or unknown", async (where, opening, again) => {
    const server = await endlessServer(opening, again, (socket) => socket.resume());
    const { client } = clientAt(server.url, { timeoutMs: 150 });
    const attempt = await client.attempt(logTrajectories, { parameters: { model_id: "m" }, body: bodyOf(2, 1000) });
    const isRead = where !== "in informational replies";
    expect(attempt).toMatchObject(
      isRead ? { kind: "answered", status: 200, cut: true } : { kind: "broken", code: "ENDLESS", bodySent: true },
    );
  });

  it("ends a log of which it takes nothing, and nobody can have had the whole", async () => {
    const early = "HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n";
    const server = await endlessServer("", early, (socket) => socket.once("data", () => socket.pause()));
    const { client } = clientAt(server.url, { timeoutMs: 150 });
    const body = bodyOf(64, 1024 * 1024);
    const attempt = await client.attempt(logTrajectories, { parameters: { model_id: "m" }, body });
    expect(attempt).toMatchObject({ kind: "broken", code: "ENDLESS", bodySent: false });
  });
});

describe("silence", () => {
  it("before an answer ends a read", async () => {
    const server = await rawServer(() => undefined);
    expect(await failureAt(server.url)).toMatchObject({ code: "unavailable", data: { code: "SILENT", ms: 200 } });
  });

  it("within an answer ends a read", async () => {
    const server = await rawServer((socket) => socket.once("data", () => socket.write(whole.slice(0, -3))));
    // Long enough that its bound as a whole, twice of it, is not met by a machine that is busy.
    expect(await failureAt(server.url, { timeoutMs: 2000 })).toMatchObject({
      code: "unavailable",
      data: { code: "SILENT" },
    });
  });

  it("of a service that does not read ends a log, of which nobody can have had the whole", async () => {
    const server = await rawServer((socket) => socket.pause());
    const body = bodyOf(64, 1024 * 1024);
    const { client } = clientAt(server.url, { timeoutMs: 300 });
    const attempt = await client.attempt(logTrajectories, { parameters: { model_id: "m" }, body });
    expect(attempt).toMatchObject({ kind: "broken", code: "SILENT", bodySent: false });
    expect(body.given()).toBeLessThan(64);
  });

  it("after a log ends it, and what became of it is unknown", async () => {
    const server = await rawServer((socket) => socket.resume());
    const { client } = clientAt(server.url, { timeoutMs: 200 });
    const attempt = await client.attempt(logTrajectories, { parameters: { model_id: "m" }, body: bodyOf(2, 1000) });
    expect(attempt).toMatchObject({ kind: "broken", code: "SILENT", bodySent: true });
  });

  it("is not what a slow answer is, however long it takes", async () => {
    const server = await rawServer((socket) =>
      socket.once("data", async () => {
        for (const letter of whole) {
          socket.write(letter);
          await new Promise((resolve) => setTimeout(resolve, 40));
        }
      }),
    );
    const { client } = clientAt(server.url, { timeoutMs: 1000 });
    expect((await client.send(listModels, list)).value.data).toHaveLength(0);
  });

  it("is not what a slow reader is, however long it takes", async () => {
    const length = 24 * 1024 * 1024;
    // The end of the body is read fast: what the system keeps has left the process, and nobody sees it being read.
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
    const { client } = clientAt(server.url, { timeoutMs: 1500 });
    const body = bodyOf(3, length / 3);
    const attempt = await client.attempt(logTrajectories, { parameters: { model_id: "m" }, body });
    expect(attempt).toMatchObject({ kind: "answered", status: 200, bodySent: true });
  });

  it("between two reads is allowed", async () => {
    const server = await rawServer((socket) => socket.on("data", () => socket.write(whole)));
    const { client } = clientAt(server.url, { timeoutMs: 100 });
    await client.send(listModels, list);
    await new Promise((resolve) => setTimeout(resolve, 250));
    await client.send(listModels, list);
    expect(server.connections()).toBe(1);
  });
});

/** No name has a part of more than 63 characters: that is known without asking anybody. */
const nobodysName = `${"a".repeat(64)}.invalid`;

describe("a connection", () => {
  it("that is refused says where", async () => {
    const port = await closedPort();
    const failure = await failureAt(`http://127.0.0.1:${port}`);
    expect(failure).toMatchObject({
      code: "unavailable",
      reason: "no-connection",
      data: { code: "ECONNREFUSED", to: `127.0.0.1:${port}`, proxy: undefined, setting: "inference_base_url" },
      about: { http: { method: "GET", url: `http://127.0.0.1:${port}/v1/models` } },
    });
  });

  it("to a name that nobody has says so", async () => {
    const failure = await failureAt(`https://${nobodysName}`);
    expect(failure).toMatchObject({ code: "unavailable", data: { to: `${nobodysName}:443` } });
    expect(["ENOTFOUND", "EAI_AGAIN"]).toContain(failure.reason === "no-connection" ? codeOf(failure.data) : "");
  });

  it("that is closed without an answer is cut", async () => {
    const server = await rawServer((socket) => socket.once("data", () => socket.end()));
    expect(await failureAt(server.url)).toMatchObject({ code: "unavailable", data: { code: "CUT" } });
  });

  it("on which something else than HTTP is spoken is not tried again", async () => {
    const server = await rawServer((socket) => socket.end("SSH-2.0-OpenSSH_9.6\r\n"));
    const { client, waits } = clientAt(server.url);
    const failure = await failureOf(client.send(listModels, list));
    expect(failure).toMatchObject({ code: "unavailable", data: { code: "NOT_HTTP" } });
    expect(waits).toEqual([]);
  });

  it("that idled and was closed is not used again", async () => {
    const server = await rawServer((socket) => socket.once("data", () => socket.end(whole)));
    const { client, waits } = clientAt(server.url);
    await client.send(listModels, list);
    await new Promise((resolve) => setTimeout(resolve, 50));
    await client.send(listModels, list);
    expect([server.connections(), waits]).toEqual([2, []]);
  });

  it("ends with the run", async () => {
    const stop = { now: (): void => undefined };
    const server = await rawServer((socket) => socket.once("data", () => stop.now()));
    const { client, interrupt } = clientAt(server.url);
    stop.now = interrupt;
    expect(await failureOf(client.send(listModels, list))).toMatchObject({
      code: "interrupted",
      data: { signal: "SIGINT" },
    });
  });

  it("is closed with the client", async () => {
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
});

describe("a connection over TLS", () => {
  const tlsServer = async (options: Parameters<typeof certificate>[0]) => {
    const tls = createTlsServer(certificate(options), (socket) => {
      socket.on("error", () => undefined).once("data", () => socket.end(whole));
    });
    const server = await rawServer(() => undefined, tls);
    return { ...server, url: server.url.replace("http:", "https:") };
  };

  it("to a machine whose certificate nobody signed who is known is not tried again", async () => {
    const server = await tlsServer({});
    const { client, waits } = clientAt(server.url);
    const failure = await failureOf(client.send(listModels, list));
    expect(failure).toMatchObject({ code: "unavailable", data: { code: "DEPTH_ZERO_SELF_SIGNED_CERT" } });
    expect(waits).toEqual([]);
  });

  it("to a port that speaks no TLS says so", async () => {
    const server = await rawServer((socket) => socket.end("HTTP/1.1 400 Bad Request\r\n\r\n"));
    const failure = await failureAt(server.url.replace("http:", "https:"));
    expect(failure).toMatchObject({ code: "unavailable", data: { code: expect.stringMatching(/^(EPROTO|ERR_SSL_)/) } });
  });

  it("that never comes about ends after ten seconds", async () => {
    const server = await rawServer((socket) => socket.resume());
    const failure = await failureAt(server.url.replace("http:", "https:"));
    expect(failure).toMatchObject({ code: "unavailable", data: { code: "CONNECT_TIMEOUT", ms: 10_000 } });
  });
});

const codeOf = (data: unknown): unknown =>
  typeof data === "object" && data !== null && "code" in data ? data.code : undefined;
