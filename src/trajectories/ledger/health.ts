/** Looks at a ledger without changing it: whether it is whole, what is in it, who writes it now. */
import { readdirSync, realpathSync } from "node:fs";
import { join } from "node:path";
import { type Examined, examineDatabase, isLocked } from "../../database/index.ts";
import type { EntryState } from "./entries.ts";
import { applicationId, migrations, title } from "./ledger.ts";

export { sqliteVersion } from "../../database/index.ts";

/** What was found. */
export interface LedgerHealth extends Omit<Examined, "rows"> {
  /** Requests, and the groups in them, by what became of them. */
  readonly counts: ReadonlyMap<string, { readonly requests: number; readonly groups: number }>;
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
  const found = examineDatabase(
    { path, title, applicationId, migrations },
    "SELECT state, count(*) AS requests, sum(groups) AS groups FROM request GROUP BY state",
  );
  if (found === undefined) return undefined;
  const { rows, ...facts } = found;
  return {
    ...facts,
    counts: new Map(
      rows.map((row) => [row.text("state"), { requests: row.integer("requests"), groups: row.integer("groups") }]),
    ),
    writers: locksOf(path).filter(isLocked).length,
  };
};

/** A lock has the digest of its scope as its name; SQLite's own files beside it have more. */
const scopeName = /^[0-9a-f]{64}$/;

const locksOf = (path: string): readonly string[] => {
  const folder = `${realpathSync(path)}.locks`;
  try {
    return readdirSync(folder)
      .filter((name) => scopeName.test(name))
      .map((name) => join(folder, name));
  } catch {
    return [];
  }
};
