/** Reads the requests of earlier runs, and records the requests of a run. */
import type { DatabaseLocation } from "../../database/database.ts";
import type { Lock } from "../../database/own-file.ts";
import { type Failure, isFailure } from "../../failure.ts";
import { type Host, isDatabaseUrl } from "../../system/host.ts";
import { dayMs } from "../../text/units.ts";
import { computeChecksum, formatId, isUnknown, type LedgerScope, makeIdempotencyKey, parseId } from "./entries.ts";
import { leaseLost, ledgerBusy, ledgerMissing, ledgerReplaced } from "./failures.ts";
import type { NewEntry, RecordedOutcome } from "./file-writer.ts";
import type { DestinationState, Ledger } from "./ledger.ts";

/** `startsNew` allows to create a ledger in PostgreSQL. */
export type LedgerLocation = DatabaseLocation & Readonly<{ require: boolean; startsNew?: boolean }>;

export type LedgerPolicy = Readonly<{
  modelId: string;
  split: string;
  batch: string | undefined;
  account: string;
  ledger: LedgerLocation | undefined;
  maxWaitMs: number;
  dryRun: boolean;
  resendLogged: boolean;
  hasIdempotencyKeys: boolean;
  /** True for the local service. Other services must echo a key first. */
  honorsKeys: boolean;
}>;

export type LedgerEvents = Readonly<{
  onOpen: (ledger: Pick<Ledger, "path" | "created" | "upgradedFrom">) => void;
  onWait: (leaseMs?: number) => void;
  onUnavailable: (code: string) => void;
}>;

/** `input` is the name of the first input. */
type RequestRecorderOptions = LedgerPolicy & LedgerEvents & Readonly<{ host: Host; input: string }>;

export type RecordedRequest = Readonly<{
  id: string | undefined;
  /** The `Idempotency-Key` of all attempts; empty if keys are off. */
  key: string;
  /** Milliseconds since 1970. */
  firstTried: number;
}>;

type UnrecordedRequest = Pick<NewEntry, "dedupKeys" | "bytes" | "envelopeDigest"> & Partial<Pick<NewEntry, "sampled">>;

/** Without a ledger, the methods record no requests. */
export class RequestRecorder {
  readonly #options: RequestRecorderOptions;
  #scope: LedgerScope;
  #ledger: Ledger | undefined;
  readonly #ownRequests = new Set<string>();
  #facts: DestinationState = { passed: undefined, refused: undefined, echoesKey: false };
  /** True if the service echoed a key before this run. */
  #echoedBefore: boolean | undefined;
  #lock: Lock | undefined;
  #replaced: Failure | undefined;
  #scopeRow: number | undefined;
  /** The first row that may have changed since the last read. */
  #changedFrom = 0;
  #revision = 0;
  /** A run that can log groups again needs new idempotency keys. */
  readonly #nonce: string;

  constructor(options: RequestRecorderOptions) {
    const { host, resendLogged, modelId: model, split, batch = null, account, ledger } = options;
    this.#options = options;
    this.#scope = { destination: "", account, model, split, batch };
    this.#nonce = !ledger || resendLogged ? `${host.now()}-${host.random()}` : "";
  }

