/** Sends planned requests, writes down what becomes of each before and after, and stops where it must. */
import type { Attempt, Client, Patience } from "../client/index.ts";
import { Failure, type Problem } from "../failure.ts";
import type { Host } from "../host.ts";
import { Answers } from "./answers.ts";
import type { Fates } from "./fate.ts";
import type { Settlement } from "./ledger.ts";
import { type Outcome, outcomeOf } from "./outcome.ts";
import { cutRequests, type Frame, type PlannedRequest } from "./plan.ts";
import { problemOf } from "./problems.ts";
import type { Reading } from "./read.ts";
import type { RequestRecord, Ticket } from "./record.ts";
import { refusalProblems, refusedGroups } from "./refusal.ts";
import { spotOfGroup } from "./spot.ts";
import { noAnswer, type OnUnknown, settlementOf, type Trial, tryUntilKnown } from "./trial.ts";

/** A request to be sent; `ticket` where it was tried before, and is sent as exactly what it was. */
export interface Job {
  readonly request: PlannedRequest;
  readonly ticket?: Ticket;
}

/** How requests are sent. */
export interface SendOptions {
  readonly host: Host;
  readonly client: Client;
  readonly modelId: string;
  readonly frame: Frame;
  readonly record: RequestRecord;
  /** Told what became of each group. */
  readonly fates: Fates;
  /** Whether `Idempotency-Key` goes along. */
  readonly idempotency: boolean;
  readonly onUnknown: OnUnknown;
  /** Whether groups that the service refuses are rejected, and the others sent. */
  readonly skipRefused: boolean;
  /** Whether a 413 ends the run, instead of halving the request. */
  readonly oneRequest: boolean;
  /** Requests in flight. */
  readonly concurrency: number;
  /** Told of every change of state. */
  readonly onProgress: (progress: SendProgress) => void;
}

/** How far sending is. */
export interface SendProgress {
  /** Requests that have an outcome, and all that there are so far. */
  readonly requests: number;
  readonly of: number;
  /** Bytes and groups that are logged; bytes on their way count too. */
  readonly bytes: number;
  readonly ofBytes: number;
  readonly groups: number;
  /** What just became of a request; undefined where bytes just moved on. */
  readonly change: RequestChange | undefined;
}

/** What became of a request. */
export interface RequestChange {
  readonly outcome: Outcome;
  /** Whether it is tried again. */
  readonly again: boolean;
  readonly groups: number;
  readonly bytes: number;
  /** The status that was answered, or the code of what was in the way. */
  readonly reason: string;
}

/** A group that the service refused, with what it said. */
export interface RefusedGroup {
  readonly group: number;
  readonly problems: readonly Problem[];
}

