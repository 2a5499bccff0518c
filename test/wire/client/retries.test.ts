import { describe, expect, it, onTestFinished, vi } from "vitest";
import { parseRetryAfter } from "../../../src/wire/client/retry.ts";
import { listModels, readCall } from "../../../src/wire/contract/reads.ts";
import { type Answer, findClosedPort, json, scriptedServer } from "../../support/server.ts";
import { clientAt, failureOf, list, listFailureOf, type Overrides, rawServer, wireReply } from "./open.ts";

const models = json({ data: [] });

/** The waits of a client that gets these answers in turn before a list. */
const waitsFor = async (answers: readonly Answer[], overrides: Overrides = {}): Promise<readonly number[]> => {
  const server = await scriptedServer([...answers, models].map((answer) => ({ answer })));
  const { client, waits } = clientAt(server.url, overrides);
  await client.send(listModels, list);
  return waits;
};

const busy = (headers: Readonly<Record<string, string>> = {}, status = 503): Answer => ({
  status,
  headers,
  body: "busy",
});

describe("a read", () => {
  it.each([408, 429, 500, 502, 503, 504, 520, 524])("tries again after %i", async (status) => {
    expect(await waitsFor([busy({}, status)])).toHaveLength(1);
  });

  it("tries again for a POST", async () => {
    const server = await scriptedServer([{ answer: busy() }, { answer: json({ call: null }) }]);
    const { client } = clientAt(server.url);
    const reply = await client.send(readCall, { parameters: {}, body: { project_id: "t/p", id: "1" } });
    expect(reply.json).toBe('{"call":null}');
    expect(server.received[0]?.body).toEqual(server.received[1]?.body);
  });

  it.each([400, 403, 404, 409, 413, 418, 422, 425, 501, 505])("ends after %i", async (status) => {
    const server = await scriptedServer([{ answer: json({}, status) }]);
    const { waits } = await listFailureOf(clientAt(server.url));
    expect(waits).toEqual([]);
  });

  it("makes at most 4 attempts in 15 s if no setting has max_wait", async () => {
    const server = await scriptedServer(Array.from({ length: 4 }, () => ({ answer: busy({}, 500) })));
    const isMaxWaitSet = false;
    expect((await listFailureOf(clientAt(server.url, { isMaxWaitSet }))).waits).toHaveLength(3);
    const slow = await scriptedServer([
      { answer: busy({ "retry-after": "9" }) },
      { answer: busy({ "retry-after": "9" }) },
    ]);
    expect((await listFailureOf(clientAt(slow.url, { isMaxWaitSet }))).waits).toEqual([9000]);
  });

  it("waits for a slow answer if no setting has max_wait", async () => {
    let now = 0;
    const server = await scriptedServer([
      { answer: (_, response) => void setTimeout(() => response.end('{"data":[]}'), 100) },
    ]);
    const elapsed = () => (now += 100_000);
    const { client } = clientAt(server.url, { isMaxWaitSet: false, elapsed });
    expect((await client.send(listModels, list)).entries).toHaveLength(0);
  });

  it("ends at --max-wait if the answers are slow", async () => {
    let now = 0;
    const server = await scriptedServer([{ answer: busy() }, { answer: busy() }]);
    const { failure, waits } = await listFailureOf(clientAt(server.url, { elapsed: () => (now += 10_000) }));
    expect([failure.message, waits]).toEqual(["the service answered 503 on attempt 2: busy", [250]]);
  });

  it("fails with the error of a local service that answered a failure", async () => {
    const own = new Error("the store is full");
    const server = await scriptedServer([{ answer: busy() }, { answer: models }]);
    const { client } = clientAt(server.url, { serviceError: () => own });
    await expect(client.send(listModels, list)).rejects.toBe(own);
    expect((await client.send(listModels, list)).entries).toHaveLength(0);
  });

  it("ends after one attempt if its endpoint is not repeatable", async () => {
    const server = await scriptedServer([{ answer: busy() }]);
    const once = { ...listModels, repeatable: false };
    expect(await failureOf(clientAt(server.url).client.send(once, list))).toMatchObject({ code: "unavailable" });
  });

  it("tries again after a refused connection until no wait is left", async () => {
    const { failure, waits } = await listFailureOf(
      clientAt(`http://127.0.0.1:${await findClosedPort()}`, { maxWaitMs: 3_000 }),
    );
    expect(failure).toMatchObject({
      code: "unavailable",
      message: expect.stringContaining(` on attempt ${waits.length + 1}: `),
    });
    expect(waits.length).toBeGreaterThan(2);
  });

  it.each([
    ["length", wireReply("200 OK", '{"data":[]}')],
    [
      "chunk",
      'HTTP/1.1 200 OK\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\nb\r\n{"data":[]}\r\n0\r\n\r\n',
    ],
  ])("tries again on another connection after a reply cut in its %s", async (_, whole) => {
    const server = await rawServer((socket, number) =>
      socket.once("data", () => socket.end(number === 0 ? whole.slice(0, -3) : whole)),
    );
    const { client, waits } = clientAt(server.url);
    expect((await client.send(listModels, list)).entries).toHaveLength(0);
    expect([waits.length, server.connections()]).toEqual([1, 2]);
  });

  it("tries again after a reset connection", async () => {
    const server = await rawServer((socket, number) =>
      socket.once("data", () =>
        number === 0 ? socket.resetAndDestroy() : socket.end(wireReply("200 OK", '{"data":[]}')),
      ),
    );
    expect((await clientAt(server.url).client.send(listModels, list)).entries).toHaveLength(0);
  });
});

