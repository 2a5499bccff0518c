/** Reads the complete lines of a followed file, and of later files with the same name. */

import { stat } from "node:fs/promises";
import { Failure } from "../../../failure.ts";
import { bomLength } from "../../../json/json-bytes.ts";
import { type AssemblyOptions, GroupAssembler } from "../../../rollouts/dataset/group-assembler.ts";
import type { Dataset } from "../../../rollouts/dataset/read-dataset.ts";
import { Scanner } from "../../../rollouts/dataset/scan.ts";
import { reportMismatches } from "../../../rollouts/index/contradictions.ts";
import { DedupKeys } from "../../../rollouts/index/dedup-keys.ts";
import { Groups } from "../../../rollouts/index/groups.ts";
import { ScanResult } from "../../../rollouts/index/scan-result.ts";
import { findDecompressor } from "../../../rollouts/input/decompress.ts";
import { readBlocks } from "../../../rollouts/input/frames.ts";
import { findFormatError } from "../../../rollouts/input/sniff.ts";
import { closeSources, ShrunkSourceError, type Source } from "../../../rollouts/input/source.ts";
import { openTail, type Tail } from "../../../rollouts/input/tail.ts";
import { invalidInput } from "../../../rollouts/rules/failures.ts";
import { Problems } from "../../../rollouts/rules/problems.ts";
import type { Strictness } from "../../../rollouts/rules/rules.ts";
import { getErrorCode } from "../../../system/files.ts";
import { fileNotFollowable } from "../failures.ts";
import type { LogEvents, LogPolicy, LogTools } from "../policy.ts";

export type FollowPolicy = LogPolicy &
  Readonly<{
    file: string;
    groupBy: readonly string[] | undefined;
    strictness: Strictness;
    /** The longest time that a complete group waits. */
    everyMs: number;
    groupSize: number | undefined;
    groupIdleMs: number;
  }>;

export type FollowEvents = LogEvents &
  Readonly<{
    onEvent: (event: "waiting" | "moved" | "rewritten") => void;
    onRead: (bytes: number) => void;
  }>;

export type FollowSetup = Readonly<{ policy: FollowPolicy; tools: LogTools; events: FollowEvents }>;

export interface FollowedFile {
  readonly index: number;
  readonly tail: Tail;
  readonly assembler: GroupAssembler;
  readonly scanner: Scanner;
  /** A time of `host.elapsed`. */
  changedAt: number;
  /** True if the file no longer grows and a later one exists. */
  isFinished: boolean;
  isRewritten: boolean;
}

export class FollowedFiles {
  readonly all: FollowedFile[] = [];
  readonly dedupKeys = new DedupKeys();
  /** Groups that are complete, but not taken, and `undefined` for each error between them. */
  readonly completed: (number | undefined)[] = [];
  /** All groups of all files. */
  readonly dataset: Dataset;
  readonly #setup: FollowSetup;
  readonly #wasSent: AssemblyOptions["wasSent"];
  readonly #sources: Source[] = [];
  #isWaiting = false;
  #comparedCount = 0;
  #isMixed = false;

  constructor(setup: FollowSetup, wasSent: AssemblyOptions["wasSent"]) {
    this.#setup = setup;
    this.#wasSent = wasSent;
    const sources = this.#sources;
    const scan = new ScanResult(new Problems(setup.policy.strictness));
    this.dataset = {
      sources,
      scan,
      split: setup.policy.split,
      groups: new Groups(scan.parts),
      close: async () => await closeSources(sources),
    };
  }

