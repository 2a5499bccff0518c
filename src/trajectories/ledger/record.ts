/** What a run writes down of its requests: in the ledger, or, where there is none, nowhere. */

import { type Marks, markBytes } from "../read/parts/marks.ts";
import { isRow } from "../read/parts/placed.ts";
import type { PlannedRequest } from "../send/plan.ts";
import type { LedgerScope, ScopeLedger, Settlement } from "./ledger.ts";
import { keyOf } from "./ledger-key.ts";

/** A request that is being tried. */
export interface Ticket {
  /** Its entry in the ledger; undefined where there is none. */
  readonly id: string | undefined;
  /** The same for every try of the same request, and for no other request; empty where it goes without one. */
  readonly key: string;
  /** When it was tried first. */
  readonly firstTried: number;
}

/** Where a run's requests are written down. */
export interface RequestRecord {
  /** Whether the service is known to honour `Idempotency-Key`: it echoed one. */
  readonly echoesKey: boolean;
  /** The largest body that the address was found to take; undefined where none was found. */
  readonly maxBytes: number | undefined;
  /** Writes a request down before its first byte leaves. @throws Failure `storage` */
  begin(request: PlannedRequest, now: number): Ticket;
  /** Writes down that a request is tried once more; false where somebody settled it by hand meanwhile. */
  again(ticket: Ticket, now: number): boolean;
  settle(ticket: Ticket, settlement: Settlement): void;
  remember(found: { readonly maxBytes?: number; readonly echoesKey?: boolean }): void;
}

/** Writes requests into the ledger. `generation` tells a deliberate second logging from the first. */
export const ledgerRecord = ({
  ledger,
  scope,
  marks,
  input,
  generation,
  keyed,
}: {
  readonly ledger: ScopeLedger;
  readonly scope: LedgerScope;
  readonly marks: Marks;
  readonly input: string;
  readonly generation: string;
  /** Whether requests go with a key: one that went without is never known to be honoured. */
  readonly keyed: boolean;
}): RequestRecord => {
  let { maxBytes, echoesKey } = ledger.address;
  return {
    get echoesKey() {
      return echoesKey;
    },
    get maxBytes() {
      return maxBytes;
    },
    begin: (request, now) => {
      const own = marksOfRequest(marks, request);
      const key = keyed ? keyOf(scope, own, generation) : "";
      return {
        id: ledger.begin({ marks: own, key, input, bytes: request.bytes, frame: request.frame, now }),
        key,
        firstTried: now,
      };
    },
    again: ({ id }, now) => id === undefined || ledger.again(id, now),
    settle: ({ id }, settlement) => {
      if (id !== undefined) ledger.settle(id, settlement);
    },
    remember: (found) => {
      echoesKey ||= found.echoesKey === true;
      maxBytes = found.maxBytes ?? maxBytes;
      ledger.remember(found);
    },
  };
};

/** Writes nothing down. `generation` is another one for each run: without a ledger, a rerun is meant to log again. */
export const noRecord = ({
  scope,
  marks,
  generation,
}: {
  readonly scope: LedgerScope;
  readonly marks: Marks;
  readonly generation: string;
}): RequestRecord => {
  let echoesKey = false;
  let maxBytes: number | undefined;
  return {
    get echoesKey() {
      return echoesKey;
    },
    get maxBytes() {
      return maxBytes;
    },
    begin: (request, now) => ({
      id: undefined,
      key: keyOf(scope, marksOfRequest(marks, request), generation),
      firstTried: now,
    }),
    again: () => true,
    settle: () => undefined,
    remember: (found) => {
      echoesKey ||= found.echoesKey === true;
      maxBytes = found.maxBytes ?? maxBytes;
    },
  };
};

const marksOfRequest = (marks: Marks, { groups }: PlannedRequest): Uint8Array => {
  const [first = 0] = groups;
  if (isRow(groups)) return marks.slice(first, groups.length);
  const own = new Uint8Array(groups.length * markBytes);
  for (const [at, group] of groups.entries()) {
    own.set(marks.slice(group, 1), at * markBytes);
  }
  return own;
};

/** Whether a request is, byte for byte, what an entry was: its groups are known to be the same. */
export const isSameRequest = (
  { bytes, frame }: Pick<PlannedRequest, "bytes" | "frame">,
  entry: { readonly bytes: number; readonly frame: string | null },
): boolean => bytes === entry.bytes && (entry.frame === null || frame === entry.frame);

/** The groups of an entry, in its order; undefined where the input lacks one of them. */
export const groupsOfEntry = (marks: Marks, entry: { readonly marks: Uint8Array }): Uint32Array | undefined => {
  const groups = new Uint32Array(entry.marks.length / markBytes);
  for (let at = 0; at < groups.length; at++) {
    const group = marks.find(entry.marks, at * markBytes);
    if (group < 0) return undefined;
    groups[at] = group;
  }
  return groups;
};