/** What a run of requests ended as. */
export interface Sending {
  readonly answers: Answers;
  /** Requests that were tried. */
  readonly tried: number;
  readonly refused: readonly RefusedGroup[];
  /** The last request whose outcome is unknown. */
  readonly unknown: PlannedRequest | undefined;
  /** What stopped the run before its end, as it was: undefined where everything was tried. */
  readonly stop: Failure | undefined;
  /** What the service said against the request that stopped the run. */
  readonly problems: readonly Problem[];
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
  #done = { requests: 0, bytes: 0, groups: 0 };
  /** Bytes of bodies that are on their way. */
  #flying = 0;
  #unknown: PlannedRequest | undefined;
  #stop: Failure | undefined;

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
  }

  /** One lane: a request after the other, until there is none, or the run stops. */
  async #run(): Promise<void> {
    for (let job = this.#next(); job !== undefined; job = this.#next()) {
      try {
        await this.#send(job);
      } catch (thrown) {
        if (!(thrown instanceof Failure)) throw thrown;
        this.#stop ??= thrown;
      }
    }
  }

  #next(): Job | undefined {
    if (this.#until.signal.aborted && this.#queue.length > 0) this.#interrupted = true;
    return this.#stop === undefined && !this.#interrupted ? this.#queue.shift() : undefined;
  }

  async #send({ request, ticket: earlier }: Job): Promise<void> {
    const { record, host, fates } = this.#options;
    this.#tell();
    for (const source of this.#reading.sources) {
      if (await source.changed()) throw new Failure("input-changed", { file: source.name });
    }
    const ticket = earlier ?? record.begin(request, host.now());
    if (earlier !== undefined) record.again(ticket, host.now());
    this.#tried++;
    const trial: Trial = { request, ticket, uncertain: earlier !== undefined, settled: false };
    try {
      await this.#settle(trial, await this.#try(trial));
    } catch (thrown) {
      // What is thrown comes from before a body's last byte, or from between two attempts.
      if (!trial.settled) {
        record.settle(ticket, { ...noAnswer, state: trial.uncertain ? "unknown" : "not_sent" });
        if (trial.uncertain) this.#markUnknown(request);
        else fates.setAll(request.groups, "not_sent");
      }
      throw thrown;
    }
  }

  async #try(trial: Trial): Promise<Attempt> {
    let flown = 0;
    try {
      return await tryUntilKnown(trial, {
        ...this.#options,
        reading: this.#reading,
        patience: this.#patience,
        until: this.#until,
        onBytes: (bytes) => {
          flown += bytes;
          this.#flying += bytes;
          this.#tell();
        },
        onAgain: (attempt, outcome) => {
          this.#flying -= flown;
          flown = 0;
          this.#tell(changeOf(trial.request, attempt, { outcome, again: true }));
        },
      });
    } finally {
      this.#flying -= flown;
    }
  }

  async #settle(trial: Trial, attempt: Attempt): Promise<void> {
    const { record, fates, onUnknown } = this.#options;
    const { request, ticket, uncertain } = trial;
    const outcome = outcomeOf(attempt);
    const isUnknown = outcome === "unknown" || (uncertain && outcome !== "logged");
    // What is known is known, also where it can't be written down.
    trial.settled = true;
    if (outcome === "logged") {
      fates.setAll(request.groups, "logged");
      this.#done.bytes += request.bytes;
      this.#done.groups += request.groups.length;
    } else if (isUnknown) this.#markUnknown(request);
    if (attempt.kind === "answered") this.#answers.add(attempt);
    record.settle(ticket, { ...settlementOf(attempt), state: isUnknown ? "unknown" : settledAs[outcome] });
    this.#done.requests++;
    this.#tell(changeOf(request, attempt, { outcome: isUnknown ? "unknown" : outcome, again: false }));
    if (outcome === "logged") return;
    if (isUnknown) {
      if (onUnknown !== "leave" || outcome !== "unknown") this.#stopWith(attempt);
    } else if (outcome === "too-large") await this.#halve(request, attempt);
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
  async #halve(request: PlannedRequest, attempt: Attempt): Promise<void> {
    const { frame, record, oneRequest, skipRefused } = this.#options;
    const { groups, bytes } = request;
    if (groups.length > 1 && !oneRequest) {
      const limit = Math.ceil(bytes / 2) + frame.opening.length + frame.closing.length;
      record.remember({ maxBytes: limit });
      const halves = cutRequests(this.#reading, { frame, groups, limit });
      this.#queue.unshift(...halves.map((half) => ({ request: half })));
      return;
    }
    const [group = 0] = groups;
    const where = spotOfGroup(this.#reading, group);
    if (groups.length === 1 && skipRefused) {
      this.#reject({ group, problems: [problemOf("group-too-large", { bytes }, where)] });
      return;
    }
    const http = attempt.failure?.about.http;
    // Half of it is the next that can be tried; a smaller one than its largest group can't be made.
    const suggested = groups.length > 1 ? Math.floor(bytes / 2) : undefined;
    this.#stop ??= new Failure(
      "request-too-large",
      { bytes, groups: groups.length, suggested },
      { ...(http === undefined ? {} : { http }), ...(groups.length === 1 ? { where } : {}) },
    );
  }

  /** A refusal ends the run, or, where that was asked for and it names groups, rejects those and sends the others. */
  async #refuse(request: PlannedRequest, attempt: Attempt): Promise<void> {
    const body = attempt.kind === "answered" ? attempt.body : new Uint8Array(0);
    const problems = await refusalProblems(this.#reading, { request, body });
    const named = this.#options.skipRefused && isAboutContent(attempt) ? refusedGroups(request, body) : [];
    const alone = this.#options.skipRefused && isAboutContent(attempt) && request.groups.length === 1;
    if (named.length === 0 && !alone) {
      this.#problems = problems;
      this.#stopWith(attempt);
      return;
    }
    const positions = alone ? [0] : named;
    for (const position of positions) {
      const group = request.groups[position] ?? 0;
      const place = spotOfGroup(this.#reading, group);
      const own = alone ? problems : await refusalProblems(this.#reading, { request, body, position });
      this.#reject({ group, problems: own.length > 0 ? own : [problemOf("group-refused", saidBy(attempt), place)] });
    }
    const left = request.groups.filter((_, position) => !positions.includes(position));
    if (left.length === 0) return;
    const requests = cutRequests(this.#reading, { frame: this.#options.frame, groups: left, limit: request.bytes });
    this.#queue.unshift(...requests.map((rest) => ({ request: rest })));
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
});

const settledAs = {
  logged: "logged",
  "not-sent": "not_sent",
  "not-processed": "not_sent",
  "too-large": "not_sent",
  refused: "refused",
  unknown: "unknown",
} as const satisfies Record<Outcome, Settlement["state"]>;

/** Whether a refusal is about what was sent, and not about who sent it or where to. */
const isAboutContent = (attempt: Attempt): boolean =>
  attempt.kind === "answered" && ![401, 403, 404, 405].includes(attempt.status);

const saidBy = (attempt: Attempt): { readonly text: string } => ({
  text: attempt.failure?.about.http?.said ?? "the service does not say why",
});

const signalFailure = ({ signal }: Host): Failure | undefined =>
  signal.reason instanceof Failure ? signal.reason : undefined;
