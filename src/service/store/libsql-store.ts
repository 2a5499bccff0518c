/** The store on a libSQL server: its tables, and how it takes a body that is too long for one transaction. */
import { libsqlDoor } from "../../database/index.ts";
import type { StoreKind } from "./shared-tables.ts";

/** What was changed by each version, in its order. */
const migrations = [
  [
    "CREATE TABLE rollcall_store (id TEXT NOT NULL)",
    "INSERT INTO rollcall_store (id) VALUES (lower(hex(randomblob(16))))",
    `CREATE TABLE rollcall_logged (
       id BLOB PRIMARY KEY, first_ms INTEGER NOT NULL, project TEXT NOT NULL, key TEXT, digest BLOB, model TEXT NOT NULL,
       split TEXT NOT NULL, metrics TEXT NOT NULL, rest TEXT NOT NULL, logged_at INTEGER NOT NULL, calls INTEGER NOT NULL,
       UNIQUE (project, key))`,
    "CREATE UNIQUE INDEX rollcall_logged_end ON rollcall_logged (substring(id, 9))",
    "CREATE INDEX rollcall_logged_project ON rollcall_logged (project, id)",
    `CREATE TABLE rollcall_logged_group (
       logged BLOB NOT NULL, position INTEGER NOT NULL, rest TEXT NOT NULL, PRIMARY KEY (logged, position))`,
    `CREATE TABLE rollcall_logged_body (
       logged BLOB NOT NULL, piece INTEGER NOT NULL, bytes BLOB NOT NULL, PRIMARY KEY (logged, piece))`,
    `CREATE TABLE rollcall_logged_model (
       id TEXT NOT NULL, project TEXT NOT NULL, owner TEXT NOT NULL, created INTEGER NOT NULL, PRIMARY KEY (id, project))`,
    `CREATE TABLE rollcall_access_key (
       name TEXT PRIMARY KEY, digest BLOB NOT NULL UNIQUE, projects TEXT NOT NULL, uses TEXT NOT NULL,
       created INTEGER NOT NULL, revoked INTEGER)`,
    // Requests whose pieces come before them.
    "CREATE TABLE rollcall_coming (logged BLOB PRIMARY KEY, since INTEGER NOT NULL)",
  ],
];

/** Longer than any request is on its way: what came of it until then has no request, and goes. */
const leftBehind = "since < unixepoch() - 3600";

export const libsqlStore: StoreKind = {
  open: async (options) => (await libsqlDoor()).openLibsql(options),
  tables: {
    prefix: "rollcall_",
    migrations,
    owner: "substring(project, 1, instr(project || '/', '/') - 1)",
    // The server writes one at a time, and of those that wait for their turn each keeps a processor busy.
    mostWriting: 1,
    mostBytesTogether: 4 * 2 ** 20,
    ahead: {
      begin: (id) => [
        {
          sql: `DELETE FROM rollcall_logged_body WHERE logged IN (SELECT logged FROM rollcall_coming WHERE ${leftBehind})`,
        },
        { sql: `DELETE FROM rollcall_coming WHERE ${leftBehind}` },
        {
          sql: "INSERT INTO rollcall_coming (logged, since) VALUES (?, unixepoch()) ON CONFLICT DO NOTHING",
          values: [id],
        },
      ],
      end: (id) => [
        // No row may be without its moment: where the pieces went meanwhile, all that follows fails with this.
        {
          sql: `INSERT INTO rollcall_coming (logged, since) SELECT ?1, NULL
            WHERE NOT EXISTS (SELECT 1 FROM rollcall_coming WHERE logged = ?1)
              AND NOT EXISTS (SELECT 1 FROM rollcall_logged WHERE id = ?1)`,
          values: [id],
        },
        { sql: "DELETE FROM rollcall_coming WHERE logged = ?", values: [id] },
      ],
    },
  },
};
