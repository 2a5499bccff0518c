/** Copies a ledger to another place, entry by entry: again where it was cut off, and never over what is there. */
import { createHash } from "node:crypto";
import { Failure } from "../../failure.ts";
import { type Entry, rowIdOf } from "./entries.ts";
import type { Ledger } from "./ledger.ts";
import type { ScopeLedger } from "./scope.ts";

/** What a copy came to, once both were compared. */
export interface Copied {
  /** Requests that both have now. */
  readonly requests: number;
  readonly groups: number;
  /** Requests that this run wrote. */
  readonly copied: number;
  /** SHA-256 over all of them, in both. */
  readonly digest: string;
}

/** The ledger that is copied, and the one that it is copied to. */
interface Ledgers {
  readonly from: Ledger;
  readonly to: Ledger;
}

/** Requests, and bytes of their marks, that are written at once. */
const mostAtOnce = 200;
const mostBytesAtOnce = 1024 * 1024;

/**
 * Copies what one ledger has that another has not. Nothing is written where the other has something else by the same id.
 * @param signal ends it between two writes
 * @throws Failure `copy-contradicts`, `copy-in-flight`, `copy-differs`; as the ledgers do; the signal's reason
 */
export const copyLedger = async (
  ledgers: Ledgers,
  { signal, onMissing }: { readonly signal: AbortSignal; readonly onMissing: (requests: number) => void },
): Promise<Copied> => {
  const { from, to } = ledgers;
  const before = await compared(ledgers);
  if (before.missing > 0) onMissing(before.missing);
  let waiting: Entry[] = [];
  let bytes = 0;
  const write = async (): Promise<void> => {
    signal.throwIfAborted();
    if (waiting.length > 0) await to.take(waiting);
    waiting = [];
    bytes = 0;
  };
  if (before.missing > 0) {
    for await (const { entry, there } of pairs(ledgers)) {
      if (there !== undefined) continue;
      waiting.push(entry);
      bytes += entry.marks.length;
      if (waiting.length === mostAtOnce || bytes > mostBytesAtOnce) await write();
    }
    await write();
  }
  await copyRest(ledgers);
  const { missing, requests, groups, digest } = await compared(ledgers);
  if (missing > 0) throw new Failure("copy-differs", { from: from.path, to: to.path, missing });
  return { requests, groups, digest, copied: before.missing };
};

/** Holds two ledgers against each other. @throws Failure `copy-contradicts`, `copy-in-flight` */
const compared = async (ledgers: Ledgers): Promise<Omit<Copied, "copied"> & { readonly missing: number }> => {
  const hash = createHash("sha256");
  let [requests, groups, missing] = [0, 0, 0];
  for await (const { entry, there } of pairs(ledgers)) {
    const { id, state } = entry;
    if (state === "trying") throw new Failure("copy-in-flight", { path: ledgers.from.path, id });
    const own = digestOf(entry);
    if (there !== undefined && !digestOf(there).equals(own)) {
      throw new Failure("copy-contradicts", { from: ledgers.from.path, to: ledgers.to.path, id });
    }
    hash.update(own);
    requests++;
    groups += entry.groups;
    if (there === undefined) missing++;
  }
  return { requests, groups, missing, digest: hash.digest("hex") };
};

/** The entries of a ledger in their order, each with what another one has by its id. */
async function* pairs({
  from,
  to,
}: Ledgers): AsyncGenerator<{ readonly entry: Entry; readonly there: Entry | undefined }, void> {
  const others = to.entries({})[Symbol.asyncIterator]();
  let other = await others.next();
  for await (const entry of from.entries({})) {
    while (other.done !== true && rowIdOf(other.value.id) < rowIdOf(entry.id)) other = await others.next();
    yield { entry, there: other.done !== true && other.value.id === entry.id ? other.value : undefined };
  }
}

/** A digest of all that an entry says. */
const digestOf = ({ marks, scope, ...facts }: Entry): Buffer => {
  const { destination, account, model, split, batch } = scope;
  const { id, state, input, groups, bytes, key, firstTried, lastTried, attempts, status, cause, calls, frame } = facts;
  const told = [destination, account, model, split, batch, id, state, input, groups, bytes, key];
  const said = JSON.stringify([...told, firstTried, lastTried, attempts, status, cause, calls, frame]);
  return createHash("sha256").update(said).update("\0").update(marks).digest();
};

/** Copies what is known beside requests, where the other ledger does not know better: what addresses do, and which files runs wrote. */
const copyRest = async ({ from, to }: Ledgers): Promise<void> => {
  for (const { path, digest } of await from.written.all()) {
    if ((await to.written.digest(path)) === undefined) await to.written.remember(path, digest);
  }
  const addresses = new Set<string>();
  for await (const { scope } of from.entries({})) {
    const name = JSON.stringify([scope.destination, scope.account]);
    if (addresses.has(name)) continue;
    addresses.add(name);
    const { address } = await from.scope(scope);
    const other = await to.scope(scope);
    if (knowsAny(address) && !knowsAny(other.address)) await other.remember(address);
  }
};

const knowsAny = ({ sizes, echoesKey }: ScopeLedger["address"]): boolean =>
  echoesKey || sizes.passed !== undefined || sizes.refused !== undefined;
