/** How runs write the requests of a scope, and the digests that name scopes and requests. */
import { createHash } from "node:crypto";
import type { Lock, LockWaiting, Question, Value } from "../database/index.ts";
import type { EntryState, LedgerScope } from "./entries.ts";

/** A request that is recorded, before its first byte is sent. */
export interface NewEntry {
  readonly marks: Uint8Array;
  readonly key: string;
  readonly input: string;
  readonly bytes: number;
  /** Digest of the request envelope. */
  readonly frame: string;
  readonly now: number;
  /** Tells a deliberate second logging of the same groups from the first; empty for the first. */
  readonly generation: string;
}

/** The outcome of a request. */
export interface Settlement {
  readonly state: Exclude<EntryState, "trying">;
  readonly status: number | null;
  readonly cause: string | null;
  /** Ids of the calls in the answer: a JSON array. */
  readonly calls: string;
}

/** Writes requests. In a file, one run of a scope writes at a time; in PostgreSQL runs write at the same time, each groups of its own. */
export interface Writer {
  /** What a statement that changes a request sets in addition. */
  readonly touched: string;
  /** Waits until no other run may write the scope; undefined if another run does all the time. */
  hold(scope: LedgerScope, waiting: LockWaiting): Promise<Lock | undefined>;
  /** Makes the requests in flight of runs that died unknown; returns how many. */
  recover(scope: number): Promise<number>;
  /** Records a request; returns its row, or the dedup keys of groups that other runs have. */
  begin(scope: number, entry: NewEntry): Promise<number | { readonly taken: Uint8Array }>;
  /** Records another try of a request; false if a person resolved it meanwhile. */
  again(request: number, now: number): Promise<boolean>;
  settle(request: number, settlement: Settlement): Promise<void>;
  /** Runs that write the ledger now. */
  writers(): Promise<number>;
  /** A number that changes when another process writes. */
  changes(): Promise<number>;
  /** Deletes the claims of requests that are released or deleted, so that other runs can have their groups. */
  unclaim(requests: readonly number[]): readonly Question[];
  /** Recovers the requests of all scopes whose runs died. */
  recoverAll(): Promise<void>;
  end(): Promise<void>;
}

/** Sets an outcome. */
export const settledSql = "state = ?, status = ?, cause = ?, calls = ?";

/** The values of `settledSql`. */
export const settledValues = ({ state, status, cause, calls }: Settlement): readonly Value[] => [
  state,
  status,
  cause,
  calls,
];

/** A digest of what tells a scope from all others. */
export const scopeDigest = ({ destination, account, model, split, batch }: LedgerScope, generation = ""): string =>
  createHash("sha256")
    .update(JSON.stringify([destination, account, model, split, batch, generation]))
    .digest("hex");

/**
 * The `Idempotency-Key` of a request: a digest of its scope and its groups, never of content alone.
 * @param generation tells a deliberate second logging of the same groups from the first; empty for the first
 */
export const keyOf = (scope: LedgerScope, marks: Uint8Array, generation: string): string =>
  createHash("sha256").update(scopeDigest(scope, generation)).update(marks).digest("hex");
