/** The ledger as one run uses it, or the lack of one: what it has of earlier runs, and where this one writes its requests down. */
import type { DatabasePlace, Lock } from "../database/index.ts";
import { Failure } from "../failure.ts";
import type { Host } from "../host.ts";
import { nothingWritten, type Written } from "../send/reject/rejects-file.ts";
import { type Entry, isUnknown, type LedgerScope, parseId } from "./entries.ts";
import type { FoundSizes, Ledger, ScopeLedger } from "./ledger.ts";
import { keyOf, type Settlement } from "./writer.ts";

/** Which ledger a run uses. */
interface LedgerChoice extends DatabasePlace {
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
  /** Told that the ledger's database is away, and what is in the way. */
  readonly onAway: (code: string) => void;
}

/** Where a run sends what. */
interface RunPlace {
  readonly destination: string;
  /** The input, by its last name. */
  readonly input: string;
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

/**
 * A run's ledger, or the lack of one. Must be closed. Requests are written to it while it is held, which one run of its
 * scope can do at a time. Every way of using it throws a Failure of code `storage` where its file can't be used.
 */
export class RunLedger {
  readonly #options: RunLedgerOptions;
  readonly #scope: LedgerScope;
  readonly #input: string;
  readonly #ledger: Ledger | undefined;
  /** Tells a second logging that is meant from the first; without a ledger, a rerun is meant to log again. */
  readonly #generation: string;
  #own: ScopeLedger | undefined;
  #lock: Lock | undefined;
  #sizes: FoundSizes = { passed: undefined, refused: undefined };
  #echoesKey = false;
  /** The requests of this run. */
  readonly #begun = new Set<string>();
  /** The first request that may have changed since requests of other runs were read. */
  #changedFrom = 0;
  #changes = 0;

  private constructor(
    options: RunLedgerOptions,
    { ledger, destination, input }: RunPlace & { readonly ledger: Ledger | undefined },
  ) {
    const { modelId: model, split, batch = null, account, host, resendLogged } = options;
    this.#options = options;
    this.#scope = { destination, account, model, split, batch };
    this.#input = input;
    this.#ledger = ledger;
    this.#generation = ledger === undefined || resendLogged ? `${host.now()}-${host.random()}` : "";
  }

  /** Opens it, and holds nothing yet. @throws Failure `ledger-missing`, and all of code `storage`: nothing was sent then */
  static async open(options: RunLedgerOptions, place: RunPlace): Promise<RunLedger> {
    const { ledger: choice, dryRun } = options;
    const make = !dryRun && choice?.require !== true;
    const ledger =
      choice === undefined ? undefined : await (await import("./ledger.ts")).openLedger(choice, { ...options, make });
    if (choice?.require === true && ledger === undefined) throw new Failure("ledger-missing", { path: choice.path });
    const own = new RunLedger(options, { ...place, ledger });
    try {
      await own.#readScope();
    } catch (thrown) {
      await own.close();
      throw thrown;
    }
    return own;
  }

  /** What the result says of the ledger; null where there is none. */
  get facts(): { readonly path: string; readonly created: boolean } | null {
    return this.#ledger === undefined ? null : { path: this.#ledger.path, created: this.#ledger.created };
  }

  /** Files that runs wrote. */
  get written(): Written {
    return this.#ledger?.written ?? nothingWritten;
  }

  /** Whether the service is known to honour `Idempotency-Key`: it echoed one. */
  get echoesKey(): boolean {
    return this.#echoesKey;
  }

