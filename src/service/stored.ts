/** What the store holds of requests, calls and models, as whoever asks for it sees it. */
import type { TrajectorySpan } from "./spans.ts";

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

/** The store; everything in it is on disk before it is answered. */
export interface Store {
  /** Tells this store from one that takes its place. */
  readonly id: string;
  /** Keeps a request, unless one of the same key is there: that one is given instead. */
  keep(request: StoredRequest): { readonly logged: LoggedRequest; readonly isNew: boolean };
  /** The request that was logged under an `Idempotency-Key`. */
  logged(key: string): LoggedRequest | undefined;
  call(project: string, id: string): StoredCall | undefined;
  models(): readonly StoredModel[];
  close(): void;
}
