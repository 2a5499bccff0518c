/** The ledger of one run, or none: it has the requests of earlier runs, and this run records its requests in it. */
import type { DatabasePlace, Lock } from "../database/index.ts";
import { Failure } from "../failure.ts";
import type { Host } from "../host.ts";
import { nothingWritten, type Written } from "./earlier-runs.ts";
import { type Entry, isUnknown, type LedgerScope, parseId } from "./entries.ts";
import type { FoundSizes, Ledger, ScopeLedger } from "./ledger.ts";
import { keyOf, type Settlement } from "./writer.ts";

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
export class RunLedger {
  readonly #options: RunLedgerOptions;
  readonly #scope: LedgerScope;
  readonly #input: string;
  readonly #ledger: Ledger | undefined;
  /** Tells a deliberate second logging from the first. Without a ledger, each run is deliberate. */
  readonly #generation: string;
  #own: ScopeLedger | undefined;
  #lock: Lock | undefined;
  #sizes: FoundSizes = { passed: undefined, refused: undefined };
  #echoesKey = false;
  /** The requests of this run. */
  readonly #begun = new Set<string>();
  /** The first row that may have changed since the requests of other runs were read. */
  #changedFrom = 0;
  #changes = 0;

  private constructor(
    options: RunLedgerOptions,
    { ledger, destination, input }: RunTarget & { readonly ledger: Ledger | undefined },
  ) {
    const { modelId: model, split, batch = null, account, host, resendLogged } = options;
    this.#options = options;
    this.#scope = { destination, account, model, split, batch };
    this.#input = input;
    this.#ledger = ledger;
    this.#generation = ledger === undefined || resendLogged ? `${host.now()}-${host.random()}` : "";
  }

  /** Opens the ledger, and holds nothing yet. @throws Failure `ledger-missing`; as `openDatabase` */
  static async open(options: RunLedgerOptions, target: RunTarget): Promise<RunLedger> {
    const { ledger: choice, dryRun } = options;
    const make = !dryRun && choice?.require !== true;
    const ledger =
      choice === undefined ? undefined : await (await import("./ledger.ts")).openLedger(choice, { ...options, make });
    if (choice?.require === true && ledger === undefined) throw new Failure("ledger-missing", { path: choice.path });
    const own = new RunLedger(options, { ...target, ledger });
    try {
      await own.#readScope();
    } catch (thrown) {
      await own.close();
      throw thrown;
    }
    return own;
  }

  /** The ledger in the result of the run; null without a ledger. */
  get facts(): { readonly path: string; readonly created: boolean } | null {
    return this.#ledger === undefined ? null : { path: this.#ledger.path, created: this.#ledger.created };
  }

  /** Files that runs wrote. */
  get written(): Written {
    return this.#ledger?.written ?? nothingWritten;
  }

  /** True if the service is known to honor `Idempotency-Key`: it echoed one. */
  get echoesKey(): boolean {
    return this.#echoesKey;
  }

