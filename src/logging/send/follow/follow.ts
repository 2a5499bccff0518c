/** Follows a growing file: reads its new lines, sends the groups that they complete, and waits. */

import { type Failure, isFailure } from "../../../failure.ts";
import { openGroupReporter, reportDatasetProblems } from "../../../rollouts/dataset/dataset-problems.ts";
import { finalizeGroup } from "../../../rollouts/dataset/group-bytes.ts";
import { formatLacks } from "../../../rollouts/dataset/missing-features.ts";
import { isRemote, plainUrl } from "../../../rollouts/input/names.ts";
import { inputChanged, invalidInput } from "../../../rollouts/rules/failures.ts";
import { Breaks } from "../../../system/breaks.ts";
import {
  cutGroups,
  type Delivery,
  findBodyLimit,
  findSignalFailure,
  findStop,
  graceMs,
  openDelivery,
} from "../delivery.ts";
import * as earlier from "../earlier-requests.ts";
import { fileNotFollowable, markUnsent } from "../failures.ts";
import { composeLogResult } from "../log-result.ts";
import { openGroupOutcomes } from "../outcome.ts";
import { reportSampledBefore } from "../sampled-groups.ts";
import { sendRequests } from "../send-requests.ts";
import { type FollowedFile, FollowedFiles, type FollowSetup } from "./followed-files.ts";

export const followFile = async (setup: FollowSetup) => {
  const { policy, tools } = setup;
  if (isRemote(policy.file)) throw fileNotFollowable(plainUrl(policy.file), "not-a-file");
  const destination = await tools.destination();
  const run = new FollowRun(setup);
  const { recorder, dataset } = run.delivery;
  try {
    await recorder.open(destination);
    await earlier.readPriorOutcomes(run.delivery);
    return { dataset, result: await run.run() };
  } catch (thrown) {
    await dataset.close();
    throw markUnsent(thrown);
  } finally {
    await recorder.close();
  }
};

/** rollcall polls, because some file systems do not report changes. */
const pollIntervalMs = 250;

/** A renamed file can still grow, so it is finished after this time without new lines. */
const quietMs = 1000;

class FollowRun {
  readonly delivery: Delivery;
  readonly #setup: FollowSetup;
  readonly #files: FollowedFiles;
  readonly #reportProblems: (group: number) => void;
  /** Valid groups that are not sent yet, and groups with an unknown outcome. */
  #waiting: number[] = [];
  #waitingSince: number | undefined;

  constructor(setup: FollowSetup) {
    this.#setup = setup;
    this.#files = new FollowedFiles(setup, (key) => this.delivery.priorOutcomes.wasSent(key));
    const { dataset, dedupKeys } = this.#files;
    this.#reportProblems = openGroupReporter(dataset);
    const known = { file: setup.policy.file, outcomes: openGroupOutcomes(0), dedupKeys, isGrowing: true };
    this.delivery = openDelivery(dataset, setup, known);
  }

  async run() {
    const { signal, urgent } = this.#setup.tools.host;
    await this.delivery.rejects?.requireWritable(true, new Uint32Array());
    const stop = await this.#catchStop(this.#follow());
    const canContinue = !stop || (stop.code === "invalid_input" && !isFailure(stop, "input-changed"));
    if (!canContinue || urgent.aborted) return await this.#finish(stop);
    const lastStop = await this.#catchStop(this.#send({ isAfterSignal: signal.aborted }));
    return await this.#finish(stop ?? lastStop);
  }

