/** Records the outcome of a request, and decides how the run continues. */

import { toFailure } from "../../failure.ts";
import { findFault } from "../../json/reader.ts";
import type { Answer, Attempt } from "../../wire/client/client.ts";
import { findStatedError } from "../../wire/client/failures.ts";
import type { SentRequest } from "./attempt-request.ts";
import { emptyCallList, findFirstCall } from "./call-ids.ts";
import { handleRefusal, handleTooLarge } from "./handle-refusal.ts";
import { classifyAttempt, isFinal, outcomes } from "./outcome.ts";
import type { PlannedRequest } from "./plan.ts";
import { maxPrintedBytes } from "./send-result.ts";
import { reportChange, type Sender, stopSending, toSignalFailure } from "./sender-state.ts";

export const markUnknown = ({ sent, options }: Sender, request: SentRequest, last = request.unknownFailure) => {
  options.outcomes.setAll(request.request.groups, "unknown");
  sent.unknownIds.add(request.recorded.id);
  const retryFailure = last === request.unknownFailure ? undefined : last;
  sent.unknown = { ...request, retryFailure, isKeyHonored: false };
};

/** If the ledger cannot record an outcome, the next run finds an unknown outcome. */
export const recordOutcome = async (sender: Sender, request: SentRequest) => {
  const { recorded, lastAttempt, outcome } = request;
  // The groups of a request that is too large are sent in smaller requests.
  const isDivisible = outcome === "too_large" && request.request.groups.length > 1;
  const { recorded: state } = outcomes[isDivisible ? "not_sent" : outcome];
  await sender.options.runLedger.recordOutcome(recorded, { ...lastAttempt, state }).catch((thrown: unknown) => {
    const { sent } = sender;
    markUnknown(sender, request);
    sent.recordFailure ??= toFailure(thrown);
    const { status } = lastAttempt;
    if (state !== "unknown") sent.unrecorded.push({ id: recorded.id, status, isLogged: state === "logged" });
    throw thrown;
  });
};

/** Returns the requests that the run must send instead of this request. */
export const finishRequest = async (
  sender: Sender,
  sentRequest: SentRequest,
  attempt: Attempt,
): Promise<readonly PlannedRequest[]> => {
  const { sent, progress, options } = sender;
  const { request, outcome } = sentRequest;
  const attemptOutcome = classifyAttempt(attempt);
  if (outcome === "logged") options.outcomes.setAll(request.groups, "logged");
  else if (outcome === "unknown") markUnknown(sender, sentRequest, attempt.failure);
  if (attempt.kind === "answered") addReply(sender, sentRequest, attempt);
  if (isFinal(attemptOutcome)) await recordOutcome(sender, sentRequest);
  sent.obstacle = options.host.signal.aborted && !isFinal(attemptOutcome) ? attempt.failure : undefined;
  progress.requests++;
  if (outcome === "logged") await noteLogged(sender, sentRequest, attempt);
  // This size limits later requests, even if the refused request had one group.
  if (attemptOutcome === "too_large") await options.runLedger.recordRefusedSize(request.bytes);
  reportChange(sender, request, { attempt, outcome, retry: undefined });
  if (outcome === "logged" || (attemptOutcome === "unknown" && options.onUnknown === "leave")) return [];
  if (outcome !== "unknown" && isFinal(attemptOutcome) && attempt.kind === "answered")
    return await applyRefusal(sender, request, attempt);
  stopSending(sender, toSignalFailure(sender) ?? attempt.failure);
  return [];
};

const noteLogged = async ({ progress, options }: Sender, { request, recorded }: SentRequest, attempt: Attempt) => {
  const { runLedger } = options;
  progress.bytes += request.bytes;
  progress.groups += request.groups.length;
  // An echo in an error answer does not count, because a gateway can send such an answer.
  const isEchoed = attempt.kind === "answered" && recorded.key !== "" && attempt.idempotencyKey === recorded.key;
  if (isEchoed && !runLedger.willHonorKeys) await runLedger.recordKeyEcho();
  await runLedger.recordPassedSize(request.bytes);
};

const applyRefusal = async (sender: Sender, request: PlannedRequest, answer: Answer) => {
  const { dataset, options, sent } = sender;
  const refusal = { ...options, request, answer, knownLimit: options.runLedger.sizeLimit?.bytes ?? 0 };
  const next = answer.status === 413 ? handleTooLarge(dataset, refusal) : await handleRefusal(dataset, refusal);
  const { requests = [], refused = [], stop = answer.failure } = next;
  for (const group of refused) {
    options.outcomes.set(group.group, "rejected");
    sent.refused.push(group);
  }
  sender.limit = Math.min(sender.limit, next.limit ?? sender.limit);
  if (requests.length + refused.length === 0) stopSending(sender, toSignalFailure(sender) ?? stop);
  return requests;
};

const addReply = (sender: Sender, { lastAttempt, recorded, number }: SentRequest, answer: Answer) => {
  const { sent } = sender;
  const { status, body, isCut } = answer;
  const isLogged = classifyAttempt(answer) === "logged";
  sender.replyBytes += body.length;
  sent.replies.push({ status, bytes: body.length, body, isLogged });
  if (sender.replyBytes > maxPrintedBytes) for (const reply of sent.replies) reply.body = undefined;
  if (!isLogged) return;
  const hasCalls = lastAttempt.calls !== emptyCallList;
  if (hasCalls) sent.firstCall ??= findFirstCall(lastAttempt.calls);
  const said = isCut ? undefined : findStatedError(body, sender.options.clean);
  if (isCut || said !== undefined || (!hasCalls && body.length > 0 && findFault(body)))
    sent.doubtfulReplies.push({ request: recorded.id ?? number, status, isCut, said });
};
