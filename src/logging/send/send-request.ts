/** Sends a request, records its outcome, and decides how the run continues. */

import { Failure, toFailure } from "../../failure.ts";
import { findFault } from "../../json/reader.ts";
import type { Answer, Attempt } from "../../wire/client/client.ts";
import { findStatedError } from "../../wire/client/failures.ts";
import { attemptUntilFinal } from "./attempt-request.ts";
import { emptyCallList, findFirstCall } from "./call-ids.ts";
import type { Delivery } from "./delivery.ts";
import { handleRefusal, handleTooLarge } from "./handle-refusal.ts";
import { classifyAttempt, isFinal, joinOutcomes, outcomes } from "./outcome.ts";
import type { SentRequest } from "./send-result.ts";

/** Expects a recorded request. Returns the requests that the run must send instead. */
export const sendRequest = async (delivery: Delivery, recorded: Omit<SentRequest, "lastAttempt">) => {
  const request = { ...recorded, lastAttempt: { status: null, cause: null, calls: emptyCallList } };
  return await finishRequest(delivery, request, await attemptRequest(delivery, request));
};

const attemptRequest = async (delivery: Delivery, request: SentRequest) => {
  try {
    return await attemptUntilFinal(delivery, request);
  } catch (thrown) {
    // A `Failure` comes before the last byte or between attempts. After other errors, the outcome is unknown.
    if (!(thrown instanceof Failure)) request.outcome = joinOutcomes(request.outcome, "unknown");
    if (request.outcome === "unknown") markUnknown(delivery, request);
    await recordOutcome(delivery, request);
    throw thrown;
  }
};

const finishRequest = async (delivery: Delivery, sentRequest: SentRequest, attempt: Attempt) => {
  const { sent, progress, policy, runLedger } = delivery;
  const { request, outcome } = sentRequest;
  const attemptOutcome = classifyAttempt(attempt);
  if (outcome === "logged") delivery.outcomes.setAll(request.groups, "logged");
  else if (outcome === "unknown") markUnknown(delivery, sentRequest, attempt.failure);
  if (attempt.kind === "answered") addReply(delivery, sentRequest, attempt);
  if (isFinal(attemptOutcome)) await recordOutcome(delivery, sentRequest);
  const isAbandoned = delivery.tools.host.signal.aborted && !isFinal(attemptOutcome);
  sent.obstacle = isAbandoned ? attempt.failure : undefined;
  progress.requests++;
  if (outcome === "logged") await noteLogged(delivery, sentRequest, attempt);
  // This size limits later requests, even if the refused request had one group.
  if (attemptOutcome === "too_large") await runLedger.recordRefusedSize(request.bytes);
  delivery.reportAttempt(request, attempt, { outcome, retry: undefined });
  if (outcome === "logged" || (attemptOutcome === "unknown" && policy.onUnknown === "leave")) return [];
  if (outcome !== "unknown" && isFinal(attemptOutcome) && attempt.kind === "answered") {
    const handle = attempt.status === 413 ? handleTooLarge : handleRefusal;
    return await handle(delivery, request, attempt);
  }
  delivery.stopAfterRequest(attempt.failure);
  return [];
};

const markUnknown = ({ sent, outcomes }: Delivery, request: SentRequest, last = request.unknownFailure) => {
  outcomes.setAll(request.request.groups, "unknown");
  sent.unknownIds.add(request.recorded.id);
  sent.unknown = { ...request, retryFailure: last === request.unknownFailure ? undefined : last };
};

/** If the ledger cannot record an outcome, the next run finds an unknown outcome. */
const recordOutcome = async (delivery: Delivery, request: SentRequest) => {
  const { sent, runLedger } = delivery;
  const { recorded, lastAttempt, outcome } = request;
  // The groups of a request that is too large are sent in smaller requests.
  const isDivisible = outcome === "too_large" && request.request.groups.length > 1;
  const { recorded: state } = outcomes[isDivisible ? "not_sent" : outcome];
  await runLedger.recordOutcome(recorded, { ...lastAttempt, state }).catch((thrown: unknown) => {
    markUnknown(delivery, request);
    sent.recordFailure ??= toFailure(thrown);
    const { status } = lastAttempt;
    if (state !== "unknown") sent.unrecorded.push({ id: recorded.id, status, isLogged: state === "logged" });
    throw thrown;
  });
};

/** If all answers together are larger, rollcall prints none of them (output.md). */
const maxPrintedBytes = 64 * 1024;

const addReply = ({ sent, tools }: Delivery, { lastAttempt, recorded, number }: SentRequest, answer: Answer) => {
  const { status, body, isCut } = answer;
  const isLogged = classifyAttempt(answer) === "logged";
  sent.replyBytes += body.length;
  sent.replies.push({ status, bytes: body.length, body, isLogged });
  if (sent.replyBytes > maxPrintedBytes) for (const reply of sent.replies) reply.body = undefined;
  if (!isLogged) return;
  const hasCalls = lastAttempt.calls !== emptyCallList;
  if (hasCalls) sent.firstCall ??= findFirstCall(lastAttempt.calls);
  const said = isCut ? undefined : findStatedError(body, tools.clean);
  if (isCut || said !== undefined || (!hasCalls && body.length > 0 && findFault(body)))
    sent.doubtfulReplies.push({ request: recorded.id ?? number, status, isCut, said });
};

const noteLogged = async ({ progress, runLedger }: Delivery, { request, recorded }: SentRequest, attempt: Attempt) => {
  progress.bytes += request.bytes;
  progress.groups += request.groups.length;
  // An echo in an error answer does not count, because a gateway can send such an answer.
  const isEchoed = attempt.kind === "answered" && recorded.key !== "" && attempt.idempotencyKey === recorded.key;
  if (isEchoed) await runLedger.recordKeyEcho();
  await runLedger.recordPassedSize(request.bytes);
};
