import { chmodSync, cpSync, existsSync, mkdirSync, readdirSync, readFileSync, statSync, symlinkSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { holdRequest } from "../support/raw-server.ts";
import { groupOf, ledgerOf, linesOf, oneEach, openPlace, openThree, placeAt, startLog, three } from "./place.ts";

describe.concurrent("the ledger", () => {
  it.for(["ledger.db", ":memory:", "file:x?mode=memory", "http:%2f%23?"])(
    "is a new file of any name, with a notice under CI (row %$)",
    async (name, context) => {
      const { place, file } = await openThree(context, { inFolder: true }, { CI: "true" });
      if (name === "ledger.db") place.write(name, "");
      const first = await place.log([file, "--ledger", name]);
      expect([first.code, first.document?.ledger?.created]).toEqual([0, true]);
      expect(first.stdout).toMatch(/began a new ledger at [^"]*\. Keep this file between jobs/);
      expect(existsSync(place.path(name))).toBe(true);
      const second = await place.log([file, "--ledger", name]);
      expect([second.document?.status, second.document?.ledger?.created]).toEqual(["already_logged", false]);
      expect(statSync(place.path(name)).mode & 0o077).toBe(0);
    },
  );

  it.for([0o644, 0o604])("keeps its mode, with a warning and its fix (row %$)", async (mode, context) => {
    const { place, file } = await openThree(context, { inFolder: true });
    expect((await place.run(["log", "m", "--split", "train", file])).stderr).not.toContain("insecure-permissions");
    chmodSync(ledgerOf(place), mode);
    for (const command of [
      ["log", "m", "--split", "train", file],
      ["ledger", "status"],
    ]) {
      const { code, stderr } = await place.run(command);
      expect(code).toBe(0);
      expect(stderr).toContain(`other users can access ${ledgerOf(place)} (mode 0${mode.toString(8)})`);
      expect(stderr).toContain(`chmod 600 ${ledgerOf(place)}`);
    }
    expect(statSync(ledgerOf(place)).mode & 0o777).toBe(mode);
  });

  it("contains no content and no secrets", async (context) => {
    const { place } = await openPlace(context, { inFolder: true }, { ROLLCALL_TOKEN: "a-secret-token" });
    const line = '{"trajectories":[{"messages_and_choices":[{"role":"user","content":"peculiar"}],"reward":1}]}';
    expect((await place.log([place.write("a.jsonl", line)])).code).toBe(0);
    const bytes = readFileSync(ledgerOf(place), "latin1");
    expect(bytes).not.toContain("peculiar");
    expect(bytes).not.toContain("a-secret-token");
  });

  it("recognizes a store of the local service under any port", async (context) => {
    const place = placeAt(context, "");
    const { ROLLCALL_BASE_URL: _, ROLLCALL_TOKEN: __, ...env } = place.env;
    const local = placeAt(context, "", { ...env, ROLLCALL_BASE_URL: "", ROLLCALL_TOKEN: "" });
    const file = place.write("a.jsonl", three);
    const first = await local.log([file, "--local"]);
    expect([first.code, first.document?.groups.logged], first.stderr).toEqual([0, 3]);
    expect((await local.log([file, "--local"])).document?.status).toBe("already_logged");
    const other = { ...env, ROLLCALL_BASE_URL: "", ROLLCALL_TOKEN: "", ROLLCALL_DATA_DIR: place.path("other") };
    cpSync(ledgerOf(place), place.path("kept.db"));
    const elsewhere = placeAt(context, "", other);
    expect((await elsewhere.log([file, "--local", "--ledger", place.path("kept.db")])).document?.groups.logged).toBe(3);
  });

  it("is one ledger under all names of its file, and leaves no lock file", async (context) => {
    const { service, place, file } = await openThree(context, { inFolder: true });
    mkdirSync(place.path("real"));
    symlinkSync(place.path("real"), place.path("linked"));
    place.write("real/ledger.db", "");
    symlinkSync("real/ledger.db", place.path("other.db"));
    const names = ["real/ledger.db", "linked/ledger.db", "other.db", place.path("linked/ledger.db")];
    const ran = await Promise.all(
      names.map(async (name) => await place.log([file, ...oneEach, "--ledger", name, "--max-wait", "30s"])),
    );
    expect(ran.flatMap(({ code, stderr }) => (code === 0 ? [] : [stderr]))).toEqual([]);
    expect(service.logged).toEqual([1, 2, 3]);
    expect(readdirSync(place.path("real"))).toEqual(["ledger.db"]);
  });

  it("shows a request in flight, whose groups a dry run does not plan", async (context) => {
    const hold = holdRequest();
    const { place, file } = await openThree(context, { inFolder: true, otherwise: hold.deed });
    const run = startLog(place, [file]);
    await hold.came;
    expect(await place.entries()).toMatchObject([{ state: "trying", groups: 3 }]);
    expect(await place.entries([file])).toMatchObject([{ state: "trying" }]);
    const plan = await place.log([file, "--dry-run"]);
    expect([plan.document?.requests, plan.document?.groups]).toMatchObject([0, { unknown: 3, not_sent: 0 }]);
    expect((await place.run(["ledger", "resolve", "r1", "--resend"])).code).toBe(9);
    hold.letGo();
    expect([(await run.ended).code, await place.entries()]).toMatchObject([0, [{ state: "logged" }]]);
  });

  it("records the requests of many processes at once", { tags: "slow" }, async (context) => {
    const { service, place } = await openPlace(context, { inFolder: true });
    const numbers = Array.from({ length: 50 }, (_, at) => at);
    const ran = await Promise.all(
      numbers.map(async (at) => {
        const file = place.write(`${at}.jsonl`, linesOf(groupOf(at), groupOf(1000)));
        return await place.log([file, "--batch", `${at}`], { ownProcess: true });
      }),
    );
    expect(ran.flatMap(({ code, stderr }) => (code === 0 ? [] : [stderr]))).toEqual([]);
    expect([...service.logged].sort((a, b) => a - b)).toEqual([...numbers, ...numbers.map(() => 1000)]);
    expect(await place.entries()).toHaveLength(50);
  });
});
