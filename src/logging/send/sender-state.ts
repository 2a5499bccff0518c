/** Holds the state of a run that sends requests. */

import { Failure } from "../../failure.ts";
import type { Dataset } from "../../rollouts/dataset/read-dataset.ts";
import type { Host } from "../../system/host.ts";
import type { Attempt } from "../../wire/client/client.ts";
import type { Retry } from "../../wire/client/request-options.ts";
import type { RetryBudget } from "../../wire/client/retry.ts";
import type { RecordedRequest } from "../ledger/recorded-requests.ts";
import { isKeyHonored } from "./attempt-request.ts";
import type { Outcome } from "./outcome.ts";
import type { PlannedRequest } from "./plan.ts";
import type { RequestChange, SendOptions } from "./send-options.ts";
import { emptySendResult, type SendResult } from "./send-result.ts";

/** A job with `recorded` repeats the bytes and the key of an earlier request. */
export type Job = Readonly<{ request: PlannedRequest; recorded?: RecordedRequest }>;

export class Sender {
  readonly dataset: Dataset;
  readonly options: SendOptions;
  readonly sent = emptySendResult();
  readonly progress = { requests: 0, bytes: 0, ofBytes: 0, groups: 0 };
  queue: Job[] = [];
  jobCount = 0;
  startedCount = 0;
  inFlightBytes = 0;
  replyBytes = 0;
  /** After a 413, the maximum size of a request with several groups. */
  limit = Number.POSITIVE_INFINITY;
  retryBudget: RetryBudget;
  signals: Pick<Host, "signal" | "urgent">;
  isInterrupted = false;
  /** The groups that other runs claimed. */
  takenGroups: number[] = [];
  /** True if other runs send the same groups. */
  isSharing = false;
  readonly lanes: Promise<void>[] = [];
  runningCount = 0;

  constructor(dataset: Dataset, options: SendOptions) {
    this.dataset = dataset;
    this.options = options;
    this.retryBudget = options.client.retryBudget();
    this.signals = options.host;
  }
}

export const toSignalFailure = ({ options: { host } }: Sender) =>
  host.signal.reason instanceof Failure ? host.signal.reason : undefined;

/** Starts no further request. */
export const stopSending = ({ sent }: Sender, failure: Failure | undefined) => {
  sent.stop ??= failure;
};

export const removeTakenGroups = (sender: Sender) => {
  const groups = Uint32Array.from(sender.takenGroups).sort();
  sender.takenGroups = [];
  return groups;
};

export const toSendResult = (sender: Sender): SendResult => {
  const { sent, options, queue } = sender;
  const { unknown } = sent;
  const { willHonorKeys, replaced } = options.runLedger;
  const isDivided = sender.jobCount === 1 && sender.limit !== Number.POSITIVE_INFINITY;
  return {
    ...sent,
    attemptedOrQueued: sent.attempted + queue.length,
    dividedInto: isDivided ? sent.replies.filter(({ isLogged }) => isLogged).length : 0,
    unknown: unknown && { ...unknown, isKeyHonored: isKeyHonored(unknown.recorded, options, willHonorKeys) },
    stop: replaced ?? sent.stop ?? (sender.isInterrupted ? toSignalFailure(sender) : undefined),
  };
};

export const reportProgress = (sender: Sender, change?: RequestChange) => {
  const { progress, startedCount, queue, inFlightBytes, options } = sender;
  const bytes = Math.min(progress.bytes + inFlightBytes, progress.ofBytes);
  options.onProgress({ ...progress, of: startedCount + queue.length, bytes, change });
};

export const reportChange = (
  sender: Sender,
  { groups, bytes }: PlannedRequest,
  { attempt, ...change }: { attempt: Attempt; outcome: Outcome; retry: Retry | undefined },
) => {
  const reason = attempt.kind === "answered" ? String(attempt.status) : attempt.code;
  reportProgress(sender, { ...change, groups: groups.length, bytes, reason, failure: attempt.failure });
};
