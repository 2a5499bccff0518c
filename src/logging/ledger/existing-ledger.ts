/** Opens, requires and examines an existing ledger. Loads the code of the database only then. */
import { resolve } from "node:path";
import type { DatabaseLocation, DatabaseWaitOptions } from "../../database/database.ts";
import { requireCreatable } from "../../system/files.ts";
import { isDatabaseUrl } from "../../text/locations.ts";
import { ledgerFile, ledgerMissing } from "./failures.ts";

/** Returns undefined if the ledger does not exist. @throws as `openDatabase` */
export const openExistingLedger = async (
  location: DatabaseLocation,
  options: DatabaseWaitOptions & { isForReading: boolean },
) => await (await import("./ledger.ts")).openLedger(location, { ...options, canCreate: false, recovers: true });

/** Checks that a run can open or create the ledger's file, and leaves no change. @throws Failure `storage` */
export const requireLedger = async (
  location: DatabaseLocation & { require: boolean },
  options: DatabaseWaitOptions & { isWritten: boolean },
) => {
  const { path, require } = location;
  if (isDatabaseUrl(path)) return;
  const ledger = await openExistingLedger(location, { ...options, isForReading: true });
  await ledger?.close();
  if (!ledger && require) throw ledgerMissing(path);
  const { withFileFailures } = await import("../../database/own-file.ts");
  if (options.isWritten) withFileFailures({ path, ...ledgerFile }, () => requireCreatable(resolve(path)));
};

/** Does not change the file. Returns undefined if the file does not exist. @throws Failure `storage` */
export const examineLedger: typeof import("./ledger.ts").examineLedger = async (path, host) =>
  await (await import("./ledger.ts")).examineLedger(path, host);
