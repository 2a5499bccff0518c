/** Sends the complete groups of followed files. */

import { finalizeGroup, openGroupReporter } from "../../dataset/index.ts";
import { isFailure } from "../../failure.ts";
import { graceMs } from "../attempt-request.ts";
import type { Delivery } from "../delivery.ts";
import { cutRequests, reportOversizedRequests } from "../plan.ts";
import type { RejectedGroup } from "../rejects.ts";

/** A group with `isAfterError` is not sent, because an earlier error ends the run. */
export type CompletedGroup = { group: number; isAfterError: boolean };

/** If `isAfterSignal`, each request has one attempt. If `canBePartial`, the last request may be below the limit. */
type GroupSenderOptions = { isAfterSignal?: boolean; canBePartial?: boolean };

export const openGroupSender = (delivery: Delivery) => {
  const { dataset, options } = delivery;
  const { outcomes, runLedger, host, maxWaitMs, priorOutcomes, numberOf } = options;
  const { groups, scan } = dataset;
  const { columns } = scan.parts;
  const graceWait = { signal: host.urgent, maxWaitMs: Math.min(maxWaitMs, graceMs) };
  const reportProblems = openGroupReporter(dataset);
  /** Complete groups that are not sent yet, and groups with an unknown outcome of another run. */
  let pending: number[] = [];
  let refusedCount = 0;
  let waitingSince: number | undefined;

  const listPending = (outcome: "not_sent" | "unknown") =>
    pending.filter((group) => outcomes.outcomeOf(group) === outcome);
  const isPending = (group: number) => ["not_sent", "unknown"].includes(outcomes.outcomeOf(group));
  const updateWaiting = () => {
    const isWaiting = listPending("not_sent").length > 0 || delivery.planResends().jobs.length > 0;
    waitingSince = isWaiting ? (waitingSince ?? host.elapsed()) : undefined;
  };

  const catchUp = async () => {
    await delivery.readPriorOutcomes();
    pending = pending.filter(isPending);
    delivery.setPriorOutcomes(pending);
    pending = pending.filter(isPending);
    updateWaiting();
  };

  const sendPending = async (batch: GroupSenderOptions) => {
    try {
      await runLedger.acquire(batch.isAfterSignal ? graceWait : undefined);
    } catch (thrown) {
      if (isFailure(thrown, "interrupted") || (batch.isAfterSignal && isFailure(thrown, "ledger-busy"))) return;
      throw thrown;
    }
    try {
      await catchUp();
      await sendWithLedger(batch);
      waitingSince = undefined;
      await catchUp();
    } finally {
      runLedger.release();
    }
    const { refused, stop } = delivery.sendResult();
    const from = refusedCount;
    refusedCount = refused.length;
    await delivery.rejects?.append(refused.slice(from));
    if (stop && !isFailure(stop, "interrupted")) throw stop;
  };

  const sendWithLedger = async ({ isAfterSignal, canBePartial }: GroupSenderOptions) => {
    // Equal groups of two files have the same dedup key, so only the first group is sent.
    const byKey = new Map<number, number>();
    for (const group of listPending("not_sent")) {
      const key = numberOf(group);
      if (!byKey.has(key)) byKey.set(key, group);
    }
    const candidates = Uint32Array.from(byKey.values());
    const limit = delivery.limit();
    const plan = { envelope: delivery.envelope(), groups: candidates, limit: limit.bytes, areFull: true };
    const requests = cutRequests(dataset, plan).slice(0, canBePartial ? undefined : -1);
    const jobs = [...delivery.planResends().jobs, ...requests.map((request) => ({ request }))];
    if (jobs.length === 0) return;
    reportOversizedRequests(dataset, { requests, limit });
    await delivery.sendJobs(jobs, isAfterSignal);
    for (const group of candidates) {
      const outcome = outcomes.outcomeOf(group);
      if (outcome === "logged" || outcome === "unknown") priorOutcomes.recordOutcome(numberOf(group), outcome);
    }
    const candidateSet = new Set(candidates);
    pending = pending.filter((group) => !candidateSet.has(group) || outcomes.outcomeOf(group) === "not_sent");
  };

  return {
    catchUp,
    waitingSince: () => waitingSince,
    countUnknown: () => listPending("unknown").length,
    isWaitingFor: (source: number) =>
      listPending("not_sent").some((group) => columns.source.at(groups.firstOf(group)) === source),
    async addCompleted(completed: readonly CompletedGroup[]) {
      const rejected: RejectedGroup[] = [];
      let isStopped = false;
      for (const { group, isAfterError } of completed) {
        if (groups.isValid(group)) reportProblems(group);
        // `reportProblems` can make the group invalid.
        const isValid = groups.isValid(group);
        isStopped ||= !isValid && options.onInvalid === "stop";
        await finalizeGroup(dataset, group);
        outcomes.extendTo(group + 1);
        if (isValid) {
          delivery.setPriorOutcomes([group]);
          const canBeSent = !isAfterError && !isStopped && isPending(group);
          if (canBeSent || outcomes.outcomeOf(group) === "unknown") pending.push(group);
        } else if (options.onInvalid === "skip") {
          outcomes.set(group, "rejected");
          rejected.push({ group, problems: [] });
        }
      }
      if (completed.length > 0) updateWaiting();
      await delivery.rejects?.append(rejected);
    },
    async sendFull() {
      const bytes = listPending("not_sent").reduce((sum, group) => sum + groups.bytesOf(group) + 1, 0);
      if (bytes > delivery.limit().bytes) await sendPending({});
    },
    async sendAll(isAfterSignal: boolean) {
      if (pending.length > 0) await sendPending({ isAfterSignal, canBePartial: true });
    },
  };
};
