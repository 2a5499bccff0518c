/** Copies a store to another place, request by request: again where it was cut off, and never over what is there. */
import { createHash } from "node:crypto";
import { Failure } from "../../failure.ts";
import { idList } from "./packed-calls.ts";
import type { Store, StoredFacts, StoredWhole } from "./store.ts";

/** An open store, and where it is. */
interface Placed {
  readonly store: Store;
  readonly path: string;
}

interface Both {
  readonly from: Placed;
  readonly to: Placed;
}

/** What a copy came to, once both were compared. */
interface Copied {
  /** Requests that both have now, and their calls. */
  readonly requests: number;
  readonly calls: number;
  /** Requests that this run wrote. */
  readonly copied: number;
  /** SHA-256 over all of them, in both. */
  readonly digest: string;
}

/** Requests, and bytes of their bodies, that are written at once; more bytes only of a single one. */
const mostAtOnce = 64;
const mostBytesAtOnce = 8 * 2 ** 20;

/**
 * Copies what one store has that another has not. A new one becomes the same store: it takes over its identity.
 * @param signal ends it between two writes
 * @throws Failure `copy-contradicts`, `copy-into-another`, `copy-earlier-calls`, `copy-differs`; as the stores do; the signal's reason
 */
export const copyStore = async (
  both: Both,
  { signal, onMissing }: { readonly signal: AbortSignal; readonly onMissing: (requests: number) => void },
): Promise<Copied> => {
  const { from, to } = both;
  await requireSame(both);
  const before = await compared(both, { signal, isWhole: false });
  if (before.missing > 0) onMissing(before.missing);
  await to.store.copying.become(from.store.id, await from.store.copying.models());
  await copyKeys(both);
  if (before.missing > 0) await copyRequests(both, signal);
  const { missing, requests, calls, digest } = await compared(both, { signal, isWhole: true });
  if (missing > 0) throw new Failure("copy-differs", { from: from.path, to: to.path, missing, isStore: true });
  return { requests, calls, copied: before.missing, digest };
};

/** Requires that the other store is a copy of the one, or new; and that people's keys are the same. @throws Failure `copy-into-another`, `copy-contradicts` */
const requireSame = async ({ from, to }: Both): Promise<void> => {
  const known = await to.store.keys.list();
  if (from.store.id !== to.store.id) {
    const first = await to.store.copying.requests()[Symbol.asyncIterator]().next();
    if (first.done !== true || known.length > 0) {
      throw new Failure("copy-into-another", { from: from.path, to: to.path });
    }
  }
  for (const { name, digest } of await from.store.keys.list()) {
    const there = known.find((key) => key.name === name);
    if (there !== undefined && Buffer.compare(there.digest, digest) !== 0) throw contradiction({ from, to }, name);
  }
};

const contradiction = ({ from, to }: Both, id: string): Failure =>
  new Failure("copy-contradicts", { from: from.path, to: to.path, id, isStore: true });

const copyRequests = async (both: Both, signal: AbortSignal): Promise<void> => {
  let waiting: StoredWhole[] = [];
  let bytes = 0;
  const write = async (): Promise<void> => {
    signal.throwIfAborted();
    if (waiting.length > 0) await both.to.store.copying.take(waiting);
    waiting = [];
    bytes = 0;
  };
  for await (const { request, there } of pairs(both)) {
    if (there !== undefined) continue;
    const body = await both.from.store.copying.body(request.id);
    if (bytes + body.length > mostBytesAtOnce) await write();
    waiting.push({ ...request, bytes: body });
    bytes += body.length;
    if (waiting.length === mostAtOnce) await write();
  }
  await write();
};

/** Adds the keys of people that are not there; one that was revoked is so there too. */
const copyKeys = async ({ from, to }: Both): Promise<void> => {
  const known = await to.store.keys.list();
  for (const key of await from.store.keys.list()) {
    const there = known.find(({ name }) => name === key.name);
    if (there === undefined) await to.store.keys.add(key);
    if (key.revoked !== undefined && there?.revoked === undefined) await to.store.keys.revoke(key.name, key.revoked);
  }
};

/** Holds two stores against each other; their bodies too, where it is whole. @throws Failure `copy-contradicts` */
const compared = async (
  both: Both,
  { signal, isWhole }: { readonly signal: AbortSignal; readonly isWhole: boolean },
): Promise<Omit<Copied, "copied"> & { readonly missing: number }> => {
  const { from, to } = both;
  const hash = createHash("sha256");
  let [requests, calls, missing] = [0, 0, 0];
  for await (const { request, there } of pairs(both)) {
    signal.throwIfAborted();
    const { id, once, project, places } = request;
    const own = await digestOf(request, isWhole ? from.store : undefined);
    if (there === undefined) {
      missing++;
      const other = once === undefined ? undefined : await to.store.logged({ project, key: once.key });
      if (other !== undefined) throw contradiction(both, once?.key ?? "");
    } else if (!own.equals(await digestOf(there, isWhole ? to.store : undefined))) {
      throw contradiction(both, idList(id)[0] ?? "");
    }
    hash.update(own);
    requests++;
    calls += places.length;
  }
  return { requests, calls, missing, digest: hash.digest("hex") };
};

/** The requests of a store in their order, each with what another one has by its identifier. */
async function* pairs({
  from,
  to,
}: Both): AsyncGenerator<{ readonly request: StoredFacts; readonly there: StoredFacts | undefined }, void> {
  const others = to.store.copying.requests()[Symbol.asyncIterator]();
  let other = await others.next();
  for await (const request of from.store.copying.requests()) {
    while (other.done !== true && Buffer.compare(other.value.id, request.id) < 0) other = await others.next();
    const isThere = other.done !== true && Buffer.compare(other.value.id, request.id) === 0;
    yield { request, there: isThere ? other.value : undefined };
  }
}

/** A digest of all that is stored of a request; of its body too, where its store is given. */
const digestOf = async (request: StoredFacts, store: Store | undefined): Promise<Buffer> => {
  const { id, project, once, model, split, metrics, rest, loggedAt, groupRests, places } = request;
  const hash = createHash("sha256")
    .update(id)
    .update(once?.digest ?? "");
  hash.update(JSON.stringify([project, once?.key ?? null, model, split, metrics, rest, loggedAt, [...groupRests]]));
  for (const { group, start, end } of places) hash.update(`\n${group} ${start} ${end}`);
  if (store !== undefined) hash.update("\0").update(await store.copying.body(id));
  return hash.digest();
};
