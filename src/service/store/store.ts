/** The store of the local service: what it keeps, and the places that it may be kept at. */
import { join } from "node:path";
import type { RemoteOptions } from "../../database/index.ts";
import { Failure, isFailure } from "../../failure.ts";
import { isDatabaseAddress } from "../../files.ts";
import type { TrajectorySpan } from "../log-request.ts";

/** A log request, as it is stored. */
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
  /** The groups' other keys, where they have any: JSON objects by the group's position. */
  readonly groupRests: ReadonlyMap<number, string>;
  /** Its body, and where its trajectories stand in that. */
  readonly bytes: Uint8Array;
  readonly places: readonly TrajectorySpan[];
  /** What a request that is sent twice is known by. */
  readonly once: { readonly key: string; readonly digest: Uint8Array } | undefined;
}

/** What is known of a request that was logged. */
export interface LoggedRequest {
  /** Undefined where it came without a key. */
  readonly digest: Uint8Array | undefined;
  /** JSON. */
  readonly metrics: string;
  /** The identifiers of its calls: a JSON array. */
  readonly callIds: string;
}

/** A trajectory as a call, with what its request says of it. */
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

/** A model that was logged to. */
export interface StoredModel {
  readonly id: string;
  readonly owner: string;
  /** Unix seconds. */
  readonly created: number;
}

/** What became of a request that was to be kept. */
export interface Kept {
  readonly logged: LoggedRequest;
  readonly isNew: boolean;
}

/** A person's key, without itself. */
export interface StoredKey {
  readonly name: string;
  readonly digest: Uint8Array;
  /** None: all. */
  readonly projects: readonly string[];
  readonly uses: readonly string[];
  /** Milliseconds since 1970. */
  readonly created: number;
  /** Undefined while it is taken. */
  readonly revoked: number | undefined;
}

/** The keys of people. */
export interface StoredKeys {
  /** All of them, those that were revoked too, by their names. */
  list(): Promise<readonly StoredKey[]>;
  /** Adds one; false where there is one of its name that was not revoked. */
  add(key: StoredKey): Promise<boolean>;
  /** Revokes one at a time; false where there is none that was not revoked. */
  revoke(name: string, now: number): Promise<boolean>;
}

/** What a request that was logged is asked for by. */
export interface LoggedUnder {
  readonly project: string;
  /** Its `Idempotency-Key`. */
  readonly key: string;
}

/** The store; everything in it is on disk before it is answered. Every question throws a Failure where it can't be answered. */
export interface Store {
  /** Tells this store from one that takes its place. */
  readonly id: string;
  /** Keeps a request, unless one of the same key is there: that one is given instead. */
  keep(request: StoredRequest): Promise<Kept>;
  logged(under: LoggedUnder): Promise<LoggedRequest | undefined>;
  call(project: string, id: string): Promise<StoredCall | undefined>;
  /** The identifiers of all calls of a project, the newest first. */
  callIds(project: string): Promise<readonly string[]>;
  /** The models that were logged to, in some projects or in all. */
  models(projects: readonly string[] | undefined): Promise<readonly StoredModel[]>;
  readonly keys: StoredKeys;
  /** Resolves where the store is there, and answers. */
  check(): Promise<void>;
  close(): Promise<void>;
}

/** Where a store is. */
export interface StorePlace {
  /** Holds it where no other place is given. */
  readonly dataDir: string;
  /** A file, or the address of a database, without its password. */
  readonly store: Pick<RemoteOptions, "path" | "password" | "passwordCommand"> | undefined;
}

/** What it is, for a person. */
export const storeTitle = "the store of the local service";

/** How long a database that is away is waited for: whoever asks the service asks it again. */
const mostWaitMs = 5000;

/** Opens the store; one in a file is loaded for that alone. @throws Failure of code `storage`, `usage`, `auth` or `unavailable` */
export const openStore = async (
  place: StorePlace,
  waiting: Pick<RemoteOptions, "host" | "onAway"> & { readonly maxWaitMs?: number },
): Promise<Store> => {
  const { store } = place;
  const path = storePath(place);
  if (!isDatabaseAddress(path)) return (await import("./file-store.ts")).openFileStore(path);
  const { openPostgresStore } = await import("./postgres-store.ts");
  return await openPostgresStore({
    path,
    title: storeTitle,
    password: store?.password,
    passwordCommand: store?.passwordCommand,
    ...waiting,
    maxWaitMs: Math.min(waiting.maxWaitMs ?? mostWaitMs, mostWaitMs),
  });
};

/** Whether something is a failure of the store: nothing was stored. */
export const isOfStore = (thrown: unknown): thrown is Failure =>
  thrown instanceof Failure &&
  (thrown.code === "storage" || isFailure(thrown, "database-away") || isFailure(thrown, "database-refused"));

/** The file of a store, or its address. */
export const storePath = ({ dataDir, store }: StorePlace): string => store?.path ?? join(dataDir, "local.db");
