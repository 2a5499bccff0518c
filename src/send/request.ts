/** Attempts a request until the outcome is final or no retry is allowed. */
import { isQuotaUsedUp } from "../client/failures.ts";
import type { Attempt, Retry, RetryBudget, StreamedBody } from "../client/index.ts";
import { logTrajectories } from "../contract/log.ts";
import type { Dataset } from "../dataset/index.ts";
import type { Failure } from "../failure.ts";
import type { Host } from "../host.ts";
import type { RecordedOutcome, RecordedRequest, RunLedger } from "../ledger/index.ts";
import { dayMs } from "../units.ts";
import { composeBody, compress } from "./body.ts";
import type { SendOptions } from "./delivery.ts";
import type { PlannedRequest } from "./plan.ts";
import { emptyCallList, findCallList } from "./send-result.ts";

export type Outcome = "logged" | "not-sent" | "not-processed" | "too-large" | "refused" | "unknown";

/** Applies the table of outcomes in guarantees.md. */
export const classifyAttempt = (attempt: Attempt): Outcome => {
  if (attempt.kind === "broken") return attempt.isBodySent ? "unknown" : "not-sent";
  const { status, isBodySent, hasRetryAfter } = attempt;
  if (status >= 200 && status < 300) return "logged";
  if (status === 413) return "too-large";
  // Assumed: a 503 with Retry-After says that the request was not processed.
  if (status === 429 || status === 408 || (status === 503 && hasRetryAfter)) return "not-processed";
  if (status >= 500) return isBodySent ? "unknown" : "not-processed";
  return status === 409 ? "unknown" : "refused";
};

export const isFinalOutcome = (outcome: Outcome) => ["logged", "too-large", "refused"].includes(outcome);

/** A service honors a key for this time after the first attempt (guarantees.md). */
const maxKeyAgeMs = dayMs;

type KeyFacts = Pick<SendOptions, "hasIdempotencyKeys"> & { runLedger: Pick<RunLedger, "honorsKeys" | "now"> };

/** True if the service does not log a resent request twice. */
export const isKeyHonored = (
  { key, firstTried }: RecordedRequest,
  { runLedger, hasIdempotencyKeys }: KeyFacts,
  honorsKeys = runLedger.honorsKeys,
) => {
  const ageMs = runLedger.now() - firstTried;
  // A negative age means that the clock was set back.
  return hasIdempotencyKeys && key !== "" && honorsKeys && ageMs >= 0 && ageMs < maxKeyAgeMs;
};

export const canResend = (
  entry: RecordedRequest,
  { resendLogged, onUnknown, ...facts }: KeyFacts & Pick<SendOptions, "resendLogged" | "onUnknown">,
) => !resendLogged && (onUnknown === "resend" || isKeyHonored(entry, facts));

export interface SentRequest {
  request: PlannedRequest;
  number: number;
  recorded: RecordedRequest;
  /** True if the outcome is unknown until an attempt succeeds. */
  mayBeLogged: boolean;
  unknownFailure?: Failure | undefined;
  retryFailure?: Failure | undefined;
  lastOutcome: Omit<RecordedOutcome, "state">;
}

interface AttemptOptions extends SendOptions {
  /** `signal` ends waits immediately, and attempts after `graceMs`. `urgent` ends attempts immediately. */
  signals: Pick<Host, "signal" | "urgent">;
  retryBudget: RetryBudget;
  isStopped: () => boolean;
  onRetry: (attempt: Attempt, outcome: Outcome, retry: Retry) => void;
  /** Receives the size of each sent piece and, after the attempt, the negative sum. */
  onBytesSent: (bytes: number) => void;
}

