import { describe, expect, it } from "vitest";
import { groupOf, linesOf, openPlace } from "../../promises/place.ts";
import { runHere } from "../../support/here.ts";
import { filesOf } from "../../support/inputs.ts";
import { newHome, runRollcall } from "../../support/run.ts";

const two = linesOf(groupOf(1), groupOf(2));

describe("the ledger of the local service", () => {
  const openLocal = () => {
    const env = newHome();
    return async (...args: readonly string[]) => await runHere([...args, "--local"], { env });
  };
  const log = ["log", "m", "--split", "train", "--max-request-size", "150"];
  const notes = (stderr: string) => Array.from(stderr.matchAll(/^(?:note|hint): (.*)$/gm), ([, text]) => text);

  it("names each file that is not complete, and the reason", async () => {
    const run = openLocal();
    const [logged = "", missing = "", invalid = ""] = filesOf(two, linesOf(groupOf(3)), `${linesOf(groupOf(4))}{}\n`);
    await run(...log, logged);
    const verify = async (...files: readonly string[]) => notes((await run("ledger", "verify", ...files)).stderr);
    const [, ofFile, hint] = await verify(logged, missing);
    expect(ofFile).toBe(`${missing}: 0 of 1 group logged exactly once`);
    expect(hint).toMatch(/^verify with --model/);
    expect((await verify(invalid)).at(-1)).toMatch(/^fix the errors/);
  });

  it("resolves no request if one of them is unknown", async () => {
    const run = openLocal();
    await run(...log, ...filesOf(two));
    const { entries } = JSON.parse((await run("ledger", "status", "--json")).stdout);
    const { code, stderr } = await run("ledger", "resolve", entries[0].id, "none", "--resend");
    const message = `nothing was changed: the outcome of ${entries[0].id} is known (logged), the ledger has no request none`;
    expect([code, stderr]).toEqual([9, expect.stringContaining(message)]);
    expect(notes(stderr)[0]).toMatch(/^list the ids of the requests/);
  });
});

describe.concurrent("rollcall ledger", { timeout: 90_000 }, () => {
  it("needs no home folder to read no ledger, and exits with 11 if it must change a ledger", async () => {
    const env = { HOME: "", XDG_DATA_HOME: "", XDG_CONFIG_HOME: "" };
    const why = "cannot locate the ledger because the home folder is unknown";
    const fix = "pass --ledger <file>, or set ROLLCALL_DATA_DIR";
    for (const [verb, code, stderr] of [
      [["status"], 0, `note: ${why} (${fix})\n`],
      [["resolve", "r1", "--resend"], 11, `rollcall: ${why}\nhint: ${fix}\n`],
    ] as const)
      expect(await runRollcall(["ledger", ...verb], { env })).toMatchObject({ code, stderr });
  });
  it("uses the destination of the settings, and all destinations without a URL", async (context) => {
    const { service, place } = await openPlace(context);
    const file = place.write("a.jsonl", two);
    expect((await place.log([file])).code).toBe(0);
    expect((await place.run(["log", "m", file, "--split", "train", "--local"])).code).toBe(0);
    for (const where of [[], ["--local"]]) {
      expect((await place.run(["ledger", "verify", file, ...where])).code).toBe(0);
      const status = await place.run(["ledger", "status", ...where]);
      expect(status.stdout.trim().split("\n")).toHaveLength(1);
      expect(status.stderr).toContain("not shown: 1 request to other destinations or accounts\n");
    }
    const env = { ...place.env, ROLLCALL_BASE_URL: "" };
    expect((await place.run(["ledger", "verify", file], { env })).code).toBe(10);
    const all = await place.run(["ledger", "status"], { env });
    expect(all.stdout.trim().split("\n")).toHaveLength(2);
    expect(all.stdout).toContain(`${service.url}/v1/preview/models/m/log\tdefault`);
    // A change needs a destination.
    const resolving = await place.run(["ledger", "resolve", "r1", "--resend"], { env });
    expect([resolving.code, resolving.stderr]).toEqual([2, expect.stringContaining("base_url is not set")]);
  });
});
