/** The statements that rollcall sends to PostgreSQL. The server is part of the test, so no database is needed. */
import { createServer, type Socket } from "node:net";
import { describe, expect, it, onTestFinished } from "vitest";
import type { DatabaseOptions, DatabaseSchema } from "../../src/database/database.ts";
import { openDatabase } from "../../src/database/sqlite.ts";
import { openLedger } from "../../src/logging/ledger/ledger.ts";
import { testHost } from "../support/host.ts";
import { listenOnLoopback } from "../support/server.ts";

/** The columns of one row, an error's code, or `cut` for a connection that ends. */
type Answer = Readonly<Record<string, string | number>> | "none" | "cut" | `error ${string}`;

const message = (type: string, ...parts: readonly (string | Buffer)[]) => {
  const body = Buffer.concat(parts.map((part) => Buffer.from(part)));
  const head = Buffer.alloc(5, type);
  head.writeInt32BE(body.length + 4, 1);
  return Buffer.concat([head, body]);
};
const int = (value: number, bytes: 2 | 4) => {
  const buffer = Buffer.alloc(bytes);
  buffer.writeIntBE(value, 0, bytes);
  return buffer;
};
const [bigintType, textType] = [20, 25];

const encodeAnswer = (answer: Exclude<Answer, "cut">) => {
  if (typeof answer === "string" && answer !== "none")
    return [message("E", `SERROR\0C${answer.slice("error ".length)}\0Mno\0\0`)];
  const columns = Object.entries(answer === "none" ? {} : answer);
  const described = columns.flatMap(([name, value]) => {
    const type = int(typeof value === "number" ? bigintType : textType, 4);
    return [`${name}\0`, int(0, 4), int(0, 2), type, int(8, 2), int(-1, 4), int(0, 2)];
  });
  const values = columns.flatMap(([, value]) => [int(String(value).length, 4), String(value)]);
  const row = answer === "none" ? [] : [message("D", int(columns.length, 2), ...values)];
  return [message("T", int(columns.length, 2), ...described), ...row, message("C", "SELECT 1\0")];
};

/** Accepts the password `right` only if `isGuarded`. `sent` has each statement, with its values after `|`. */
const openServer = async (answers: (sql: string) => Answer, isGuarded = false) => {
  const sent: string[] = [];
  const passwords: string[] = [];
  const asked: string[] = [];
  const sockets: Socket[] = [];
  const server = createServer((socket) => {
    sockets.push(socket.on("error", () => undefined));
    let [rest, isStarted, sql, values] = [Buffer.alloc(0), false, "", [""]];
    const ready = message("Z", "I");
    const accepted = [message("R", int(0, 4)), ready];
    const answer = (before: readonly Buffer[]) => {
      sent.push(values.length > 0 ? `${sql} | ${values.join()}` : sql);
      const found = answers(sql);
      if (found === "cut") socket.destroy();
      else socket.write(Buffer.concat([...before, ...encodeAnswer(found), ready]));
    };
    const take = (type: string, body: Buffer) => {
      const text = (from = 0) => body.toString("utf8", from, body.indexOf(0, from));
      if (type === "p") {
        passwords.push(text());
        socket.write(Buffer.concat(text() === "right" ? accepted : [message("E", "SFATAL\0C28P01\0Mno\0\0")]));
      }
      if (type === "Q") [sql, values] = [text(), []];
      if (type === "Q") answer([]);
      if (type === "P") sql = text(body.indexOf(0) + 1);
      if (type === "B") values = body.toString("latin1").match(/[\w ]*[a-z][\w ]*/g) ?? [];
      if (type === "S") answer([message("1"), message("2")]);
    };
    socket.on("data", (piece) => {
      rest = Buffer.concat([rest, piece]);
      for (let at = isStarted ? 1 : 0; rest.length >= at + 4; at = 1) {
        const end = at + rest.readInt32BE(at);
        if (rest.length < end) return;
        const isTlsWanted = !isStarted && rest.readInt32BE(4) === 80_877_103;
        if (isTlsWanted) return void socket.end("N");
        if (isStarted) take(rest.toString("latin1", 0, 1), rest.subarray(5, end));
        else {
          const [, user, , name] = rest.toString("utf8", 8).split("\0");
          asked.push(`${user} ${name}`);
          socket.write(Buffer.concat(isGuarded ? [message("R", int(3, 4))] : accepted));
        }
        [rest, isStarted] = [rest.subarray(end), true];
      }
    });
  });
  const { port } = await listenOnLoopback(server);
  return { path: `postgres://me@127.0.0.1:${port}/own`, sent, passwords, asked, connections: () => sockets.length };
};

const schema: DatabaseSchema = {
  ...{ file: { noun: "notes", moveWith: "--notes" }, applicationId: 1, version: 7, tables: [] },
  postgres: { tables: ["CREATE TABLE rollcall.notes ()", "CREATE TABLE rollcall.more ()"] },
};

