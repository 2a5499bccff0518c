/** Sends jobs, several at a time. */

import { isFailure, toFailure } from "../../failure.ts";
import { collectContents } from "../../rollouts/dataset/contents.ts";
import { findGroups } from "../ledger/entries.ts";
import type { Delivery, Job } from "./delivery.ts";
import { collectDedupKeys } from "./earlier-requests.ts";
import { type PlannedRequest, planRequest } from "./plan.ts";
import { verifySource } from "./request-body.ts";
import { sendRequest } from "./send-request.ts";

/** If `isAfterSignal`, attempts each job once. */
export const sendJobs = async (delivery: Delivery, jobs: readonly Job[], isAfterSignal = false) => {
  const { sent, progress, policy } = delivery;
  delivery.isAfterSignal = isAfterSignal;
  delivery.retryBudget = (await delivery.client()).retryBudget();
  delivery.isInterrupted = false;
  if (isAfterSignal && !sent.unknown && isFailure(sent.stop, "interrupted")) sent.stop = undefined;
  delivery.queue = [...jobs];
  delivery.jobCount += jobs.length;
  progress.ofBytes += jobs.reduce((sum, { request }) => sum + request.bytes, 0);
  const running = new Set<Promise<void>>();
  for (;;) {
    while (running.size < policy.concurrency) {
      const job = takeJob(delivery);
      if (!job) break;
      const run = runJob(delivery, job).finally(() => running.delete(run));
      running.add(run);
    }
    if (running.size === 0) return;
    await Promise.race(running);
  }
};

const takeJob = (delivery: Delivery) => {
  const { signal, urgent } = delivery.tools.host;
  const isAborted = (delivery.isAfterSignal ? urgent : signal).aborted;
  if (isAborted && delivery.queue.length > 0) delivery.isInterrupted = true;
  return delivery.sent.stop || delivery.isInterrupted ? undefined : delivery.queue.shift();
};

const runJob = async (delivery: Delivery, job: Job) => {
  delivery.startedCount++;
  try {
    if (!(await sendJob(delivery, job))) delivery.startedCount--;
  } catch (thrown) {
    delivery.stop(toFailure(thrown));
  }
};

/** Returns false if the request was not attempted. */
const sendJob = async (delivery: Delivery, { request, recorded: earlier }: Job) => {
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
  const outcome = earlier ? "unknown" : "not_sent";
  queueFirst(delivery, await sendRequest(delivery, { request, number: sent.attempted, recorded, outcome }));
  return true;
};

const queueFirst = (delivery: Delivery, requests: readonly PlannedRequest[]) => {
  delivery.queue = [...requests.map((request) => ({ request })), ...delivery.queue];
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
