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
import { findGroups } from "../../ledger/entries.ts";
import { Delivery, graceMs } from "../delivery.ts";
import * as earlier from "../earlier-requests.ts";
import { fileNotFollowable } from "../failures.ts";
import { openGroupOutcomes } from "../group-outcomes.ts";
import { subtractRefused } from "../log-dataset.ts";
import { markUnsent } from "../log-failures.ts";
import { composeLogResult } from "../log-result.ts";
import { cutRequests, reportOversizedRequests } from "../plan.ts";
import { sendRequests } from "../send-requests.ts";
import { type FollowedFile, FollowedFiles, type FollowPolicy, type FollowSetup } from "./followed-files.ts";

export const followFile = async (setup: FollowSetup) => {
  const { file } = setup.policy;
  if (isRemote(file)) throw fileNotFollowable(plainUrl(file), "not-a-file");
  const destination = await setup.tools.destination();
  const run = new FollowRun(setup);
  const { runLedger, dataset } = run.delivery;
  try {
    await runLedger.open(destination);
    await earlier.readPriorOutcomes(run.delivery);
    return { dataset, result: await run.run() };
  } catch (thrown) {
    await dataset.close();
    throw markUnsent(thrown);
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
    if (known === undefined) this.#keys.append(key);
    return known ?? this.#table.add(this.#keys.count - 1);
  }
}

class FollowRun {
  readonly delivery: Delivery;
  readonly #policy: FollowPolicy;
  readonly #host: Host;
  readonly #files: FollowedFiles;
  readonly #reportProblems: (group: number) => void;
  /** Groups that are complete, but not processed, and `undefined` for each error between them. */
  readonly #completed: (number | undefined)[] = [];
  /** Valid groups that are not sent yet, and groups with an unknown outcome. */
  #waiting: number[] = [];
  #waitingSince: number | undefined;
  #refusedCount = 0;

