import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, type TestContext } from "vitest";
import { ask, hasPostgres, makeLedger, newDatabase, newLedger, startOwnServer } from "../support/postgres.ts";
import { faultyService, holdRequest, refuse, type TestCleanup } from "../support/raw-server.ts";
import { endOf } from "../support/run.ts";
import { certificate } from "../wire/client/certificate.ts";
import { documentsOf, groupOf, linesOf, oneEach, type Place, placeAt, startLog } from "./place.ts";

const withPassword = (address: string, password: string): string => address.replace("@", `:${password}@`);

/** A machine of a team: a new home folder, a new working folder, and the team's ledger. */
const machine = (context: TestCleanup, url: string, ledger: string): Place =>
  placeAt(context, url, { ROLLCALL_LEDGER: ledger }).inFolder();

/** Two machines with one ledger. The service holds the first request. */
const openTwoMachines = async (context: TestCleanup) => {
  const hold = holdRequest();
  const service = await faultyService(context);
  service.next(hold.deed);
  const database = await newLedger();
  const [first, second] = [machine(context, service.url, database), machine(context, service.url, database)];
  return { hold, service, first, second };
};

const many = (count: number): string => linesOf(...Array.from({ length: count }, (_, at) => groupOf(at)));

/** A group with a reward. The name identifies what was sampled. */
const sampledOf = (name: string, reward: number): string =>
  JSON.stringify({
    trajectories: [
      {
        messages_and_choices: [
          { role: "user", content: name },
          { finish_reason: "stop", index: 0, message: { role: "assistant", content: name } },
        ],
        reward,
      },
    ],
  });

const pause = async (ms: number): Promise<void> => await new Promise((resolve) => setTimeout(resolve, ms));

/** Milliseconds that exceed a lease. */
const overMs = 17_000;

