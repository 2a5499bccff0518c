/** Follows a file that a run still writes: its lines are checked as they are complete, and sent batch by batch. */

import { basename } from "node:path";
import { Failure } from "../../failure.ts";
import { codeOf } from "../../files.ts";
import { blocksOf } from "../input/lines.ts";
import { sniff } from "../input/sniff.ts";
import { Shrunk, type Source } from "../input/source.ts";
import { isPacked } from "../input/spool.ts";
import { NotAFile, Tail } from "../input/tail.ts";
import type { RunLedger } from "../ledger/run-ledger.ts";
import { type Found, nothingFound } from "../read/parts/found.ts";
import { invalidInput, type Reading } from "../read/read.ts";
import { byteOrderMark, longestText, Scan } from "../read/scan/scan.ts";
import { kernelForGrowing } from "../read/scan/scan-source.ts";
import type { Judgement } from "../rules/judgement.ts";
import { breaksWholeInput, type DeliverOptions } from "../send/deliver.ts";
import { GroupOutcomes } from "../send/group-outcomes.ts";
import type { LogResult } from "../send/result.ts";
import { Agreement } from "./agreement.ts";
import { Batches } from "./batches.ts";
import { Gathering } from "./groups-under-way.ts";
import { GrowingGroups } from "./growing-groups.ts";
import { EarlierMarks, GrowingMarks } from "./growing-marks.ts";
import { followedResult, isChanged, reportUnfinished } from "./result.ts";

/** How a file is followed. */
export interface FollowOptions extends Omit<DeliverOptions, "dryRun" | "oneRequest"> {
  readonly file: string;
  readonly groupBy: string | undefined;
  readonly judgement: Judgement;
  /** The longest that a complete group waits for others. */
  readonly everyMs: number;
  /** Trajectories of a complete group; undefined where nobody knows. */
  readonly groupSize: number | undefined;
  /** How long after its last trajectory a group counts as complete. */
  readonly groupIdleMs: number;
  /** Told what becomes of the file. */
  readonly onEvent: (event: FollowEvent) => void;
  /** Told how far reading is. */
  readonly onRead: (bytes: number) => void;
}

/** What becomes of a file: it is not there yet; another one has its name; it was written anew. */
export type FollowEvent = "waiting" | "moved" | "rewritten";

/** What was read, and what became of it. The reading must be closed. */
export interface Followed {
  readonly reading: Reading;
  readonly result: LogResult;
}

