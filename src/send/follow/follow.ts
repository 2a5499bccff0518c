/** Follows a growing file: checks lines when they are complete, and sends groups in batches. */
import { basename } from "node:path";
import { Failure, isFailure } from "../../failure.ts";
import {
  type Dataset,
  DedupKeys,
  Digests,
  DigestTable,
  dedupKeyBytes,
  finalizeGroup,
  invalidInput,
  reportDatasetProblems,
} from "../../groups/index.ts";
import { inputChanged, isRemote, plainUrl } from "../../input/index.ts";
import { openRunLedger, PriorOutcomes, type RunLedger } from "../../ledger/index.ts";
import { markUnsent } from "../deliver.ts";
import { type Delivery, openDelivery } from "../delivery.ts";
import { fileNotFollowable } from "../failures.ts";
import { GroupOutcomes } from "../group-outcomes.ts";
import type { DeliverOptions } from "../options.ts";
import { type LogResult, logResult } from "../result.ts";
import { emptySendResult } from "../send-result.ts";
import { type Batches, type CompletedGroup, openBatches } from "./batches.ts";
import {
  type FollowedFile,
  type FollowedFileOptions,
  FollowedFiles,
  type GroupAssemblyOptions,
} from "./followed-file.ts";

export interface FollowOptions
  extends Omit<DeliverOptions, "dryRun" | "oneRequest">,
    Omit<FollowedFileOptions, "split"> {
  /** How long a complete group may wait for other groups. */
  readonly everyMs: number;
  /** The number of trajectories in a complete group, if known. */
  readonly groupSize: number | undefined;
  /** How long after its last trajectory a group is complete. */
  readonly groupIdleMs: number;
  /** Called with the bytes that were read. */
  readonly onRead: (bytes: number) => void;
}

/** The dataset must be closed. */
interface FollowedResult {
  readonly dataset: Dataset;
  readonly result: LogResult;
}

/** As `followFile` of the module. */
export const followFile = async (options: FollowOptions): Promise<FollowedResult> => {
  if (isRemote(options.file)) throw fileNotFollowable(plainUrl(options.file), "not-a-file");
  const own = { ...options, dryRun: false, oneRequest: false };
  const destination = await options.destination();
  let runLedger: RunLedger | undefined;
  let follow: FollowRun;
  try {
    runLedger = await openRunLedger(own, { destination, input: basename(options.file) });
    follow = new FollowRun(own, runLedger);
    await follow.delivery.readPriorOutcomes();
  } catch (thrown) {
    await runLedger?.close();
    throw markUnsent(thrown);
  }
  return await follow.run().finally(async () => await runLedger.close());
};

/** Polls, because not every file system reports changes. */
const pollIntervalMs = 250;

/** How long a renamed file must be quiet, because writers switch to the new file late. */
const quietMs = 1000;

/** Numbers dedup keys, because the keys of earlier runs are read before the groups are known. */
const openKeyNumbers = () => {
  const keys = new Digests();
  const table = new DigestTable(keys);
  const find = (key: Uint8Array): number => table.find(key) ?? -1;
  const add = (key: Uint8Array): number => {
    const known = find(key);
    if (known >= 0) return known;
    keys.append(key);
    return table.add(keys.count - 1);
  };
  return { find, add };
};

const isInputChanged = (stop: Failure | undefined): boolean => isFailure(stop, "input-changed");

class FollowRun {
  readonly delivery: Delivery;
  readonly #options: FollowOptions;
  readonly #files: FollowedFiles;
  readonly #gathering: GroupAssemblyOptions;
  readonly #batches: Batches;
  /** Complete groups that are not in the metrics yet. */
  #completed: CompletedGroup[] = [];
  #hasStoppingError = false;

