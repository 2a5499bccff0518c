/** Health, metrics and access log of a service. */
import { renameSync } from "node:fs";
import { request as httpRequest } from "node:http";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { EndedExchange } from "../../src/service/index.ts";
import { bodies } from "./bodies.ts";
import { basic, idsOf, reply, request, running, trajectory } from "./open.ts";

/** Returns a value of the metrics. */
const valueIn = (metrics: string, name: string): number | undefined => {
  const line = metrics.split("\n").find((one) => one.startsWith(`${name} `));
  return line === undefined ? undefined : Number(line.slice(name.length + 1));
};

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

for (const { body, skip, place, tags } of bodies)
  describe.skipIf(skip)(`a service whose store is in ${body}`, { tags }, () => {
    it("reports that it is up and ready, without a credential and for any host name", async () => {
      const { url } = await running({ store: await place() });
      for (const path of ["/healthz", "/readyz"]) {
        expect(await statusOf(`${url}${path}`, {})).toBe(200);
        expect(await statusOf(`${url}${path}`, { Host: "10.1.2.3:8700" })).toBe(200);
      }
    });

    it("counts requests by operation and status, their duration and the stored bytes", async () => {
      const service = await running({ store: await place() });
      const { url, key } = service;
      const body = JSON.stringify(request(trajectory(1)));
      const headers = { "Idempotency-Key": "k" };
      const [id = ""] = idsOf(await service.log(body, { headers, model: "secret-model" }));
      await service.log(body, { headers, model: "secret-model" });
      await service.log("{}");
      await service.read(id);
      await reply(`${url}/v1/models`);
      await reply(`${url}/nowhere`);
      const metrics = await (await fetch(`${url}/metrics`)).text();
      expect(valueIn(metrics, 'rollcall_requests_total{operation="log_trajectories",status="200"}')).toBe(2);
      expect(valueIn(metrics, 'rollcall_requests_total{operation="log_trajectories",status="422"}')).toBe(1);
      expect(valueIn(metrics, 'rollcall_requests_total{operation="read_call",status="200"}')).toBe(1);
      expect(valueIn(metrics, 'rollcall_requests_total{operation="list_models",status="401"}')).toBe(1);
      expect(valueIn(metrics, 'rollcall_requests_total{operation="other",status="404"}')).toBe(1);
      expect(valueIn(metrics, 'rollcall_request_duration_seconds_count{operation="log_trajectories"}')).toBe(3);
      expect(valueIn(metrics, 'rollcall_request_duration_seconds_bucket{operation="read_call",le="+Inf"}')).toBe(1);
      expect(valueIn(metrics, "rollcall_stored_bytes_total")).toBe(body.length);
      expect(valueIn(metrics, "rollcall_requests_in_flight")).toBe(1);
      expect(metrics).not.toMatch(/secret-model/);
      expect(metrics).not.toContain(key);
    });
  });

describe("a service", () => {
  it("answers that it is up but not ready if its store is missing", async () => {
    const { url, dataDir } = await running();
    renameSync(join(dataDir, "local.db"), join(dataDir, "moved.db"));
    const ready = await reply(`${url}/readyz`);
    expect(ready).toMatchObject({ status: 503, body: { status: "the store does not answer" } });
    expect((await reply(`${url}/healthz`)).status).toBe(200);
    renameSync(join(dataDir, "moved.db"), join(dataDir, "local.db"));
    expect((await reply(`${url}/readyz`)).status).toBe(200);
  });

  it("gives its metrics without a credential on loopback only, and elsewhere for its key", async () => {
    const { url, key } = await running({ allowHosts: ["roll.example"] });
    const metrics = `${url}/metrics`;
    expect(await statusOf(metrics, {})).toBe(200);
    expect(await statusOf(metrics, { "X-Forwarded-For": "10.0.0.1" })).toBe(401);
    expect(await statusOf(metrics, { Host: "roll.example" })).toBe(401);
    expect(await statusOf(metrics, { Host: "roll.example", Authorization: `Bearer ${key}` })).toBe(200);
  });

  it("reports each request without its content", async () => {
    const ended: EndedExchange[] = [];
    const { url, key, log } = await running({ onEnd: (one) => ended.push(one) });
    const logged = await log(request(trajectory(1)), { headers: { "X-Request-Id": "trace-1" } });
    expect(logged.headers.get("x-request-id")).toBe("trace-1");
    const other = await reply(`${url}/call/read`, {
      method: "POST",
      headers: { Authorization: basic("wrong"), "Content-Type": "application/json", "X-Request-Id": 'a"b' },
      body: "{}",
    });
    expect(other.headers.get("x-request-id")).toMatch(/^[\da-f-]{36}$/);
    await log("{}");
    await expect.poll(() => ended.length).toBe(3);
    expect(ended).toMatchObject([
      { id: "trace-1", operation: "log_trajectories", method: "POST", status: 200, key: undefined },
      { operation: "read_call", status: 401, bytes: 0, stored: 0 },
      { operation: "log_trajectories", status: 422, bytes: 2, stored: 0 },
    ]);
    expect(ended[0]?.stored).toBe(ended[0]?.bytes);
    expect(JSON.stringify(ended)).not.toContain(key);
  });
});
