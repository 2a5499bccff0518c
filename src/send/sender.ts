/** Sends planned requests, and records each before and after its attempts. */
import type { Attempt } from "../client/index.ts";
import { Failure, isFailure } from "../failure.ts";
import { type Dataset, type DedupKeys, dedupKeyBytes } from "../groups/index.ts";
import type { Host } from "../host.ts";
import type { RecordedOutcome, RecordedRequest } from "../ledger/index.ts";
import { verifySource } from "./body.ts";
import { handleRefusal, handleTooLarge, type RefusedGroup } from "./handle-refusal.ts";
import type { SendOptions } from "./options.ts";
import { cutRequests, type PlannedRequest, planRequest } from "./plan.ts";
import {
  classifyAttempt,
  isFinalOutcome,
  isKeyHonored,
  type Outcome,
  recordAttempt,
  type SentRequest,
  sendUntilResolved,
} from "./request.ts";
import {
  addReply,
  emptyCallList,
  emptySendResult,
  type RequestChange,
  type Retry,
  type SendResult,
} from "./send-result.ts";

/** After a slower first request, a notice recommends `--concurrency`. */
const slowMs = 1000;

/** A request to send. `recorded` exists if it was attempted before. Then its bytes and key must be the same. */
export interface Job {
  readonly request: PlannedRequest;
  readonly recorded?: RecordedRequest;
}

export type Sender = ReturnType<typeof openSender>;

