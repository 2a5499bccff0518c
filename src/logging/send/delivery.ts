/** Holds the state of a run that sends groups. */

import { basename } from "node:path";
import { Failure } from "../../failure.ts";
import { hasOtherContent } from "../../rollouts/dataset/contents.ts";
import type { Dataset } from "../../rollouts/dataset/read-dataset.ts";
import type { DedupKeys } from "../../rollouts/index/dedup-keys.ts";
import type { Attempt, Client } from "../../wire/client/client.ts";
import type { RetryBudget } from "../../wire/client/retry.ts";
import { PriorOutcomes } from "../ledger/prior-outcomes.ts";
import { RunLedger } from "../ledger/recorded-requests.ts";
import type { GroupOutcomes } from "./group-outcomes.ts";
import { type BodyLimit, createEnvelope, cutRequests, type PlannedRequest } from "./plan.ts";
import type { LogEvents, LogPolicy, LogSetup, LogTools, RequestChange } from "./policy.ts";
import { nameRejects, openRejects, type RejectedGroup, type RejectsFile } from "./rejects.ts";
import { SendResult } from "./send-result.ts";

interface KnownGroups {
  /** The path of the first input. */
  file: string;
  outcomes: GroupOutcomes;
  dedupKeys: DedupKeys;
  /** Numbers the keys of groups that `dedupKeys` lacks. Default: a key has the number of its group. */
  numberOfKey?: (dedupKeys: Uint8Array, offset: number) => number;
}

export class Delivery {
  readonly dataset: Dataset;
  readonly policy: LogPolicy;
  readonly tools: LogTools;
  readonly events: LogEvents;
  readonly outcomes: GroupOutcomes;
  readonly dedupKeys: DedupKeys;
  readonly priorOutcomes: PriorOutcomes;
  readonly runLedger: RunLedger;
  readonly rejects: RejectsFile | undefined;
  readonly sent = new SendResult();
  readonly progress = { requests: 0, bytes: 0, ofBytes: 0, groups: 0 };
  queue: PlannedRequest[] = [];
  plannedCount = 0;
  startedCount = 0;
  inFlightBytes = 0;
  /** After a 413 of this run, the maximum size of a request with several groups. */
  cutLimit = Number.POSITIVE_INFINITY;
  retryBudget: RetryBudget = { wait: async () => false };
  /** Aborts `graceMs` after the signal. */
  readonly lateSignal: AbortSignal;
  /** True if each request has one attempt, because a signal ends the run. */
  isAfterSignal = false;
  isInterrupted = false;
  /** True if other runs send the same groups. */
  isSharing = false;
  /** The groups that other runs claimed. */
  claimedGroups: number[] = [];
  readonly #numberOfKey: KnownGroups["numberOfKey"];
  #client: Promise<Client> | undefined;

  constructor(dataset: Dataset, { policy, tools, events }: LogSetup, known: KnownGroups) {
    const { file, outcomes, dedupKeys, numberOfKey } = known;
    const { resendLogged, onInvalid, onRefused, rejects: path = nameRejects(file) } = policy;
    const input = basename(file);
    this.dataset = dataset;
    this.policy = policy;
    this.tools = tools;
    this.events = events;
    this.outcomes = outcomes;
    this.dedupKeys = dedupKeys;
    this.#numberOfKey = numberOfKey;
    this.lateSignal = delaySignal(tools.host.signal);
    this.runLedger = new RunLedger({ ...policy, ...events, host: tools.host, input });
    this.priorOutcomes = new PriorOutcomes({
      input,
      resendLogged,
      numberOf: numberOfKey ?? dedupKeys.find,
      hasOtherContent: numberOfKey ? undefined : (group, earlier) => hasOtherContent(dataset, group, earlier),
    });
    if (onInvalid === "skip" || onRefused === "skip")
      this.rejects = openRejects(dataset, { path, runLedger: this.runLedger, redact: tools.redact });
  }

  /** Returns the number of the group in `priorOutcomes`. */
  numberOf(group: number) {
    return this.#numberOfKey?.(this.dedupKeys.slice(group, 1), 0) ?? group;
  }

  async client() {
    this.#client ??= this.tools.client();
    return await this.#client;
  }

  envelope() {
    return createEnvelope(this.dataset, this.policy.split);
  }

  bodyLimit(): BodyLimit {
    const { maxRequestBytes } = this.policy;
    const { sizeLimit = { bytes: maxRequestBytes } } = this.runLedger;
    const bytes = Math.min(maxRequestBytes, sizeLimit.bytes);
    return { ...sizeLimit, bytes, isDiscovered: bytes < maxRequestBytes };
  }

  cutRequests(groups: Uint32Array, limit: number) {
    return cutRequests(this.dataset, { envelope: this.envelope(), groups, limit });
  }

  reject(refused: RejectedGroup) {
    this.outcomes.set(refused.group, "rejected");
    this.sent.refused.push(refused);
  }

  /** Starts no further request. */
  stop(failure: Failure | undefined) {
    this.sent.stop ??= failure;
  }

  /** Starts no further request. A signal explains more than the failure of a request. */
  stopAfterRequest(failure: Failure | undefined) {
    this.stop(this.#signalFailure() ?? failure);
  }

  stopFailure() {
    return this.runLedger.replaced ?? this.sent.stop ?? (this.isInterrupted ? this.#signalFailure() : undefined);
  }

  #signalFailure() {
    const { reason } = this.tools.host.signal;
    return reason instanceof Failure ? reason : undefined;
  }

  reportProgress(change?: RequestChange) {
    const { progress, startedCount, queue, inFlightBytes } = this;
    const bytes = Math.min(progress.bytes + inFlightBytes, progress.ofBytes);
    this.events.onProgress({ ...progress, of: startedCount + queue.length, bytes, change });
  }

  reportAttempt({ groups, bytes }: PlannedRequest, attempt: Attempt, next: Pick<RequestChange, "outcome" | "retry">) {
    const reason = attempt.kind === "answered" ? String(attempt.status) : attempt.code;
    this.reportProgress({ ...next, groups: groups.length, bytes, reason, failure: attempt.failure });
  }
}

/** After a signal, a request in flight has this time to end (guarantees.md). */
export const graceMs = 5000;

const delaySignal = (signal: AbortSignal) => {
  const late = new AbortController();
  const start = () => setTimeout(() => late.abort(signal.reason), graceMs).unref();
  if (signal.aborted) start();
  else signal.addEventListener("abort", start, { once: true });
  return late.signal;
};
