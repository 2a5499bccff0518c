/** The latest reply of each catalog as a file of the data folder: what is asked for by its validators, or read offline. */
import { hash, randomUUID } from "node:crypto";
import { readFileSync, renameSync, rmSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { makeFolder } from "../folder.ts";
import { newline } from "../json.ts";
import { type CatalogPlace, fileNameOf } from "./place.ts";

/** A reply that is held. */
export interface HeldCatalog {
  readonly bytes: Uint8Array;
  /** What the service gave to ask by whether it still stands. */
  readonly validators: { readonly etag?: string; readonly lastModified?: string };
  /** When it was fetched, and when the service last said that it still stands: milliseconds since 1970. */
  readonly fetchedAt: number;
  readonly checkedAt: number;
  /** Whether the history has it. */
  readonly inHistory: boolean;
}

/** Raised where what is written can't be read by an older rollcall: what is held is then fetched anew. */
const version = 1;

/** Reads what is held of a catalog; undefined where there is nothing, or nothing that can be trusted. */
export const readHeld = (folder: string, place: CatalogPlace): HeldCatalog | undefined => {
  const path = pathOf(folder, place);
  try {
    const file = readFileSync(path);
    const end = file.indexOf(newline);
    const facts: unknown = JSON.parse(file.toString("utf8", 0, end));
    return heldOf(facts, { bytes: file.subarray(end + 1), place, checkedAt: Math.round(statSync(path).mtimeMs) });
  } catch {
    return undefined;
  }
};

/** Holds a reply from now on; a line of facts, then its bytes. @throws what the file system says */
export const writeHeld = (folder: string, place: CatalogPlace, held: HeldCatalog): void => {
  const path = pathOf(folder, place);
  const { bytes, validators, fetchedAt, inHistory } = held;
  const facts = {
    version,
    ...place,
    ...validators,
    fetched_at: fetchedAt,
    in_history: inHistory,
    digest: digestOf(bytes),
  };
  makeFolder(dirname(path));
  // Under a name of its own until it is whole: others read and write meanwhile.
  const draft = `${path}.${randomUUID()}`;
  try {
    writeFileSync(draft, Buffer.concat([Buffer.from(`${JSON.stringify(facts)}\n`), bytes]), {
      flag: "wx",
      mode: 0o600,
    });
    utimesSync(draft, held.checkedAt / 1000, held.checkedAt / 1000);
    renameSync(draft, path);
  } catch (thrown) {
    rmSync(draft, { force: true });
    throw thrown;
  }
};

/** Notes that the service said that what is held still stands. @throws what the file system says */
export const touchHeld = (folder: string, place: CatalogPlace, checkedAt: number): void =>
  utimesSync(pathOf(folder, place), checkedAt / 1000, checkedAt / 1000);

const pathOf = (folder: string, place: CatalogPlace): string => join(folder, "catalogs", fileNameOf(place));

const digestOf = (bytes: Uint8Array): string => hash("sha256", bytes, "hex");

const heldOf = (
  facts: unknown,
  { bytes, place, checkedAt }: { bytes: Uint8Array; place: CatalogPlace; checkedAt: number },
): HeldCatalog | undefined => {
  if (typeof facts !== "object" || facts === null) return undefined;
  const of = (name: string): unknown => Reflect.get(facts, name);
  const isOfPlace = of("address") === place.address && of("catalog") === place.catalog;
  if (of("version") !== version || !isOfPlace || of("provider") !== place.provider) return undefined;
  if (of("digest") !== digestOf(bytes)) return undefined;
  const [etag, lastModified, fetchedAt] = [of("etag"), of("lastModified"), of("fetched_at")];
  return {
    bytes,
    validators: {
      ...(typeof etag === "string" ? { etag } : {}),
      ...(typeof lastModified === "string" ? { lastModified } : {}),
    },
    fetchedAt: typeof fetchedAt === "number" ? fetchedAt : checkedAt,
    checkedAt,
    inHistory: of("in_history") === true,
  };
};
