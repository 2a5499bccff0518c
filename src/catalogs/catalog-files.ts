/** Saves and reads files with catalogs. */
import { hash } from "node:crypto";
import { readdirSync, readFileSync, rmSync, statSync, utimesSync } from "node:fs";
import { join } from "node:path";
import { gunzipSync, gzipSync } from "node:zlib";
import { bomLength, isObject, locateOffset } from "../json/json-bytes.ts";
import { requireFault } from "../json/reader.ts";
import { ignoreErrors, makeFolder, readUpTo, writeFileAtomically } from "../system/files.ts";
import type { Host } from "../system/host.ts";
import type { CatalogModel } from "../wire/contract/models.ts";
import { readListReply, toText } from "../wire/contract/replies.ts";
import { catalogFileUnreadable, invalidCatalogFile } from "./failures.ts";

/** The catalogs of interface 4.4 and 4.5, in the order of the output. */
export const catalogNames = ["analysis", "router"] as const;
export type CatalogName = (typeof catalogNames)[number];

/** `baseUrl` can be `local`. */
export type CatalogId = Readonly<{ baseUrl: string; catalog: CatalogName; provider: string }>;

export const maxSavedReplies = 500;

const maxReplyBytes = 2 ** 29;

const historyFolder = (folder: string, { baseUrl, catalog, provider }: CatalogId) => {
  const digest = hash("sha256", JSON.stringify([baseUrl, catalog, provider]), "hex").slice(0, 24);
  return join(folder, "catalog-history", `${catalog}-${digest}`);
};

/** The time of the reply, with `-` for `:`, because Windows forbids `:` in names. */
const namePattern = /^(\d{4}-\d\d-\d\dT\d\d)-(\d\d)-(\d\d\.\d{3}Z)\.json\.gz$/;

const listFiles = (folder: string) =>
  (ignoreErrors(() => readdirSync(folder)) ?? []).sort().flatMap((name) => {
    const fetchedAt = Date.parse(namePattern.exec(name)?.slice(1).join(":") ?? "");
    return Number.isNaN(fetchedAt) ? [] : [{ path: join(folder, name), fetchedAt }];
  });

const readReply = (path: string) =>
  ignoreErrors(() => gunzipSync(readFileSync(path), { maxOutputLength: maxReplyBytes }));

/** The mtime of a file is the time of the last equal reply. @throws errors of `node:fs` */
export const saveCatalog = (folder: string, id: CatalogId, bytes: Uint8Array, time: Date) => {
  const history = historyFolder(folder, id);
  const files = listFiles(history);
  const latest = files.at(-1);
  if (latest && readReply(latest.path)?.equals(bytes)) {
    utimesSync(latest.path, time, time);
    return;
  }
  makeFolder(history);
  const path = join(history, `${time.toISOString().replaceAll(":", "-")}.json.gz`);
  writeFileAtomically(path, [gzipSync(bytes)]);
  utimesSync(path, time, time);
  for (const file of files.slice(0, 1 - maxSavedReplies)) rmSync(file.path, { force: true });
};

/** Returns the last reply up to `time`, or else the first reply after `time`. */
export const findSavedCatalog = (folder: string, id: CatalogId, time: number) => {
  const files = listFiles(historyFolder(folder, id));
  const later = files.filter(({ fetchedAt }) => fetchedAt > time);
  for (const file of [...files.slice(0, files.length - later.length).reverse(), ...later]) {
    const bytes = readReply(file.path);
    const reply = bytes && readListReply(bytes);
    if (reply && "value" in reply)
      return { models: reply.value, fetchedAt: file.fetchedAt, checkedAt: statSync(file.path).mtime.getTime() };
  }
  return undefined;
};

/** Returns the ids in the last replies of all catalogs. */
export const listSavedModelIds = (folder: string) => {
  const history = join(folder, "catalog-history");
  const latest = (ignoreErrors(() => readdirSync(history)) ?? []).flatMap(
    (name) => listFiles(join(history, name)).at(-1) ?? [],
  );
  const replies = latest.map(({ path }) => readReply(path)).map((bytes) => bytes && readListReply(bytes));
  const entries = replies.flatMap((reply) => (reply && "value" in reply ? reply.value.entries : []));
  return [...new Set(entries.flatMap(({ value }) => toText(value.id) ?? []))];
};

/** Reads the format of `-o json` or `-o jsonl`. Rows of `catalog all` are listed by catalog. */
export const readCatalogFile = async (file: string, host: Host) => {
  const bytes = await readUpTo(file === "-" ? host.stdin : file, maxReplyBytes, host, (code, cause) =>
    catalogFileUnreadable({ file, code, cause }),
  );
  if (!bytes) throw invalidCatalogFile(file, "it is larger than 512 MiB");
  const content = bytes.subarray(bomLength(bytes));
  const document = readListReply(content);
  const reply = document && "value" in document ? document : (readEntryLines(content) ?? document);
  if (!reply)
    throw invalidCatalogFile(file, "it is not JSON", { file, ...locateOffset(content, requireFault(content).at) });
  const models = "value" in reply ? reply.value : undefined;
  const entries = models?.entries.flatMap(({ value }): readonly FileEntry[] => {
    if (!isObject(value.entry)) return [{ catalog: null, entry: value }];
    return [{ catalog: catalogNames.find((name) => name === value.catalog) ?? null, entry: value.entry }];
  });
  // A list of trajectories, for example, has no ids.
  const hasId = entries?.some(({ entry }) => toText(entry.id) !== undefined);
  if (models && entries && (hasId || entries.length === 0)) return { models, entries };
  throw invalidCatalogFile(file, "it has no list of models");
};

/** `catalog` is null in a file with one catalog. */
type FileEntry = Readonly<{ catalog: CatalogName | null; entry: CatalogModel }>;

const readEntryLines = (content: Buffer) => {
  const text = content.toString("utf8").trim();
  return text === "" ? undefined : readListReply(Buffer.from(`{"data":[${text.split(/\n\s*/).join()}]}`));
};
