/** Follows a growing file, and sends complete groups. */

import { Failure, isFailure } from "../../../failure.ts";
import { reportDatasetProblems } from "../../../rollouts/dataset/dataset-problems.ts";
import { finalizeGroup } from "../../../rollouts/dataset/group-metrics.ts";
import { formatBrokenRules } from "../../../rollouts/dataset/missing-features.ts";
import { Digests, DigestTable } from "../../../rollouts/index/column.ts";
import { DedupKeys, dedupKeyBytes } from "../../../rollouts/index/dedup-keys.ts";
import { isRemote, plainUrl } from "../../../rollouts/input/names.ts";
import { inputChanged, invalidInput } from "../../../rollouts/rules/failures.ts";
import { type Entry, findGroups } from "../../ledger/entries.ts";
import { Delivery } from "../delivery.ts";
import { readPriorOutcomes, reportOtherAccounts, reportPriorRuns } from "../earlier-requests.ts";
import { fileNotFollowable } from "../failures.ts";
import { openGroupOutcomes } from "../group-outcomes.ts";
import { subtractRefused } from "../log-dataset.ts";
import { markUnsent } from "../log-failures.ts";
import { composeLogResult } from "../log-result.ts";
import type { LogEvents, LogSetup } from "../policy.ts";
import { type FollowedFile, type FollowedFileOptions, FollowedFiles } from "./followed-files.ts";
import { type CompletedGroup, PendingGroups } from "./pending-groups.ts";

export interface FollowOptions extends Omit<FollowedFileOptions, "split" | "host" | "onEvent"> {
  /** The longest time that a complete group waits. */
  everyMs: number;
  groupSize: number | undefined;
  groupIdleMs: number;
}

export type FollowEvents = LogEvents &
  Pick<FollowedFileOptions, "onEvent"> &
  Readonly<{ onRead: (bytes: number) => void }>;

type FollowSetup = LogSetup & Readonly<{ options: FollowOptions; events: FollowEvents }>;

