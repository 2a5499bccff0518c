/** Tries one request, as often as may be, until it has an outcome that another try can't, or may not, change. */
import type { Attempt, Client, Patience, StreamedBody } from "../client/index.ts";
import { logTrajectories } from "../contract/log.ts";
import type { Host } from "../host.ts";
import { callIdsOf } from "./answers.ts";
import { bodyOf } from "./body.ts";
import { graceful } from "./grace.ts";
import type { Settlement } from "./ledger.ts";
import { type Outcome, outcomeOf } from "./outcome.ts";
import type { Frame, PlannedRequest } from "./plan.ts";
import type { Reading } from "./read.ts";
import type { RequestRecord, Ticket } from "./record.ts";

/** What follows a request whose outcome can't be known. */
export type OnUnknown = "stop" | "resend" | "leave";

/** A request being tried. */
export interface Trial {
  readonly request: PlannedRequest;
  readonly ticket: Ticket;
  /** Whether one of its tries may have been logged: then nothing but a success says what became of it. */
  uncertain: boolean;
  /** Whether its outcome was taken into account. */
  settled: boolean;
}

/** How a request is tried. */
export interface TrialOptions {
  readonly host: Host;
  readonly client: Client;
  readonly patience: Patience;
  /** What ends a request that is on its way: some time later, and at once. */
  readonly until: Pick<Host, "signal" | "urgent">;
  readonly reading: Reading;
  readonly modelId: string;
  readonly frame: Frame;
  readonly record: RequestRecord;
  /** Whether `Idempotency-Key` goes along. */
  readonly idempotency: boolean;
  readonly onUnknown: OnUnknown;
  /** Told of bytes of the body as they are handed over. */
  readonly onBytes: (bytes: number) => void;
  /** Told that another try is made, and why. */
  readonly onAgain: (attempt: Attempt, outcome: Outcome) => void;
}

/** How long an unknown request may be resent by rollcall itself where the service honours its key (cli.md). */
const honouredMs = 24 * 60 * 60 * 1000;

/** Whether an unknown request may be sent again without being asked: the service is known to honour its key. */
export const isHonoured = (
  { firstTried }: Pick<Ticket, "firstTried">,
  { record, idempotency, host }: Pick<TrialOptions, "record" | "idempotency" | "host">,
): boolean => idempotency && record.echoesKey && host.now() - firstTried < honouredMs;

/** Tries a request. @throws Failure what is wrong before its last byte leaves, and the signal's while it waits */
export const tryUntilKnown = async (trial: Trial, options: TrialOptions): Promise<Attempt> => {
  const { host, record, patience, onUnknown, onAgain } = options;
  const { ticket } = trial;
  for (;;) {
    const attempt = await attemptOnce(trial, options);
    const echoed = attempt.kind === "answered" && attempt.idempotencyKey === ticket.key;
    if (echoed && !record.echoesKey) record.remember({ echoesKey: true });
    const outcome = outcomeOf(attempt);
    if (outcome === "unknown" && !trial.uncertain) {
      trial.uncertain = true;
      record.settle(ticket, { ...settlementOf(attempt), state: "unknown" });
    }
    const mayResend = onUnknown === "resend" || isHonoured(ticket, options);
    const again = outcome === "unknown" ? mayResend : retried.has(outcome);
    const askedMs = attempt.kind === "answered" ? attempt.retryAfterMs : undefined;
    if (!again || host.signal.aborted || !(await patience.wait(askedMs))) return attempt;
    onAgain(attempt, outcome);
    record.again(ticket, host.now());
  }
};

/** Outcomes after which another try is made. */
const retried: ReadonlySet<Outcome> = new Set(["not-sent", "not-processed"]);

const attemptOnce = async ({ request, ticket }: Trial, options: TrialOptions): Promise<Attempt> => {
  const { client, until, reading, modelId, frame, idempotency, onBytes } = options;
  const grace = graceful(until);
  return await client
    .attempt(logTrajectories, {
      parameters: { model_id: modelId },
      body: watched(bodyOf(reading, frame, request), onBytes),
      headers: idempotency ? { "Idempotency-Key": ticket.key } : {},
      signal: grace.signal,
    })
    .finally(grace.end);
};

/** A body whose chunks are counted as they are handed over. */
const watched = ({ length, chunks }: StreamedBody, onBytes: (bytes: number) => void): StreamedBody => ({
  length,
  async *chunks() {
    for await (const chunk of chunks()) {
      yield chunk;
      onBytes(chunk.length);
    }
  },
});

/** What is written down where nothing was answered. */
export const noAnswer = { status: null, cause: null, calls: [] } as const;

/** What is written down of an attempt. */
export const settlementOf = (attempt: Attempt): Omit<Settlement, "state"> =>
  attempt.kind === "answered"
    ? { status: attempt.status, cause: null, calls: attempt.failure === undefined ? callIdsOf(attempt.body) : [] }
    : { status: null, cause: attempt.code, calls: [] };
