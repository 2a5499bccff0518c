/** Digests that name a scope of the ledger, and each of its requests. */
import { createHash } from "node:crypto";
import type { LedgerScope } from "./entries.ts";

/**
 * The `Idempotency-Key` of a request: a digest over what it belongs to and its groups, never over content alone.
 * @param generation tells a deliberate second logging of the same groups from the first; empty for the first
 */
export const keyOf = (scope: LedgerScope, marks: Uint8Array, generation: string): string =>
  createHash("sha256").update(scopeDigest(scope, generation)).update(marks).digest("hex");

/** A digest over what tells a scope from every other. */
export const scopeDigest = ({ destination, account, model, split, batch }: LedgerScope, generation = ""): string =>
  createHash("sha256")
    .update(JSON.stringify([destination, account, model, split, batch, generation]))
    .digest("hex");
