/** What the store keeps, and what it returns. */
import type { TrajectorySpan } from "../log-request.ts";

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
