/** The ledger of one run, or none: it has the requests of earlier runs, and this run records its requests in it. */

import type { DatabaseLocation, Lock } from "../database/index.ts";
import type { Host } from "../host.ts";
import { type Entry, isUnknown, type LedgerScope, makeIdempotencyKey, parseId } from "./entries.ts";
import { leaseLost, ledgerBusy, ledgerMissing, ledgerReplaced } from "./failures.ts";
import type { DestinationFacts, ScopeLedger, SizeLimits } from "./ledger.ts";
import { noWrittenFiles } from "./prior-outcomes.ts";
import type { RecordedOutcome } from "./writer.ts";

/** The options of a run that decide how its ledger is opened. */
export interface RunLedgerOptions {
  readonly host: Host;
  readonly modelId: string;
  readonly split: string;
  readonly batch: string | undefined;
  readonly account: string;
  /** Undefined for a run without a ledger. `require`: the ledger must exist already. */
  readonly ledger: (DatabaseLocation & { readonly require: boolean }) | undefined;
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
  const { ledger: location, dryRun, host, resendLogged, idempotency } = options;
  const { modelId: model, split, batch = null, account } = options;
  const scope: LedgerScope = { destination, account, model, split, batch };
  const make = !dryRun && location?.require !== true;
  const ledger =
    location === undefined ? undefined : await (await import("./ledger.ts")).openLedger(location, { ...options, make });
  if (location?.require === true && ledger === undefined) throw ledgerMissing(location.path);
  const path = ledger?.path ?? "";
  const isShared = ledger?.isShared === true;
  // Tells a deliberate second logging from the first. Without a ledger, each run is deliberate.
  const generation = ledger === undefined || resendLogged ? `${host.now()}-${host.random()}` : "";
  let scopeLedger: ScopeLedger | undefined;
  let destinationFacts: DestinationFacts = { sizes: { passed: undefined, refused: undefined }, echoesKey: false };
  let lock: Lock | undefined;
  /** The requests of this run. */
  const ownRequests = new Set<string>();
  /** The first row that may have changed since the requests of other runs were read. */
  let changedFrom = 0;
  let changes = 0;

