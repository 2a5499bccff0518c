/** The ledger of one run, or none: it has the requests of earlier runs, and this run records its requests in it. */

import type { DatabasePlace, Lock } from "../database/index.ts";
import type { Host } from "../host.ts";
import { nothingWritten } from "./earlier-runs.ts";
import { type Entry, isUnknown, keyOf, type LedgerScope, parseId } from "./entries.ts";
import { leaseLost, ledgerBusy, ledgerGone, ledgerMissing } from "./failures.ts";
import type { AddressFacts, FoundSizes, ScopeLedger } from "./ledger.ts";
import type { Settlement } from "./writer.ts";

/** The options of a run that decide how its ledger is opened. */
export interface RunLedgerOptions {
  readonly host: Host;
  readonly modelId: string;
  readonly split: string;
  readonly batch: string | undefined;
  readonly account: string;
  /** Undefined for a run without a ledger. `require`: the ledger must exist already. */
  readonly ledger: (DatabasePlace & { readonly require: boolean }) | undefined;
  /** How long the run waits for another run of the same scope. */
  readonly maxWaitMs: number;
  /** True if nothing will be written: no ledger is made, and no lock is taken. */
  readonly dryRun: boolean;
  /** True if groups are logged a second time on purpose. */
  readonly resendLogged: boolean;
  /** True if requests have an `Idempotency-Key`. */
  readonly idempotency: boolean;
  /** Called if the run waits for another run of the same scope. */
  readonly onWait: () => void;
  /** Called if the ledger's database does not answer, with the code of the obstacle. */
  readonly onAway: (code: string) => void;
}

/** Where a run sends its input, and the last name of the input. */
interface RunTarget {
  readonly destination: string;
  readonly input: string;
}

/** A request that is recorded as being tried. */
export interface RecordedRequest {
  /** Its entry in the ledger; undefined without a ledger. */
  readonly id: string | undefined;
  /** The same for every try of the same request, and for no other request; empty for a request without a key. */
  readonly key: string;
  /** Milliseconds since 1970. */
  readonly firstTried: number;
}

/**
 * The ledger of a run, or none. It must be closed. Requests are recorded while it is held. Each method throws a Failure of
 * code `storage`, `auth` or `unavailable` if the ledger cannot be used.
 */
export type RunLedger = Awaited<ReturnType<typeof openRunLedger>>;

