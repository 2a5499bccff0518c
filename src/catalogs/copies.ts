/** The latest reply of each catalog as a file of the data folder: what is asked for by its validators, or read offline. */
import { createHash, hash } from "node:crypto";
import { closeSync, fstatSync, openSync, readFileSync, readSync, utimesSync } from "node:fs";
import { dirname, join } from "node:path";
import { clearDrafts, makeFolder, writeWhole } from "../files.ts";
import { newline } from "../json/walk.ts";
import { type CatalogPlace, fileNameOf } from "./catalog-names.ts";

/** A reply that is held. Its facts are read at once, its bytes when they are asked for. */
export interface HeldCatalog {
  /** What the service gave to ask by whether it still stands. */
  readonly validators: { readonly etag?: string; readonly lastModified?: string };
  /** When it was fetched, and when the service last said that it still stands: milliseconds since 1970. */
  readonly fetchedAt: number;
  readonly checkedAt: number;
  /** Whether the history has it. */
  readonly inHistory: boolean;
  /** Of its bytes. */
  readonly digest: string;
  /** Undefined where they are not what was written. */
  read(): Uint8Array | undefined;
  /** Whether its bytes are what was written; they are not held all at the same time to know. */
  isWhole(): boolean;
}

/** Raised where what is written can't be read by an older rollcall: what is held is then fetched anew. */
const version = 1;

/** The line of facts is no longer than this. */
const mostFacts = 8192;

/** Reads what is held of a catalog; undefined where there is nothing, or nothing that can be trusted. */
export const readHeld = (folder: string, place: CatalogPlace): HeldCatalog | undefined => {
  try {
    const file = openSync(pathOf(folder, place), "r");
    try {
      const head = Buffer.alloc(mostFacts);
      const line = head.subarray(0, readSync(file, head, 0, mostFacts, 0));
      const length = line.indexOf(newline);
      const facts: unknown = JSON.parse(line.toString("utf8", 0, length));
      const checkedAt = Math.round(fstatSync(file).mtimeMs);
      return heldOf(facts, { place, checkedAt, ...readersOf(pathOf(folder, place), length + 1) });
    } finally {
      closeSync(file);
    }
  } catch {
    return undefined;
  }
};

interface Readers {
  /** Undefined where the file can't be read. */
  readonly read: () => Uint8Array | undefined;
  readonly digest: () => string | undefined;
}

/** Both read what stands behind the line of facts. */
const readersOf = (path: string, start: number): Readers => ({
  read: () => {
    try {
      return readFileSync(path).subarray(start);
    } catch {
      return undefined;
    }
  },
  digest: () => {
    try {
      return digestAt(path, start);
    } catch {
      return undefined;
    }
  },
});

/** Bytes that are read at a time. */
const pieceBytes = 1 << 18;

const digestAt = (path: string, start: number): string => {
  const [digest, piece] = [createHash("sha256"), Buffer.alloc(pieceBytes)];
  const file = openSync(path, "r");
  try {
    for (let at = start; ; ) {
      const size = readSync(file, piece, 0, piece.length, at);
      if (size === 0) return digest.digest("hex");
      digest.update(piece.subarray(0, size));
      at += size;
    }
  } finally {
    closeSync(file);
  }
};

/** What is to be held of a reply. */
export type CatalogCopy = Omit<HeldCatalog, "read" | "isWhole"> & { readonly bytes: Uint8Array };

/** Holds a reply from now on; a line of facts, then its bytes. @throws what the file system says */
export const writeHeld = (folder: string, place: CatalogPlace, copy: CatalogCopy): void => {
  const path = pathOf(folder, place);
  const { bytes, digest, validators, fetchedAt, inHistory } = copy;
  const facts = { version, ...place, ...validators, fetched_at: fetchedAt, in_history: inHistory, digest };
  makeFolder(dirname(path));
  clearDrafts(path, copy.checkedAt - oldDraftMs);
  writeWhole(path, [`${JSON.stringify(facts)}\n`, bytes]);
  touchHeld(folder, place, copy.checkedAt);
};

/** A draft this old was left behind by a run that was killed: milliseconds. */
const oldDraftMs = 3_600_000;

/** Notes that the service said that what is held still stands. @throws what the file system says */
export const touchHeld = (folder: string, place: CatalogPlace, checkedAt: number): void =>
  utimesSync(pathOf(folder, place), checkedAt / 1000, checkedAt / 1000);

/** Tells a reply's bytes from any other. */
export const digestOf = (bytes: Uint8Array): string => hash("sha256", bytes, "hex");

/** Where the replies are held, below the data folder. */
export const heldFolder = (folder: string): string => join(folder, "catalogs");

const pathOf = (folder: string, place: CatalogPlace): string => join(heldFolder(folder), fileNameOf(place));

const heldOf = (
  facts: unknown,
  { place, checkedAt, read, digest: digestNow }: { readonly place: CatalogPlace; readonly checkedAt: number } & Readers,
): HeldCatalog | undefined => {
  if (typeof facts !== "object" || facts === null) return undefined;
  const of = (name: string): unknown => Reflect.get(facts, name);
  const isOfPlace = of("address") === place.address && of("catalog") === place.catalog;
  if (of("version") !== version || !isOfPlace || of("provider") !== place.provider) return undefined;
  const [etag, lastModified, fetchedAt, digest] = [of("etag"), of("lastModified"), of("fetched_at"), of("digest")];
  if (typeof digest !== "string") return undefined;
  return {
    validators: {
      ...(typeof etag === "string" ? { etag } : {}),
      ...(typeof lastModified === "string" ? { lastModified } : {}),
    },
    fetchedAt: typeof fetchedAt === "number" ? fetchedAt : checkedAt,
    checkedAt,
    inHistory: of("in_history") === true,
    digest,
    read: () => {
      const bytes = read();
      return bytes !== undefined && digestOf(bytes) === digest ? bytes : undefined;
    },
    isWhole: () => digestNow() === digest,
  };
};
