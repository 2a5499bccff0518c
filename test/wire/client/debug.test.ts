import { describe, expect, it } from "vitest";
import { openRetryNotices } from "../../../src/wire/client/retry.ts";
import { logTrajectories } from "../../../src/wire/contract/endpoint.ts";
import { listModels, readCall } from "../../../src/wire/contract/reads.ts";
import { findClosedPort, json, scriptedServer } from "../../support/server.ts";
import { bodyOf, clientAt, failureOf, list } from "./open.ts";

describe("the --debug output", () => {
  it("shows a request and its reply without secret headers", async () => {
    const shown = `cf-ray etag last-modified request-id retry-after retry-after-ms server via x-ratelimit-limit
      x-ratelimit-remaining x-ratelimit-reset`.split(/\s+/);
    const headers = {
      "content-type": "application/json",
      "x-request-id": "req-1",
      "set-cookie": "session=hidden-1",
      "x-internal": "hidden-2",
      ...Object.fromEntries(shown.map((name) => [name, "7"])),
    };
    const server = await scriptedServer([{ answer: { headers, body: '{"data":[{"id":"hidden-3"}]}' } }]);
    const { client, traced } = clientAt(server.url, {
      credential: async () => ({ secret: "hidden-4", from: "x" }),
      project: { header: "Vendor-Project", value: "team/project" },
    });
    await client.send(listModels, list);
    expect(traced).toEqual([
      `> GET ${server.url}/v1/models`,
      "> Authorization: Bearer …",
      "> Content-Type: application/json",
      "> Vendor-Project: team/project",
      "> Accept-Encoding: gzip, br",
      expect.stringMatching(/^> User-Agent: rollcall\//),
      "< 200 after 0 ms, 28 bytes",
      "< content-type: application/json",
      "< x-request-id: req-1",
      ...shown.map((name) => `< ${name}: 7`),
      "< content-length: 28",
      expect.stringMatching(/^< date: /),
    ]);
  });

  it("contains no body, no password and no unknown header of a log", async () => {
    const server = await scriptedServer([
      { answer: json({ detail: "hidden-1" }, 422) },
      { answer: json({ call: null }) },
    ]);
    const { client, traced } = clientAt(server.url, {
      credential: async (use) =>
        use === "calls"
          ? { username: "hidden-user", secret: "hidden-2", from: "x" }
          : { secret: "hidden-3", from: "x" },
    });
    await client.attempt(logTrajectories, {
      parameters: { model_id: "m" },
      body: bodyOf(1, 9),
      headers: { "Idempotency-Key": "digest-1", "X-Own": "hidden-4" },
    });
    await client.send(readCall, { parameters: {}, body: { project_id: "hidden/5", id: "hidden-6" } });
    const text = traced.join("\n");
    expect(text).toContain("> Idempotency-Key: digest-1");
    expect(text).toContain("> Authorization: Basic …");
    expect(text).not.toMatch(/hidden|aGlkZGVu|xxxx/);
  });

  it("shows every attempt and its error", async () => {
    const { client, traced } = clientAt(`http://127.0.0.1:${await findClosedPort()}`, { maxWaitMs: 300 });
    await failureOf(client.send(listModels, list));
    expect(traced.filter((line) => line.startsWith("*"))).toEqual([
      "* ECONNREFUSED after 0 ms",
      "* ECONNREFUSED: trying again after attempt 1",
      "* ECONNREFUSED after 0 ms",
      "* ECONNREFUSED: trying again after attempt 2",
      "* ECONNREFUSED after 0 ms",
    ]);
  });
});

describe("the notice about a retry", () => {
  it("appears once if several requests fail for one reason", async () => {
    const notices: unknown[] = [];
    const models = { answer: json({ data: [] }) };
    const server = await scriptedServer([
      ...Array.from({ length: 9 }, () => ({ answer: { status: 503 } })),
      models,
      models,
      models,
    ]);
    const { client } = clientAt(server.url, {
      onRetry: (...notice) => notices.push(notice),
    });
    await Promise.all([1, 2, 3].map(() => client.send(listModels, list)));
    expect(notices).toEqual([["the service answered 503 on attempt 3", { attempt: 4, waitMs: 1000, leftMs: 58_250 }]]);
  });

  it("appears for a long wait after a short wait for one reason", async () => {
    const notices: unknown[] = [];
    const models = { answer: json({ data: [] }) };
    const busy = { status: 503, headers: { "Retry-After": "40" } };
    const server = await scriptedServer([{ answer: { status: 503 } }, models, { answer: busy }, models]);
    const { client } = clientAt(server.url, { onRetry: (...notice) => notices.push(notice) });
    await client.send(listModels, list);
    await client.send(listModels, list);
    expect(notices).toEqual([["the service answered 503", { attempt: 2, waitMs: 40_000, leftMs: 20_000 }]]);
  });

  it("appears from the fourth attempt or for a wait of a second, once for each attempt and reason", () => {
    const notices: string[] = [];
    const announce = openRetryNotices((reason, { attempt, waitMs }) => notices.push(`${reason} ${attempt} ${waitMs}`));
    for (const [reason, attempt, waitMs] of [
      ...([
        ["a", 2, 999],
        ["a", 3, 999],
        ["a", 4, 50],
        ["a", 4, 60],
        ["b", 4, 50],
      ] as const),
      ...([
        ["a", 2, 1000],
        ["a", 2, 1000],
        ["a", 3, 1000],
      ] as const),
    ])
      announce(reason, { attempt, waitMs, leftMs: 0 });
    expect(notices).toEqual(["a 4 50", "b 4 50", "a 2 1000", "a 3 1000"]);
  });
});