  /** Returns undefined after a signal. */
  async #catchStop(work: Promise<void>) {
    const stop = await work.catch((thrown: unknown) => this.#files.toFailure(thrown));
    if (!stop || isFailure(stop, "interrupted")) return undefined;
    if (this.#files.all.length === 0) throw stop;
    return stop;
  }

  async #follow() {
    const { everyMs, groupIdleMs } = this.#setup.policy;
    const { elapsed, sleep, signal } = this.#setup.tools.host;
    const waitMs = Math.max(10, Math.min(pollIntervalMs, everyMs, groupIdleMs || pollIntervalMs));
    for (;;) {
      // After a signal, the loop reads lines once more.
      const isLastPass = signal.aborted;
      if (await this.delivery.recorder.hasChanged()) {
        await this.#catchUp();
        for (const { assembler } of this.#files.all) assembler.completeSent();
      }
      await this.#files.open();
      for (const file of this.#files.all) if (!(await this.#readLines(file, isLastPass))) break;
      if (isLastPass) return;
      const isWaiting = this.#listUnsent().length > 0 || earlier.planResends(this.delivery).requests.length > 0;
      this.#waitingSince = isWaiting ? (this.#waitingSince ?? elapsed()) : undefined;
      if (this.#waitingSince !== undefined && elapsed() - this.#waitingSince >= everyMs) await this.#send();
      await sleep(waitMs, signal).catch(() => undefined);
    }
  }

  /** Returns true if the next file may be read. @throws Failure `input-changed` if unsent groups were overwritten */
  async #readLines(file: FollowedFile, isLastPass: boolean) {
    const { policy, tools } = this.#setup;
    const { assembler, tail } = file;
    const { groups, scan } = this.delivery.dataset;
    const isOfFile = (group: number) => scan.parts.columns.source.at(groups.firstOf(group)) === file.index;
    if (!file.isRewritten && (await tail.isRewritten())) {
      if ([...assembler.incomplete, ...this.#listUnsent()].some(isOfFile)) throw inputChanged(policy.file, true);
      file.isRewritten = true;
    }
    if (file.isRewritten) return true;
    await this.#files.read(file, async () => {
      await this.#takeCompleted();
      const bytes = this.#listUnsent().reduce((sum, group) => sum + groups.bytesOf(group) + 1, 0);
      const isFull = bytes > findBodyLimit(this.delivery).bytes;
      if (isFull && !tools.host.signal.aborted) await this.#send({ isFull });
    });
    assembler.completeIdle(tools.host.elapsed() - policy.groupIdleMs);
    if (file !== this.#files.all.at(-1)) {
      file.isFinished ||= isLastPass || tools.host.elapsed() - file.changedAt >= quietMs;
      if (file.isFinished) assembler.completeAll();
    }
    await this.#takeCompleted();
    return file.isFinished;
  }

  #listUnsent() {
    return this.#waiting.filter((group) => this.delivery.outcomes.outcomeOf(group) === "not_sent");
  }

  /** @throws Failure `invalid-input` */
  async #takeCompleted() {
    const { rejects, outcomes, dataset, policy } = this.delivery;
    const { problems } = dataset.scan;
    const invalid: number[] = [];
    let canBeSent = true;
    for (const group of this.#files.completed.splice(0)) {
      if (group !== undefined && (await this.#addCompleted(group, canBeSent))) continue;
      if (policy.onInvalid === "stop") canBeSent = false;
      else if (group !== undefined) invalid.push(group);
    }
    for (const group of invalid) outcomes.set(group, "rejected");
    await rejects?.append(Uint32Array.from(invalid));
    if (problems.isInputBroken) throw invalidInput(problems);
    if (problems.errors > 0 && policy.onInvalid === "stop") throw invalidInput(problems, { valid: "some" });
  }

  /** Returns false if the group is invalid. */
  async #addCompleted(group: number, canBeSent: boolean) {
    const { dataset, outcomes } = this.delivery;
    // `#reportProblems` can make the group invalid.
    if (dataset.groups.isValid(group)) this.#reportProblems(group);
    await finalizeGroup(dataset, group);
    outcomes.extendTo(group + 1);
    if (!dataset.groups.isValid(group)) return false;
    earlier.setPriorOutcomes(this.delivery, [group]);
    const outcome = outcomes.outcomeOf(group);
    const isUnsent = outcome === "not_sent" && canBeSent;
    if (isUnsent) this.#waitingSince ??= this.#setup.tools.host.elapsed();
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

  /** If `isFull`, the last request waits. If `isAfterSignal`, each request has one attempt. */
  async #send({ isFull = false, isAfterSignal = false } = {}) {
    const { recorder, policy, tools } = this.delivery;
    if (this.#waiting.length === 0) return;
    const graceWait = { signal: tools.host.urgent, maxWaitMs: Math.min(policy.maxWaitMs, graceMs) };
    try {
      await recorder.acquire(isAfterSignal ? graceWait : undefined);
      await this.#catchUp();
      await this.#sendUnsent(isFull, isAfterSignal);
      this.#waitingSince = undefined;
      await this.#catchUp();
    } catch (thrown) {
      // A signal ended the wait for another run.
      if (!isFailure(thrown, "interrupted") && !(isAfterSignal && isFailure(thrown, "ledger-busy"))) throw thrown;
    } finally {
      recorder.release();
    }
    const stop = findStop(this.delivery);
    if (stop && !isFailure(stop, "interrupted")) throw stop;
  }

  async #sendUnsent(isFull: boolean, isAfterSignal: boolean) {
    const { delivery } = this;
    const { priorOutcomes, outcomes } = delivery;
    // Equal groups of two files have the same dedup key, so only one of them is sent.
    const byKey = new Map(this.#listUnsent().map((group) => [priorOutcomes.numberOf(group), group]));
    const limit = findBodyLimit(delivery);
    const groups = Uint32Array.from(byKey.values());
    const { problems } = delivery.dataset.scan;
    const errorsBefore = problems.errors;
    await reportSampledBefore(delivery, groups);
    if (problems.errors > errorsBefore) {
      // The end of the run must not send them, either.
      this.#waiting = [];
      throw invalidInput(problems);
    }
    const cut = cutGroups(delivery, groups, { limit: limit.bytes, areFull: true });
    const requests = isFull ? cut.slice(0, -1) : cut;
    await sendRequests(delivery, [...earlier.planResends(delivery).requests, ...requests], isAfterSignal);
    for (const group of groups) {
      const outcome = outcomes.outcomeOf(group);
      if (outcome === "logged" || outcome === "unknown") priorOutcomes.recordOutcome(group, outcome);
    }
  }

  /** Reports problems of the whole input. */
  async #finish(stop: Failure | undefined) {
    const { delivery } = this;
    const { dataset, outcomes } = delivery;
    const { all } = this.#files;
    outcomes.extendTo(dataset.groups.count);
    const isChanged = isFailure(stop, "input-changed");
    const isReadable = !isChanged && !all.some(({ isRewritten }) => isRewritten);
    const open = all.flatMap(({ assembler }) => assembler.incomplete);
    if (!isChanged) for (const group of open) await finalizeGroup(dataset, group);
    // With `--strict`, these problems would be errors, but the groups are already sent.
    if (isReadable && !this.#setup.policy.strictness.strict)
      dataset.note = formatLacks(dataset, await reportDatasetProblems(dataset, new Breaks()));
    const isUnread = isChanged || isFailure(stop, "file-not-followable");
    const hasUnfinishedLine = !isUnread && (await this.#files.reportUnfinished());
    if (open.length > 0) dataset.scan.problems.report("incomplete-group", { groups: open.length });
    earlier.reportPriorRuns(delivery, (at) => ["already_logged", "unknown"].includes(outcomes.outcomeOf(at)));
    earlier.reportUnresolved(delivery);
    await earlier.reportOtherAccounts(delivery);
    // A signal is the normal end of a run that sent all groups.
    const isNormalEnd = !hasUnfinishedLine && outcomes.groupsWith("not_sent").length === 0 && all.length > 0;
    return await composeLogResult(delivery, { stop: stop ?? (isNormalEnd ? undefined : findSignalFailure(delivery)) });
  }
}
