/** Sends planned requests, records what becomes of each before and after, and stops where it must. */

import type { Attempt } from "../client/index.ts";
import { Failure, isFailure } from "../failure.ts";
import { type DedupKeys, dedupKeyBytes, type Reading } from "../groups/index.ts";
import type { Host } from "../host.ts";
import type { RecordedRequest, Settlement } from "../ledger/index.ts";
import { addAnswer, noCalls } from "./answers.ts";
import { checkSource } from "./body.ts";
import type { SendOptions } from "./options.ts";
import { cutRequests, type PlannedRequest, requestOf } from "./plan.ts";
import { afterRefusal, afterTooLarge, type Next, type RefusedGroup } from "./refusal.ts";
import { attemptUntilKnown, isFinal, type Outcome, outcomeOf, recordAttempt, type SentRequest } from "./request.ts";
import { nothingSent, type SendProgress, type SendResult } from "./send-result.ts";
import { isHonored, type Job } from "./unknown.ts";

/** A request that takes longer is worth a hint: several at once would be faster. */
const slowMs = 1000;

/**
 * Sends the requests of a run, one batch of them after the other. Never throws for what the network, the service or a
 * signal does.
 */
export class Sender {
  readonly #reading: Reading;
  readonly #options: SendOptions;
  readonly #sent: { -readonly [Key in keyof SendResult]: SendResult[Key] } = nothingSent();
  readonly #refused: RefusedGroup[] = [];
  #unknown: { readonly sent: SentRequest; readonly again: Failure | undefined } | undefined;
  #queue: Job[] = [];
  #jobs = 0;
  #patience: ReturnType<SendOptions["client"]["patience"]>;
  #until: Pick<Host, "signal" | "urgent">;
  /** True if a signal came between two requests. */
  #isInterrupted = false;
  /** A defect of the program ends the run too, after the other lanes recorded their requests. */
  #defect: { readonly thrown: unknown } | undefined;
  /** Groups that other runs had when they were to be sent. */
  #elsewhere: number[] = [];
  /** True if other runs send groups of the same input. */
  #isSharing = false;
  /** Larger requests are cut before they are sent: the size that a 413 suggests. */
  #limit = Number.POSITIVE_INFINITY;
  /** Jobs that were begun, without those that others took the place of before they were tried. */
  #begun = 0;
  #done = { requests: 0, bytes: 0, groups: 0 };
  #ofBytes = 0;
  /** Bytes of bodies in flight. */
  #flying = 0;

  constructor(reading: Reading, options: SendOptions) {
    this.#reading = reading;
    this.#options = options;
    this.#patience = options.client.patience();
    this.#until = options.host;
  }

