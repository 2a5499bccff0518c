/** Reads the requests of earlier runs, and records the requests of a run. */
import type { DatabaseLocation, Lock } from "../database/index.ts";
import type { Host } from "../host.ts";
import { dayMs } from "../units.ts";
import { formatId, isUnknown, type LedgerScope, makeIdempotencyKey, parseId } from "./entries.ts";
import { leaseLost, ledgerBusy, ledgerMissing, ledgerReplaced } from "./failures.ts";
import type { NewEntry, RecordedOutcome } from "./file-writer.ts";
import type { DestinationFacts } from "./ledger.ts";
import { openWrittenFiles } from "./prior-outcomes.ts";

export type RunLedgerOptions = Readonly<{
  host: Host;
  modelId: string;
  split: string;
  batch: string | undefined;
  account: string;
  ledger: (DatabaseLocation & { require: boolean }) | undefined;
  maxWaitMs: number;
  dryRun: boolean;
  resendLogged: boolean;
  hasIdempotencyKeys: boolean;
  /** True for the local service. Other services must echo a key first. */
  honorsKeys: boolean;
  onWait: (leaseMs?: number) => void;
  onUnavailable: (code: string) => void;
}>;

export type RecordedRequest = Readonly<{
  id: string | undefined;
  /** The `Idempotency-Key` of all attempts; empty if keys are off. */
  key: string;
  /** Milliseconds since 1970. */
  firstTried: number;
}>;

/** Without a ledger, the methods record no requests. */
export type RunLedger = Awaited<ReturnType<typeof openRunLedger>>;

