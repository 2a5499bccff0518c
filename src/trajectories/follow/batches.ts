/** Groups on their way: complete ones wait until a request is full or it is time, and are sent. */
import type { Failure } from "../../failure.ts";
import { isFailure } from "../../failure.ts";
import { groupState } from "../ledger/earlier-runs.ts";
import type { KnownMarks } from "../ledger/known-marks.ts";
import type { Entry } from "../ledger/ledger.ts";
import { groupsOfEntry, isSameRequest } from "../ledger/record.ts";
import type { Session } from "../ledger/run-ledger.ts";
import { reportGroup } from "../read/dataset.ts";
import { closeGroup, type Reading } from "../read/read.ts";
import { checkRejectsFree, writeRejects } from "../reject/rejects-file.ts";
import { type DeliverOptions, isResent, rejectedOf, rejectsPath } from "../send/deliver.ts";
import type { Fates } from "../send/group-outcomes.ts";
import { fillRequests, frameOf, reportOversized, requestOf } from "../send/plan.ts";
import type { Job, Sending } from "../send/requests.ts";
import { Sender } from "../send/sender.ts";

/** What batches are made of. */
export interface BatchesOptions extends DeliverOptions {
  readonly session: Session;
  readonly fates: Fates;
  readonly known: KnownMarks;
  /** Requests of earlier runs whose outcome is unknown. */
  readonly unknown: readonly Entry[];
}

/** A group that is complete; `halted` where it came after what stops the run. */
interface Completed {
  readonly group: number;
  readonly mark: Uint8Array;
  readonly halted: boolean;
}

/** The batches of one run. */
export class Batches {
  /** Everything that was meant to be sent so far. */
  readonly jobs: Job[] = [];
  readonly #reading: Reading;
  readonly #options: BatchesOptions;
  /** Path of the rejects file; undefined where nothing is rejected. */
  readonly #rejects: string | undefined;
  #sender: Sender | undefined;
  #pending: number[] = [];
  #pendingBytes = 0;
  #since: number | undefined;
  /** Groups that are complete, and not yet part of the metrics. */
  #completed: Completed[] = [];
  #halted = false;
  #unknown: readonly Entry[];
  #otherGroups = 0;
  #rejected = 0;

  constructor(reading: Reading, options: BatchesOptions) {
    this.#reading = reading;
    this.#options = options;
    this.#unknown = options.unknown;
    const skips = options.onInvalid === "skip" || options.onRefused === "skip";
    this.#rejects = skips ? rejectsPath(reading, options) : undefined;
  }

  /** What sending came to so far; undefined where nothing was sent. */
  get sending(): Sending | undefined {
    return this.#sender?.sending;
  }

  /** The file that rejected lines were written to; undefined where there are none. */
  get rejectsFile(): string | undefined {
    return this.#rejected > 0 ? this.#rejects : undefined;
  }

  /** Groups that were logged from an input of another name. */
  get otherGroups(): number {
    return this.#otherGroups;
  }

  /** Requests of earlier runs that were left alone. */
  get unknown(): readonly Entry[] {
    return this.#unknown;
  }

  /** Since when something waits to be sent; undefined where nothing does. Monotonic milliseconds. */
  get waitingSince(): number | undefined {
    return this.#since;
  }

