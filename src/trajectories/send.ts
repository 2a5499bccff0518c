/** Sends planned requests one after the other, and stops at the first that does not go through. */
import type { Attempt, Client, Patience } from "../client/index.ts";
import { logTrajectories } from "../contract/log.ts";
import { Failure } from "../failure.ts";
import type { Host } from "../host.ts";
import { bodyOf } from "./body.ts";
import { type Outcome, outcomeOf } from "./outcome.ts";
import type { Plan, PlannedRequest } from "./plan.ts";
import type { Reading } from "./read.ts";

/** What one request ended as. */
export interface SentRequest {
  readonly request: PlannedRequest;
  readonly outcome: Outcome;
  /** The service's answer; undefined where there was none. */
  readonly answer: { readonly status: number; readonly body: Uint8Array; readonly cut: boolean } | undefined;
}

/** What a run of requests ended as. */
export interface Sending {
  readonly sent: readonly SentRequest[];
  /** What stopped the run before its end, as it was: undefined where everything was logged. */
  readonly stop: Failure | undefined;
}

/** How requests are sent. */
export interface SendOptions {
  readonly host: Host;
  readonly client: Client;
  readonly modelId: string;
  /** Told, before each request, how many were logged. */
  readonly onProgress: (progress: { readonly requests: number; readonly of: number }) => void;
}

/** Sends a plan's requests in their order. Never throws for what the network, the service or a signal does. */
export const sendPlan = async (reading: Reading, plan: Plan, options: SendOptions): Promise<Sending> => {
  const patience = options.client.patience();
  const sent: SentRequest[] = [];
  for (const request of plan.requests) {
    options.onProgress({ requests: sent.length, of: plan.requests.length });
    const changed = await changedSource(reading);
    if (changed !== undefined) return { sent, stop: new Failure("input-changed", { file: changed }) };
    const trial = await tryRequest({ ...options, reading, plan, request, patience });
    if (trial.attempt !== undefined) sent.push(sentOf(request, trial.attempt));
    if (trial.stop !== undefined) return { sent, stop: trial.stop };
  }
  return { sent, stop: undefined };
};

const changedSource = async ({ sources }: Reading): Promise<string | undefined> => {
  for (const source of sources) if (await source.changed()) return source.name;
  return undefined;
};

interface Trial extends SendOptions {
  readonly reading: Reading;
  readonly plan: Plan;
  readonly request: PlannedRequest;
  readonly patience: Patience;
}

/** Tries a request until it has an outcome that another try can't change. */
const tryRequest = async (
  trial: Trial,
): Promise<{ readonly attempt: Attempt | undefined; readonly stop: Failure | undefined }> => {
  const { host, client, modelId, patience } = trial;
  let attempt: Attempt | undefined;
  try {
    for (;;) {
      host.signal.throwIfAborted();
      attempt = undefined;
      attempt = await client.attempt(logTrajectories, {
        parameters: { model_id: modelId },
        body: bodyOf(trial.reading, trial.plan, trial.request),
      });
      const outcome = outcomeOf(attempt);
      if (outcome === "logged") return { attempt, stop: undefined };
      if (host.signal.aborted) return { attempt, stop: signalFailure(host) };
      const mayWait = outcome === "not-sent" || outcome === "not-processed";
      const askedMs = attempt.kind === "answered" ? attempt.retryAfterMs : undefined;
      if (!mayWait || !(await patience.wait(askedMs))) return { attempt, stop: failureOf(trial, attempt) };
    }
  } catch (thrown) {
    if (thrown instanceof Failure) return { attempt, stop: thrown };
    throw thrown;
  }
};

const signalFailure = ({ signal }: Host): Failure | undefined =>
  signal.reason instanceof Failure ? signal.reason : undefined;

/** What a run says that ends with an attempt. */
const failureOf = ({ request, reading }: Trial, attempt: Attempt): Failure | undefined => {
  if (attempt.kind === "broken" || attempt.status !== 413) return attempt.failure;
  const groups = request.end - request.first;
  // Half of it is the next that can be tried; a smaller one than its largest group can't be made.
  const suggested = groups > 1 ? Math.floor(request.bytes / 2) : undefined;
  const { http, where } = attempt.failure?.about ?? {};
  const [first = 0] = reading.groups.partsOf(request.first);
  const part = reading.found.parts.at(first);
  const file = reading.sources[part.source]?.name;
  const spot = groups === 1 && file !== undefined ? { file, line: part.line } : where;
  return new Failure(
    "request-too-large",
    { bytes: request.bytes, groups, suggested },
    { ...(http === undefined ? {} : { http }), ...(spot === undefined ? {} : { where: spot }) },
  );
};

const sentOf = (request: PlannedRequest, attempt: Attempt): SentRequest => ({
  request,
  outcome: outcomeOf(attempt),
  answer: attempt.kind === "answered" ? { status: attempt.status, body: attempt.body, cut: attempt.cut } : undefined,
});
