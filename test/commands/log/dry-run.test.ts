import { describe, expect, it } from "vitest";
import { newHome, runRollcall } from "../../support/run.ts";
import { json, scriptedServer } from "../../support/server.ts";
import { account, two } from "./logging.ts";

describe("rollcall log --dry-run", () => {
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
    expect(one.requests).toMatchObject([{ idempotency_key: expect.any(String) }]);
    expect((await dry("--no-ledger")).requests).toMatchObject([{ idempotency_key: null }]);
    const never = await runRollcall(["log", "m", two(), "--split", "t", "--dry-run"], {
      env: { ...env, ROLLCALL_IDEMPOTENCY: "never" },
    });
    expect(never.stdout).not.toContain("Idempotency-Key");
    expect(lines).toContain("plan.headers.Authorization\tBearer …\n");
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
