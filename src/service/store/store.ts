/** The store of the local service: one SQL text for a file and for PostgreSQL. */
import { join } from "node:path";
import {
  type Database,
  type DatabasePlace,
  type DatabaseWaiting,
  type ExaminedFile,
  examineFile,
  openDatabase,
} from "../../database/index.ts";
import { Failure, isFailure } from "../../failure.ts";
import { isDatabaseAddress } from "../../files.ts";
import type { TrajectorySpan } from "../log-request.ts";
import { lastMsOf, timeOfId } from "./ids.ts";
import { keeperOf } from "./keeping.ts";
import { readsOf } from "./reads.ts";
import { storePart } from "./tables.ts";

/** A log request as it is stored. */
export interface StoredRequest {
  readonly model: string;
  readonly project: string;
  readonly split: string;
  /** Milliseconds since 1970. */
  readonly loggedAt: number;
  /** JSON. */
  readonly metrics: string;
  /** The request's other keys: a JSON object. */
  readonly rest: string;
  /** The other keys of groups that have any: JSON objects, by the position of the group. */
  readonly groupRests: ReadonlyMap<number, string>;
  /** Its body, and the positions of its trajectories in the body. */
  readonly bytes: Uint8Array;
  readonly places: readonly TrajectorySpan[];
  /** Its `Idempotency-Key`, and the digest that another request with this key must have. */
  readonly once: { readonly key: string; readonly digest: Uint8Array } | undefined;
}

/** The answer to a request that was logged. */
export interface LoggedRequest {
  /** Undefined for a request without a key. */
  readonly digest: Uint8Array | undefined;
  /** JSON. */
  readonly metrics: string;
  /** The ids of its calls: a JSON array. */
  readonly callIds: string;
}

/** A trajectory as a call, with the keys of its request and its group. */
export interface StoredCall {
  readonly id: string;
  /** Position of its group in the request, and its own in the group. From 0. */
  readonly group: number;
  readonly position: number;
  /** As it was logged: JSON. */
  readonly bytes: Uint8Array;
  readonly model: string;
  readonly split: string;
  readonly loggedAt: number;
  readonly requestRest: string;
  readonly groupRest: string;
}

/** A request that was logged to a project. */
export interface RequestOfProject {
  readonly model: string;
  readonly split: string;
  readonly loggedAt: number;
  /** In the order of its trajectories. */
  readonly callIds: readonly string[];
  /** Reads its body; empty for a request without trajectories. */
  readBody(): Promise<Uint8Array>;
}

/** A model that was logged to. */
export interface StoredModel {
  readonly id: string;
  readonly owner: string;
  /** Unix seconds. */
  readonly created: number;
}

/** A request that was kept, or was there before. */
export interface Kept {
  readonly logged: LoggedRequest;
  readonly isNew: boolean;
}

/** The digest of a person's key, and what the key is for. */
export interface StoredKey {
  readonly name: string;
  readonly digest: Uint8Array;
  /** Empty for all projects. */
  readonly projects: readonly string[];
  readonly uses: readonly string[];
  /** Milliseconds since 1970. */
  readonly created: number;
  /** Milliseconds since 1970; undefined while the key is valid. */
  readonly revoked: number | undefined;
}

/** The keys of people. */
export interface StoredKeys {
  /** All keys, including those that were revoked, by name. */
  list(): Promise<readonly StoredKey[]>;
  /** Adds a key; false if a key of this name is valid. */
  add(key: StoredKey): Promise<boolean>;
  /** Revokes a key; false if no key of this name is valid. */
  revoke(name: string, now: number): Promise<boolean>;
}

/** Identifies a request that was logged. */
interface LoggedUnder {
  readonly project: string;
  /** Its `Idempotency-Key`. */
  readonly key: string;
}

/** An open store. A request is on disk before it is answered. Each method throws a Failure if the store cannot be used. */
export interface Store {
  /** Tells this store from another one that takes its place. */
  readonly id: string;
  /** Keeps a request, unless a request with its key exists: then returns that one. */
  keep(request: StoredRequest): Promise<Kept>;
  logged(under: LoggedUnder): Promise<LoggedRequest | undefined>;
  call(project: string, id: string): Promise<StoredCall | undefined>;
  /** The requests of a project, newest first. */
  requests(project: string): AsyncGenerator<RequestOfProject, void>;
  /** The models that were logged to, in some projects or in all (undefined). */
  models(projects: readonly string[] | undefined): Promise<readonly StoredModel[]>;
  readonly keys: StoredKeys;
  /** Throws if the store does not exist any more, or does not answer. */
  check(): Promise<void>;
  close(): Promise<void>;
}

