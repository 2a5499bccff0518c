/** Records requests, and compares inputs with these records. */
import type { DatabaseLocation, DatabaseWaitOptions } from "../../database/database.ts";

/** Returns undefined if the ledger does not exist. @throws as `openDatabase` */
export const openExistingLedger = async (
  location: DatabaseLocation,
  options: DatabaseWaitOptions & { isForReading: boolean },
) => await (await import("./ledger.ts")).openLedger(location, { ...options, canCreate: false, recovers: true });

/** Does not change the file. Returns undefined if the file does not exist. @throws Failure `storage` */
export const examineLedger: typeof import("./ledger.ts").examineLedger = async (path, host) =>
  await (await import("./ledger.ts")).examineLedger(path, host);
