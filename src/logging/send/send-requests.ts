/** Sends requests, several at a time, and records their outcomes. */

import { Failure, isFailure, toFailure } from "../../failure.ts";
import type { Answer, Attempt } from "../../wire/client/client.ts";
import { findGroups } from "../ledger/entries.ts";
import { attemptUntilFinal, type LastAttempt } from "./attempt-request.ts";
import { cutGroups, type Delivery, reportProgress, type SentRequest, stopAfterRequest } from "./delivery.ts";
import { handleTooLarge, locateRefusal } from "./handle-refusal.ts";
import { isFinal, joinOutcomes, outcomeFacts } from "./outcome.ts";
import { type PlannedRequest, planRequest } from "./plan.ts";
import { verifySource } from "./request-body.ts";
import { collectSampled, requireFirstClaim } from "./sampled-groups.ts";

/** If `isAfterSignal`, attempts each request once. */
export const sendRequests = async (delivery: Delivery, requests: readonly PlannedRequest[], isAfterSignal = false) => {
  const { sent, progress, policy } = delivery;
  if (requests.length === 0) return;
  delivery.isAfterSignal = isAfterSignal;
  delivery.retryBudget = (await delivery.client()).retryBudget();
  if (isAfterSignal && !sent.unknown && isFailure(sent.stop, "interrupted")) sent.stop = undefined;
  delivery.queue = [...requests];
  delivery.plannedCount += requests.length;
  progress.ofBytes += requests.reduce((sum, { bytes }) => sum + bytes, 0);
  const running = new Set<Promise<void>>();
  for (;;) {
    while (running.size < policy.concurrency) {
      const request = takeRequest(delivery);
      if (!request) break;
      const run = runRequest(delivery, request).finally(() => running.delete(run));
      running.add(run);
    }
    if (running.size === 0) return;
    await Promise.race(running);
  }
};

const takeRequest = (delivery: Delivery) => {
  const { sent, queue, isAfterSignal, tools } = delivery;
  const { signal, urgent } = tools.host;
  if (queue.length > 0 && (isAfterSignal ? urgent : signal).aborted) stopAfterRequest(delivery);
  return sent.stop ? undefined : queue.shift();
};

const runRequest = async (delivery: Delivery, request: PlannedRequest) => {
  try {
    await sendRequest(delivery, request);
  } catch (thrown) {
    delivery.sent.stop ??= toFailure(thrown);
  }
};

const sendRequest = async (delivery: Delivery, request: PlannedRequest) => {
  const { dataset, recorder, dedupKeys, sent } = delivery;
  const { groups, bytes, recorded: earlier } = request;
  if (!earlier && bytes > delivery.cutLimit && groups.length > 1) {
    recutQueue(delivery, groups);
    return;
  }
  reportProgress(delivery);
  for (const [at, source] of dataset.sources.entries()) {
    if ((await source.touched?.()) === true) await verifySource(dataset, at);
  }
  if (earlier && !(await recorder.recordRetry(earlier))) return;
  const recorded =
    earlier ??
    (await recorder.recordRequest({
      bytes,
      dedupKeys: dedupKeys.pick(groups),
      envelopeDigest: delivery.envelope().digest,
      sampled: collectSampled(dataset, groups),
    }));
  if ("claimed" in recorded) {
    requeueUnclaimed(delivery, request, recorded.claimed);
    return;
  }
  sent.attempted++;
  sent.attemptedBytes += bytes;
  const sentRequest: SentRequest = {
    ...request,
    recorded,
    number: sent.attempted,
    outcome: earlier ? "unknown" : "not_sent",
    lastAttempt: { status: null, cause: null, calls: 0 },
  };
  const last = await attemptRequest(delivery, sentRequest);
  queueFirst(delivery, await finishRequest(delivery, sentRequest, last));
};

const queueFirst = (delivery: Delivery, requests: readonly PlannedRequest[]) => {
  // Most requests add none, and copying the queue for each would take quadratic time.
  if (requests.length > 0) delivery.queue = [...requests, ...delivery.queue];
};

const recutQueue = (delivery: Delivery, groups: Uint32Array) => {
  const planned = delivery.queue.filter(({ recorded }) => !recorded);
  const uncut = Uint32Array.from([...groups, ...planned.flatMap((request) => [...request.groups])]);
  delivery.queue = delivery.queue.filter(({ recorded }) => recorded);
  queueFirst(delivery, cutGroups(delivery, uncut, { limit: delivery.cutLimit }));
};

