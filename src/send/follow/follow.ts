/** Follows a growing file, and sends complete groups. */

import { basename } from "node:path";
import * as grouping from "../../dataset/index.ts";
import { isRemote, plainUrl } from "../../dataset/index.ts";
import { Failure, isFailure } from "../../failure.ts";
import { findGroups, openPriorOutcomes, openRunLedger, type RunLedger } from "../../ledger/index.ts";
import { inputChanged, invalidInput } from "../../problems/failures.ts";
import { markUnsent } from "../deliver-groups.ts";
import { openDelivery } from "../delivery.ts";
import { fileNotFollowable } from "../failures.ts";
import { openGroupOutcomes } from "../group-outcomes.ts";
import { composeLogResult } from "../log-result.ts";
import type { DeliverOptions } from "../send-options.ts";
import { type FollowedFile, type FollowedFileOptions, openFollowedFiles } from "./followed-file.ts";
import { type CompletedGroup, openGroupSender } from "./group-sender.ts";

export interface FollowOptions
  extends Omit<DeliverOptions, "dryRun" | "oneRequest">,
    Omit<FollowedFileOptions, "split" | "host"> {
  /** The longest time that a complete group waits. */
  everyMs: number;
  groupSize: number | undefined;
  groupIdleMs: number;
  onRead: (bytes: number) => void;
}

export const followFile = async (options: FollowOptions) => {
  if (isRemote(options.file)) throw fileNotFollowable(plainUrl(options.file), "not-a-file");
  const logOptions = { ...options, dryRun: false, oneRequest: false };
  const destination = await options.destination();
  let runLedger: RunLedger | undefined;
  let run: Awaited<ReturnType<typeof openFollowRun>>;
  try {
    runLedger = await openRunLedger(logOptions, { destination, input: basename(options.file) });
    run = await openFollowRun(logOptions, runLedger);
  } catch (thrown) {
    await runLedger?.close();
    throw markUnsent(thrown);
  }
  return await run().finally(async () => await runLedger.close());
};

/** rollcall polls, because some file systems do not report changes. */
const pollIntervalMs = 250;

/** A renamed file can still grow, so it is finished after this time without new lines. */
const quietMs = 1000;

/** Numbers the dedup keys, because keys of earlier runs have no groups yet. */
const openKeyNumbers = () => {
  const keys = new grouping.Digests();
  const table = new grouping.DigestTable(keys);
  const add = (key: Uint8Array) => {
    const known = table.find(key);
    if (known !== undefined) return known;
    keys.append(key);
    return table.add(keys.count - 1);
  };
  return { find: (key: Uint8Array) => table.find(key) ?? -1, add };
};

