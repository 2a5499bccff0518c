/** Knows which groups were logged, refused or may have been: every request is in it, on disk, before its first byte leaves. */
import type { Lock } from "../database/index.ts";
import { isDatabaseAddress } from "../files.ts";
import type { Host } from "../host.ts";
import type { Written } from "../send/reject/rejects-file.ts";
import type { Entry, EntryCounts, EntryFilter, LedgerScope } from "./entries.ts";
import type { ScopeLedger } from "./scope.ts";

/** The open ledger. Every way of using it throws a Failure of code `storage` where it can't be used. */
export interface Ledger {
  readonly path: string;
  /** Whether there was no ledger before; an empty file is none. */
  readonly created: boolean;
  /** Whether runs write a scope side by side, each groups of its own; else one at a time does. */
  readonly isShared: boolean;
  /** Whether it is the one that was opened: nobody deleted or replaced it since. */
  isThere(): boolean;
  /** A number that is another one once another process wrote to it. */
  changes(): Promise<number>;
  /** What is in it, and how many runs write it now. */
  counted(): Promise<{ readonly counts: EntryCounts; readonly writers: number }>;
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
interface HoldPatience {
  readonly host: Pick<Host, "elapsed" | "random" | "sleep" | "signal">;
  readonly maxWaitMs: number;
  /** Told that another run is waited for. */
  readonly onWait: () => void;
}

/** Where a ledger is. */
export interface LedgerPlace {
  /** A file, or the address of a database, without its password. */
  readonly path: string;
  readonly password?: string | undefined;
  /** Gives the password of a database that asks for one. */
  readonly passwordCommand?: (() => Promise<string>) | undefined;
}

/** How others, and a database that is away, are waited for. */
export interface Waiting {
  readonly host: Host;
  readonly maxWaitMs: number;
  /** Told that a database is away, and what is in the way. */
  readonly onAway: (code: string) => void;
}

/**
 * Opens the ledger; undefined where there is none and none is to be made. An empty file is none.
 * @throws Failure `storage`: locked, corrupt, of another version, no place to write, disk full; `auth`, `unavailable`
 */
export const openLedger = async (
  place: LedgerPlace,
  { make, ...waiting }: Waiting & { readonly make: boolean },
): Promise<Ledger | undefined> => {
  if (isDatabaseAddress(place.path)) return await atAddress(place, { ...waiting, make });
  const { openFile, holdsAnything } = await import("./file-ledger.ts");
  return make || holdsAnything(place.path) ? openFile(place.path, waiting) : undefined;
};

/**
 * Opens the ledger where there is one; undefined where there is none, which then is not made. What runs that died had in
 * flight is settled, unless the ledger is only read, from a place that can't be written.
 * @throws as `openLedger`
 */
export const openExistingLedger = async (
  place: LedgerPlace,
  { toRead, ...waiting }: Waiting & { readonly toRead: boolean },
): Promise<Ledger | undefined> =>
  isDatabaseAddress(place.path)
    ? await atAddress(place, { ...waiting, make: false, toRead })
    : await (await import("./file-ledger.ts")).openExistingFile(place.path, { ...waiting, toRead });

/** Loads what opens a ledger, before it is used. */
export const readyLedger = async (path: string): Promise<void> =>
  void (await (isDatabaseAddress(path) ? import("./postgres-ledger.ts") : import("./file-ledger.ts")));

const atAddress = async (
  { path, password, passwordCommand }: LedgerPlace,
  waiting: Waiting & { readonly make: boolean; readonly toRead?: boolean },
): Promise<Ledger | undefined> => {
  const { openPostgresLedger } = await import("./postgres-ledger.ts");
  return await openPostgresLedger({ path, title: "the ledger", password, passwordCommand, ...waiting });
};
