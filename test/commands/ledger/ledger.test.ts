import {
  copyFileSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { describe, expect, it } from "vitest";
import { groupOf, linesOf, oneEach, openPlace, type Place, placeAt } from "../../promises/place.ts";
import { runHere } from "../../support/here.ts";
import { filesOf } from "../../support/inputs.ts";
import { type accept, faultyService } from "../../support/raw-server.ts";
import { newHome } from "../../support/run.ts";

const two = linesOf(groupOf(1), groupOf(2));

/** Answers with a call for each group. */
const named =
  (...ids: readonly string[]) =>
  async (asked: Parameters<typeof accept>[0]) => {
    await asked.take();
    asked.answer(200, { body: JSON.stringify({ call_ids: ids }) });
  };

const idsOf = async (place: Place, args: readonly string[]): Promise<readonly string[]> => {
  const { stdout } = await place.run(["ledger", "calls", "--json", ...args]);
  return (JSON.parse(stdout) as { calls: readonly { id: string }[] }).calls.map(({ id }) => id);
};

it("ledger forget needs a URL, or the option for all destinations", async () => {
  const run = async (...more: readonly string[]) =>
    await runHere(["ledger", "forget", "--model", "m", "--yes", ...more], { env: newHome() });
  const { code, stderr } = await run();
  expect([code, stderr]).toEqual([2, expect.stringMatching(/^hint: .*, or pass --all-destinations$/m)]);
  const { code: all, stderr: notes } = await run("--all-destinations");
  const none = /^note: no ledger at .*ledger\.db\nnote: deleted 0 requests from the ledger\n$/;
  expect([all, notes]).toEqual([0, expect.stringMatching(none)]);
});

describe("the ledger of the local service", () => {
  const openLocal = () => {
    const env = newHome();
    return async (...args: readonly string[]) => await runHere([...args, "--local"], { env });
  };
  const log = ["log", "m", "--split", "train", "--max-request-size", "150"];
  const notes = (stderr: string) => Array.from(stderr.matchAll(/^(?:note|hint): (.*)$/gm), ([, text]) => text);

  it("lists up to ten requests that it would forget", async () => {
    const run = openLocal();
    const groups = Array.from({ length: 10 }, (_, at) => groupOf(at));
    expect((await run(...log, ...filesOf(linesOf(...groups)))).code).toBe(0);
    const { code, stderr } = await run("ledger", "forget", "--model", "m");
    expect([code, notes(stderr).length, notes(stderr).at(-1)]).toEqual([2, 11, "pass --yes"]);
    await run(...log, ...filesOf(linesOf(groupOf(11))));
    expect(notes((await run("ledger", "forget", "--model", "m")).stderr).at(-2)).toBe("and 1 more");
  });

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

  it("resolves no request if one of them is unknown, and needs a time span", async () => {
    const run = openLocal();
    await run(...log, ...filesOf(two));
    const { entries } = JSON.parse((await run("ledger", "status", "--json")).stdout);
    const { code, stderr } = await run("ledger", "resolve", entries[0].id, "none", "--resend");
    const message = `nothing was changed: the outcome of ${entries[0].id} is known (logged), the ledger has no request none`;
    expect([code, stderr]).toEqual([9, expect.stringContaining(message)]);
    expect(notes(stderr)[0]).toMatch(/^list the ids and destinations/);
    const day = ["--since", "2026-01-01", "--until", "2026-01-01"];
    expect((await run("ledger", "calls", ...day)).stderr).toContain("--until is not after --since");
  });
});

describe.concurrent("rollcall ledger", { timeout: 90_000 }, () => {
  it("uses the destination of the settings, and all destinations with --all-destinations", async (context) => {
    const { service, place } = await openPlace(context, { otherwise: named("there") });
    const file = place.write("a.jsonl", two);
    expect((await place.log([file])).code).toBe(0);
    expect((await place.run(["log", "m", file, "--split", "train", "--local"])).code).toBe(0);
    for (const where of [[], ["--local"]]) {
      expect((await place.run(["ledger", "verify", file, ...where])).code).toBe(0);
      const status = await place.run(["ledger", "status", ...where]);
      expect(status.stdout.trim().split("\n")).toHaveLength(1);
      expect(status.stderr).toContain(
        "not shown: 1 request to other destinations or accounts (show all with --all-destinations)",
      );
    }
    expect((await place.run(["ledger", "verify", file, "--all-destinations"])).code).toBe(10);
    const all = await place.run(["ledger", "status", "--all-destinations"]);
    expect(all.stdout.trim().split("\n")).toHaveLength(2);
    expect(all.stdout).toContain(`${service.url}/v1/preview/models/m/log\tdefault`);
    expect(await idsOf(place, [])).toEqual(["there"]);
    const local = await idsOf(place, ["--local"]);
    expect([local.length, local.includes("there")]).toEqual([2, false]);
    expect(await idsOf(place, ["--all-destinations"])).toEqual(["there", ...local]);
    expect(await idsOf(place, ["--base-url", "http://127.0.0.1:9"])).toEqual([]);
    expect((await place.run(["ledger", "forget", "--model", "m", "--yes", "--local"])).code).toBe(0);
    expect(await idsOf(place, [])).toEqual(["there"]);
  });

  it("forgets nothing if no URL gives the destination, or a field is wrong", async (context) => {
    const { place } = await openPlace(context);
    await place.log([place.write("a.jsonl", two)]);
    const env = { ...place.env, ROLLCALL_BASE_URL: "" };
    const forget = ["ledger", "forget", "--model", "m", "--yes"];
    expect((await place.run(forget, { env })).code).toBe(2);
    // A wrong field is found before the command changes the ledger.
    expect((await place.run([...forget, "--json", "--fields", "forgottenx"])).code).toBe(2);
    expect(await place.entries()).toHaveLength(1);
  });

  it("reads a time without an offset as UTC", async (context) => {
    const service = await faultyService(context);
    service.next(named("a"));
    const place = placeAt(context, service.url);
    await place.log([place.write("a.jsonl", groupOf(1))]);
    const at = Date.now() + 3_600_000;
    const [inAnHour = "", afterwards = ""] = [at, at + 1].map((ms) => new Date(ms).toISOString().replace("Z", ""));
    for (const [until, code] of [
      [inAnHour, 2],
      [afterwards, 0],
    ] as const)
      expect((await place.run(["ledger", "calls", "--since", inAnHour, "--until", until])).code).toBe(code);
    for (const TZ of ["Pacific/Kiritimati", "Pacific/Pago_Pago"]) {
      const ran = await place.run(["ledger", "calls", "--until", inAnHour], { env: { ...place.env, TZ } });
      expect(ran).toMatchObject({ code: 0, stdout: expect.stringMatching(/^a\t/) });
      const later = await place.run(["ledger", "calls", "--since", inAnHour], { env: { ...place.env, TZ } });
      expect(later).toMatchObject({ code: 0, stdout: "" });
    }
  });
});

describe.concurrent("a file named by --ledger", { timeout: 60_000 }, () => {
  it("keeps its content if the file is not a ledger", async (context) => {
    const { service, place } = await openPlace(context);
    const file = place.write("a.jsonl", two);
    mkdirSync(place.path("own"));
    const notes = place.write("own/notes.txt", "what I wrote\n".repeat(40));
    await place.run(["log", "m", file, "--split", "train", "--local"]);
    copyFileSync(`${place.env.XDG_DATA_HOME}/rollcall/local.db`, place.path("own/local.db"));
    for (const foreign of [notes, place.path("own/local.db")]) {
      utimesSync(foreign, 1, 1);
      const before = [statSync(foreign).mode, readFileSync(foreign, "latin1")];
      for (const args of [
        ["log", "m", file, "--split", "train"],
        ["ledger", "status"],
        ["ledger", "verify", file],
      ]) {
        const ran = await place.run([...args, "--ledger", foreign]);
        expect([ran.code, ran.stderr]).toEqual([11, expect.stringContaining(foreign)]);
      }
      expect([statSync(foreign).mode, readFileSync(foreign, "latin1")]).toEqual(before);
      expect(statSync(foreign).mtimeMs).toBe(1000);
    }
    expect(readdirSync(place.path("own")).sort()).toEqual(["local.db", "notes.txt"]);
    expect(service.requests()).toBe(0);
  });

  it("ends the run before the next request if the file is deleted or replaced", async (context) => {
    for (const harm of ["deleted", "replaced", "unlocked"]) {
      const { service, place } = await openPlace(context);
      const ledger = place.path("ledger.db");
      const file = place.write("a.jsonl", linesOf(groupOf(1), groupOf(2), groupOf(3)));
      service.next(async (asked) => {
        await asked.take();
        const lock = readdirSync(place.folder).find((name) => name.startsWith("ledger.db.lock-")) ?? "";
        if (harm === "unlocked") rmSync(place.path(lock));
        else renameSync(ledger, `${ledger}.old`);
        if (harm === "replaced") writeFileSync(ledger, "");
        asked.answer(200);
      });
      const ran = await place.log([file, ...oneEach, "--ledger", ledger]);
      expect([harm, ran.code, ran.error?.message]).toEqual([
        harm,
        11,
        expect.stringContaining("was deleted, replaced or overwritten during the run: 1 group logged, 2 not logged"),
      ]);
      expect(service.logged).toEqual([1]);
    }
  });
});
