/** Groups on their way: complete ones wait until a request is full or it is time, and are sent. */
import { isFailure } from "../../failure.ts";
import type { DedupKeys, Reading } from "../../groups/index.ts";
import { closeGroup, groupReporter } from "../../groups/index.ts";
import type { RunLedger } from "../../ledger/index.ts";
import { type DeliverOptions, limitOf, rejectsPath } from "../deliver.ts";
import type { GroupOutcomes } from "../group-outcomes.ts";
import { cutRequests, frameOf, reportOversized } from "../plan.ts";
import { noRejects, type Rejected } from "../reject/rejected-lines.ts";
import { checkRejectsFree, writeRejects } from "../reject/rejects-file.ts";
import type { Job, SendResult } from "../requests.ts";
import { graceMs } from "../retry.ts";
import { Sender } from "../sender.ts";
import { jobOfEntry, mayResend } from "../unknown.ts";
import type { EarlierKeys } from "./earlier-keys.ts";

/** What batches are made of. */
interface BatchesOptions extends DeliverOptions {
  readonly file: string;
  readonly runLedger: RunLedger;
  readonly outcomes: GroupOutcomes;
  readonly marks: DedupKeys;
  readonly earlier: EarlierKeys;
}

/** A group that is complete; `halted` where it came after what stops the run. */
interface Completed {
  readonly group: number;
  readonly halted: boolean;
}

/** The batches of one run. The ledger is held for a batch: between two of them other runs send what they have. */
export class Batches {
  readonly #reading: Reading;
  readonly #options: BatchesOptions;
  readonly #report: (group: number) => Promise<void>;
  /** Path of the rejects file; undefined where nothing is rejected. */
  readonly #rejects: string | undefined;
  #sender: Sender | undefined;
  /** Complete groups that are not sent yet, in their order, and their bytes. */
  #pending: number[] = [];
  #pendingBytes = 0;
  /** Complete groups of requests of other runs whose outcome is unknown. */
  #unsettled: number[] = [];
  #since: number | undefined;
  /** Groups that are complete, and not yet part of the metrics. */
  #completed: Completed[] = [];
  #halted = false;
  /** Groups that were rejected, and are not in the rejects file yet; how far that is, and how many the service refused. */
  #rejecting: Rejected[] = [];
  readonly #rejected = noRejects();
  #refused = 0;

  constructor(reading: Reading, options: BatchesOptions) {
    this.#reading = reading;
    this.#options = options;
    this.#report = groupReporter(reading);
    this.#rejects = rejectsPath(options.file, options);
  }

  /** What sending came to so far; undefined where nothing was sent. */
  get sent(): SendResult | undefined {
    return this.#sender?.result;
  }

  /** The file that rejected lines were written to; undefined where there are none. */
  get rejectsFile(): string | undefined {
    return this.#rejected.lines > 0 ? this.#rejects : undefined;
  }

