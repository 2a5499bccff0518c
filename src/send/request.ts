/** One request: it is attempted until the outcome is known or no attempt may follow, and each step is recorded. */
import type { Attempt, RetryBudget } from "../client/index.ts";
import { logTrajectories } from "../contract/log.ts";
import type { Failure } from "../failure.ts";
import type { Dataset } from "../groups/index.ts";
import type { Host } from "../host.ts";
import type { RecordedOutcome, RecordedRequest, RunLedger } from "../ledger/index.ts";
import { compress, readBody } from "./body.ts";
import type { OnUnknown, SendOptions } from "./options.ts";
import type { PlannedRequest } from "./plan.ts";
import { emptyCallList, findCallList } from "./send-result.ts";

/**
 * What became of a request.
 * `logged`: the service has it. `not-sent`, `not-processed`: it does not, and another attempt may follow.
 * `too-large`: it does not, and never will at this size. `refused`: it does not. `unknown`: nobody here can know.
 */
export type Outcome = "logged" | "not-sent" | "not-processed" | "too-large" | "refused" | "unknown";

/** The outcome of an attempt (guarantees.md). A status line decides, even if sending broke. */
export const classifyAttempt = (attempt: Attempt): Outcome => {
  if (attempt.kind === "broken") return attempt.isBodySent ? "unknown" : "not-sent";
  const { status, isBodySent: bodySent, retryAfterMs } = attempt;
  if (status >= 200 && status < 300) return "logged";
  if (status === 413) return "too-large";
  // Assumed: a 503 that says when to come back is from a proxy before the service.
  if (status === 429 || status === 408 || (status === 503 && retryAfterMs !== undefined)) return "not-processed";
  if (status >= 500) return bodySent ? "unknown" : "not-processed";
  return status === 409 ? "unknown" : "refused";
};

/** True if no other attempt can change the outcome. */
export const isFinalOutcome = (outcome: Outcome): boolean => ["logged", "too-large", "refused"].includes(outcome);

/** How long rollcall itself may resend an unknown request if the service honors its key (guarantees.md). */
const keyHonoredMs = 24 * 60 * 60 * 1000;

/** What decides if the service honors a request's key. */
interface KeyFacts {
  readonly host: Host;
  readonly runLedger: Pick<RunLedger, "echoesKey">;
  /** True if requests have an `Idempotency-Key`. */
  readonly idempotency: boolean;
}

/** True if the service is known to answer a second attempt of the same request without logging it again. */
export const isKeyHonored = (
  { key, firstTried }: Pick<RecordedRequest, "key" | "firstTried">,
  { host, runLedger, idempotency }: KeyFacts,
): boolean => {
  const ageMs = host.now() - firstTried;
  // An attempt in the future was made before the clock was set back: nobody knows how long ago.
  return idempotency && key !== "" && runLedger.echoesKey && ageMs >= 0 && ageMs < keyHonoredMs;
};

/** True if an unknown request is sent again: a person said so, or the service is known to honor its key. */
export const canResend = (
  entry: Pick<RecordedRequest, "key" | "firstTried">,
  { resendLogged, onUnknown, ...facts }: KeyFacts & { readonly resendLogged: boolean; readonly onUnknown: OnUnknown },
): boolean => !resendLogged && (onUnknown === "resend" || isKeyHonored(entry, facts));

/** A request that is recorded, and what is known of its attempts. */
export interface SentRequest {
  readonly request: PlannedRequest;
  /** Its number in the run, from 1. */
  readonly number: number;
  readonly recorded: RecordedRequest;
  /** True if an attempt may have been logged: then only a success tells what became of it. */
  mayBeLogged: boolean;
  /** How that attempt ended, if it was one of this run. */
  unknownFailure: Failure | undefined;
  /** The result of the last attempt. */
  lastOutcome: Omit<RecordedOutcome, "state">;
}

/** The run that a request is part of. */
interface RequestContext extends SendOptions {
  /** What ends a wait, and what ends an attempt at once. */
  readonly signals: Pick<Host, "signal" | "urgent">;
  readonly patience: RetryBudget;
  /** True if something else ended the run in the meantime. */
  readonly isOver: () => boolean;
  /** Called before the wait for another attempt. */
  readonly onRetry: (attempt: Attempt, outcome: Outcome) => void;
  /** Called with the bytes that were handed over, and with a negative number for those that no longer count. */
  readonly onBytesSent: (bytes: number) => void;
}