export const followFile = async (setup: FollowSetup) => {
  const { file } = setup.options;
  if (isRemote(file)) throw fileNotFollowable(plainUrl(file), "not-a-file");
  const destination = await setup.tools.destination();
  const run = new FollowRun(setup);
  try {
    await run.open(destination);
  } catch (thrown) {
    await run.close();
    throw markUnsent(thrown);
  }
  return await run.run().finally(async () => await run.close());
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

class FollowRun {
  readonly #setup: FollowSetup;
  readonly #files: FollowedFiles;
  readonly #delivery: Delivery;
  readonly #pending: PendingGroups;
  readonly #completed: CompletedGroup[] = [];
  #hasStoppingError = false;

  constructor(setup: FollowSetup) {
    const { policy, tools, events, options } = setup;
    const { file } = options;
    this.#setup = setup;
    const numbers = new KeyNumbers();
    const dedupKeys = new DedupKeys();
    this.#files = new FollowedFiles(
      { ...options, host: tools.host, split: policy.split, onEvent: events.onEvent },
      {
        dedupKeys,
        size: options.groupSize,
        wasSent: (key) => {
          const { priorOutcomes } = this.#delivery;
          return !priorOutcomes.isEmpty() && priorOutcomes.outcomeOf(numbers.find(key)) !== "not_sent";
        },
        onInvalid: () => {
          this.#hasStoppingError = policy.onInvalid === "stop";
        },
        onComplete: (group) => this.#completed.push({ group, isAfterError: this.#hasStoppingError }),
      },
    );
    this.#delivery = new Delivery(this.#files.dataset, setup, {
      file,
      outcomes: openGroupOutcomes(0),
      dedupKeys,
      numberOfKey: (keys, offset) => numbers.add(keys.subarray(offset, offset + dedupKeyBytes)),
    });
    this.#pending = new PendingGroups(this.#delivery);
  }

  async open(destination: string) {
    await this.#delivery.runLedger.open(destination);
    await readPriorOutcomes(this.#delivery);
  }

  async close() {
    await this.#delivery.runLedger.close();
  }

  async run() {
    const { dataset } = this.#files;
    const { signal, urgent } = this.#setup.tools.host;
    try {
      await this.#delivery.rejects?.requireWritable(true);
      const stop = await this.#catchStop(this.#follow());
      const canContinue = !stop || (stop.code === "invalid_input" && !isFailure(stop, "input-changed"));
      const isSending = canContinue && !urgent.aborted;
      const lastStop = isSending ? await this.#catchStop(this.#pending.sendAll(signal.aborted)) : undefined;
      return { dataset, result: await this.#finish(stop ?? lastStop) };
    } catch (thrown) {
      await dataset.close();
      throw thrown;
    }
  }

  /** Returns undefined after a signal. */
  async #catchStop(work: Promise<void>) {
    try {
      await work;
      return undefined;
    } catch (thrown) {
      if (!(thrown instanceof Failure)) return this.#files.toUnreadable(thrown);
      const isSignal = thrown.code === "interrupted";
      if (this.#files.all.length === 0 && !isSignal) throw thrown;
      return isSignal ? undefined : thrown;
    }
  }

  async #follow() {
    const { host } = this.#setup.tools;
    const { everyMs, groupIdleMs } = this.#setup.options;
    const waitMs = Math.max(10, Math.min(pollIntervalMs, everyMs, groupIdleMs || pollIntervalMs));
    for (;;) {
      const isLastPoll = host.signal.aborted;
      await this.#readOtherRuns();
      await this.#files.open();
      for (const file of this.#files.all) if (!(await this.#poll(file, isLastPoll))) break;
      // After a signal, the loop reads lines once more.
      if (isLastPoll) return;
      const { waitingSince } = this.#pending;
      if (waitingSince !== undefined && host.elapsed() - waitingSince >= everyMs) await this.#pending.sendAll(false);
      await host.sleep(waitMs, host.signal).catch(() => undefined);
    }
  }

  /** If another run sent the bytes of a group, the group is complete. */
  async #readOtherRuns() {
    if (!(await this.#delivery.runLedger.hasChanged())) return;
    await this.#pending.catchUp();
    for (const { assembler } of this.#files.all) assembler.completeSent();
  }

  /** Returns true if `follow` may read the next file. */
  async #poll(file: FollowedFile, isLastPoll: boolean) {
    const { host } = this.#setup.tools;
    const { groupIdleMs } = this.#setup.options;
    const { assembler } = file;
    if (file.isRewritten || (await this.#findRewrite(file))) return true;
    await this.#files.read(file, async () => await this.#takeLines(file));
    assembler.completeIdle(host.elapsed() - groupIdleMs);
    if (file !== this.#files.all.at(-1)) {
      file.isFinished ||= isLastPoll || host.elapsed() - file.changedAt >= quietMs;
      if (file.isFinished) assembler.completeAll();
    }
    await this.#processCompleted();
    return file.isFinished;
  }

  /** @throws Failure `input-changed` if groups of the old content are not sent */
  async #findRewrite(file: FollowedFile) {
    if (!(await file.tail.isRewritten())) return false;
    const isUnsent = file.assembler.incomplete.length > 0 || this.#pending.isWaitingFor(file.index);
    if (isUnsent) throw inputChanged(this.#setup.options.file, true);
    file.isRewritten = true;
    return true;
  }

  async #takeLines(file: FollowedFile) {
    const { host } = this.#setup.tools;
    file.changedAt = host.elapsed();
    await this.#processCompleted();
    this.#setup.events.onRead(this.#files.bytesRead);
    if (!host.signal.aborted) await this.#pending.sendFull();
  }

  async #processCompleted() {
    const { problems } = this.#files.dataset;
    await this.#pending.add(this.#completed.splice(0));
    if (problems.errors === 0) return;
    if (problems.isInputBroken) throw invalidInput(problems);
    if (this.#setup.policy.onInvalid === "stop") throw invalidInput(problems, { valid: "some" });
  }

  async #finish(stop: Failure | undefined) {
    const { dataset, all } = this.#files;
    const delivery = this.#delivery;
    const { outcomes } = delivery;
    const { reason } = this.#setup.tools.host.signal;
    const hasUnfinishedLine = await this.#reportEnd(stop);
    const isComplete = all.length > 0 && !hasUnfinishedLine && outcomes.groupsWith("not_sent").length === 0;
    // A signal is the normal end of a run that sent all groups.
    const signal = isComplete || !(reason instanceof Failure) ? undefined : reason;
    const result = composeLogResult(delivery, { stop: stop ?? signal });
    const { rejected, read } = result.groups;
    const isNothingValid =
      rejected === read && read > 0 && outcomes.groupsWith("rejected").every((at) => !dataset.groups.isValid(at));
    return isNothingValid && isFailure(result.failure, "log-rejected")
      ? { ...result, failure: invalidInput(dataset.problems) }
      : result;
  }

  /** Reports problems of the whole input. Returns true if the input ends with an incomplete line. */
  async #reportEnd(stop: Failure | undefined) {
    const { dataset, all } = this.#files;
    this.#delivery.outcomes.extendTo(dataset.groups.count);
    const isChanged = isFailure(stop, "input-changed");
    const isReadable = !isChanged && !all.some(({ isRewritten }) => isRewritten);
    const open = all.flatMap(({ assembler }) => assembler.incomplete);
    if (!isChanged) for (const group of open) await finalizeGroup(dataset, group);
    // With `--strict`, these problems would be errors, but the groups are already sent.
    if (isReadable && !this.#setup.options.strictness.strict)
      dataset.note = formatBrokenRules(dataset, await reportDatasetProblems(dataset));
    const isUnread = isChanged || isFailure(stop, "file-not-followable");
    const hasUnfinishedLine = !isUnread && (await this.#files.reportUnfinished());
    if (open.length > 0) dataset.problems.report("incomplete-group", { groups: open.length });
    this.#reportPriorRuns();
    await reportOtherAccounts(this.#delivery);
    if (isReadable) await subtractRefused(this.#delivery);
    return hasUnfinishedLine;
  }

  #reportPriorRuns() {
    const { policy, outcomes, priorOutcomes, dedupKeys } = this.#delivery;
    reportPriorRuns(this.#delivery, (at) => ["already_logged", "unknown"].includes(outcomes.outcomeOf(at)));
    const groups = this.#pending.unknownCount;
    if (groups === 0) return;
    const isOfRun = (entry: Entry) => findGroups(entry.dedupKeys, dedupKeys.find).length > 0;
    const requests = priorOutcomes.unknownEntries().filter(isOfRun).length;
    this.#files.dataset.problems.report("unresolved-requests", { requests, groups, ledgerArgs: policy.ledgerArgs });
  }
}
