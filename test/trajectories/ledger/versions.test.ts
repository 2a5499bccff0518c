import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Connection from "libsql";
import pg from "pg";
import { describe, expect, it } from "vitest";
import { hasLibsql, startLibsql } from "../../../bench/libsql-server.js";
import { bringUp, type DatabaseServer, libsqlDoor, postgresDoor } from "../../../src/database/index.ts";
import type { Entry } from "../../../src/trajectories/ledger/entries.ts";
import { openLedger } from "../../../src/trajectories/ledger/ledger.ts";
import { hasPostgres, postgresForFile } from "../../support/postgres.ts";
import { runRollcall } from "../../support/run.ts";
import { usualDelivery } from "../inputs.ts";

const postgres = postgresForFile();

/** What each version of a ledger's file was made by, as it was released: never what the program has of it now. */
const released = [
  `CREATE TABLE scope (
     id INTEGER PRIMARY KEY, destination TEXT NOT NULL, account TEXT NOT NULL, model TEXT NOT NULL,
     split TEXT NOT NULL, batch TEXT NOT NULL, has_batch INTEGER NOT NULL,
     UNIQUE (destination, account, model, split, batch, has_batch));
   CREATE TABLE request (
     id INTEGER PRIMARY KEY AUTOINCREMENT, scope INTEGER NOT NULL REFERENCES scope (id), state TEXT NOT NULL,
     input TEXT NOT NULL, groups INTEGER NOT NULL, bytes INTEGER NOT NULL, key TEXT NOT NULL,
     first_tried INTEGER NOT NULL, last_tried INTEGER NOT NULL, attempts INTEGER NOT NULL,
     status INTEGER, cause TEXT, calls TEXT NOT NULL, marks BLOB NOT NULL);
   CREATE INDEX request_scope ON request (scope, id);
   CREATE TABLE address (
     destination TEXT NOT NULL, account TEXT NOT NULL, max_bytes INTEGER, echoes_key INTEGER NOT NULL,
     PRIMARY KEY (destination, account));
   CREATE TABLE written (path TEXT PRIMARY KEY, digest TEXT NOT NULL);`,
  "ALTER TABLE request ADD COLUMN frame TEXT;",
  `ALTER TABLE address ADD COLUMN refused_bytes INTEGER;
   ALTER TABLE address ADD COLUMN refused_at INTEGER;
   UPDATE address SET max_bytes = NULL;`,
];

const rows = `
  INSERT INTO scope VALUES (1, 'https://service.example/log', 'a', 'm', 'train', 'step-1', 1);
  INSERT INTO request (scope, state, input, groups, bytes, key, first_tried, last_tried, attempts, status, calls, marks)
    VALUES (1, 'logged', 'a.jsonl', 1, 10, 'k', 1, 2, 1, 200, '["c1"]', x'000102030405060708090a0b0c0d0e0f');
  INSERT INTO address (destination, account, max_bytes, echoes_key) VALUES ('https://service.example/log', 'a', 77, 1);
  INSERT INTO written VALUES ('/data/a.rejected', 'd');`;

describe("a ledger's file of an earlier version", () => {
  it.each([1, 2, 3])("%i is brought to this one, with all that it holds", async (version) => {
    const folder = mkdtempSync(join(tmpdir(), "versions-"));
    const path = join(folder, "ledger.db");
    const old = new Connection(path);
    for (const sql of [...released.slice(0, version), rows]) old.exec(sql);
    old.exec(`PRAGMA application_id = ${0x72634c47}; PRAGMA user_version = ${version}`);
    old.close();
    const ledger = await openLedger({ path }, { ...usualDelivery(), make: true });
    if (ledger === undefined) throw new Error("it is not opened");
    const entries: Entry[] = [];
    for await (const entry of ledger.entries({})) entries.push(entry);
    const scope = {
      destination: "https://service.example/log",
      account: "a",
      model: "m",
      split: "train",
      batch: "step-1",
    };
    expect(entries).toMatchObject([{ id: "r1", state: "logged", scope, calls: ["c1"], frame: null, status: 200 }]);
    const passed = version === 3 ? 77 : undefined;
    expect((await ledger.scope(scope)).address).toEqual({ sizes: { passed, refused: undefined }, echoesKey: true });
    expect(await ledger.written.digest("/data/a.rejected")).toBe("d");
    expect(ledger.created).toBe(false);
    await ledger.close();
    rmSync(folder, { recursive: true });
  });
});