describe.skipIf(!hasPostgres)("rollcall log with a ledger in PostgreSQL", { tags: "database" }, () => {
  describe.concurrent("on several machines", () => {
    it("logs each group of a file once, and reports every group on every machine", async (context) => {
      const service = await faultyService(context);
      const database = withPassword(await makeLedger(await newDatabase("guarded"), "secret"), "secret");
      const places = [1, 2, 3, 4].map(() => machine(context, service.url, database));
      const content = many(60);
      const runs = places.map((place) => place.log([place.write("a.jsonl", content), ...oneEach]));
      const ended = await Promise.all(runs);
      expect(ended.map(({ code }) => code)).toEqual([0, 0, 0, 0]);
      expect(service.logged.toSorted((a, b) => a - b)).toEqual(Array.from({ length: 60 }, (_, at) => at));
      for (const { document } of ended) {
        const { read, logged = 0, already_logged: others = 0 } = document?.groups ?? {};
        expect([read, logged + others]).toEqual([60, 60]);
      }
      expect(ended.reduce((sum, { document }) => sum + (document?.groups.logged ?? 0), 0)).toBe(60);
      const [place] = places;
      const { stdout, stderr } =
        (await place?.run(["ledger", "verify", "a.jsonl", "--split", "train", "--json"])) ?? {};
      expect(JSON.parse(stdout ?? "").status).toBe("verified");
      expect([...ended.map((one) => one.stdout + one.stderr), stdout, stderr].join("")).not.toContain("secret");
    });

    it("writes no error into the database's log if all machines claim the same groups", async (context) => {
      const service = await faultyService(context);
      const { address, folder } = await startOwnServer(context);
      await makeLedger(address);
      const places = [1, 2, 3, 4, 5, 6].map(() => machine(context, service.url, address));
      const runs = places.map((place) => place.log([place.write("a.jsonl", many(150)), ...oneEach]));
      expect((await Promise.all(runs)).map(({ code }) => code)).toEqual([0, 0, 0, 0, 0, 0]);
      expect(readFileSync(join(folder, "log"), "utf8")).not.toContain("ERROR");
    });

    it("leaves the request in flight of a killed machine unknown", async (context) => {
      const { hold, service, first, second } = await openTwoMachines(context);
      const run = first.start([first.write("a.jsonl", many(3)), ...oneEach]);
      await hold.came;
      // This runs before the kill, so that the lease is renewed on any machine.
      const early = await second.log([second.write("a.jsonl", many(3)), ...oneEach, "--max-wait", "1s"]);
      expect([early.code, early.error?.retryable, early.document?.groups]).toMatchObject([7, true, { logged: 2 }]);
      expect(early.error?.message).toContain("1 not logged: another run with the same model and split still uses");
      const lease = " \\(if that run was killed, the ledger is free in [12]?\\d s\\)";
      const waitNotice = `^note: waiting for another run that logs to the same model and split${lease}`;
      expect(early.error?.message).toMatch(new RegExp(lease));
      run.kill("SIGKILL");
      hold.letGo();
      const late = await second.run(["log", "m", "a.jsonl", "--split", "train", ...oneEach]);
      expect([late.code, late.stderr]).toEqual([8, expect.stringMatching(new RegExp(waitNotice, "m"))]);
      const { code, document } = await second.log(["a.jsonl", ...oneEach]);
      expect([code, document?.groups]).toMatchObject([8, { already_logged: 2, unknown: 1, not_sent: 0 }]);
      expect(service.logged.toSorted()).toEqual([0, 1, 2]);
      const [entry] = (await second.entries()).filter(({ state }) => state === "unknown");
      await second.run(["ledger", "resolve", entry?.id ?? "", "--assume-logged"]);
      expect((await second.log(["a.jsonl", ...oneEach])).document?.groups).toMatchObject({ already_logged: 3 });
    });

    it("sends nothing more from a machine that was paused until its lease expired", async (context) => {
      const { hold, service, first, second } = await openTwoMachines(context);
      const run = first.start([first.write("a.jsonl", many(3)), ...oneEach]);
      const end = endOf(run);
      await hold.came;
      run.kill("SIGSTOP");
      hold.letGo();
      await pause(overMs);
      const other = await second.log([second.write("a.jsonl", many(3)), ...oneEach]);
      expect(other.document?.groups).toMatchObject({ logged: 2, unknown: 1 });
      run.kill("SIGCONT");
      const ended = documentsOf(await end);
      // The reply makes one group logged. The second machine logged the other two.
      expect([ended.code, ended.document?.groups]).toMatchObject([7, { logged: 1, not_sent: 2 }]);
      expect(ended.error?.message).toContain("this run could not update the ledger");
      expect(service.logged.toSorted()).toEqual([0, 1, 2]);
      expect((await first.log(["a.jsonl", ...oneEach])).document?.groups).toMatchObject({ already_logged: 3 });
    });

    it("resends a request of a killed machine with --on-unknown resend when its lease has expired", async (context) => {
      const { hold, service, first, second } = await openTwoMachines(context);
      const run = first.start([first.write("a.jsonl", many(2)), ...oneEach]);
      await hold.came;
      run.kill("SIGKILL");
      hold.letGo();
      const { code, document } = await second.log([
        ...[second.write("a.jsonl", many(2)), ...oneEach, "--on-unknown", "resend"],
      ]);
      expect([code, document?.groups, service.logged.toSorted()]).toMatchObject([0, { logged: 2 }, [0, 0, 1]]);
    });

    it("sends one of two versions of a group, if the machines of both send other groups first", async (context) => {
      const { hold, service, first, second } = await openTwoMachines(context);
      const run = first.start([first.write("a.jsonl", linesOf(sampledOf("a", 1), sampledOf("b", 2))), ...oneEach]);
      await hold.came;
      expect((await second.log([second.write("b.jsonl", linesOf(sampledOf("b", 3)))])).code).toBe(0);
      const end = endOf(run);
      hold.letGo();
      const { code, document, error } = documentsOf(await end);
      expect([code, document?.groups, service.logged]).toMatchObject([7, { logged: 1, not_sent: 1 }, [3, 1]]);
      expect(error?.message).toMatch(/^1 group logged, 1 not logged: 1 group has the rollouts of a logged group/);
    });

    it("sends no other version of a group that a machine will retry", async (context) => {
      const service = await faultyService(context);
      service.next(refuse(429, { headers: ["retry-after: 4"] }));
      const database = await newLedger();
      const [first, second] = [machine(context, service.url, database), machine(context, service.url, database)];
      const end = endOf(first.start([first.write("a.jsonl", linesOf(sampledOf("a", 1)))]));
      const isPaused = "SELECT FROM rollcall.request WHERE state = 'not_sent'";
      while ((await ask(database, isPaused)).length === 0) await pause(50);
      const other = await second.log([second.write("b.jsonl", linesOf(sampledOf("a", 2)))]);
      expect([other.code, other.error?.problems]).toMatchObject([3, [{ rule: "logged-differently" }]]);
      expect([documentsOf(await end).code, service.logged]).toEqual([0, [1]]);
    });

    it("warns of no other groups if another machine sends the same groups", async (context) => {
      const holds = [holdRequest(), holdRequest()];
      const service = await faultyService(context);
      service.next(...holds.map(({ deed }) => deed));
      const database = await newLedger();
      const content = linesOf(sampledOf("a", 1), sampledOf("b", 2));
      const runs = [1, 2]
        .map(() => machine(context, service.url, database))
        .map(async (place, at) => {
          if (at > 0) await holds[0]?.came;
          return await place.log([place.write("a.jsonl", content), ...oneEach]);
        });
      await holds[1]?.came;
      for (const { letGo } of holds) letGo();
      for (const { code, document } of await Promise.all(runs))
        expect([code, document?.warnings.map(({ rule }) => rule)]).toEqual([0, ["split-requests"]]);
      expect(service.logged.toSorted()).toEqual([1, 2]);
    });

    it("refuses groups that a machine with another account logged, unless its own account has them", async (context) => {
      const service = await faultyService(context);
      const database = await newLedger();
      const log = async (account: string, ...args: readonly string[]) => {
        const place = placeAt(context, service.url, { ROLLCALL_LEDGER: database, ROLLCALL_ACCOUNT: account });
        const { code, document, error } = await place.log([place.write("a.jsonl", many(2)), ...args]);
        const problems = error?.problems ?? document?.warnings ?? [];
        return [code, problems.some(({ rule }) => rule === "logged-before")];
      };
      expect(await log("work")).toEqual([0, false]);
      expect(await log("ci")).toEqual([3, true]);
      expect(await log("ci", "--resend-logged")).toEqual([0, true]);
      expect(await log("ci")).toEqual([0, true]);
      expect(service.logged).toEqual([0, 1, 0, 1]);
    });

    it("begins a ledger only with --new-ledger, and records each run", async (context) => {
      const service = await faultyService(context);
      const database = await newDatabase();
      const place = machine(context, service.url, database);
      const log = async (...args: readonly string[]) => await place.log([place.write("a.jsonl", many(2)), ...args]);
      const missing = await log();
      expect([missing.code, missing.error?.message]).toEqual([
        11,
        expect.stringMatching(/: the database "tests_.*" has no schema "rollcall" with a ledger; nothing was sent$/),
      ]);
      expect(missing.error?.hint).toContain("--new-ledger (rollcall then logs all groups again)");
      expect((await log("--new-ledger")).code).toBe(0);
      const columns = "host || username || version AS text, started < clock_timestamp() AS has_time";
      expect(await ask(database, `SELECT ${columns} FROM rollcall.run`)).toEqual([
        { text: expect.stringMatching(/\d\.\d+\.\d+$/), has_time: true },
      ]);
      await ask(database, "DELETE FROM rollcall.request");
      expect((await log()).error?.message).toContain("is damaged");
      await ask(database, "DROP SCHEMA rollcall CASCADE");
      expect([(await log()).code, service.logged]).toEqual([11, [0, 1]]);
    });

    it("takes a password from ROLLCALL_LEDGER or a file, but not from --ledger", async (context) => {
      const service = await faultyService(context);
      const address = await makeLedger(await newDatabase("guarded"), "secret");
      const wrong = placeAt(context, service.url, { ROLLCALL_LEDGER: withPassword(address, "wrong-secret") });
      const file = wrong.write("a.jsonl", many(1));
      const refused = await wrong.log([file]);
      expect([refused.code, refused.error?.code, service.requests()]).toEqual([4, "auth", 0]);
      expect(refused.stderr).not.toContain("wrong-secret");
      const typed = await wrong.log([file, "--ledger", withPassword(address, "typed-secret")]);
      expect([typed.code, typed.stderr.includes("typed-secret")]).toEqual([2, false]);
      const named = wrong.write("address", `${withPassword(address, "secret")}\n`);
      const right = placeAt(context, service.url, { ROLLCALL_LEDGER_FILE: named });
      const logged = await right.log([right.write("a.jsonl", many(3))]);
      expect([logged.code, logged.document?.ledger?.path]).toEqual([0, address]);
    });
  });

  describe.concurrent("while the database is unavailable", () => {
    /** Starts a run of three requests, and stops its database while the first request is in flight. */
    const runWithStoppedDatabase = async (context: TestContext, maxWait: string) => {
      const hold = holdRequest();
      const service = await faultyService(context);
      service.next(hold.deed);
      const own = await startOwnServer(context);
      await makeLedger(own.address);
      const place = placeAt(context, service.url, { ROLLCALL_LEDGER: own.address }).inFolder();
      const run = startLog(place, [place.write("a.jsonl", many(3)), ...oneEach, "--max-wait", maxWait]);
      await hold.came;
      own.stopNow();
      hold.letGo();
      return { service, own, place, run };
    };

    it("sends nothing, and continues if the database is available again within --max-wait", async (context) => {
      const { service, own, run } = await runWithStoppedDatabase(context, "60s");
      // The run ends if the database starts after its lease.
      await pause(500);
      const before = service.logged.length;
      own.start();
      const { code, document } = await run.ended;
      expect([before, code, document?.groups.logged, service.logged.toSorted()]).toEqual([1, 0, 3, [0, 1, 2]]);
    });

    it("makes ledger commands wait until the database has restarted", async (context) => {
      const own = await startOwnServer(context);
      const place = placeAt(context, "http://127.0.0.1:1", { ROLLCALL_LEDGER: await makeLedger(own.address) });
      own.stopNow();
      const status = place.run(["ledger", "status", "--json"]);
      await pause(500);
      own.start();
      expect((await status).code).toBe(0);
    });

    it("leaves the request in flight unknown after --max-wait, and a later run logs the rest", async (context) => {
      const { service, own, place, run } = await runWithStoppedDatabase(context, "2s");
      const ended = await run.ended;
      expect([ended.code, ended.document?.groups, service.logged.length]).toMatchObject([
        8,
        { unknown: 1, not_sent: 2 },
        1,
      ]);
      const away = await place.log(["a.jsonl", ...oneEach, "--max-wait", "1s"]);
      expect([away.code, away.error?.code, away.error?.retryable]).toEqual([5, "unavailable", true]);
      const told = await place.run(["log", "m", "a.jsonl", "--split", "train", "--max-wait", "1s"]);
      expect(told.stderr).toContain("the ledger database is unavailable");
      own.start();
      await pause(overMs);
      const { code, document } = await place.log(["a.jsonl", ...oneEach]);
      expect([code, document?.groups]).toMatchObject([8, { unknown: 1, logged: 2 }]);
    });
  });
});

