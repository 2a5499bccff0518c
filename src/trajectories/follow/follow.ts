/** Follows a file that a run still writes: its lines are checked as they are complete, and sent batch by batch. */
import { basename } from "node:path";
import { Failure } from "../../failure.ts";
import { inputChanged } from "../input/source.ts";
import type { Tail } from "../input/tail.ts";
import type { RunLedger } from "../ledger/run-ledger.ts";
import type { Reading } from "../read/read.ts";
import { breaksWholeInput, type DeliverOptions } from "../send/deliver.ts";
import { GroupOutcomes } from "../send/group-outcomes.ts";
import type { LogResult } from "../send/result.ts";
import { Batches } from "./batches.ts";
import { FollowedFile, type FollowedFileOptions, lookMs } from "./followed-file.ts";
import { GroupsUnderWay } from "./groups-under-way.ts";
import { EarlierMarks, GrowingMarks } from "./growing-marks.ts";
import { followedResult, isChanged, reportUnfinished } from "./result.ts";

/** How a file is followed. */
export interface FollowOptions extends Omit<DeliverOptions, "dryRun" | "oneRequest">, FollowedFileOptions {
  /** The longest that a complete group waits for others. */
  readonly everyMs: number;
  /** Trajectories of a complete group; undefined where nobody knows. */
  readonly groupSize: number | undefined;
  /** How long after its last trajectory a group counts as complete. */
  readonly groupIdleMs: number;
  /** Told how far reading is. */
  readonly onRead: (bytes: number) => void;
}

/** What was read, and what became of it. The reading must be closed. */
export interface Followed {
  readonly reading: Reading;
  readonly result: LogResult;
}

/**
 * Follows a file until a signal comes, or something stops it. What the network or the service does is in the result.
 * @throws Failure `follow-unfit`, `rejects-…`, `ledger-…`, and all of code `storage`, before anything is sent
 */
export const followFile = async (options: FollowOptions): Promise<Followed> => {
  const { openRunLedger } = await import("../ledger/run-ledger.ts");
  const destination = await options.destination();
  const runLedger = await openRunLedger({ ...options, dryRun: false }, { destination, input: basename(options.file) });
  try {
    return await new Follow(options, runLedger).run();
  } finally {
    runLedger.close();
  }
};

/** A run that follows a file. */
class Follow {
  readonly #options: FollowOptions;
  readonly #runLedger: RunLedger;
  readonly #file: FollowedFile;
  readonly #outcomes = new GroupOutcomes(0);
  readonly #earlier: EarlierMarks;
  readonly #marks = new GrowingMarks();
  readonly #underWay: GroupsUnderWay;
  readonly #batches: Batches;
  /** Whether a file was written anew, so that what was read of it can't be looked at again. */
  #rewritten = false;

