import { brotliCompressSync, gzipSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { printFailure } from "../../../src/output/print-failure.ts";
import { Screen } from "../../../src/output/screen.ts";
import { Connections } from "../../../src/wire/client/connections.ts";
import { runExchange } from "../../../src/wire/client/exchange.ts";
import { decodeBody, type ReplyBody } from "../../../src/wire/client/reply-body.ts";
import { listModels } from "../../../src/wire/contract/reads.ts";
import { testHost } from "../../support/host.ts";
import { type Answer, json, scriptedServer } from "../../support/server.ts";
import { clientAt, failureOf, list, type Overrides, rawServer, wireReply } from "./open.ts";

/** The failure of a request for a list with this answer. */
const failureAt = async (answer: Answer, overrides: Overrides = {}) => {
  const server = await scriptedServer([{ answer }]);
  return await failureOf(clientAt(server.url, { maxWaitMs: 0, ...overrides }).client.send(listModels, list));
};

describe("the message of a service", () => {
  const page = "<!DOCTYPE html>\n<html><head><title>\n 502 Bad\n Gateway </title></head><body>x</body></html>";
  it.each([
    ["error.message", { error: { message: "no such model", code: 7 } }, "no such model"],
    ["error as a string", { error: "no such model" }, "no such model"],
    ["message next to error", { error: "Bad Request", message: "no such model" }, "no such model"],
    ["message next to detail", { detail: "see the manual", message: "no such model" }, "no such model"],
    ["detail as a string", { detail: "no such model" }, "no such model"],
    ["detail as an object", { detail: { message: "no such model" } }, "no such model"],
    [
      "detail as a list",
      { detail: [{ loc: ["body", "trajectory_groups", 0, "split"], msg: "Field required", type: "missing" }] },
      "body.trajectory_groups.0.split: Field required",
    ],
    [
      "detail as a long list",
      { detail: ["a", "b", "c", "d", "e", "e"].map((msg) => ({ loc: ["x"], msg, type: "t" })) },
      "x: a; x: b; x: c; and 2 more",
    ],
    [
      "detail without a path",
      {
        detail: [
          { loc: [], msg: "a" },
          { loc: "b", msg: "c" },
        ],
      },
      "a; c",
    ],
    ["three errors", { errors: ["a", "b", "c"] }, "a; b; c"],
    ["detail with a path and a message", { detail: [{ loc: ["a"], message: "no such model" }] }, "no such model"],
    ["detail without a text", { detail: [{ loc: ["a"], msg: " " }], title: "no such model" }, "no such model"],
    ["the type of a detail", { detail: [{ loc: ["body", 1], msg: null, type: "too_long" }] }, "body.1: too_long"],
    ["reason", { reason: "no such model" }, "no such model"],
    ["message", { message: "no such model" }, "no such model"],
    ["error_description", { error: "invalid_token", error_description: "it has expired" }, "it has expired"],
    ["all of an object without a message", { code: 7 }, '{"code":7}'],
    ["all of an object whose message is not text", { error: { message: { a: 1 } } }, '{"error":{"message":{"a":1}}}'],
    ["errors as a list", { errors: [{ message: "no such model" }] }, "no such model"],
    ["a string", "no such model", "no such model"],
  ])("comes from %s", async (_, body, said) => {
    const failure = await failureAt(json(JSON.stringify(body), 400));
    expect(failure.details.http?.said).toBe(said);
  });

  it.each([
    ["an empty object", "{}"],
    ["an empty list", "[]"],
    ["null", "null"],
    ["an empty body", ""],
  ])("does not come from %s", async (_, body) => {
    const failure = await failureAt(json(body, 400));
    expect(failure.details.http).toMatchObject({ status: 400, said: undefined });
  });

  it.each([
    ["plain text", "  no such model\n", "no such model"],
    ["an HTML page", page, "502 Bad Gateway"],
    ["an HTML page with tags in its title", "<html><title>Bad\n <b>Gateway</b></title></html>", "Bad Gateway"],
    ["an HTML page without a title", "<html><h1>Nothing</h1></html>", "Nothing"],
    ["broken JSON", '{"error": "no', '{"error": "no'],
    ["deeply nested JSON", "[".repeat(50_000), expect.stringMatching(/^\[{50000}$/)],
  ])("comes from a body of %s", async (_, body, said) => {
    expect((await failureAt({ status: 400, body })).details.http?.said).toEqual(said);
  });

  it("comes from a page that begins with a tag of error pages", async () => {
    const tags =
      `head body title meta link base style script noscript iframe frameset h1 h6 hr div font table center form
      main section article header img svg span pre ul a b br p`.split(/\s+/);
    const answers = await Promise.all(tags.map((tag) => failureAt({ status: 400, body: `<${tag}>no</${tag}>` })));
    expect(answers.map(({ details }) => details.http?.said).filter((said = "") => /</.test(said))).toEqual([]);
    expect((await failureAt({ status: 400, body: "<answer>no</answer>" })).details.http?.said).toMatch(/^<answer/);
  });

  it("keeps 128 KiB, of which a screen shows at most 2,000 characters", async () => {
    const failure = await failureAt(json({ message: "x".repeat(1_000_000) }, 400));
    expect(failure.details.http?.said).toHaveLength(2 ** 17 + 2);
    const host = testHost();
    await printFailure(new Screen({ host, options: {} }), failure);
    expect(host.said()).toMatch(/x{1900}/);
    expect(host.said()).not.toMatch(/x{2001}/);
  });
});

describe("an error reply", () => {
  it("reports that a 302 has no location, a broken one or a script", async () => {
    expect((await failureAt({ status: 302 })).message).toContain("redirects without a location (302)");
    const broken = await failureAt({ status: 302, headers: { location: "https://[" } });
    const script = await failureAt({ status: 302, headers: { location: "javascript:alert(1)" } });
    for (const { message } of [broken, script]) expect(message).toContain("redirects to an invalid location (302)");
  });
});

describe("a successful reply", () => {
  it("arrives as the checked value and its JSON", async () => {
    const body = '{"object":"list","data":[{"id":"m","created":1.0,"new":1e400}],"id":12345678901234567890}';
    const server = await scriptedServer([{ answer: json(body) }]);
    const reply = await clientAt(server.url).client.send(listModels, list);
    expect(reply.document.json).toBe(body);
    expect(reply.entries[0]?.value).toMatchObject({ id: "m", created: 1 });
  });

  it("loses a byte order mark at its start", async () => {
    const server = await scriptedServer([{ answer: json('\ufeff{"data":[]}') }]);
    const reply = await clientAt(server.url).client.send(listModels, list);
    expect(reply.document.json).toBe('{"data":[]}');
  });

  it.each([
    ["an HTML page", "<html><title>Sign in</title></html>", 'found an HTML page ("Sign in")', "Sign in"],
    ["text", "hello", 'found text ("hello")', "hello"],
    ["long text", "x".repeat(201), `found text ("${"x".repeat(200)}…")`, "x".repeat(201)],
    ["nothing", "", "found an empty answer", undefined],
    ["incomplete JSON", '{"data":[', "found invalid JSON", '{"data":['],
    ["another shape", '{"models":[]}', "unexpected JSON from", undefined],
    ["null", "null", "found other JSON", undefined],
    ["an array", "[]", "found an array", undefined],
  ])("fails as refused if it contains %s", async (_, body, came, said) => {
    const failure = await failureAt({ status: 200, body });
    expect(failure).toMatchObject({
      code: "refused",
      kind: body.startsWith("<html>") ? "html-reply" : "invalid-reply",
      message: expect.stringContaining(came),
    });
    expect(failure.details.http?.said).toBe(said);
  });

  it("fails with the path of a value of another type", async () => {
    expect((await failureAt(json({ data: [{ id: "m" }, 7] }))).message).toMatch(/: `data\.1` is missing or invalid$/);
  });

  it.each([
    ["gzip", gzipSync],
    ["X-GZIP", gzipSync],
    ["br", brotliCompressSync],
  ])("arrives decompressed from %s", async (encoding, compress) => {
    const headers = { "content-encoding": encoding };
    const server = await scriptedServer([{ answer: { headers, body: compress('{"data":[{"id":"m"}]}') } }]);
    const reply = await clientAt(server.url).client.send(listModels, list);
    expect(reply.document.json).toBe('{"data":[{"id":"m"}]}');
  });

  it("fails as refused if rollcall did not ask for its compression", async () => {
    const failure = await failureAt({ headers: { "content-encoding": "zstd" }, body: "\u0028\u00b5" });
    expect(failure).toMatchObject({
      code: "refused",
      message: expect.stringMatching(/has a compression that rollcall did not request$/),
    });
  });

  it("fails as refused, after one request, if it is not compressed as it says", async () => {
    const failure = await failureAt(
      { headers: { "content-encoding": "gzip" }, body: '{"data":[]}' },
      { maxWaitMs: 1e6 },
    );
    expect(failure).toMatchObject({ code: "refused", message: expect.stringMatching(/cannot decompress it$/) });
  });

  it("keeps as many bytes as its limit, and is too long with one more, also when decompressed", async () => {
    const body = Buffer.alloc(100_000, "x");
    const headers = { "content-encoding": "gzip" };
    const compressed: ReplyBody = { bytes: gzipSync(body), headers, error: undefined };
    const server = await scriptedServer([{ answer: { body } }, { answer: { body } }]);
    for (const [limit, code] of [
      [100_000, undefined],
      [99_999, "TOO_LONG"],
    ] as const) {
      const decoded = await decodeBody(compressed, limit);
      expect([decoded.bytes.length, decoded.error?.code]).toEqual([limit, code]);
      const route = { to: new URL(server.url), proxy: undefined };
      const limits = { silenceMs: 5000, totalMs: 5000, connectMs: 5000, maxReplyLength: limit };
      const request = { method: "GET", route, path: "/", headers: [], signal: testHost().signal, ...limits } as const;
      const { bytes, error } = await runExchange(await new Connections().open(route, false), request);
      expect([bytes.length, error?.code]).toEqual([limit, code]);
    }
  });

  it("fails if its compressed data is cut off", async () => {
    const body = gzipSync(JSON.stringify({ data: ["x".repeat(1000)] })).subarray(0, -10);
    const failure = await failureAt({ headers: { "content-encoding": "gzip" }, body });
    expect(failure).toMatchObject({ code: "unavailable", details: { systemCode: "CUT" } });
  });

  it("ends with the connection if it has no length", async () => {
    const server = await rawServer((socket) =>
      socket.once("data", () => socket.end('HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n{"data":[]}')),
    );
    expect((await clientAt(server.url).client.send(listModels, list)).entries).toHaveLength(0);
  });

  it("arrives after informational replies", async () => {
    const server = await rawServer((socket) =>
      socket.once("data", () =>
        socket.end(`HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n${wireReply("200 OK", '{"data":[]}')}`),
      ),
    );
    expect((await clientAt(server.url).client.send(listModels, list)).entries).toHaveLength(0);
  });

  it("has all values of a header that appears twice", async () => {
    const links = ["prev", "next"].map((rel) => `Link: </${rel}>; rel="${rel}"`);
    const server = await rawServer((socket) =>
      socket.once("data", () => socket.end(wireReply("200 OK", '{"data":[]}', links))),
    );
    expect((await clientAt(server.url).client.send(listModels, list)).partialMark).toBe("the header Link");
  });

  it("arrives over the connection of the previous reply", async () => {
    const server = await rawServer((socket) =>
      socket.on("data", () => socket.write(wireReply("200 OK", '{"data":[]}'))),
    );
    const { client } = clientAt(server.url);
    for (let number = 0; number < 5; number++) await client.send(listModels, list);
    expect(server.connections()).toBe(1);
  });

  it("arrives for each of eight requests at once", async () => {
    const server = await scriptedServer(Array.from({ length: 8 }, () => ({ answer: json({ data: [] }) })));
    const { client } = clientAt(server.url);
    const replies = await Promise.all(Array.from({ length: 8 }, () => client.send(listModels, list)));
    expect(replies.map(({ document }) => document.json)).toEqual(Array.from({ length: 8 }, () => '{"data":[]}'));
  });
});
