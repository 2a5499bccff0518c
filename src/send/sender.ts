/** Sends planned requests, and records each attempt. */
import { findStatedError } from "../client/failures.ts";
import type { Answer, Attempt, Retry } from "../client/index.ts";
import { collectContents, type Dataset, type DedupKeys, dedupKeyBytes } from "../dataset/index.ts";
import { Failure, isFailure, toFailure } from "../failure.ts";
import type { Host } from "../host.ts";
import { findFault } from "../json/reader.ts";
import { findGroups, type RecordedOutcome, type RecordedRequest } from "../ledger/index.ts";
import { verifySource } from "./body.ts";
import type { SendOptions } from "./delivery.ts";
import { handleRefusal, handleTooLarge } from "./handle-refusal.ts";
import { cutRequests, type PlannedRequest, planRequest } from "./plan.ts";
import * as requests from "./request.ts";
import * as results from "./send-result.ts";

/** A job with `recorded` repeats the bytes and the key of an earlier request. */
export type Job = Readonly<{ request: PlannedRequest; recorded?: RecordedRequest }>;

export type Sender = ReturnType<typeof openSender>;

export const openSender = (dataset: Dataset, options: SendOptions) => {
  const { host, client, runLedger, outcomes, dedupKeys, envelope, concurrency } = options;
  const sent = results.emptySendResult();
  const progress = { requests: 0, bytes: 0, ofBytes: 0, groups: 0 };
  let replyBytes = 0;
  let inFlightBytes = 0;
  let unknown: requests.SentRequest | undefined;
  let queue: Job[] = [];
  let jobCount = 0;
  let startedCount = 0;
  let retryBudget = client.retryBudget();
  let signals: Pick<Host, "signal" | "urgent"> = host;
  let isInterrupted = false;
  let takenGroups: number[] = [];
  let isSharing = false;
  /** After a 413, the maximum size of a request with several groups. */
  let limit = Number.POSITIVE_INFINITY;
  const lanes: Promise<void>[] = [];
  let runningCount = 0;

  const stopWith = (failure: Failure | undefined) => {
    sent.stop ??= failure;
  };
  const queueFirst = (cut: readonly PlannedRequest[]) => {
    queue = [...cut.map((request) => ({ request })), ...queue];
    startLanes();
  };
  const recutRequests = (groups: Uint32Array) => {
    const planned = queue.filter(({ recorded }) => !recorded);
    const uncut = Uint32Array.from([...groups, ...planned.flatMap(({ request }) => [...request.groups])]);
    queue = queue.filter(({ recorded }) => recorded);
    queueFirst(cutRequests(dataset, { envelope, groups: uncut, limit }));
  };
  const markUnknown = (sentRequest: requests.SentRequest, last = sentRequest.unknownFailure) => {
    outcomes.setAll(sentRequest.request.groups, "unknown");
    sent.unknownIds.add(sentRequest.recorded.id);
    unknown = { ...sentRequest, retryFailure: last === sentRequest.unknownFailure ? undefined : last };
  };
  const reportProgress = (change?: results.RequestChange) => {
    const bytes = Math.min(progress.bytes + inFlightBytes, progress.ofBytes);
    options.onProgress({ ...progress, of: startedCount + queue.length, bytes, change });
  };
  const reportChange = (
    { groups, bytes }: PlannedRequest,
    { attempt, ...change }: { attempt: Attempt; outcome: requests.Outcome; retry: Retry | undefined },
  ) => {
    const reason = attempt.kind === "answered" ? String(attempt.status) : attempt.code;
    reportProgress({ ...change, groups: groups.length, bytes, reason, failure: attempt.failure });
  };

  /** If the ledger cannot record an outcome, the next run finds an unknown outcome. */
  const record = async (request: requests.SentRequest, state: RecordedOutcome["state"]) => {
    const { recorded, lastOutcome } = request;
    await runLedger.recordOutcome(recorded, { ...lastOutcome, state }).catch((thrown: unknown) => {
      markUnknown(request);
      sent.recordFailure ??= toFailure(thrown);
      const { status } = lastOutcome;
      if (state !== "unknown") sent.unrecorded.push({ id: recorded.id, status, isLogged: state === "logged" });
      throw thrown;
    });
  };

  /** Starts a lane for each queued job, because lanes end if the queue is empty, and a 413 can fill it again. */
  const startLanes = () => {
    for (let free = Math.min(concurrency - runningCount, queue.length); free > 0; free--) {
      runningCount++;
      lanes.push(
        runLane().finally(() => {
          runningCount--;
        }),
      );
    }
  };

  const runLane = async () => {
    for (;;) {
      if (signals.signal.aborted && queue.length > 0) isInterrupted = true;
      const job = sent.stop || isInterrupted ? undefined : queue.shift();
      if (!job) return;
      startedCount++;
      try {
        if (!(await runJob(job))) startedCount--;
      } catch (thrown) {
        stopWith(toFailure(thrown));
      }
    }
  };

  /** Returns false if the request was not attempted. */
  const runJob = async ({ request, recorded: earlier }: Job) => {
    const { groups, bytes } = request;
    if (!earlier && bytes > limit && groups.length > 1) {
      recutRequests(groups);
      return false;
    }
    reportProgress();
    for (const [at, source] of dataset.sources.entries()) {
      if ((await source.touched?.()) === true) await verifySource(dataset, at);
    }
    const contents = collectContents(dataset, groups);
    const entry = { bytes, dedupKeys: collectDedupKeys(request, dedupKeys), envelopeDigest: envelope.digest, contents };
    const recorded = earlier ?? (await runLedger.recordRequest(entry));
    if ("taken" in recorded) {
      requeueUntaken(request, recorded.taken);
      return false;
    }
    if (earlier && !(await runLedger.recordRetry(recorded))) return false;
    sent.attempted++;
    sent.attemptedBytes += bytes;
    const lastOutcome = { status: null, cause: null, calls: results.emptyCallList };
    const state = { number: sent.attempted, mayBeLogged: earlier !== undefined, lastOutcome };
    const sentRequest: requests.SentRequest = { request, recorded, ...state };
    await finishRequest(sentRequest, await attemptRequest(sentRequest));
    return true;
  };

  const attemptRequest = async (sentRequest: requests.SentRequest) => {
    try {
      return await requests.sendUntilResolved(dataset, sentRequest, {
        ...{ ...options, signals, retryBudget },
        isStopped: () => sent.stop !== undefined,
        onRetry(attempt, outcome, retry) {
          sent.obstacle = attempt.failure;
          reportChange(sentRequest.request, { attempt, outcome, retry });
        },
        onBytesSent(bytes) {
          inFlightBytes += bytes;
          if (bytes > 0) reportProgress();
        },
      });
    } catch (thrown) {
      // A `Failure` comes before the last byte or between attempts. After other errors, the outcome is unknown.
      if (!(thrown instanceof Failure)) sentRequest.mayBeLogged = true;
      if (sentRequest.mayBeLogged) markUnknown(sentRequest);
      await record(sentRequest, sentRequest.mayBeLogged ? "unknown" : "not_sent");
      throw thrown;
    }
  };

  const finishRequest = async (sentRequest: requests.SentRequest, attempt: Attempt) => {
    const { request } = sentRequest;
    const outcome = requests.classifyAttempt(attempt);
    const isFinal = requests.isFinalOutcome(outcome);
    const isLogged = outcome === "logged";
    const isTooLarge = outcome === "too-large";
    const isUnknown = sentRequest.mayBeLogged && !isLogged;
    if (isLogged) outcomes.setAll(request.groups, "logged");
    else if (isUnknown) markUnknown(sentRequest, attempt.failure);
    if (attempt.kind === "answered") addReply(attempt, sentRequest);
    if (isFinal) {
      const refusedState = isTooLarge && request.groups.length > 1 ? "not_sent" : "refused";
      await record(sentRequest, isUnknown ? "unknown" : isLogged ? "logged" : refusedState);
    }
    sent.obstacle = host.signal.aborted && !isFinal ? attempt.failure : undefined;
    progress.requests++;
    if (isLogged) {
      progress.bytes += request.bytes;
      progress.groups += request.groups.length;
      // An echo in an error answer does not count, because a gateway can send such an answer.
      const { key } = sentRequest.recorded;
      const isEchoed = attempt.kind === "answered" && key !== "" && attempt.idempotencyKey === key;
      if (isEchoed && !runLedger.willHonorKeys) await runLedger.recordKeyEcho();
      await runLedger.recordPassedSize(request.bytes);
    }
    // This size limits later requests, even if the refused request had one group.
    if (isTooLarge) await runLedger.recordRefusedSize(request.bytes);
    reportChange(request, { attempt, outcome: isUnknown ? "unknown" : outcome, retry: undefined });
    if (isLogged || (outcome === "unknown" && options.onUnknown === "leave")) return;
    if (isUnknown || !isFinal || attempt.kind === "broken") return stopWith(toSignalFailure(host) ?? attempt.failure);
    const refusal = { ...options, request, answer: attempt, knownLimit: runLedger.sizeLimit?.bytes ?? 0 };
    const next = isTooLarge ? handleTooLarge(dataset, refusal) : await handleRefusal(dataset, refusal);
    const { requests: cut = [], refused = [], stop = attempt.failure } = next;
    for (const group of refused) {
      outcomes.set(group.group, "rejected");
      sent.refused.push(group);
    }
    limit = Math.min(limit, next.limit ?? limit);
    queueFirst(cut);
    if (cut.length + refused.length === 0) stopWith(toSignalFailure(host) ?? stop);
  };

  const addReply = (
    { status, body, isCut }: Answer,
    { lastOutcome: { calls }, recorded, number }: requests.SentRequest,
  ) => {
    replyBytes += body.length;
    sent.replies.push({ status, bytes: body.length, body });
    if (replyBytes > results.maxPrintedBytes) for (const reply of sent.replies) reply.body = undefined;
    if (!isLoggedReply({ status })) return;
    const hasCalls = calls !== results.emptyCallList;
    if (hasCalls) sent.firstCall ??= results.findFirstCall(calls);
    const said = isCut ? undefined : findStatedError(body);
    if (isCut || said !== undefined || (!hasCalls && body.length > 0 && findFault(body)))
      sent.doubtfulReplies.push({ request: recorded.id ?? number, status, isCut, said });
  };

  const requeueUntaken = (request: PlannedRequest, taken: Uint8Array) => {
    // Each run continues at a random job, so that runs with the same input claim different groups.
    if (!isSharing) for (const job of queue.splice(0, Math.floor(host.random() * queue.length))) queue.push(job);
    isSharing = true;
    const takenElsewhere = new Set(findGroups(taken, dedupKeys.find));
    for (const group of request.groups) if (takenElsewhere.has(group)) takenGroups.push(group);
    const groups = request.groups.filter((group) => !takenElsewhere.has(group));
    if (groups.length > 0) queueFirst([planRequest(dataset, { envelope, groups })]);
  };

  return {
    result: (): results.SendResult => ({
      ...sent,
      attemptedOrQueued: sent.attempted + queue.length,
      dividedInto: jobCount === 1 && limit !== Number.POSITIVE_INFINITY ? sent.replies.filter(isLoggedReply).length : 0,
      unknown: unknown && {
        ...unknown,
        isKeyHonored: requests.isKeyHonored(unknown.recorded, options, runLedger.willHonorKeys),
      },
      stop: sent.stop ?? (isInterrupted ? toSignalFailure(host) : undefined),
    }),
    /** If `isAfterSignal`, attempts each job once. */
    async send(jobs: readonly Job[], isAfterSignal: boolean) {
      signals = isAfterSignal ? { signal: host.urgent, urgent: host.urgent } : host;
      retryBudget = client.retryBudget();
      isInterrupted = false;
      if (isAfterSignal && !unknown && isFailure(sent.stop, "interrupted")) sent.stop = undefined;
      queue = [...jobs];
      jobCount += jobs.length;
      progress.ofBytes += jobs.reduce((sum, { request }) => sum + request.bytes, 0);
      startLanes();
      for (let lane = lanes.shift(); lane; lane = lanes.shift()) await lane;
    },
    stopWith,
    removeTakenGroups() {
      const groups = Uint32Array.from(takenGroups).sort();
      takenGroups = [];
      return groups;
    },
  };
};

const isLoggedReply = ({ status }: Pick<results.PrintedAnswer, "status">) => status >= 200 && status < 300;

const maxCopiedKeys = 4096;

export const collectDedupKeys = ({ groups }: PlannedRequest, dedupKeys: DedupKeys): Uint8Array => {
  const keys = new Uint8Array(groups.length * dedupKeyBytes);
  // `maxCopiedKeys` limits temporary memory.
  for (let first = 0, end = 0; first < groups.length; first = end) {
    const group = groups[first] ?? 0;
    for (end = first + 1; end < first + maxCopiedKeys && groups[end] === group + end - first; ) end++;
    keys.set(dedupKeys.slice(group, end - first), first * dedupKeyBytes);
  }
  return keys;
};

const toSignalFailure = ({ signal }: Host) => (signal.reason instanceof Failure ? signal.reason : undefined);
