/** Follows a growing file: reads its new lines, sends the groups that they complete, and waits. */

import { Failure, isFailure } from "../../../failure.ts";
import { openGroupReporter, reportDatasetProblems } from "../../../rollouts/dataset/dataset-problems.ts";
import { finalizeGroup } from "../../../rollouts/dataset/group-metrics.ts";
import { formatBrokenRules } from "../../../rollouts/dataset/missing-features.ts";
import { DedupKeys, dedupKeyBytes } from "../../../rollouts/index/dedup-keys.ts";
import { Digests, DigestTable } from "../../../rollouts/index/digests.ts";
import { isRemote, plainUrl } from "../../../rollouts/input/names.ts";
import { inputChanged, invalidInput } from "../../../rollouts/rules/failures.ts";
import { Breaks } from "../../../system/breaks.ts";
import type { Host } from "../../../system/host.ts";
import { type Entry, findGroups } from "../../ledger/entries.ts";
import { Delivery, graceMs } from "../delivery.ts";
import * as earlier from "../earlier-requests.ts";
import { fileNotFollowable } from "../failures.ts";
import { openGroupOutcomes } from "../group-outcomes.ts";
import { subtractRefused } from "../log-dataset.ts";
import { markUnsent } from "../log-failures.ts";
import { composeLogResult } from "../log-result.ts";
import { cutRequests, reportOversizedRequests } from "../plan.ts";
import type { RejectedGroup } from "../rejects.ts";
import { sendRequests } from "../send-requests.ts";
import {
  type FollowEvents,
  type FollowedFile,
  FollowedFiles,
  type FollowPolicy,
  type FollowSetup,
} from "./followed-files.ts";

export const followFile = async (setup: FollowSetup) => {
  const { file } = setup.policy;
  if (isRemote(file)) throw fileNotFollowable(plainUrl(file), "not-a-file");
  const destination = await setup.tools.destination();
  const run = new FollowRun(setup);
  const { runLedger, dataset } = run.delivery;
  try {
    await runLedger.open(destination);
    await earlier.readPriorOutcomes(run.delivery);
  } catch (thrown) {
    await runLedger.close();
    throw markUnsent(thrown);
  }
  try {
    return { dataset, result: await run.run() };
  } catch (thrown) {
    await dataset.close();
    throw thrown;
  } finally {
    await runLedger.close();
  }
};

/** rollcall polls, because some file systems do not report changes. */
const pollIntervalMs = 250;

/** A renamed file can still grow, so it is finished after this time without new lines. */
const quietMs = 1000;

/** Numbers the dedup keys, because keys of earlier runs have no groups yet. */
class KeyNumbers {
  readonly #keys = new Digests();
  readonly #table = new DigestTable(this.#keys);

  find(key: Uint8Array) {
    return this.#table.find(key) ?? -1;
  }

  add(key: Uint8Array) {
    const known = this.#table.find(key);
    if (known !== undefined) return known;
    this.#keys.append(key);
    return this.#table.add(this.#keys.count - 1);
  }
}

/** If `isFull`, the last request below the limit waits. If `isAfterSignal`, each request has one attempt. */
type Batch = { isFull?: boolean; isAfterSignal?: boolean };

type CompletedGroup = { group: number; isAfterError: boolean };

class FollowRun {
  readonly delivery: Delivery;
  readonly #policy: FollowPolicy;
  readonly #host: Host;
  readonly #events: FollowEvents;
  readonly #files: FollowedFiles;
  readonly #reportProblems: (group: number) => void;
  /** Groups that are complete, but not processed. A group after a stopping error is not sent. */
  readonly #completed: CompletedGroup[] = [];
  #hasStoppingError = false;
  /** Valid groups that are not sent yet, and groups with an unknown outcome of another run. */
  #waiting: number[] = [];
  #waitingSince: number | undefined;
  #refusedCount = 0;

