/** The history of catalogs: every one that was fetched, each block of entries kept once, in a database of the data folder. */
import { hash } from "node:crypto";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { crc32, deflateRawSync, inflateRawSync } from "node:zlib";
import { type Database, openDatabase } from "../database/index.ts";
import { elements, members, openBracket, type Span, skipWhite } from "../json/walk.ts";
import type { CatalogPlace } from "./catalog-names.ts";

/** A catalog as it was. */
export interface KeptCatalog {
  readonly bytes: Uint8Array;
  /** When it was first fetched like this, after it had been otherwise: milliseconds since 1970. */
  readonly fetchedAt: number;
}

/** The history, open. */
export interface History {
  /** Keeps a catalog that was fetched, unless the latest one of its place has the same bytes. */
  keep(place: CatalogPlace, fetched: KeptCatalog): void;
  /** A catalog as it was at a moment; the first one there is where the history begins later; undefined where there is none. */
  at(place: CatalogPlace, moment: number): KeptCatalog | undefined;
  close(): void;
}

/** "rchi": tells this file from others of SQLite. */
const applicationId = 0x72636869;

/** Compressed bytes that are kept of all catalogs together; beyond, the oldest versions go. */
const mostBytes = 64 * 1024 * 1024;

/** How long to wait for other processes: keeping history is not worth a wait that a person notices. */
const lockTimeoutMs = 2_000;

const migrations = [
  `CREATE TABLE block (id INTEGER PRIMARY KEY, digest BLOB NOT NULL UNIQUE, bytes BLOB NOT NULL);
   CREATE TABLE version (id INTEGER PRIMARY KEY, digest BLOB NOT NULL UNIQUE, blocks TEXT NOT NULL);
   CREATE TABLE fetched (
     id INTEGER PRIMARY KEY, address TEXT NOT NULL, catalog TEXT NOT NULL, provider TEXT NOT NULL,
     version INTEGER NOT NULL REFERENCES version (id), at INTEGER NOT NULL
   );
   CREATE INDEX fetched_of ON fetched (address, catalog, provider, at);
   CREATE INDEX fetched_version ON fetched (version);`,
];

/** Opens the history of a data folder, and makes it where there is none. @throws Failure `storage` */
export const openHistory = (folder: string, { limitBytes = mostBytes } = {}): History => {
  const database = openDatabase({
    path: pathOf(folder),
    title: "the history of catalogs",
    applicationId,
    migrations,
    lockTimeoutMs,
  });
  return {
    keep: (place, fetched) => keep(database, place, { ...fetched, limitBytes }),
    at: (place, moment) => catalogAt(database, place, moment),
    close: () => database.close(),
  };
};

/** Opens the history of a data folder; undefined where there is none. @throws Failure `storage` */
export const openExistingHistory = (folder: string): History | undefined =>
  existsSync(pathOf(folder)) ? openHistory(folder) : undefined;

const pathOf = (folder: string): string => join(folder, "catalogs.db");

const digestOf = (bytes: Uint8Array): Uint8Array => hash("sha256", bytes, "buffer");

const placeOf = ({ address, catalog, provider }: CatalogPlace) => [address, catalog, provider] as const;

const keep = (
  database: Database,
  place: CatalogPlace,
  { bytes, fetchedAt, limitBytes }: KeptCatalog & { readonly limitBytes: number },
): void => {
  const digest = digestOf(bytes);
  const blocks = Array.from(blocksOf(bytes), (block) => ({ block, digest: digestOf(block) }));
  database.transaction(() => {
    const latest = database
      .prepare(
        `SELECT version.digest AS digest FROM fetched JOIN version ON version.id = fetched.version
         WHERE address = ? AND catalog = ? AND provider = ? ORDER BY at DESC, fetched.id DESC LIMIT 1`,
      )
      .get(...placeOf(place));
    if (latest !== undefined && Buffer.compare(latest.bytes("digest"), digest) === 0) return;
    const version = versionOf(database, digest) ?? addVersion(database, digest, blocks);
    database
      .prepare("INSERT INTO fetched (address, catalog, provider, version, at) VALUES (?, ?, ?, ?, ?)")
      .run(...placeOf(place), version, fetchedAt);
    prune(database, limitBytes);
  });
};