/** How often the file is looked at: it may be on a file system that tells nobody of changes. */
const lookMs = 250;

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
  readonly #sources: Source[] = [];
  readonly #found: Found;
  readonly #groups: GrowingGroups;
  readonly #outcomes = new GroupOutcomes(0);
  readonly #earlier: EarlierMarks;
  readonly #marks = new GrowingMarks();
  readonly #gathering: Gathering;
  readonly #batches: Batches;
  readonly #reading: Reading;
  #tail: Tail | undefined;
  #scan: Scan | undefined;
  readonly #agreement: Agreement;
  /** Whether a file was written anew, so that what was read of it can't be looked at again. */
  #rewritten = false;

  constructor(options: FollowOptions, runLedger: RunLedger) {
    const { judgement, groupBy, split, groupSize: size, host, file, resendLogged } = options;
    this.#options = options;
    this.#runLedger = runLedger;
    const found = nothingFound(judgement);
    this.#found = found;
    this.#agreement = new Agreement(found, { split, judgement });
    const sources = this.#sources;
    const groups = new GrowingGroups(found.parts);
    this.#groups = groups;
    this.#reading = {
      sources,
      found,
      groups,
      split,
      get ownKeys() {
        return found.requests.different[0]?.keys ?? new Map();
      },
      problems: found.problems,
      close: async () => {
        for (const { bytes } of sources) await bytes.close();
      },
    };
    const [marks, earlier] = [
      this.#marks,
      new EarlierMarks(runLedger.entries(), { input: basename(file), resendLogged }),
    ];
    this.#earlier = earlier;
    this.#batches = new Batches(this.#reading, {
      ...options,
      dryRun: false,
      oneRequest: false,
      runLedger,
      outcomes: this.#outcomes,
      marks,
      earlier,
    });
    this.#gathering = new Gathering({
      found,
      groups,
      marks,
      earlier,
      byKey: groupBy !== undefined,
      size,
      elapsed: host.elapsed,
      fileOf: (source) => sources[source]?.name ?? file,
      onInvalid: () => this.#batches.halt(),
      onComplete: (group, mark) => this.#batches.add(group, mark),
    });
  }

  /** Follows the file to the end of the run. */
  async run(): Promise<Followed> {
    const { host } = this.#options;
    try {
      await this.#batches.checkRejects();
      const stop = await this.#untilStopped(async () => await this.#follow());
      const isEnd = stop === undefined || stop.code === "invalid_input";
      // What was complete before the end is sent, unless it can't be, or is not wanted any more.
      const last =
        isEnd && !host.urgent.aborted && !isChanged(stop) ? await this.#untilStopped(() => this.#finish()) : undefined;
      return { reading: this.#reading, result: await this.#end(stop ?? last) };
    } catch (thrown) {
      await this.#reading.close();
      throw thrown;
    }
  }

  /** What stopped something; undefined where a signal or nothing did. */
  async #untilStopped(go: () => Promise<void>): Promise<Failure | undefined> {
    try {
      await go();
      return undefined;
    } catch (thrown) {
      if (!(thrown instanceof Failure)) return this.#unreadable(thrown);
      // What can't be followed at all is said as it is.
      if (this.#sources.length === 0 && thrown.code !== "interrupted") throw thrown;
      return thrown.code === "interrupted" ? undefined : thrown;
    }
  }

  /** Reads and sends until a signal comes. */
  async #follow(): Promise<void> {
    const { host, everyMs, groupIdleMs } = this.#options;
    const waitMs = Math.max(10, Math.min(lookMs, everyMs, groupIdleMs === 0 ? lookMs : groupIdleMs));
    let tail = await this.#open();
    for (let moved = false; ; ) {
      const isLast = host.signal.aborted;
      const before = tail.taken;
      await this.#read(tail);
      this.#gathering.completeIdle(host.elapsed() - groupIdleMs);
      await this.#settle();
      if (isLast) return;
      const since = this.#batches.waitingSince;
      if (since !== undefined && host.elapsed() - since >= everyMs) await this.#batches.sendAll({ last: false });
      const state = await tail.look();
      // Whoever wrote to a file that was moved away may have written a last line since.
      if (state === "rewritten" || (state === "moved" && moved && tail.taken === before)) {
        await this.#leave(tail, state);
        tail = await this.#open();
      }
      moved = state === "moved";
      // A signal ends the wait; what is complete by then is read.
      await host.sleep(waitMs, host.signal).catch(() => undefined);
    }
  }

  /** Opens the file, once it is there. @throws the signal's reason; Failure `follow-unfit`, `input-invalid` */
  async #open(): Promise<Tail> {
    const { host, file, onEvent, judgement, groupBy } = this.#options;
    const index = this.#sources.length;
    for (let said = false; ; said = true) {
      try {
        const tail = await Tail.open(file, index === 0 ? file : `${file} (file ${index + 1})`);
        this.#tail = tail;
        this.#sources.push(tail.source);
        const kernel = kernelForGrowing(groupBy);
        this.#scan = new Scan(tail.source, { index, groupBy, judgement, kernel, found: this.#found });
        return tail;
      } catch (thrown) {
        if (codeOf(thrown) !== "ENOENT") throw this.#unreadable(thrown);
      }
      if (!said) onEvent("waiting");
      await host.sleep(lookMs, host.signal);
    }
  }

  /** Leaves a file for the next one of its name. @throws Failure `input-changed` where something of it is not sent */
  async #leave(tail: Tail, state: "moved" | "rewritten"): Promise<void> {
    const { file, onEvent } = this.#options;
    if (state === "rewritten") {
      const left = this.#gathering.open.length > 0 || this.#batches.waitingSince !== undefined;
      if (left) throw new Failure("input-changed", { file });
      this.#rewritten = true;
    } else {
      this.#gathering.endFile();
      await this.#settle();
      await this.#batches.sendAll({ last: false });
      await reportUnfinished(tail, this.#found.problems);
    }
    this.#gathering.endFile();
    this.#batches.startAnew();
    this.#marks.startAnew();
    onEvent(state);
  }

  /** Takes the lines that are complete. @throws Failure `input-invalid`, `follow-unfit`, and what stops sending */
  async #read(tail: Tail): Promise<void> {
    const { host, onRead } = this.#options;
    const head = tail.taken === 0 ? await tail.head() : noBytes;
    if (tail.taken === 0) this.#checkKind(head);
    const end = await tail.completeEnd();
    const start = byteOrderMark.every((byte, at) => head[at] === byte) ? byteOrderMark.length : tail.taken;
    if (end <= start) return;
    try {
      for await (const block of blocksOf(tail.source.bytes, { start, end, longest: longestText })) {
        if (host.urgent.aborted) return;
        this.#scan?.takeBlock(block);
        this.#scan?.settle();
        if (block.kind === "lines") await tail.take(block.start + block.bytes.length);
        this.#gathering.take(this.#agreement.brokenAt());
        await this.#settle();
        onRead(tail.taken);
        if (!host.signal.aborted) await this.#batches.sendFull();
      }
    } catch (thrown) {
      // The next look says what became of it.
      if (!(thrown instanceof Shrunk)) throw thrown;
      return;
    }
    await tail.take(end);
  }

  #checkKind(head: Buffer): void {
    const { file } = this.#options;
    const { problems } = this.#found;
    if (isPacked(head)) throw new Failure("follow-unfit", { file, found: "compressed" });
    const sniffed = sniff(head);
    if (sniffed === undefined) return;
    if (sniffed.rule === "utf-16") problems.report("utf-16", sniffed.data, () => ({ file }));
    else problems.report("not-json", sniffed.data, () => ({ file }));
    throw this.#invalid();
  }

  /** Takes what was completed into account. @throws Failure `input-invalid` where an error stops the run */
  async #settle(): Promise<void> {
    const { onInvalid } = this.#options;
    const { problems } = this.#found;
    await this.#batches.settle();
    if (problems.errors === 0) return;
    if (onInvalid === "stop" || breaksWholeInput(problems)) throw this.#invalid();
  }

  /** What a run ends with that can't read its file. @throws what is no fault of the file */
  #unreadable(thrown: unknown): Failure {
    const { file } = this.#options;
    const { problems } = this.#found;
    const code = codeOf(thrown);
    if (thrown instanceof NotAFile && !thrown.isFolder)
      return new Failure("follow-unfit", { file, found: "not-a-file" });
    if (thrown instanceof NotAFile) problems.report("file-is-folder", undefined, () => ({ file }));
    else if (code !== "unknown") problems.report("file-unreadable", { code }, () => ({ file }));
    else throw thrown;
    return invalidInput(problems, [file]);
  }

  #invalid(): Failure {
    return invalidInput(
      this.#found.problems,
      this.#sources.map(({ name }) => name),
    );
  }

  /** Sends what is complete. */
  async #finish(): Promise<void> {
    await this.#batches.sendAll({ last: this.#options.host.signal.aborted });
  }

  async #end(stop: Failure | undefined): Promise<LogResult> {
    this.#outcomes.grow(this.#groups.count);
    return await followedResult(this.#reading, {
      options: this.#options,
      tail: this.#tail,
      open: this.#gathering.open,
      batches: this.#batches,
      outcomes: this.#outcomes,
      earlier: this.#earlier,
      runLedger: this.#runLedger,
      rewritten: this.#rewritten,
      stop,
    });
  }
}

const noBytes = Buffer.alloc(0);