/** Opens the ledger of a run, and holds nothing yet. @throws Failure `ledger-missing`; as `openDatabase` */
export const openRunLedger = async (options: RunLedgerOptions, { destination, input }: RunTarget) => {
  const { ledger: place, dryRun, host, resendLogged, idempotency } = options;
  const { modelId: model, split, batch = null, account } = options;
  const scope: LedgerScope = { destination, account, model, split, batch };
  const make = !dryRun && place?.require !== true;
  const ledger =
    place === undefined ? undefined : await (await import("./ledger.ts")).openLedger(place, { ...options, make });
  if (place?.require === true && ledger === undefined) throw ledgerMissing(place.path);
  const path = ledger?.path ?? "";
  const isShared = ledger?.isShared === true;
  // Tells a deliberate second logging from the first. Without a ledger, each run is deliberate.
  const generation = ledger === undefined || resendLogged ? `${host.now()}-${host.random()}` : "";
  let own: ScopeLedger | undefined;
  let address: AddressFacts = { sizes: { passed: undefined, refused: undefined }, echoesKey: false };
  let lock: Lock | undefined;
  /** The requests of this run. */
  const begun = new Set<string>();
  /** The first row that may have changed since the requests of other runs were read. */
  let changedFrom = 0;
  let changes = 0;

  /** Reads what other runs found out about the address. */
  const readScope = async (): Promise<void> => {
    own = await ledger?.scope(scope);
    address = own?.address ?? address;
  };
  const remember = async (found: AddressFacts): Promise<void> => {
    address = found;
    await own?.remember(found);
  };
  const requireLease = (): void => {
    if (isShared && lock?.isHeld() === false) throw leaseLost(path);
  };
  const requireThere = (): void => {
    requireLease();
    if (ledger?.isThere() === false) throw ledgerGone(`the ledger ${path}`);
    if (lock?.isHeld() === false) throw ledgerGone(`the lock of the ledger ${path}`);
  };
  const release = (): void => {
    lock?.release();
    lock = undefined;
  };
  const close = async (): Promise<void> => {
    release();
    await ledger?.close();
  };

  await readScope().catch(async (thrown: unknown) => {
    await close();
    throw thrown;
  });
  return {
    /** The ledger in the result of the run; null without a ledger. */
    facts: ledger === undefined ? null : { path, created: ledger.created },
    /** Files that runs wrote. */
    written: ledger?.written ?? nothingWritten,
    /** True if other runs may send groups of the same files meanwhile. */
    isShared,
    /** True if the service is known to honor `Idempotency-Key`: it echoed one. */
    get echoesKey(): boolean {
      return address.echoesKey;
    },
    /** The largest body that the address is known to accept; undefined if no limit is known. */
    get maxBytes(): number | undefined {
      return limitOf(address.sizes, host.now());
    },

    /**
     * Waits until no other run of the scope holds the ledger, and holds it. Requests in flight of runs that died become
     * unknown. A run that writes nothing holds nothing.
     * @param patience ends the wait. Default: the signal and `maxWaitMs` of the run
     * @throws Failure `ledger-busy`, `ledger-gone`; the signal's reason
     */
    async hold(patience?: { readonly signal: AbortSignal; readonly maxWaitMs: number }): Promise<void> {
      if (ledger === undefined || dryRun) return;
      requireThere();
      const from = host.elapsed();
      const { signal = host.signal, maxWaitMs = options.maxWaitMs } = patience ?? {};
      lock = await ledger.hold(scope, { host: { ...host, signal }, maxWaitMs, onWait: options.onWait });
      if (lock === undefined) throw ledgerBusy(path, host.elapsed() - from);
      await readScope();
      await own?.recover();
    },
    /** Lets other runs of the scope hold the ledger. */
    release,

    /** True if another process wrote to the ledger since the last call. */
    async hasNews(): Promise<boolean> {
      const before = changes;
      changes = (await ledger?.changes()) ?? 0;
      return changes !== before;
    },

    /** The requests of other runs, oldest first; from the second call on, those that may have changed since. */
    async *entries(): AsyncGenerator<Entry, void> {
      const isHeld = lock !== undefined;
      if (!isHeld) await readScope();
      let last = changedFrom - 1;
      let open: number | undefined;
      for await (const entry of own?.entries(changedFrom) ?? []) {
        last = parseId(entry.id);
        if (begun.has(entry.id)) continue;
        // While another run holds the ledger, it may try again what was not sent.
        if (isUnknown(entry.state) || (entry.state === "not_sent" && (isShared || !isHeld))) open ??= last;
        // The outcome of a request in flight of a run that is alive is not known: `begin` reports its groups as taken.
        if (entry.state !== "trying" || !isShared || !isHeld) yield entry;
      }
      changedFrom = open ?? last + 1;
    },

    /** The key that a request would have; null if it would have none, or another one in each run. */
    keyFor: (marks: Uint8Array): string | null =>
      idempotency && place !== undefined && !resendLogged ? keyOf(scope, marks, "") : null,

    /** Records a request before its first byte is sent, or returns the dedup keys of groups that other runs have. */
    async begin(request: {
      readonly marks: Uint8Array;
      readonly bytes: number;
      readonly frame: string;
    }): Promise<RecordedRequest | { readonly taken: Uint8Array }> {
      requireThere();
      const now = host.now();
      // Nobody knows whether a service honors a request without a key.
      const key = idempotency ? keyOf(scope, request.marks, generation) : "";
      const entry = { ...request, key, input, now, generation: resendLogged ? generation : "" };
      const id = await own?.begin(entry);
      if (typeof id === "object") return id;
      if (id !== undefined) begun.add(id);
      return { id, key, firstTried: now };
    },
    /** Is called before each piece of a body: the groups may be another run's by then. @throws Failure `lease-lost` */
    requireLease,
    /** Records another try of a request; false if a person resolved it meanwhile. */
    async again({ id }: RecordedRequest): Promise<boolean> {
      requireThere();
      return id === undefined || own === undefined || (await own.again(id, host.now()));
    },
    async settle({ id }: RecordedRequest, settlement: Settlement): Promise<void> {
      if (id !== undefined) await own?.settle(id, settlement);
    },
    /** Records that the address echoes keys. */
    rememberEcho: async (): Promise<void> => await remember({ ...address, echoesKey: true }),
    /** Records that a body of a size passed, or was too large. */
    async sized(bytes: number, outcome: "passed" | "refused"): Promise<void> {
      const sizes = sizesAfter(address.sizes, { bytes, outcome, now: host.now() });
      if (sizes !== address.sizes) await remember({ ...address, sizes });
    },
    close,
  };
};

/** How long a size that was too large is not tried again: services raise their limits. */
const refusedMs = 24 * 60 * 60 * 1000;

/** The largest body worth a try; undefined if no body was too large. */
const limitOf = ({ passed = 0, refused }: FoundSizes, now: number): number | undefined => {
  if (refused === undefined || now < refused.at || now - refused.at > refusedMs) return undefined;
  return Math.max(passed, Math.ceil(refused.bytes / 2));
};

/** Adds a size; returns the same value if the size tells nothing new. */
const sizesAfter = (
  sizes: FoundSizes,
  { bytes, outcome, now }: { readonly bytes: number; readonly outcome: "passed" | "refused"; readonly now: number },
): FoundSizes => {
  const { passed, refused } = sizes;
  if (outcome === "refused") {
    const isKnown = refused !== undefined && limitOf(sizes, now) !== undefined && refused.bytes <= bytes;
    // A smaller body is known to be too large.
    if (isKnown) return sizes;
    return { passed: passed !== undefined && passed < bytes ? passed : undefined, refused: { bytes, at: now } };
  }
  // Sizes that passed matter only if another one was too large.
  if (refused === undefined || (passed !== undefined && bytes <= passed)) return sizes;
  return bytes >= refused.bytes ? { passed: undefined, refused: undefined } : { passed: bytes, refused };
};