const existing = { relations: 3, columns: 2, number: 7 };

/** Opens the database of a server that answers its first statements with `existing`. */
const openAt = async (path: string, more: Partial<DatabaseOptions> = {}) => {
  const waits: number[] = [];
  const codes: string[] = [];
  let now = 0;
  const sleep = async (ms: number) => {
    waits.push(ms);
    now += ms;
  };
  const host = { ...testHost(), elapsed: () => now, sleep, random: () => 1 };
  const waiting = { host, maxWaitMs: 20_000, onUnavailable: (code: string) => codes.push(code) };
  const opened = await openDatabase(schema, { ...waiting, path, canCreate: true, ...more });
  onTestFinished(async () => await opened?.database.close());
  return { opened, database: opened?.database, waits, codes };
};

describe("the tables in PostgreSQL", () => {
  it.each<[found: Answer, version: Answer, isNew: boolean]>([
    [existing, existing, false],
    [{ relations: 0, columns: 0 }, existing, true],
    [existing, "none", true],
  ])("are made if the schema has none, or has no version of the ledger (row %$)", async (found, version, isNew) => {
    const { path, sent } = await openServer((sql) => (sql.startsWith("SELECT number") ? version : found));
    expect((await openAt(path)).opened).toMatchObject({ before: isNew ? undefined : 7, isCopy: false });
    const made = sent.find((sql) => sql.includes("CREATE SCHEMA IF NOT EXISTS rollcall")) ?? "";
    const statements = ["(part, number) VALUES ('ledger', 7)", `${schema.postgres.tables.join(";\n")};`];
    expect(statements.map((sql) => made.includes(sql))).toEqual([isNew, isNew]);
  });

  it("are not made for a run that must not create them", async () => {
    const { path, sent } = await openServer(() => ({ relations: 0 }));
    expect((await openAt(path, { canCreate: false })).opened).toBe(undefined);
    expect(sent).toHaveLength(1);
  });

  it.each<[found: Record<string, number>, kind: string, hint: RegExp]>([
    [{ ...existing, number: 8 }, "database-version", /^update rollcall, or use the version of rollcall that wrote/],
    [
      { ...existing, number: 6 },
      "database-version",
      /^use the version of .* notes, or start a new notes in another database with --new-ledger$/,
    ],
    [{ ...existing, columns: 1 }, "database-foreign", /^choose another database, because another program owns/],
  ])("are refused if they have another version or owner (row %$)", async (found, kind, hint) => {
    const { path } = await openServer(() => found);
    await expect(openAt(path)).rejects.toMatchObject({ kind, details: { hint: expect.stringMatching(hint) } });
  });
});

describe("a ledger in PostgreSQL", () => {
  const deadRuns = "UPDATE rollcall.run SET has_ended = true WHERE NOT has_ended";
  const open = async (error?: string, isForReading = false) => {
    const { path, sent } = await openServer((sql) => {
      if (error !== undefined && sql.startsWith(deadRuns)) return `error ${error}`;
      if (sql.startsWith("SELECT state")) return { state: "unknown", requests: 2, groups: 5 };
      return { ...existing, number: 4, now: 5000, runs: 4 };
    });
    let now = 100;
    const host = { ...testHost(), elapsed: () => now++ };
    const waiting = { host, maxWaitMs: 0, onUnavailable: () => undefined };
    const ledger = await openLedger({ path }, { ...waiting, canCreate: true, isForReading });
    onTestFinished(async () => await ledger?.close());
    now = 200;
    return { ledger, sent };
  };

  it("makes the requests of dead runs unknown when a run opens it, and has the database's time", async () => {
    const { ledger, sent } = await open();
    expect(sent.filter((sql) => sql.startsWith(deadRuns) || sql.includes("cause = 'died'"))).toHaveLength(2);
    expect(ledger?.now?.()).toBeGreaterThan(5090);
  });

  it("can be read, but not written, by a user that may only read", async () => {
    for (const code of ["25006", "42501"]) expect((await open(code, true)).ledger?.isShared).toBe(true);
    await expect(open("25006", false)).rejects.toMatchObject({ kind: "database-failed" });
    await expect(open("42501", false)).rejects.toMatchObject({ kind: "database-refused" });
    await expect(open("22012", true)).rejects.toMatchObject({ kind: "database-failed" });
  });
});