  constructor(options: FollowOptions & DeliverOptions, runLedger: RunLedger) {
    const { groupBy, groupSize: size, host, file, resendLogged } = options;
    this.#options = options;
    this.#files = new FollowedFiles(options);
    const { dataset } = this.#files;
    const dedupKeys = new DedupKeys();
    const numbers = openKeyNumbers();
    const priorOutcomes = new PriorOutcomes({
      input: basename(file),
      resendLogged,
      numberOf: (keys, offset) => numbers.add(keys.subarray(offset, offset + dedupKeyBytes)),
    });
    const numberOf = (group: number) => numbers.add(dedupKeys.slice(group, 1));
    const state = { outcomes: new GroupOutcomes(0), runLedger, dedupKeys, priorOutcomes, numberOf };
    this.delivery = openDelivery(dataset, { ...options, ...state });
    this.#batches = openBatches(dataset, this.delivery);
    this.#gathering = {
      dedupKeys,
      byKey: groupBy !== undefined,
      size,
      elapsed: host.elapsed,
      wasSent: (key) => !priorOutcomes.isEmpty && priorOutcomes.outcomeOf(numbers.find(key)) !== "not_sent",
      onInvalid: () => {
        // Groups that were complete before the first error are still sent.
        this.#hasStoppingError ||= options.onInvalid === "stop";
      },
      onComplete: (group) => this.#completed.push({ group, isAfterError: this.#hasStoppingError }),
    };
  }

  async run(): Promise<FollowedResult> {
    const { host } = this.#options;
    const { dataset } = this.#files;
    try {
      await this.delivery.rejects?.requireWritable(true);
      const stop = await this.#catchStop(async () => await this.#follow());
      const isEnd = stop === undefined || stop.code === "invalid_input";
      // Complete groups are sent unless the input changed or a second signal came.
      const isSent = isEnd && !host.urgent.aborted && !isInputChanged(stop);
      const sendRest = async () => await this.#batches.sendAll(host.signal.aborted);
      const last = isSent ? await this.#catchStop(sendRest) : undefined;
      return { dataset, result: await this.#finish(stop ?? last) };
    } catch (thrown) {
      await dataset.close();
      throw thrown;
    }
  }

  /** Returns the failure of some work; undefined for a signal. */
  async #catchStop(work: () => Promise<void>): Promise<Failure | undefined> {
    try {
      await work();
      return undefined;
    } catch (thrown) {
      if (!(thrown instanceof Failure)) return this.#files.toUnreadable(thrown);
      const isSignal = thrown.code === "interrupted";
      // A file that cannot be followed at all has no result.
      if (this.#files.all.length === 0 && !isSignal) throw thrown;
      return isSignal ? undefined : thrown;
    }
  }

  /** Reads and sends until a signal comes. */
  async #follow(): Promise<void> {
    const { host, everyMs, groupIdleMs } = this.#options;
    const waitMs = Math.max(10, Math.min(pollIntervalMs, everyMs, groupIdleMs || pollIntervalMs));
    for (;;) {
      const isLast = host.signal.aborted;
      // A group that another run sent is complete.
      if (await this.delivery.options.runLedger.hasChanged()) {
        await this.#batches.catchUp();
        for (const { growing } of this.#files.all) growing.completeSent();
      }
      await this.#files.open(this.#gathering);
      for (const file of this.#files.all) if (!(await this.#poll(file, isLast))) break;
      if (isLast) return;
      const since = this.#batches.waitingSince();
      if (since !== undefined && host.elapsed() - since >= everyMs) await this.#batches.sendAll(false);
      // After a signal, complete lines are read once more.
      await host.sleep(waitMs, host.signal).catch(() => undefined);
    }
  }

  /** Reads new lines; returns true if the file that replaced this one may be read. @throws Failure `input-changed` */
  async #poll(file: FollowedFile, isLast: boolean): Promise<boolean> {
    const { host, groupIdleMs, file: name, onRead } = this.#options;
    const { growing, tail, index } = file;
    if (file.isRewritten) return true;
    if (await tail.isRewritten()) {
      if (growing.incomplete.length > 0 || this.#batches.isWaitingFor(index)) throw inputChanged(name);
      file.isRewritten = true;
      return true;
    }
    await this.#files.read(file, async () => {
      file.changedAt = host.elapsed();
      await this.#processCompleted();
      onRead(this.#files.all.reduce((sum, { tail }) => sum + tail.taken, 0));
      if (!host.signal.aborted) await this.#batches.sendFull();
    });
    growing.completeIdle(host.elapsed() - groupIdleMs);
    if (file !== this.#files.all.at(-1)) {
      file.isFinished ||= isLast || host.elapsed() - file.changedAt >= quietMs;
      if (file.isFinished) growing.completeAll();
    }
    await this.#processCompleted();
    return file.isFinished;
  }

  /** Adds complete groups to the metrics and batches. @throws Failure `invalid-input` if an error stops the run */
  async #processCompleted(): Promise<void> {
    const { problems } = this.#files.dataset;
    await this.#batches.addCompleted(this.#completed.splice(0));
    if (problems.errors === 0) return;
    if (problems.isInputBroken) throw this.#files.toInvalidInput();
    if (this.#options.onInvalid === "stop") throw this.#files.toInvalidInput({ valid: "some" });
  }

  /** @param stop undefined after a signal */
  async #finish(stop: Failure | undefined): Promise<LogResult> {
    const { host, strictness, file } = this.#options;
    const { dataset, all: files } = this.#files;
    const { groups, problems } = dataset;
    const { outcomes, runLedger } = this.delivery.options;
    outcomes.extendTo(groups.count);
    const isReadable = !files.some(({ isRewritten }) => isRewritten) && !isInputChanged(stop);
    const open = files.flatMap(({ growing }) => growing.incomplete);
    if (!isInputChanged(stop)) for (const group of open) await finalizeGroup(dataset, group);
    // With `--strict`, these would be errors, but the groups are sent already.
    if (isReadable && !strictness.strict) await reportDatasetProblems(dataset, [dataset.found.rewards]);
    const isUnfinished = !isInputChanged(stop) && (await this.#files.reportUnfinished());
    if (open.length > 0) problems.report("incomplete-group", { groups: open.length }, () => ({}));
    this.#reportPriorRuns();
    const sent = this.delivery.sent() ?? emptySendResult();
    if (isReadable) await this.delivery.subtractRefused();
    const signal = host.signal.reason instanceof Failure ? host.signal.reason : undefined;
    const isAll = files.length > 0 && !isUnfinished && outcomes.groupsWith("not_sent").length === 0;
    const result = logResult(dataset, {
      ...this.delivery.options,
      resendLogged: false,
      sent: {
        ...sent,
        problems: [...(stop?.details.problems ?? []), ...sent.problems],
        // A signal is the normal end of a run, unless groups are left.
        stop: stop ?? (isAll ? undefined : signal),
      },
      rejectsFile: (this.delivery.rejects?.countLines() ?? 0) > 0 ? this.delivery.rejectsFile : undefined,
      ledger: runLedger.resultFacts,
    });
    // Input without a valid group is invalid input, as without `--follow`.
    const { rejected, read } = result.groups;
    const isNothingValid =
      rejected === read && read > 0 && outcomes.groupsWith("rejected").every((at) => !groups.isValid(at));
    return isNothingValid && isFailure(result.failure, "log-rejected")
      ? { ...result, failure: invalidInput(problems, [file]) }
      : result;
  }

  /** Reports groups that other runs logged, and their unknown requests. */
  #reportPriorRuns(): void {
    const { outcomes, priorOutcomes, dedupKeys } = this.delivery.options;
    this.delivery.reportPriorRuns((group) => ["already_logged", "unknown"].includes(outcomes.outcomeOf(group)));
    const groups = this.#batches.countUnknown();
    if (groups === 0) return;
    const requests = priorOutcomes.unknownEntries.filter(({ dedupKeys: keys }) => dedupKeys.hasAny(keys)).length;
    this.#files.dataset.problems.report("unresolved-requests", { requests, groups }, () => ({}));
  }
}
