/** What was sent: the ledger, in a file or in a database that machines share, and how inputs compare with it. */
import { readyLedger } from "./ledger.ts";
import type { RunLedger } from "./run-ledger.ts";

export { type EarlierOutcome, EarlierRuns } from "./earlier-runs.ts";
export type { Entry, EntryCounts, EntryFilter, EntryState, LedgerScope } from "./entries.ts";
export { type Ledger, openExistingLedger, openLedger } from "./ledger.ts";
export type { RecordedRequest, RunLedger, RunLedgerOptions } from "./run-ledger.ts";
export type { Settlement } from "./scope.ts";
export { type StandingRun, standingRuns, type Verification, verifyReading } from "./verify.ts";

/** Opens the ledger of a run. @throws as `RunLedger.open` */
export const openRunLedger = async (...options: Parameters<typeof RunLedger.open>): Promise<RunLedger> =>
  await (await import("./run-ledger.ts")).RunLedger.open(...options);

/** Loads the code that opens a ledger, before it is used. Undefined for a run without a ledger. */
export const loadLedger = async (path: string | undefined): Promise<void> =>
  void (await Promise.all([import("./run-ledger.ts"), path === undefined ? undefined : readyLedger(path)]));

/** Loads the code that examines the file of a ledger without changing it. */
export const loadExamination = () => import("./file-ledger.ts");