const requeueUnclaimed = (delivery: Delivery, { groups }: PlannedRequest, claimed: Uint8Array) => {
  const { queue, claimedGroups, dedupKeys, dataset, tools } = delivery;
  // Each run continues at a random request, so that runs with the same input claim different groups.
  if (!delivery.isSharing)
    for (const request of queue.splice(0, Math.floor(tools.host.random() * queue.length))) queue.push(request);
  delivery.isSharing = true;
  const ofOthers = new Set(findGroups(claimed, dedupKeys.find));
  for (const group of groups) if (ofOthers.has(group)) claimedGroups.push(group);
  const rest = groups.filter((group) => !ofOthers.has(group));
  if (rest.length > 0) queueFirst(delivery, [planRequest(dataset, { envelope: delivery.envelope(), groups: rest })]);
};

const attemptRequest = async (delivery: Delivery, request: SentRequest) => {
  try {
    if (request.outcome === "not_sent") await requireFirstClaim(delivery, request);
    return await attemptUntilFinal(delivery, request);
  } catch (thrown) {
    // A `Failure` comes before the last byte or between attempts. After other errors, the outcome is unknown.
    if (!(thrown instanceof Failure)) request.outcome = joinOutcomes(request.outcome, "unknown");
    if (request.outcome === "unknown") markUnknown(delivery, request);
    await recordOutcome(delivery, request);
    throw thrown;
  }
};

/** Returns the requests that the run must send instead. */
const finishRequest = async (delivery: Delivery, request: SentRequest, { attempt, outcome }: LastAttempt) => {
  const isLogged = outcome === "logged";
  if (isLogged) delivery.outcomes.setAll(request.groups, "logged");
  else if (request.outcome === "unknown") markUnknown(delivery, request, attempt.failure);
  if (attempt.kind === "answered") addReply(delivery.sent, request, { ...attempt, isLogged });
  if (isFinal(outcome)) await recordOutcome(delivery, request);
  if (isLogged) await countLogged(delivery, request, attempt);
  // This size limits later requests, even if the refused request had one group.
  if (outcome === "too_large") await delivery.recorder.recordRefusedSize(request.bytes);
  reportProgress(delivery);
  if (isLogged) return [];
  if (request.outcome === "too_large") return handleTooLarge(delivery, request, attempt.failure);
  const isRefused = request.outcome === "refused" && attempt.kind === "answered";
  stopAfterRequest(delivery, isRefused ? await locateRefusal(delivery, request, attempt) : attempt.failure);
  return [];
};

const markUnknown = (delivery: Delivery, request: SentRequest, last = request.unknownFailure) => {
  delivery.outcomes.setAll(request.groups, "unknown");
  delivery.sent.unknown = { ...request, retryFailure: last === request.unknownFailure ? undefined : last };
};

/** If the ledger cannot record an outcome, the next run finds an unknown outcome. */
const recordOutcome = async (delivery: Delivery, request: SentRequest) => {
  const { sent, recorder } = delivery;
  const { recorded, lastAttempt, outcome } = request;
  // The groups of a request that is too large are sent in smaller requests.
  const isDivisible = outcome === "too_large" && request.groups.length > 1;
  const { state } = outcomeFacts[isDivisible ? "not_sent" : outcome];
  await recorder.recordOutcome(recorded, { ...lastAttempt, state }).catch((thrown: unknown) => {
    markUnknown(delivery, request);
    sent.recordFailure ??= toFailure(thrown);
    throw thrown;
  });
};

/** If all answers together are larger, rollcall prints none of them (output.md). */
const maxPrintedBytes = 64 * 1024;

const addReply = (
  sent: Delivery["sent"],
  { recorded, number }: SentRequest,
  { status, bytes: body, isCut, json, isLogged }: Answer & { isLogged: boolean },
) => {
  sent.replyBytes += body.length;
  sent.replies.push({ status, bytes: body.length, body, isLogged });
  if (sent.replyBytes > maxPrintedBytes) for (const reply of sent.replies) reply.body = undefined;
  if (!isLogged) return;
  if (isCut || (body.length > 0 && !json))
    sent.doubtfulReplies.push({ request: recorded.id ?? number, status, readBytes: isCut ? body.length : undefined });
};

const countLogged = async ({ progress, recorder }: Delivery, request: SentRequest, attempt: Attempt) => {
  const { recorded } = request;
  progress.bytes += request.bytes;
  progress.groups += request.groups.length;
  // An echo in an error answer does not count, because a gateway can send such an answer.
  if (attempt.kind === "answered" && recorded.key !== "")
    await recorder.recordKeyEcho(attempt.headers["idempotency-key"] === recorded.key);
  await recorder.recordPassedSize(request.bytes);
};
