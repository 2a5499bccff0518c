/** Attempts a request until the outcome is final or no retry is allowed. */

import type { Failure } from "../../failure.ts";
import type { Dataset } from "../../rollouts/dataset/read-dataset.ts";
import type { Host } from "../../system/host.ts";
import { dayMs } from "../../text/units.ts";
import type { Attempt } from "../../wire/client/client.ts";
import type { StreamedBody } from "../../wire/client/exchange.ts";
import { isQuotaUsedUp } from "../../wire/client/failures.ts";
import type { Retry } from "../../wire/client/request-options.ts";
import type { RetryBudget } from "../../wire/client/retry.ts";
import { logTrajectories } from "../../wire/contract/log.ts";
import type { RecordedOutcome } from "../ledger/file-writer.ts";
import type { RecordedRequest, RunLedger } from "../ledger/recorded-requests.ts";
import { emptyCallList, findCallList } from "./call-ids.ts";
import { classifyAttempt, isFinal, joinOutcomes, type Outcome, outcomes } from "./outcome.ts";
import type { PlannedRequest } from "./plan.ts";
import { composeBody, compress } from "./request-body.ts";
import type { SendOptions } from "./send-options.ts";

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
  readonly request: PlannedRequest;
  readonly number: number;
  readonly recorded: RecordedRequest;
  /** The outcome of all attempts, including attempts of earlier runs. */
  outcome: Outcome;
  lastAttempt: Omit<RecordedOutcome, "state">;
  unknownFailure?: Failure | undefined;
  retryFailure?: Failure | undefined;
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

/** Returns the last attempt. */
export const attemptUntilFinal = async (dataset: Dataset, sent: SentRequest, run: AttemptOptions) => {
  const { host, runLedger } = run;
  const body = await openBody(dataset, sent.request, run);
  // The service records at most one call for each trajectory.
  const maxCalls = sent.request.groups.reduce((sum, group) => sum + dataset.groups.trajectoriesOf(group), 0);
  let firstEndMs: number | undefined;
  for (let next = 2; ; next++) {
    const waitedMs = firstEndMs === undefined ? 0 : host.elapsed() - firstEndMs;
    const attempt = await attemptOnce(sent, { ...run, ...body, waitedMs });
    const outcome = noteAttempt(sent, attempt, { maxCalls, redact: run.redact });
    if (isFinal(outcome)) return attempt;
    await runLedger.recordOutcome(sent.recorded, { ...sent.lastAttempt, state: outcomes[sent.outcome].recorded });
    firstEndMs ??= host.elapsed();
    const isLate = sent.lastAttempt.cause === "CONNECT_ENDLESS" || host.elapsed() - firstEndMs > run.maxWaitMs;
    if (isLate || !canRetry(sent, attempt, run) || run.isStopped() || host.signal.aborted) return attempt;
    const onWait = (retry: Retry) => run.onRetry(attempt, outcome, retry);
    const minMs = attempt.kind === "answered" ? attempt.retryAfterMs : undefined;
    if (!(await run.retryBudget.wait(minMs, { attempt: next, onWait }))) return attempt;
    if (!(await runLedger.recordRetry(sent.recorded))) return attempt;
  }
};

const openBody = async (
  dataset: Dataset,
  request: PlannedRequest,
  { envelope, compression }: AttemptOptions,
): Promise<StreamedBody> => {
  const chunks = () => composeBody(dataset, { envelope, request });
  if (!compression) return { length: request.bytes, chunks };
  const pieces = await compress(chunks(), compression);
  return { length: pieces.reduce((sum, piece) => sum + piece.length, 0), chunks: () => pieces };
};

/** Returns the outcome of this attempt alone. */
const noteAttempt = (
  sent: SentRequest,
  attempt: Attempt,
  { maxCalls, redact }: { maxCalls: number; redact: (json: string) => string },
) => {
  const outcome = classifyAttempt(attempt);
  const isAnswered = attempt.kind === "answered";
  const calls = isAnswered && outcome === "logged" ? findCallList(attempt.body, maxCalls, redact) : emptyCallList;
  sent.lastAttempt = { status: isAnswered ? attempt.status : null, cause: isAnswered ? null : attempt.code, calls };
  sent.outcome = joinOutcomes(sent.outcome, outcome);
  if (outcome === "unknown") sent.unknownFailure = attempt.failure;
  return outcome;
};

const canRetry = ({ recorded }: SentRequest, attempt: Attempt, run: AttemptOptions) => {
  if (attempt.kind === "answered" && isQuotaUsedUp(attempt.status, attempt.body)) return false;
  return classifyAttempt(attempt) !== "unknown" || run.onUnknown === "resend" || isKeyHonored(recorded, run);
};

const attemptOnce = async (
  { request, recorded }: SentRequest,
  { length, chunks, waitedMs, ...run }: AttemptOptions & StreamedBody & { waitedMs: number },
) => {
  const { hasIdempotencyKeys, onBytesSent, compression } = run;
  const grace = openGracePeriod(run.signals);
  let handedOver = 0;
  const countChunks = async function* () {
    for await (const chunk of chunks()) {
      run.runLedger.requireLease();
      yield chunk;
      // Progress counts uncompressed bytes.
      const bytes = Math.floor((chunk.length * request.bytes) / length);
      handedOver += bytes;
      onBytesSent(bytes);
    }
  };
  try {
    return await run.client.attempt(logTrajectories, {
      parameters: { model_id: run.modelId },
      body: { length, chunks: countChunks },
      headers: {
        ...(compression && { "Content-Encoding": compression }),
        ...(hasIdempotencyKeys && recorded.key !== "" && { "Idempotency-Key": recorded.key }),
      },
      sinceFirstAttemptMs: waitedMs,
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
