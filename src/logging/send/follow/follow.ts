/** Follows a growing file, and sends complete groups. */

import { basename } from "node:path";
import { Failure, isFailure } from "../../../failure.ts";
import { reportDatasetProblems } from "../../../rollouts/dataset/dataset-problems.ts";
import { finalizeGroup } from "../../../rollouts/dataset/group-metrics.ts";
import { formatBrokenRules } from "../../../rollouts/dataset/missing-features.ts";
import { Digests, DigestTable } from "../../../rollouts/index/column.ts";
import { DedupKeys, dedupKeyBytes } from "../../../rollouts/index/dedup-keys.ts";
import { isRemote, plainUrl } from "../../../rollouts/input/names.ts";
import { inputChanged, invalidInput } from "../../../rollouts/rules/failures.ts";
import { type Entry, findGroups } from "../../ledger/entries.ts";
import { openRunLedger } from "../../ledger/open-ledger.ts";
import { openPriorOutcomes } from "../../ledger/prior-outcomes.ts";
import type { RunLedger } from "../../ledger/recorded-requests.ts";
import { markUnsent } from "../deliver-groups.ts";
import { type Delivery, openDelivery } from "../delivery.ts";
import { fileNotFollowable } from "../failures.ts";
import { openGroupOutcomes } from "../group-outcomes.ts";
import { composeLogResult } from "../log-result.ts";
import type { DeliverOptions } from "../send-options.ts";
import { type FollowedFile, type FollowedFileOptions, FollowedFiles } from "./followed-files.ts";
import { type CompletedGroup, PendingGroups } from "./pending-groups.ts";

export interface FollowOptions
  extends Omit<DeliverOptions, "dryRun" | "oneRequest">,
    Omit<FollowedFileOptions, "split" | "host"> {
  /** The longest time that a complete group waits. */
  everyMs: number;
  groupSize: number | undefined;
  groupIdleMs: number;
  onRead: (bytes: number) => void;
}

type RunOptions = FollowOptions & DeliverOptions;

