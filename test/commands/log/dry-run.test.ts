import { describe, expect, it } from "vitest";
import { newHome, runRollcall } from "../../support/run.ts";
import { json, scriptedServer } from "../../support/server.ts";
import { account, log, parsed, two } from "./logging.ts";

describe("rollcall log --dry-run", () => {
  it("prints the address of each request, and with --body its exact bytes", async () => {
    const parts = [two(), "--split", "t", "--max-request-size", "110"];
    const env = { ...account("http://127.0.0.1:9"), ...newHome() };
    const sent = await log(parts, [json("{}"), json("{}")]);
    const planned = parsed((await runRollcall(["log", "m", ...parts, "--dry-run", "--json"], { env })).stdout);
    expect(planned).toMatchObject({
      plan: {
        method: "POST",
        url: "http://127.0.0.1:9/v1/preview/models/m/log",
        headers: { "Content-Type": "application/json" },
        requests: sent.received.map(({ body }) => ({ groups: 1, bytes: body.length })),
      },
    });
    for (const [at, { body }] of sent.received.entries()) {
      const { stdout } = await runRollcall(["log", "m", ...parts, "--dry-run", "--body", String(at + 1)], { env });
      expect(stdout).toBe(body.toString());
    }
    const wrong = async (...args: readonly string[]) => await runRollcall(["log", "m", ...parts, ...args], { env });
    expect(await wrong("--dry-run", "--body", "3")).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("1 to 2"),
    });
    expect(await wrong("--body", "1")).toMatchObject({ code: 2, stderr: expect.stringContaining("--dry-run") });
  });

  it("prints the headers of each request, without the credential", async () => {
    const server = await scriptedServer([{ answer: json("{}") }, { answer: json("{}") }]);
    const env = { ...account(server.url), ...newHome() };
    const run = async (...args: readonly string[]) =>
      await runRollcall(["log", "m", two(), "--split", "t", ...args], { env });
    const dry = async (...args: readonly string[]) =>
      JSON.parse((await run("--dry-run", "--json", ...args)).stdout).plan;
    const apart = ["--max-request-size", "110"];
    const { headers, requests } = await dry(...apart);
    const one = await dry();
    const lines = (await run("--dry-run")).stdout;
    expect(lines).toContain(`header\tIdempotency-Key: ${one.requests[0].idempotency_key}\n`);
    expect((await run("--dry-run", ...apart)).stdout).toContain("header\tIdempotency-Key: one per request");
    expect((await run("--dry-run", "--no-ledger")).stdout).toContain("header\tIdempotency-Key: differs in every run");
    expect((await dry("--no-ledger")).requests).toMatchObject([{ idempotency_key: null }]);
    const never = await runRollcall(["log", "m", two(), "--split", "t", "--dry-run"], {
      env: { ...env, ROLLCALL_IDEMPOTENCY: "never" },
    });
    expect(never.stdout).not.toContain("Idempotency-Key");
    expect(lines).toContain("header\tAuthorization: Bearer …\n");
    await run(...apart);
    const sent = server.received.map(({ headers: { authorization, ...own } }) => {
      expect(authorization).toMatch(/^Bearer \S+$/);
      return own;
    });
    expect(requests.map(({ idempotency_key: key }: { idempotency_key: string }) => key)).toEqual(
      sent.map((own) => own["idempotency-key"]),
    );
    for (const [name, value] of Object.entries(headers)) {
      if (name === "Authorization") expect(value).toBe("Bearer …");
      else for (const own of sent) expect([name, own[name.toLowerCase()]]).toEqual([name, value]);
    }
  });
});
