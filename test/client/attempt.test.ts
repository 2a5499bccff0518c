import type { Socket } from "node:net";
import { gzipSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import type { StreamedBody } from "../../src/client/index.ts";
import { logTrajectories } from "../../src/contract/log.ts";
import { closedPort, json, scriptedServer } from "../support/server.ts";
import { bodyOf, clientAt, failureOf, rawServer, type Wishes, wireReply } from "./open.ts";

const mebibyte = 1024 * 1024;

/** What becomes of one attempt at an address. */
const attemptAt = async (url: string, body: StreamedBody = bodyOf(2, 5), wishes: Wishes = {}) =>
  await clientAt(url, wishes).client.attempt(logTrajectories, { parameters: { model_id: "m" }, body });

/** A server that does something when it has read `count` bytes of a body or a few more, and reads nothing further by itself. */
const serverAfter = async (count: number, act: (socket: Socket, seen: number) => void) =>
  await rawServer((socket) => {
    let head = "";
    let seen = 0;
    socket.on("data", (chunk) => {
      if (head.includes("\r\n\r\n")) seen += chunk.length;
      else {
        head += chunk.toString("latin1");
        seen = Math.max(0, head.length - head.indexOf("\r\n\r\n") - 4);
      }
      if (!head.includes("\r\n\r\n") || seen < count) return;
      socket.pause().removeAllListeners("data");
      act(socket, seen);
    });
  });

describe("a log", () => {
  it("goes out with its length, and without asking to be expected", async () => {
    const server = await scriptedServer([{ answer: json({ metrics: {} }) }, { answer: json({}) }]);
    const { client } = clientAt(server.url);
    const request = { parameters: { model_id: "m" }, body: bodyOf(3, 70_000) };
    const attempt = await client.attempt(logTrajectories, request);
    await client.attempt(logTrajectories, request);
    expect(attempt).toEqual({
      kind: "answered",
      status: 200,
      retryAfterMs: undefined,
      idempotencyKey: undefined,
      body: Buffer.from('{"metrics":{}}'),
      cut: false,
      bodySent: true,
      failure: undefined,
    });
    expect(server.received[0]?.body.toString()).toBe("x".repeat(210_000));
    for (const { headers } of server.received) {
      expect(headers).toMatchObject({ connection: "keep-alive", "content-length": "210000" });
      expect(headers).not.toHaveProperty("expect");
      expect(headers).not.toHaveProperty("transfer-encoding");
    }
  });

  it("takes headers of its own, and reads the key that is echoed", async () => {
    const headers = { "Idempotency-Key": "abc-1" };
    const server = await scriptedServer([
      { answer: { headers: { "idempotency-key": "abc-1", "content-encoding": "gzip" }, body: gzipSync("{}") } },
    ]);
    const request = { parameters: { model_id: "m" }, body: bodyOf(1, 2), headers };
    const attempt = await clientAt(server.url).client.attempt(logTrajectories, request);
    expect(attempt).toMatchObject({ idempotencyKey: "abc-1", body: Buffer.from("{}") });
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
    [307, "refused"],
    [429, "unavailable"],
    [500, "unavailable"],
    [503, "unavailable"],
  ])("that is answered %i is not repeated, and ends a run as %s", async (status, code) => {
    const server = await scriptedServer([
      { answer: { status, headers: { "retry-after": "3" }, body: '{"detail":"because"}' } },
    ]);
    const attempt = await attemptAt(server.url);
    expect(attempt).toMatchObject({
      kind: "answered",
      status,
      retryAfterMs: 3000,
      cut: false,
      bodySent: true,
      failure: { code, about: { http: { status, method: "POST" } } },
    });
  });

  it.each(["", "null", "{}", "<html></html>", "ok", "[1"])(
    "that is answered 200 with %j is no failure",
    async (body) => {
      const server = await scriptedServer([{ answer: { status: 200, body } }]);
      expect(await attemptAt(server.url)).toMatchObject({ status: 200, cut: false, failure: undefined });
    },
  );

  it("that can't connect was not sent", async () => {
    const port = await closedPort();
    expect(await attemptAt(`http://127.0.0.1:${port}`)).toMatchObject({
      kind: "broken",
      bodySent: false,
      code: "ECONNREFUSED",
      failure: {
        code: "unavailable",
        reason: "no-connection",
        about: { http: { url: `http://127.0.0.1:${port}/v1/preview/models/m/log` } },
      },
    });
  });

  it("throws what its body throws", async () => {
    const server = await rawServer((socket) => socket.resume());
    const body: StreamedBody = {
      length: 10,
      async *chunks() {
        yield Buffer.from("12345");
        throw new Error("the file changed");
      },
    };
    await expect(attemptAt(server.url, body)).rejects.toThrow("the file changed");
  });

  it.each([
    ["shorter", 11],
    ["longer", 9],
  ])("whose body is %s than was said was not sent", async (_, length) => {
    const server = await rawServer((socket) => socket.resume());
    const attempt = await attemptAt(server.url, { ...bodyOf(2, 5), length });
    expect(attempt).toMatchObject({ kind: "broken", bodySent: false });
  });

  it("takes one piece after the other, as fast as the service reads", async () => {
    const server = await rawServer((socket) => socket.pause());
    const body = bodyOf(1000, 64 * 1024);
    await attemptAt(server.url, body, { timeoutMs: 300 });
    // What the system keeps for both ends of a connection, and no more.
    expect(body.given() * 64 * 1024).toBeLessThan(16 * mebibyte);
  });
});

/** Answers each request of a connection whose body is so long; `onHead` is told of the second one's beginning in place of that. */
const answersThen = (length: number, onSecond: (socket: Socket) => void) => (socket: Socket, number: number) => {
  let [seen, requests] = [0, 0];
  socket.on("data", (chunk) => {
    const text = chunk.toString("latin1");
    const head = text.startsWith("POST ") ? text.indexOf("\r\n\r\n") + 4 : 0;
    if (head > 0 && ++requests === 2 && number === 0) return onSecond(socket);
    seen += chunk.length - head;
    if (seen < length) return;
    seen = 0;
    socket.write(wireReply("200 OK", "{}"));
  });
};

describe("a second log", () => {
  const logTwice = async (url: string, second: StreamedBody, wishes: Wishes = {}) => {
    const { client } = clientAt(url, wishes);
    const parameters = { model_id: "m" };
    const first = await client.attempt(logTrajectories, { parameters, body: bodyOf(1, 10) });
    expect(first).toMatchObject({ kind: "answered", status: 200 });
    return await client.attempt(logTrajectories, { parameters, body: second });
  };

  it("goes over the connection of the first, where that was answered to its end", async () => {
    const server = await scriptedServer([{ answer: json({}) }, { answer: json({}) }]);
    expect(await logTwice(server.url, bodyOf(1, 10))).toMatchObject({ kind: "answered", status: 200 });
    expect(server.connections()).toBe(1);
  });

  it("has a connection of its own where the first one breaks before its body has left", async () => {
    const size = 10 * mebibyte;
    let broken = 0;
    const server = await rawServer((socket, number) => {
      const length = number === 0 ? 10 : size;
      answersThen(length, () => {
        broken++;
        socket.resetAndDestroy();
      })(socket, number);
    });
    expect(await logTwice(server.url, bodyOf(10, mebibyte))).toMatchObject({ kind: "answered", status: 200 });
    expect([server.connections(), broken]).toEqual([2, 1]);
  });

  it("is unknown where the first one's connection breaks behind its body", async () => {
    const server = await rawServer(
      answersThen(10, (socket) => {
        socket.removeAllListeners("data").on("data", () => undefined);
        setTimeout(() => socket.resetAndDestroy(), 50);
      }),
    );
    expect(await logTwice(server.url, bodyOf(1, 10))).toMatchObject({ kind: "broken", bodySent: true });
    expect(server.connections()).toBe(1);
  });

  it("has a connection of its own where the other side closes each after its answer", async () => {
    for (let round = 0; round < 20; round++) {
      const server = await rawServer((socket) => {
        let seen = "";
        socket.on("data", (chunk) => {
          seen += chunk.toString("latin1");
          if (seen.endsWith("xxxxxxxxxx")) socket.end(wireReply("200 OK", "{}"));
        });
      });
      expect(await logTwice(server.url, bodyOf(1, 10))).toMatchObject({ kind: "answered", status: 200 });
      expect(server.connections()).toBe(2);
    }
  });
});

describe("a client that is closed", () => {
  it("ends the connection of a log that is on its way", async () => {
    const server = await serverAfter(mebibyte, () => arrived.tell());
    const arrived = { tell: (): void => undefined };
    const told = new Promise<void>((resolve) => {
      arrived.tell = resolve;
    });
    const { client } = clientAt(server.url);
    const attempt = client.attempt(logTrajectories, { parameters: { model_id: "m" }, body: bodyOf(100, mebibyte) });
    await told;
    await client.close();
    expect(await attempt).toMatchObject({ kind: "broken", bodySent: false });
  });
});

describe("an answer that comes early", () => {
  const tooLarge = wireReply("413 Payload Too Large", '{"detail":"too large"}', ["Connection: close"]);

  it.each(Array.from({ length: 12 }, (_, number) => number))(
    "is read, though the other side closes after 4 of 100 MB (%i)",
    async (number) => {
      const server = await serverAfter(4 * mebibyte, (socket) =>
        // A close with bytes unread is a reset, sooner or later.
        socket.write(tooLarge, () => setTimeout(() => socket.destroy(), number)),
      );
      const attempt = await attemptAt(server.url, bodyOf(100, mebibyte));
      expect(attempt).toMatchObject({
        kind: "answered",
        status: 413,
        bodySent: false,
        failure: { code: "refused", about: { http: { said: "too large" } } },
      });
    },
  );

  it("is read, though the next write fails before it was looked for", async () => {
    const closed = { tell: (): void => undefined };
    const server = await serverAfter(mebibyte, (socket) => {
      socket.write(tooLarge);
      socket.destroy();
      closed.tell();
    });
    const piece = Buffer.alloc(2 * mebibyte);
    const body: StreamedBody = {
      length: 3 * piece.length,
      async *chunks() {
        const told = new Promise<void>((resolve) => {
          closed.tell = resolve;
        });
        yield piece;
        await told;
        yield piece;
        yield piece;
      },
    };
    expect(await attemptAt(server.url, body)).toMatchObject({ kind: "answered", status: 413, bodySent: false });
  });

  it("is read, though the other side goes on reading", async () => {
    const server = await serverAfter(mebibyte, (socket) => socket.resume().write(tooLarge));
    expect(await attemptAt(server.url, bodyOf(100, mebibyte))).toMatchObject({ status: 413, bodySent: false });
  });

  it("of 200 is a success", async () => {
    const server = await serverAfter(mebibyte, (socket) => socket.resume().write(wireReply("200 OK", "{}")));
    expect(await attemptAt(server.url, bodyOf(100, mebibyte))).toMatchObject({ status: 200, failure: undefined });
  });

  it("decides with its status line alone", async () => {
    const server = await serverAfter(10, (socket) => socket.end("HTTP/1.1 200 OK\r\nContent-Ty"));
    expect(await attemptAt(server.url)).toMatchObject({ kind: "answered", status: 200, cut: true, bodySent: true });
  });

  it("decides with its status line alone, after informational ones", async () => {
    const server = await serverAfter(10, (socket) =>
      socket.end("HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\nHTTP/1.1 422 Unprocessable Entity\r\n"),
    );
    expect(await attemptAt(server.url)).toMatchObject({ kind: "answered", status: 422, cut: true });
  });

  it("decides nothing with half a status line, or an informational one", async () => {
    for (const half of ["HTTP/1.1 20", "HTTP/1.1 200 OK", "HTTP/1.1 103 Early Hints\r\n\r\n"]) {
      const server = await serverAfter(10, (socket) => socket.end(half));
      expect(await attemptAt(server.url)).toMatchObject({ kind: "broken", bodySent: true });
    }
  });

  it("is a success though its body is cut", async () => {
    const server = await serverAfter(10, (socket) =>
      socket.end('HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n{"metrics":'),
    );
    expect(await attemptAt(server.url)).toMatchObject({
      kind: "answered",
      status: 200,
      body: Buffer.from('{"metrics":'),
      cut: true,
      failure: undefined,
    });
  });

  it("is a success though its compressed body is cut", async () => {
    const whole = gzipSync("[1,2,3]");
    const server = await scriptedServer([
      { answer: { headers: { "content-encoding": "gzip" }, body: whole.subarray(0, -4) } },
    ]);
    expect(await attemptAt(server.url)).toMatchObject({ kind: "answered", status: 200, cut: true, failure: undefined });
  });

  it("is a success though its body never ends, of which a bounded part is kept", async () => {
    const piece = Buffer.alloc(4 * mebibyte, "[");
    const server = await serverAfter(10, (socket) => {
      const more = () => {
        while (!socket.destroyed && socket.write(piece));
      };
      socket.write("HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n");
      socket.on("drain", more);
      more();
    });
    const attempt = await attemptAt(server.url);
    expect(attempt).toMatchObject({ kind: "answered", status: 200, cut: true });
    expect(attempt.kind === "answered" ? attempt.body.length : 0).toBe(64 * mebibyte);
  });
});

describe("a log that breaks off", () => {
  it("before its last byte was handed over was not sent", async () => {
    const server = await serverAfter(mebibyte, (socket) => socket.resetAndDestroy());
    expect(await attemptAt(server.url, bodyOf(100, mebibyte))).toMatchObject({ kind: "broken", bodySent: false });
  });

  it("after its last byte was handed over is unknown", async () => {
    const server = await serverAfter(10, (socket) => socket.resetAndDestroy());
    expect(await attemptAt(server.url)).toMatchObject({
      kind: "broken",
      code: "ECONNRESET",
      bodySent: true,
      failure: { code: "unavailable" },
    });
  });

  it("in one piece of many megabytes before its last byte was handed over was not sent", async () => {
    const server = await serverAfter(mebibyte, (socket) => socket.resetAndDestroy());
    expect(await attemptAt(server.url, bodyOf(1, 64 * mebibyte))).toMatchObject({ kind: "broken", bodySent: false });
  });

  it("anywhere is never called not sent where the service has all of it", async () => {
    for (let number = 0; number < 40; number++) {
      const body = bodyOf(number + 1, 100_000);
      // At its end, at the byte before, and further and further before that.
      const count = Math.max(0, body.length - (number % 4) * (number % 4) * number * 100 - (number % 4));
      const had = { all: false };
      const server = await serverAfter(count, (socket, seen) => {
        had.all = seen === body.length;
        socket.resetAndDestroy();
      });
      const attempt = await attemptAt(server.url, body);
      expect(attempt).toMatchObject({ kind: "broken", bodySent: had.all ? true : expect.any(Boolean) });
    }
  });

  it("with the run before its last byte was not sent", async () => {
    const stop = { now: (): void => undefined };
    const server = await serverAfter(mebibyte, () => stop.now());
    const { client, interrupt } = clientAt(server.url);
    stop.now = interrupt;
    const request = { parameters: { model_id: "m" }, body: bodyOf(100, mebibyte) };
    expect(await client.attempt(logTrajectories, request)).toMatchObject({
      kind: "broken",
      code: "ABORTED",
      bodySent: false,
    });
  });

  it("with the run after its last byte is unknown", async () => {
    const stop = { now: (): void => undefined };
    const server = await serverAfter(10, () => stop.now());
    const { client, interrupt } = clientAt(server.url);
    stop.now = interrupt;
    const request = { parameters: { model_id: "m" }, body: bodyOf(2, 5) };
    expect(await client.attempt(logTrajectories, request)).toMatchObject({ code: "ABORTED", bodySent: true });
  });

  it("with a run that had ended before is not begun", async () => {
    const server = await rawServer(() => undefined);
    const { client, interrupt } = clientAt(server.url);
    interrupt();
    const body = bodyOf(2, 5);
    const attempt = await client.attempt(logTrajectories, { parameters: { model_id: "m" }, body });
    expect(attempt).toMatchObject({ kind: "broken", code: "ABORTED", bodySent: false });
    expect(body.given()).toBe(0);
  });
});

describe("what is wrong before a log", () => {
  it("is thrown, and nothing is sent", async () => {
    const { client } = clientAt("http://service.invalid");
    const body = bodyOf(1, 1);
    const failure = await failureOf(client.attempt(logTrajectories, { parameters: { model_id: "m" }, body }));
    expect(failure).toMatchObject({ code: "usage", reason: "credential-over-http" });
    expect(body.given()).toBe(0);
  });

  it("is thrown for an empty model id", async () => {
    const { client } = clientAt("http://127.0.0.1:1");
    const request = { parameters: { model_id: "" }, body: bodyOf(1, 1) };
    expect(await failureOf(client.attempt(logTrajectories, request))).toMatchObject({
      code: "usage",
      reason: "path-parameter-unusable",
    });
  });
});