  /** The largest body that the address was found to take; undefined where none was found. */
  get maxBytes(): number | undefined {
    return limitOf(this.#sizes, this.#options.host.now());
  }

  /**
   * Waits until no other run of the scope holds the ledger, and holds it; what runs that died left in flight is settled as
   * unknown. Nothing is held where nothing will be written.
   * @param patience what ends the wait, and the longest that it lasts
   * @throws Failure `ledger-busy`, `ledger-gone`; the signal's reason
   */
  async hold(
    patience: { readonly signal: AbortSignal; readonly maxWaitMs: number } | undefined = undefined,
  ): Promise<void> {
    const { host, dryRun, onWait, maxWaitMs } = this.#options;
    if (this.#ledger === undefined || dryRun) return;
    this.#requireThere();
    const { path } = this.#ledger;
    const { elapsed, random, sleep, signal } = host;
    const waiter = { elapsed, random, sleep, signal: patience?.signal ?? signal };
    const from = elapsed();
    this.#lock = await this.#ledger.hold(this.#scope, {
      host: waiter,
      maxWaitMs: patience?.maxWaitMs ?? maxWaitMs,
      onWait,
    });
    if (this.#lock === undefined) {
      throw new Failure("ledger-busy", { path, waitedMs: elapsed() - from });
    }
    await this.#readScope();
    await this.#own?.recover();
  }

  /** Lets other runs of the scope have it. */
  release(): void {
    this.#lock?.release();
    this.#lock = undefined;
  }

  /** Whether another process wrote to the ledger since this was last asked. */
  async hasNews(): Promise<boolean> {
    const changes = (await this.#ledger?.changes()) ?? 0;
    const has = changes !== this.#changes;
    this.#changes = changes;
    return has;
  }

  /** Requests that other runs made for the scope, oldest first; from the second time on those that may have changed since. */
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
      // What a run has in flight that goes on is nothing that is known: whoever begins it too is told.
      if (entry.state !== "trying" || !isShared || !isHeld) yield entry;
    }
    this.#changedFrom = open ?? last + 1;
  }

  /** The key that a request would go with; null where it goes without one, or with another in every run. */
  keyFor(marks: Uint8Array): string | null {
    const { idempotency, ledger, resendLogged } = this.#options;
    return idempotency && ledger !== undefined && !resendLogged ? keyOf(this.#scope, marks, "") : null;
  }

  /** Writes a request down before its first byte leaves, unless other runs have groups of it: those are given. @throws Failure `ledger-gone`, `lease-lost` */
  async begin(request: {
    readonly marks: Uint8Array;
    readonly bytes: number;
    readonly frame: string;
  }): Promise<RecordedRequest | { readonly taken: Uint8Array }> {
    this.#requireThere();
    const now = this.#options.host.now();
    // A request that went without a key is never known to be honoured.
    const key = this.#options.idempotency ? keyOf(this.#scope, request.marks, this.#generation) : "";
    const generation = this.#options.resendLogged ? this.#generation : "";
    const id = await this.#own?.begin({ ...request, key, input: this.#input, now, generation });
    if (typeof id === "object") return id;
    if (id !== undefined) this.#begun.add(id);
    return { id, key, firstTried: now };
  }

  /** Whether runs of other machines send groups of the same files meanwhile. */
  get isShared(): boolean {
    return this.#ledger?.isShared === true;
  }

  /** Looks, before each piece of a body, whether its groups are still this run's to send. @throws Failure `lease-lost` */
  requireLease(): void {
    if (this.isShared && this.#lock?.isHeld() === false) {
      throw new Failure("lease-lost", { path: this.#ledger?.path ?? "" });
    }
  }

  /** Writes down that a request is tried once more; false where somebody settled it by hand meanwhile. */
  async again({ id }: RecordedRequest): Promise<boolean> {
    this.#requireThere();
    return id === undefined || this.#own === undefined || (await this.#own.again(id, this.#options.host.now()));
  }

  async settle({ id }: RecordedRequest, settlement: Settlement): Promise<void> {
    if (id !== undefined) await this.#own?.settle(id, settlement);
  }

  /** Writes down that the address echoes keys. */
  async rememberEcho(): Promise<void> {
    this.#echoesKey = true;
    await this.#own?.remember({ sizes: this.#sizes, echoesKey: true });
  }

  /** Takes into account that a body of a size passed, or was too large. */
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

  /** Reads what is known of the scope, which another run may have begun, and of its address. */
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
