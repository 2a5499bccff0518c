/** Health and access log of a service. */
import { renameSync } from "node:fs";
import { request as httpRequest } from "node:http";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { Exchange } from "../../src/service/service-options.ts";
import { basic, openTestService, reply, request, trajectory } from "./open.ts";

/** Returns the status of a request with headers that `fetch` does not allow. */
const statusOf = async (url: string, headers: Record<string, string>): Promise<number | undefined> =>
  await new Promise((resolve, reject) => {
    httpRequest(url, { headers }, (response) => {
      response.resume();
      resolve(response.statusCode);
    })
      .on("error", reject)
      .end();
  });

describe("a service", () => {
  it("answers that it is up and ready, without a credential and for any host name", async () => {
    const { url } = await openTestService();
    for (const path of ["/healthz", "/readyz"]) {
      expect(await statusOf(`${url}${path}`, {})).toBe(200);
      expect(await statusOf(`${url}${path}`, { Host: "10.1.2.3:8700" })).toBe(200);
    }
  });

  it("answers that it is up but not ready if its store is missing", async () => {
    const { url, dataDir } = await openTestService();
    renameSync(join(dataDir, "local.db"), join(dataDir, "moved.db"));
    const ready = await reply(`${url}/readyz`);
    expect(ready).toMatchObject({ status: 503, body: { status: "the store does not answer" } });
    expect((await reply(`${url}/healthz`)).status).toBe(200);
    renameSync(join(dataDir, "moved.db"), join(dataDir, "local.db"));
    const again = await reply(`${url}/readyz`);
    expect([again.status, again.headers.get("cache-control")]).toEqual([200, "no-store"]);
    for (const [id, isKept] of [
      ["i".repeat(128), true],
      ["i".repeat(129), false],
    ] as const) {
      const { headers } = await reply(`${url}/healthz`, { headers: { "X-Request-Id": id } });
      expect(headers.get("x-request-id") === id).toBe(isKept);
    }
  });

  it("reports each request without its content", async () => {
    const ended: Exchange[] = [];
    const { url, key, log } = await openTestService({ onEnd: (one) => ended.push(one) });
    const headers = { "Idempotency-Key": "once" };
    const logged = await log(request(trajectory(1)), { headers: { ...headers, "X-Request-Id": "trace-1" } });
    expect(logged.headers.get("x-request-id")).toBe("trace-1");
    const other = await reply(`${url}/call/read`, {
      method: "POST",
      headers: { Authorization: basic("wrong"), "Content-Type": "application/json", "X-Request-Id": 'a"b' },
      body: "{}",
    });
    expect(other.headers.get("x-request-id")).toMatch(/^[\da-f-]{36}$/);
    await log("{}");
    await log(request(trajectory(1)), { headers });
    await expect.poll(() => ended.length).toBe(4);
    expect(ended).toMatchObject([
      { id: "trace-1", operation: "log_trajectories", method: "POST", status: 200 },
      { operation: "read_call", status: 401, bytes: 0, stored_bytes: 0 },
      { operation: "log_trajectories", status: 422, bytes: 2, stored_bytes: 0 },
      { operation: "log_trajectories", status: 200, bytes: ended[0]?.bytes, stored_bytes: 0 },
    ]);
    expect(ended[0]?.stored_bytes).toBe(ended[0]?.bytes);
    expect(JSON.stringify(ended)).not.toContain(key);
  });
});