describe("a statement for PostgreSQL", () => {
  it("has numbered values, and returns rows", async () => {
    const { path, sent } = await openServer((sql) => (sql.includes("$") ? { id: 12, text: "a" } : existing));
    const { database } = await openAt(path);
    const [row, ...others] = (await database?.query("SELECT ? AS a, ? AS b", ["one", "two"])) ?? [];
    expect([row?.integer("id"), row?.text("text"), others]).toEqual([12, "a", []]);
    expect([database?.isShared, database?.isFileInPlace()]).toEqual([true, true]);
    expect(sent.at(-1)).toBe("SELECT $1 AS a, $2 AS b | one,two");
  });

  it("is part of a transaction, which ends as the caller decides, or with its connection after an error", async () => {
    const { path, sent, connections } = await openServer((sql) => (sql === "bad" ? "error 42601" : existing));
    const { database } = await openAt(path);
    const transact = async (second: string, shouldCommit?: () => boolean) => {
      sent.length = 0;
      await database?.transact([{ sql: "good" }, { sql: second }], shouldCommit).catch(() => undefined);
      return sent.map((sql) => sql.replace(/^BEGIN ISOLATION LEVEL READ COMMITTED; .*'15s'$/, "BEGIN"));
    };
    expect(await transact("also")).toEqual(["BEGIN", "good", "also", "COMMIT"]);
    expect(await transact("also", () => false)).toEqual(["BEGIN", "good", "also", "ROLLBACK"]);
    expect(connections()).toBe(1);
    expect(await transact("bad")).toEqual(["BEGIN", "good", "bad"]);
    expect(await transact("also")).toHaveLength(4);
    expect(connections()).toBe(2);
  });

  it.each<[failing: Answer, times: number, waits: readonly number[], codes: readonly string[]]>([
    ["error 40001", 2, [200, 400], []],
    ["error 40P01", 1, [200], []],
    ["error 57P01", 7, [200, 400, 800, 1600, 3200, 5000, 5000], ["57P01"]],
    ["error 08006", 1, [200], ["08006"]],
    ["cut", 1, [200], ["ECONNRESET"]],
    ["error 42601", 1, [], []],
  ])(
    "is repeated after a conflict or while the server is unavailable (row %$)",
    async (failing, times, waits, codes) => {
      let left = times;
      const { path, sent } = await openServer((sql) => (sql === "note" && left-- > 0 ? failing : existing));
      const opened = await openAt(path);
      const rows = await opened.database?.query("note").catch(() => undefined);
      expect([opened.waits, opened.codes, rows?.length]).toEqual([waits, codes, waits.length > 0 ? 1 : undefined]);
      expect(sent.filter((sql) => sql === "note")).toHaveLength(waits.length + 1);
    },
  );
});

describe("opening a database that PostgreSQL refuses", () => {
  it.each([
    [
      "53300",
      "unavailable",
      "database-unavailable",
      "the server has too many connections (53300)",
      "raise max_connections, or connect through a pooler",
    ],
    [
      "57P03",
      "unavailable",
      "database-unavailable",
      "(tried for 2 s): the server is starting or stopping (57P03)",
      "run the same command again",
    ],
    ["3D000", "storage", "database-missing", "does not exist", "create the database"],
    ["28P01", "auth", "database-refused", "authentication failed for", "check the password in"],
    [
      "42501",
      "auth",
      "database-refused",
      "cannot create or write the tables",
      "grant the database user the rights to create",
    ],
    ["25006", "storage", "database-failed", "it is read-only", "use the URL of the server that accepts writes"],
  ])("fails with the attempts and the advice for the code %s", async (sqlState, code, kind, message, hint) => {
    const { path, sent } = await openServer(() => `error ${sqlState}`);
    const codes: string[] = [];
    const opening = openAt(path, { maxWaitMs: 2000, onUnavailable: (found) => codes.push(found) });
    const details = { hint: expect.stringMatching(new RegExp(`^${hint}`)) };
    await expect(opening).rejects.toMatchObject({ code, kind, message: expect.stringContaining(message), details });
    expect([sent.length, codes]).toEqual(code === "unavailable" ? [5, [sqlState]] : [1, []]);
  });

  it("asks for TLS, the user and the database of the URL, or for the database of the user", async () => {
    const { path, asked } = await openServer(() => existing);
    const named = path.replace("me@", "m%40e@").replace("/own", "/o%2Fwn");
    for (const url of [path, named, path.replace("/own", "?sslmode=disable")]) await openAt(url);
    expect(asked).toEqual(["me own", "m@e o/wn", "me me"]);
    const hint = "use sslmode=disable if the server has no TLS";
    const withTls = openAt(`${path}?sslmode=require`);
    await expect(withTls).rejects.toMatchObject({ code: "usage", kind: "invalid-database-url", details: { hint } });
  });
});

describe("the password of PostgreSQL", () => {
  it.each<[given: string | undefined, tried: readonly string[], kind: string | undefined]>([
    ["right", ["right"], undefined],
    [undefined, [""], "database-refused"],
    ["wrong", ["wrong"], "database-refused"],
  ])("is tried once (row %$)", async (given, tried, kind) => {
    const { path, passwords } = await openServer(() => existing, true);
    const opening = openAt(path, { password: given });
    if (kind) await expect(opening).rejects.toMatchObject({ code: "auth", kind });
    else expect((await opening).opened?.before).toBe(7);
    expect(passwords).toEqual(tried);
  });
});