describe.skipIf(!hasPostgres)("the access to PostgreSQL", { tags: "database" }, () => {
  it("is encrypted with sslmode=require, and fails if the server's certificate is not trusted", async (context) => {
    const service = await faultyService(context);
    const own = certificate();
    const { address } = await startOwnServer(context, { certificate: own });
    const env = { ROLLCALL_LEDGER: `${address}?sslmode=require` };
    const stranger = placeAt(context, service.url, env);
    const refused = await stranger.log([stranger.write("a.jsonl", many(1))]);
    expect([refused.code, refused.error?.code, service.requests()]).toEqual([11, "storage", 0]);
    expect(refused.error?.hint).toContain("NODE_EXTRA_CA_CERTS");
    const known = placeAt(context, service.url, { ...env, NODE_EXTRA_CA_CERTS: stranger.write("ca.pem", own.cert) });
    expect((await known.log([known.write("a.jsonl", many(1)), "--new-ledger"])).code).toBe(0);
    const plain = placeAt(context, service.url, { ROLLCALL_LEDGER: `${await newLedger()}?sslmode=require` });
    const without = await plain.log([plain.write("a.jsonl", many(1))]);
    expect([without.code, without.error?.hint?.includes("sslmode=disable")]).toEqual([2, true]);
  });
});