export const openRunLedger = async (
  options: RunLedgerOptions,
  { destination, input }: { destination: string; input: string },
) => {
  const { ledger: location, dryRun, host, resendLogged, hasIdempotencyKeys } = options;
  const { modelId: model, split, batch = null, account } = options;
  const scope: LedgerScope = { destination, account, model, split, batch };
  const canCreate = !dryRun && !location?.require;
  const ledger =
    location &&
    (await (await import("./ledger.ts")).openLedger(location, { ...options, canCreate, readsContents: !dryRun }));
  if (location?.require && !ledger) throw ledgerMissing(location.path);
  const { path = "", isShared = false } = ledger ?? {};
  // A run that can log groups again needs new idempotency keys.
  const generation = !ledger || resendLogged ? `${host.now()}-${host.random()}` : "";
  const now = ledger?.now ?? host.now;
  let facts: DestinationFacts = { sizes: { passed: undefined, refused: undefined }, echoesKey: false };
  /** True if the service echoed a key before this run. */
  let echoedBefore: boolean | undefined;
  let lock: Lock | undefined;
  let scopeRow: number | undefined;
  const ownRequests = new Set<string>();
  /** The first row that may have changed since the last read. */
  let changedFrom = 0;
  let revision = 0;

  const readFacts = async () => {
    facts = (await ledger?.readFacts(scope)) ?? facts;
    echoedBefore ??= facts.echoesKey;
  };
  const saveFacts = async (changed: DestinationFacts) => {
    facts = changed;
    await ledger?.saveFacts(scope, facts);
  };
  const requireLease = () => {
    if (isShared && lock?.isHeld() === false) throw leaseLost(path);
  };
  const requireIntact = () => {
    requireLease();
    if (ledger?.isIntact() === false) throw ledgerReplaced(`the ledger ${path}`);
    if (lock?.isHeld() === false) throw ledgerReplaced(`the lock of the ledger ${path}`);
  };
  const release = () => {
    lock?.release();
    lock = undefined;
  };

  return {
    resultFacts: ledger ? { path, created: ledger.created } : null,
    writtenFiles: ledger?.writtenFiles ?? openWrittenFiles(),
    /** True if this run may resend an unknown request. An echo during this run has no effect. */
    get honorsKeys() {
      return options.honorsKeys || echoedBefore === true;
    },
    get willHonorKeys() {
      return options.honorsKeys || facts.echoesKey;
    },
    now,
    /** The limit for request bodies; undefined without a recent answer 413. */
    get sizeLimit() {
      const { passed = 0, refused } = facts.sizes;
      if (!refused || !isRecent(refused, now())) return undefined;
      return { bytes: Math.max(passed, Math.ceil(refused.bytes / 2)), refusedBytes: refused.bytes };
    },
    /** For a ledger file, waits until no other run holds the scope. Sets requests of dead runs to `unknown`. */
    async acquire({ signal, maxWaitMs } = { signal: host.signal, maxWaitMs: options.maxWaitMs }) {
      if (!ledger || dryRun) return;
      requireIntact();
      const from = host.elapsed();
      lock = await ledger.acquireScope(scope, { host: { ...host, signal }, maxWaitMs, onWait: options.onWait });
      if (!lock) throw ledgerBusy(path, host.elapsed() - from);
      await readFacts();
      await ledger.recover(scope);
    },
    release,
    async hasChanged() {
      const before = revision;
      revision = (await ledger?.readRevision()) ?? 0;
      return revision !== before;
    },
    /** Yields requests of other runs, oldest first. Later calls skip requests that cannot have changed. */
    async *entries() {
      const isHeld = lock !== undefined;
      if (!isHeld) await readFacts();
      let last = changedFrom - 1;
      let firstOpen: number | undefined;
      for await (const entry of ledger?.scopeEntries(scope, changedFrom) ?? []) {
        last = parseId(entry.id);
        if (ownRequests.has(entry.id)) continue;
        // If other runs can use the scope, they may retry requests that were not sent.
        if (isUnknown(entry.state) || (entry.state === "not_sent" && (isShared || !isHeld))) firstOpen ??= last;
        // In a shared ledger, `recordRequest` reports the groups of requests in flight.
        if (entry.state !== "trying" || !isShared || !isHeld) yield entry;
      }
      changedFrom = firstOpen ?? last + 1;
    },
    /** Returns null if keys are off, or if each run has new keys. */
    findPlannedKey: (dedupKeys: Uint8Array) =>
      hasIdempotencyKeys && location && !resendLogged ? makeIdempotencyKey(scope, dedupKeys, "") : null,
    async recordRequest(
      request: Pick<NewEntry, "dedupKeys" | "bytes" | "envelopeDigest" | "contents">,
    ): Promise<RecordedRequest | { taken: Uint8Array }> {
      requireIntact();
      const firstTried = now();
      const key = hasIdempotencyKeys ? makeIdempotencyKey(scope, request.dedupKeys, generation) : "";
      if (!ledger) return { id: undefined, key, firstTried };
      const entry = { ...request, key, input, now: firstTried, generation: resendLogged ? generation : "" };
      scopeRow ??= await ledger.makeScope(scope);
      const row = await ledger.recordRequest(scopeRow, entry);
      if (typeof row === "object") return row;
      const id = formatId(row);
      ownRequests.add(id);
      return { id, key, firstTried };
    },
    /** @throws Failure `lease-lost` */
    requireLease,
    async recordRetry({ id }: RecordedRequest) {
      requireIntact();
      return id === undefined || (await ledger?.recordRetry(parseId(id), now())) !== false;
    },
    async recordOutcome({ id }: RecordedRequest, outcome: RecordedOutcome) {
      if (id !== undefined) await ledger?.recordOutcome(parseId(id), outcome);
    },
    recordKeyEcho: async () => await saveFacts({ ...facts, echoesKey: true }),
    async recordPassedSize(bytes: number) {
      const { passed = 0, refused } = facts.sizes;
      if (bytes <= passed) return;
      const sizes = { passed: bytes, refused: refused && bytes < refused.bytes ? refused : undefined };
      facts = { ...facts, sizes };
      if (refused) await saveFacts(facts);
    },
    async recordRefusedSize(bytes: number) {
      const { passed = bytes, refused } = facts.sizes;
      if (refused && isRecent(refused, now()) && refused.bytes <= bytes) return;
      const sizes = { passed: passed < bytes ? passed : undefined, refused: { bytes, at: now() } };
      await saveFacts({ ...facts, sizes });
    },
    readOtherLeaseMs: async () => await ledger?.readOtherLeaseMs?.(),
    async close() {
      release();
      await ledger?.close();
    },
  };
};

/** A refused size expires, because the service may raise its limit. */
const maxRefusedSizeAgeMs = dayMs;

const isRecent = ({ at }: { at: number }, now: number) => at <= now && now - at <= maxRefusedSizeAgeMs;