  /** Reads what other runs found out about the address. */
  const readScope = async (): Promise<void> => {
    scopeLedger = await ledger?.scope(scope);
    destinationFacts = scopeLedger?.address ?? destinationFacts;
  };
  const saveFacts = async (found: DestinationFacts): Promise<void> => {
    destinationFacts = found;
    await scopeLedger?.saveFacts(found);
  };
  const requireLease = (): void => {
    if (isShared && lock?.isHeld() === false) throw leaseLost(path);
  };
  const requireIntact = (): void => {
    requireLease();
    if (ledger?.isIntact() === false) throw ledgerReplaced(`the ledger ${path}`);
    if (lock?.isHeld() === false) throw ledgerReplaced(`the lock of the ledger ${path}`);
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
    resultFacts: ledger === undefined ? null : { path, created: ledger.created },
    /** Files that runs wrote. */
    writtenFiles: ledger?.writtenFiles ?? noWrittenFiles,
    /** True if other runs may send groups of the same files meanwhile. */
    isShared,
    /** True if the service is known to honor `Idempotency-Key`: it echoed one. */
    get echoesKey(): boolean {
      return destinationFacts.echoesKey;
    },
    /** The largest body that the address is known to accept; undefined if no limit is known. */
    get maxBodyBytes(): number | undefined {
      return findSizeLimit(destinationFacts.sizes, host.now());
    },

    /**
     * Waits until no other run of the scope holds the ledger, and holds it. Requests in flight of runs that died become
     * unknown. A run that writes nothing holds nothing.
     * @param patience ends the wait. Default: the signal and `maxWaitMs` of the run
     * @throws Failure `ledger-busy`, `ledger-replaced`; the signal's reason
     */
    async acquire(patience?: { readonly signal: AbortSignal; readonly maxWaitMs: number }): Promise<void> {
      if (ledger === undefined || dryRun) return;
      requireIntact();
      const from = host.elapsed();
      const { signal = host.signal, maxWaitMs = options.maxWaitMs } = patience ?? {};
      lock = await ledger.acquireScope(scope, { host: { ...host, signal }, maxWaitMs, onWait: options.onWait });
      if (lock === undefined) throw ledgerBusy(path, host.elapsed() - from);
      await readScope();
      await scopeLedger?.recover();
    },
    /** Lets other runs of the scope hold the ledger. */
    release,

    /** True if another process wrote to the ledger since the last call. */
    async hasChanged(): Promise<boolean> {
      const before = changes;
      changes = (await ledger?.countChanges()) ?? 0;
      return changes !== before;
    },

    /** The requests of other runs, oldest first; from the second call on, those that may have changed since. */
    async *entries(): AsyncGenerator<Entry, void> {
      const isHeld = lock !== undefined;
      if (!isHeld) await readScope();
      let last = changedFrom - 1;
      let open: number | undefined;
      for await (const entry of scopeLedger?.entries(changedFrom) ?? []) {
        last = parseId(entry.id);
        if (ownRequests.has(entry.id)) continue;
        // While another run holds the ledger, it may try again what was not sent.
        if (isUnknown(entry.state) || (entry.state === "not_sent" && (isShared || !isHeld))) open ??= last;
        // The outcome of a request in flight of a run that is alive is not known: `begin` reports its groups as taken.
        if (entry.state !== "trying" || !isShared || !isHeld) yield entry;
      }
      changedFrom = open ?? last + 1;
    },

    /** The key that a request would have; null if it would have none, or another one in each run. */
    findPlannedKey: (marks: Uint8Array): string | null =>
      idempotency && location !== undefined && !resendLogged ? makeIdempotencyKey(scope, marks, "") : null,

    /** Records a request before its first byte is sent, or returns the dedup keys of groups that other runs have. */
    async recordRequest(request: {
      readonly marks: Uint8Array;
      readonly bytes: number;
      readonly frame: string;
    }): Promise<RecordedRequest | { readonly taken: Uint8Array }> {
      requireIntact();
      const now = host.now();
      // Nobody knows whether a service honors a request without a key.
      const key = idempotency ? makeIdempotencyKey(scope, request.marks, generation) : "";
      const entry = { ...request, key, input, now, generation: resendLogged ? generation : "" };
      const id = await scopeLedger?.recordRequest(entry);
      if (typeof id === "object") return id;
      if (id !== undefined) ownRequests.add(id);
      return { id, key, firstTried: now };
    },
    /** Is called before each piece of a body: the groups may be another run's by then. @throws Failure `lease-lost` */
    requireLease,
    /** Records another try of a request; false if a person resolved it meanwhile. */
    async recordRetry({ id }: RecordedRequest): Promise<boolean> {
      requireIntact();
      return id === undefined || scopeLedger === undefined || (await scopeLedger.recordRetry(id, host.now()));
    },
    async recordOutcome({ id }: RecordedRequest, settlement: RecordedOutcome): Promise<void> {
      if (id !== undefined) await scopeLedger?.recordOutcome(id, settlement);
    },
    /** Records that the address echoes keys. */
    recordKeyEcho: async (): Promise<void> => await saveFacts({ ...destinationFacts, echoesKey: true }),
    /** Records that a body of a size passed, or was too large. */
    async recordSize(bytes: number, outcome: "passed" | "refused"): Promise<void> {
      const sizes = addSize(destinationFacts.sizes, { bytes, outcome, now: host.now() });
      if (sizes !== destinationFacts.sizes) await saveFacts({ ...destinationFacts, sizes });
    },
    close,
  };
};

/** How long a size that was too large is not tried again: services raise their limits. */
const refusedMs = 24 * 60 * 60 * 1000;

/** The largest body worth a try; undefined if no body was too large. */
const findSizeLimit = ({ passed = 0, refused }: SizeLimits, now: number): number | undefined => {
  if (refused === undefined || now < refused.at || now - refused.at > refusedMs) return undefined;
  return Math.max(passed, Math.ceil(refused.bytes / 2));
};

/** Adds a size; returns the same value if the size tells nothing new. */
const addSize = (
  sizes: SizeLimits,
  { bytes, outcome, now }: { readonly bytes: number; readonly outcome: "passed" | "refused"; readonly now: number },
): SizeLimits => {
  const { passed, refused } = sizes;
  if (outcome === "refused") {
    const isKnown = refused !== undefined && findSizeLimit(sizes, now) !== undefined && refused.bytes <= bytes;
    // A smaller body is known to be too large.
    if (isKnown) return sizes;
    return { passed: passed !== undefined && passed < bytes ? passed : undefined, refused: { bytes, at: now } };
  }
  // Sizes that passed matter only if another one was too large.
  if (refused === undefined || (passed !== undefined && bytes <= passed)) return sizes;
  return bytes >= refused.bytes ? { passed: undefined, refused: undefined } : { passed: bytes, refused };
};
