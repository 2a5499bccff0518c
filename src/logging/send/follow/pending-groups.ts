/** Sends the complete groups of followed files. */

import { isFailure } from "../../../failure.ts";
import { openGroupReporter } from "../../../rollouts/dataset/dataset-problems.ts";
import { finalizeGroup } from "../../../rollouts/dataset/group-metrics.ts";
import { graceMs } from "../attempt-request.ts";
import type { Delivery } from "../delivery.ts";
import { cutRequests, reportOversizedRequests } from "../plan.ts";
import type { RejectedGroup } from "../rejects.ts";

/** A group with `isAfterError` is not sent, because an earlier error ends the run. */
export type CompletedGroup = { group: number; isAfterError: boolean };

/** If `isAfterSignal`, each request has one attempt. If `canBePartial`, the last request may be below the limit. */
type BatchOptions = { isAfterSignal?: boolean; canBePartial?: boolean };

export class PendingGroups {
  readonly #delivery: Delivery;
  readonly #reportProblems: (group: number) => void;
  /** Complete groups that are not sent yet, and groups with an unknown outcome of another run. */
  #groups: number[] = [];
  #refusedCount = 0;
  #waitingSince: number | undefined;

  constructor(delivery: Delivery) {
    this.#delivery = delivery;
    this.#reportProblems = openGroupReporter(delivery.dataset);
  }

  get waitingSince() {
    return this.#waitingSince;
  }

  get unknownCount() {
    return this.#groupsWith("unknown").length;
  }

  #groupsWith(outcome: "not_sent" | "unknown") {
    return this.#groups.filter((group) => this.#outcomeOf(group) === outcome);
  }

  #outcomeOf(group: number) {
    return this.#delivery.options.outcomes.outcomeOf(group);
  }

  isWaitingFor(source: number) {
    const { groups, scan } = this.#delivery.dataset;
    return this.#groupsWith("not_sent").some((at) => scan.parts.columns.source.at(groups.firstOf(at)) === source);
  }

  async add(completed: readonly CompletedGroup[]) {
    const { dataset, options, rejects, setPriorOutcomes } = this.#delivery;
    const { onInvalid, outcomes } = options;
    const rejected: RejectedGroup[] = [];
    let isStopped = false;
    for (const { group, isAfterError } of completed) {
      if (dataset.groups.isValid(group)) this.#reportProblems(group);
      // `reportProblems` can make the group invalid.
      const isValid = dataset.groups.isValid(group);
      isStopped ||= !isValid && onInvalid === "stop";
      await finalizeGroup(dataset, group);
      outcomes.extendTo(group + 1);
      if (isValid) {
        setPriorOutcomes([group]);
        const outcome = this.#outcomeOf(group);
        const canBeSent = outcome === "not_sent" && !isAfterError && !isStopped;
        if (canBeSent || outcome === "unknown") this.#groups.push(group);
      } else if (onInvalid === "skip") {
        outcomes.set(group, "rejected");
        rejected.push({ group, problems: [] });
      }
    }
    if (completed.length > 0) this.#updateWaiting();
    await rejects?.append(rejected);
  }

  /** Learns what this run and other runs have sent. */
  async catchUp() {
    const { readPriorOutcomes, setPriorOutcomes } = this.#delivery;
    await readPriorOutcomes();
    this.#removeSent();
    setPriorOutcomes(this.#groups);
    this.#removeSent();
    this.#updateWaiting();
  }

  #removeSent() {
    this.#groups = this.#groups.filter((group) => ["not_sent", "unknown"].includes(this.#outcomeOf(group)));
  }

  #updateWaiting() {
    const isWaiting = this.#groupsWith("not_sent").length > 0 || this.#delivery.planResends().jobs.length > 0;
    this.#waitingSince = isWaiting ? (this.#waitingSince ?? this.#delivery.options.host.elapsed()) : undefined;
  }

  /** Sends requests that have the maximum size. */
  async sendFull() {
    const { dataset, limit } = this.#delivery;
    const bytes = this.#groupsWith("not_sent").reduce((sum, group) => sum + dataset.groups.bytesOf(group) + 1, 0);
    if (bytes > limit().bytes) await this.#send({});
  }

  async sendAll(isAfterSignal: boolean) {
    if (this.#groups.length > 0) await this.#send({ isAfterSignal, canBePartial: true });
  }

  async #send(batch: BatchOptions) {
    const { runLedger } = this.#delivery.options;
    if (!(await this.#acquireLedger(batch))) return;
    try {
      await this.catchUp();
      await this.#sendWithLedger(batch);
      this.#waitingSince = undefined;
      await this.catchUp();
    } finally {
      runLedger.release();
    }
    const { refused, stop } = this.#delivery.sendResult();
    const newlyRefused = refused.slice(this.#refusedCount);
    this.#refusedCount = refused.length;
    await this.#delivery.rejects?.append(newlyRefused);
    if (stop && !isFailure(stop, "interrupted")) throw stop;
  }

  /** Returns false if a signal ends the wait for another run. */
  async #acquireLedger({ isAfterSignal }: BatchOptions) {
    const { runLedger, host, maxWaitMs } = this.#delivery.options;
    const graceWait = { signal: host.urgent, maxWaitMs: Math.min(maxWaitMs, graceMs) };
    try {
      await runLedger.acquire(isAfterSignal ? graceWait : undefined);
      return true;
    } catch (thrown) {
      if (isFailure(thrown, "interrupted") || (isAfterSignal && isFailure(thrown, "ledger-busy"))) return false;
      throw thrown;
    }
  }

  async #sendWithLedger({ isAfterSignal, canBePartial }: BatchOptions) {
    const delivery = this.#delivery;
    const { dataset, options } = delivery;
    const { priorOutcomes, numberOf } = options;
    // Equal groups of two files have the same dedup key, so only the first group is sent.
    const byKey = new Map<number, number>();
    for (const group of this.#groupsWith("not_sent")) {
      const key = numberOf(group);
      if (!byKey.has(key)) byKey.set(key, group);
    }
    const groups = Uint32Array.from(byKey.values());
    const limit = delivery.limit();
    const plan = { envelope: delivery.envelope(), groups, limit: limit.bytes, areFull: true };
    const requests = cutRequests(dataset, plan).slice(0, canBePartial ? undefined : -1);
    const jobs = [...delivery.planResends().jobs, ...requests.map((request) => ({ request }))];
    if (jobs.length === 0) return;
    reportOversizedRequests(dataset, { requests, limit });
    await delivery.sendJobs(jobs, isAfterSignal);
    for (const group of groups) {
      const outcome = this.#outcomeOf(group);
      if (outcome === "logged" || outcome === "unknown") priorOutcomes.recordOutcome(numberOf(group), outcome);
    }
    const planned = new Set(groups);
    this.#groups = this.#groups.filter((group) => !planned.has(group) || this.#outcomeOf(group) === "not_sent");
  }
}
