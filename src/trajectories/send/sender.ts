/** Sends planned requests, writes down what becomes of each before and after, and stops where it must. */
import type { Attempt, Patience } from "../../client/index.ts";
import { Failure, type Problem } from "../../failure.ts";
import type { Host } from "../../host.ts";
import type { Settlement } from "../ledger/ledger.ts";
import type { Reading } from "../read/read.ts";
import { spotOfGroup } from "../read/spot.ts";
import { problemOf } from "../rules/problems.ts";
import { Answers } from "./answers.ts";
import { BodyMemory } from "./body.ts";
import type { Fates } from "./group-outcomes.ts";
import { type Outcome, outcomeOf } from "./outcome.ts";
import { cutRequests, type PlannedRequest } from "./plan.ts";
import { refusalProblems } from "./refusal.ts";
import type { Job, Sending } from "./requests.ts";
import { openTrial, retried, type Trial, type TryOptions, tryUntilKnown, writeDown } from "./retry.ts";
import { changeOf, type RequestChange, type SendProgress } from "./send-progress.ts";
import { halvesOf, leftOfRefused, type RefusedGroup, tooLarge } from "./too-large.ts";

/** How requests are sent. */
export interface SendOptions extends TryOptions {
  /** Told what became of each group. */
  readonly fates: Fates;
  /** Whether groups that the service refuses are rejected, and the others sent. */
  readonly skipRefused: boolean;
  /** Whether a 413 ends the run, instead of halving the request. */
  readonly oneRequest: boolean;
  /** Requests in flight. */
  readonly concurrency: number;
  /** Told of every change of state. */
  readonly onProgress: (progress: SendProgress) => void;
}

/** Sends all jobs. Never throws for what the network, the service or a signal does. */
export const sendRequests = async (
  reading: Reading,
  { jobs, ...options }: SendOptions & { readonly jobs: readonly Job[] },
): Promise<Sending> => {
  const sender = new Sender(reading, options);
  await sender.send(jobs);
  return sender.sending;
};

/** A run of requests under way: one batch of them after the other. */
export class Sender {
  readonly #reading: Reading;
  readonly #options: SendOptions;
  readonly #memory = new BodyMemory();
  #patience: Patience;
  #queue: Job[] = [];
  #ofBytes = 0;
  /** What ends waiting, and what ends a request that is on its way at once. */
  #until: Pick<Host, "signal" | "urgent">;
  /** Whether a signal came between two requests. */
  #interrupted = false;
  readonly #answers = new Answers();
  readonly #refused: RefusedGroup[] = [];
  #problems: readonly Problem[] = [];
  #tried = 0;
  #done = { requests: 0, accepted: 0, bytes: 0, groups: 0 };
  /** Bytes of bodies that are on their way. */
  #flying = 0;
  /** What was found to be worth a try after a 413: larger requests are cut before they are sent. */
  #limit = Number.POSITIVE_INFINITY;
  #unknown: PlannedRequest | undefined;
  #stop: Failure | undefined;
  /** What is no failure ends the run too, once the other lanes have written down what became of theirs. */
  #defect: { readonly thrown: unknown } | undefined;

  constructor(reading: Reading, options: SendOptions) {
    this.#reading = reading;
    this.#options = options;
    this.#patience = options.client.patience();
    this.#until = options.host;
  }

