import { gzipSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import type { StreamedBody } from "../../../src/wire/client/exchange.ts";
import { scriptedServer } from "../../support/server.ts";
import { attemptAt, bodyOf, mebibyte, serverAfter, wireReply } from "./open.ts";

describe("an early answer", () => {
  const tooLarge = wireReply("413 Payload Too Large", '{"detail":"too large"}', ["Connection: close"]);

  it("reaches the caller if the service closes after 4 of 100 MB, 0 to 11 ms later", async () => {
    for (let ms = 0; ms < 12; ms++) {
      const server = await serverAfter(4 * mebibyte, (socket) =>
        // A close with unread bytes becomes a reset.
        socket.write(tooLarge, () => setTimeout(() => socket.destroy(), ms)),
      );
      const attempt = await attemptAt(server.url, bodyOf(100, mebibyte));
      expect(attempt).toMatchObject({
        kind: "answered",
        status: 413,
        isBodySent: false,
        failure: { code: "refused", details: { http: { said: "too large" } } },
      });
    }
  });

  it("reaches the caller if the next write fails first", async () => {
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
    expect(await attemptAt(server.url, body)).toMatchObject({ kind: "answered", status: 413, isBodySent: false });
  });

  it("reaches the caller if the service continues to read", async () => {
    const server = await serverAfter(mebibyte, (socket) => socket.resume().write(tooLarge));
    expect(await attemptAt(server.url, bodyOf(100, mebibyte))).toMatchObject({ status: 413, isBodySent: false });
  });

  it("counts as a success if its status is 200", async () => {
    const server = await serverAfter(mebibyte, (socket) => socket.resume().write(wireReply("200 OK", "{}")));
    expect(await attemptAt(server.url, bodyOf(100, mebibyte))).toMatchObject({ status: 200, failure: undefined });
  });

  it("decides the outcome after informational replies", async () => {
    const server = await serverAfter(10, (socket) =>
      socket.end(`HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n${wireReply("422 Unprocessable Entity", "{}")}`),
    );
    expect(await attemptAt(server.url)).toMatchObject({ kind: "answered", status: 422, isCut: false });
  });

  const cutHeads = [
    "HTTP/1.1 20",
    "HTTP/1.1 200 OK",
    "HTTP/1.1 200 OK\r\nContent-Ty",
    "HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 422 Unprocessable Entity\r\n",
    "HTTP/1.1 103 Early Hints\r\n\r\n",
  ];

  it("decides nothing if its headers are cut or informational", async () => {
    for (const head of cutHeads) {
      const server = await serverAfter(10, (socket) => socket.end(head));
      expect(await attemptAt(server.url)).toMatchObject({ kind: "broken", isBodySent: true });
      const early = await serverAfter(mebibyte, (socket) => socket.end(head));
      expect(await attemptAt(early.url, bodyOf(100, mebibyte))).toMatchObject({ kind: "broken", isBodySent: false });
    }
  });

  it.each([
    ["an unrequested 100 Continue", "100 Continue\r\n\r\n", "CONTINUE", "an unrequested 100 Continue"],
    ["cut headers", "200 OK\r\nContent-Le", "BAD_HEADERS", "incomplete or invalid"],
    ["two lengths", "200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n{}", "BAD_HEADERS", "or invalid"],
  ])("is reported with %s", async (_, reply, code, text) => {
    const server = await serverAfter(10, (socket) => void socket.write(`HTTP/1.1 ${reply}`, () => socket.end()));
    const failure = { message: expect.stringContaining(text) };
    expect(await attemptAt(server.url)).toMatchObject({ kind: "broken", code, isBodySent: true, failure });
  });

  it("counts as a success if its body is cut", async () => {
    const server = await serverAfter(10, (socket) =>
      socket.end('HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n{"metrics":'),
    );
    expect(await attemptAt(server.url)).toMatchObject({
      kind: "answered",
      status: 200,
      bytes: Buffer.from('{"metrics":'),
      isCut: true,
      failure: undefined,
    });
  });

  it("counts as a success if its compressed body is cut", async () => {
    const whole = gzipSync("[1,2,3]");
    const server = await scriptedServer([
      { answer: { headers: { "content-encoding": "gzip" }, body: whole.subarray(0, -4) } },
    ]);
    expect(await attemptAt(server.url)).toMatchObject({
      kind: "answered",
      status: 200,
      isCut: true,
      failure: undefined,
    });
  });

  it("counts as a success if its body never ends, and keeps 64 MiB of the body", { tags: "slow" }, async () => {
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
    expect(attempt).toMatchObject({ kind: "answered", status: 200, isCut: true });
    expect(attempt.kind === "answered" ? attempt.bytes.length : 0).toBe(64 * mebibyte);
  });
});
