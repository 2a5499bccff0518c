/** Processes of the local service: how they start and stop. */
import type { ChildProcessWithoutNullStreams } from "node:child_process";
import { once } from "node:events";
import { request as httpRequest } from "node:http";
import { createInterface } from "node:readline";
import { describe, expect, it, onTestFinished } from "vitest";
import { endOf, newHome, runRollcall, startRollcall } from "../support/run.ts";
import { reply, request, trajectory } from "./open.ts";

interface Process {
  readonly child: ChildProcessWithoutNullStreams;
  readonly url: string;
  readonly lines: readonly Record<string, unknown>[];
}

const key = "a-key-of-this-service";

const serve = async (): Promise<Process> => {
  const env = { ...newHome(), ROLLCALL_LOCAL_KEY: key };
  const child = startRollcall(["serve", "--port", "0", "--log", "json"], { env });
  onTestFinished(() => void child.kill("SIGKILL"));
  const lines: Record<string, unknown>[] = [];
  const first = once(child.stderr, "data");
  createInterface({ input: child.stderr }).on("line", (line) => lines.push(JSON.parse(line)));
  await first;
  await expect.poll(() => lines.length).toBeGreaterThan(0);
  return { child, lines, url: String(lines[0]?.url) };
};

describe("a service that is stopped", { timeout: 60_000 }, () => {
  it("reports that it is not ready, answers requests in flight, and exits with 0", async () => {
    const service = await serve();
    const body = JSON.stringify(request(trajectory(1)));
    const answered = new Promise<number | undefined>((resolve, reject) => {
      const headers = {
        Authorization: `Bearer ${key}`,
        "Content-Type": "application/json",
        "Content-Length": body.length,
        Expect: "100-continue",
      };
      const outgoing = httpRequest(
        `${service.url}/v1/preview/models/m/log`,
        { method: "POST", headers },
        (response) => {
          response.resume();
          resolve(response.statusCode);
        },
      );
      outgoing.on("error", reject).on("continue", async () => {
        service.child.kill("SIGTERM");
        await expect.poll(() => service.lines.at(-1)?.event).toBe("stopping");
        expect(await reply(`${service.url}/readyz`)).toMatchObject({ status: 503, body: { status: "stopping" } });
        expect(await reply(`${service.url}/v1/models?a=b`)).toMatchObject({ status: 503 });
        outgoing.end(body);
      });
      outgoing.flushHeaders();
    });
    const ended = endOf(service.child);
    expect(await answered).toBe(200);
    expect((await ended).code).toBe(0);
    const events = service.lines.map(({ event, operation, status }) =>
      [event, operation, status].filter(Boolean).join(" "),
    );
    expect(events).toEqual([
      "listening",
      "stopping",
      "request ready 503",
      "request list_models 503",
      "request log_trajectories 200",
      "stopped",
    ]);
    expect(service.lines.find(({ operation }) => operation === "log_trajectories")).toEqual({
      time: expect.stringMatching(/^\d{4}-.*Z$/),
      event: "request",
      id: expect.any(String),
      operation: "log_trajectories",
      method: "POST",
      status: 200,
      duration_ms: expect.any(Number),
      bytes: body.length,
      stored_bytes: body.length,
    });
  });
});

describe("the end of a service with --log json", { timeout: 60_000 }, () => {
  it("writes a line of JSON if a request was broken off", { tags: "slow" }, async () => {
    const service = await serve();
    const json = { "Content-Type": "application/json", "Content-Length": 1000, Expect: "100-continue" };
    const headers = { Authorization: `Bearer ${key}`, ...json };
    const outgoing = httpRequest(`${service.url}/v1/preview/models/m/log`, { method: "POST", headers });
    outgoing.on("error", () => undefined).flushHeaders();
    await once(outgoing, "continue");
    const ended = endOf(service.child);
    service.child.kill("SIGTERM");
    expect((await ended).code).toBe(143);
    expect(service.lines.slice(-2)).toMatchObject([
      { event: "stopped", whole: false },
      { error: { code: "interrupted", message: expect.stringContaining("longer than 10 s"), exit_code: 143 } },
    ]);
  });

  it.for([
    ["an invalid port", "--port 99999", 2, "usage"],
    ["an unknown option", "--prot 1", 2, "usage"],
    ["a store that is not a file", "--store /dev/null", 11, "storage"],
  ] as const)(
    "writes a line of JSON instead of a start with %s",
    { tags: "slow" },
    async ([, words, exit_code, error]) => {
      const { code, stderr } = await runRollcall(["serve", "--log", "json", ...words.split(" ")]);
      expect(code).toBe(exit_code);
      expect(JSON.parse(stderr)).toMatchObject({ error: { code: error, exit_code } });
    },
  );
});

describe("a store", () => {
  it.for(["postgres://u:s3cret@db.example/d", "libsql://db.example?authToken=s3cret", "mysql://u:s3cret@db.example/d"])(
    "is not a URL, which is refused and not printed (row %$)",
    async (address) => {
      for (const [args, env] of [
        [["serve", "--store", address], {}],
        [["models", "--local"], { ROLLCALL_STORE: address }],
      ] as const) {
        const { code, stderr } = await runRollcall(args, { env: { ...newHome(), ...env } });
        expect([code, stderr.replaceAll(/\s+/g, " ")]).toEqual([2, expect.stringContaining("must be a file")]);
        expect(stderr).not.toContain("s3cret");
      }
    },
  );
});