  /** The largest body that the address is known to accept; undefined if no limit is known. */
  get maxBytes(): number | undefined {
    return limitOf(this.#sizes, this.#options.host.now());
  }

  /**
   * Waits until no other run of the scope holds the ledger, and holds it. Requests in flight of runs that died become
   * unknown. A run that writes nothing holds nothing.
   * @param patience ends the wait. Default: the signal and `maxWaitMs` of the run
   * @throws Failure `ledger-busy`, `ledger-gone`; the signal's reason
   */
  async hold(patience?: { readonly signal: AbortSignal; readonly maxWaitMs: number }): Promise<void> {
    const { host, dryRun, onWait, maxWaitMs } = this.#options;
    if (this.#ledger === undefined || dryRun) return;
    this.#requireThere();
    const { path } = this.#ledger;
    const from = host.elapsed();
    this.#lock = await this.#ledger.hold(this.#scope, {
      host: { ...host, signal: patience?.signal ?? host.signal },
      maxWaitMs: patience?.maxWaitMs ?? maxWaitMs,
      onWait,
    });
    if (this.#lock === undefined) throw new Failure("ledger-busy", { path, waitedMs: host.elapsed() - from });
    await this.#readScope();
    await this.#own?.recover();
  }

  /** Lets other runs of the scope hold the ledger. */
  release(): void {
    this.#lock?.release();
    this.#lock = undefined;
  }

  /** True if another process wrote to the ledger since the last call. */
  async hasNews(): Promise<boolean> {
    const changes = (await this.#ledger?.changes()) ?? 0;
    const has = changes !== this.#changes;
    this.#changes = changes;
    return has;
  }

  /** The requests of other runs of the scope, oldest first; from the second call on, those that may have changed since. */
  async *entries(): AsyncGenerator<Entry, void> {
    if (this.#lock === undefined) await this.#readScope();
    const isHeld = this.#lock !== undefined;
    let last = this.#changedFrom - 1;
    let open: number | undefined;
    const isShared = this.#ledger?.isShared === true;
    for await (const entry of this.#own?.entries(this.#changedFrom) ?? []) {
      last = parseId(entry.id);
      if (this.#begun.has(entry.id)) continue;
      // While another run holds the ledger, it may try again what was not sent.
      const isOpen = isUnknown(entry.state) || (entry.state === "not_sent" && (isShared || !isHeld));
      if (isOpen) open ??= last;
      // The outcome of a request in flight of a run that is alive is not known: `begin` reports its groups as taken.
      if (entry.state !== "trying" || !isShared || !isHeld) yield entry;
    }
    this.#changedFrom = open ?? last + 1;
  }

  /** The key that a request would have; null if it would have none, or another one in each run. */
  keyFor(marks: Uint8Array): string | null {
    const { idempotency, ledger, resendLogged } = this.#options;
    return idempotency && ledger !== undefined && !resendLogged ? keyOf(this.#scope, marks, "") : null;
  }

  /**
   * Records a request before its first byte is sent, unless other runs have groups of it: then returns their dedup keys.
   * @throws Failure `ledger-gone`, `lease-lost`
   */
  async begin(request: {
    readonly marks: Uint8Array;
    readonly bytes: number;
    readonly frame: string;
  }): Promise<RecordedRequest | { readonly taken: Uint8Array }> {
    this.#requireThere();
    const now = this.#options.host.now();
    // Nobody knows whether a service honors a request without a key.
    const key = this.#options.idempotency ? keyOf(this.#scope, request.marks, this.#generation) : "";
    const generation = this.#options.resendLogged ? this.#generation : "";
    const id = await this.#own?.begin({ ...request, key, input: this.#input, now, generation });
    if (typeof id === "object") return id;
    if (id !== undefined) this.#begun.add(id);
    return { id, key, firstTried: now };
  }

  /** True if other runs may send groups of the same files meanwhile. */
  get isShared(): boolean {
    return this.#ledger?.isShared === true;
  }

  /** Is called before each piece of a body: the groups may be another run's by then. @throws Failure `lease-lost` */
  requireLease(): void {
    if (this.isShared && this.#lock?.isHeld() === false) {
      throw new Failure("lease-lost", { path: this.#ledger?.path ?? "" });
    }
  }

  /** Records another try of a request; false if a person resolved it meanwhile. */
  async again({ id }: RecordedRequest): Promise<boolean> {
    this.#requireThere();
    return id === undefined || this.#own === undefined || (await this.#own.again(id, this.#options.host.now()));
  }

  async settle({ id }: RecordedRequest, settlement: Settlement): Promise<void> {
    if (id !== undefined) await this.#own?.settle(id, settlement);
  }

  /** Records that the address echoes keys. */
  async rememberEcho(): Promise<void> {
    this.#echoesKey = true;
    await this.#own?.remember({ sizes: this.#sizes, echoesKey: true });
  }

  /** Records that a body of a size passed, or was too large. */
  async sized(bytes: number, outcome: "passed" | "refused"): Promise<void> {
    const found = sizesAfter(this.#sizes, { bytes, outcome, now: this.#options.host.now() });
    if (found === this.#sizes) return;
    this.#sizes = found;
    await this.#own?.remember({ sizes: found, echoesKey: this.#echoesKey });
  }

  async close(): Promise<void> {
    this.release();
    await this.#ledger?.close();
  }

  /** Reads what other runs found out about the address. */
  async #readScope(): Promise<void> {
    this.#own = await this.#ledger?.scope(this.#scope);
    if (this.#own === undefined) return;
    this.#sizes = this.#own.address.sizes;
    this.#echoesKey = this.#own.address.echoesKey;
  }

  #requireThere(): void {
    this.requireLease();
    const path = this.#ledger?.path ?? "";
    if (this.#ledger?.isThere() === false) throw new Failure("ledger-gone", { path, part: "ledger" });
    if (this.#lock?.isHeld() === false) throw new Failure("ledger-gone", { path, part: "lock" });
  }
}

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
