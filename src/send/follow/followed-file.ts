/** A file that is followed, with the later ones of its name: opened once it is there, read as far as its lines are complete. */

import { checkAgreement } from "../../check/requests.ts";
import type { Judgement } from "../../check/rules/judgement.ts";
import { Problems } from "../../check/rules/problems.ts";
import { Scan } from "../../check/scan.ts";
import { Failure } from "../../failure.ts";
import { codeOf } from "../../files.ts";
import type { DedupKeys } from "../../groups/index.ts";
import {
  type Found,
  Groups,
  GrowingGroups,
  type GrowingOptions,
  invalidInput,
  nothingFound,
  type Reading,
} from "../../groups/index.ts";
import type { Host } from "../../host.ts";
import { decompressorOf } from "../../input/decompress.ts";
import { blocksOf } from "../../input/lines.ts";
import { sniff } from "../../input/sniff.ts";
import { Shrunk, type Source } from "../../input/source.ts";
import { identityOf, NotAFile, Tail } from "../../input/tail.ts";
import { markLength } from "../../json/walk.ts";

/** How a file is read that grows. */
export interface FollowedFileOptions {
  readonly host: Host;
  readonly file: string;
  readonly split: string | undefined;
  readonly groupBy: string | undefined;
  readonly judgement: Judgement;
  /** Told what becomes of a file. */
  readonly onEvent: (event: FollowEvent, file: string) => void;
}

/** What becomes of a file: it is not there yet; another one has its name; it was written anew. */
export type FollowEvent = "waiting" | "moved" | "rewritten";

/** How groups are gathered of all files. */
export interface Gathering extends Omit<GrowingOptions, "found" | "groups" | "file" | "keys"> {
  readonly dedupKeys: DedupKeys;
}

/** One file. It is read to its end also where another one has its name. */
export interface FollowedFile {
  /** Its place among the sources. */
  readonly index: number;
  readonly tail: Tail;
  readonly underWay: GrowingGroups;
  readonly scan: Scan;
  /** When lines of it were last read, or it was found to be moved. Monotonic milliseconds. */
  changedAt: number;
  /** Whether another file has its name, and nothing was written to it for a while: none of its groups is open then. */
  isOver: boolean;
  /** Whether it was written anew, so that what was read of it can't be looked at again. */
  isGone: boolean;
}

/** The files of one name as one reading that grows. */
export class FollowedFiles {
  readonly reading: Reading;
  /** In the order in which they were opened. */
  readonly all: FollowedFile[] = [];
  readonly #options: FollowedFileOptions;
  readonly #found: Found;
  readonly #sources: Source[] = [];
  #isWaiting = false;
  /** How many requests and shapes there were that are not the same, when they were last held against each other. */
  #compared = { requests: 0, shapes: 0 };
  #isMixed = false;

  constructor(options: FollowedFileOptions) {
    this.#options = options;
    const found = nothingFound(options.judgement);
    this.#found = found;
    const sources = this.#sources;
    this.reading = {
      sources,
      found,
      groups: new Groups(found.parts),
      split: options.split,
      get ownKeys() {
        return found.requests.different[0]?.keys ?? new Map();
      },
      problems: found.problems,
      close: async () => {
        for (const { bytes } of sources) await bytes.close();
      },
    };
  }

  /** Opens the file that has the name now, if it is there and is not open, whatever name it had before. @throws Failure `follow-unfit`, `input-invalid` */
  async open(gathering: Gathering): Promise<void> {
    const { host, file, onEvent, judgement, groupBy } = this.#options;
    const before = this.all.at(-1);
    if (before !== undefined && !before.isGone && !(await before.tail.isMoved())) return;
    const there = await identityOf(file);
    if (there !== undefined && this.all.some(({ isGone, isOver, tail }) => !isGone && !isOver && tail.is(there)))
      return;
    const index = this.all.length;
    const found = this.#found;
    try {
      const tail = await Tail.open(file, before === undefined ? file : `${file} (file ${index + 1})`);
      this.#sources.push(tail.source);
      const scan = new Scan(tail.source, { index, groupBy, judgement, found });
      const underWay = new GrowingGroups({
        ...gathering,
        found,
        groups: this.reading.groups,
        file: tail.source.name,
        keys: gathering.dedupKeys.addInput(),
      });
      this.all.push({ index, tail, scan, underWay, changedAt: host.elapsed(), isOver: false, isGone: false });
    } catch (thrown) {
      if (codeOf(thrown) !== "ENOENT") throw this.unreadable(thrown);
      if (!this.#isWaiting) onEvent("waiting", file);
      this.#isWaiting = true;
      return;
    }
    this.#isWaiting = false;
    if (before === undefined) return;
    before.changedAt = host.elapsed();
    onEvent(before.isGone ? "rewritten" : "moved", file);
  }

  /**
   * Reads the lines of a file that are complete.
   * @param onLines told after each block of them
   * @throws Failure `input-invalid`, `follow-unfit`, and what `onLines` throws
   */
  async read({ tail, scan, underWay }: FollowedFile, onLines: () => Promise<void>): Promise<void> {
    const head = tail.taken === 0 ? await tail.head() : noBytes;
    if (tail.taken === 0) this.#checkKind(head);
    const end = await tail.completeEnd();
    const start = tail.taken + markLength(head);
    if (end <= start) return;
    try {
      for await (const block of blocksOf(tail.source.bytes, { start, end })) {
        if (this.#options.host.urgent.aborted) return;
        const first = this.#found.parts.count;
        await scan.take(block);
        await tail.skip(block.start);
        if (block.kind === "lines") tail.take(block.bytes);
        else await tail.skip(block.end);
        underWay.take(first, this.#misfit());
        await onLines();
      }
      await tail.skip(end);
    } catch (thrown) {
      // The next look says what became of it.
      if (!(thrown instanceof Shrunk)) throw thrown;
    }
  }

  #checkKind(head: Buffer): void {
    const { file } = this.#options;
    const { problems } = this.#found;
    if (decompressorOf(head) !== undefined) throw new Failure("follow-unfit", { file, found: "compressed" });
    const sniffed = sniff(head);
    if (sniffed === undefined) return;
    if (sniffed.rule === "utf-16") problems.report("utf-16", sniffed.data, () => ({ file }));
    else problems.report("not-json", sniffed.data, () => ({ file }));
    throw this.invalid();
  }

  /** The first line that does not fit what was read so far, if there is one now; that, and shapes that are mixed, are reported. */
  #misfit(): number | undefined {
    const { requests, shapes, problems } = this.#found;
    const now = { requests: requests.different.length, shapes: shapes.size };
    if (now.requests === this.#compared.requests && now.shapes === this.#compared.shapes) return undefined;
    this.#compared = now;
    const own = new Problems(this.#options.judgement);
    checkAgreement({ requests, shapes, split: this.#options.split, problems: own });
    if (own.errors === 0 && this.#isMixed) return undefined;
    this.#isMixed = now.shapes > 1;
    problems.merge(own.pack(), 0);
    const lines = own.sorted([]).flatMap(({ severity, line }) => (severity === "error" ? (line ?? 1) : []));
    return lines.length === 0 ? undefined : Math.min(...lines);
  }

  /** What a run ends with whose file has errors; `valid` where what is valid could be sent without the rest. */
  invalid(about: { readonly valid?: "some" } = {}): Failure {
    const names = this.#sources.map(({ name }) => name);
    return invalidInput(this.#found.problems, names, about);
  }

  /** What a run ends with that can't read its file. @throws what is no fault of the file */
  unreadable(thrown: unknown): Failure {
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
}

const noBytes = Buffer.alloc(0);
