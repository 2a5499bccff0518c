/** Keeps a catalog that was fetched: as the copy that the next run asks by, and in the history where it is new. */
import { accessSync, constants } from "node:fs";
import { isDeepStrictEqual } from "node:util";
import { makeFolder } from "../files.ts";
import type { CatalogPlace } from "./catalog-names.ts";
import { digestOf, type HeldCatalog, touchHeld, writeHeld } from "./copies.ts";

/** A reply of the service. */
export interface FetchedCatalog {
  readonly bytes: Uint8Array;
  readonly validators: HeldCatalog["validators"];
  /** Whether it is what was held, and still stands. */
  readonly unchanged: boolean;
}

/**
 * Keeps a reply. The database is loaded only where the history lacks it.
 * @throws Failure `storage`, and what the file system says: what could not be kept is tried again next time
 */
export const keepCatalog = async (
  folder: string,
  place: CatalogPlace,
  {
    fetched,
    held,
    now,
  }: { readonly fetched: FetchedCatalog; readonly held: HeldCatalog | undefined; readonly now: number },
): Promise<void> => {
  const digest = digestOf(fetched.bytes);
  // A copy that can't be read any more is written anew.
  const same = held?.digest === digest && (fetched.unchanged || held.isWhole());
  const validators = fetched.unchanged ? { ...held?.validators, ...fetched.validators } : fetched.validators;
  if (same && held.inHistory && isDeepStrictEqual(validators, held.validators)) return touchHeld(folder, place, now);
  // Where nothing can be written there is no use in loading a database.
  makeFolder(folder);
  accessSync(folder, constants.W_OK);
  const copy = { bytes: fetched.bytes, digest, validators, fetchedAt: same ? held.fetchedAt : now, checkedAt: now };
  writeHeld(folder, place, { ...copy, inHistory: same && held.inHistory });
  if (same && held.inHistory) return;
  const { openHistory } = await import("./history.ts");
  const history = openHistory(folder);
  try {
    history.keep(place, copy);
  } finally {
    history.close();
  }
  writeHeld(folder, place, { ...copy, inHistory: true });
};