  constructor(setup: FollowSetup) {
    const { policy, tools, events } = setup;
    const numbers = new KeyNumbers();
    const dedupKeys = new DedupKeys();
    this.#policy = policy;
    this.#host = tools.host;
    this.#events = events;
    this.#files = new FollowedFiles(setup, {
      dedupKeys,
      wasSent: (key) => {
        const { priorOutcomes } = this.delivery;
        return !priorOutcomes.isEmpty() && priorOutcomes.outcomeOf(numbers.find(key)) !== "not_sent";
      },
      onInvalid: () => {
        this.#hasStoppingError = policy.onInvalid === "stop";
      },
      onComplete: (group) => this.#completed.push({ group, isAfterError: this.#hasStoppingError }),
    });
    this.#reportProblems = openGroupReporter(this.#files.dataset);
    this.delivery = new Delivery(this.#files.dataset, setup, {
      file: policy.file,
      outcomes: openGroupOutcomes(0),
      dedupKeys,
      numberOfKey: (keys, offset) => numbers.add(keys.subarray(offset, offset + dedupKeyBytes)),
    });
  }

  async run() {
    const { signal, urgent } = this.#host;
    await this.delivery.rejects?.requireWritable(true);
    const stop = await this.#catchStop(this.#follow());
    const canContinue = !stop || (stop.code === "invalid_input" && !isFailure(stop, "input-changed"));
    const isSending = canContinue && !urgent.aborted;
    const lastStop = isSending ? await this.#catchStop(this.#send({ isAfterSignal: signal.aborted })) : undefined;
    return await this.#finish(stop ?? lastStop);
  }

  /** Returns undefined after a signal. */
  async #catchStop(work: Promise<void>) {
    try {
      await work;
      return undefined;
    } catch (thrown) {
      const failure = this.#files.toFailure(thrown);
      const isSignal = failure.code === "interrupted";
      if (this.#files.all.length === 0 && !isSignal) throw failure;
      return isSignal ? undefined : failure;
    }
  }

  async #follow() {
    const { everyMs, groupIdleMs } = this.#policy;
    const { elapsed, sleep, signal } = this.#host;
    const waitMs = Math.max(10, Math.min(pollIntervalMs, everyMs, groupIdleMs || pollIntervalMs));
    for (;;) {
      // After a signal, the loop reads lines once more.
      const isLastPass = signal.aborted;
      await this.#readOtherRuns();
      await this.#files.open();
      for (const file of this.#files.all) if (!(await this.#readLines(file, isLastPass))) break;
      if (isLastPass) return;
      const isWaiting =
        this.#waitingWith("not_sent").length > 0 || earlier.planResends(this.delivery).requests.length > 0;
      this.#waitingSince = isWaiting ? (this.#waitingSince ?? elapsed()) : undefined;
      if (this.#waitingSince !== undefined && elapsed() - this.#waitingSince >= everyMs) await this.#send();
      await sleep(waitMs, signal).catch(() => undefined);
    }
  }

  /** If another run sent the bytes of a group, the group is complete. */
  async #readOtherRuns() {
    if (!(await this.delivery.runLedger.hasChanged())) return;
    await this.#catchUp();
    for (const { assembler } of this.#files.all) assembler.completeSent();
  }

  /** Returns true if the next file may be read. @throws Failure `input-changed` if unsent groups were overwritten */
  async #readLines(file: FollowedFile, isLastPass: boolean) {
    const { elapsed, signal } = this.#host;
    const { assembler, tail } = file;
    const { groups, scan } = this.delivery.dataset;
    const sourceOf = (group: number) => scan.parts.columns.source.at(groups.firstOf(group));
    if (!file.isRewritten && (await tail.isRewritten())) {
      const unsent = [...assembler.incomplete, ...this.#waitingWith("not_sent")];
      if (unsent.some((group) => sourceOf(group) === file.index)) throw inputChanged(this.#policy.file, true);
      file.isRewritten = true;
    }
    if (file.isRewritten) return true;
    await this.#files.read(file, async () => {
      file.changedAt = elapsed();
      await this.#processCompleted();
      this.#events.onRead(this.#files.bytesRead);
      const waiting = this.#waitingWith("not_sent");
      const waitingBytes = waiting.reduce((sum, group) => sum + groups.bytesOf(group) + 1, 0);
      if (!signal.aborted && waitingBytes > this.delivery.bodyLimit().bytes) await this.#send({ isFull: true });
    });
    assembler.completeIdle(elapsed() - this.#policy.groupIdleMs);
    if (file !== this.#files.all.at(-1)) {
      file.isFinished ||= isLastPass || elapsed() - file.changedAt >= quietMs;
      if (file.isFinished) assembler.completeAll();
    }
    await this.#processCompleted();
    return file.isFinished;
  }

  #waitingWith(outcome: "not_sent" | "unknown") {
    return this.#waiting.filter((group) => this.delivery.outcomes.outcomeOf(group) === outcome);
  }

  /** @throws Failure `invalid-input` */
  async #processCompleted() {
    const { problems } = this.#files.dataset;
    const { onInvalid } = this.#policy;
    if (this.#completed.length > 0) await this.#addCompleted(this.#completed.splice(0), onInvalid === "skip");
    if (problems.errors === 0) return;
    if (problems.isInputBroken) throw invalidInput(problems);
    if (onInvalid === "stop") throw invalidInput(problems, { valid: "some" });
  }

  async #addCompleted(completed: readonly CompletedGroup[], skipsInvalid: boolean) {
    const { dataset, outcomes, rejects } = this.delivery;
    const { groups } = dataset;
    const rejected: RejectedGroup[] = [];
    let isStopped = false;
    for (const { group, isAfterError } of completed) {
      // `reportProblems` can make the group invalid.
      if (groups.isValid(group)) this.#reportProblems(group);
      await finalizeGroup(dataset, group);
      outcomes.extendTo(group + 1);
      if (groups.isValid(group)) {
        earlier.setPriorOutcomes(this.delivery, [group]);
        const outcome = outcomes.outcomeOf(group);
        const canBeSent = outcome === "not_sent" && !isAfterError && !isStopped;
        if (canBeSent) this.#waitingSince ??= this.#host.elapsed();
        if (canBeSent || outcome === "unknown") this.#waiting.push(group);
      } else if (skipsInvalid) {
        outcomes.set(group, "rejected");
        rejected.push({ group, problems: [] });
      } else isStopped = true;
    }
    await rejects?.append(rejected);
  }

  /** Learns what this run and other runs have sent. */
  async #catchUp() {
    const { outcomes } = this.delivery;
    const isOpen = (group: number) => ["not_sent", "unknown"].includes(outcomes.outcomeOf(group));
    await earlier.readPriorOutcomes(this.delivery);
    this.#waiting = this.#waiting.filter(isOpen);
    earlier.setPriorOutcomes(this.delivery, this.#waiting);
    this.#waiting = this.#waiting.filter(isOpen);
  }

  async #send(batch: Batch = {}) {
    const { runLedger, sent, rejects } = this.delivery;
    if (this.#waiting.length === 0 || !(await this.#acquireLedger(batch))) return;
    try {
      await this.#catchUp();
      await this.#sendWithLedger(batch);
      this.#waitingSince = undefined;
      await this.#catchUp();
    } finally {
      runLedger.release();
    }
    const newlyRefused = sent.refused.slice(this.#refusedCount);
    this.#refusedCount = sent.refused.length;
    await rejects?.append(newlyRefused);
    const stop = this.delivery.stopFailure();
    if (stop && !isFailure(stop, "interrupted")) throw stop;
  }

  /** Returns false if a signal ends the wait for another run. */
  async #acquireLedger({ isAfterSignal = false }: Batch) {
    const { runLedger, tools, policy } = this.delivery;
    const graceWait = { signal: tools.host.urgent, maxWaitMs: Math.min(policy.maxWaitMs, graceMs) };
    try {
      await runLedger.acquire(isAfterSignal ? graceWait : undefined);
      return true;
    } catch (thrown) {
      if (isFailure(thrown, "interrupted") || (isAfterSignal && isFailure(thrown, "ledger-busy"))) return false;
      throw thrown;
    }
  }

  async #sendWithLedger({ isAfterSignal, isFull }: Batch) {
    const { delivery } = this;
    const { dataset, priorOutcomes, outcomes } = delivery;
    // Equal groups of two files have the same dedup key, so only the first group is sent.
    const byKey = new Map<number, number>();
    for (const group of this.#waitingWith("not_sent")) {
      const key = delivery.numberOf(group);
      if (!byKey.has(key)) byKey.set(key, group);
    }
    const groups = Uint32Array.from(byKey.values());
    const limit = delivery.bodyLimit();
    const plan = { envelope: delivery.envelope(), groups, limit: limit.bytes, areFull: true };
    const requests = cutRequests(dataset, plan).slice(0, isFull ? -1 : undefined);
    const all = [...earlier.planResends(delivery).requests, ...requests];
    if (all.length === 0) return;
    reportOversizedRequests(dataset, { requests, limit });
    await sendRequests(delivery, all, isAfterSignal);
    for (const group of groups) {
      const outcome = outcomes.outcomeOf(group);
      if (outcome === "logged" || outcome === "unknown") priorOutcomes.recordOutcome(delivery.numberOf(group), outcome);
    }
    const planned = new Set(groups);
    this.#waiting = this.#waiting.filter((group) => !planned.has(group) || outcomes.outcomeOf(group) === "not_sent");
  }

  async #finish(stop: Failure | undefined) {
    const { delivery } = this;
    const { dataset, outcomes } = delivery;
    const { reason } = this.#host.signal;
    const hasUnfinishedLine = await this.#reportEnd(stop);
    const isComplete = this.#files.all.length > 0 && !hasUnfinishedLine && outcomes.groupsWith("not_sent").length === 0;
    // A signal is the normal end of a run that sent all groups.
    const signal = isComplete || !(reason instanceof Failure) ? undefined : reason;
    const result = await composeLogResult(delivery, { stop: stop ?? signal });
    const { rejected, read } = result.groups;
    const isNothingValid =
      rejected === read && read > 0 && outcomes.groupsWith("rejected").every((at) => !dataset.groups.isValid(at));
    return isNothingValid && isFailure(result.failure, "log-rejected")
      ? { ...result, failure: invalidInput(dataset.problems) }
      : result;
  }

  /** Reports problems of the whole input. Returns true if the input ends with an incomplete line. */
  async #reportEnd(stop: Failure | undefined) {
    const { delivery } = this;
    const { dataset, outcomes, priorOutcomes, dedupKeys } = delivery;
    const { problems } = dataset;
    const { all } = this.#files;
    const { strictness, ledgerArgs } = this.#policy;
    outcomes.extendTo(dataset.groups.count);
    const isChanged = isFailure(stop, "input-changed");
    const isReadable = !isChanged && !all.some(({ isRewritten }) => isRewritten);
    const open = all.flatMap(({ assembler }) => assembler.incomplete);
    if (!isChanged) for (const group of open) await finalizeGroup(dataset, group);
    // With `--strict`, these problems would be errors, but the groups are already sent.
    if (isReadable && !strictness.strict)
      dataset.note = formatBrokenRules(dataset, await reportDatasetProblems(dataset, new Breaks()));
    const isUnread = isChanged || isFailure(stop, "file-not-followable");
    const hasUnfinishedLine = !isUnread && (await this.#files.reportUnfinished());
    if (open.length > 0) problems.report("incomplete-group", { groups: open.length });
    earlier.reportPriorRuns(delivery, (at) => ["already_logged", "unknown"].includes(outcomes.outcomeOf(at)));
    const isOfRun = (entry: Entry) => findGroups(entry.dedupKeys, dedupKeys.find).length > 0;
    const requests = priorOutcomes.unknownEntries().filter(isOfRun).length;
    const { length: groups } = this.#waitingWith("unknown");
    if (groups > 0) problems.report("unresolved-requests", { requests, groups, ledgerArgs });
    await earlier.reportOtherAccounts(delivery);
    if (isReadable) await subtractRefused(delivery);
    return hasUnfinishedLine;
  }
}