  /** A dry run does not create the ledger. @throws Failure `ledger-missing`; as `openDatabase` */
  async open(destination: string) {
    const { ledger: location, dryRun } = this.#options;
    this.#scope = { ...this.#scope, destination };
    if (!location) return;
    const { openLedger } = await import("./ledger.ts");
    const { path, require, startsNew } = location;
    // A ledger at another address of PostgreSQL would log all groups again.
    const mustExist = require || (isDatabaseUrl(path) && !startsNew);
    this.#ledger = await openLedger(location, { ...this.#options, canCreate: !dryRun && !mustExist });
    if (mustExist && !this.#ledger) throw ledgerMissing(path, require);
    if (this.#ledger) this.#options.onOpen(this.#ledger);
  }

  get isShared() {
    return this.#ledger?.isShared === true;
  }

  get now() {
    return this.#ledger?.now ?? this.#options.host.now;
  }

  get resultFacts() {
    const { ledger: location } = this.#options;
    const { path, created } = this.#ledger ?? { path: location?.path, created: false };
    return path === undefined ? null : { path, created };
  }

  /** True if this run may resend the request. An echo during this run has no effect. */
  isKeyHonored({ key, firstTried }: RecordedRequest, isEchoed = this.#echoedBefore === true && this.#facts.echoesKey) {
    const { hasIdempotencyKeys, honorsKeys } = this.#options;
    return hasIdempotencyKeys && key !== "" && (honorsKeys || isEchoed) && isRecent(firstTried, this.now());
  }

  /** True if a later run may resend the request. */
  willHonorKey = (request: RecordedRequest) => this.isKeyHonored(request, this.#facts.echoesKey);

  /** The limit for request bodies; undefined without a recent answer 413. */
  get sizeLimit() {
    const { passed = 0, refused } = this.#facts;
    if (!refused || !isRecent(refused.at, this.now())) return undefined;
    return { bytes: Math.max(passed, Math.ceil(refused.bytes / 2)), refusedBytes: refused.bytes };
  }

  /** For a file, waits until no other run holds the scope. Sets requests of dead runs to `unknown`. */
  async acquire(wait: { signal?: AbortSignal; maxWaitMs?: number } = {}) {
    const { host, dryRun, onWait } = this.#options;
    const { signal, maxWaitMs = this.#options.maxWaitMs } = wait;
    const ledger = this.#ledger;
    if (!ledger || dryRun) return;
    this.#requireIntact();
    const from = host.elapsed();
    this.#lock = await ledger.acquireScope(this.#scope, { host, signal, maxWaitMs, onWait });
    if (!this.#lock) throw ledgerBusy(ledger.path, host.elapsed() - from);
    await this.#readFacts();
    await ledger.recover(this.#scope);
  }

  release() {
    this.#lock?.release();
    this.#lock = undefined;
  }

  async hasChanged() {
    const before = this.#revision;
    this.#revision = (await this.#ledger?.readRevision()) ?? 0;
    return this.#revision !== before;
  }

  /** Yields the requests of other accounts to the same URL, model, split and batch. */
  async *entriesOfOtherAccounts() {
    yield* this.#ledger?.entriesOfOtherAccounts(this.#scope) ?? [];
  }

  async *allEntries(firstRow = 0) {
    yield* this.#ledger?.scopeEntries(this.#scope, firstRow) ?? [];
  }

  /** Yields requests of other runs, oldest first. Later calls skip requests that cannot have changed. */
  async *entries() {
    const { isShared } = this;
    const isHeld = this.#lock !== undefined;
    if (!isHeld) await this.#readFacts();
    let last = this.#changedFrom - 1;
    let firstOpen: number | undefined;
    for await (const entry of this.#ledger?.scopeEntries(this.#scope, this.#changedFrom) ?? []) {
      last = parseId(entry.id);
      if (this.#ownRequests.has(entry.id)) continue;
      // If other runs can use the scope, they may retry requests that were not sent.
      if (isUnknown(entry.state) || (entry.state === "not_sent" && !isHeld)) firstOpen ??= last;
      // In a shared ledger, `recordRequest` reports the groups of requests in flight.
      if (entry.state !== "trying" || !isShared || !isHeld) yield entry;
    }
    this.#changedFrom = firstOpen ?? last + 1;
  }

  /** Returns an empty key if keys are off. */
  #makeKey = (dedupKeys: Uint8Array) =>
    this.#options.hasIdempotencyKeys ? makeIdempotencyKey(this.#scope, dedupKeys, this.#nonce) : "";

  /** Returns an empty key if keys are off, or if each run has new keys. */
  findPlannedKey = (dedupKeys: Uint8Array) => (this.#nonce === "" ? this.#makeKey(dedupKeys) : "");

  async recordRequest(request: UnrecordedRequest): Promise<RecordedRequest | { claimed: Uint8Array }> {
    this.#requireIntact();
    const firstTried = this.now();
    const key = this.#makeKey(request.dedupKeys);
    if (!this.#ledger) return { id: undefined, key, firstTried };
    this.#scopeRow ??= await this.#ledger.makeScope(this.#scope);
    const content = { sampled: new Uint8Array(), ...request, key, input: this.#options.input, firstTried };
    const entry = { ...content, checksum: computeChecksum(this.#scope, content), nonce: this.#nonce };
    const row = await this.#ledger.recordRequest(this.#scopeRow, entry);
    if (typeof row === "object") return row;
    const id = formatId(row);
    this.#ownRequests.add(id);
    return { id, key, firstTried };
  }

  /** @throws Failure `lease-lost` */
  requireLease() {
    const ledger = this.#ledger;
    if (ledger?.isShared && this.#lock?.isHeld() === false) throw leaseLost(ledger.path);
  }

  async recordRetry({ id }: RecordedRequest) {
    this.#requireIntact();
    return id === undefined || (await this.#ledger?.recordRetry(parseId(id), this.now())) !== false;
  }

  /** This run knows the outcome, so a replaced ledger stops only the next request. */
  async recordOutcome({ id }: RecordedRequest, outcome: RecordedOutcome) {
    if (id === undefined || this.#replaced) return;
    // `ledger resolve` can change an unknown outcome, as of another run.
    if (outcome.state === "unknown") this.#ownRequests.delete(id);
    await this.#ledger?.recordOutcome(parseId(id), outcome).catch((thrown: unknown) => {
      if (!isFailure(thrown, "ledger-replaced")) throw thrown;
      this.#replaced = thrown;
    });
  }

  /** The failure if the ledger was replaced during the run. */
  get replaced() {
    return this.#replaced;
  }

  async recordKeyEcho(echoesKey: boolean) {
    if (!this.#options.honorsKeys && this.#facts.echoesKey !== echoesKey) await this.#saveFacts({ echoesKey });
  }

  async recordPassedSize(bytes: number) {
    const { passed = 0, refused } = this.#facts;
    if (bytes <= passed) return;
    this.#facts = { ...this.#facts, passed: bytes, refused: refused && bytes < refused.bytes ? refused : undefined };
    if (refused) await this.#saveFacts({});
  }

  async recordRefusedSize(bytes: number) {
    const { passed = bytes, refused } = this.#facts;
    if (refused && isRecent(refused.at, this.now()) && refused.bytes <= bytes) return;
    await this.#saveFacts({ passed: passed < bytes ? passed : undefined, refused: { bytes, at: this.now() } });
  }

  readOtherLeaseMs = async () => await this.#ledger?.readOtherLeaseMs?.();

  async close() {
    this.release();
    await this.#ledger?.close();
  }

  #requireIntact() {
    this.requireLease();
    const ledger = this.#ledger;
    if (ledger?.isIntact() === false) this.#replaced ??= ledgerReplaced(`the ledger ${ledger.path}`);
    if (this.#replaced) throw this.#replaced;
    if (ledger && this.#lock?.isHeld() === false) throw ledgerReplaced(`the lock of the ledger ${ledger.path}`);
  }

  async #readFacts() {
    this.#facts = (await this.#ledger?.readFacts(this.#scope)) ?? this.#facts;
    this.#echoedBefore ??= this.#facts.echoesKey;
  }

  async #saveFacts(changed: Partial<DestinationState>) {
    this.#facts = { ...this.#facts, ...changed };
    const { passed, refused } = this.#facts;
    if (!this.#replaced) await this.#ledger?.saveFacts(this.#scope, { passed, refused, ...changed });
  }
}

/**
 * A service honors a key for a day after the first attempt (guarantees.md). A refused size expires, too, because the
 * service may raise its limit. A time in the future means that the clock was set back.
 */
const isRecent = (at: number, now: number) => at <= now && now - at < dayMs;
