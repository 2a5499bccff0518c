/** Sends planned requests, writes down what becomes of each before and after, and stops where it must. */
import type { Attempt, Patience } from "../client/index.ts";
import { Failure, isFailure, type Problem } from "../failure.ts";
import type { Reading } from "../groups/index.ts";
import { type DedupKeys, dedupKeyBytes } from "../groups/index.ts";
import type { Host } from "../host.ts";
import { inputChanged } from "../input/source.ts";
import type { Settlement } from "../ledger/index.ts";
import { Answers, noCalls } from "./answers.ts";
import { isStill } from "./body.ts";
import type { GroupOutcomes } from "./group-outcomes.ts";
import { cutRequests, type PlannedRequest, requestOf } from "./plan.ts";
import { refusalProblems, withoutRefused } from "./refusal.ts";
import {
  type Job,
  type Outcome,
  outcomeOf,
  type RefusedGroup,
  type RequestChange,
  type SendProgress,
  type SendResult,
} from "./requests.ts";
import { retried, type TriedRequest, type TryOptions, tryUntilKnown, writeDown } from "./retry.ts";
import { afterTooLarge } from "./too-large.ts";
import { isHonoured } from "./unknown.ts";

/** How requests are sent. */
interface SendOptions extends TryOptions {
  /** Told what became of each group. */
  readonly outcomes: GroupOutcomes;
  readonly marks: DedupKeys;
  /** Whether groups that the service refuses are rejected, and the others sent. */
  readonly skipRefused: boolean;
  /** Whether a 413 ends the run, instead of halving the request. */
  readonly oneRequest: boolean;
  /** Requests in flight. */
  readonly concurrency: number;
  /** Told once where the first request took long and more are to come, one after the other. */
  readonly onSlow: (ms: number, left: number) => void;
  /** Told of every change of state. */
  readonly onProgress: (progress: SendProgress) => void;
}

/**
 * Sends the requests of a run, one batch of them after the other. Never throws for what the network, the service or a
 * signal does.
 */
export class Sender {
  readonly #reading: Reading;
  readonly #options: SendOptions;
  #patience: Patience;
  #queue: Job[] = [];
  #ofBytes = 0;
  /** What ends waiting, and what ends a request that is on its way at once. */
  #until: Pick<Host, "signal" | "urgent">;
  /** Whether a signal came between two requests. */
  #interrupted = false;
  readonly #answers = new Answers();
  readonly #refused: RefusedGroup[] = [];
  /** Groups that other runs had when they were to be sent. */
  #elsewhere: number[] = [];
  /** Whether other runs send groups of the same input. */
  #isSharing = false;
  #problems: readonly Problem[] = [];
  #tried = 0;
  /** Jobs that were begun, but for those that others took the place of before they were tried. */
  #begun = 0;
  #triedBytes = 0;
  /** What kept the last request from being sent that is tried again. */
  #obstacle: Failure | undefined;
  #done = { requests: 0, accepted: 0, bytes: 0, groups: 0 };
  /** Bytes of bodies that are on their way. */
  #flying = 0;
  /** What was found to be worth a try after a 413: larger requests are cut before they are sent. */
  #limit = Number.POSITIVE_INFINITY;
  #unknown: { readonly tried: TriedRequest; readonly again: Failure | undefined } | undefined;
  #jobs = 0;
  #stop: Failure | undefined;
  /** What is no failure ends the run too, once the other lanes have written down what became of theirs. */
  #defect: { readonly thrown: unknown } | undefined;

  constructor(reading: Reading, options: SendOptions) {
    this.#reading = reading;
    this.#options = options;
    this.#patience = options.client.patience();
    this.#until = options.host;
  }