  /** @throws Failure `rejects-exist` */
  async checkRejects(): Promise<void> {
    if (this.#rejects !== undefined) {
      await checkRejectsFree(this.#rejects, { written: this.#options.session.written, needed: true });
    }
  }

  /** Takes no more groups where the first error stops a run: what was complete before it is still sent. */
  halt(): void {
    if (this.#options.onInvalid === "stop") this.#halted = true;
  }

  /** Takes a group that is complete. */
  add(group: number, mark: Uint8Array): void {
    this.#completed.push({ group, mark, halted: this.#halted });
  }

  /** Makes groups that were completed part of the metrics, and holds them against what is known. */
  async settle(): Promise<void> {
    const completed = this.#completed;
    const { groups } = this.#reading;
    this.#completed = [];
    let stopped = false;
    for (const { group, mark, halted } of completed) {
      if (groups.isValid(group)) await reportGroup(this.#reading, group);
      stopped ||= !groups.isValid(group) && this.#options.onInvalid === "stop";
      await closeGroup(groups, group, this.#reading);
      this.#take({ group, mark, halted: halted || stopped });
    }
    if (completed.length > 0 && this.#resendable.length > 0) this.#since ??= this.#options.host.elapsed();
    await this.#writeRejects();
  }

  #take({ group, mark, halted }: Completed): void {
    const { fates, known, onInvalid, resendLogged, host } = this.#options;
    fates.grow(group + 1);
    if (!this.#reading.groups.isValid(group)) {
      if (onInvalid === "skip") fates.set(group, "rejected");
      return;
    }
    const state = known.stateOf(mark);
    if (known.isOther(mark) && !resendLogged) this.#otherGroups++;
    if (state === groupState.unknown) fates.set(group, "unknown");
    else if (state === groupState.logged) fates.set(group, "already_logged");
    else if (!halted) {
      this.#since ??= host.elapsed();
      this.#pending.push(group);
      this.#pendingBytes += this.#reading.groups.bytesOf(group) + 1;
    }
  }

  /** Sends the requests that are full. @throws Failure what stops the run */
  async sendFull(): Promise<void> {
    if (this.#pendingBytes > this.#limit) await this.#send({ last: false, all: false });
  }

  /**
   * Sends everything that is complete. @throws Failure what stops the run
   * @param last whether a signal came: each request is tried once, and the next signal ends it
   */
  async sendAll({ last }: { readonly last: boolean }): Promise<void> {
    await this.#send({ last, all: true });
  }

  /** Remembers what was sent of a file, as another one begins. */
  startAnew(): void {
    const { fates, known, session } = this.#options;
    for (let group = 0; group < fates.count; group++) {
      const mark = session.marks.slice(group, 1);
      const fate = fates.of(group);
      if (fate === "logged" || fate === "already_logged") known.add(mark, groupState.logged);
      else if (fate === "unknown") known.add(mark, groupState.unknown);
    }
  }

  get #limit(): number {
    const { maxRequestBytes, session } = this.#options;
    return Math.min(maxRequestBytes, session.record.maxBytes ?? Number.POSITIVE_INFINITY);
  }

  async #send({ last, all }: { readonly last: boolean; readonly all: boolean }): Promise<void> {
    const { split, client, session, onRefused, fates } = this.#options;
    const frame = frameOf(this.#reading, split);
    const limit = this.#limit;
    const filled = fillRequests(this.#reading, { frame, groups: Uint32Array.from(this.#pending), limit });
    const requests = all ? filled : filled.slice(0, -1);
    const resent = this.#resendable;
    const jobs = [...resent, ...requests.map((request) => ({ request }))];
    if (jobs.length === 0) return;
    this.#unknown = this.#unknown.filter((own) => !resent.some(({ entry }) => entry === own));
    reportOversized(this.#reading, { requests, limit });
    this.#sender ??= new Sender(this.#reading, {
      ...this.#options,
      client: await client(),
      frame,
      record: session.record,
      skipRefused: onRefused === "skip",
    });
    this.jobs.push(...jobs);
    await this.#sender.send(jobs, { last });
    this.#keep(this.#pending.filter((group) => fates.of(group) === "not_sent"));
    await this.#writeRejects();
    const { stop } = this.#sender.sending;
    // After a signal there may be time for what is left.
    if (stop !== undefined && !isInterrupt(stop)) throw stop;
  }

  #keep(pending: number[]): void {
    this.#pending = pending;
    this.#pendingBytes = pending.reduce((sum, group) => sum + this.#reading.groups.bytesOf(group) + 1, 0);
    const waits = pending.length > 0 || this.#resendable.length > 0;
    this.#since = waits ? this.#options.host.elapsed() : undefined;
  }

  /** Unknown requests of earlier runs that may be sent again as they were: all of their groups were read. */
  get #resendable(): readonly (Job & { readonly entry: Entry })[] {
    const { session, split } = this.#options;
    const frame = frameOf(this.#reading, split);
    return this.#unknown.flatMap((entry) => {
      if (!isResent(entry, this.#options)) return [];
      const groups = groupsOfEntry(session.marks, entry);
      const request = groups && requestOf(this.#reading, { frame, groups });
      if (request === undefined || !isSameRequest(request, entry)) return [];
      return [{ request, ticket: { id: entry.id, key: entry.key, firstTried: entry.firstTried }, entry }];
    });
  }

  async #writeRejects(): Promise<void> {
    const { fates, session } = this.#options;
    if (this.#rejects === undefined) return;
    const rejected = rejectedOf(fates, this.sending);
    if (rejected.length === this.#rejected) return;
    await this.checkRejects();
    await writeRejects(this.#reading, {
      path: this.#rejects,
      rejected,
      written: session.written,
      isFollowed: true,
    });
    this.#rejected = rejected.length;
  }
}

const isInterrupt = (stop: Failure): boolean => isFailure(stop, "interrupted");
