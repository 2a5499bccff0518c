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
export type Batches = ReturnType<typeof openBatches>;

/** Opens the batches of a run. */
export const openBatches = (reading: Reading, delivery: Delivery) => {
  const { options } = delivery;
  const { outcomes, runLedger, host, maxWaitMs, dedupKeys, earlier, numberOf } = options;
  const report = groupReporter(reading);
  /** Complete groups that are not sent yet, in their order. */
  let pending: number[] = [];
  /** Complete groups of requests of other runs with an unknown outcome. */
  let unsettled: number[] = [];
  /** Groups that the service refused and that are in the rejects file. */
  let refusedCount = 0;
  /** Since when something waits to be sent; undefined if nothing does. Monotonic milliseconds. */
  let waitingSince: number | undefined;

  const compare = (groups: readonly number[], isHalted = false) => {
    const { unsent, unknown } = delivery.compare(groups);
    for (const group of isHalted ? [] : unsent) pending.push(group);
    for (const group of unknown) unsettled.push(group);
  };
  const wait = () => {
    const isWaiting = pending.length > 0 || delivery.unknownRequests().jobs.length > 0;
    waitingSince = isWaiting ? (waitingSince ?? host.elapsed()) : undefined;
  };
  const reject = async (rejected: readonly Rejected[]) => {
    if (rejected.length > 0) await delivery.checkRejects(true);
    await delivery.reject(rejected);
  };

  /** Takes over what other runs did in the meantime. */
  const catchUp = async () => {
    await delivery.takeEarlier();
    // What became of a group in this run is not what became of it in other runs.
    const unsent = pending.filter((group) => outcomes.of(group) === "not_sent");
    const unknown = unsettled.filter((group) => outcomes.of(group) === "unknown");
    pending = [];
    unsettled = [];
    compare([...unsent, ...unknown]);
    wait();
  };

  const send = async ({ isLast, isAll }: { readonly isLast: boolean; readonly isAll: boolean }) => {
    try {
      // After a signal another run is waited for as long as an answer is.
      await runLedger.hold(isLast ? { signal: host.urgent, maxWaitMs: Math.min(maxWaitMs, graceMs) } : undefined);
    } catch (thrown) {
      // A signal came before another run released the ledger.
      if (isFailure(thrown, "interrupted") || (isLast && isFailure(thrown, "ledger-busy"))) return;
      throw thrown;
    }
    try {
      await catchUp();
      await sendHeld({ isLast, isAll });
      waitingSince = undefined;
      await catchUp();
    } finally {
      runLedger.release();
    }
    const { refused = [], stop } = delivery.sent() ?? {};
    const from = refusedCount;
    refusedCount = refused.length;
    await reject(refused.slice(from));
    // After a signal there may be time for what is left.
    if (stop !== undefined && !isFailure(stop, "interrupted")) throw stop;
  };

  const sendHeld = async ({ isLast, isAll }: { readonly isLast: boolean; readonly isAll: boolean }) => {
    // Equal groups of two files have one dedup key: the second waits for what becomes of the first.
    const byKey = new Map<string, number>();
    for (const group of pending) {
      const key = Buffer.from(dedupKeys.slice(group, 1)).toString("latin1");
      if (!byKey.has(key)) byKey.set(key, group);
    }
    const groups = Uint32Array.from(byKey.values());
    const limit = delivery.limit();
    const filled = cutRequests(reading, { frame: delivery.frame(), groups, limit: limit.bytes, areFull: true });
    const requests = isAll ? filled : filled.slice(0, -1);
    const jobs = [...delivery.unknownRequests().jobs, ...requests.map((request) => ({ request }))];
    if (jobs.length === 0) return;
    reportOversized(reading, { requests, limit });
    await delivery.send(jobs, isLast);
    for (const group of groups) {
      const outcome = outcomes.of(group);
      if (outcome === "logged" || outcome === "unknown") earlier.settle(numberOf(group), outcome);
    }
  };

  return {
    catchUp,
    waitingSince: () => waitingSince,
    /** Returns how many complete groups are of requests of other runs with an unknown outcome. */
    unsettled: () => unsettled.length,

    /** True if groups of a source wait to be sent. */
    isWaitingFor(source: number): boolean {
      const { groups, found } = reading;
      return pending.some((group) => found.parts.columns.source.at(groups.firstOf(group)) === source);
    },

    /** Adds complete groups to the metrics, and compares them with other runs. */
    async take(completed: readonly Completed[]): Promise<void> {
      const { groups } = reading;
      const rejected: Rejected[] = [];
      let isStopped = false;
      for (const { group, isHalted } of completed) {
        if (groups.isValid(group)) await report(group);
        const isValid = groups.isValid(group);
        isStopped ||= !isValid && options.onInvalid === "stop";
        await closeGroup(reading, group);
        outcomes.grow(group + 1);
        if (isValid) compare([group], isHalted || isStopped);
        else if (options.onInvalid === "skip") {
          outcomes.set(group, "rejected");
          rejected.push({ group, problems: [] });
        }
      }
      if (completed.length > 0) wait();
      await reject(rejected);
    },

    /** Sends the requests that are full. @throws Failure what stops the run */
    async sendFull(): Promise<void> {
      const bytes = pending.reduce((sum, group) => sum + reading.groups.bytesOf(group) + 1, 0);
      if (bytes > delivery.limit().bytes) await send({ isLast: false, isAll: false });
    },

    /**
     * Sends everything that is complete. @throws Failure what stops the run
     * @param isLast whether a signal came: each request is tried once, and the next signal ends it
     */
    async sendAll(isLast: boolean): Promise<void> {
      if (pending.length > 0 || unsettled.length > 0) await send({ isLast, isAll: true });
    },
  };
};
