import { mkdirSync, mkdtempSync, readFileSync, statSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { type Database, type DatabaseOptions, openDatabase, tryLock } from "../../src/database/index.ts";
import { Failure } from "../../src/failure.ts";

const newPath = (): string => join(mkdtempSync(join(tmpdir(), "database-")), "folder", "own.db");

const options = (path: string, more: Partial<DatabaseOptions> = {}): DatabaseOptions => ({
  path,
  title: "the notes",
  applicationId: 0x726f6c6c,
  version: 1,
  tables: ["CREATE TABLE notes (id INTEGER PRIMARY KEY, text TEXT, bytes BLOB) STRICT"],
  ...more,
});

const addNote = (database: Database, text: string): void =>
  database.transaction(() => void database.prepare("INSERT INTO notes (text) VALUES (?)").run(text));

const notes = (database: Database): readonly string[] =>
  database
    .prepare("SELECT text FROM notes ORDER BY id")
    .all()
    .map((row) => row.text("text"));

/** Returns the failure that `work` ends with. */
const failureOf = (work: () => unknown): Failure => {
  try {
    work();
  } catch (thrown) {
    if (thrown instanceof Failure) return thrown;
    throw thrown;
  }
  throw new Error("it did not fail");
};

describe("a database with explicit checkpoints", () => {
  it("writes to its log at once, and to its file on request", () => {
    const path = newPath();
    const database = openDatabase(options(path, { checkpoints: "asked for" }));
    const sizeOf = (file: string) => statSync(file).size;
    const before = sizeOf(path);
    for (let note = 0; note < 12; note++) addNote(database, "x".repeat(500_000));
    expect(sizeOf(path)).toBe(before);
    expect(sizeOf(`${path}-wal`)).toBeGreaterThan(5_000_000);
    // Another connection reads all of it, as after a crash.
    const other = openDatabase(options(path));
    expect(notes(other)).toHaveLength(12);
    other.close();
    database.checkpoint();
    expect(sizeOf(path)).toBeGreaterThan(5_000_000);
    expect(notes(database)).toHaveLength(12);
    database.close();
  });
});

describe("a new database", () => {
  it("has mode 0600, in a folder of mode 0700", () => {
    const path = newPath();
    addNote(openDatabase(options(path)), "one");
    expect(statSync(path).mode & 0o777).toBe(0o600);
    expect(statSync(`${path}-wal`).mode & 0o777).toBe(0o600);
    expect(statSync(join(path, "..")).mode & 0o777).toBe(0o700);
  });

  it("has its application id, its version and safe settings", () => {
    const path = newPath();
    const database = openDatabase(options(path));
    expect(database.prepare("PRAGMA application_id").get()?.integer("application_id")).toBe(0x726f6c6c);
    expect(database.prepare("PRAGMA user_version").get()?.integer("user_version")).toBe(1);
    expect(database.prepare("PRAGMA journal_mode").get()?.text("journal_mode")).toBe("wal");
    expect(database.prepare("PRAGMA synchronous").get()?.integer("synchronous")).toBe(2);
  });

  it("replaces an empty file", () => {
    const path = newPath();
    mkdirSync(join(path, ".."));
    writeFileSync(path, "");
    expect(notes(openDatabase(options(path)))).toEqual([]);
  });
});

describe("an open database", () => {
  it("returns rows by the names of their columns", () => {
    const database = openDatabase(options(newPath()));
    const add = database.prepare("INSERT INTO notes (text, bytes) VALUES (?, ?)");
    expect(add.run("a", Buffer.from([1, 0, 255]))).toEqual({ changes: 1, rowId: 1 });
    expect(add.run("b", null)).toEqual({ changes: 1, rowId: 2 });
    const row = database.prepare("SELECT * FROM notes WHERE id = ?").get(1);
    expect([row?.integer("id"), row?.text("text"), [...(row?.bytes("bytes") ?? [])]]).toEqual([1, "a", [1, 0, 255]]);
    const [first, second] = database.prepare("SELECT * FROM notes ORDER BY id").all();
    expect([...(first?.bytes("bytes") ?? [])]).toEqual([1, 0, 255]);
    expect([first?.isNull("bytes"), second?.isNull("bytes")]).toEqual([false, true]);
    expect(database.prepare("SELECT * FROM notes WHERE id = ?").get(9)).toBeUndefined();
  });

  it("reports a column of another type as damage", () => {
    const database = openDatabase(options(newPath()));
    addNote(database, "a");
    const row = database.prepare("SELECT * FROM notes").get();
    expect(failureOf(() => row?.integer("text")).reason).toBe("database-corrupt");
    expect(failureOf(() => row?.text("nothing")).reason).toBe("database-corrupt");
  });

  it("undoes a transaction that throws, and continues", () => {
    const database = openDatabase(options(newPath()));
    const stop = new Error("stop");
    expect(() =>
      database.transaction(() => {
        database.prepare("INSERT INTO notes (text) VALUES ('lost')").run();
        throw stop;
      }),
    ).toThrow(stop);
    addNote(database, "kept");
    expect(notes(database)).toEqual(["kept"]);
  });

  it("shows the writes of another connection", () => {
    const path = newPath();
    const [one, other] = [openDatabase(options(path)), openDatabase(options(path))];
    addNote(one, "a");
    addNote(other, "b");
    expect(notes(one)).toEqual(["a", "b"]);
  });

  it("keeps its rows when it is opened again", () => {
    const path = newPath();
    const before = openDatabase(options(path));
    addNote(before, "a");
    before.close();
    expect(notes(openDatabase(options(path)))).toEqual(["a"]);
  });
});

describe("opening an unusable file", () => {
  it.each([
    ["newer", { version: 2 }, 2],
    ["older", { version: 0 }, 0],
    ["of an early table layout", { tables: ["CREATE TABLE notes (id INTEGER PRIMARY KEY) STRICT"] }, 0],
  ] as const)("fails, and leaves it unchanged, if it is %s", (_, other, version) => {
    const path = newPath();
    openDatabase(options(path, other)).close();
    const before = readFileSync(path);
    const failure = failureOf(() => openDatabase(options(path)));
    expect(failure).toMatchObject({
      reason: "database-version",
      data: { path, title: "the notes", version, expected: 1 },
    });
    expect(failure.about.where).toEqual({ file: path });
    expect(readFileSync(path).equals(before)).toBe(true);
  });

  it("fails, and leaves it unchanged, if another program wrote it", () => {
    const path = newPath();
    openDatabase(options(path, { applicationId: 7 })).close();
    const before = readFileSync(path);
    expect(failureOf(() => openDatabase(options(path))).reason).toBe("database-foreign");
    expect(readFileSync(path).equals(before)).toBe(true);
  });

  it("fails, and leaves it unchanged, if it is not a database", () => {
    const path = newPath();
    mkdirSync(join(path, ".."));
    writeFileSync(path, "dear diary, ".repeat(1000));
    expect(failureOf(() => openDatabase(options(path))).reason).toBe("database-foreign");
    expect(readFileSync(path, "utf8")).toBe("dear diary, ".repeat(1000));
  });

  it("fails if it is cut, and never starts a new one", () => {
    const path = newPath();
    const database = openDatabase(options(path));
    const add = database.prepare("INSERT INTO notes (text) VALUES (?)");
    database.transaction(() => {
      for (let at = 0; at < 200; at++) add.run(`${at} `.repeat(500));
    });
    database.prepare("PRAGMA wal_checkpoint(TRUNCATE)").get();
    database.close();
    truncateSync(path, statSync(path).size / 2);
    const read = () => notes(openDatabase(options(path)));
    expect(failureOf(read).reason).toBe("database-corrupt");
    expect(failureOf(read).reason).toBe("database-corrupt");
  });

  it("ignores a second close of a database, and a second release of its lock", () => {
    const path = newPath();
    const database = openDatabase(options(path));
    database.close();
    database.close();
    const file = { path: `${path}.lock`, title: "a lock" };
    const first = tryLock(file);
    first?.release();
    const second = tryLock(file);
    first?.release();
    expect([second?.isHeld(), tryLock(file)]).toEqual([true, undefined]);
    second?.release();
  });

  it("fails if a file is in place of its folder", () => {
    const folder = mkdtempSync(join(tmpdir(), "database-"));
    writeFileSync(join(folder, "file"), "");
    const path = join(folder, "file", "own.db");
    expect(failureOf(() => openDatabase(options(path)))).toMatchObject({
      reason: "folder-unusable",
      data: { path, code: "ENOTDIR" },
    });
  });

  it("fails if it is a folder", () => {
    const path = newPath();
    mkdirSync(path, { recursive: true });
    expect(failureOf(() => openDatabase(options(path)))).toMatchObject({
      reason: "folder-unusable",
      data: { code: "EISDIR" },
    });
  });
});

describe("a write that fails", () => {
  it("can be retried if another connection holds the lock", () => {
    const path = newPath();
    const holder = openDatabase(options(path));
    const other = openDatabase(options(path, { lockTimeoutMs: 50 }));
    const failure = holder.transaction(() => failureOf(() => addNote(other, "never")));
    expect(failure.reason).toBe("database-locked");
    expect(failure.retryable).toBe(true);
    addNote(other, "now");
    expect(notes(holder)).toEqual(["now"]);
  });

  it("leaves nothing behind if the disk is full, and says so", () => {
    const path = newPath();
    const database = openDatabase(options(path));
    addNote(database, "kept");
    database.prepare("PRAGMA max_page_count = 20").get();
    expect(failureOf(() => addNote(database, "x".repeat(1_000_000))).reason).toBe("disk-full");
    addNote(database, "still");
    expect(notes(database)).toEqual(["kept", "still"]);
  });
});