/** Attempts a request until it has an outcome, and records attempts that are not final. */
export const sendUntilResolved = async (reading: Dataset, sent: SentRequest, run: RequestContext): Promise<Attempt> => {
  const { host, runLedger, frame, compression: form } = run;
  const { request, recorded } = sent;
  const chunks = () => readBody(reading, { frame, request });
  const pieces = form === undefined ? undefined : await compress(chunks(), form);
  const length = pieces?.reduce((sum, piece) => sum + piece.length, 0) ?? request.bytes;
  let firstEndMs: number | undefined;
  for (;;) {
    const attempt = await attemptOnce(sent, { ...run, length, chunks: () => pieces ?? chunks() });
    const outcome = classifyAttempt(attempt);
    sent.lastOutcome = toRecordedOutcome(attempt);
    if (outcome === "unknown") {
      sent.mayBeLogged = true;
      sent.unknownFailure = attempt.failure;
    }
    if (isFinalOutcome(outcome)) return attempt;
    await recordAttempt(runLedger, { sent, attempt, state: sent.mayBeLogged ? "unknown" : "not_sent" });
    firstEndMs ??= host.elapsed();
    const may = outcome !== "unknown" || run.onUnknown === "resend" || isKeyHonored(recorded, run);
    const isLate = run.isOver() || host.signal.aborted || host.elapsed() - firstEndMs > run.maxWaitMs;
    if (!may || isLate) return attempt;
    const askedMs = attempt.kind === "answered" ? attempt.retryAfterMs : undefined;
    if (!(await run.patience.wait(askedMs, () => run.onRetry(attempt, outcome)))) return attempt;
    if (!(await runLedger.recordRetry(recorded))) return attempt;
  }
};

/** Records what became of a request, and what its answer says of the service. */
export const recordAttempt = async (
  runLedger: RunLedger,
  {
    sent,
    attempt,
    state,
  }: { readonly sent: SentRequest; readonly attempt: Attempt; readonly state: RecordedOutcome["state"] },
): Promise<void> => {
  const { recorded, lastOutcome: last } = sent;
  await runLedger.recordOutcome(recorded, { ...last, state });
  const echoes = attempt.kind === "answered" && recorded.key !== "" && attempt.idempotencyKey === recorded.key;
  if (echoes && !runLedger.echoesKey) await runLedger.recordKeyEcho();
};

const toRecordedOutcome = (attempt: Attempt): Omit<RecordedOutcome, "state"> => {
  if (attempt.kind === "broken") return { status: null, cause: attempt.code, calls: emptyCallList };
  const calls = attempt.failure === undefined ? findCallList(attempt.body) : emptyCallList;
  return { status: attempt.status, cause: null, calls };
};

/** A body, as it is sent. */
interface RequestBody {
  readonly length: number;
  readonly chunks: () => AsyncIterable<Uint8Array> | Iterable<Uint8Array>;
}

const attemptOnce = async (
  { request, recorded }: SentRequest,
  { length, chunks, ...run }: RequestContext & RequestBody,
): Promise<Attempt> => {
  const { client, modelId, idempotency, onBytesSent: onBytes, compression: form, runLedger } = run;
  const grace = openGracePeriod(run.signals);
  let handedOver = 0;
  const body = {
    length,
    async *chunks() {
      for await (const chunk of chunks()) {
        runLedger.requireLease();
        yield chunk;
        // Its share of the body before it was compressed.
        const bytes = Math.floor((chunk.length * request.bytes) / length);
        handedOver += bytes;
        onBytes(bytes);
      }
    },
  };
  const headers = {
    ...(form === undefined ? {} : { "Content-Encoding": form }),
    ...(idempotency && recorded.key !== "" ? { "Idempotency-Key": recorded.key } : {}),
  };
  const { signal } = grace;
  try {
    return await client.attempt(logTrajectories, { parameters: { model_id: modelId }, body, headers, signal });
  } finally {
    grace.end();
    onBytes(-handedOver);
  }
};

/** After a signal the request in flight has this long (guarantees.md). */
export const graceMs = 5000;

/** Opens a signal that aborts some time after the host's, or at once at the second signal. */
const openGracePeriod = ({
  signal,
  urgent,
}: RequestContext["signals"]): { readonly signal: AbortSignal; end(): void } => {
  const abort = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  const stop = () => abort.abort(signal.reason);
  const start = () => {
    timer ??= setTimeout(stop, graceMs);
  };
  signal.addEventListener("abort", start, { once: true });
  urgent.addEventListener("abort", stop, { once: true });
  if (signal.aborted) start();
  if (urgent.aborted) stop();
  const end = () => {
    clearTimeout(timer);
    signal.removeEventListener("abort", start);
    urgent.removeEventListener("abort", stop);
  };
  return { signal: abort.signal, end };
};
