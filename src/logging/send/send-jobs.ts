/** Sends jobs in parallel lanes. */

import { isFailure, toFailure } from "../../failure.ts";
import { collectContents } from "../../rollouts/dataset/contents.ts";
import { findGroups } from "../ledger/entries.ts";
import { emptyCallList } from "./call-ids.ts";
import type { Delivery, Job } from "./delivery.ts";
import { collectDedupKeys } from "./earlier-requests.ts";
import { type PlannedRequest, planRequest } from "./plan.ts";
import { verifySource } from "./request-body.ts";
import { sendRequest } from "./send-request.ts";

/** If `isAfterSignal`, attempts each job once. */
export const sendJobs = async (delivery: Delivery, jobs: readonly Job[], isAfterSignal = false) => {
  const { sent, progress, lanes, tools } = delivery;
  const { host } = tools;
  delivery.signals = isAfterSignal ? { signal: host.urgent, urgent: host.urgent } : host;
  delivery.retryBudget = (await delivery.client()).retryBudget();
  delivery.isInterrupted = false;
  if (isAfterSignal && !sent.unknown && isFailure(sent.stop, "interrupted")) sent.stop = undefined;
  delivery.queue = [...jobs];
  delivery.jobCount += jobs.length;
  progress.ofBytes += jobs.reduce((sum, { request }) => sum + request.bytes, 0);
  startLanes(delivery);
  for (let lane = lanes.shift(); lane; lane = lanes.shift()) await lane;
};

/** Starts a lane for each queued job, because lanes end if the queue is empty, and a 413 can fill it again. */
const startLanes = (delivery: Delivery) => {
  const { lanes, queue, policy } = delivery;
  for (let free = Math.min(policy.concurrency - delivery.runningCount, queue.length); free > 0; free--) {
    delivery.runningCount++;
    lanes.push(
      runLane(delivery).finally(() => {
        delivery.runningCount--;
      }),
    );
  }
};

const runLane = async (delivery: Delivery) => {
  for (;;) {
    if (delivery.signals.signal.aborted && delivery.queue.length > 0) delivery.isInterrupted = true;
    const job = delivery.sent.stop || delivery.isInterrupted ? undefined : delivery.queue.shift();
    if (!job) return;
    delivery.startedCount++;
    try {
      if (!(await runJob(delivery, job))) delivery.startedCount--;
    } catch (thrown) {
      delivery.stop(toFailure(thrown));
    }
  }
};

/** Returns false if the request was not attempted. */
const runJob = async (delivery: Delivery, { request, recorded: earlier }: Job) => {
  const { dataset, runLedger, dedupKeys, sent } = delivery;
  const { groups, bytes } = request;
  if (!earlier && bytes > delivery.sizeLimit && groups.length > 1) {
    recutQueue(delivery, groups);
    return false;
  }
  delivery.reportProgress();
  for (const [at, source] of dataset.sources.entries()) {
    if ((await source.touched?.()) === true) await verifySource(dataset, at);
  }
  if (earlier && !(await runLedger.recordRetry(earlier))) return false;
  const recorded =
    earlier ??
    (await runLedger.recordRequest({
      bytes,
      dedupKeys: collectDedupKeys(groups, dedupKeys),
      envelopeDigest: delivery.envelope().digest,
      contents: collectContents(dataset, groups),
    }));
  if ("taken" in recorded) {
    requeueUntaken(delivery, request, recorded.taken);
    return false;
  }
  sent.attempted++;
  sent.attemptedBytes += bytes;
  const instead = await sendRequest(delivery, {
    request,
    number: sent.attempted,
    recorded,
    outcome: earlier ? "unknown" : "not_sent",
    lastAttempt: { status: null, cause: null, calls: emptyCallList },
  });
  if (instead.length > 0) queueFirst(delivery, instead);
  return true;
};

const queueFirst = (delivery: Delivery, requests: readonly PlannedRequest[]) => {
  delivery.queue = [...requests.map((request) => ({ request })), ...delivery.queue];
  startLanes(delivery);
};

const recutQueue = (delivery: Delivery, groups: Uint32Array) => {
  const planned = delivery.queue.filter(({ recorded }) => !recorded);
  const uncut = Uint32Array.from([...groups, ...planned.flatMap(({ request }) => [...request.groups])]);
  delivery.queue = delivery.queue.filter(({ recorded }) => recorded);
  queueFirst(delivery, delivery.cutRequests(uncut, delivery.sizeLimit));
};

const requeueUntaken = (delivery: Delivery, { groups }: PlannedRequest, taken: Uint8Array) => {
  const { queue, takenGroups, dedupKeys, dataset, tools } = delivery;
  // Each run continues at a random job, so that runs with the same input claim different groups.
  if (!delivery.isSharing)
    for (const job of queue.splice(0, Math.floor(tools.host.random() * queue.length))) queue.push(job);
  delivery.isSharing = true;
  const takenElsewhere = new Set(findGroups(taken, dedupKeys.find));
  for (const group of groups) if (takenElsewhere.has(group)) takenGroups.push(group);
  const rest = groups.filter((group) => !takenElsewhere.has(group));
  if (rest.length > 0) queueFirst(delivery, [planRequest(dataset, { envelope: delivery.envelope(), groups: rest })]);
};
