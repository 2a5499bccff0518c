/** The ledger as one run uses it, or the lack of one: what it has of earlier runs, and where this one writes its requests down. */
import type { Lock } from "../../database/index.ts";
import { Failure } from "../../failure.ts";
import type { Host } from "../../host.ts";
import type { Written } from "../reject/rejects-file.ts";
import type { Entry, LedgerScope } from "./entries.ts";
import { holdsAnything, type Ledger, openLedger } from "./ledger.ts";
import { waitForScopeLock } from "./lock.ts";
import { type FoundSizes, keyOf, type ScopeLedger, type Settlement } from "./scope.ts";

/** Which ledger a run uses. */
export interface LedgerChoice {
  readonly path: string;
  /** Whether there must be one already. */
  readonly require: boolean;
}

/** What of a run decides how its ledger is opened. */
export interface RunLedgerOptions {
  readonly host: Host;
  readonly modelId: string;
  readonly split: string;
  readonly batch: string | undefined;
  readonly account: string;
  /** Undefined for none at all. */
  readonly ledger: LedgerChoice | undefined;
  /** How long another run of the same scope is waited for. */
  readonly maxWaitMs: number;
  /** Whether nothing will be written: no ledger is made, and no lock taken. */
  readonly dryRun: boolean;
  /** Whether groups are logged a second time on purpose. */
  readonly resendLogged: boolean;
  /** Whether requests go with an `Idempotency-Key`. */
  readonly idempotency: boolean;
  /** Told that another run of the same scope is waited for. */
  readonly onWait: () => void;
}

/** A request that is written down as being tried. */
export interface RecordedRequest {
  /** Its entry in the ledger; undefined where there is none. */
  readonly id: string | undefined;
  /** The same for every try of the same request, and for no other request; empty where it goes without one. */
  readonly key: string;
  /** When it was tried first. */
  readonly firstTried: number;
}

/** A run's ledger. Must be closed. Every way of using it throws a Failure of code `storage` where its file can't be used. */
export interface RunLedger {
  /** What the result says of the ledger; null where there is none. */
  readonly facts: { readonly path: string; readonly created: boolean } | null;
  /** Requests that were made for the scope, oldest first. */
  entries(): Iterable<Entry>;
  /** Files that runs wrote. */
  readonly written: Written;
  /** Whether the service is known to honour `Idempotency-Key`: it echoed one. */
  readonly echoesKey: boolean;
  /** The largest body that the address was found to take; undefined where none was found. */
  readonly maxBytes: number | undefined;
  /** Writes a request down before its first byte leaves. @throws Failure `ledger-gone` */
  begin(request: { readonly marks: Uint8Array; readonly bytes: number; readonly frame: string }): RecordedRequest;
  /** Writes down that a request is tried once more; false where somebody settled it by hand meanwhile. */
  again(request: RecordedRequest): boolean;
  settle(request: RecordedRequest, settlement: Settlement): void;
  /** Writes down what the address was found to do. */
  remember(found: { readonly echoesKey: true }): void;
  /** Takes into account that a body of a size passed, or was too large. */
  sized(bytes: number, outcome: "passed" | "refused"): void;
  close(): void;
}

/**
 * Opens a run's ledger: its scope's lock held, and what a run that died left behind settled as unknown.
 * @param destination what tells this log address, or this local store, from others
 * @param input last name of the first input
 * @throws Failure `ledger-missing`, `ledger-busy`, and all of code `storage`: nothing was sent then
 */
export const openRunLedger = async (
  options: RunLedgerOptions,
  { destination, input }: { readonly destination: string; readonly input: string },
): Promise<RunLedger> => {
  const { modelId: model, split, batch = null, account, ledger: choice, dryRun } = options;
  const scope = { destination, account, model, split, batch };
  try {
    const holds = choice !== undefined && holdsAnything(choice.path);
    if (choice?.require === true && !holds) throw new Failure("ledger-missing", { path: choice.path });
    if (choice === undefined || (dryRun && !holds)) return runLedger(options, { scope, input });
    const ledger = openLedger(choice.path, options);
    try {
      const lock = dryRun ? undefined : await takeLock(ledger, { scope, ...options });
      const own = ledger.scope(scope);
      if (!dryRun) own.recover();
      return runLedger(options, { scope, input, opened: { ledger, own, lock } });
    } catch (thrown) {
      ledger.close();
      throw thrown;
    }
  } catch (thrown) {
    throw thrown instanceof Failure && thrown.code === "storage" ? thrown.also({ unsent: true }) : thrown;
  }
};

