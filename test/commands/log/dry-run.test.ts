import { describe, expect, it } from "vitest";
import { runHere } from "../../support/here.ts";
import { newHome, runRollcall } from "../../support/run.ts";
import { json, scriptedServer } from "../../support/server.ts";
import { account, group, two } from "./logging.ts";

describe("rollcall log --dry-run", () => {
  it("needs a split, as a run does", async () => {
    const { code, stderr } = await runHere(["log", "m", two(), "--dry-run"]);
    expect([code, stderr]).toEqual([2, expect.stringContaining("missing --split")]);
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

  it("lists up to 20 requests, and states the key of the only one", async () => {
    const plan = async (groups: number, ...args: readonly string[]) => {
      const stdin = Array.from({ length: groups }, (_, at) => `${group(at % 10)}\n`).join("");
      const options = ["--split", "t", "--batch", "b", "--dry-run", "--max-request-size", "120", "-o", "table"];
      const env = { ...account("https://a.example"), ...newHome() };
      const { stdout } = await runHere(["log", "m", "-", ...options, ...args], { env, stdin });
      const facts = stdout.split("\n").map((fact) => fact.trim().split(/ {2,}/));
      const named = (pattern: RegExp) => facts.filter(([name = ""]) => pattern.test(name));
      const keys = named(/^header$/).flatMap(([, header = ""]) => /^Idempotency-Key: (.*)/.exec(header)?.[1] ?? []);
      return { requests: named(/^request /), more: named(/^more$/), keys };
    };
    const one = await plan(1);
    expect(one).toMatchObject({ requests: [["request 1", expect.stringMatching(/^POST .*, 1 group$/)]], more: [] });
    expect(one.keys).toEqual([expect.stringMatching(/^[\w-]{20,}$/)]);
    expect((await plan(1, "--no-ledger")).keys).toEqual(["differs in every run"]);
    const twenty = await plan(20);
    expect([twenty.requests.length, twenty.more]).toEqual([20, []]);
    expect(twenty.keys).toEqual(["one per request (see --json)"]);
    const many = await plan(22);
    expect([many.requests.length, many.requests[19]?.[0], many.more]).toEqual([
      20,
      "request 20",
      [["more", "2 requests"]],
    ]);
  });
});
