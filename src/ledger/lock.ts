/** The ledger's locks: one for each scope, which whoever writes that scope holds. */
import { readdirSync, realpathSync } from "node:fs";
import { join } from "node:path";
import type { TitledFile } from "../database/index.ts";
import { isLocked, type Lock, tryLock, waitForLock } from "../database/index.ts";
import type { LedgerScope } from "./entries.ts";
import { scopeDigest } from "./scope.ts";

/** Takes the lock of a scope; undefined where another process has it. @throws Failure `storage` */
export const tryScopeLock = (ledger: string, scope: LedgerScope): Lock | undefined => tryLock(fileOf(ledger, scope));

/**
 * Takes the lock of a scope as soon as it is free; undefined where another process has it all the time.
 * @throws Failure `storage`, and the signal's reason
 */
export const waitForScopeLock = async (
  ledger: string,
  scope: LedgerScope,
  patience: Omit<Parameters<typeof waitForLock>[0], keyof TitledFile>,
): Promise<Lock | undefined> => await waitForLock({ ...fileOf(ledger, scope), ...patience });

/** How many scopes of a ledger are being written now. @throws Failure `storage` */
export const lockedScopes = (ledger: string): number => {
  const folder = folderOf(ledger);
  let names: readonly string[];
  try {
    names = readdirSync(folder);
  } catch {
    return 0;
  }
  return names.filter((name) => scopeName.test(name) && isLocked(join(folder, name))).length;
};

/** A lock has the digest of its scope as its name; SQLite's own files beside it have more. */
const scopeName = /^[0-9a-f]{64}$/;

const fileOf = (ledger: string, scope: LedgerScope): TitledFile => ({
  path: join(folderOf(ledger), scopeDigest(scope)),
  title: "the lock of the ledger",
});

/** Beside the file itself: by whatever name the ledger is opened, its locks are the same. */
const folderOf = (ledger: string): string => `${realpathSync(ledger)}.locks`;
