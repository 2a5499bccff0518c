/** Complete groups of a followed file: they wait until a request is full or it is time, and are delivered. */
import { isFailure } from "../../failure.ts";
import { closeGroup, groupReporter, type Reading } from "../../groups/index.ts";
import type { Delivery } from "../delivery.ts";
import { cutRequests, reportOversized } from "../plan.ts";
import type { Rejected } from "../reject/rejected-lines.ts";
import { graceMs } from "../request.ts";

/** A group that is complete. It is not sent if it came after an error that stops the run. */
export interface Completed {
  readonly group: number;
  readonly isHalted: boolean;
}

/** The batches of one run. The ledger is held for a batch: between two of them other runs send their groups. */
export class Batches {
  /** Since when something waits to be sent; undefined if nothing does. Monotonic milliseconds. */
  waitingSince: number | undefined;
  readonly #reading: Reading;
  readonly #delivery: Delivery;
  readonly #report: (group: number) => Promise<void>;
  /** Complete groups that are not sent yet, in their order. */
  #pending: number[] = [];
  /** Complete groups of requests of other runs with an unknown outcome. */
  #unsettled: number[] = [];
  /** Groups that the service refused and that are in the rejects file. */
  #refused = 0;

  constructor(reading: Reading, delivery: Delivery) {
    this.#reading = reading;
    this.#delivery = delivery;
    this.#report = groupReporter(reading);
  }

  /** Number of complete groups of requests of other runs with an unknown outcome. */
  get unsettled(): number {
    return this.#unsettled.length;
  }

  /** True if groups of a source wait to be sent. */
  isWaitingFor(source: number): boolean {
    const { groups, found } = this.#reading;
    return this.#pending.some((group) => found.parts.columns.source.at(groups.firstOf(group)) === source);
  }

  /** Adds complete groups to the metrics, and compares them with other runs. */
  async take(completed: readonly Completed[]): Promise<void> {
    const { groups } = this.#reading;
    const { outcomes, onInvalid } = this.#delivery.options;
    const rejected: Rejected[] = [];
    let isStopped = false;
    for (const { group, isHalted } of completed) {
      if (groups.isValid(group)) await this.#report(group);
      const isValid = groups.isValid(group);
      isStopped ||= !isValid && onInvalid === "stop";
      await closeGroup(this.#reading, group);
      outcomes.grow(group + 1);
      if (isValid) this.#compare([group], { isHalted: isHalted || isStopped });
      else if (onInvalid === "skip") {
        outcomes.set(group, "rejected");
        rejected.push({ group, problems: [] });
      }
    }
    if (completed.length > 0) this.#wait();
    await this.#reject(rejected);
  }

  /** Takes over what other runs did in the meantime. */
  async catchUp(): Promise<void> {
    const { outcomes } = this.#delivery.options;
    await this.#delivery.takeEarlier();
    // What became of a group in this run is not what became of it in other runs.
    const pending = this.#pending.filter((group) => outcomes.of(group) === "not_sent");
    const unsettled = this.#unsettled.filter((group) => outcomes.of(group) === "unknown");
    this.#pending = [];
    this.#unsettled = [];
    this.#compare([...pending, ...unsettled]);
    this.#wait();
  }

  #compare(groups: readonly number[], { isHalted = false } = {}): void {
    const { unsent, unknown } = this.#delivery.compare(groups);
    for (const group of isHalted ? [] : unsent) this.#pending.push(group);
    for (const group of unknown) this.#unsettled.push(group);
  }

  #wait(): void {
    const isWaiting = this.#pending.length > 0 || this.#delivery.unknownRequests().jobs.length > 0;
    this.waitingSince = isWaiting ? (this.waitingSince ?? this.#delivery.options.host.elapsed()) : undefined;
  }

  /** Sends the requests that are full. @throws Failure what stops the run */
  async sendFull(): Promise<void> {
    const bytes = this.#pending.reduce((sum, group) => sum + this.#reading.groups.bytesOf(group) + 1, 0);
    if (bytes > this.#delivery.limit.bytes) await this.#send({ isLast: false, isAll: false });
  }

  /**
   * Sends everything that is complete. @throws Failure what stops the run
   * @param isLast whether a signal came: each request is tried once, and the next signal ends it
   */
  async sendAll({ isLast }: { readonly isLast: boolean }): Promise<void> {
    if (this.#pending.length > 0 || this.#unsettled.length > 0) await this.#send({ isLast, isAll: true });
  }

  async #send({ isLast, isAll }: { readonly isLast: boolean; readonly isAll: boolean }): Promise<void> {
    const { runLedger, host, maxWaitMs } = this.#delivery.options;
    try {
      // After a signal another run is waited for as long as an answer is.
      await runLedger.hold(isLast ? { signal: host.urgent, maxWaitMs: Math.min(maxWaitMs, graceMs) } : undefined);
    } catch (thrown) {
      // A signal came before another run released the ledger.
      if (isFailure(thrown, "interrupted") || (isLast && isFailure(thrown, "ledger-busy"))) return;
      throw thrown;
    }
    try {
      await this.catchUp();
      await this.#sendHeld({ isLast, isAll });
      this.waitingSince = undefined;
      await this.catchUp();
    } finally {
      runLedger.release();
    }
    const { refused = [], stop } = this.#delivery.sent ?? {};
    const from = this.#refused;
    this.#refused = refused.length;
    await this.#reject(refused.slice(from));
    // After a signal there may be time for what is left.
    if (stop !== undefined && !isFailure(stop, "interrupted")) throw stop;
  }

  async #sendHeld({ isLast, isAll }: { readonly isLast: boolean; readonly isAll: boolean }): Promise<void> {
    const { frame, limit, options } = this.#delivery;
    const { outcomes, dedupKeys, earlier, numberOf } = options;
    // Equal groups of two files have one dedup key: the second waits for what becomes of the first.
    const byKey = new Map<string, number>();
    for (const group of this.#pending) {
      const key = Buffer.from(dedupKeys.slice(group, 1)).toString("latin1");
      if (!byKey.has(key)) byKey.set(key, group);
    }
    const groups = Uint32Array.from(byKey.values());
    const filled = cutRequests(this.#reading, { frame, groups, limit: limit.bytes, areFull: true });
    const requests = isAll ? filled : filled.slice(0, -1);
    const jobs = [...this.#delivery.unknownRequests().jobs, ...requests.map((request) => ({ request }))];
    if (jobs.length === 0) return;
    reportOversized(this.#reading, { requests, limit });
    await this.#delivery.send(jobs, { isLast });
    for (const group of groups) {
      const outcome = outcomes.of(group);
      if (outcome === "logged" || outcome === "unknown") earlier.settle(numberOf(group), outcome);
    }
  }

  async #reject(rejected: readonly Rejected[]): Promise<void> {
    if (rejected.length > 0) await this.#delivery.checkRejects(true);
    await this.#delivery.reject(rejected);
  }
}
