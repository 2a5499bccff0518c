/** Sends the complete groups of followed files. */

import { isFailure } from "../../../failure.ts";
import { openGroupReporter } from "../../../rollouts/dataset/dataset-problems.ts";
import { finalizeGroup } from "../../../rollouts/dataset/group-metrics.ts";
import { type Delivery, graceMs } from "../delivery.ts";
import { planResends, readPriorOutcomes, setPriorOutcomes } from "../earlier-requests.ts";
import { cutRequests, reportOversizedRequests } from "../plan.ts";
import type { RejectedGroup } from "../rejects.ts";
import { sendJobs } from "../send-jobs.ts";

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
    return this.#delivery.outcomes.outcomeOf(group);
  }

  isWaitingFor(source: number) {
    const { groups, scan } = this.#delivery.dataset;
    return this.#groupsWith("not_sent").some((at) => scan.parts.columns.source.at(groups.firstOf(at)) === source);
  }

  async add(completed: readonly CompletedGroup[]) {
    const { dataset, policy, rejects, outcomes } = this.#delivery;
    const { onInvalid } = policy;
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
        setPriorOutcomes(this.#delivery, [group]);
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
    await readPriorOutcomes(this.#delivery);
    this.#removeSent();
    setPriorOutcomes(this.#delivery, this.#groups);
    this.#removeSent();
    this.#updateWaiting();
  }

  #removeSent() {
    this.#groups = this.#groups.filter((group) => ["not_sent", "unknown"].includes(this.#outcomeOf(group)));
  }

  #updateWaiting() {
    const isWaiting = this.#groupsWith("not_sent").length > 0 || planResends(this.#delivery).jobs.length > 0;
    this.#waitingSince = isWaiting ? (this.#waitingSince ?? this.#delivery.tools.host.elapsed()) : undefined;
  }

  /** Sends requests that have the maximum size. */
  async sendFull() {
    const { dataset } = this.#delivery;
    const bytes = this.#groupsWith("not_sent").reduce((sum, group) => sum + dataset.groups.bytesOf(group) + 1, 0);
    if (bytes > this.#delivery.bodyLimit().bytes) await this.#send({});
  }

  async sendAll(isAfterSignal: boolean) {
    if (this.#groups.length > 0) await this.#send({ isAfterSignal, canBePartial: true });
  }

  async #send(batch: BatchOptions) {
    const { runLedger } = this.#delivery;
    if (!(await this.#acquireLedger(batch))) return;
    try {
      await this.catchUp();
      await this.#sendWithLedger(batch);
      this.#waitingSince = undefined;
      await this.catchUp();
    } finally {
      runLedger.release();
    }
    const { refused } = this.#delivery.sent;
    const newlyRefused = refused.slice(this.#refusedCount);
    this.#refusedCount = refused.length;
    await this.#delivery.rejects?.append(newlyRefused);
    const stop = this.#delivery.stopFailure();
    if (stop && !isFailure(stop, "interrupted")) throw stop;
  }

  /** Returns false if a signal ends the wait for another run. */
  async #acquireLedger({ isAfterSignal }: BatchOptions) {
    const { runLedger, tools, policy } = this.#delivery;
    const graceWait = { signal: tools.host.urgent, maxWaitMs: Math.min(policy.maxWaitMs, graceMs) };
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
    const { dataset, priorOutcomes } = delivery;
    // Equal groups of two files have the same dedup key, so only the first group is sent.
    const byKey = new Map<number, number>();
    for (const group of this.#groupsWith("not_sent")) {
      const key = delivery.numberOf(group);
      if (!byKey.has(key)) byKey.set(key, group);
    }
    const groups = Uint32Array.from(byKey.values());
    const limit = delivery.bodyLimit();
    const plan = { envelope: delivery.envelope(), groups, limit: limit.bytes, areFull: true };
    const requests = cutRequests(dataset, plan).slice(0, canBePartial ? undefined : -1);
    const jobs = [...planResends(delivery).jobs, ...requests.map((request) => ({ request }))];
    if (jobs.length === 0) return;
    reportOversizedRequests(dataset, { requests, limit });
    await sendJobs(delivery, jobs, isAfterSignal);
    for (const group of groups) {
      const outcome = this.#outcomeOf(group);
      if (outcome === "logged" || outcome === "unknown") priorOutcomes.recordOutcome(delivery.numberOf(group), outcome);
    }
    const planned = new Set(groups);
    this.#groups = this.#groups.filter((group) => !planned.has(group) || this.#outcomeOf(group) === "not_sent");
  }
}