  toFailure(thrown: unknown) {
    if (thrown instanceof Failure) return thrown;
    const code = getErrorCode(thrown);
    if (code === "unknown") throw thrown;
    this.dataset.scan.problems.report("file-unreadable", { code }, { file: this.#setup.policy.file });
    return invalidInput(this.dataset.scan.problems);
  }

  /** Opens the file, or the next file of this name after a rename or rewrite. */
  async open() {
    const { tools, events } = this.#setup;
    const before = this.all.at(-1);
    if (before && !before.isRewritten && !before.tail.isMoved()) return;
    const next = await this.openNext().catch((thrown: unknown) => {
      if (getErrorCode(thrown) !== "ENOENT") throw thrown;
    });
    if (!next && !this.#isWaiting) events.onEvent("waiting");
    this.#isWaiting = !next;
    if (next) this.all.push(next);
    if (!next || !before) return;
    before.changedAt = tools.host.elapsed();
    events.onEvent(before.isRewritten ? "rewritten" : "moved");
  }

  async openNext(): Promise<FollowedFile> {
    const { file, groupBy, groupSize: size } = this.#setup.policy;
    const { scan, groups } = this.dataset;
    const { problems } = scan;
    const { elapsed } = this.#setup.tools.host;
    const facts = await stat(file);
    if (facts.isDirectory()) {
      problems.report("file-is-folder", undefined, { file });
      throw invalidInput(problems);
    }
    // Opening a pipe would wait for a writer.
    if (!facts.isFile()) throw fileNotFollowable(file, "not-a-file");
    const index = this.#sources.length;
    const tail = await openTail(file, index > 0 ? `${file} (version ${index + 1})` : file);
    this.#sources.push(tail.source);
    problems.inputs = this.#sources.map(({ name }) => name);
    const isGroupedByKey = groupBy !== undefined;
    const assembly = { scan, groups, size, isGroupedByKey, file: tail.source.name, keys: this.dedupKeys.addInput() };
    const assembler = new GroupAssembler({
      ...assembly,
      elapsed,
      wasSent: this.#wasSent,
      onInvalid: () => this.completed.push(undefined),
      onComplete: (group) => this.completed.push(group),
    });
    const scanner = new Scanner(tail.source, { index, groupBy, result: scan });
    const state = { changedAt: elapsed(), isFinished: false, isRewritten: false };
    return { index, tail, assembler, scanner, ...state };
  }

  /** Reads the new complete lines. Calls `onLines` after each block of lines. */
  async read(file: FollowedFile, onLines: () => Promise<void>) {
    const { tail, scanner, assembler } = file;
    if (tail.taken === 0) this.#requireText(tail.head());
    const end = await tail.findCompleteEnd();
    const start = tail.taken || bomLength(tail.head());
    if (end <= start) return;
    const { parts } = this.dataset.scan;
    try {
      for await (const block of readBlocks(tail.source.bytes, { start, end })) {
        if (this.#setup.tools.host.urgent.aborted) return;
        const first = parts.count;
        await scanner.scanFrame(block);
        await tail.skip(block.start);
        if (block.kind === "lines") tail.take(block.bytes);
        else await tail.skip(block.end);
        assembler.take(first, this.#reportNewMismatches());
        file.changedAt = this.#setup.tools.host.elapsed();
        this.#setup.events.onRead(this.all.reduce((sum, { tail: { taken } }) => sum + taken, 0));
        await onLines();
      }
      await tail.skip(end);
    } catch (thrown) {
      // The next pass finds that the file was rewritten.
      if (!(thrown instanceof ShrunkSourceError)) throw thrown;
    }
  }

  #requireText(head: Buffer) {
    const { file } = this.#setup.policy;
    const { problems } = this.dataset.scan;
    if (findDecompressor(head)) throw fileNotFollowable(file, "compressed");
    if (/^[\s\ufeff]*[{[]\s*\n/.test(head.toString("utf8"))) throw fileNotFollowable(file, "document");
    const sniffed = findFormatError(head);
    if (!sniffed) return;
    sniffed.report(problems, file);
    throw invalidInput(problems);
  }

  /** Returns the first line with a new error. */
  #reportNewMismatches() {
    const { split, strictness } = this.#setup.policy;
    const { requests, shapes } = this.dataset.scan;
    const count = requests.byContent.size + shapes.size;
    if (count === this.#comparedCount) return undefined;
    this.#comparedCount = count;
    const problems = new Problems(strictness);
    reportMismatches({ requests, shapes, problems }, { split });
    if (problems.errors === 0 && this.#isMixed) return undefined;
    this.#isMixed = shapes.size > 1;
    this.dataset.scan.problems.merge(problems);
    const lines = problems.sorted().flatMap(({ severity, line }) => (severity === "error" ? (line ?? 1) : []));
    return lines.toSorted((a, b) => a - b)[0];
  }

  /** Returns true if a file ends with an incomplete line. */
  async reportUnfinished() {
    let hasUnfinished = false;
    for (const { tail, isRewritten } of this.all) {
      const bytes = isRewritten ? 0 : await tail.countUnfinished();
      if (bytes === 0) continue;
      this.dataset.scan.problems.report("incomplete-line", { bytes }, { file: tail.source.name });
      hasUnfinished = true;
    }
    return hasUnfinished;
  }
}
