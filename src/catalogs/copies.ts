/** The latest reply of each catalog as a file of the data folder: what a service is asked by its validators about, or read offline. */
import { createHash } from "node:crypto";
import { closeSync, fstatSync, openSync, readdirSync, readFileSync, readSync, utimesSync } from "node:fs";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { clearDrafts, makeFolder, writeWhole } from "../files.ts";
import { isObject, memberOf, newline } from "../json/walk.ts";
import { type CatalogPlace, digestOf, folderNameOf, nameDigits } from "./catalog-names.ts";
import { saveCatalog } from "./history.ts";

/** A copy of a reply. Its facts are read at once, its bytes when they are asked for. */
export interface CatalogCopy {
  /** What the service gave to ask by whether the reply still stands. */
  readonly validators: { readonly etag?: string; readonly lastModified?: string };
  /** When the service last said that it still stands: milliseconds since 1970. */
  readonly checkedAt: number;
  /** Of its bytes. */
  readonly digest: string;
  /** Undefined where they are not what was written. */
  read(): Uint8Array | undefined;
  /** Whether they are what was written; they are not in memory all at once to know. */
  isWhole(): boolean;
}

/** Raised where what is written can't be read by an older rollcall: the catalog is then fetched anew. */
const version = 1;

/** The line of facts is no longer than this. */
const mostFacts = 8192;

/** Reads the copy of a catalog; undefined where there is none, or none that can be trusted. */
export const readCopy = (folder: string, place: CatalogPlace): CatalogCopy | undefined => {
  try {
    const path = pathOf(folder, place);
    const file = openSync(path, "r");
    try {
      const head = Buffer.alloc(mostFacts);
      const line = head.subarray(0, readSync(file, head, 0, mostFacts, 0));
      const length = line.indexOf(newline);
      const facts: unknown = JSON.parse(line.toString("utf8", 0, length));
      return copyOf(facts, { place, path, start: length + 1, checkedAt: Math.round(fstatSync(file).mtimeMs) });
    } finally {
      closeSync(file);
    }
  } catch {
    return undefined;
  }
};

const copyOf = (
  facts: unknown,
  about: { readonly place: CatalogPlace; readonly path: string; readonly start: number; readonly checkedAt: number },
): CatalogCopy | undefined => {
  if (!isObject(facts)) return undefined;
  const isOfPlace = Object.entries(about.place).every(([name, value]) => facts[name] === value);
  const { etag, lastModified, digest } = facts;
  if (facts.version !== version || !isOfPlace || typeof digest !== "string") return undefined;
  return {
    validators: {
      ...(typeof etag === "string" ? { etag } : {}),
      ...(typeof lastModified === "string" ? { lastModified } : {}),
    },
    checkedAt: about.checkedAt,
    digest,
    read: () => {
      const bytes = bytesBehind(about.path, about.start);
      return bytes !== undefined && digestOf(bytes) === digest ? bytes : undefined;
    },
    isWhole: () => digestBehind(about.path, about.start) === digest,
  };
};

const bytesBehind = (path: string, start: number): Uint8Array | undefined => {
  try {
    return readFileSync(path).subarray(start);
  } catch {
    return undefined;
  }
};

/** Bytes that are read at a time. */
const pieceBytes = 1 << 18;

/** @throws what the file system says */
const digestBehind = (path: string, start: number): string => {
  const [digest, piece] = [createHash("sha256"), Buffer.alloc(pieceBytes)];
  const file = openSync(path, "r");
  try {
    for (let at = start, size = 1; size > 0; at += size) {
      size = readSync(file, piece, 0, piece.length, at);
      digest.update(piece.subarray(0, size));
    }
    return digest.digest("hex").slice(0, nameDigits);
  } finally {
    closeSync(file);
  }
};

/** A reply of the service. */
interface FetchedCatalog {
  readonly bytes: Uint8Array;
  readonly validators: CatalogCopy["validators"];
  /** Whether it is the copy, which still stands. */
  readonly unchanged: boolean;
}

/** Keeps a reply: in the history if it is new, and as the copy that the next run asks by. @throws what the file system says: what could not be kept is tried again next time */
export const keepCatalog = (
  folder: string,
  place: CatalogPlace,
  {
    fetched,
    copy,
    now,
  }: { readonly fetched: FetchedCatalog; readonly copy: CatalogCopy | undefined; readonly now: number },
): void => {
  const digest = digestOf(fetched.bytes);
  // A copy that can't be read any more is written anew.
  const same = copy?.digest === digest && (fetched.unchanged || copy.isWhole());
  const validators = fetched.unchanged ? { ...copy?.validators, ...fetched.validators } : fetched.validators;
  if (same && isDeepStrictEqual(validators, copy.validators)) {
    touch(folder, place, now);
    return;
  }
  if (!same) saveCatalog(folder, place, { bytes: fetched.bytes, fetchedAt: now });
  writeCopy(folder, place, { facts: { ...validators, digest }, fetched, now });
};

/** A draft this old was left behind by a run that was killed: milliseconds. */
const oldDraftMs = 3_600_000;

/** Writes a line of facts, then the bytes. @throws what the file system says */
const writeCopy = (
  folder: string,
  place: CatalogPlace,
  { facts, fetched, now }: { readonly facts: object; readonly fetched: FetchedCatalog; readonly now: number },
): void => {
  makeFolder(copiesIn(folder));
  clearDrafts(pathOf(folder, place), now - oldDraftMs);
  writeWhole(pathOf(folder, place), [`${JSON.stringify({ version, ...place, ...facts })}\n`, fetched.bytes]);
  touch(folder, place, now);
};

/** Notes when the service said that the copy still stands. @throws what the file system says */
const touch = (folder: string, place: CatalogPlace, checkedAt: number): void =>
  utimesSync(pathOf(folder, place), checkedAt / 1000, checkedAt / 1000);

const copiesIn = (folder: string): string => join(folder, "catalogs");

const pathOf = (folder: string, place: CatalogPlace): string => join(copiesIn(folder), folderNameOf(place));

/** The ids of all catalogs that have a copy, whatever their service; none where nothing can be read. */
export const idsOfCopies = (folder: string): readonly string[] => {
  try {
    const files = readdirSync(copiesIn(folder));
    return [...new Set(files.flatMap((file) => idsIn(join(copiesIn(folder), file))))].sort();
  } catch {
    return [];
  }
};

const idsIn = (path: string): readonly string[] => {
  try {
    const bytes = readFileSync(path);
    const data = memberOf(JSON.parse(bytes.toString("utf8", bytes.indexOf(newline) + 1)), "data");
    const ids = Array.isArray(data) ? data.map((entry) => memberOf(entry, "id")) : [];
    return ids.filter((id) => typeof id === "string");
  } catch {
    return [];
  }
};
