/** Processes of the local service: how they start and stop. */
import type { ChildProcessWithoutNullStreams } from "node:child_process";
import { once } from "node:events";
import { request as httpRequest } from "node:http";
import { createInterface } from "node:readline";
import { describe, expect, it, onTestFinished } from "vitest";
import { endOf, newHome, runRollcall, startRollcall } from "../support/run.ts";

interface Process {
  readonly child: ChildProcessWithoutNullStreams;
  readonly url: string;
}

const key = "a-key-of-this-service";

const serve = async (): Promise<Process> => {
  const env = { ...newHome(), ROLLCALL_LOCAL_KEY: key };
  const child = startRollcall(["serve", "--port", "0"], { env });
  onTestFinished(() => void child.kill("SIGKILL"));
  const [line] = await once(createInterface({ input: child.stderr }), "line");
  return { child, url: String(line).replace("rollcall service at ", "") };
};

describe("a service that is stopped", { timeout: 60_000 }, () => {
  it("exits with the code of the signal if a request was broken off", { tags: "slow" }, async () => {
    const service = await serve();
    const json = { "Content-Type": "application/json", "Content-Length": 1000, Expect: "100-continue" };
    const headers = { Authorization: `Bearer ${key}`, ...json };
    const outgoing = httpRequest(`${service.url}/v1/preview/models/m/log`, { method: "POST", headers });
    outgoing.on("error", () => undefined).flushHeaders();
    await once(outgoing, "continue");
    const ended = endOf(service.child);
    service.child.kill("SIGTERM");
    const { code, stderr } = await ended;
    expect([code, stderr]).toEqual([143, expect.stringContaining("longer than 10 s")]);
  });
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
