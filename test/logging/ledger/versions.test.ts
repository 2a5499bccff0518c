/** Versions of ledgers and stores. A new one has the current version. rollcall upgrades ledgers of version 3. */
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Connection from "libsql";
import pg from "pg";
import { describe, expect, it } from "vitest";
import { openLedger } from "../../../src/logging/ledger/ledger.ts";
import { openPlace, three } from "../../promises/place.ts";
import { usualDelivery } from "../../support/inputs.ts";
import { ask, hasPostgres, newDatabase, newLedger } from "../../support/postgres.ts";
import { newHome, runRollcall } from "../../support/run.ts";

/** Runs a command that opens a ledger or a store. Returns its exit code, and its message on one line. */
const opened = async (kind: "ledger" | "store", place: string) => {
  const args = kind === "ledger" ? ["ledger", "status", "--ledger", place] : ["models", "--local"];
  const env = { ...newHome(), ...(kind === "store" ? { ROLLCALL_STORE: place } : {}) };
  const { code, stderr } = await runRollcall(args, { env });
  return { code, said: stderr.replaceAll(/\s+/g, " ") };
};

/** The kinds of databases, with application id, version and a table in a file of SQLite. */
const kinds = [
  {
    kind: "ledger",
    title: "the ledger",
    id: 0x72634c47,
    current: 4,
    table: "CREATE TABLE request (id INTEGER PRIMARY KEY AUTOINCREMENT, state TEXT NOT NULL, marks BLOB NOT NULL)",
  },
  {
    kind: "store",
    title: "the store of the local service",
    id: 0x72636c73,
    current: 3,
    table: "CREATE TABLE requests (id INTEGER PRIMARY KEY, key TEXT UNIQUE, last_call INTEGER) STRICT",
  },
] as const;

const newFile = (): string => join(mkdtempSync(join(tmpdir(), "versions-")), "my own.db");

const fileWith = (sql: string): string => {
  const path = newFile();
  const database = new Connection(path);
  database.exec(sql);
  database.close();
  return path;
};

describe.for(kinds)("a $kind in a file", ({ kind, title, id, current, table }) => {
  it("has the current version, also in an empty file", async () => {
    const path = newFile();
    writeFileSync(path, "");
    const log = ["log", "m", "test/samples/airline.groups.jsonl", "--split", "train", "--local"];
    const places = kind === "ledger" ? ["--ledger", path] : [];
    const env = { ...newHome(), ...(kind === "store" ? { ROLLCALL_STORE: path } : {}) };
    expect((await runRollcall([...log, ...places], { env })).code).toBe(0);
    const database = new Connection(path);
    expect(database.prepare("PRAGMA user_version").get()).toMatchObject({ user_version: current });
    database.close();
    expect((await opened(kind, path)).code).toBe(0);
  });

  it.for([
    ["a newer version", current + 1],
    ["an older version", 2],
  ] as const)("is refused as %s with both numbers, and with a fix for an older version", async ([, version]) => {
    const path = fileWith(`${table}; PRAGMA application_id = ${id}; PRAGMA user_version = ${version}`);
    const before = readFileSync(path);
    const { code, said } = await opened(kind, path);
    expect(code).toBe(11);
    expect(said).toContain(`${title} ${path} has version ${version}, but this rollcall expects version ${current}`);
    expect(readFileSync(path).equals(before)).toBe(true);
    expect(said.includes("a rerun then logs all groups again")).toBe(kind === "ledger" && version < current);
    const [, fix] = /move the file away \(`(mv .*?)`\)/.exec(said) ?? [];
    if (fix !== undefined) execFileSync("sh", ["-c", fix]);
    expect((await opened(kind, path)).code).toBe(version < current ? 0 : 11);
  });
});

