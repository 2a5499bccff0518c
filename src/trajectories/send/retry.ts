/** Tries one request until it has an outcome that another try can't, or may not, change, and writes each try down. */
import type { Attempt, Client, Patience } from "../../client/index.ts";
import { logTrajectories } from "../../contract/log.ts";
import type { Host } from "../../host.ts";
import type { Settlement } from "../ledger/ledger.ts";
import type { RequestRecord, Ticket } from "../ledger/record.ts";
import type { Reading } from "../read/read.ts";
import { callIdsOf } from "./answers.ts";
import { type BodyMemory, bodyOf } from "./body.ts";
import { graceful } from "./grace.ts";
import { type Outcome, outcomeOf } from "./outcome.ts";
import type { Frame, PlannedRequest } from "./plan.ts";

/** What follows a request whose outcome can't be known. */
export type OnUnknown = "stop" | "resend" | "leave";

/** How requests are tried. */
export interface TryOptions {
  readonly host: Host;
  readonly client: Client;
  readonly modelId: string;
  readonly frame: Frame;
  readonly record: RequestRecord;
  /** Whether `Idempotency-Key` goes along. */
  readonly idempotency: boolean;
  readonly onUnknown: OnUnknown;
  /** How long one request is tried again. */
  readonly maxWaitMs: number;
}

/** What a try stands in: the run that it is part of. */
export interface TryRun {
  /** What ends waiting, and what ends a request that is on its way at once. */
  readonly until: Pick<Host, "signal" | "urgent">;
  readonly patience: Patience;
  /** What bodies go through. */
  readonly memory: BodyMemory;
  /** Whether something else has ended the run meanwhile. */
  readonly isOver: () => boolean;
  /** Told that another try is made, and why. */
  readonly onAgain: (attempt: Attempt, outcome: Outcome) => void;
  /** Told of bytes of the body that were handed over, and, as a negative number, of those that no longer count. */
  readonly onBytes: (bytes: number) => void;
}

/** A request being tried. */
export interface Trial {
  readonly request: PlannedRequest;
  readonly ticket: Ticket;
  /** Whether one of its tries may have been logged: then nothing but a success says what became of it. */
  uncertain: boolean;
  /** What came of the last try. */
  last: Omit<Settlement, "state">;
}

/** A trial of which nothing came yet. */
export const openTrial = (request: PlannedRequest, ticket: Ticket, uncertain: boolean): Trial => ({
  request,
  ticket,
  uncertain,
  last: { status: null, cause: null, calls: [] },
});

/** How long an unknown request may be resent by rollcall itself where the service honours its key (promises.md). */
const honouredMs = 24 * 60 * 60 * 1000;

/** Whether the service is known to answer a second try of the same request without logging it again. */
export const isHonoured = (
  { key, firstTried }: Pick<Ticket, "key" | "firstTried">,
  { host, record, idempotency }: Pick<TryOptions, "host" | "record" | "idempotency">,
): boolean => idempotency && key !== "" && record.echoesKey && host.now() - firstTried < honouredMs;

/** Outcomes after which another try is made. */
export const retried: ReadonlySet<Outcome> = new Set(["not-sent", "not-processed"]);

/**
 * Tries a request; the ledger has what became of it, unless that is the end of it: logged, refused or too large.
 * @throws Failure of a body that changed, a credential, the ledger, or a signal between two tries
 */
export const tryUntilKnown = async (reading: Reading, trial: Trial, options: TryOptions & TryRun): Promise<Attempt> => {
  const { host, record, patience, isOver, onAgain } = options;
  let firstEndMs: number | undefined;
  for (;;) {
    const attempt = await tryOnce(reading, trial, options);
    const outcome = outcomeOf(attempt);
    trial.last = settlementOf(attempt);
    if (outcome === "unknown") trial.uncertain = true;
    if (outcome !== "unknown" && !retried.has(outcome)) return attempt;
    writeDown(trial, attempt, { record, state: trial.uncertain ? "unknown" : "not_sent" });
    firstEndMs ??= host.elapsed();
    const may = outcome !== "unknown" || options.onUnknown === "resend" || isHonoured(trial.ticket, options);
    const isLate = isOver() || host.signal.aborted || host.elapsed() - firstEndMs > options.maxWaitMs;
    if (!may || isLate || !(await patience.wait(askedMsOf(attempt)))) return attempt;
    if (!record.again(trial.ticket, host.now())) return attempt;
    onAgain(attempt, outcome);
  }
};

const askedMsOf = (attempt: Attempt): number | undefined =>
  attempt.kind === "answered" ? attempt.retryAfterMs : undefined;

/** Writes down what became of a request, and what its answer tells of the service. */
export const writeDown = (
  { ticket, last }: Trial,
  attempt: Attempt,
  { record, state }: { readonly record: RequestRecord; readonly state: Settlement["state"] },
): void => {
  record.settle(ticket, { ...last, state });
  const echoes = attempt.kind === "answered" && ticket.key !== "" && attempt.idempotencyKey === ticket.key;
  if (echoes && !record.echoesKey) record.remember({ echoesKey: true });
};

const tryOnce = async (
  reading: Reading,
  { request, ticket }: Trial,
  { client, modelId, frame, idempotency, until, memory, onBytes }: TryOptions & TryRun,
): Promise<Attempt> => {
  const grace = graceful(until);
  let flown = 0;
  const body = bodyOf(reading, {
    frame,
    request,
    memory,
    onBytes: (bytes) => {
      flown += bytes;
      onBytes(bytes);
    },
  });
  return await client
    .attempt(logTrajectories, {
      parameters: { model_id: modelId },
      body,
      headers: idempotency && ticket.key !== "" ? { "Idempotency-Key": ticket.key } : {},
      signal: grace.signal,
    })
    .finally(() => {
      grace.end();
      onBytes(-flown);
    });
};

const settlementOf = (attempt: Attempt): Omit<Settlement, "state"> =>
  attempt.kind === "answered"
    ? { status: attempt.status, cause: null, calls: attempt.failure === undefined ? callIdsOf(attempt.body) : [] }
    : { status: null, cause: attempt.code, calls: [] };
