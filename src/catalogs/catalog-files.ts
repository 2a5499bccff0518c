/** Catalogs that were saved: each different reply of a day as a compressed file, facts about the latest one, and files of people. */
import { hash } from "node:crypto";
import { readdirSync, readFileSync, rmSync, statSync, utimesSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { addAbortSignal } from "node:stream";
import { isDeepStrictEqual } from "node:util";
import { gunzipSync, gzipSync } from "node:zlib";
import { type CatalogModel, readCatalogReply } from "../contract/catalog.ts";
import { type ReplyList, typedValue } from "../contract/replies.ts";
import { getErrorCode, makeFolder, removeDrafts, writeFileAtomically } from "../files.ts";
import type { Host } from "../host.ts";
import { requireFault } from "../json/reader.ts";
import { bomLength, isObject, locateOffset, openBracket, parseJson, skipWhite } from "../json/walk.ts";
import { catalogFileUnreadable, invalidCatalogFile } from "./failures.ts";
import { utcDay } from "./models.ts";

/** The kinds of catalog (interface 4.4 and 4.5), in the order they are shown. */
export const catalogNames = ["analysis", "router"] as const;

export type CatalogName = (typeof catalogNames)[number];

/** What distinguishes a catalog from any other. */
export interface CatalogId {
  /** The service's main address; `local` for the service inside the program. */
  readonly address: string;
  readonly catalog: CatalogName;
  readonly provider: string;
}

/** A catalog as it was. */
interface SavedCatalog {
  readonly bytes: Uint8Array;
  /** When it was fetched like this, after it had been different: milliseconds since 1970. */
  readonly fetchedAt: number;
}

/** Compressed bytes of all catalogs together. The oldest files are removed beyond them. */
const maxHistoryBytes = 64 * 1024 * 1024;

/** Bytes that a file may decompress to: replies are not longer. */
const maxReplyBytes = 2 ** 29;

/** Characters of a digest that distinguish catalogs and replies. */
const digestLength = 24;

const dayMs = 86_400_000;

/** `<YYYY-MM-DD>-<digest>.json.gz`. */
const fileName = new RegExp(`^(\\d{4}-\\d\\d-\\d\\d)-([0-9a-f]{${digestLength}})\\.json\\.gz$`);

const digestOf = (bytes: Uint8Array): string => hash("sha256", bytes, "hex").slice(0, digestLength);

const historyIn = (folder: string): string => join(folder, "catalog-history");

const historyFolder = (folder: string, { address, catalog, provider }: CatalogId): string =>
  join(historyIn(folder), `${catalog}-${digestOf(Buffer.from(JSON.stringify([address, catalog, provider])))}`);

interface SavedFile {
  readonly path: string;
  readonly digest: string;
  readonly size: number;
  readonly fetchedAt: number;
}

/** The files of a catalog's folder, the oldest first. */
const listFiles = (folder: string): readonly SavedFile[] =>
  listNames(folder)
    .flatMap((name): readonly SavedFile[] => {
      const [, day = "", digest = ""] = fileName.exec(name) ?? [];
      const [path, start] = [join(folder, name), Date.parse(day)];
      const facts = Number.isNaN(start) ? undefined : statSync(path, { throwIfNoEntry: false });
      if (facts?.isFile() !== true) return [];
      // The name has the day. The file's time has the hour of that day, unless the folder was copied without times.
      const fetchedAt = Math.min(Math.max(Math.round(facts.mtimeMs), start), start + dayMs - 1);
      return [{ path, digest, size: facts.size, fetchedAt }];
    })
    .sort((a, b) => a.fetchedAt - b.fetchedAt);

const listNames = (folder: string): readonly string[] => {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
};

/** The reply in a file; undefined if its content does not have the digest in its name. */
const readReply = ({ path, digest }: SavedFile): Uint8Array | undefined => {
  try {
    const bytes = gunzipSync(readFileSync(path), { maxOutputLength: maxReplyBytes });
    return digestOf(bytes) === digest ? bytes : undefined;
  } catch {
    return undefined;
  }
};

/** Saves a catalog that was fetched, unless the latest one has the same bytes. @throws what the file system says */
export const saveCatalog = (
  folder: string,
  place: CatalogId,
  { bytes, fetchedAt, limitBytes = maxHistoryBytes }: SavedCatalog & { readonly limitBytes?: number },
): void => {
  const [own, digest] = [historyFolder(folder, place), digestOf(bytes)];
  const latest = listFiles(own).findLast((file) => readReply(file) !== undefined);
  if (latest?.digest === digest) return;
  makeFolder(own);
  const path = join(own, `${utcDay(fetchedAt)}-${digest}.json.gz`);
  writeFileAtomically(path, [gzipSync(bytes)]);
  touch(path, fetchedAt);
  prune(folder, limitBytes);
};

const touch = (path: string, time: number): void => utimesSync(path, time / 1000, time / 1000);

/** Removes the oldest files until the rest is within the limit; the latest of each catalog stays. */
const prune = (folder: string, limitBytes: number): void => {
  const all = listNames(historyIn(folder)).map((name) => listFiles(join(historyIn(folder), name)));
  let size = all.flat().reduce((sum, file) => sum + file.size, 0);
  const older = all.flatMap((files) => files.slice(0, -1)).sort((a, b) => a.fetchedAt - b.fetchedAt);
  for (const file of older) {
    if (size <= limitBytes) return;
    rmSync(file.path, { force: true });
    size -= file.size;
  }
};

/** Returns a catalog as it was at a time; the first one if the history begins later; undefined if there is none. */
export const findSavedCatalog = (folder: string, place: CatalogId, time: number): SavedCatalog | undefined => {
  const files = listFiles(historyFolder(folder, place));
  const later = files.filter(({ fetchedAt }) => fetchedAt > time);
  for (const file of [...files.slice(0, files.length - later.length).reverse(), ...later]) {
    const bytes = readReply(file);
    if (bytes !== undefined) return { bytes, fetchedAt: file.fetchedAt };
  }
  return undefined;
};

/** The latest reply of a catalog. Its facts are read at once, its bytes when they are asked for. */
export interface CachedCatalog {
  /** The validators that the service gave with the reply (RFC 9110, 8.8). */
  readonly validators: { readonly etag?: string; readonly lastModified?: string };
  /** When the service last said that it is current: milliseconds since 1970. */
  readonly checkedAt: number;
  /** Undefined if the bytes are not those that were written. */
  read(): Uint8Array | undefined;
}

/** Raised if an older rollcall would misread the facts: it then fetches the catalog again. */
const version = 2;

/** The file of facts about the latest reply. Its time is that of the last check. */
const factsPath = (folder: string, place: CatalogId): string => join(historyFolder(folder, place), "latest.json");

/** Reads the latest reply of a catalog; undefined if there is none that can be trusted. */
export const readCachedCatalog = (folder: string, place: CatalogId): CachedCatalog | undefined => {
  try {
    const path = factsPath(folder, place);
    const facts: unknown = parseJson(readFileSync(path, "utf8"))?.value;
    if (!isObject(facts)) return undefined;
    if (Object.entries({ version, ...place }).some(([name, value]) => facts[name] !== value)) return undefined;
    const { etag, lastModified, digest } = facts;
    return {
      validators: {
        ...(typeof etag === "string" ? { etag } : {}),
        ...(typeof lastModified === "string" ? { lastModified } : {}),
      },
      checkedAt: Math.round(statSync(path).mtimeMs),
      read: () => {
        const file = listFiles(historyFolder(folder, place)).findLast((one) => one.digest === digest);
        return file && readReply(file);
      },
    };
  } catch {
    return undefined;
  }
};

/** A draft this old was left by a run that was killed: milliseconds. */
const maxDraftAgeMs = 3_600_000;

/** A reply of the service. */
interface FetchedCatalog extends Pick<CachedCatalog, "validators"> {
  readonly bytes: Uint8Array;
  /** The copy that the service said is current. */
  readonly current: CachedCatalog | undefined;
  readonly now: number;
}

/** Saves a reply and its facts. @throws what the file system says: the next run tries again */
export const cacheCatalog = (folder: string, place: CatalogId, fetched: FetchedCatalog): void => {
  const { bytes, current, now } = fetched;
  if (current === undefined) saveCatalog(folder, place, { bytes, fetchedAt: now });
  const path = factsPath(folder, place);
  const validators = { ...current?.validators, ...fetched.validators };
  if (!isDeepStrictEqual(validators, current?.validators)) {
    removeDrafts(path, now - maxDraftAgeMs);
    writeFileAtomically(path, [`${JSON.stringify({ version, ...place, ...validators, digest: digestOf(bytes) })}\n`]);
  }
  touch(path, now);
};

/** The ids in the latest reply of each catalog, whatever its service; none if nothing can be read. */
export const listCachedIds = (folder: string): readonly string[] => {
  const files = listNames(historyIn(folder)).flatMap((name) => listFiles(join(historyIn(folder), name)).slice(-1));
  const ids = files.flatMap((file) => {
    const bytes = readReply(file);
    const models = bytes && parseCatalog(bytes);
    return models === undefined ? [] : Array.from(models, ({ id }) => typedValue(id) ?? "");
  });
  return [...new Set(ids)].filter(Boolean).sort();
};

/** The models of a catalog's reply; undefined if it is not a catalog. */
export const parseCatalog = (bytes: Uint8Array): ReplyList<CatalogModel> | undefined => {
  const found = readCatalogReply(bytes);
  return found !== undefined && "value" in found ? found.value : undefined;
};

/**
 * Reads a catalog from a file, or from standard input for `-`: what `catalog … --json` prints, or its entries as an array or
 * on lines. @throws Failure `catalog-file-unreadable`, `invalid-catalog-file`, the signal's reason
 */
export const readCatalogFile = async (file: string, host: Host): Promise<ReplyList<CatalogModel>> => {
  const bytes = await readBytes(file, host);
  const own = bytes.subarray(bomLength(bytes));
  const text = own.toString("utf8");
  const isList = own[skipWhite(own, 0)] === openBracket;
  const lines = text.split("\n").filter((line) => line.trim() !== "");
  const areLines = !isList && lines.length > 1 && lines.every((line) => isObject(parseJson(line)?.value));
  const list = isList ? text : areLines ? `[${lines.join(",")}]` : undefined;
  const found = readCatalogReply(list === undefined ? own : Buffer.from(`{"data":${list}}`));
  if (found === undefined) {
    throw invalidCatalogFile({ file, wrong: "no-json" }, { file, ...locateOffset(own, requireFault(own).at) });
  }
  const models = "value" in found ? found.value : undefined;
  // Entries without a single id are of something else, such as trajectories.
  if (
    models === undefined ||
    (models.length > 0 && !Array.from(models).some(({ id }) => typedValue(id) !== undefined))
  ) {
    throw invalidCatalogFile({ file, wrong: "no-catalog" });
  }
  return models;
};

const readBytes = async (file: string, host: Host): Promise<Buffer> => {
  try {
    if (file !== "-") return await readFile(file, { signal: host.signal });
    const chunks: Buffer[] = [];
    for await (const chunk of addAbortSignal(host.signal, host.stdin)) chunks.push(Buffer.from(chunk));
    return Buffer.concat(chunks);
  } catch (thrown) {
    host.signal.throwIfAborted();
    throw catalogFileUnreadable({ file, code: getErrorCode(thrown), cause: thrown });
  }
};
