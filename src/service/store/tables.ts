/** The tables of the store: those of a file are those of PostgreSQL. */
import type { DatabasePart } from "../../database/index.ts";

/** @param identity makes an identity; @param modelName a key of a model in an index */
const tables = ({ identity, modelName }: { readonly identity: string; readonly modelName: string }): string[] => [
  "CREATE TABLE rollcall.store (id TEXT NOT NULL)",
  `INSERT INTO rollcall.store (id) VALUES (${identity})`,
  `CREATE TABLE rollcall.logged (
     id BYTEA PRIMARY KEY, first_ms BIGINT NOT NULL, project TEXT NOT NULL, key TEXT, digest BYTEA, model TEXT NOT NULL,
     split TEXT NOT NULL, metrics TEXT NOT NULL, rest TEXT NOT NULL, logged_at BIGINT NOT NULL, calls BIGINT NOT NULL,
     UNIQUE (project, key))`,
  "CREATE UNIQUE INDEX logged_end ON rollcall.logged (substring(id, 9))",
  "CREATE INDEX logged_project ON rollcall.logged (project, id)",
  `CREATE TABLE rollcall.logged_group (
     logged BYTEA, position BIGINT, rest TEXT NOT NULL, PRIMARY KEY (logged, position))`,
  // The pieces of a request's body, and after them the pieces with the places of its calls.
  `CREATE TABLE rollcall.logged_body (
     logged BYTEA, piece BIGINT, bytes BYTEA NOT NULL, PRIMARY KEY (logged, piece))`,
  `CREATE TABLE rollcall.logged_model (
     id TEXT NOT NULL, project TEXT NOT NULL, owner TEXT NOT NULL, created BIGINT NOT NULL)`,
  `CREATE UNIQUE INDEX logged_model_once ON rollcall.logged_model (${modelName}, project)`,
  `CREATE TABLE rollcall.access_key (
     name TEXT PRIMARY KEY, digest BYTEA NOT NULL UNIQUE, projects TEXT NOT NULL, uses TEXT NOT NULL,
     created BIGINT NOT NULL, revoked BIGINT)`,
];

/** The store as a part of a database. Each change of its tables raises the version. */
export const storePart: DatabasePart = {
  name: "store",
  title: "the store of the local service",
  file: {
    // "rcls"
    applicationId: 0x72636c73,
    version: 2,
    tables: tables({ identity: "lower(hex(randomblob(16)))", modelName: "id" }),
    checkpoints: "after answers",
  },
  server: {
    version: 1,
    tables: [
      // A name may be longer than a key of an index.
      ...tables({ identity: "replace(gen_random_uuid()::text, '-', '')", modelName: "md5(id)" }),
      // A part of a value that is not compressed is read without the rest.
      "ALTER TABLE rollcall.logged_body ALTER COLUMN bytes SET STORAGE EXTERNAL",
    ],
    // Those that write, and those that read meanwhile.
    connections: 8,
  },
};