  /** What sending came to so far. */
  get result(): SendResult {
    const { sent, again } = this.#unknown ?? {};
    const { stop } = this.#sent;
    return {
      ...this.#sent,
      of: this.#sent.tried + this.#queue.length,
      isOneJob: this.#jobs === 1,
      halved: this.#limit !== Number.POSITIVE_INFINITY,
      refused: this.#refused,
      // Another lane's answer, even a later one, may show that keys are honored.
      unknown: sent && { ...sent, again, isHonored: isHonored(sent.recorded, this.#options) },
      stop: stop ?? (this.#isInterrupted ? signalFailure(this.#options.host) : undefined),
    };
  }

  /**
   * Sends a batch of jobs; none after a stop, unless it was a signal.
   * @param isLast whether a signal left these to do: each is tried once, and the next signal ends it
   */
  async send(jobs: readonly Job[], { isLast = false }: { readonly isLast?: boolean } = {}): Promise<void> {
    const { host, client, concurrency } = this.#options;
    this.#until = isLast ? { signal: host.urgent, urgent: host.urgent } : host;
    this.#patience = client.patience();
    this.#isInterrupted = false;
    // There may be time to send what the signal kept from being sent.
    if (isLast && this.#unknown === undefined && isFailure(this.#sent.stop, "interrupted")) this.#sent.stop = undefined;
    this.#queue = [...jobs];
    this.#jobs += jobs.length;
    this.#ofBytes += jobs.reduce((sum, { request }) => sum + request.bytes, 0);
    const lanes = Math.max(1, Math.min(concurrency, jobs.length));
    await Promise.all(Array.from({ length: lanes }, () => this.#runLane()));
    if (this.#defect !== undefined) throw this.#defect.thrown;
  }

  /** Ends the run because of something other than a request. */
  stopWith(failure: Failure | undefined): void {
    this.#sent.stop ??= failure;
  }

  /** The groups that other runs had, since the last call. */
  takeElsewhere(): Uint32Array {
    const groups = Uint32Array.from(this.#elsewhere).sort();
    this.#elsewhere = [];
    return groups;
  }

  get #isOver(): boolean {
    return this.#sent.stop !== undefined || this.#defect !== undefined;
  }

  /** Sends one request after the other, until there is none, or the run stops. */
  async #runLane(): Promise<void> {
    for (;;) {
      if (this.#until.signal.aborted && this.#queue.length > 0) this.#isInterrupted = true;
      const job = this.#isOver || this.#isInterrupted ? undefined : this.#queue.shift();
      if (job === undefined) return;
      this.#begun++;
      try {
        if (!(await this.#run(job))) this.#begun--;
      } catch (thrown) {
        if (thrown instanceof Failure) this.stopWith(thrown);
        else this.#defect ??= { thrown };
      }
    }
  }

  /** Takes a request from its plan to its outcome; false if it was not tried. */
  async #run({ request, recorded: earlier }: Job): Promise<boolean> {
    const { runLedger, frame, dedupKeys } = this.#options;
    const { groups } = request;
    if (earlier === undefined && request.bytes > this.#limit && groups.length > 1) {
      this.#sendNext(cutRequests(this.#reading, { frame, groups, limit: this.#limit }));
      return false;
    }
    this.#tell();
    for (const [at, source] of this.#reading.sources.entries()) {
      if (await source.touched()) await checkSource(this.#reading, at);
    }
    const marks = dedupKeysOf(request, dedupKeys);
    const recorded = earlier ?? (await runLedger.begin({ ...request, marks }));
    if ("taken" in recorded) {
      this.#leave(request, recorded.taken);
      return false;
    }
    if (earlier !== undefined && !(await runLedger.again(recorded))) return false;
    await this.#attempt(request, { recorded, isUncertain: earlier !== undefined });
    return true;
  }

  async #attempt(
    request: PlannedRequest,
    { recorded, isUncertain }: { readonly recorded: RecordedRequest; readonly isUncertain: boolean },
  ): Promise<void> {
    const { runLedger, host, concurrency, onSlow } = this.#options;
    const number = ++this.#sent.tried;
    this.#sent.triedBytes += request.bytes;
    const from = host.elapsed();
    const last = { status: null, cause: null, calls: noCalls };
    const sent: SentRequest = { request, number, recorded, isUncertain, doubt: undefined, last };
    let attempt: Attempt;
    try {
      attempt = await attemptUntilKnown(this.#reading, sent, {
        ...this.#options,
        until: this.#until,
        patience: this.#patience,
        isOver: () => this.#isOver,
        onAgain: (attempt, outcome) => {
          this.#sent.obstacle = attempt.failure;
          this.#tell({ request, attempt, outcome, again: true });
        },
        onBytes: (bytes) => {
          this.#flying += bytes;
          if (bytes > 0) this.#tell();
        },
      });
    } catch (thrown) {
      // Failures come from before a body's last byte, or from between two attempts; after a defect nobody can know.
      if (!(thrown instanceof Failure)) sent.isUncertain = true;
      if (sent.isUncertain) this.#noteUnknown(sent);
      const state = sent.isUncertain ? "unknown" : "not_sent";
      await this.#record(sent, async () => await runLedger.settle(recorded, { ...sent.last, state }));
      throw thrown;
    }
    const ms = host.elapsed() - from;
    const left = this.#queue.length;
    if (this.#sent.tried === 1 && concurrency === 1 && ms > slowMs && left > 0) onSlow(ms, left);
    await this.#settle(sent, attempt);
  }

  /** Notes the outcome of a request, then records it, then does what follows. */
  async #settle(sent: SentRequest, attempt: Attempt): Promise<void> {
    const { runLedger, outcomes, onUnknown, host } = this.#options;
    const { request } = sent;
    const outcome = outcomeOf(attempt);
    const isUnknown = sent.isUncertain && outcome !== "logged";
    if (outcome === "logged") outcomes.setAll(request.groups, "logged");
    else if (isUnknown) this.#noteUnknown(sent, attempt.failure);
    if (attempt.kind === "answered") addAnswer(this.#sent.answers, attempt, sent.last.calls);
    const state = isUnknown ? "unknown" : stateOf(outcome, request);
    if (isFinal(outcome)) {
      await this.#record(sent, async () => await recordAttempt(runLedger, { sent, attempt, state }));
    }
    this.#sent.obstacle = host.signal.aborted && !isFinal(outcome) ? attempt.failure : undefined;
    this.#done.requests++;
    if (outcome === "logged") {
      this.#sent.accepted++;
      this.#done.bytes += request.bytes;
      this.#done.groups += request.groups.length;
      await runLedger.sized(request.bytes, "passed");
    }
    // A group alone tells as much: a request of several that is as large does not pass either.
    if (outcome === "too-large") await runLedger.sized(request.bytes, "refused");
    this.#tell({ request, attempt, outcome: isUnknown ? "unknown" : outcome, again: false });
    if (outcome === "logged" || (outcome === "unknown" && onUnknown === "leave")) return;
    if (isUnknown || !isFinal(outcome)) this.stopWith(this.#stopOf(attempt));
    else await this.#follow(request, { outcome, attempt });
  }

  /** Does what follows a refusal. */
  async #follow(
    request: PlannedRequest,
    { outcome, attempt }: { readonly outcome: Outcome; readonly attempt: Attempt },
  ): Promise<void> {
    const refused = { ...this.#options, request, attempt };
    const next: Next =
      outcome === "too-large" ? afterTooLarge(this.#reading, refused) : await afterRefusal(this.#reading, refused);
    for (const one of next.refused ?? []) {
      this.#options.outcomes.set(one.group, "rejected");
      this.#refused.push(one);
    }
    this.#limit = Math.min(this.#limit, next.limit ?? Number.POSITIVE_INFINITY);
    this.#sendNext(next.requests ?? []);
    if (next.requests !== undefined || next.refused !== undefined) return;
    this.#sent.problems = next.problems ?? this.#sent.problems;
    this.stopWith(next.stop ?? this.#stopOf(attempt));
  }

  #sendNext(requests: readonly PlannedRequest[]): void {
    this.#queue.unshift(...requests.map((request) => ({ request })));
  }

  /** What cannot be recorded is unknown to the next run. */
  async #record(sent: SentRequest, record: () => Promise<void>): Promise<void> {
    try {
      await record();
    } catch (thrown) {
      this.#noteUnknown(sent);
      throw thrown;
    }
  }

  /** Other runs have groups of a request: the others become a request of their own. */
  #leave(request: PlannedRequest, taken: Uint8Array): void {
    const { dedupKeys, frame, host } = this.#options;
    // Runs that share an input continue in different positions from then on, and seldom meet again.
    if (!this.#isSharing) this.#queue.push(...this.#queue.splice(0, Math.floor(host.random() * this.#queue.length)));
    this.#isSharing = true;
    const others = new Set<number>();
    for (let at = 0; at < taken.length; at += dedupKeyBytes) others.add(dedupKeys.find(taken, at));
    this.#elsewhere.push(...request.groups.filter((group) => others.has(group)));
    const groups = request.groups.filter((group) => !others.has(group));
    if (groups.length > 0) this.#sendNext([requestOf(this.#reading, { frame, groups })]);
  }

  #noteUnknown(sent: SentRequest, last = sent.doubt): void {
    this.#options.outcomes.setAll(sent.request.groups, "unknown");
    this.#unknown = { sent, again: last === sent.doubt ? undefined : last };
  }

  #stopOf(attempt: Attempt): Failure | undefined {
    const { host } = this.#options;
    return (host.signal.aborted ? signalFailure(host) : undefined) ?? attempt.failure;
  }

  #tell(changed?: Changed): void {
    const { requests, bytes, groups } = this.#done;
    const ofBytes = this.#ofBytes;
    this.#options.onProgress({
      requests,
      of: this.#begun + this.#queue.length,
      bytes: Math.min(bytes + this.#flying, ofBytes),
      ofBytes,
      groups,
      change: changed && {
        outcome: changed.outcome,
        again: changed.again,
        groups: changed.request.groups.length,
        bytes: changed.request.bytes,
        reason: changed.attempt.kind === "answered" ? String(changed.attempt.status) : changed.attempt.code,
        failure: changed.attempt.failure,
      },
    });
  }
}

/** What an attempt changed. */
interface Changed extends Pick<NonNullable<SendProgress["change"]>, "outcome" | "again"> {
  readonly request: PlannedRequest;
  readonly attempt: Attempt;
}

/** The state that the ledger has of a request that is not unknown. */
const stateOf = (outcome: Outcome, { groups }: PlannedRequest): Settlement["state"] => {
  if (outcome === "logged") return "logged";
  return outcome === "refused" || (outcome === "too-large" && groups.length === 1) ? "refused" : "not_sent";
};

/** The dedup keys of a request's groups, in its order. */
export const dedupKeysOf = ({ groups }: PlannedRequest, dedupKeys: DedupKeys): Uint8Array => {
  const own = new Uint8Array(groups.length * dedupKeyBytes);
  // Nearly all groups are adjacent.
  for (let first = 0, end = 0; first < groups.length; first = end) {
    const group = groups[first] ?? 0;
    for (end = first + 1; groups[end] === group + end - first; ) end++;
    own.set(dedupKeys.slice(group, end - first), first * dedupKeyBytes);
  }
  return own;
};

const signalFailure = ({ signal }: Host): Failure | undefined =>
  signal.reason instanceof Failure ? signal.reason : undefined;
