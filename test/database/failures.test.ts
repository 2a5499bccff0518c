import { describe, expect, it } from "vitest";
import * as failures from "../../src/database/failures.ts";
import { ledgerFile } from "../../src/logging/ledger/failures.ts";

const notes = { path: "a.db", noun: "notes", moveWith: "--notes" };
const ledger = { path: "b.db", ...ledgerFile };
const server = { ...ledger, path: "postgres://db/own" };
const ofNotes = (code: string) => failures.folderUnusable({ ...notes, code });
const ofServer = (code: string) => failures.databaseRefused({ ...server, code });
const unavailable = (waitedMs: number, code = "ECONNREFUSED") =>
  failures.databaseUnavailable({ ...server, code, waitedMs });

/** Each has its message and its hint in a row of `texts`. */
const made = [
  ...[failures.databaseLinked(notes, 2), failures.databaseLocked(notes)],
  ...[failures.databaseCorrupt(ledger), failures.packageMissing({ ...ledger, code: "E" }, undefined)],
  ...[failures.databaseForeign(notes), failures.databaseForeign(server)],
  ...[
    failures.databaseVersion(notes, 4, 3),
    failures.databaseVersion(notes, 2, 3),
    failures.databaseVersion(server, 2, 3),
  ],
  ...[unavailable(999), unavailable(1000), failures.databaseRefused({ ...notes, path: server.path, code: "28000" })],
  ...["28P01", "42501", "25006", "CERT_HAS_EXPIRED", "22012"].map(ofServer),
  ...["08P01", "42P01", "53100"].map(ofServer),
  ...[unavailable(1000, "53300"), failures.databaseCorrupt(server)],
  ...["EACCES", "ENOENT", "SQLITE_READONLY_DIRECTORY"].map(ofNotes),
];

const texts = `
storage database-linked a.db | the notes a.db has 2 names (hard links), but must have one | remove the other names (\`find / -xdev -samefile a.db\` lists them)
storage database-locked a.db | the notes a.db is locked by another process | wait until the other process ends, then run the same command again
storage database-corrupt b.db | the ledger b.db is damaged | restore a backup (a rerun then logs again what the backup does not contain), or move the file away (\`mv b.db b.db.damaged\`) to start a new ledger (a rerun then logs all groups again)
storage package-missing b.db | cannot load libsql, which rollcall needs for the ledger (E) | reinstall rollcall on this machine, as the README describes
storage database-foreign a.db | a.db is not a rollcall notes: another program wrote it | move the file away, or choose another location with --notes
storage database-foreign - | postgres://db/own is not a rollcall ledger: another program wrote it | choose another database, because another program owns the schema \`rollcall\` in this database
storage database-version a.db | the notes a.db has version 4, but this rollcall expects version 3 | update rollcall, or use the version of rollcall that wrote the notes
storage database-version a.db | the notes a.db has version 2, but this rollcall expects version 3 | use the version of rollcall that wrote the notes, or move the file away (\`mv a.db a.db.old\`) to start a new notes
storage database-version - | the ledger postgres://db/own has version 2, but this rollcall expects version 3 | use the version of rollcall that wrote the ledger, or start a new ledger in another database with --new-ledger (a rerun then logs all groups again)
unavailable database-unavailable - | cannot reach the ledger postgres://db/own: connection refused | run the same command again, or wait longer with --max-wait
unavailable database-unavailable - | cannot reach the ledger postgres://db/own (tried for 1 s): connection refused | run the same command again, or wait longer with --max-wait
auth database-refused - | the server accepts no such connection to the notes postgres://db/own (28000) | omit sslmode=disable if the server requires TLS, or allow this user and machine in its pg_hba.conf
auth database-refused - | authentication failed for the ledger postgres://db/own (28P01) | check the password in ROLLCALL_LEDGER or PGPASSWORD
auth database-refused - | the database user cannot create or write the tables of the ledger postgres://db/own (42501) | grant the database user the rights to create the schema \`rollcall\` and to write its tables
storage database-failed - | cannot use the ledger postgres://db/own: it is read-only (25006) | use the URL of the server that accepts writes
storage database-failed - | cannot use the ledger postgres://db/own: CERT_HAS_EXPIRED | if the server has its own CA, set NODE_EXTRA_CA_CERTS=<file.pem>
storage database-failed - | cannot use the ledger postgres://db/own: 22012 | check the log of the database server, then run the same command again
storage database-failed - | cannot use the ledger postgres://db/own: the pooler or server refuses transactions (08P01) | use the URL of the server, or set pool_mode of the pooler to transaction or session
storage database-failed - | cannot use the ledger postgres://db/own: its tables are incomplete (42P01) | restore a backup (a rerun then logs again what the backup does not contain), or start a new ledger in another database with --new-ledger (a rerun then logs all groups again)
storage database-failed - | cannot use the ledger postgres://db/own: the disk of the server is full (53100) | free disk space on the database server, then run the same command again
unavailable database-unavailable - | cannot use the ledger postgres://db/own (tried for 1 s): the server has too many connections (53300) | raise max_connections, or connect through a pooler, or run the same command again, or wait longer with --max-wait
storage database-corrupt - | the ledger postgres://db/own is damaged | restore a backup (a rerun then logs again what the backup does not contain), or start a new ledger in another database with --new-ledger (a rerun then logs all groups again)
storage folder-unusable a.db | cannot create the notes at a.db: permission denied | make the folder writable, or choose another location with --notes
storage folder-unusable a.db | cannot create the notes at a.db: its folder does not exist | choose another location with --notes
storage folder-unusable a.db | cannot write the notes at a.db: SQLITE_READONLY_DIRECTORY | make the file and its folder writable, or choose another location with --notes`;

describe("the failure of a database", () => {
  it("says what happened and what to do, for a file or a server", () => {
    const said = made.map(({ code, kind, message, details: { where, hint } }) =>
      [`${code} ${kind} ${where?.file ?? "-"}`, message, hint].join(" | "),
    );
    expect(said).toEqual(texts.trim().split("\n"));
  });
});