  /** Groups of requests of other runs whose outcome is unknown. */
  get unsettled(): number {
    return this.#unsettled.length;
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
  add(group: number): void {
    this.#completed.push({ group, halted: this.#halted });
  }

  /** Makes groups that were completed part of the metrics, and holds them against what is known. */
  async settle(): Promise<void> {
    const { groups } = this.#reading;
    const { outcomes, onInvalid } = this.#options;
    const completed = this.#completed;
    this.#completed = [];
    let stopped = false;
    for (const { group, halted } of completed) {
      if (groups.isValid(group)) await this.#report(group);
      stopped ||= !groups.isValid(group) && onInvalid === "stop";
      await closeGroup(this.#reading, group);
      outcomes.grow(group + 1);
      if (groups.isValid(group)) this.#take(group, { halted: halted || stopped });
      else if (onInvalid === "skip") {
        outcomes.set(group, "rejected");
        this.#rejecting.push({ group, problems: [] });
      }
    }
    if (completed.length > 0) this.#wait();
    await this.#writeRejects();
  }

  /** Takes over what other runs did meanwhile. */
  async catchUp(): Promise<void> {
    const { earlier, runLedger, outcomes } = this.#options;
    await earlier.runs.take(runLedger.entries());
    // What this run made of a group is not what other runs made of it.
    const pending = this.#pending.filter((group) => outcomes.of(group) === "not_sent");
    const unsettled = this.#unsettled.filter((group) => outcomes.of(group) === "unknown");
    this.#pending = [];
    this.#pendingBytes = 0;
    this.#unsettled = [];
    for (const group of [...pending, ...unsettled]) this.#take(group, { halted: false });
    this.#wait();
  }

  /** Holds a group against what is known: one that is to be sent waits for it. */
  #take(group: number, { halted }: { readonly halted: boolean }): void {
    const { outcomes, earlier, marks } = this.#options;
    const outcome = earlier.outcomeOf(marks.slice(group, 1));
    outcomes.set(group, outcome);
    if (outcome === "unknown") this.#unsettled.push(group);
    if (outcome !== "not_sent" || halted) return;
    this.#pending.push(group);
    this.#pendingBytes += this.#reading.groups.bytesOf(group) + 1;
  }

  #wait(): void {
    const waits = this.#pending.length > 0 || this.#resendable.length > 0;
    this.#since = waits ? (this.#since ?? this.#options.host.elapsed()) : undefined;
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
    if (this.#pending.length > 0 || this.#unsettled.length > 0) await this.#send({ last, all: true });
  }

  /** Whether groups of a source wait to be sent. */
  isWaitingFor(source: number): boolean {
    const { groups, found } = this.#reading;
    return this.#pending.some((group) => found.parts.columns.source.at(groups.firstOf(group)) === source);
  }

  get #limit(): number {
    return limitOf(this.#options);
  }

  async #send({ last, all }: { readonly last: boolean; readonly all: boolean }): Promise<void> {
    const { runLedger } = this.#options;
    try {
      if (!(await this.#hold(last))) return;
      await this.catchUp();
      await this.#sendHeld({ last, all });
      this.#since = undefined;
      await this.catchUp();
    } finally {
      runLedger.release();
    }
    await this.#writeRejects();
    const stop = this.sent?.stop;
    // After a signal there may be time for what is left.
    if (stop !== undefined && !isFailure(stop, "interrupted")) throw stop;
  }

  /** Holds the ledger; false where a signal came before another run let go of it. */
  async #hold(last: boolean): Promise<boolean> {
    const { host, maxWaitMs, runLedger } = this.#options;
    try {
      // After a signal another run is waited for as long as an answer is.
      await runLedger.hold(last ? { signal: host.urgent, maxWaitMs: Math.min(maxWaitMs, graceMs) } : undefined);
      return true;
    } catch (thrown) {
      if (isFailure(thrown, "interrupted") || (last && isFailure(thrown, "ledger-busy"))) return false;
      throw thrown;
    }
  }

  async #sendHeld({ last, all }: { readonly last: boolean; readonly all: boolean }): Promise<void> {
    const { split, client, onRefused, outcomes, earlier, marks } = this.#options;
    const frame = frameOf(this.#reading, split);
    const limit = this.#limit;
    const pending = this.#distinct();
    const filled = cutRequests(this.#reading, { frame, groups: Uint32Array.from(pending), limit, areFull: true });
    const requests = all ? filled : filled.slice(0, -1);
    const jobs = [...this.#resendable, ...requests.map((request) => ({ request }))];
    if (jobs.length === 0) return;
    reportOversized(this.#reading, { requests, limit, found: limit < this.#options.maxRequestBytes });
    this.#sender ??= new Sender(this.#reading, {
      ...this.#options,
      client: await client(),
      frame,
      skipRefused: onRefused === "skip",
    });
    await this.#sender.send(jobs, { last });
    for (const group of pending) {
      const outcome = outcomes.of(group);
      if (outcome === "logged" || outcome === "unknown") earlier.settle(marks.slice(group, 1), outcome);
    }
  }

  /** Groups that wait. Equal ones of two files have one mark: the second waits for what becomes of the first. */
  #distinct(): readonly number[] {
    const byMark = new Map<string, number>();
    for (const group of this.#pending) {
      const mark = Buffer.from(this.#options.marks.slice(group, 1)).toString("latin1");
      if (!byMark.has(mark)) byMark.set(mark, group);
    }
    return [...byMark.values()];
  }

  /** Unknown requests of other runs that may be sent again as they were: all of their groups were read. */
  get #resendable(): readonly Job[] {
    const { marks, split, earlier } = this.#options;
    const frame = frameOf(this.#reading, split);
    return earlier.runs.unknownEntries.flatMap((entry) => {
      if (!mayResend(entry, this.#options)) return [];
      const job = jobOfEntry(this.#reading, { frame, marks, entry });
      return "request" in job ? [job] : [];
    });
  }

  async #writeRejects(): Promise<void> {
    const refused = this.sent?.refused.slice(this.#refused) ?? [];
    this.#refused += refused.length;
    this.#rejecting.push(...refused);
    if (this.#rejects === undefined || this.#rejecting.length === 0) return;
    await this.checkRejects();
    const {
      redact,
      runLedger: { written },
    } = this.#options;
    await writeRejects(this.#reading, {
      path: this.#rejects,
      rejected: this.#rejecting,
      written,
      redact,
      soFar: this.#rejected,
    });
    this.#rejecting = [];
  }
}
