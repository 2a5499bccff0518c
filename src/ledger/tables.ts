/** The tables of the ledger. Only PostgreSQL has runs with leases, and claims of groups. */
import type { DatabaseSchema } from "../database/index.ts";

/** Each change of the tables raises the version. */
export const ledgerPart: DatabaseSchema = {
  name: "ledger",
  title: "the ledger",
  file: {
    // "rcLG"
    applicationId: 0x72634c47,
    version: 1,
    tables: [
      `CREATE TABLE scope (
         id INTEGER PRIMARY KEY, destination TEXT NOT NULL, account TEXT NOT NULL, model TEXT NOT NULL,
         split TEXT NOT NULL, batch TEXT NOT NULL, has_batch INTEGER NOT NULL,
         UNIQUE (destination, account, model, split, batch, has_batch))`,
      `CREATE TABLE request (
         id INTEGER PRIMARY KEY AUTOINCREMENT, scope INTEGER NOT NULL REFERENCES scope (id), state TEXT NOT NULL,
         input TEXT NOT NULL, groups INTEGER NOT NULL, bytes INTEGER NOT NULL, key TEXT NOT NULL,
         first_tried INTEGER NOT NULL, last_tried INTEGER NOT NULL, attempts INTEGER NOT NULL,
         status INTEGER, cause TEXT, calls TEXT NOT NULL, marks BLOB NOT NULL, frame TEXT NOT NULL)`,
      "CREATE INDEX request_scope ON request (scope, id)",
      `CREATE TABLE address (
         destination TEXT NOT NULL, account TEXT NOT NULL, max_bytes INTEGER, refused_bytes INTEGER, refused_at INTEGER,
         echoes_key INTEGER NOT NULL, PRIMARY KEY (destination, account))`,
      "CREATE TABLE written (path TEXT PRIMARY KEY, digest TEXT NOT NULL)",
    ],
  },
  server: {
    version: 1,
    tables: [
      `CREATE TABLE rollcall.scope (
         id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY, destination TEXT NOT NULL, account TEXT NOT NULL,
         model TEXT NOT NULL, split TEXT NOT NULL, batch TEXT NOT NULL, has_batch BIGINT NOT NULL,
         UNIQUE (destination, account, model, split, batch, has_batch))`,
      `CREATE TABLE rollcall.run (
         id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY, lease_until TIMESTAMPTZ NOT NULL,
         has_ended BOOLEAN NOT NULL DEFAULT false)`,
      "CREATE INDEX run_open ON rollcall.run (lease_until) WHERE NOT has_ended",
      `CREATE TABLE rollcall.request (
         id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY, scope BIGINT NOT NULL REFERENCES rollcall.scope (id),
         run BIGINT NOT NULL REFERENCES rollcall.run (id), token TEXT NOT NULL UNIQUE, generation TEXT NOT NULL,
         state TEXT NOT NULL, input TEXT NOT NULL, groups BIGINT NOT NULL, bytes BIGINT NOT NULL, key TEXT NOT NULL,
         first_tried BIGINT NOT NULL, last_tried BIGINT NOT NULL, attempts BIGINT NOT NULL, status BIGINT, cause TEXT,
         calls TEXT NOT NULL, marks BYTEA NOT NULL, frame TEXT NOT NULL,
         changed TIMESTAMPTZ NOT NULL DEFAULT clock_timestamp())`,
      "CREATE INDEX request_scope ON rollcall.request (scope, id)",
      "CREATE INDEX request_changed ON rollcall.request (changed)",
      "CREATE INDEX request_run ON rollcall.request (run) WHERE state IN ('trying', 'not_sent', 'refused')",
      `CREATE TABLE rollcall.mark (
         scope BIGINT NOT NULL, generation TEXT NOT NULL, mark BYTEA NOT NULL, request BIGINT NOT NULL,
         PRIMARY KEY (scope, generation, mark))`,
      "CREATE INDEX mark_request ON rollcall.mark (request)",
      `CREATE TABLE rollcall.address (
         destination TEXT NOT NULL, account TEXT NOT NULL, max_bytes BIGINT, refused_bytes BIGINT, refused_at BIGINT,
         echoes_key BIGINT NOT NULL, PRIMARY KEY (destination, account))`,
      "CREATE TABLE rollcall.written (path TEXT PRIMARY KEY, digest TEXT NOT NULL)",
    ],
  },
};