describe("the wait before a retry", () => {
  it("has a random length up to a bound that doubles", async () => {
    const five = Array.from({ length: 5 }, () => busy());
    expect(await waitsFor(five, { random: () => 1 })).toEqual([500, 1000, 2000, 4000, 8000]);
    expect(await waitsFor(five, { random: () => 0.5 })).toEqual([250, 500, 1000, 2000, 4000]);
    expect(await waitsFor(five, { random: () => 0 })).toEqual([50, 50, 50, 50, 50]);
  });

  it("lasts at most 30 s unless the service asks for more", async () => {
    const ten = Array.from({ length: 10 }, () => busy());
    expect(Math.max(...(await waitsFor(ten, { random: () => 1, maxWaitMs: 600_000 })))).toBe(30_000);
  });

  it.each([
    ["seconds", { "retry-after": "7" }, 7000],
    ["parts of a second", { "retry-after": "0.5" }, 500],
    ["less than the random wait", { "retry-after": "0" }, 250],
    ["a date", { "retry-after": "Thu, 01 Jan 2026 00:00:20 GMT" }, 20_000],
    ["a date in capitals", { "retry-after": "THU, 01 JAN 2026 00:00:20 GMT" }, 20_000],
    ["two dates", { "retry-after": "Thu, 01 Jan 2026 00:00:09 GMT, Thu, 01 Jan 2026 00:00:20 GMT" }, 20_000],
    ["a number and a date", { "retry-after": "7, Thu, 01 Jan 2026 00:00:20 GMT" }, 20_000],
    ["a date of C", { "retry-after": "Thu Jan  1 00:00:20 2026" }, 20_000],
    ["a date of RFC 3339", { "retry-after": "2026-01-01T01:00:20+01:00" }, 20_000],
    ["an old kind of date", { "retry-after": "Thursday, 01-Jan-26 00:00:20 GMT" }, 20_000],
    ["a date that has passed", { "retry-after": "Thu, 01 Jan 2026 00:00:00 GMT" }, 250],
    ["milliseconds", { "retry-after-ms": "1250" }, 1250],
    ["milliseconds next to seconds", { "retry-after-ms": "1250", "retry-after": "2" }, 1250],
    ["seconds next to a word", { "retry-after-ms": "1s", "retry-after": "2" }, 2000],
  ])("lasts as long as the service asks in %s", async (_, headers, ms) => {
    const now = Date.UTC(2026, 0, 1, 0, 0, 0);
    expect(await waitsFor([busy(headers, 429)], { now })).toEqual([ms]);
    // Only `Retry-After` says that a request with 503 was not processed.
    expect(parseRetryAfter(headers, now).hasRetryAfter).toBe("retry-after" in headers);
  });

  it.each(["Pacific/Kiritimati", "Pacific/Pago_Pago"])("lasts until a date in the time zone %s", async (zone) => {
    vi.stubEnv("TZ", zone);
    onTestFinished(() => void vi.unstubAllEnvs());
    const asked = { "retry-after": "Thu, 01 Jan 2026 00:00:20 GMT" };
    expect(await waitsFor([busy(asked, 429)], { now: Date.UTC(2026, 0, 1) })).toEqual([20_000]);
  });

  it.each([
    ...["soon", "-1", "", "NaN", "0x10", "1000abc", "1e3", "2, soon", "soon, 2", "01/02/2026", "2026-11-27"],
    ...["Tue, 31 Feb 2026 00:00:20 GMT", "Tuesday, 31-Feb-26 00:00:20 GMT", "Tue Feb 31 00:00:20 2026"],
    ...["2026-02-31T00:00:20Z", "2026-01-01T24:00:20Z", "2026-01-01T00:00:20", "Wed, 31 Dec 2025 24:00:00 GMT"],
    ...["Sun Jan  1 00:00:61 2026", "Sun Jan  1 00:00:20 GMT 2026", "Thu Jan  1 00:00:20 2026 GMT"],
    ...["Mon, 01 Jan 2026 00:00:20 GMT", "Thu, 00 Jan 2026 00:00:20 GMT", "Thu, 01 Foo 2026 00:00:20 GMT"],
  ])("ignores an invalid Retry-After (row %$)", async (asked) => {
    expect(await waitsFor([busy({ "retry-after": asked })])).toEqual([250]);
    expect(parseRetryAfter({ "retry-after": asked }, 0)).toEqual({ hasRetryAfter: false, retryAfterMs: undefined });
  });

  it("does not start if the service asks for more time than is left, and the failure says how much", async () => {
    const server = await scriptedServer([
      { answer: busy({ "retry-after": "20" }) },
      { answer: busy({ "retry-after": "50" }) },
    ]);
    const { failure, waits } = await listFailureOf(clientAt(server.url, { maxWaitMs: 60_000 }));
    expect(waits).toEqual([20_000]);
    expect(failure).toMatchObject({
      code: "unavailable",
      retryable: true,
      message: "the service answered 503 on attempt 2: busy",
      details: { http: { status: 503, said: "busy" }, hint: expect.stringContaining("try again in 50 s") },
    });
  });

  it("does not start if the service asks for endless time", async () => {
    const server = await scriptedServer([{ answer: busy({ "retry-after": "9".repeat(400) }) }]);
    const { failure, waits } = await listFailureOf(clientAt(server.url));
    expect(waits).toEqual([]);
    expect(failure.details.hint).toMatch(/its Retry-After is longer than any --max-wait$/);
  });

  it("does not start if no waiting is allowed", async () => {
    const server = await scriptedServer([{ answer: busy({ "retry-after": "0" }) }]);
    const { waits } = await listFailureOf(clientAt(server.url, { maxWaitMs: 0 }));
    expect(waits).toEqual([]);
  });

  it("ends when the run is interrupted", async () => {
    const { client, interrupt } = clientAt(`http://127.0.0.1:${await findClosedPort()}`, { maxWaitMs: 1e12 });
    const sending = failureOf(client.send(listModels, list));
    interrupt();
    expect(await sending).toMatchObject({ code: "interrupted" });
  });

  it("stays within the limit of all waits, for any random number", async () => {
    for (const chance of [0, 1]) {
      const { client, waits } = clientAt(`http://127.0.0.1:${await findClosedPort()}`, {
        maxWaitMs: 10_000,
        random: () => chance,
      });
      await failureOf(client.send(listModels, list));
      expect(waits.reduce((sum, ms) => sum + ms, 0)).toBeLessThanOrEqual(10_000);
    }
  });
});