const openFollowRun = async (options: FollowOptions & DeliverOptions, runLedger: RunLedger) => {
  const { groupSize: size, groupIdleMs, everyMs, host, file: name, onInvalid } = options;
  const dedupKeys = new grouping.DedupKeys();
  const numbers = openKeyNumbers();
  const priorOutcomes = openPriorOutcomes({
    ...options,
    input: basename(name),
    numberOf: (keys, offset) => numbers.add(keys.subarray(offset, offset + grouping.dedupKeyBytes)),
  });
  const completed: CompletedGroup[] = [];
  let hasStoppingError = false;
  const files = openFollowedFiles(options, {
    ...{ dedupKeys, size },
    wasSent: (key) => !priorOutcomes.isEmpty() && priorOutcomes.outcomeOf(numbers.find(key)) !== "not_sent",
    onInvalid: () => {
      hasStoppingError = onInvalid === "stop";
    },
    onComplete: (group) => completed.push({ group, isAfterError: hasStoppingError }),
  });
  const { dataset } = files;
  const { groups, problems } = dataset;
  const numberOf = (group: number) => numbers.add(dedupKeys.slice(group, 1));
  const outcomes = openGroupOutcomes(0);
  const delivery = openDelivery(dataset, { ...options, outcomes, runLedger, dedupKeys, priorOutcomes, numberOf });
  const batches = openGroupSender(delivery);

  const catchStop = async (work: Promise<void>) => {
    try {
      await work;
      return undefined;
    } catch (thrown) {
      if (!(thrown instanceof Failure)) return files.toUnreadable(thrown);
      const isSignal = thrown.code === "interrupted";
      if (files.all.length === 0 && !isSignal) throw thrown;
      return isSignal ? undefined : thrown;
    }
  };

  const processCompleted = async () => {
    await batches.addCompleted(completed.splice(0));
    if (problems.errors === 0) return;
    if (problems.isInputBroken) throw invalidInput(problems);
    if (onInvalid === "stop") throw invalidInput(problems, { valid: "some" });
  };

  /** Returns true if `follow` may read the next file. */
  const poll = async (file: FollowedFile, isLastPoll: boolean) => {
    const { assembler, tail, index } = file;
    if (file.isRewritten) return true;
    if (await tail.isRewritten()) {
      if (assembler.incomplete.length > 0 || batches.isWaitingFor(index)) throw inputChanged(name, true);
      file.isRewritten = true;
      return true;
    }
    await files.read(file, async () => {
      file.changedAt = host.elapsed();
      await processCompleted();
      options.onRead(files.all.reduce((sum, { tail }) => sum + tail.taken(), 0));
      if (!host.signal.aborted) await batches.sendFull();
    });
    assembler.completeIdle(host.elapsed() - groupIdleMs);
    if (file !== files.all.at(-1)) {
      file.isFinished ||= isLastPoll || host.elapsed() - file.changedAt >= quietMs;
      if (file.isFinished) assembler.completeAll();
    }
    await processCompleted();
    return file.isFinished;
  };

  const follow = async () => {
    const waitMs = Math.max(10, Math.min(pollIntervalMs, everyMs, groupIdleMs || pollIntervalMs));
    for (;;) {
      const isLastPoll = host.signal.aborted;
      // If another run sent the bytes of a group, the group is complete.
      if (await runLedger.hasChanged()) {
        await batches.catchUp();
        for (const { assembler } of files.all) assembler.completeSent();
      }
      await files.open();
      for (const file of files.all) if (!(await poll(file, isLastPoll))) break;
      if (isLastPoll) return;
      const since = batches.waitingSince();
      if (since !== undefined && host.elapsed() - since >= everyMs) await batches.sendAll(false);
      // After a signal, the loop reads lines once more.
      await host.sleep(waitMs, host.signal).catch(() => undefined);
    }
  };

  const reportPriorRuns = () => {
    delivery.reportPriorRuns((group) => ["already_logged", "unknown"].includes(outcomes.outcomeOf(group)));
    const unknownCount = batches.countUnknown();
    if (unknownCount === 0) return;
    const entries = priorOutcomes.unknownEntries();
    const requests = entries.filter((entry) => findGroups(entry.dedupKeys, dedupKeys.find).length > 0).length;
    problems.report("unresolved-requests", { requests, groups: unknownCount, ledgerArgs: options.ledgerArgs });
  };

  const finish = async (stop: Failure | undefined) => {
    outcomes.extendTo(groups.count);
    const isChanged = isFailure(stop, "input-changed");
    const isReadable = !files.all.some(({ isRewritten }) => isRewritten) && !isChanged;
    const open = files.all.flatMap(({ assembler }) => assembler.incomplete);
    if (!isChanged) for (const group of open) await grouping.finalizeGroup(dataset, group);
    // With `--strict`, these problems would be errors, but the groups are already sent.
    if (isReadable && !options.strictness.strict) await grouping.reportDatasetProblems(dataset, [dataset.scan.rewards]);
    const isUnread = isChanged || isFailure(stop, "file-not-followable");
    const hasUnfinishedLine = !isUnread && (await files.reportUnfinished());
    if (open.length > 0) problems.report("incomplete-group", { groups: open.length });
    reportPriorRuns();
    if (isReadable) await delivery.subtractRefused();
    const signal = host.signal.reason instanceof Failure ? host.signal.reason : undefined;
    const isComplete = files.all.length > 0 && !hasUnfinishedLine && outcomes.groupsWith("not_sent").length === 0;
    const result = composeLogResult(dataset, {
      ...delivery.options,
      resendLogged: false,
      // A signal is the normal end of a run that sent all groups.
      sent: { ...delivery.sendResult(), stop: stop ?? (isComplete ? undefined : signal) },
      rejectsFile: delivery.rejects?.countLines() ? delivery.rejectsFile : undefined,
    });
    const { rejected, read } = result.groups;
    const isNothingValid =
      rejected === read && read > 0 && outcomes.groupsWith("rejected").every((at) => !groups.isValid(at));
    return isNothingValid && isFailure(result.failure, "log-rejected")
      ? { ...result, failure: invalidInput(problems) }
      : result;
  };

  await delivery.readPriorOutcomes();
  return async () => {
    try {
      await delivery.rejects?.requireWritable(true);
      const stop = await catchStop(follow());
      const canContinue = !stop || stop.code === "invalid_input";
      const isSending = canContinue && !host.urgent.aborted && !isFailure(stop, "input-changed");
      const lastStop = isSending ? await catchStop(batches.sendAll(host.signal.aborted)) : undefined;
      return { dataset, result: await finish(stop ?? lastStop) };
    } catch (thrown) {
      await dataset.close();
      throw thrown;
    }
  };
};
