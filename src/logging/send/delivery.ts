/** Holds the state of a run that sends groups. */

import { basename } from "node:path";
import { Failure } from "../../failure.ts";
import type { Dataset } from "../../rollouts/dataset/read-dataset.ts";
import type { DedupKeys } from "../../rollouts/index/dedup-keys.ts";
import type { Client } from "../../wire/client/client.ts";
import type { RetryBudget } from "../../wire/client/retry.ts";
import type { RecordedOutcome } from "../ledger/file-writer.ts";
import { PriorOutcomes } from "../ledger/prior-outcomes.ts";
import { type RecordedRequest, RequestRecorder } from "../ledger/request-recorder.ts";
import type { GroupOutcomes, Outcome } from "./outcome.ts";
import { type BodyLimit, createEnvelope, cutRequests, type PlannedRequest, type RequestEnvelope } from "./plan.ts";
import type { LogSetup, SendProgress } from "./policy.ts";
import { nameRejects, openRejects, type RejectsFile } from "./rejects.ts";

interface KnownGroups {
  /** The path of the first input. */
  file: string;
  outcomes: GroupOutcomes;
  dedupKeys: DedupKeys;
  /** True if groups are added later. */
  isGrowing: boolean;
}

export interface SentRequest extends PlannedRequest {
  readonly number: number;
  readonly recorded: RecordedRequest;
  /** The outcome of all attempts, including attempts of earlier runs. */
  outcome: Outcome;
  lastAttempt: Omit<RecordedOutcome, "state">;
  unknownFailure?: Failure | undefined;
  retryFailure?: Failure | undefined;
}

export class SendResult {
  readonly replies: { status: number; bytes: number; body: Uint8Array | undefined; isLogged: boolean }[] = [];
  replyBytes = 0;
  /** Answers to logged requests that are incomplete or not JSON. */
  readonly doubtfulReplies: {
    request: string | number;
    status: number;
    readBytes: number | undefined;
  }[] = [];
  firstCall: string | undefined;
  attempted = 0;
  attemptedBytes = 0;
  /** The failure of the last attempt, if it was not final. */
  obstacle: Failure | undefined;
  /** The first failure to record an outcome. */
  recordFailure: Failure | undefined;
  unknown: SentRequest | undefined;
  stop: Failure | undefined;
}

class SendState {
  readonly progress = { bytes: 0, ofBytes: 0, groups: 0 };
  queue: PlannedRequest[] = [];
  plannedCount = 0;
  inFlightBytes = 0;
  /** After a 413 of this run, the maximum size of a request with several groups. */
  cutLimit = Number.POSITIVE_INFINITY;
  retryBudget: RetryBudget = { wait: async () => false };
  /** True if each request has one attempt, because a signal ends the run. */
  isAfterSignal = false;
  /** True if other runs send the same groups. */
  isSharing = false;
  /** The groups that other runs claimed. */
  claimedGroups: number[] = [];
  /** The last row of the ledger that was compared with what was sampled. */
  comparedRow = 0;
  /** For what other runs sampled during this run, the row of the first request. */
  readonly sampledByOthers = new Map<number, number>();
}

export interface Delivery extends SendState, LogSetup, KnownGroups {
  readonly dataset: Dataset;
  readonly sent: SendResult;
  readonly recorder: RequestRecorder;
  readonly priorOutcomes: PriorOutcomes;
  readonly rejects: RejectsFile | undefined;
  /** Aborts `graceMs` after the signal. */
  readonly lateSignal: AbortSignal;
  envelope(): RequestEnvelope;
  client(): Promise<Client>;
}

export const openDelivery = (dataset: Dataset, setup: LogSetup, known: KnownGroups): Delivery => {
  const { policy, tools, events } = setup;
  const { file, dedupKeys, isGrowing } = known;
  const { resendLogged, onInvalid, rejects: path = nameRejects(file) } = policy;
  const input = basename(file);
  const recorder = new RequestRecorder({ ...policy, ...events, host: tools.host, input });
  const findLedger = () => recorder.resultFacts?.path;
  let client: Promise<Client> | undefined;
  return {
    ...new SendState(),
    ...setup,
    ...known,
    dataset,
    sent: new SendResult(),
    recorder,
    priorOutcomes: new PriorOutcomes({ input, resendLogged, dedupKeys, isGrowing }),
    rejects: onInvalid === "skip" ? openRejects(dataset, { path, findLedger, redact: tools.redact }) : undefined,
    lateSignal: delaySignal(tools.host.signal),
    envelope: () => createEnvelope(dataset, policy.split),
    async client() {
      client ??= tools.client();
      return await client;
    },
  };
};

export const findBodyLimit = ({ policy: { maxRequestBytes }, recorder }: Delivery): BodyLimit => {
  const { sizeLimit = { bytes: maxRequestBytes } } = recorder;
  const bytes = Math.min(maxRequestBytes, sizeLimit.bytes);
  return { ...sizeLimit, bytes, isDiscovered: bytes < maxRequestBytes };
};

export const cutGroups = (
  { dataset, envelope }: Delivery,
  groups: Uint32Array,
  cut: { limit: number; areFull?: boolean },
) => cutRequests(dataset, { envelope: envelope(), groups, ...cut });

/** Starts no further request. A signal explains more than the failure of a request. */
export const stopAfterRequest = (delivery: Delivery, failure?: Failure) => {
  delivery.sent.stop ??= findSignalFailure(delivery) ?? failure;
};

export const findStop = ({ recorder, sent }: Delivery) => recorder.replaced ?? sent.stop;

export const findSignalFailure = ({ tools }: Delivery) => {
  const { reason } = tools.host.signal;
  return reason instanceof Failure ? reason : undefined;
};

export const reportProgress = ({ progress, inFlightBytes, events }: Delivery, retry?: SendProgress["retry"]) => {
  const bytes = Math.min(progress.bytes + inFlightBytes, progress.ofBytes);
  events.onProgress({ ...progress, bytes, retry });
};

/** After a signal, a request in flight has this time to end (guarantees.md). */
export const graceMs = 5000;

const delaySignal = (signal: AbortSignal) => {
  const late = new AbortController();
  const start = () => setTimeout(() => late.abort(signal.reason), graceMs).unref();
  if (signal.aborted) start();
  else signal.addEventListener("abort", start, { once: true });
  return late.signal;
};