export const followFile = async (options: FollowOptions) => {
  if (isRemote(options.file)) throw fileNotFollowable(plainUrl(options.file), "not-a-file");
  const runOptions = { ...options, dryRun: false, oneRequest: false };
  const destination = await options.destination();
  let runLedger: RunLedger | undefined;
  let run: FollowRun;
  try {
    runLedger = await openRunLedger(runOptions, { destination, input: basename(options.file) });
    run = new FollowRun(runOptions, runLedger);
    await run.open();
  } catch (thrown) {
    await runLedger?.close();
    throw markUnsent(thrown);
  }
  return await run.run().finally(async () => await runLedger.close());
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
  readonly #options: RunOptions;
  readonly #files: FollowedFiles;
  readonly #delivery: Delivery;
  readonly #pending: PendingGroups;
  readonly #completed: CompletedGroup[] = [];
  #hasStoppingError = false;

  constructor(options: RunOptions, runLedger: RunLedger) {
    this.#options = options;
    const numbers = new KeyNumbers();
    const dedupKeys = new DedupKeys();
    const priorOutcomes = openPriorOutcomes({
      ...options,
      input: basename(options.file),
      numberOf: (keys, offset) => numbers.add(keys.subarray(offset, offset + dedupKeyBytes)),
    });
    this.#files = new FollowedFiles(options, {
      dedupKeys,
      size: options.groupSize,
      wasSent: (key) => !priorOutcomes.isEmpty() && priorOutcomes.outcomeOf(numbers.find(key)) !== "not_sent",
      onInvalid: () => {
        this.#hasStoppingError = options.onInvalid === "stop";
      },
      onComplete: (group) => this.#completed.push({ group, isAfterError: this.#hasStoppingError }),
    });
    const numberOf = (group: number) => numbers.add(dedupKeys.slice(group, 1));
    const state = { outcomes: openGroupOutcomes(0), runLedger, dedupKeys, priorOutcomes, numberOf };
    this.#delivery = openDelivery(this.#files.dataset, { ...options, ...state });
    this.#pending = new PendingGroups(this.#delivery);
  }

  async open() {
    await this.#delivery.readPriorOutcomes();
  }

  async run() {
    const { dataset } = this.#files;
    const { signal, urgent } = this.#options.host;
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
    const { host, everyMs, groupIdleMs } = this.#options;
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
    if (!(await this.#delivery.options.runLedger.hasChanged())) return;
    await this.#pending.catchUp();
    for (const { assembler } of this.#files.all) assembler.completeSent();
  }

  /** Returns true if `follow` may read the next file. */
  async #poll(file: FollowedFile, isLastPoll: boolean) {
    const { host, groupIdleMs } = this.#options;
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
    if (isUnsent) throw inputChanged(this.#options.file, true);
    file.isRewritten = true;
    return true;
  }

  async #takeLines(file: FollowedFile) {
    const { host, onRead } = this.#options;
    file.changedAt = host.elapsed();
    await this.#processCompleted();
    onRead(this.#files.bytesRead);
    if (!host.signal.aborted) await this.#pending.sendFull();
  }

  async #processCompleted() {
    const { problems } = this.#files.dataset;
    await this.#pending.add(this.#completed.splice(0));
    if (problems.errors === 0) return;
    if (problems.isInputBroken) throw invalidInput(problems);
    if (this.#options.onInvalid === "stop") throw invalidInput(problems, { valid: "some" });
  }

  async #finish(stop: Failure | undefined) {
    const { dataset, all } = this.#files;
    const delivery = this.#delivery;
    const { outcomes } = delivery.options;
    const { reason } = this.#options.host.signal;
    const hasUnfinishedLine = await this.#reportEnd(stop);
    const isComplete = all.length > 0 && !hasUnfinishedLine && outcomes.groupsWith("not_sent").length === 0;
    // A signal is the normal end of a run that sent all groups.
    const signal = isComplete || !(reason instanceof Failure) ? undefined : reason;
    const result = composeLogResult(dataset, {
      ...delivery.options,
      resendLogged: false,
      sent: { ...delivery.sendResult(), stop: stop ?? signal },
      rejectsFile: delivery.rejects?.countLines() ? delivery.rejectsFile : undefined,
    });
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
    this.#delivery.options.outcomes.extendTo(dataset.groups.count);
    const isChanged = isFailure(stop, "input-changed");
    const isReadable = !isChanged && !all.some(({ isRewritten }) => isRewritten);
    const open = all.flatMap(({ assembler }) => assembler.incomplete);
    if (!isChanged) for (const group of open) await finalizeGroup(dataset, group);
    // With `--strict`, these problems would be errors, but the groups are already sent.
    if (isReadable && !this.#options.strictness.strict)
      dataset.note = formatBrokenRules(dataset, await reportDatasetProblems(dataset, [dataset.scan.rewards]));
    const isUnread = isChanged || isFailure(stop, "file-not-followable");
    const hasUnfinishedLine = !isUnread && (await this.#files.reportUnfinished());
    if (open.length > 0) dataset.problems.report("incomplete-group", { groups: open.length });
    this.#reportPriorRuns();
    await this.#delivery.reportOtherAccounts();
    if (isReadable) await this.#delivery.subtractRefused();
    return hasUnfinishedLine;
  }

  #reportPriorRuns() {
    const { ledgerArgs, outcomes, priorOutcomes, dedupKeys } = this.#delivery.options;
    this.#delivery.reportPriorRuns((at) => ["already_logged", "unknown"].includes(outcomes.outcomeOf(at)));
    const groups = this.#pending.unknownCount;
    if (groups === 0) return;
    const isOfRun = (entry: Entry) => findGroups(entry.dedupKeys, dedupKeys.find).length > 0;
    const requests = priorOutcomes.unknownEntries().filter(isOfRun).length;
    this.#files.dataset.problems.report("unresolved-requests", { requests, groups, ledgerArgs });
  }
}
