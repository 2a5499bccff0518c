/** The history of catalogs: each different reply of a day as a compressed file in a folder of its catalog. */
import { readdirSync, readFileSync, rmSync, statSync, utimesSync } from "node:fs";
import { join } from "node:path";
import { gunzipSync, gzipSync } from "node:zlib";
import { makeFolder, writeWhole } from "../files.ts";
import { type CatalogPlace, digestOf, folderNameOf, nameDigits } from "./catalog-names.ts";
import { dayOf } from "./deprecation.ts";

/** A catalog as it was. */
export interface SavedCatalog {
  readonly bytes: Uint8Array;
  /** When it was fetched like this, after it had been otherwise: milliseconds since 1970. */
  readonly fetchedAt: number;
}

/** Compressed bytes of all catalogs together; beyond, the oldest files go. */
const maxBytes = 64 * 1024 * 1024;

/** Bytes that a file may decompress to: replies are no longer. */
const maxReplyBytes = 2 ** 29;

/** `<YYYY-MM-DD>-<digest>.json.gz`; a file with another name is not of the history. */
const fileName = new RegExp(`^(\\d{4}-\\d\\d-\\d\\d)-([0-9a-f]{${nameDigits}})\\.json\\.gz$`);

const dayMs = 86_400_000;

interface SavedFile {
  readonly path: string;
  readonly digest: string;
  readonly size: number;
  readonly fetchedAt: number;
}

/** Saves a catalog that was fetched, unless the latest one of its place has the same bytes. @throws what the file system says */
export const saveCatalog = (
  folder: string,
  place: CatalogPlace,
  { bytes, fetchedAt, limitBytes = maxBytes }: SavedCatalog & { readonly limitBytes?: number },
): void => {
  const [own, digest] = [join(historyIn(folder), folderNameOf(place)), digestOf(bytes)];
  const latest = filesIn(own).findLast((file) => bytesOf(file) !== undefined);
  if (latest?.digest === digest) return;
  makeFolder(own);
  const path = join(own, `${dayOf(fetchedAt)}-${digest}.json.gz`);
  writeWhole(path, [gzipSync(bytes)]);
  utimesSync(path, fetchedAt / 1000, fetchedAt / 1000);
  prune(folder, limitBytes);
};

/** Returns a catalog as it was at a time; the first one if the history begins later; undefined if there is none. */
export const savedCatalogAt = (folder: string, place: CatalogPlace, time: number): SavedCatalog | undefined => {
  const files = filesIn(join(historyIn(folder), folderNameOf(place)));
  const later = files.filter(({ fetchedAt }) => fetchedAt > time);
  for (const file of [...files.slice(0, files.length - later.length).reverse(), ...later]) {
    const bytes = bytesOf(file);
    if (bytes !== undefined) return { bytes, fetchedAt: file.fetchedAt };
  }
  return undefined;
};

const historyIn = (folder: string): string => join(folder, "catalog-history");

/** The files of a catalog's folder, the oldest first. */
const filesIn = (folder: string): readonly SavedFile[] =>
  namesIn(folder)
    .flatMap((name): readonly SavedFile[] => {
      const [, day = "", digest = ""] = fileName.exec(name) ?? [];
      const [path, start] = [join(folder, name), Date.parse(day)];
      const facts = Number.isNaN(start) ? undefined : statSync(path, { throwIfNoEntry: false });
      if (facts?.isFile() !== true) return [];
      // The name has the day. When on that day it was, the file's time says, which a copy of the folder may not keep.
      const fetchedAt = Math.min(Math.max(Math.round(facts.mtimeMs), start), start + dayMs - 1);
      return [{ path, digest, size: facts.size, fetchedAt }];
    })
    .sort((a, b) => a.fetchedAt - b.fetchedAt);

const namesIn = (folder: string): readonly string[] => {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
};

/** The reply in a file; undefined if the file does not hold what its name says. */
const bytesOf = ({ path, digest }: SavedFile): Uint8Array | undefined => {
  try {
    const bytes = gunzipSync(readFileSync(path), { maxOutputLength: maxReplyBytes });
    return digestOf(bytes) === digest ? bytes : undefined;
  } catch {
    return undefined;
  }
};

/** Removes the oldest files until the rest is within the limit; the latest of each catalog stays. */
const prune = (folder: string, limitBytes: number): void => {
  const all = namesIn(historyIn(folder)).map((name) => filesIn(join(historyIn(folder), name)));
  let size = all.flat().reduce((sum, file) => sum + file.size, 0);
  const older = all.flatMap((files) => files.slice(0, -1)).sort((a, b) => a.fetchedAt - b.fetchedAt);
  for (const file of older) {
    if (size <= limitBytes) return;
    rmSync(file.path, { force: true });
    size -= file.size;
  }
};
