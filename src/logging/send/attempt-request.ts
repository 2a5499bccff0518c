/** Attempts a request until its outcome is final or no retry is allowed, and finds its calls' ids. */

import { isFailure } from "../../failure.ts";
import { openBracket, quote, sliceText, walkItems } from "../../json/json-bytes.ts";
import { firstByteOf, type JsonValue, memberAt, spanOf } from "../../json/table.ts";
import { Breaks } from "../../system/breaks.ts";
import type { Retry } from "../../wire/client/build-request.ts";
import type { Attempt } from "../../wire/client/client.ts";
import { logTrajectories } from "../../wire/contract/endpoint.ts";
import type { RecordedRequest } from "../ledger/request-recorder.ts";
import { type Delivery, reportProgress, type SentRequest } from "./delivery.ts";
import { classifyAttempt, isFinal, joinOutcomes, type Outcome, outcomeFacts } from "./outcome.ts";
import { composeBody } from "./request-body.ts";

/** `outcome` is the outcome of this attempt alone. */
export type LastAttempt = Readonly<{ attempt: Attempt; outcome: Outcome }>;

export const attemptUntilFinal = async (delivery: Delivery, request: SentRequest): Promise<LastAttempt> => {
  const { policy, recorder, tools, sent } = delivery;
  const { host } = tools;
  const { recorded } = request;
  let firstEndMs: number | undefined;
  for (let next = 2; ; next++) {
    const waitedMs = firstEndMs === undefined ? 0 : host.elapsed() - firstEndMs;
    const attempt = await attemptOnce(delivery, request, waitedMs);
    const last = { attempt, outcome: classifyAttempt(attempt) };
    await applyAttempt(delivery, request, last);
    if (isFinal(last.outcome)) return last;
    const { lastAttempt } = request;
    await recorder.recordOutcome(recorded, { ...lastAttempt, state: outcomeFacts[request.outcome].state });
    firstEndMs ??= host.elapsed();
    const isLate = lastAttempt.cause === "CONNECT_ENDLESS" || host.elapsed() - firstEndMs > policy.maxWaitMs;
    if (isLate || sent.stop || host.signal.aborted || !canRetry(delivery, recorded, last)) return last;
    const onWait = (retry: Retry) => reportProgress(delivery, { ...retry, failure: attempt.failure });
    const minMs = attempt.kind === "answered" ? attempt.retryAfterMs : undefined;
    if (!(await delivery.retryBudget.wait(minMs, { attempt: next, onWait }))) return last;
    if (!(await recorder.recordRetry(recorded))) return last;
  }
};

const applyAttempt = async (
  { dataset, sent, tools }: Delivery,
  request: SentRequest,
  { attempt, outcome }: LastAttempt,
) => {
  const isAnswered = attempt.kind === "answered";
  let calls: readonly string[] = [];
  if (isAnswered && outcome === "logged") {
    // The service records at most one call for each trajectory.
    const maxCalls = request.groups.reduce((sum, group) => sum + dataset.groups.trajectoriesOf(group), 0);
    calls = await listCalls(attempt.json, maxCalls);
    if (calls[0] !== undefined) sent.firstCall ??= tools.clean(String(JSON.parse(calls[0])));
  }
  const status = isAnswered ? attempt.status : null;
  request.lastAttempt = { status, cause: isAnswered ? null : attempt.code, calls: calls.length };
  request.outcome = joinOutcomes(request.outcome, outcome);
  if (outcome === "unknown") request.unknownFailure = attempt.failure;
  sent.obstacle = isFinal(outcome) ? undefined : attempt.failure;
};

const canRetry = ({ policy, recorder }: Delivery, recorded: RecordedRequest, { attempt, outcome }: LastAttempt) => {
  if (isFailure(attempt.failure, "quota-used-up")) return false;
  // A service that honors keys would repeat its answer, and another would log a part again.
  if (attempt.kind === "answered" && attempt.status < 300 && !attempt.isWebPage) return false;
  return outcome !== "unknown" || policy.onUnknown === "resend" || recorder.isKeyHonored(recorded);
};

const attemptOnce = async (delivery: Delivery, request: SentRequest, waitedMs: number) => {
  const { dataset, policy, recorder } = delivery;
  const { hasIdempotencyKeys, modelId } = policy;
  const { recorded, bytes: length } = request;
  const envelope = delivery.envelope();
  const client = await delivery.client();
  const { urgent } = delivery.tools.host;
  let handedOver = 0;
  const countChunks = async function* () {
    for await (const chunk of composeBody(dataset, { envelope, request })) {
      recorder.requireLease();
      yield chunk;
      handedOver += chunk.length;
      delivery.inFlightBytes += chunk.length;
      reportProgress(delivery);
    }
  };
  try {
    return await client.attempt(logTrajectories, {
      parameters: { model_id: modelId },
      body: { length, chunks: countChunks },
      headers: hasIdempotencyKeys && recorded.key !== "" ? { "Idempotency-Key": recorded.key } : {},
      sinceFirstAttemptMs: waitedMs,
      signal: delivery.isAfterSignal ? urgent : AbortSignal.any([urgent, delivery.lateSignal]),
    });
  } finally {
    delivery.inFlightBytes -= handedOver;
  }
};

const maxCallIdBytes = 200;

/** Assumed: the key is `call_ids`. Returns the ids as JSON; none if they are missing or invalid. */
const listCalls = async (reply: JsonValue | undefined, maxCalls: number): Promise<readonly string[]> => {
  const list = memberAt(reply, "call_ids");
  if (!reply || !list) return [];
  const { bytes } = reply.table;
  const breaks = new Breaks();
  const ids: string[] = [];
  for (const span of firstByteOf(list) === openBracket ? walkItems(bytes, spanOf(list).start) : []) {
    const isId = bytes[span.start] === quote && span.end - span.start <= maxCallIdBytes;
    if (!isId || ids.push(sliceText(bytes, span)) > maxCalls) return [];
    if (breaks.isDue()) await breaks.take();
  }
  return ids;
};
