/** Looks at a ledger without changing it: whether it is whole, what is in it, who writes it now. */
import { type Examined, examineDatabase } from "../../database/index.ts";
import { countsIn, countsSql, type EntryCounts, type EntryState } from "./entries.ts";
import { applicationId, migrations, title } from "./file-ledger.ts";
import { lockedScopes } from "./lock.ts";

export { sqliteVersion } from "../../database/index.ts";

/** What a look at a ledger shows. */
export interface LedgerHealth extends Omit<Examined, "rows"> {
  readonly counts: EntryCounts;
  /** Runs that write it now. */
  readonly writers: number;
}

/** States that people ask about, in the order that they are told in. */
export const ledgerStates: readonly EntryState[] = [
  "logged",
  "assumed_logged",
  "unknown",
  "trying",
  "refused",
  "not_sent",
];

/** Examines the ledger at a path; undefined where there is none. @throws Failure `storage` */
export const examineLedger = (path: string): LedgerHealth | undefined => {
  const examined = examineDatabase({ path, title, applicationId, migrations }, countsSql("request"));
  if (examined === undefined) return undefined;
  const { rows, ...facts } = examined;
  return { ...facts, counts: countsIn(rows), writers: lockedScopes(path) };
};