  constructor(setup: FollowSetup) {
    const { policy, tools } = setup;
    const numbers = new KeyNumbers();
    const dedupKeys = new DedupKeys();
    this.#policy = policy;
    this.#host = tools.host;
    this.#files = new FollowedFiles(setup, {
      dedupKeys,
      wasSent: (key) => this.delivery.priorOutcomes.outcomeOf(numbers.find(key)) !== "not_sent",
      onInvalid: () => this.#completed.push(undefined),
      onComplete: (group) => this.#completed.push(group),
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
      if (isFailure(failure, "interrupted")) return undefined;
      if (this.#files.all.length === 0) throw failure;
      return failure;
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
      const isWaiting = this.#listUnsent().length > 0 || earlier.planResends(this.delivery).requests.length > 0;
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
    const { elapsed } = this.#host;
    const { assembler, tail } = file;
    const { groups, scan } = this.delivery.dataset;
    const isOfFile = (group: number) => scan.parts.columns.source.at(groups.firstOf(group)) === file.index;
    if (!file.isRewritten && (await tail.isRewritten())) {
      if ([...assembler.incomplete, ...this.#listUnsent()].some(isOfFile)) throw inputChanged(this.#policy.file, true);
      file.isRewritten = true;
    }
    if (file.isRewritten) return true;
    await this.#files.read(file, async () => {
      await this.#processCompleted();
      await this.#sendFull();
    });
    assembler.completeIdle(elapsed() - this.#policy.groupIdleMs);
    if (file !== this.#files.all.at(-1)) {
      file.isFinished ||= isLastPass || elapsed() - file.changedAt >= quietMs;
      if (file.isFinished) assembler.completeAll();
    }
    await this.#processCompleted();
    return file.isFinished;
  }

  #listUnsent() {
    return this.#waiting.filter((group) => this.delivery.outcomes.outcomeOf(group) === "not_sent");
  }

  /** @throws Failure `invalid-input` */
  async #processCompleted() {
    const { problems } = this.#files.dataset;
    const { onInvalid } = this.#policy;
    const invalid: number[] = [];
    let canBeSent = true;
    for (const group of this.#completed.splice(0)) {
      if (group !== undefined && (await this.#addCompleted(group, canBeSent))) continue;
      if (onInvalid === "stop") canBeSent = false;
      else if (group !== undefined) invalid.push(group);
    }
    for (const group of invalid) this.delivery.outcomes.set(group, "rejected");
    await this.delivery.rejects?.append(invalid.map((group) => ({ group, problems: [] })));
    if (problems.isInputBroken) throw invalidInput(problems);
    if (problems.errors > 0 && onInvalid === "stop") throw invalidInput(problems, { valid: "some" });
  }

  /** Returns false if the group is invalid. */
  async #addCompleted(group: number, canBeSent: boolean) {
    const { dataset, outcomes } = this.delivery;
    const { groups } = dataset;
    // `#reportProblems` can make the group invalid.
    if (groups.isValid(group)) this.#reportProblems(group);
    await finalizeGroup(dataset, group);
    outcomes.extendTo(group + 1);
    if (!groups.isValid(group)) return false;
    earlier.setPriorOutcomes(this.delivery, [group]);
    const outcome = outcomes.outcomeOf(group);
    const isUnsent = outcome === "not_sent" && canBeSent;
    if (isUnsent) this.#waitingSince ??= this.#host.elapsed();
    if (isUnsent || outcome === "unknown") this.#waiting.push(group);
    return true;
  }

  /** Learns what this run and other runs have sent. */
  async #catchUp() {
    const { outcomes } = this.delivery;
    await earlier.readPriorOutcomes(this.delivery);
    this.#waiting = this.#waiting.filter((group) => ["not_sent", "unknown"].includes(outcomes.outcomeOf(group)));
    earlier.setPriorOutcomes(this.delivery, this.#waiting);
  }

  /** Sends the requests that no other group fits in. */
  async #sendFull() {
    const { groups } = this.delivery.dataset;
    const bytes = this.#listUnsent().reduce((sum, group) => sum + groups.bytesOf(group) + 1, 0);
    if (!this.#host.signal.aborted && bytes > this.delivery.bodyLimit().bytes) await this.#send({ isFull: true });
  }

  /** If `isFull`, the last request waits. If `isAfterSignal`, each request has one attempt. */
  async #send({ isFull = false, isAfterSignal = false } = {}) {
    const { runLedger, sent, rejects } = this.delivery;
    if (this.#waiting.length === 0) return;
    const graceWait = { signal: this.#host.urgent, maxWaitMs: Math.min(this.#policy.maxWaitMs, graceMs) };
    try {
      await runLedger.acquire(isAfterSignal ? graceWait : undefined);
    } catch (thrown) {
      // A signal ended the wait for another run.
      if (isFailure(thrown, "interrupted") || (isAfterSignal && isFailure(thrown, "ledger-busy"))) return;
      throw thrown;
    }
    try {
      await this.#catchUp();
      await this.#sendWithLedger(isFull, isAfterSignal);
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

  async #sendWithLedger(isFull: boolean, isAfterSignal: boolean) {
    const { delivery } = this;
    const { dataset, priorOutcomes, outcomes } = delivery;
    // Equal groups of two files have the same dedup key, so only the first group is sent.
    const byKey = new Map<number, number>();
    for (const group of this.#listUnsent()) {
      const key = delivery.numberOf(group);
      if (!byKey.has(key)) byKey.set(key, group);
    }
    const limit = delivery.bodyLimit();
    const plan = { envelope: delivery.envelope(), groups: Uint32Array.from(byKey.values()), limit: limit.bytes };
    const requests = cutRequests(dataset, { ...plan, areFull: true }).slice(0, isFull ? -1 : undefined);
    const all = [...earlier.planResends(delivery).requests, ...requests];
    if (all.length === 0) return;
    reportOversizedRequests(dataset, { requests, limit });
    await sendRequests(delivery, all, isAfterSignal);
    for (const [key, group] of byKey) {
      const outcome = outcomes.outcomeOf(group);
      if (outcome === "logged" || outcome === "unknown") priorOutcomes.recordOutcome(key, outcome);
    }
  }

  async #finish(stop: Failure | undefined) {
    const { delivery } = this;
    const { reason } = this.#host.signal;
    const hasUnfinishedLine = await this.#reportEnd(stop);
    const isAllSent = !hasUnfinishedLine && delivery.outcomes.groupsWith("not_sent").length === 0;
    // A signal is the normal end of a run that sent all groups.
    const isNormalEnd = isAllSent && this.#files.all.length > 0;
    const signal = isNormalEnd || !(reason instanceof Failure) ? undefined : reason;
    return await composeLogResult(delivery, { stop: stop ?? signal });
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
    const unresolved = priorOutcomes.unknownEntries().map((entry) => findGroups(entry.dedupKeys, dedupKeys.find));
    const requests = unresolved.filter(({ length }) => length > 0).length;
    if (requests > 0)
      problems.report("unresolved-requests", { requests, groups: unresolved.flat().length, ledgerArgs });
    await earlier.reportOtherAccounts(delivery);
    if (isReadable) await subtractRefused(delivery);
    return hasUnfinishedLine;
  }
}