  constructor(options: FollowOptions, runLedger: RunLedger) {
    const { groupBy, groupSize: size, host, file, resendLogged } = options;
    this.#options = options;
    this.#runLedger = runLedger;
    this.#file = new FollowedFile(options);
    this.#earlier = new EarlierMarks(runLedger.entries(), { input: basename(file), resendLogged });
    const { reading } = this.#file;
    const [marks, earlier] = [this.#marks, this.#earlier];
    this.#batches = new Batches(reading, {
      ...options,
      dryRun: false,
      oneRequest: false,
      runLedger,
      outcomes: this.#outcomes,
      marks,
      earlier,
    });
    this.#underWay = new GroupsUnderWay({
      found: reading.found,
      groups: reading.groups,
      marks,
      earlier,
      byKey: groupBy !== undefined,
      size,
      elapsed: host.elapsed,
      fileOf: (source) => reading.sources[source]?.name ?? file,
      onInvalid: () => this.#batches.halt(),
      onComplete: (group, mark) => this.#batches.add(group, mark),
    });
  }

  /** Follows the file to the end of the run. */
  async run(): Promise<Followed> {
    const { host } = this.#options;
    const { reading } = this.#file;
    try {
      await this.#batches.checkRejects();
      const stop = await this.#untilStopped(async () => await this.#follow());
      const isEnd = stop === undefined || stop.code === "invalid_input";
      // What was complete before the end is sent, unless it can't be, or is not wanted any more.
      const isSent = isEnd && !host.urgent.aborted && !isChanged(stop);
      const sendRest = async () => await this.#batches.sendAll({ last: host.signal.aborted });
      const last = isSent ? await this.#untilStopped(sendRest) : undefined;
      return { reading, result: await this.#end(stop ?? last) };
    } catch (thrown) {
      await reading.close();
      throw thrown;
    }
  }

  /** What stopped something; undefined where a signal or nothing did. */
  async #untilStopped(go: () => Promise<void>): Promise<Failure | undefined> {
    try {
      await go();
      return undefined;
    } catch (thrown) {
      if (!(thrown instanceof Failure)) return this.#file.unreadable(thrown);
      // What can't be followed at all is said as it is.
      if (this.#file.tail === undefined && thrown.code !== "interrupted") throw thrown;
      return thrown.code === "interrupted" ? undefined : thrown;
    }
  }

  /** Reads and sends until a signal comes. */
  async #follow(): Promise<void> {
    const { host, everyMs, groupIdleMs } = this.#options;
    const waitMs = Math.max(10, Math.min(lookMs, everyMs, groupIdleMs === 0 ? lookMs : groupIdleMs));
    let tail = await this.#file.open();
    for (let moved = false; ; ) {
      const isLast = host.signal.aborted;
      const before = tail.taken;
      await this.#read(tail);
      this.#underWay.completeIdle(host.elapsed() - groupIdleMs);
      await this.#settle();
      if (isLast) return;
      const since = this.#batches.waitingSince;
      if (since !== undefined && host.elapsed() - since >= everyMs) await this.#batches.sendAll({ last: false });
      const state = await tail.look();
      // Whoever wrote to a file that was moved away may have written a last line since.
      if (state === "rewritten" || (state === "moved" && moved && tail.taken === before)) {
        await this.#leave(tail, state);
        tail = await this.#file.open();
      }
      moved = state === "moved";
      // A signal ends the wait; what is complete by then is read.
      await host.sleep(waitMs, host.signal).catch(() => undefined);
    }
  }

  async #read(tail: Tail): Promise<void> {
    const { host, onRead } = this.#options;
    await this.#file.read(tail, async (misfit) => {
      this.#underWay.take(misfit);
      await this.#settle();
      onRead(tail.taken);
      if (!host.signal.aborted) await this.#batches.sendFull();
    });
  }

  /** Takes what was completed into account. @throws Failure `input-invalid` where an error stops the run */
  async #settle(): Promise<void> {
    const { problems } = this.#file.reading;
    await this.#batches.settle();
    if (problems.errors === 0) return;
    if (this.#options.onInvalid === "stop" || breaksWholeInput(problems)) throw this.#file.invalid();
  }

  /** Leaves a file for the next one of its name. @throws Failure `input-changed` where something of it is not sent */
  async #leave(tail: Tail, state: "moved" | "rewritten"): Promise<void> {
    const { file, onEvent } = this.#options;
    if (state === "rewritten") {
      const left = this.#underWay.open.length > 0 || this.#batches.waitingSince !== undefined;
      if (left) throw inputChanged(file);
      this.#rewritten = true;
    } else {
      this.#underWay.endFile();
      await this.#settle();
      await this.#batches.sendAll({ last: false });
      await reportUnfinished(tail, this.#file.reading.problems);
    }
    this.#underWay.endFile();
    this.#batches.startAnew();
    this.#marks.startAnew();
    onEvent(state);
  }

  async #end(stop: Failure | undefined): Promise<LogResult> {
    const { reading, tail } = this.#file;
    this.#outcomes.grow(reading.groups.count);
    return await followedResult(reading, {
      options: this.#options,
      tail,
      open: this.#underWay.open,
      batches: this.#batches,
      outcomes: this.#outcomes,
      earlier: this.#earlier,
      runLedger: this.#runLedger,
      rewritten: this.#rewritten,
      stop,
    });
  }
}
