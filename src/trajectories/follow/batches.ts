/** Groups on their way: complete ones wait until a request is full or it is time, and are sent. */
import { isFailure } from "../../failure.ts";
import type { Entry } from "../ledger/entries.ts";
import type { RunLedger } from "../ledger/run-ledger.ts";
import { reportGroup } from "../read/dataset.ts";
import { closeGroup, type Reading } from "../read/read.ts";
import { checkRejectsFree, writeRejects } from "../reject/rejects-file.ts";
import { type DeliverOptions, limitOf, rejectedOf, rejectsPath } from "../send/deliver.ts";
import type { GroupOutcomes } from "../send/group-outcomes.ts";
import { fillRequests, frameOf, reportOversized } from "../send/plan.ts";
import type { Job, SendResult } from "../send/requests.ts";
import { Sender } from "../send/sender.ts";
import { jobOfEntry, mayResend } from "../send/unknown.ts";
import type { EarlierMarks, GrowingMarks } from "./growing-marks.ts";

/** What batches are made of. */
interface BatchesOptions extends DeliverOptions {
  readonly file: string;
  readonly runLedger: RunLedger;
  readonly outcomes: GroupOutcomes;
  readonly marks: GrowingMarks;
  readonly earlier: EarlierMarks;
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
  #loggedElsewhere = 0;
  #rejected = 0;

  constructor(reading: Reading, options: BatchesOptions) {
    this.#reading = reading;
    this.#options = options;
    this.#unknown = options.earlier.runs.unknownEntries;
    this.#rejects = rejectsPath(options.file, options);
  }

  /** What sending came to so far; undefined where nothing was sent. */
  get sent(): SendResult | undefined {
    return this.#sender?.result;
  }

  /** The file that rejected lines were written to; undefined where there are none. */
  get rejectsFile(): string | undefined {
    return this.#rejected > 0 ? this.#rejects : undefined;
  }

  /** Groups that were logged from an input of another name. */
  get loggedElsewhere(): number {
    return this.#loggedElsewhere;
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
      await checkRejectsFree(this.#rejects, { written: this.#options.runLedger.written, needed: true });
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
    const { outcomes, earlier, onInvalid, host } = this.#options;
    outcomes.grow(group + 1);
    if (!this.#reading.groups.isValid(group)) {
      if (onInvalid === "skip") outcomes.set(group, "rejected");
      return;
    }
    const outcome = earlier.outcomeOf(mark);
    if (earlier.wasLoggedElsewhere(mark)) this.#loggedElsewhere++;
    if (outcome !== "not_sent") outcomes.set(group, outcome);
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
    const { outcomes, earlier, marks } = this.#options;
    for (let group = 0; group < outcomes.count; group++) {
      const outcome = outcomes.of(group);
      if (outcome === "logged" || outcome === "already_logged") earlier.settle(marks.slice(group, 1), "logged");
      else if (outcome === "unknown") earlier.settle(marks.slice(group, 1), "unknown");
    }
  }

  get #limit(): number {
    return limitOf(this.#options);
  }

  async #send({ last, all }: { readonly last: boolean; readonly all: boolean }): Promise<void> {
    const { split, client, onRefused, outcomes } = this.#options;
    const frame = frameOf(this.#reading, split);
    const limit = this.#limit;
    const filled = fillRequests(this.#reading, { frame, groups: Uint32Array.from(this.#pending), limit });
    const requests = all ? filled : filled.slice(0, -1);
    const resent = this.#resendable;
    const jobs = [...resent, ...requests.map((request) => ({ request }))];
    if (jobs.length === 0) return;
    this.#unknown = this.#unknown.filter((own) => !resent.some(({ entry }) => entry === own));
    reportOversized(this.#reading, { requests, limit, found: limit < this.#options.maxRequestBytes });
    this.#sender ??= new Sender(this.#reading, {
      ...this.#options,
      client: await client(),
      frame,
      skipRefused: onRefused === "skip",
    });
    this.jobs.push(...jobs);
    await this.#sender.send(jobs, { last });
    this.#keep(this.#pending.filter((group) => outcomes.of(group) === "not_sent"));
    await this.#writeRejects();
    const { stop } = this.#sender.result;
    // After a signal there may be time for what is left.
    if (stop !== undefined && !isFailure(stop, "interrupted")) throw stop;
  }

  #keep(pending: number[]): void {
    this.#pending = pending;
    this.#pendingBytes = pending.reduce((sum, group) => sum + this.#reading.groups.bytesOf(group) + 1, 0);
    const waits = pending.length > 0 || this.#resendable.length > 0;
    this.#since = waits ? this.#options.host.elapsed() : undefined;
  }

  /** Unknown requests of earlier runs that may be sent again as they were: all of their groups were read. */
  get #resendable(): readonly (Job & { readonly entry: Entry })[] {
    const { marks, split } = this.#options;
    const frame = frameOf(this.#reading, split);
    return this.#unknown.flatMap((entry) => {
      if (!mayResend(entry, this.#options)) return [];
      const job = jobOfEntry(this.#reading, { frame, marks, entry });
      return "request" in job ? [{ ...job, entry }] : [];
    });
  }

  async #writeRejects(): Promise<void> {
    const { outcomes, runLedger } = this.#options;
    if (this.#rejects === undefined) return;
    const rejected = rejectedOf(outcomes, this.sent);
    if (rejected.length === this.#rejected) return;
    await this.checkRejects();
    await writeRejects(this.#reading, {
      path: this.#rejects,
      rejected,
      written: runLedger.written,
      isFollowed: true,
    });
    this.#rejected = rejected.length;
  }
}