/** Databases at addresses, and what asks them past the ledger. */
const servers = [
  {
    name: "PostgreSQL",
    isThere: hasPostgres,
    open: async () => {
      const path = postgres.newDatabase();
      return { path, server: (await postgresDoor()).openPostgres(optionsOf(path)), stop: async () => undefined };
    },
  },
  {
    name: "a libSQL server",
    isThere: hasLibsql,
    open: async () => {
      const { address, stop } = await startLibsql();
      return { path: address, server: (await libsqlDoor()).openLibsql(optionsOf(address)), stop };
    },
  },
];

const optionsOf = (path: string) => ({ path, title: "the ledger", password: undefined, ...usualDelivery() });

const numbersIn = async (server: DatabaseServer): Promise<readonly string[]> =>
  (await server.ask(`SELECT part, number FROM ${server.versions.name} ORDER BY part, number`)).map(
    (row) => `${row.text("part")} ${row.integer("number")}`,
  );

describe.for(servers)("tables in $name", ({ isThere, open }) => {
  it("are brought up in one transaction, and are left as they were where a step fails", async ({ skip }) => {
    skip(!isThere, "it is not installed");
    const { path, server, stop } = await open();
    const part = { path, title: "notes", part: "notes", migrations: [["CREATE TABLE notes (id BIGINT)"]] };
    expect(await bringUp(server, part)).toBe(0);
    const broken = {
      ...part,
      migrations: [...part.migrations, ["CREATE TABLE more (id BIGINT)", "INSERT INTO nowhere VALUES (1)"]],
    };
    await expect(bringUp(server, broken)).rejects.toMatchObject({ reason: "database-failed" });
    expect(await numbersIn(server)).toEqual(["notes 1"]);
    const mended = { ...part, migrations: [...part.migrations, ["CREATE TABLE more (id BIGINT)"]] };
    expect([await bringUp(server, mended), await bringUp(server, mended)]).toEqual([1, 2]);
    expect(await numbersIn(server)).toEqual(["notes 1", "notes 2"]);
    await expect(bringUp(server, part)).rejects.toMatchObject({
      reason: "database-newer",
      data: { version: 2, newest: 1 },
    });
    await server.close();
    await stop();
  });

  it("say what is in them to doctor", async ({ skip }) => {
    skip(!isThere, "it is not installed");
    const { path, server, stop } = await open();
    await server.close();
    const ledger = await openLedger({ path }, { ...usualDelivery(), make: true });
    const scope = { destination: "https://service.example/log", account: "a", model: "m", split: "train", batch: null };
    await ledger?.hold(scope, usualDelivery());
    const own = await ledger?.scope(scope);
    await own?.begin({
      marks: Buffer.alloc(32, 1).fill(2, 16),
      key: "",
      input: "a",
      bytes: 1,
      frame: "",
      now: 0,
      generation: "",
      trajectories: 1,
    });
    const { stdout } = await runRollcall(["doctor", "--json", "--local"], { env: { ROLLCALL_LEDGER: path } });
    const found = (JSON.parse(stdout).findings as readonly { check: string }[]).filter(
      ({ check }) => check === "ledger",
    );
    expect(found).toMatchObject([
      {
        status: "ok",
        message: `${path} answers: 2 groups trying; a run writes it now`,
        facts: { counts: { trying: { requests: 1, groups: 2 } } },
      },
    ]);
    await ledger?.close();
    await stop();
  });
});

describe.skipIf(!hasPostgres)("a database that takes no writes", () => {
  it("can be looked at, and is no broken disk", async () => {
    const path = postgres.newDatabase();
    await (await openLedger({ path }, { ...usualDelivery(), make: true }))?.close();
    const client = new pg.Client(path);
    await client.connect();
    await client.query(`ALTER DATABASE ${new URL(path).pathname.slice(1)} SET default_transaction_read_only = on`);
    await client.end();
    const env = { ROLLCALL_LEDGER: path };
    expect((await runRollcall(["ledger", "status"], { env })).code).toBe(0);
    const { code, stderr } = await runRollcall(["ledger", "resolve", "r1", "--resend", "--local"], { env });
    expect([code, stderr.includes("disk"), stderr.includes("it takes no writes (25006)")]).toEqual([11, false, true]);
  });
});
