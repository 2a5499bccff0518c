/** The store in a PostgreSQL database: its tables. */
import { postgresDoor } from "../../database/index.ts";
import { firstOfPlaces, placeBytes, placesPerPiece } from "./shared-places.ts";
import type { StoreKind } from "./shared-tables.ts";

const pieceOfPlaces = placesPerPiece * placeBytes;

/** What was changed by each version, in its order. */
const migrations = [
  [
    "CREATE TABLE rollcall.store (id TEXT NOT NULL)",
    "INSERT INTO rollcall.store (id) VALUES (replace(gen_random_uuid()::text, '-', ''))",
    `CREATE TABLE rollcall.logged (
       id BYTEA PRIMARY KEY, first_ms BIGINT NOT NULL, project TEXT NOT NULL, key TEXT, digest BYTEA, model TEXT NOT NULL,
       split TEXT NOT NULL, metrics TEXT NOT NULL, rest TEXT NOT NULL, logged_at BIGINT NOT NULL, calls BIGINT NOT NULL,
       places BYTEA NOT NULL, UNIQUE (project, key))`,
    "CREATE UNIQUE INDEX logged_end ON rollcall.logged (substring(id FROM 9))",
    "CREATE INDEX logged_project ON rollcall.logged (project, id)",
    "CREATE TABLE rollcall.logged_group (logged BYTEA, position BIGINT, rest TEXT NOT NULL, PRIMARY KEY (logged, position))",
    "CREATE TABLE rollcall.logged_body (logged BYTEA, piece BIGINT, bytes BYTEA NOT NULL, PRIMARY KEY (logged, piece))",
    // As they are, a part of them is read without the rest.
    "ALTER TABLE rollcall.logged ALTER COLUMN places SET STORAGE EXTERNAL",
    "ALTER TABLE rollcall.logged_body ALTER COLUMN bytes SET STORAGE EXTERNAL",
    "CREATE TABLE rollcall.logged_model (id TEXT NOT NULL, project TEXT NOT NULL, owner TEXT NOT NULL, created BIGINT NOT NULL)",
    // A name may be longer than what an index takes.
    "CREATE UNIQUE INDEX logged_model_once ON rollcall.logged_model (md5(id), project)",
  ],
  [
    `CREATE TABLE rollcall.access_key (
       name TEXT PRIMARY KEY, digest BYTEA NOT NULL UNIQUE, projects TEXT NOT NULL, uses TEXT NOT NULL,
       created BIGINT NOT NULL, revoked BIGINT)`,
  ],
  // Where calls stand is in pieces too, as long as there are calls.
  [
    `INSERT INTO rollcall.logged_body (logged, piece, bytes)
     SELECT id, ${firstOfPlaces} + at, substring(places, (at * ${pieceOfPlaces} + 1)::int, ${pieceOfPlaces})
     FROM rollcall.logged, generate_series(0, (calls - 1) / ${placesPerPiece}) AS at WHERE calls > 0`,
    "ALTER TABLE rollcall.logged DROP COLUMN places",
  ],
];

export const postgresStore: StoreKind = {
  open: async (options) => (await postgresDoor()).openPostgres(options),
  tables: {
    prefix: "rollcall.",
    migrations,
    owner: "split_part(project, '/', 1)",
    // While one waits for the disk another one is written.
    mostWriting: 2,
    mostBytesTogether: 32 * 2 ** 20,
    ahead: undefined,
  },
};