describe("a folder at the path of a file", () => {
  it.for([
    ["the store of the local service", "models --local", "--store of `rollcall serve` or ROLLCALL_STORE"],
    ["the lock of the settings", "config set split train", "ROLLCALL_CONFIG_DIR"],
  ] as const)("is refused for %s, with the options of another location", async ([file, words, options]) => {
    const home = newHome();
    const store = `${home.HOME}/store`;
    for (const folder of [store, `${home.XDG_CONFIG_HOME}/rollcall/settings.lock`])
      mkdirSync(folder, { recursive: true, mode: 0o700 });
    const { code, stderr } = await runRollcall(words.split(" "), { env: { ...home, ROLLCALL_STORE: store } });
    expect(code).toBe(11);
    expect(stderr).toContain(`cannot create ${file} at `);
    expect(stderr).toContain(`choose another location with ${options}\n`);
  });
});

describe.skipIf(!hasPostgres)("a ledger in PostgreSQL", { tags: "database" }, () => {
  const made = async (): Promise<string> => {
    const path = await newDatabase();
    await (await openLedger({ path }, { ...usualDelivery(), canCreate: true }))?.close();
    return path;
  };

  it("starts at version 4, also in an empty schema", async () => {
    for (const path of [await made(), await newDatabase()]) {
      await ask(path, "CREATE SCHEMA IF NOT EXISTS rollcall");
      await (await openLedger({ path }, { ...usualDelivery(), canCreate: true }))?.close();
      expect(await ask(path, "SELECT part, number::int FROM rollcall.version")).toEqual([
        { part: "ledger", number: 4 },
      ]);
      expect((await opened("ledger", path)).code).toBe(0);
    }
  });
});

/** What version 4 has, and version 3 lacks. */
const downgrades = [
  ...["sampled", "checksum"].map((column) => `ALTER TABLE rollcall.request DROP COLUMN ${column}`),
  'UPDATE rollcall.request SET calls = \'["c1","c2"]\'',
];

describe.for<[place: string, isSkipped: boolean, tags: "database" | []]>([
  ["a file", false, []],
  ["PostgreSQL", !hasPostgres, "database"],
])("a ledger of version 3 in %s", ([name, isSkipped, tags]) => {
  it.skipIf(isSkipped)("is upgraded once, with a note, and skips its groups", { tags }, async (context) => {
    const isFile = name === "a file";
    const path = isFile ? newFile() : await newLedger();
    const { place, service } = await openPlace(context, {}, { ROLLCALL_LEDGER: path });
    const log = async () => await place.run(["log", "m", "--split", "train", place.write("a.jsonl", three)]);
    expect((await log()).code).toBe(0);
    if (isFile) {
      const database = new Connection(path);
      database.exec(`${downgrades.join(";").replaceAll("rollcall.", "")}; PRAGMA user_version = 3`);
      database.close();
    } else {
      const columns = ["host", "username", "version", "started"].map((column) => `DROP COLUMN ${column}`).join();
      await ask(path, `ALTER TABLE rollcall.run ${columns}; UPDATE rollcall.version SET number = 3`);
      for (const sql of downgrades) await ask(path, sql);
    }
    const note = `note: upgraded the ledger ${path}, so older versions of rollcall refuse it`;
    for (const isNoted of [true, false]) {
      const { stdout, stderr } = await log();
      expect([stdout.includes("already_logged\t3\n"), stderr.includes(note)]).toEqual([true, isNoted]);
    }
    expect(service.logged).toEqual([1, 2, 3]);
    expect(await place.entries()).toMatchObject([{ state: "logged", calls: 2 }]);
  });
});

describe.skipIf(!hasPostgres)("a read-only database", { tags: "database" }, () => {
  it("can be read by `ledger status`, and gives exit 11 with the reason for `ledger resolve`", async () => {
    const path = await newDatabase();
    await (await openLedger({ path }, { ...usualDelivery(), canCreate: true }))?.close();
    const client = new pg.Client(path);
    await client.connect();
    await client.query(`ALTER DATABASE "${new URL(path).pathname.slice(1)}" SET default_transaction_read_only = on`);
    await client.end();
    const env = { ROLLCALL_LEDGER: path };
    expect((await runRollcall(["ledger", "status"], { env })).code).toBe(0);
    const { code, stderr } = await runRollcall(["ledger", "resolve", "r1", "--resend", "--local"], { env });
    expect([code, stderr.includes("disk"), stderr.includes("it is read-only (25006)")]).toEqual([11, false, true]);
  });
});