describe("the retry budget of a run", () => {
  const again = { attempt: 2, onWait: () => undefined };

  it("limits the sum of all waits of the run", async () => {
    const { client, waits } = clientAt("http://127.0.0.1:1", { maxWaitMs: 5_000 });
    const patience = client.retryBudget();
    expect(await patience.wait(3_000, again)).toBe(true);
    expect(await patience.wait(3_000, again)).toBe(false);
    expect(await patience.wait(2_000, again)).toBe(true);
    expect(await patience.wait(undefined, again)).toBe(false);
    expect(waits).toEqual([3_000, 2_000]);
  });

  it("counts the time once in which several requests wait", async () => {
    let now = 7;
    const { client } = clientAt("http://127.0.0.1:1", { maxWaitMs: 5_000, elapsed: () => now, sleep: async () => {} });
    const patience = client.retryBudget();
    const left: number[] = [];
    const wait = async (ms: number) =>
      await patience.wait(ms, { attempt: 2, onWait: ({ leftMs }) => void left.push(leftMs) });
    for (const ms of [3_000, 3_000, 2_000, 4_000]) expect(await wait(ms)).toBe(true);
    expect(await wait(5_001)).toBe(false);
    now += 3_500;
    expect([await wait(1_501), await wait(1_500)]).toEqual([false, true]);
    now += 1_500;
    expect(await wait(1)).toBe(false);
    expect(left).toEqual([2_000, 2_000, 3_000, 1_000, 0]);
  });

  it("doubles the waits of a request, and not those of others", async () => {
    const { client, waits } = clientAt("http://127.0.0.1:1", { maxWaitMs: 100_000, random: () => 1 });
    const patience = client.retryBudget();
    for (const attempt of [2, 3, 4, 2, 9]) await patience.wait(0, { ...again, attempt });
    expect(waits).toEqual([500, 1_000, 2_000, 500, 30_000]);
  });

  it("starts full for another run", async () => {
    const { client } = clientAt("http://127.0.0.1:1", { maxWaitMs: 5_000 });
    expect(await client.retryBudget().wait(5_000, again)).toBe(true);
    expect(await client.retryBudget().wait(5_000, again)).toBe(true);
  });
});