export const sendUntilResolved = async (dataset: Dataset, sent: SentRequest, run: AttemptOptions) => {
  const { host, runLedger, envelope, compression } = run;
  const { request, recorded } = sent;
  const chunks = () => composeBody(dataset, { envelope, request });
  const pieces = compression && (await compress(chunks(), compression));
  const length = pieces?.reduce((sum, piece) => sum + piece.length, 0) ?? request.bytes;
  // The service records at most one call for each trajectory.
  const maxCalls = request.groups.reduce((sum, group) => sum + dataset.groups.trajectoriesOf(group), 0);
  let firstEndMs: number | undefined;
  for (let next = 2; ; next++) {
    const waitedMs = firstEndMs === undefined ? 0 : host.elapsed() - firstEndMs;
    const attempt = await attemptOnce(sent, { ...run, length, waitedMs, chunks: () => pieces ?? chunks() });
    const outcome = classifyAttempt(attempt);
    const isAnswered = attempt.kind === "answered";
    const isLogged = isAnswered && outcome === "logged";
    const calls = isLogged ? findCallList(attempt.body, maxCalls, run.redact) : emptyCallList;
    sent.lastOutcome = { status: isAnswered ? attempt.status : null, cause: isAnswered ? null : attempt.code, calls };
    if (outcome === "unknown") {
      sent.mayBeLogged = true;
      sent.unknownFailure = attempt.failure;
    }
    if (isFinalOutcome(outcome)) return attempt;
    await runLedger.recordOutcome(recorded, { ...sent.lastOutcome, state: sent.mayBeLogged ? "unknown" : "not_sent" });
    firstEndMs ??= host.elapsed();
    if (isAnswered && isQuotaUsedUp(attempt.status, attempt.body)) return attempt;
    const canRetry = outcome !== "unknown" || run.onUnknown === "resend" || isKeyHonored(recorded, run);
    const isLate = sent.lastOutcome.cause === "CONNECT_ENDLESS" || host.elapsed() - firstEndMs > run.maxWaitMs;
    if (!canRetry || isLate || run.isStopped() || host.signal.aborted) return attempt;
    const onWait = (retry: Retry) => run.onRetry(attempt, outcome, retry);
    const minMs = isAnswered ? attempt.retryAfterMs : undefined;
    if (!(await run.retryBudget.wait(minMs, { attempt: next, onWait }))) return attempt;
    if (!(await runLedger.recordRetry(recorded))) return attempt;
  }
};

const attemptOnce = async (
  { request, recorded }: SentRequest,
  { length, chunks, waitedMs: sinceFirstAttemptMs, ...run }: AttemptOptions & StreamedBody & { waitedMs: number },
) => {
  const { client, modelId, hasIdempotencyKeys, onBytesSent, compression, runLedger } = run;
  const grace = openGracePeriod(run.signals);
  let handedOver = 0;
  const countChunks = async function* () {
    for await (const chunk of chunks()) {
      runLedger.requireLease();
      yield chunk;
      // Progress counts uncompressed bytes.
      const bytes = Math.floor((chunk.length * request.bytes) / length);
      handedOver += bytes;
      onBytesSent(bytes);
    }
  };
  const body = { length, chunks: countChunks };
  const headers = {
    ...(compression && { "Content-Encoding": compression }),
    ...(hasIdempotencyKeys && recorded.key !== "" && { "Idempotency-Key": recorded.key }),
  };
  const parameters = { model_id: modelId };
  try {
    return await client.attempt(logTrajectories, {
      parameters,
      body,
      headers,
      sinceFirstAttemptMs,
      signal: grace.signal,
    });
  } finally {
    grace.end();
    onBytesSent(-handedOver);
  }
};

/** After a signal, a request in flight has this time to end (guarantees.md). */
export const graceMs = 5000;

const openGracePeriod = ({ signal, urgent }: AttemptOptions["signals"]) => {
  const abort = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  const start = () => {
    timer = setTimeout(() => abort.abort(signal.reason), graceMs);
  };
  signal.addEventListener("abort", start, { once: true });
  if (signal.aborted) start();
  const end = () => {
    clearTimeout(timer);
    signal.removeEventListener("abort", start);
  };
  return { signal: AbortSignal.any([urgent, abort.signal]), end };
};
