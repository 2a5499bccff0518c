/** Requests of earlier runs with an unknown outcome: which of them are sent again, with exactly the same bytes. */

import { type DedupKeys, dedupKeyBytes, type Reading } from "../groups/index.ts";
import type { Host } from "../host.ts";
import type { Entry, RecordedRequest, RunLedger } from "../ledger/index.ts";
import { type Frame, type PlannedRequest, requestOf } from "./plan.ts";

/** What follows a request with an unknown outcome. */
export type OnUnknown = "stop" | "resend" | "leave";

/** How long rollcall itself may resend an unknown request if the service honors its key (cli.md). */
const honoredMs = 24 * 60 * 60 * 1000;

/** What decides whether the service honors a request's key. */
interface KeyFacts {
  readonly host: Host;
  readonly runLedger: Pick<RunLedger, "echoesKey">;
  /** True if requests have an `Idempotency-Key`. */
  readonly idempotency: boolean;
}

/** True if the service is known to answer a second attempt of the same request without logging it again. */
export const isHonored = (
  { key, firstTried }: Pick<RecordedRequest, "key" | "firstTried">,
  { host, runLedger, idempotency }: KeyFacts,
): boolean => {
  const ageMs = host.now() - firstTried;
  // An attempt in the future was made before the clock was set back: nobody knows how long ago.
  return idempotency && key !== "" && runLedger.echoesKey && ageMs >= 0 && ageMs < honoredMs;
};

/** True if an unknown request is sent again: a person said so, or the service is known to honor its key. */
export const mayResend = (
  entry: Entry,
  { resendLogged, onUnknown, ...facts }: KeyFacts & { readonly resendLogged: boolean; readonly onUnknown: OnUnknown },
): boolean => !resendLogged && (onUnknown === "resend" || isHonored(entry, facts));

/** A request to be sent. `recorded` if it was tried before, and is sent with exactly the same bytes. */
export interface Job {
  readonly request: PlannedRequest;
  readonly recorded?: RecordedRequest;
}

/**
 * The request of an entry: the same groups in the same order, and the same bytes. If it cannot be made, what was read
 * lacks a group, or a key of its envelope.
 */
export const jobOfEntry = (
  reading: Reading,
  {
    frame,
    dedupKeys,
    entry,
  }: { readonly frame: Frame; readonly dedupKeys: Pick<DedupKeys, "find">; readonly entry: Entry },
): Job | { readonly lacks: "groups" | "keys" } => {
  const groups = new Uint32Array(entry.marks.length / dedupKeyBytes);
  for (let at = 0; at < groups.length; at++) {
    const group = dedupKeys.find(entry.marks, at * dedupKeyBytes);
    if (group < 0) return { lacks: "groups" };
    groups[at] = group;
  }
  const request = requestOf(reading, { frame, groups });
  const { id, key, firstTried } = entry;
  const isSame = request.bytes === entry.bytes && request.frame === entry.frame;
  return isSame ? { request, recorded: { id, key, firstTried } } : { lacks: "keys" };
};
