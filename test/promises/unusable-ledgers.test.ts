import { execFileSync } from "node:child_process";
import { copyFileSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import Connection from "libsql";
import { describe, expect, it } from "vitest";
import { accept, type RequestHandler } from "../support/raw-server.ts";
import { canMount, groupOf, linesOf, oneEach, openPlace, openThree, placeAt, three } from "./place.ts";

describe.concurrent("a malformed URL of a ledger", () => {
  it.for([
    "postgres://rollcall:pa/hunter2@db.example/rollcall",
    "postgres://u:12/hunter2@db.example/x",
    "postgres://u:12?hunter2@db.example/x",
    "postgres://u:hunter2#x@db.example/x",
    "postgres://u:hunter2@db.example:99999/x",
    "postgres://u:hunter2@/x",
    "postgres:/u:hunter2@db.example/x",
    " postgres:u:hunter2@db.example/x",
    "host=db.example password=hunter2",
    "postgresql://db.example/x?user=u&password=hunter2",
    "mysql://u:hunter2@db.example/x",
    "libsql://db.example?authToken=hunter2",
    "https://db.example?authToken=hunter2",
    "https:/u:hunter2@db.example/x",
    "https:u:hunter2@db.example/x",
    "postgres://db ex/u:hunter2@db.example/x",
  ])("gives exit 2, creates no file and is not printed (row %$)", async (address, context) => {
    const { service, place } = await openPlace(context, { inFolder: true }, { ROLLCALL_LEDGER: address });
    const { code, error, stdout, stderr } = await place.log([place.write("a.jsonl", linesOf(groupOf(1))), "--debug"]);
    expect([code, service.logged, readdirSync(place.folder)]).toEqual([2, [], ["a.jsonl"]]);
    expect(error?.hint).toContain("write a path, or postgres://user@host/database");
    expect(stdout + stderr).not.toContain("hunter2");
  });
});

describe.concurrent("a ledger that cannot be used", () => {
  it("gives exit 11 if it is cut or overwritten", async (context) => {
    const { service, place } = await openPlace(context, { inFolder: true });
    const path = place.path("ledger.db");
    expect((await place.log([place.write("a.jsonl", three), "--ledger", path])).code).toBe(0);
    const whole = readFileSync(path);
    for (const length of [1000, 16_384, whole.length - 16_384]) {
      writeFileSync(path, whole.subarray(0, length));
      expect([(await place.log([place.path("a.jsonl"), "--ledger", path])).code, length]).toEqual([11, length]);
    }
    for (const from of [16, 16_384, 32_768]) {
      const broken = Buffer.from(whole);
      broken.fill(0xa5, from, from + 4000);
      writeFileSync(path, broken);
      expect([(await place.log([place.path("a.jsonl"), "--ledger", path])).code, from]).toEqual([11, from]);
    }
    expect(service.requests()).toBe(1);
  });

  it("gives exit 11 if there is no home folder", async (context) => {
    const { service, file } = await openThree(context, { inFolder: true });
    const homeless = placeAt(context, service.url, { HOME: "/dev/null", XDG_DATA_HOME: "", XDG_CONFIG_HOME: "" });
    const { code, error } = await homeless.log([file]);
    expect([code, error?.code, service.requests()]).toEqual([11, "storage", 0]);
    expect(error?.message).toMatch(/; nothing was sent$/);
    expect((await homeless.log([file, "--no-ledger"])).code).toBe(0);
  });

  it.skipIf(!canMount())(
    "gives exit 11 if its disk is full or read-only (skipped if nothing can be mounted)",
    { tags: "slow" },
    async (context) => {
      const { service, place } = await openPlace(context, { inFolder: true });
      const disk = place.path("disk");
      mkdirSync(disk);
      execFileSync("mount", ["-t", "tmpfs", "-o", "size=2m", "none", disk]);
      try {
        const file = place.write("a.jsonl", three);
        const args = [file, "--ledger", `${disk}/ledger.db`, ...oneEach];
        fill(`${disk}/full`);
        const full = await place.log(args);
        expect([full.code, service.requests()], full.stderr).toEqual([11, 0]);
        expect(full.error?.message).toMatch(/disk is full.*; nothing was sent$/);
        rmSync(`${disk}/full`);
        const body = `{"call_ids":${JSON.stringify(Array.from({ length: 4000 }, (_, at) => `call-${at}`))}}`;
        const fillAndAnswer =
          (status: number, count = 0): RequestHandler =>
          async (asked) => {
            await asked.take();
            await context.expect.poll(service.requests).toBeGreaterThanOrEqual(count);
            fill(`${disk}/full`);
            asked.answer(status, { body });
          };
        // The disk is full at the second answer, so the outcome is not recorded and the next run finds it unknown.
        service.next(accept, fillAndAnswer(200));
        const during = await place.log(args);
        expect([during.code, during.error?.cause], during.stderr).toEqual([8, "storage"]);
        expect(during.document?.groups).toMatchObject({ logged: 1, unknown: 1, not_sent: 1 });
        expect(during.error?.message).toMatch(
          /\(r2, .*: the ledger could not record the outcome "logged": .*disk is full/,
        );
        expect(during.error?.hint).toMatch(
          /^free disk space, or .* ROLLCALL_LEDGER. Then run `rollcall ledger resolve r2 .*` with --assume-logged if/,
        );
        rmSync(`${disk}/full`);
        const after = await place.log(args);
        expect([after.code, after.document?.groups], after.stderr).toMatchObject([
          8,
          { already_logged: 1, unknown: 1, logged: 1 },
        ]);
        expect(service.logged).toEqual([1, 2, 3]);
        for (const [status, reason] of [
          [200, /and other requests may or may not have been logged: .*disk is full/],
          [500, /may or may not have been logged: the service answered 500.*, and the ledger .*disk is full/],
        ] as const) {
          const count = service.requests() + 2;
          service.next(fillAndAnswer(status, count), fillAndAnswer(500, count));
          const both = await place.log([file, "--ledger", `${disk}/${status}.db`, ...oneEach, "--concurrency", "2"]);
          expect([both.code, both.error?.message]).toEqual([8, expect.stringMatching(reason)]);
          rmSync(`${disk}/full`);
        }
        // The body is cut before its last byte, so the request was not sent.
        service.next((asked) => {
          fill(`${disk}/full`);
          asked.reset();
        });
        const large = place.write("large.jsonl", linesOf(groupOf(1, 2e7)));
        const cut = await place.log([large, "--ledger", `${disk}/cut.db`, "--max-wait", "0s"]);
        expect([cut.code, cut.error?.message]).toEqual([
          8,
          expect.stringMatching(/\(r1, .*: the ledger could not record the outcome "not logged": /),
        ]);
        expect(cut.error?.hint).toMatch(/ledger resolve r1 .*, or with --resend if it does not. Then run your/);
        rmSync(`${disk}/full`);
        // A copy of the ledger with the journal of a killed process, which had written a part of a change.
        const open = new Connection(`${disk}/ledger.db`);
        const rows = "WITH RECURSIVE row (at) AS (VALUES (1) UNION ALL SELECT at + 1 FROM row WHERE at < 20)";
        open.exec(`PRAGMA cache_size = 1; BEGIN; UPDATE request SET input = 'late.jsonl';
          INSERT INTO address (destination, account, max_bytes, echoes_key)
          ${rows} SELECT at, at, 'x' || hex(zeroblob(10000)), 0 FROM row`);
        for (const end of ["", "-journal"]) copyFileSync(`${disk}/ledger.db${end}`, `${disk}/copy.db${end}`);
        open.exec("ROLLBACK");
        open.close();
        expect(readFileSync(`${disk}/copy.db`, "latin1")).toContain("late.jsonl");
        execFileSync("mount", ["-o", "remount,ro", disk]);
        const sent = service.requests();
        const frozen = await place.log(args);
        expect([frozen.code, frozen.error?.code, service.requests()]).toEqual([11, "storage", sent]);
        // Commands that only read the ledger need no writable folder.
        const here = ["--ledger", `${disk}/ledger.db`];
        const copied = await place.entries(["--ledger", `${disk}/copy.db`]);
        expect(copied.map(({ input }) => input)).toEqual(Array(3).fill("a.jsonl"));
        expect((await place.entries(here)).map(({ state }) => state)).toEqual(["logged", "unknown", "logged"]);
        for (const verb of ["status", "verify"]) {
          const { code } = await place.run(["ledger", verb, file, ...here]);
          expect([verb, code]).toEqual([verb, verb === "verify" ? 10 : 0]);
        }
      } finally {
        execFileSync("umount", [disk]);
      }
    },
  );
});

/** Writes a file until its disk is full. */
const fill = (path: string): void => {
  for (const bytes of [65_536, 4096, 1]) {
    try {
      for (;;) writeFileSync(path, Buffer.alloc(bytes), { flag: "a" });
    } catch {
      // Full for pieces of this size.
    }
  }
};
