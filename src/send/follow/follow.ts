/** Follows a file that a run still writes: its lines are checked as they are complete, and sent batch by batch. */
import { basename } from "node:path";
import { Failure } from "../../failure.ts";
import type { Reading } from "../../groups/index.ts";
import { DedupKeys } from "../../groups/index.ts";
import { isRemote, plainName } from "../../input/remote-names.ts";
import { inputChanged } from "../../input/source.ts";
import { openRunLedger, type RunLedger } from "../../ledger/index.ts";
import { type DeliverOptions, unsent } from "../deliver.ts";
import { GroupOutcomes } from "../group-outcomes.ts";
import type { LogResult } from "../result.ts";
import { Batches } from "./batches.ts";
import { EarlierKeys } from "./earlier-keys.ts";
import { type FollowedFile, type FollowedFileOptions, FollowedFiles, type Gathering } from "./followed-file.ts";
import { followedResult, isChanged } from "./result.ts";

/** How a file is followed. */
export interface FollowOptions
  extends Omit<DeliverOptions, "dryRun" | "oneRequest">,
    Omit<FollowedFileOptions, "split"> {
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
  if (isRemote(options.file)) throw new Failure("follow-unfit", { file: plainName(options.file), found: "not-a-file" });
  const destination = await options.destination();
  let runLedger: RunLedger | undefined;
  let follow: Follow;
  try {
    runLedger = await openRunLedger({ ...options, dryRun: false }, { destination, input: basename(options.file) });
    follow = new Follow(options, runLedger);
    await follow.takeEarlier();
  } catch (thrown) {
    await runLedger?.close();
    throw unsent(thrown);
  }
  return await follow.run().finally(async () => await runLedger.close());
};

/** How often the file is looked at: it may be on a file system that tells nobody of changes. */
const lookMs = 250;

/** How long nothing is written to a file that another one took the name of before that one is read: writers turn to it late. */
const quietMs = 1000;

/** A run that follows a file. */
class Follow {
  readonly #options: FollowOptions;
  readonly #runLedger: RunLedger;
  readonly #files: FollowedFiles;
  readonly #outcomes = new GroupOutcomes(0);
  readonly #earlier: EarlierKeys;
  readonly #marks = new DedupKeys();
  readonly #gathering: Gathering;
  readonly #batches: Batches;

  constructor(options: FollowOptions, runLedger: RunLedger) {
    const { groupBy, groupSize: size, host, file, resendLogged } = options;
    this.#options = options;
    this.#runLedger = runLedger;
    this.#files = new FollowedFiles(options);
    this.#earlier = new EarlierKeys({ input: basename(file), resendLogged });
    const { reading } = this.#files;
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
    this.#gathering = {
      dedupKeys: marks,
      byKey: groupBy !== undefined,
      size,
      elapsed: host.elapsed,
      wasSent: (key) => !earlier.runs.isEmpty && earlier.outcomeOf(key) !== "not_sent",
      onInvalid: () => this.#batches.halt(),
      onComplete: (group) => this.#batches.add(group),
    };
  }

  /** Takes over what runs before this one did. */
  async takeEarlier(): Promise<void> {
    await this.#earlier.runs.take(this.#runLedger.entries());
  }

  /** Follows the file to the end of the run. */
  async run(): Promise<Followed> {
    const { host } = this.#options;
    const { reading } = this.#files;
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
      if (!(thrown instanceof Failure)) return this.#files.unreadable(thrown);
      // What can't be followed at all is said as it is.
      if (this.#files.all.length === 0 && thrown.code !== "interrupted") throw thrown;
      return thrown.code === "interrupted" ? undefined : thrown;
    }
  }

  /** Reads and sends until a signal comes. */
  async #follow(): Promise<void> {
    const { host, everyMs, groupIdleMs } = this.#options;
    const waitMs = Math.max(10, Math.min(lookMs, everyMs, groupIdleMs === 0 ? lookMs : groupIdleMs));
    for (;;) {
      const isLast = host.signal.aborted;
      await this.#catchUp();
      await this.#files.open(this.#gathering);
      for (const file of this.#files.all) if (!(await this.#look(file, isLast))) break;
      if (isLast) return;
      const since = this.#batches.waitingSince;
      if (since !== undefined && host.elapsed() - since >= everyMs) await this.#batches.sendAll({ last: false });
      // A signal ends the wait; what is complete by then is read.
      await host.sleep(waitMs, host.signal).catch(() => undefined);
    }
  }

  /** Takes over what other runs did meanwhile: a group ends where one of them sent it. */
  async #catchUp(): Promise<void> {
    if (!(await this.#runLedger.hasNews())) return;
    await this.#batches.catchUp();
    for (const { underWay } of this.#files.all) underWay.completeSent();
  }

  /** Reads what was written to a file; whether the one that took its name may be read. @throws Failure `input-changed` where something of it is not sent */
  async #look(file: FollowedFile, isLast: boolean): Promise<boolean> {
    const { host, groupIdleMs, file: name } = this.#options;
    const { underWay, tail, index } = file;
    if (file.isGone) return true;
    if (await tail.isRewritten()) {
      if (underWay.incomplete.length > 0 || this.#batches.isWaitingFor(index)) throw inputChanged(name);
      file.isGone = true;
      return true;
    }
    await this.#read(file);
    underWay.completeIdle(host.elapsed() - groupIdleMs);
    if (file !== this.#files.all.at(-1)) {
      file.isOver ||= isLast || host.elapsed() - file.changedAt >= quietMs;
      if (file.isOver) underWay.completeAll();
    }
    await this.#settle();
    return file.isOver;
  }

  async #read(file: FollowedFile): Promise<void> {
    const { host, onRead } = this.#options;
    await this.#files.read(file, async () => {
      file.changedAt = host.elapsed();
      await this.#settle();
      onRead(this.#files.all.reduce((sum, { tail }) => sum + tail.taken, 0));
      if (!host.signal.aborted) await this.#batches.sendFull();
    });
  }

  /** Takes what was completed into account. @throws Failure `input-invalid` where an error stops the run */
  async #settle(): Promise<void> {
    const { problems } = this.#files.reading;
    await this.#batches.settle();
    if (problems.errors === 0) return;
    if (problems.breaksInput) throw this.#files.invalid();
    if (this.#options.onInvalid === "stop") throw this.#files.invalid({ valid: "some" });
  }

  async #end(stop: Failure | undefined): Promise<LogResult> {
    const { reading, all } = this.#files;
    this.#outcomes.grow(reading.groups.count);
    return await followedResult(reading, {
      options: this.#options,
      files: all,
      batches: this.#batches,
      outcomes: this.#outcomes,
      earlier: this.#earlier,
      marks: this.#marks,
      runLedger: this.#runLedger,
      stop,
    });
  }
}
