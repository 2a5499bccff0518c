/** Sends planned requests, and records each attempt. */

import { Failure, isFailure, toFailure } from "../../failure.ts";
import { collectContents } from "../../rollouts/dataset/contents.ts";
import { type DedupKeys, dedupKeyBytes } from "../../rollouts/index/dedup-keys.ts";
import type { Attempt } from "../../wire/client/client.ts";
import { findGroups } from "../ledger/entries.ts";
import { attemptUntilFinal, type SentRequest } from "./attempt-request.ts";
import { emptyCallList } from "./call-ids.ts";
import { finishRequest, markUnknown, recordOutcome } from "./finish-request.ts";
import { joinOutcomes } from "./outcome.ts";
import { cutRequests, type PlannedRequest, planRequest } from "./plan.ts";
import { verifySource } from "./request-body.ts";
import { type Job, reportChange, reportProgress, type Sender, stopSending } from "./sender-state.ts";

/** If `isAfterSignal`, attempts each job once. */
export const sendJobs = async (sender: Sender, jobs: readonly Job[], isAfterSignal: boolean) => {
  const { host, client } = sender.options;
  const { sent, progress, lanes } = sender;
  sender.signals = isAfterSignal ? { signal: host.urgent, urgent: host.urgent } : host;
  sender.retryBudget = client.retryBudget();
  sender.isInterrupted = false;
  if (isAfterSignal && !sent.unknown && isFailure(sent.stop, "interrupted")) sent.stop = undefined;
  sender.queue = [...jobs];
  sender.jobCount += jobs.length;
  progress.ofBytes += jobs.reduce((sum, { request }) => sum + request.bytes, 0);
  startLanes(sender);
  for (let lane = lanes.shift(); lane; lane = lanes.shift()) await lane;
};

/** Starts a lane for each queued job, because lanes end if the queue is empty, and a 413 can fill it again. */
const startLanes = (sender: Sender) => {
  const { concurrency } = sender.options;
  for (let free = Math.min(concurrency - sender.runningCount, sender.queue.length); free > 0; free--) {
    sender.runningCount++;
    sender.lanes.push(
      runLane(sender).finally(() => {
        sender.runningCount--;
      }),
    );
  }
};

const runLane = async (sender: Sender) => {
  for (;;) {
    if (sender.signals.signal.aborted && sender.queue.length > 0) sender.isInterrupted = true;
    const job = sender.sent.stop || sender.isInterrupted ? undefined : sender.queue.shift();
    if (!job) return;
    sender.startedCount++;
    try {
      if (!(await runJob(sender, job))) sender.startedCount--;
    } catch (thrown) {
      stopSending(sender, toFailure(thrown));
    }
  }
};

/** Returns false if the request was not attempted. */
const runJob = async (sender: Sender, { request, recorded: earlier }: Job) => {
  const { dataset, sent, options } = sender;
  const { runLedger } = options;
  if (!earlier && request.bytes > sender.limit && request.groups.length > 1) {
    recutRequests(sender, request.groups);
    return false;
  }
  reportProgress(sender);
  for (const [at, source] of dataset.sources.entries()) {
    if ((await source.touched?.()) === true) await verifySource(dataset, at);
  }
  const recorded = earlier ?? (await runLedger.recordRequest(toEntry(sender, request)));
  if ("taken" in recorded) {
    requeueUntaken(sender, request, recorded.taken);
    return false;
  }
  if (earlier && !(await runLedger.recordRetry(recorded))) return false;
  sent.attempted++;
  sent.attemptedBytes += request.bytes;
  const sentRequest: SentRequest = {
    request,
    number: sent.attempted,
    recorded,
    outcome: earlier ? "unknown" : "not_sent",
    lastAttempt: { status: null, cause: null, calls: emptyCallList },
  };
  const replacements = await finishRequest(sender, sentRequest, await attemptRequest(sender, sentRequest));
  if (replacements.length > 0) queueFirst(sender, replacements);
  return true;
};

const toEntry = ({ dataset, options: { envelope, dedupKeys } }: Sender, request: PlannedRequest) => {
  const contents = collectContents(dataset, request.groups);
  const { bytes } = request;
  return { bytes, dedupKeys: collectDedupKeys(request, dedupKeys), envelopeDigest: envelope.digest, contents };
};

const attemptRequest = async (sender: Sender, sentRequest: SentRequest): Promise<Attempt> => {
  const { dataset, options, sent, signals, retryBudget } = sender;
  try {
    return await attemptUntilFinal(dataset, sentRequest, {
      ...options,
      signals,
      retryBudget,
      isStopped: () => sent.stop !== undefined,
      onRetry(attempt, outcome, retry) {
        sent.obstacle = attempt.failure;
        reportChange(sender, sentRequest.request, { attempt, outcome, retry });
      },
      onBytesSent(bytes) {
        sender.inFlightBytes += bytes;
        if (bytes > 0) reportProgress(sender);
      },
    });
  } catch (thrown) {
    // A `Failure` comes before the last byte or between attempts. After other errors, the outcome is unknown.
    if (!(thrown instanceof Failure)) sentRequest.outcome = joinOutcomes(sentRequest.outcome, "unknown");
    if (sentRequest.outcome === "unknown") markUnknown(sender, sentRequest);
    await recordOutcome(sender, sentRequest);
    throw thrown;
  }
};

const queueFirst = (sender: Sender, requests: readonly PlannedRequest[]) => {
  sender.queue = [...requests.map((request) => ({ request })), ...sender.queue];
  startLanes(sender);
};

const recutRequests = (sender: Sender, groups: Uint32Array) => {
  const planned = sender.queue.filter(({ recorded }) => !recorded);
  const uncut = Uint32Array.from([...groups, ...planned.flatMap(({ request }) => [...request.groups])]);
  sender.queue = sender.queue.filter(({ recorded }) => recorded);
  const { envelope } = sender.options;
  queueFirst(sender, cutRequests(sender.dataset, { envelope, groups: uncut, limit: sender.limit }));
};

const requeueUntaken = (sender: Sender, request: PlannedRequest, taken: Uint8Array) => {
  const { queue, options, takenGroups } = sender;
  const { host, envelope, dedupKeys } = options;
  // Each run continues at a random job, so that runs with the same input claim different groups.
  if (!sender.isSharing) for (const job of queue.splice(0, Math.floor(host.random() * queue.length))) queue.push(job);
  sender.isSharing = true;
  const takenElsewhere = new Set(findGroups(taken, dedupKeys.find));
  for (const group of request.groups) if (takenElsewhere.has(group)) takenGroups.push(group);
  const groups = request.groups.filter((group) => !takenElsewhere.has(group));
  if (groups.length > 0) queueFirst(sender, [planRequest(sender.dataset, { envelope, groups })]);
};

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