  /** What sending came to so far. */
  get result(): SendResult {
    return {
      answers: this.#answers,
      tried: this.#tried,
      triedBytes: this.#triedBytes,
      of: this.#tried + this.#queue.length,
      isOneJob: this.#jobs === 1,
      obstacle: this.#obstacle,
      accepted: this.#done.accepted,
      halved: this.#limit !== Number.POSITIVE_INFINITY,
      refused: this.#refused,
      unknown: this.#lastUnknown,
      stop: this.#stop ?? (this.#interrupted ? signalFailure(this.#options.host) : undefined),
      problems: this.#problems,
    };
  }

  /**
   * Sends a batch of jobs; none after a stop, other than by a signal.
   * @param last whether these are what a signal left to do: each is tried once, and the next signal ends it
   */
  async send(jobs: readonly Job[], { last = false }: { readonly last?: boolean } = {}): Promise<void> {
    const { host, client, concurrency } = this.#options;
    this.#until = last ? { signal: host.urgent, urgent: host.urgent } : host;
    this.#patience = client.patience();
    this.#interrupted = false;
    // After a signal there may be time for what it kept from being sent.
    if (last && this.#unknown === undefined && isFailure(this.#stop, "interrupted")) this.#stop = undefined;
    this.#queue = [...jobs];
    this.#jobs += jobs.length;
    this.#ofBytes += jobs.reduce((sum, { request }) => sum + request.bytes, 0);
    const lanes = Math.max(1, Math.min(concurrency, jobs.length));
    await Promise.all(Array.from({ length: lanes }, () => this.#run()));
    if (this.#defect !== undefined) throw this.#defect.thrown;
  }

  /** Ends the run for something that came of no request. */
  stopWith(failure: Failure): void {
    this.#stop ??= failure;
  }

  /** The groups that other runs had, since this was last asked. */
  takeElsewhere(): Uint32Array {
    const groups = Uint32Array.from(this.#elsewhere).sort();
    this.#elsewhere = [];
    return groups;
  }

  /** One lane: a request after the other, until there is none, or the run stops. */
  async #run(): Promise<void> {
    for (let job = this.#next(); job !== undefined; job = this.#next()) {
      try {
        await this.#send(job);
      } catch (thrown) {
        if (thrown instanceof Failure) this.#stop ??= thrown;
        else this.#defect ??= { thrown };
      }
    }
  }

  #next(): Job | undefined {
    if (this.#until.signal.aborted && this.#queue.length > 0) this.#interrupted = true;
    const goesOn = this.#stop === undefined && this.#defect === undefined && !this.#interrupted;
    const job = goesOn ? this.#queue.shift() : undefined;
    if (job !== undefined) this.#begun++;
    return job;
  }

  async #begin(request: PlannedRequest) {
    const { runLedger, marks } = this.#options;
    return await runLedger.begin({ ...request, marks: marksOfRequest(request, marks) });
  }

  async #send({ request, recorded: earlier }: Job): Promise<void> {
    const { runLedger, frame, host, concurrency, onSlow } = this.#options;
    if (earlier === undefined && request.bytes > this.#limit && request.groups.length > 1) {
      const parts = cutRequests(this.#reading, { frame, groups: request.groups, limit: this.#limit });
      this.#queue.unshift(...parts.map((part) => ({ request: part })));
      this.#begun--;
      return;
    }
    this.#tell();
    for (const [at, source] of this.#reading.sources.entries()) {
      if ((await source.touched()) && !(await isStill(this.#reading, at))) throw inputChanged(source.name);
    }
    const recorded = earlier ?? (await this.#begin(request));
    if ("taken" in recorded) {
      this.#leave(request, recorded.taken);
      return;
    }
    if (earlier !== undefined && !(await runLedger.again(recorded))) {
      this.#begun--;
      return;
    }
    const number = ++this.#tried;
    this.#triedBytes += request.bytes;
    const from = host.elapsed();
    const last = { status: null, cause: null, calls: noCalls };
    const tried: TriedRequest = { request, number, recorded, uncertain: earlier !== undefined, last };
    let attempt: Attempt;
    try {
      attempt = await tryUntilKnown(this.#reading, tried, {
        ...this.#options,
        until: this.#until,
        patience: this.#patience,
        isOver: () => this.#stop !== undefined || this.#defect !== undefined,
        onAgain: (attempt, outcome) => {
          this.#obstacle = attempt.failure;
          this.#tell(changeOf(request, attempt, { outcome, again: true }));
        },
        onBytes: (bytes) => {
          this.#flying += bytes;
          if (bytes > 0) this.#tell();
        },
      });
    } catch (thrown) {
      // Failures come from before a body's last byte, or from between two tries; of a defect nobody can know.
      if (!(thrown instanceof Failure)) tried.uncertain = true;
      if (tried.uncertain) this.#markUnknown(tried);
      const state = tried.uncertain ? "unknown" : "not_sent";
      await this.#writeDown(tried, async () => await runLedger.settle(recorded, { ...tried.last, state }));
      throw thrown;
    }
    const ms = host.elapsed() - from;
    if (this.#tried === 1 && concurrency === 1 && ms > slowMs && this.#queue.length > 0) onSlow(ms, this.#queue.length);
    await this.#settle(tried, attempt);
  }

  /** Goes by what became of a request: first what is known, then what is written down, then what follows. */
  async #settle(tried: TriedRequest, attempt: Attempt): Promise<void> {
    const { runLedger, outcomes, onUnknown } = this.#options;
    const { request, uncertain } = tried;
    const outcome = outcomeOf(attempt);
    const isUnknown = uncertain && outcome !== "logged";
    if (outcome === "logged") outcomes.setAll(request.groups, "logged");
    else if (isUnknown) this.#markUnknown(tried, attempt.failure);
    if (attempt.kind === "answered") this.#answers.add(attempt, tried.last.calls);
    const state = isUnknown ? "unknown" : stateOf(outcome, request);
    if (outcome !== "unknown" && !retried.has(outcome)) {
      await this.#writeDown(tried, async () => await writeDown(tried, attempt, { runLedger, state }));
    }
    this.#obstacle = undefined;
    this.#done.requests++;
    if (outcome === "logged") {
      this.#done.accepted++;
      this.#done.bytes += request.bytes;
      this.#done.groups += request.groups.length;
    }
    if (outcome === "logged") await runLedger.sized(request.bytes, "passed");
    // One group alone tells as much: a request of several that is as large does not pass either.
    if (outcome === "too-large") await runLedger.sized(request.bytes, "refused");
    this.#tell(changeOf(request, attempt, { outcome: isUnknown ? "unknown" : outcome, again: false }));
    if (outcome === "logged") return;
    if (isUnknown && onUnknown === "leave" && outcome === "unknown") return;
    if (isUnknown) this.#stopWith(attempt);
    else if (outcome === "too-large") this.#makeSmaller(request, attempt);
    else if (outcome === "refused") await this.#refuse(request, attempt);
    else this.#stopWith(attempt);
  }

  /** What can't be written down where others read it is unknown to them, and to the next run. */
  async #writeDown(tried: TriedRequest, write: () => Promise<void>): Promise<void> {
    try {
      await write();
    } catch (thrown) {
      if (this.#options.runLedger.isShared) this.#markUnknown(tried);
      throw thrown;
    }
  }

  /** Other runs have groups of a request: the others are a request of their own. */
  #leave(request: PlannedRequest, taken: Uint8Array): void {
    const { marks, frame, host } = this.#options;
    // Runs that share an input go on in different places from then on, and are seldom in each other's way.
    if (!this.#isSharing) this.#queue.push(...this.#queue.splice(0, Math.floor(host.random() * this.#queue.length)));
    this.#isSharing = true;
    const others = new Set<number>();
    for (let at = 0; at < taken.length; at += dedupKeyBytes) others.add(marks.find(taken, at));
    this.#elsewhere.push(...request.groups.filter((group) => others.has(group)));
    const groups = request.groups.filter((group) => !others.has(group));
    this.#begun--;
    if (groups.length > 0) this.#queue.unshift({ request: requestOf(this.#reading, { frame, groups }) });
  }

  #markUnknown(tried: TriedRequest, last = tried.doubt): void {
    this.#options.outcomes.setAll(tried.request.groups, "unknown");
    this.#unknown = { tried, again: last === tried.doubt ? undefined : last };
  }

  /** Whether its key is honoured may have come out after it: another lane's answer says so. */
  get #lastUnknown(): SendResult["unknown"] {
    if (this.#unknown === undefined) return undefined;
    const { tried, again } = this.#unknown;
    const { request, number, recorded, doubt } = tried;
    return { request, number, honoured: isHonoured(recorded, this.#options), doubt, again };
  }

  #stopWith(attempt: Attempt): void {
    const { host } = this.#options;
    this.#stop ??= (host.signal.aborted ? signalFailure(host) : undefined) ?? attempt.failure;
  }

  #makeSmaller(request: PlannedRequest, attempt: Attempt): void {
    const next = afterTooLarge(this.#reading, { ...this.#options, request, attempt });
    if (next.kind === "stopped") this.#stop ??= next.failure;
    else if (next.kind === "rejected") this.#reject(next.refused);
    else {
      this.#limit = Math.min(this.#limit, next.limit);
      this.#queue.unshift(...next.requests.map((half) => ({ request: half })));
    }
  }

  /** A refusal ends the run, or, where that was asked for and it names groups, rejects those and sends the others. */
  async #refuse(request: PlannedRequest, attempt: Attempt): Promise<void> {
    const { frame, skipRefused } = this.#options;
    const left = skipRefused ? await withoutRefused(this.#reading, { frame, request, attempt }) : undefined;
    if (left !== undefined) {
      for (const refused of left.refused) this.#reject(refused);
      this.#queue.unshift(...left.requests.map((rest) => ({ request: rest })));
      return;
    }
    const body = attempt.kind === "answered" ? attempt.body : new Uint8Array(0);
    this.#problems = await refusalProblems(this.#reading, { request, body });
    this.#stopWith(attempt);
  }

  #reject(refused: RefusedGroup): void {
    this.#options.outcomes.set(refused.group, "rejected");
    this.#refused.push(refused);
  }

  #tell(change?: RequestChange): void {
    const { onProgress } = this.#options;
    const { requests, bytes, groups } = this.#done;
    const of = this.#begun + this.#queue.length;
    const ofBytes = this.#ofBytes;
    onProgress({ requests, of, bytes: Math.min(bytes + this.#flying, ofBytes), ofBytes, groups, change });
  }
}

/** A request that takes longer than this is waited for: several at once would be faster. */
const slowMs = 1000;

/** What the ledger has of a request that is not unknown. */
const stateOf = (outcome: Outcome, { groups }: PlannedRequest): Settlement["state"] => {
  if (outcome === "logged") return "logged";
  return outcome === "refused" || (outcome === "too-large" && groups.length === 1) ? "refused" : "not_sent";
};

/** The marks of a request's groups, in its order. */
export const marksOfRequest = ({ groups }: PlannedRequest, marks: DedupKeys): Uint8Array => {
  const own = new Uint8Array(groups.length * dedupKeyBytes);
  // Nearly all groups stand one behind the other.
  for (let first = 0, end = 0; first < groups.length; first = end) {
    const group = groups[first] ?? 0;
    for (end = first + 1; groups[end] === group + end - first; ) end++;
    own.set(marks.slice(group, end - first), first * dedupKeyBytes);
  }
  return own;
};

/** What an attempt changed. */
const changeOf = (
  { groups, bytes }: PlannedRequest,
  attempt: Attempt,
  { outcome, again }: { readonly outcome: Outcome; readonly again: boolean },
): RequestChange => ({
  outcome,
  again,
  groups: groups.length,
  bytes,
  reason: attempt.kind === "answered" ? String(attempt.status) : attempt.code,
  failure: attempt.failure,
});

const signalFailure = ({ signal }: Host): Failure | undefined =>
  signal.reason instanceof Failure ? signal.reason : undefined;