const takeLock = async (
  { path }: Ledger,
  { scope, host, maxWaitMs, onWait }: RunLedgerOptions & { readonly scope: LedgerScope },
): Promise<Lock> => {
  const from = host.elapsed();
  const lock = await waitForScopeLock(path, scope, { host, maxWaitMs, onWait });
  if (lock !== undefined) return lock;
  throw new Failure("ledger-busy", { path, waitedMs: host.elapsed() - from }, { retryable: true });
};

interface Opened {
  readonly ledger: Ledger;
  readonly own: ScopeLedger;
  readonly lock: Lock | undefined;
}

const runLedger = (
  { host, resendLogged, idempotency }: RunLedgerOptions,
  {
    scope,
    input,
    opened,
  }: { readonly scope: LedgerScope; readonly input: string; readonly opened?: Opened | undefined },
): RunLedger => {
  const { ledger, own, lock } = opened ?? {};
  let { sizes, echoesKey } = own?.address ?? { sizes: { passed: undefined, refused: undefined }, echoesKey: false };
  const requireThere = (): void => {
    if (ledger?.isThere() === false) throw new Failure("ledger-gone", { path: ledger.path, part: "ledger" });
    if (lock?.isHeld() === false) throw new Failure("ledger-gone", { path: ledger?.path ?? "", part: "lock" });
  };
  // Tells a second logging that is meant from the first; without a ledger, a rerun is meant to log again.
  const generation = own === undefined || resendLogged ? `${host.now()}-${host.random()}` : "";
  return {
    facts: ledger === undefined ? null : { path: ledger.path, created: ledger.created },
    entries: () => own?.entries() ?? [],
    written: ledger?.written ?? nothingWritten,
    get echoesKey() {
      return echoesKey;
    },
    get maxBytes() {
      return limitOf(sizes, host.now());
    },
    begin: (request) => {
      requireThere();
      const now = host.now();
      // A request that went without a key is never known to be honoured.
      const key = idempotency ? keyOf(scope, request.marks, generation) : "";
      return { id: own?.begin({ ...request, key, input, now }), key, firstTried: now };
    },
    again: ({ id }) => {
      requireThere();
      return id === undefined || own === undefined || own.again(id, host.now());
    },
    settle: ({ id }, settlement) => {
      if (id !== undefined) own?.settle(id, settlement);
    },
    remember: () => {
      echoesKey = true;
      own?.remember({ sizes, echoesKey });
    },
    sized: (bytes, outcome) => {
      const found = sizesAfter(sizes, { bytes, outcome, now: host.now() });
      if (found === sizes) return;
      sizes = found;
      own?.remember({ sizes, echoesKey });
    },
    close: () => {
      lock?.release();
      ledger?.close();
    },
  };
};

/** How long a size that was too large is not tried again: limits of services are raised. */
const refusedMs = 24 * 60 * 60 * 1000;

/** The largest body worth a try; undefined where nothing is known against any. */
const limitOf = ({ passed = 0, refused }: FoundSizes, now: number): number | undefined => {
  if (refused === undefined || now < refused.at || now - refused.at > refusedMs) return undefined;
  return Math.max(passed, Math.ceil(refused.bytes / 2));
};

/** What is known of sizes after one more; the same value where it tells nothing new. */
const sizesAfter = (
  sizes: FoundSizes,
  { bytes, outcome, now }: { readonly bytes: number; readonly outcome: "passed" | "refused"; readonly now: number },
): FoundSizes => {
  const { passed, refused } = sizes;
  if (outcome === "refused") {
    const isKnown = refused !== undefined && limitOf(sizes, now) !== undefined && refused.bytes <= bytes;
    // One that is refused again though a smaller one is known to be too large tells nothing.
    if (isKnown) return sizes;
    return { passed: passed !== undefined && passed < bytes ? passed : undefined, refused: { bytes, at: now } };
  }
  // What passes matters beside what did not: where nothing was too large, nothing is kept.
  if (refused === undefined || (passed !== undefined && bytes <= passed)) return sizes;
  return bytes >= refused.bytes ? { passed: undefined, refused: undefined } : { passed: bytes, refused };
};

const nothingWritten: Written = { digest: () => undefined, remember: () => undefined };
