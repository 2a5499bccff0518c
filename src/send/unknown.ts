/** Requests of earlier runs whose outcome is unknown: which of them are sent again, and as exactly what they were. */

import type { Reading } from "../groups/index.ts";
import { type DedupKeys, dedupKeyBytes } from "../groups/index.ts";
import type { Host } from "../host.ts";
import type { Entry, RecordedRequest, RunLedger } from "../ledger/index.ts";
import { type Frame, requestOf } from "./plan.ts";
import type { Job } from "./requests.ts";

/** What follows a request whose outcome can't be known. */
export type OnUnknown = "stop" | "resend" | "leave";

/** How long an unknown request may be resent by rollcall itself where the service honours its key (promises.md). */
const honouredMs = 24 * 60 * 60 * 1000;

/** What decides whether the service honours a request's key. */
export interface KeyFacts {
  readonly host: Host;
  readonly runLedger: Pick<RunLedger, "echoesKey">;
  /** Whether `Idempotency-Key` goes along. */
  readonly idempotency: boolean;
}

/** Whether the service is known to answer a second try of the same request without logging it again. */
export const isHonoured = (
  { key, firstTried }: Pick<RecordedRequest, "key" | "firstTried">,
  { host, runLedger, idempotency }: KeyFacts,
): boolean => {
  const ageMs = host.now() - firstTried;
  // What was tried in the future was tried before the clock was set back: nobody knows how long ago.
  return idempotency && key !== "" && runLedger.echoesKey && ageMs >= 0 && ageMs < honouredMs;
};

/** Whether an unknown request is sent again: a person said so, or the service is known to honour its key. */
export const mayResend = (
  entry: Entry,
  { resendLogged, onUnknown, ...facts }: KeyFacts & { readonly resendLogged: boolean; readonly onUnknown: OnUnknown },
): boolean => !resendLogged && (onUnknown === "resend" || isHonoured(entry, facts));

/**
 * The request that an entry was: the same groups in the same order, and the same bytes. Where it can't be made of what
 * was read, that lacks one of its groups, or keys of the request that stood around them.
 */
export const jobOfEntry = (
  reading: Reading,
  { frame, marks, entry }: { readonly frame: Frame; readonly marks: DedupKeys; readonly entry: Entry },
): Job | { readonly lacks: "groups" | "keys" } => {
  const groups = new Uint32Array(entry.marks.length / dedupKeyBytes);
  for (let at = 0; at < groups.length; at++) {
    const group = marks.find(entry.marks, at * dedupKeyBytes);
    if (group < 0) return { lacks: "groups" };
    groups[at] = group;
  }
  const request = requestOf(reading, { frame, groups });
  const isSame = request.bytes === entry.bytes && request.frame === entry.frame;
  const { id, key, firstTried } = entry;
  return isSame ? { request, recorded: { id, key, firstTried } } : { lacks: "keys" };
};
