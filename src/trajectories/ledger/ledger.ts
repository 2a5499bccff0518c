/** Knows which groups were logged, refused or may have been: every request is in it, on disk, before its first byte leaves. */
import type { Lock } from "../../database/index.ts";
import type { Host } from "../../host.ts";
import type { Written } from "../reject/rejects-file.ts";
import type { Entry, EntryFilter, LedgerScope } from "./entries.ts";
import type { ScopeLedger } from "./scope.ts";

/** The open ledger. Every way of using it throws a Failure of code `storage` where it can't be used. */
export interface Ledger {
  readonly path: string;
  /** Whether there was no ledger before; an empty file is none. */
  readonly created: boolean;
  /** Whether it is the one that was opened: nobody deleted or replaced it since. */
  isThere(): boolean;
  /** A number that is another one once another process wrote to it. */
  changes(): Promise<number>;
  scope(scope: LedgerScope): Promise<ScopeLedger>;
  /**
   * Waits until no other run may write the scope, and holds it; undefined where another one does all the time.
   * @throws Failure `storage`, and the signal's reason
   */
  hold(scope: LedgerScope, patience: HoldPatience): Promise<Lock | undefined>;
  /** Digests of the files that runs wrote, by their paths. */
  readonly written: Written;
  /** Entries, oldest first, in bounded portions. */
  entries(filter: EntryFilter): AsyncIterable<Entry>;
  /** Settles an unknown entry by hand; false where there is none of this id that is unknown. */
  resolve(id: string, state: "assumed_logged" | "released"): Promise<boolean>;
  /** Forgets entries, but for those that are being tried or unknown, which would be sent again without them; how many. */
  forget(filter: EntryFilter): Promise<number>;
  close(): Promise<void>;
}

/** How long, and until when, others are waited for. */
export interface HoldPatience {
  readonly host: Pick<Host, "elapsed" | "random" | "sleep" | "signal">;
  readonly maxWaitMs: number;
  /** Told that another run is waited for. */
  readonly onWait: () => void;
}

/** How long other processes are waited for. */
export interface Waiting {
  readonly maxWaitMs: number;
}

/**
 * Opens the ledger, and makes a new one where there is none.
 * @throws Failure `storage`: locked, corrupt, of a newer rollcall, no place to write, disk full
 */
export const openLedger = async (path: string, waiting: Waiting): Promise<Ledger> =>
  (await import("./file-ledger.ts")).openFile(path, waiting);

/** Whether there is a ledger already. @throws Failure `storage` where nobody can say */
export const holdsAnything = async (path: string): Promise<boolean> =>
  (await import("./file-ledger.ts")).holdsAnything(path);

/**
 * Opens the ledger where there is one; undefined where there is none, which then is not made. What runs that died had in
 * flight is settled, unless the ledger is only read, from a place that can't be written.
 * @throws Failure `storage`
 */
export const openExistingLedger = async (
  path: string,
  options: Waiting & { readonly toRead: boolean },
): Promise<Ledger | undefined> => await (await import("./file-ledger.ts")).openExistingFile(path, options);