/** Opens the sender of a run. Errors of the network or the service, and signals, are part of its result. */
export const openSender = (dataset: Dataset, options: SendOptions) => {
  const { host, client, runLedger, outcomes, dedupKeys, envelope, concurrency } = options;
  const sent: { -readonly [Key in keyof SendResult]: SendResult[Key] } = emptySendResult();
  const refused: RefusedGroup[] = [];
  const progress = { requests: 0, bytes: 0, ofBytes: 0, groups: 0 };
  let inFlightBytes = 0;
  let unknown: { readonly request: SentRequest; readonly retryFailure: Failure | undefined } | undefined;
  let queue: Job[] = [];
  let jobCount = 0;
  let startedCount = 0;
  let patience = client.retryBudget();
  let until: Pick<Host, "signal" | "urgent"> = host;
  /** True after a signal between two requests. */
  let isInterrupted = false;
  /** An unexpected error, which is thrown after all lanes recorded their requests. */
  let defect: { readonly thrown: unknown } | undefined;
  /** Groups that other runs had claimed. */
  let takenGroups: number[] = [];
  let isSharing = false;
  /** The largest request that is sent undivided after a 413. */
  let limit = Number.POSITIVE_INFINITY;

  const isOver = () => sent.stop !== undefined || defect !== undefined;
  const stopWith = (failure: Failure | undefined) => {
    sent.stop ??= failure;
  };
  const findStop = (attempt: Attempt) => (host.signal.aborted ? toSignalFailure(host) : undefined) ?? attempt.failure;
  const queueFirst = (requests: readonly PlannedRequest[]) => {
    queue.unshift(...requests.map((request) => ({ request })));
  };
  /** Cuts the groups of a request and of the queue again, because the limit is smaller now. */
  const recutRequests = (groups: Uint32Array) => {
    const planned = queue.filter(({ recorded }) => recorded === undefined);
    const all = Uint32Array.from([groups, ...planned.map(({ request }) => request.groups)].flatMap((own) => [...own]));
    queue = queue.filter(({ recorded }) => recorded !== undefined);
    queueFirst(cutRequests(dataset, { envelope, groups: all, limit }));
  };
  const markUnknown = (request: SentRequest, last = request.unknownFailure) => {
    outcomes.setAll(request.request.groups, "unknown");
    unknown = { request, retryFailure: last === request.unknownFailure ? undefined : last };
  };
  const reportProgress = (change?: RequestChange) => {
    const bytes = Math.min(progress.bytes + inFlightBytes, progress.ofBytes);
    options.onProgress({ ...progress, of: startedCount + queue.length, bytes, change });
  };

  /** Records an outcome. If that fails, the outcome is unknown to the next run. */
  const record = async (request: SentRequest, recording: Promise<void>) =>
    await recording.catch((thrown: unknown) => {
      markUnknown(request);
      throw thrown;
    });

  /** Sends requests one after the other until the queue is empty or the run stops. */
  const runLane = async () => {
    for (;;) {
      if (until.signal.aborted && queue.length > 0) isInterrupted = true;
      const job = isOver() || isInterrupted ? undefined : queue.shift();
      if (job === undefined) return;
      startedCount++;
      try {
        if (!(await runJob(job))) startedCount--;
      } catch (thrown) {
        if (thrown instanceof Failure) stopWith(thrown);
        else defect ??= { thrown };
      }
    }
  };

  /** Sends a request; returns false if smaller requests replace it or other runs have groups of it. */
  const runJob = async ({ request, recorded: earlier }: Job): Promise<boolean> => {
    const { groups, bytes } = request;
    if (earlier === undefined && bytes > limit && groups.length > 1) {
      recutRequests(groups);
      return false;
    }
    reportProgress();
    for (const [at, source] of dataset.sources.entries()) {
      if (await source.touched()) await verifySource(dataset, at);
    }
    const recorded =
      earlier ?? (await runLedger.recordRequest({ ...request, dedupKeys: collectDedupKeys(request, dedupKeys) }));
    if ("taken" in recorded) {
      sendUntaken(request, recorded.taken);
      return false;
    }
    if (earlier !== undefined && !(await runLedger.recordRetry(recorded))) return false;
    sent.tried++;
    sent.triedBytes += bytes;
    const last = { status: null, cause: null, calls: emptyCallList };
    await attempt({
      request,
      number: sent.tried,
      recorded,
      mayBeLogged: earlier !== undefined,
      unknownFailure: undefined,
      lastOutcome: last,
    });
    return true;
  };

  const attempt = async (request: SentRequest) => {
    const from = host.elapsed();
    let attempt: Attempt;
    try {
      attempt = await sendUntilResolved(dataset, request, {
        ...options,
        signals: until,
        patience,
        isOver,
        onRetry: (attempt, outcome, retry) => {
          sent.obstacle = attempt.failure;
          reportProgress(toRequestChange(request.request, { attempt, outcome, retry }));
        },
        onBytesSent: (bytes) => {
          inFlightBytes += bytes;
          if (bytes > 0) reportProgress();
        },
      });
    } catch (thrown) {
      // A Failure is thrown before the last byte or between two attempts; any other error leaves the outcome unknown.
      if (!(thrown instanceof Failure)) request.mayBeLogged = true;
      if (request.mayBeLogged) markUnknown(request);
      const state = request.mayBeLogged ? "unknown" : "not_sent";
      await record(request, runLedger.recordOutcome(request.recorded, { ...request.lastOutcome, state }));
      throw thrown;
    }
    const ms = host.elapsed() - from;
    const left = queue.length;
    if (sent.tried === 1 && concurrency === 1 && ms > slowMs && left > 0) options.onSlow(ms, left);
    await finishRequest(request, attempt);
  };

  /** Sets the outcome of a request, then records it, then handles a refusal. */
  const finishRequest = async (sentRequest: SentRequest, attempt: Attempt) => {
    const { request } = sentRequest;
    const outcome = classifyAttempt(attempt);
    const isUnknown = sentRequest.mayBeLogged && outcome !== "logged";
    if (outcome === "logged") outcomes.setAll(request.groups, "logged");
    else if (isUnknown) markUnknown(sentRequest, attempt.failure);
    if (attempt.kind === "answered") addReply(sent.replies, attempt, sentRequest.lastOutcome.calls);
    const state = isUnknown ? "unknown" : toEntryState(outcome, request);
    if (isFinalOutcome(outcome)) {
      await record(sentRequest, recordAttempt(runLedger, { sent: sentRequest, attempt, state }));
    }
    sent.obstacle = host.signal.aborted && !isFinalOutcome(outcome) ? attempt.failure : undefined;
    progress.requests++;
    if (outcome === "logged") {
      sent.loggedRequests++;
      progress.bytes += request.bytes;
      progress.groups += request.groups.length;
      await runLedger.recordSize(request.bytes, "passed");
    }
    // A 413 for a single group also rules out requests of several groups of that size.
    if (outcome === "too-large") await runLedger.recordSize(request.bytes, "refused");
    reportProgress(toRequestChange(request, { attempt, outcome: isUnknown ? "unknown" : outcome }));
    if (outcome === "logged" || (outcome === "unknown" && options.onUnknown === "leave")) return;
    if (isUnknown || !isFinalOutcome(outcome)) return stopWith(findStop(attempt));
    const own = { ...options, request, attempt };
    const knownLimit = runLedger.sizeLimit?.bytes ?? 0;
    const next =
      outcome === "too-large" ? handleTooLarge(dataset, { ...own, knownLimit }) : await handleRefusal(dataset, own);
    for (const { group } of next.refused ?? []) outcomes.set(group, "rejected");
    refused.push(...(next.refused ?? []));
    limit = Math.min(limit, next.limit ?? limit);
    queueFirst(next.requests ?? []);
    if (next.requests !== undefined || next.refused !== undefined) return;
    sent.problems = next.problems ?? sent.problems;
    stopWith(next.stop ?? findStop(attempt));
  };

  /** Sends the groups of a request that other runs have not claimed. */
  const sendUntaken = (request: PlannedRequest, taken: Uint8Array) => {
    // Runs that share an input continue at random positions, so that they seldom claim the same groups.
    if (!isSharing) queue.push(...queue.splice(0, Math.floor(host.random() * queue.length)));
    isSharing = true;
    const others = new Set<number>();
    for (let at = 0; at < taken.length; at += dedupKeyBytes) others.add(dedupKeys.find(taken, at));
    takenGroups.push(...request.groups.filter((group) => others.has(group)));
    const groups = request.groups.filter((group) => !others.has(group));
    if (groups.length > 0) queueFirst([planRequest(dataset, { envelope, groups })]);
  };

  return {
    /** Returns the result so far. */
    result: (): SendResult => ({
      ...sent,
      of: sent.tried + queue.length,
      isDivided: jobCount === 1 && limit !== Number.POSITIVE_INFINITY,
      refused,
      // A reply in another lane may have shown that keys are honored.
      unknown: unknown && {
        ...unknown.request,
        retryFailure: unknown.retryFailure,
        isHonored: isKeyHonored(unknown.request.recorded, options),
      },
      stop: sent.stop ?? (isInterrupted ? toSignalFailure(host) : undefined),
    }),
    /** Sends jobs, unless the run was stopped. @param isLast true after a signal: each is attempted once */
    async send(jobs: readonly Job[], isLast: boolean): Promise<void> {
      until = isLast ? { signal: host.urgent, urgent: host.urgent } : host;
      patience = client.retryBudget();
      isInterrupted = false;
      if (isLast && unknown === undefined && isFailure(sent.stop, "interrupted")) sent.stop = undefined;
      queue = [...jobs];
      jobCount += jobs.length;
      progress.ofBytes += jobs.reduce((sum, { request }) => sum + request.bytes, 0);
      const lanes = Math.max(1, Math.min(concurrency, jobs.length));
      await Promise.all(Array.from({ length: lanes }, runLane));
      if (defect !== undefined) throw defect.thrown;
    },
    stopWith,
    /** Returns the groups that other runs had claimed since the last call. */
    removeTakenGroups(): Uint32Array {
      const groups = Uint32Array.from(takenGroups).sort();
      takenGroups = [];
      return groups;
    },
  };
};