  get sending(): Sending {
    return {
      answers: this.#answers,
      tried: this.#tried,
      accepted: this.#done.accepted,
      halved: this.#limit !== Number.POSITIVE_INFINITY,
      refused: this.#refused,
      unknown: this.#unknown,
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
    this.#queue = [...jobs];
    this.#ofBytes += jobs.reduce((sum, { request }) => sum + request.bytes, 0);
    const lanes = Math.max(1, Math.min(concurrency, jobs.length));
    await Promise.all(Array.from({ length: lanes }, () => this.#run()));
    if (this.#defect !== undefined) throw this.#defect.thrown;
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
    return goesOn ? this.#queue.shift() : undefined;
  }

  async #send({ request, ticket: earlier }: Job): Promise<void> {
    const { record, host, frame } = this.#options;
    if (earlier === undefined && request.bytes > this.#limit && request.groups.length > 1) {
      const parts = cutRequests(this.#reading, { frame, groups: request.groups, limit: this.#limit });
      this.#queue.unshift(...parts.map((part) => ({ request: part })));
      return;
    }
    this.#tell();
    for (const source of this.#reading.sources) {
      if (await source.changed()) throw new Failure("input-changed", { file: source.name });
    }
    const ticket = earlier ?? record.begin(request, host.now());
    if (earlier !== undefined && !record.again(ticket, host.now())) return;
    this.#tried++;
    const trial = openTrial(request, ticket, earlier !== undefined);
    let attempt: Attempt;
    try {
      attempt = await tryUntilKnown(this.#reading, trial, {
        ...this.#options,
        until: this.#until,
        patience: this.#patience,
        memory: this.#memory,
        isOver: () => this.#stop !== undefined || this.#defect !== undefined,
        onAgain: (last, outcome) => this.#tell(changeOf(request, last, { outcome, again: true })),
        onBytes: (bytes) => {
          this.#flying += bytes;
          if (bytes > 0) this.#tell();
        },
      });
    } catch (thrown) {
      // Failures come from before a body's last byte, or from between two tries; of a defect nobody can know.
      if (!(thrown instanceof Failure)) trial.uncertain = true;
      if (trial.uncertain) this.#markUnknown(request);
      record.settle(ticket, { ...trial.last, state: trial.uncertain ? "unknown" : "not_sent" });
      throw thrown;
    }
    await this.#settle(trial, attempt);
  }

  /** Goes by what became of a request: first what is known, then what is written down, then what follows. */
  async #settle(trial: Trial, attempt: Attempt): Promise<void> {
    const { record, fates, onUnknown } = this.#options;
    const { request, uncertain } = trial;
    const outcome = outcomeOf(attempt);
    const isUnknown = uncertain && outcome !== "logged";
    if (outcome === "logged") fates.setAll(request.groups, "logged");
    else if (isUnknown) this.#markUnknown(request);
    if (attempt.kind === "answered") this.#answers.add(attempt);
    const state = isUnknown ? "unknown" : stateOf(outcome, request);
    if (outcome !== "unknown" && !retried.has(outcome)) writeDown(trial, attempt, { record, state });
    this.#done.requests++;
    if (outcome === "logged") {
      this.#done.accepted++;
      this.#done.bytes += request.bytes;
      this.#done.groups += request.groups.length;
    }
    this.#tell(changeOf(request, attempt, { outcome: isUnknown ? "unknown" : outcome, again: false }));
    if (outcome === "logged") return;
    if (isUnknown && onUnknown === "leave" && outcome === "unknown") return;
    if (isUnknown) this.#stopWith(attempt);
    else if (outcome === "too-large") this.#halve(request, attempt);
    else if (outcome === "refused") await this.#refuse(request, attempt);
    else this.#stopWith(attempt);
  }

  #markUnknown(request: PlannedRequest): void {
    this.#options.fates.setAll(request.groups, "unknown");
    this.#unknown = request;
  }

  #stopWith(attempt: Attempt): void {
    const { host } = this.#options;
    this.#stop ??= (host.signal.aborted ? signalFailure(host) : undefined) ?? attempt.failure;
  }

  /** What was too large at once is sent as two requests; a group by itself is refused. */
  #halve(request: PlannedRequest, attempt: Attempt): void {
    const { frame, record, oneRequest, skipRefused } = this.#options;
    const { groups, bytes } = request;
    if (groups.length > 1 && !oneRequest) {
      const { limit, requests } = halvesOf(this.#reading, { frame, request });
      record.remember({ maxBytes: limit });
      this.#limit = Math.min(this.#limit, limit);
      this.#queue.unshift(...requests.map((half) => ({ request: half })));
      return;
    }
    const [group = 0] = groups;
    if (groups.length === 1 && skipRefused) {
      const place = spotOfGroup(this.#reading, group);
      this.#reject({ group, problems: [problemOf("group-too-large", { bytes }, place)] });
    } else this.#stop ??= tooLarge(this.#reading, request, attempt);
  }

  /** A refusal ends the run, or, where that was asked for and it names groups, rejects those and sends the others. */
  async #refuse(request: PlannedRequest, attempt: Attempt): Promise<void> {
    const { frame, skipRefused } = this.#options;
    const left = skipRefused ? await leftOfRefused(this.#reading, { frame, request, attempt }) : undefined;
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
    this.#options.fates.set(refused.group, "rejected");
    this.#refused.push(refused);
  }

  #tell(change?: RequestChange): void {
    const { onProgress } = this.#options;
    const { requests, bytes, groups } = this.#done;
    const of = Math.max(requests + this.#queue.length, this.#tried);
    const ofBytes = this.#ofBytes;
    onProgress({ requests, of, bytes: Math.min(bytes + this.#flying, ofBytes), ofBytes, groups, change });
  }
}

/** What the ledger has of a request that is not unknown. */
const stateOf = (outcome: Outcome, { groups }: PlannedRequest): Settlement["state"] => {
  if (outcome === "logged") return "logged";
  return outcome === "refused" || (outcome === "too-large" && groups.length === 1) ? "refused" : "not_sent";
};

const signalFailure = ({ signal }: Host): Failure | undefined =>
  signal.reason instanceof Failure ? signal.reason : undefined;