/** The location of a store. */
export interface StorePlace {
  /** The folder of its file, if no other location is given. */
  readonly dataDir: string;
  readonly store: DatabasePlace | undefined;
}

/** How long a database that is unavailable is waited for: whoever asks the service asks it again. */
const maxWaitMs = 5000;

/** How long the processes that use a file are waited for: 50 at once, each with a commit. */
const maxLockMs = 30_000;

/** Opens the store, and makes it if there is none. @throws as `openDatabase` */
export const openStore = async (
  place: StorePlace,
  waiting: Omit<DatabaseWaiting, "maxWaitMs"> & { readonly maxWaitMs?: number },
): Promise<Store> => {
  const path = storePath(place);
  const serverMs = Math.min(waiting.maxWaitMs ?? maxWaitMs, maxWaitMs);
  const opened = await openDatabase(storePart, {
    ...place.store,
    ...waiting,
    path,
    maxWaitMs: isDatabaseAddress(path) ? serverMs : maxLockMs,
    make: true,
  });
  if (opened === undefined) throw new Error("a store that is missing is made");
  const { database } = opened;
  try {
    const [newest] = await database.ask("SELECT id, calls FROM rollcall.logged ORDER BY id DESC LIMIT 1");
    const newestMs = newest === undefined ? 0 : lastMsOf(timeOfId(newest.bytes("id")), newest.integer("calls"));
    return {
      id: (await readIdentity(database)) ?? "",
      keep: keeperOf(database, newestMs),
      ...readsOf(database),
      check: async () => {
        const about = { path, title: storePart.title };
        if (!database.isThere()) throw new Failure("database-failed", { ...about, code: "ENOENT" });
        await readIdentity(database);
      },
      close: async () => await database.close(),
    };
  } catch (thrown) {
    await database.close();
    throw thrown;
  }
};

const readIdentity = async (database: Database): Promise<string | undefined> =>
  (await database.ask("SELECT id FROM rollcall.store"))[0]?.text("id");

/** Returns what tells a store from others; undefined if there is none. @throws as `openDatabase` */
export const storeIdentity = async (
  place: StorePlace,
  { host }: Pick<DatabaseWaiting, "host">,
): Promise<string | undefined> => {
  const path = storePath(place);
  const opened = await openDatabase(storePart, {
    ...place.store,
    path,
    host,
    maxWaitMs: isDatabaseAddress(path) ? 0 : maxLockMs,
    onAway: () => undefined,
    make: false,
    toRead: true,
  });
  if (opened === undefined) return undefined;
  const { database } = opened;
  return await readIdentity(database).finally(database.close);
};

/** A store in a file that was examined. */
type ExaminedStore = Omit<ExaminedFile, "rows"> & { readonly path: string; readonly calls: number | undefined };

/** Examines a store without changing it; undefined if there is none. A database is only asked whether it answers. @throws as `openDatabase` */
export const examineStore = async (
  place: StorePlace,
  waiting: Pick<DatabaseWaiting, "host">,
): Promise<ExaminedStore | { readonly path: string; readonly isRemote: true } | undefined> => {
  const path = storePath(place);
  if (isDatabaseAddress(path)) {
    return (await storeIdentity(place, waiting)) === undefined ? undefined : { path, isRemote: true };
  }
  const found = examineFile(storePart, path, "SELECT coalesce(sum(calls), 0) AS calls FROM rollcall.logged");
  if (found === undefined) return undefined;
  const { rows, ...facts } = found;
  return { ...facts, path, calls: rows[0]?.integer("calls") };
};

/** True if something is a failure of the store: nothing was stored. */
export const isOfStore = (thrown: unknown): thrown is Failure =>
  thrown instanceof Failure &&
  (thrown.code === "storage" || isFailure(thrown, "database-away") || isFailure(thrown, "database-refused"));

/** The file of a store, or its address. */
export const storePath = ({ dataDir, store }: StorePlace): string => store?.path ?? join(dataDir, "local.db");
