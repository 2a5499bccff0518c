/** Runs with copies of a ledger that were made while a run used it. */
import { copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync, statSync, truncateSync } from "node:fs";
import Connection from "libsql";
import { describe, expect, it, type TestContext } from "vitest";
import { accept } from "../support/raw-server.ts";
import { oneEach, openThree, type Place } from "./place.ts";

const ends = ["", "-wal", "-shm"];

const copyFiles = (place: Place, from: string, to: string, kept: readonly string[] = ends) => {
  mkdirSync(place.path(to));
  for (const end of kept)
    if (existsSync(place.path(`${from}/l.db${end}`)))
      copyFileSync(place.path(`${from}/l.db${end}`), place.path(`${to}/l.db${end}`));
  return place.path(`${to}/l.db`);
};

/** Copies the files of a ledger when each request arrives, which is as if the run was killed then. */
const runWithCopies = async (context: TestContext) => {
  const opened = await openThree(context);
  const { service, place, file } = opened;
  mkdirSync(place.path("run"));
  service.mend(async (asked) => {
    copyFiles(place, "run", `at${service.requests()}`);
    await accept(asked);
  });
  expect((await place.log([file, ...oneEach, "--ledger", "run/l.db"])).code).toBe(0);
  copyFiles(place, "run", "at4");
  service.mend();
  return opened;
};

/** Logs with a copy. Expects that the run sends no group of the requests that had arrived. */
const rerun = async ({ service, place, file }: Awaited<ReturnType<typeof runWithCopies>>, name: string, at: number) => {
  const before = service.logged.length;
  const { code, stderr } = await place.log([file, ...oneEach, "--ledger", `${name}/l.db`, "--require-ledger"]);
  const again = service.logged.slice(before).filter((group) => group <= at);
  expect({ name, again, stderr: code === 0 && at < 4 ? "exit 0" : stderr }).toMatchObject({ name, again: [] });
  return code;
};

describe("a copy of the ledger that was made during a run", () => {
  it("has all sent requests, also if only the file itself was copied", async (context) => {
    const opened = await runWithCopies(context);
    for (const [at, code] of [1, 2, 3, 4].map((at) => [at, at === 4 ? 0 : 8] as const)) {
      copyFiles(opened.place, `at${at}`, `file${at}`, [""]);
      expect([at, await rerun(opened, `file${at}`, at)]).toEqual([at, code]);
    }
    expect(existsSync(opened.place.path("run/l.db-wal"))).toBe(false);
  });

  it("never logs a group twice, whatever is missing", { tags: "slow" }, async (context) => {
    const opened = await runWithCopies(context);
    const { place } = opened;
    for (const at of [1, 2, 3, 4]) {
      const wal = place.path(`at${at}/l.db-wal`);
      const walBytes = existsSync(wal) ? statSync(wal).size : 0;
      for (const kept of [ends, ["", "-wal"], ["", "-shm"], [""]])
        for (let cut = walBytes; cut >= 0; cut = cut === 0 ? -1 : Math.max(0, cut - 8000)) {
          const name = `${at}${kept.join("")}.${cut}`;
          copyFiles(place, `at${at}`, name, kept);
          if (kept.includes("-wal") && walBytes > 0) truncateSync(place.path(`${name}/l.db-wal`), cut);
          expect([0, 8, 11]).toContain(await rerun(opened, name, at));
        }
    }
  });
});

describe.concurrent("a file without tables", () => {
  it("is not a ledger, unless it is empty", async (context) => {
    const { service, place, file } = await openThree(context);
    place.write("notes", "x");
    for (const args of [
      ["ledger", "status"],
      ["log", "m", "--split", "train", file],
    ]) {
      const { code, stderr } = await place.run([...args, "--ledger", "notes"]);
      expect([code, stderr.replaceAll(/\s+/g, " ")]).toEqual([11, expect.stringContaining("is not a rollcall ledger")]);
    }
    expect([readFileSync(place.path("notes"), "utf8"), service.requests()]).toEqual(["x", 0]);
    expect(readdirSync(place.folder).toSorted()).toEqual(["a.jsonl", "notes"]);
  });

  it("is refused if its log is missing, as after a kill of an older version", async (context) => {
    const { service, place, file } = await openThree(context);
    const database = new Connection(place.path("old.db"));
    database.exec("PRAGMA journal_mode = WAL; CREATE TABLE request (id INTEGER)");
    copyFileSync(place.path("old.db"), place.path("l.db"));
    database.close();
    for (const options of [[], ["--require-ledger"]]) {
      const { code, error } = await place.log([file, "--ledger", "l.db", ...options]);
      expect([code, error?.message]).toEqual([
        11,
        expect.stringMatching(/is incomplete: its log .*l\.db-wal is missing/),
      ]);
    }
    expect(service.requests()).toBe(0);
  });
});