const versionOf = (database: Database, digest: Uint8Array): number | undefined =>
  database.prepare("SELECT id FROM version WHERE digest = ?").get(digest)?.integer("id");

const addVersion = (
  database: Database,
  digest: Uint8Array,
  blocks: readonly { readonly block: Uint8Array; readonly digest: Uint8Array }[],
): number => {
  const find = database.prepare("SELECT id FROM block WHERE digest = ?");
  const add = database.prepare("INSERT INTO block (digest, bytes) VALUES (?, ?)");
  const ids = blocks.map(
    ({ block, digest: own }) => find.get(own)?.integer("id") ?? add.run(own, deflateRawSync(block)).rowId,
  );
  return database.prepare("INSERT INTO version (digest, blocks) VALUES (?, ?)").run(digest, JSON.stringify(ids)).rowId;
};

/** Takes the oldest versions out until the rest is within the limit; the latest of each catalog stays. */
const prune = (database: Database, limitBytes: number): void => {
  for (;;) {
    const size =
      database.prepare("SELECT coalesce(sum(length(bytes)), 0) AS size FROM block").get()?.integer("size") ?? 0;
    if (size <= limitBytes) return;
    const oldest = database
      .prepare(
        `SELECT id FROM fetched AS one WHERE EXISTS (
           SELECT 1 FROM fetched AS later WHERE later.address = one.address AND later.catalog = one.catalog
             AND later.provider = one.provider AND (later.at, later.id) > (one.at, one.id)
         ) ORDER BY at, id LIMIT 1`,
      )
      .get();
    if (oldest === undefined) return;
    database.prepare("DELETE FROM fetched WHERE id = ?").run(oldest.integer("id"));
    database.prepare("DELETE FROM version WHERE id NOT IN (SELECT version FROM fetched)").run();
    database.prepare("DELETE FROM block WHERE id NOT IN (SELECT value FROM version, json_each(version.blocks))").run();
  }
};

const catalogAt = (database: Database, place: CatalogPlace, moment: number): KeptCatalog | undefined => {
  const find = (condition: string) =>
    database
      .prepare(
        `SELECT at, blocks FROM fetched JOIN version ON version.id = fetched.version
         WHERE address = ? AND catalog = ? AND provider = ? AND ${condition}`,
      )
      .get(...placeOf(place), moment);
  const row =
    find("at <= ? ORDER BY at DESC, fetched.id DESC LIMIT 1") ?? find("at > ? ORDER BY at, fetched.id LIMIT 1");
  if (row === undefined) return undefined;
  const read = database.prepare(
    "SELECT bytes FROM block JOIN json_each(?) AS part ON part.value = block.id ORDER BY part.key",
  );
  const blocks = read.all(row.text("blocks")).map((block) => inflateRawSync(block.bytes("bytes")));
  return { bytes: Buffer.concat(blocks), fetchedAt: row.integer("at") };
};

/** About this many entries stand in a block: fewer compress worse, and more are kept again for every change. */
const entriesOfBlock = 32;

/** And never more bytes than this, which bounds what one row holds. */
const mostBlockBytes = 2 ** 20;

/**
 * The blocks of a catalog; one after the other they are its bytes. Where a block ends is decided by an entry's first
 * bytes, which hold its id: an entry that comes, goes or changes moves no other block's end.
 */
function* blocksOf(bytes: Uint8Array): Generator<Uint8Array, void> {
  let from = 0;
  for (const { start, end } of entriesIn(bytes)) {
    const ends = crc32(bytes.subarray(start, Math.min(end, start + idBytes))) % entriesOfBlock === 0;
    if (!ends && end - from < mostBlockBytes) continue;
    yield bytes.subarray(from, end);
    from = end;
  }
  if (from < bytes.length) yield bytes.subarray(from);
}

/** Bytes of an entry that its id stands in, as services write it. */
const idBytes = 48;

function* entriesIn(bytes: Uint8Array): Generator<Span, void> {
  const data = [...members(bytes, skipWhite(bytes, 0))].findLast(({ key }) => key === "data");
  if (data !== undefined && bytes[data.value.start] === openBracket) yield* elements(bytes, data.value.start);
}
