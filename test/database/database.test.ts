import { mkdirSync, mkdtempSync, readFileSync, statSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Connection from "libsql";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import type { Database, DatabaseSchema, FileSchema, Row } from "../../src/database/database.ts";
import { toFileFailure, tryLock, waitForLock } from "../../src/database/own-file.ts";
import { openDatabase } from "../../src/database/sqlite.ts";
import { Failure } from "../../src/failure.ts";
import { openHost } from "../../src/system/host.ts";
import { testHost } from "../support/host.ts";
import { hasPostgres, newDatabase, startOwnServer } from "../support/postgres.ts";

const newPath = (): string => join(mkdtempSync(join(tmpdir(), "database-")), "folder", "own.db");

const part = (file: Partial<FileSchema> = {}): DatabaseSchema => ({
  file: { noun: "notes", moveWith: "--notes" },
  applicationId: 0x726f6c6c,
  version: 1,
  tables: ["CREATE TABLE rollcall.notes (id INTEGER PRIMARY KEY, text TEXT, bytes BLOB)"],
  ...file,
  postgres: {
    tables: [
      "CREATE TABLE rollcall.notes (id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY, text TEXT, bytes BYTEA)",
    ],
  },
});

const { elapsed, sleep, random } = openHost(process);

const openNotes = async (path: string, file: Partial<FileSchema> = {}, maxWaitMs = 30_000, wait = sleep) => {
  const waiting = { host: { ...testHost(), elapsed, sleep: wait, random }, maxWaitMs, onUnavailable: () => undefined };
  return await openDatabase(part(file), { ...waiting, path, canCreate: true });
};

const open = async (...options: Parameters<typeof openNotes>): Promise<Database> => {
  const opened = await openNotes(...options);
  if (opened === undefined) throw new Error("it was not made");
  return opened.database;
};

const addNote = async (database: Database, text: string): Promise<void> =>
  void (await database.transact([{ sql: "INSERT INTO rollcall.notes (text) VALUES (?)", values: [text] }]));

const notes = async (database: Database): Promise<readonly string[]> =>
  (await database.query("SELECT text FROM rollcall.notes ORDER BY id")).map((row) => row.text("text"));

const failureOf = async (work: () => unknown): Promise<Failure> => {
  try {
    await work();
  } catch (thrown) {
    if (thrown instanceof Failure) return thrown;
    throw thrown;
  }
  throw new Error("it did not fail");
};

describe("a new database in a file", () => {
  it("has mode 0600, in a folder of mode 0700", async () => {
    const path = newPath();
    await addNote(await open(path), "one");
    expect(statSync(path).mode & 0o777).toBe(0o600);
    expect(statSync(`${path}-journal`).mode & 0o777).toBe(0o600);
    expect(statSync(join(path, "..")).mode & 0o777).toBe(0o700);
  });

  it("has its application id, its version and safe settings", async () => {
    const database = await open(newPath());
    const pragma = async (name: string) => (await database.query(`PRAGMA ${name}`))[0];
    expect((await pragma("application_id"))?.integer("application_id")).toBe(0x726f6c6c);
    expect((await pragma("user_version"))?.integer("user_version")).toBe(1);
    expect((await pragma("journal_mode"))?.text("journal_mode")).toBe("truncate");
    expect((await pragma("synchronous"))?.integer("synchronous")).toBe(2);
  });

  it("replaces an empty file", async () => {
    const path = newPath();
    mkdirSync(join(path, ".."));
    writeFileSync(path, "", { mode: 0o644 });
    expect(await notes(await open(path))).toEqual([]);
    expect(statSync(path).mode & 0o777).toBe(0o600);
  });

  describe("in which another process creates tables after this one found none", () => {
    /** Opens a database. Before the first write, another connection creates a table and marks the file. */
    const openBehind = async (applicationId: number, version: number) => {
      const path = newPath();
      const { exec } = Connection.prototype;
      const spy = vi.spyOn(Connection.prototype, "exec").mockImplementation(function (this: unknown, sql) {
        if (sql.includes("BEGIN IMMEDIATE")) {
          spy.mockRestore();
          const other = new Connection(path);
          other.exec("CREATE TABLE notes (id INTEGER PRIMARY KEY, text TEXT); INSERT INTO notes (text) VALUES ('one')");
          other.exec(`PRAGMA application_id = ${applicationId}; PRAGMA user_version = ${version}`);
          other.close();
        }
        return exec.call(this, sql);
      });
      onTestFinished(() => spy.mockRestore());
      return await openNotes(path);
    };

    it("has those tables, and is not new", async () => {
      const opened = await openBehind(part().applicationId, 1);
      expect([opened?.before, opened && (await notes(opened.database))]).toEqual([1, ["one"]]);
      expect((await openNotes(newPath()))?.before).toBe(undefined);
    });

    it.each([
      ["has another version", part().applicationId, 2, "database-version"],
      ["is another program", 7, 1, "database-foreign"],
      ["marks no owner", 0, 0, "database-foreign"],
    ])("fails if that process %s", async (_, applicationId, version, kind) => {
      expect((await failureOf(async () => await openBehind(applicationId, version))).kind).toBe(kind);
    });
  });
});

const bodies: readonly {
  readonly body: string;
  readonly newPlace: () => Promise<string>;
  readonly skip: boolean;
  readonly tags: "database" | [];
}[] = [
  { body: "a file", newPlace: async () => newPath(), skip: false, tags: [] },
  { body: "PostgreSQL", newPlace: async () => await newDatabase(), skip: !hasPostgres, tags: "database" },
];

for (const { body, newPlace, skip, tags } of bodies)
  describe.skipIf(skip)(`an open database in ${body}`, { tags }, () => {
    const openNew = async (): Promise<Database> => {
      const database = await open(await newPlace());
      onTestFinished(async () => await database.close());
      return database;
    };

    it("returns rows by the names of their columns", async () => {
      const database = await openNew();
      const sql = "INSERT INTO rollcall.notes (text, bytes) VALUES (?, ?) RETURNING id";
      const [[one], [other]] = [
        await database.query(sql, ["a", Buffer.from([1, 0, 255])]),
        await database.query(sql, ["b", null]),
      ];
      expect([one?.integer("id"), other?.integer("id")]).toEqual([1, 2]);
      const [first, second] = await database.query("SELECT * FROM rollcall.notes ORDER BY id");
      expect([first?.integer("id"), first?.text("text"), [...(first?.bytes("bytes") ?? [])]]).toEqual([
        1,
        "a",
        [1, 0, 255],
      ]);
      expect([first?.isNull("bytes"), second?.isNull("bytes")]).toEqual([false, true]);
      expect(await database.query("SELECT * FROM rollcall.notes WHERE id = ?", [9])).toEqual([]);
    });

    it("reports a column of another type as damage", async () => {
      const database = await openNew();
      await addNote(database, "a");
      const [row] = await database.query("SELECT * FROM rollcall.notes");
      expect((await failureOf(() => row?.integer("text"))).kind).toBe("database-corrupt");
      expect((await failureOf(() => row?.text("nothing"))).kind).toBe("database-corrupt");
    });

    it("undoes all statements of a transaction in which one fails, and continues", async () => {
      const database = await openNew();
      const lost = { sql: "INSERT INTO rollcall.notes (text) VALUES ('lost')" };
      const wrong = { sql: "INSERT INTO rollcall.nothing (text) VALUES ('wrong')" };
      expect((await failureOf(async () => await database.transact([lost, wrong]))).code).toBe("storage");
      await addNote(database, "kept");
      expect(await notes(database)).toEqual(["kept"]);
    });

    it("keeps a transaction only if the caller commits it", async () => {
      const database = await openNew();
      const add = (text: string) => ({
        sql: "INSERT INTO rollcall.notes (text) VALUES (?) RETURNING text",
        values: [text],
      });
      const isFirst = ([first]: readonly (readonly Row[])[], text: string) => first?.[0]?.text("text") === text;
      await database.transact([add("a"), add("b")], (answers) => isFirst(answers, "b"));
      expect(await notes(database)).toEqual([]);
      await database.transact([add("c"), add("d")], (answers) => isFirst(answers, "c"));
      expect(await notes(database)).toEqual(["c", "d"]);
    });

    it("returns the rows of each statement of a transaction", async () => {
      const database = await openNew();
      const added = { sql: "INSERT INTO rollcall.notes (text) VALUES (?) RETURNING text", values: ["a"] };
      const answers = await database.transact([added, { sql: "SELECT text FROM rollcall.notes" }]);
      expect(answers.map((rows) => rows.map((row) => row.text("text")))).toEqual([["a"], ["a"]]);
    });

    it("returns the rows that another connection wrote, and keeps rows that were read before", async () => {
      const path = await newPlace();
      const [one, other] = [await open(path), await open(path)];
      await addNote(one, "a");
      await addNote(other, "b");
      expect(await notes(one)).toEqual(["a", "b"]);
      await Promise.all([one.close(), other.close()]);
      const again = await open(path);
      expect(await notes(again)).toEqual(["a", "b"]);
      await again.close();
    });
  });

describe("a closed database", () => {
  it("ignores a second close, and its lock ignores a second release", async () => {
    const path = newPath();
    const database = await open(path);
    await database.close();
    await database.close();
    const file = { path: `${path}.lock`, noun: "lock", moveWith: "--lock" };
    const first = await tryLock(file);
    first?.release();
    const second = await tryLock(file);
    first?.release();
    expect([second?.isHeld(), await tryLock(file)]).toEqual([true, undefined]);
    second?.release();
  });
});

describe("opening an unusable file", () => {
  const versionMessage = (version: number) =>
    expect.stringContaining(` has version ${version}, but this rollcall expects version 1`);
  it.each<[what: string, content: Partial<FileSchema> | string, failure: object]>([
    ["it is newer", { version: 2 }, { kind: "database-version", message: versionMessage(2) }],
    ["it is older", { version: 0 }, { kind: "database-version", message: versionMessage(0) }],
    ["another program wrote it", { applicationId: 7 }, { kind: "database-foreign" }],
    ["it is not a database", "dear diary, ".repeat(1000), { kind: "database-foreign" }],
  ])("fails, and leaves it unchanged, if %s", async (_, content, expected) => {
    const path = newPath();
    mkdirSync(join(path, ".."), { mode: 0o700 });
    if (typeof content === "string") writeFileSync(path, content);
    else await (await open(path, content)).close();
    const before = readFileSync(path);
    const failure = await failureOf(async () => await open(path));
    expect(failure).toMatchObject({ ...expected, details: { where: { file: path } } });
    expect(readFileSync(path).equals(before)).toBe(true);
  });

  it("fails if it is cut, and creates no new database", async () => {
    const path = newPath();
    const database = await open(path);
    for (let at = 0; at < 20; at++) await addNote(database, `${at} `.repeat(5000));
    await database.close();
    truncateSync(path, statSync(path).size / 2);
    const read = async () => await notes(await open(path));
    expect((await failureOf(read)).kind).toBe("database-corrupt");
    expect((await failureOf(read)).kind).toBe("database-corrupt");
  });
});

describe.skipIf(!hasPostgres)("a new database in PostgreSQL", { tags: "database" }, () => {
  it("gets its tables once, without an error in the log, if many open it at once", async (context) => {
    const { address, folder } = await startOwnServer(context);
    const databases = await Promise.all(Array.from({ length: 8 }, async () => await open(address)));
    await Promise.all(databases.map(async (database) => await addNote(database, "one")));
    expect(await Promise.all(databases.map(notes))).toEqual(
      databases.map(() => Array.from({ length: 8 }, () => "one")),
    );
    await Promise.all(databases.map(async (database) => await database.close()));
    expect(readFileSync(join(folder, "log"), "utf8")).not.toContain("ERROR");
  });
});

describe("a lock that another holder has", () => {
  it("is taken when the holder releases it, after one notice about the wait", async () => {
    const file = { path: `${newPath()}.lock`, noun: "lock", moveWith: "--lock" };
    const holder = await tryLock(file);
    let [elapsed, told] = [0, 0];
    const host = {
      ...testHost(),
      elapsed: () => elapsed,
      random: () => 0.25,
      sleep: async (ms: number) => {
        elapsed += ms;
        if (elapsed > 500) holder?.release();
      },
    };
    const lock = await waitForLock({ ...file, host, maxWaitMs: 1000, onWait: () => told++ });
    expect([lock?.isHeld(), told, elapsed]).toEqual([true, 1, 525]);
    lock?.release();
  });
});

describe("a write that fails", () => {
  it("can be retried if another connection holds the lock", async () => {
    const path = newPath();
    await (await open(path)).close();
    const holder = new Connection(path);
    holder.exec("BEGIN IMMEDIATE");
    const other = await open(path, {}, 50);
    const failure = await failureOf(async () => await addNote(other, "never"));
    expect(failure.kind).toBe("database-locked");
    expect(failure.retryable).toBe(true);
    holder.exec("COMMIT");
    await addNote(other, "now");
    expect(await notes(other)).toEqual(["now"]);
    holder.close();
  });

  it("waits for the lock of another connection", async () => {
    const path = newPath();
    // A second wait would fail, because it has no transaction to end.
    const other = await open(path, {}, 30_000, async () => void holder.exec("COMMIT"));
    const holder = new Connection(path);
    holder.exec("BEGIN IMMEDIATE");
    await addNote(other, "later");
    expect(await notes(other)).toEqual(["later"]);
    holder.close();
  });

  it.each([
    ["database-locked", "wait until the other process ends", "SQLITE_BUSY SQLITE_BUSY_SNAPSHOT SQLITE_LOCKED"],
    [
      "database-corrupt",
      "restore a backup, or move the file away (`mv a.db a.db.damaged`) to start a new notes",
      "SQLITE_CORRUPT SQLITE_ERROR",
    ],
    ["database-foreign", "move the file away, or choose another location", "SQLITE_NOTADB"],
    ["disk-full", "free disk space", "SQLITE_FULL ENOSPC EDQUOT"],
    ["folder-unusable", "make the folder writable, or", "SQLITE_CANTOPEN SQLITE_PERM EACCES EROFS"],
    ["folder-unusable", "make the file and its folder writable, or", "SQLITE_READONLY SQLITE_READONLY_DIRECTORY"],
    ["folder-unusable", "choose another location", "EISDIR ENOTDIR EEXIST ENOENT not-a-file"],
    ["database-failed", "check the disk", "SQLITE_IOERR SQLITE_READONLY_DBMOVED UNKNOWN_SQLITE_NOMEM"],
  ])("is a failure %s that advises to %s, for %s", (kind, hint, codes) => {
    for (const code of codes.split(" ")) {
      const failure = toFileFailure(Object.assign(new Error(), { code }), {
        path: "a.db",
        noun: "notes",
        moveWith: "--notes",
      });
      const { details } = failure instanceof Failure ? failure : new Failure("internal", "none", "");
      expect([code, failure, details.hint?.slice(0, hint.length)]).toMatchObject([code, { kind }, hint]);
    }
  });

  it("leaves no row if the disk is full, and fails with the reason", async () => {
    const database = await open(newPath());
    await addNote(database, "kept");
    await database.query("PRAGMA max_page_count = 20");
    const failure = await failureOf(async () => await addNote(database, "x".repeat(1_000_000)));
    const hint = expect.stringMatching(/^free disk space, or move the \w+ elsewhere and name it with /);
    expect(failure).toMatchObject({ kind: "disk-full", details: { hint } });
    await addNote(database, "still");
    expect(await notes(database)).toEqual(["kept", "still"]);
  });
});