const toRequestChange = (
  { groups, bytes }: PlannedRequest,
  { attempt, outcome, retry }: { readonly attempt: Attempt; readonly outcome: Outcome; readonly retry?: Retry },
): RequestChange => {
  const reason = attempt.kind === "answered" ? String(attempt.status) : attempt.code;
  return { outcome, retry, groups: groups.length, bytes, reason, failure: attempt.failure };
};

/** Converts the known outcome of a request to its state in the ledger. */
const toEntryState = (outcome: Outcome, { groups }: PlannedRequest): RecordedOutcome["state"] => {
  if (outcome === "logged") return "logged";
  return outcome === "refused" || (outcome === "too-large" && groups.length === 1) ? "refused" : "not_sent";
};

/** Returns the dedup keys of a request's groups, in its order. */
export const collectDedupKeys = ({ groups }: PlannedRequest, dedupKeys: DedupKeys): Uint8Array => {
  const own = new Uint8Array(groups.length * dedupKeyBytes);
  // Copies adjacent groups together.
  for (let first = 0, end = 0; first < groups.length; first = end) {
    const group = groups[first] ?? 0;
    for (end = first + 1; groups[end] === group + end - first; ) end++;
    own.set(dedupKeys.slice(group, end - first), first * dedupKeyBytes);
  }
  return own;
};

const toSignalFailure = ({ signal }: Host): Failure | undefined =>
  signal.reason instanceof Failure ? signal.reason : undefined;
