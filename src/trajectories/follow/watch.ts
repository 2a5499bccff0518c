/** Follows files that runs still write, and those that are added to folders, for whoever looks at them: nothing is sent. */
import { Failure, isFailure } from "../../failure.ts";
import { folderAt } from "../input/folder.ts";
import { isRemote, plainName } from "../input/remote-names.ts";
import { reportGroup } from "../read/dataset.ts";
import { closeGroup, type Reading } from "../read/read.ts";
import { lenient } from "../rules/judgement.ts";
import { type FollowedFile, type FollowedFileOptions, FollowedFiles } from "./followed-file.ts";
import type { Gathering } from "./groups-under-way.ts";
import { EarlierMarks, GrowingMarks } from "./growing-marks.ts";

/** How files are watched. */
export interface WatchOptions extends Omit<FollowedFileOptions, "file" | "judgement"> {
  /** Files and folders. */
  readonly files: readonly string[];
  /** Told how far the first reading is, in bytes. */
  readonly onRead: (bytes: number, of: number) => void;
  /** Told once all was read that is there, and again whenever something was added; nothing is read meanwhile. */
  readonly onGrown: (reading: Reading) => Promise<void>;
}

/** Files of folders that can be followed: those of lines. */
const ofLines = /\.(?:jsonl|ndjson)$/;

/** How often files are looked at: they may be on a file system that tells nobody of changes. */
const lookMs = 1000;

/** Follows files until a signal comes. @throws Failure `follow-unfit`, `input-invalid` where none of them can be followed */
export const watchFiles = async (options: WatchOptions): Promise<void> => {
  const { host, files } = options;
  const unfit = files.length === 0 ? "-" : files.find((file) => file === "-" || isRemote(file));
  if (unfit !== undefined) throw new Failure("follow-unfit", { file: plainName(unfit), found: "not-a-file" });
  const watch = new Watch(options);
  try {
    while (!host.signal.aborted) {
      await watch.look();
      await host.sleep(lookMs, host.signal).catch(() => undefined);
    }
  } finally {
    await watch.close();
  }
};

class Watch {
  readonly #options: WatchOptions;
  readonly #files: FollowedFiles;
  readonly #gathering: Gathering;
  /** Names of files that can't be read. */
  readonly #unreadable = new Set<string>();
  #completed: number[] = [];
  #isShown = false;
  #hasGrown = false;

  constructor(options: WatchOptions) {
    this.#options = options;
    this.#files = new FollowedFiles({ ...options, file: options.files[0] ?? "-", judgement: lenient });
    const { found, groups } = this.#files.reading;
    this.#gathering = {
      found,
      groups,
      // What other runs logged is nothing to who looks.
      marks: new GrowingMarks(),
      earlier: new EarlierMarks({ input: "", resendLogged: false }),
      byKey: options.groupBy !== undefined,
      size: undefined,
      elapsed: options.host.elapsed,
      onInvalid: () => undefined,
      onComplete: (group) => this.#completed.push(group),
    };
  }

  /** Reads what was written since the last look. @throws Failure where no file can be read */
  async look(): Promise<void> {
    const { host, onGrown } = this.#options;
    for (const file of this.#names())
      await this.#tried(file, async () => await this.#files.open(this.#gathering, file));
    for (const file of this.#files.all) {
      if (host.signal.aborted) return;
      if (file.isGone || this.#unreadable.has(file.file)) continue;
      await this.#tried(file.file, async () => await this.#read(file));
    }
    if (this.#isShown && !this.#hasGrown) return;
    this.#isShown = true;
    this.#hasGrown = false;
    await onGrown(this.#files.reading);
  }

  async close(): Promise<void> {
    await this.#files.reading.close();
  }

  /** The files that are there to be followed, in an order that those of a folder keep. */
  #names(): readonly string[] {
    return [
      ...new Set(
        this.#options.files.flatMap((name) => folderAt(name)?.files.filter((file) => ofLines.test(file)) ?? [name]),
      ),
    ];
  }

  /** One of several files that can't be read is a problem, and no end. */
  async #tried(file: string, go: () => Promise<void>): Promise<void> {
    if (this.#unreadable.has(file)) return;
    try {
      await go();
    } catch (thrown) {
      const isOne = this.#options.files.length === 1 && this.#files.all.length <= 1;
      if (isOne || !(isFailure(thrown, "input-invalid") || isFailure(thrown, "follow-unfit"))) throw thrown;
      this.#unreadable.add(file);
      this.#hasGrown = true;
    }
  }

  async #read(file: FollowedFile): Promise<void> {
    if (await file.tail.isRewritten()) return this.#drop(file);
    await this.#files.read(file, async () => {
      this.#hasGrown = true;
      await this.#settle();
      if (!this.#isShown) this.#options.onRead(...(await this.#progress()));
    });
  }

  /** What was read of a file that was written anew can't be looked at again. */
  #drop(file: FollowedFile): void {
    const { groups, found } = this.#files.reading;
    file.isGone = true;
    this.#hasGrown = true;
    for (let group = 0; group < groups.count; group++) {
      if (found.parts.sourceOf(groups.firstOf(group)) === file.index) groups.reject(group);
    }
  }

  /** Reports what is known of groups that are complete. */
  async #settle(): Promise<void> {
    const { reading } = this.#files;
    const completed = this.#completed;
    this.#completed = [];
    for (const group of completed) {
      if (reading.groups.isValid(group)) await reportGroup(reading, group);
      await closeGroup(reading.groups, group, reading);
    }
  }

  async #progress(): Promise<[bytes: number, of: number]> {
    let [bytes, of] = [0, 0];
    for (const { tail } of this.#files.all) {
      bytes += tail.taken;
      of += tail.taken + (await tail.unfinished());
    }
    return [bytes, of];
  }
}
