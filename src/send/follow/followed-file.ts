/** Reads the complete lines of a followed file, and of later files with the same name. */

import { stat } from "node:fs/promises";
import * as grouping from "../../dataset/index.ts";
import * as inputs from "../../dataset/index.ts";
import { Failure } from "../../failure.ts";
import { getErrorCode } from "../../files.ts";
import type { Host } from "../../host.ts";
import { bomLength } from "../../json/json-bytes.ts";
import { invalidInput } from "../../problems/failures.ts";
import { Problems } from "../../problems/problems.ts";
import type { Strictness } from "../../problems/rules.ts";
import { fileNotFollowable } from "../failures.ts";

export interface FollowedFileOptions {
  host: Host;
  file: string;
  split: string | undefined;
  groupBy: string | undefined;
  strictness: Strictness;
  onEvent: (event: FollowEvent) => void;
}

type FollowEvent = "waiting" | "moved" | "rewritten";

type CompletionOptions = Pick<grouping.AssemblyOptions, "size" | "wasSent" | "onInvalid" | "onComplete"> & {
  dedupKeys: grouping.DedupKeys;
};

export interface FollowedFile {
  index: number;
  tail: inputs.Tail;
  assembler: grouping.GroupAssembler;
  scan: inputs.Scan;
  /** A time of `host.elapsed`. */
  changedAt: number;
  /** True if a later file exists and this file no longer grows. */
  isFinished: boolean;
  isRewritten: boolean;
}

export const openFollowedFiles = (
  { host, file, onEvent, groupBy, split, strictness }: FollowedFileOptions,
  { dedupKeys, ...completion }: CompletionOptions,
) => {
  const all: FollowedFile[] = [];
  const sources: inputs.Source[] = [];
  const found = grouping.createScanResult(strictness);
  const { parts, problems, requests, shapes } = found;
  let isWaiting = false;
  let comparedCount = 0;
  let isMixed = false;
  const dataset: grouping.Dataset = {
    ...{ sources, scan: found, problems, split, groups: new grouping.Groups(parts) },
    get ownKeys() {
      return requests.distinct[0]?.keys ?? new Map();
    },
    close: async () => await inputs.closeSources(sources),
  };

  const toUnreadable = (thrown: unknown) => {
    if (thrown instanceof Failure) return thrown;
    const code = getErrorCode(thrown);
    if (code === "unknown") throw thrown;
    problems.report("file-unreadable", { code }, { file });
    return invalidInput(problems);
  };

  const requireText = (head: Buffer) => {
    if (inputs.findDecompressor(head)) throw fileNotFollowable(file, "compressed");
    if (/^[\s\ufeff]*[{[]\s*\n/.test(head.toString("utf8"))) throw fileNotFollowable(file, "document");
    const sniffed = inputs.findFormatError(head, file);
    if (!sniffed) return;
    sniffed.report(problems, file);
    throw invalidInput(problems);
  };

  /** Returns the first line with a new error. */
  const reportNewMismatches = () => {
    const count = requests.byContent.size + shapes.size;
    if (count === comparedCount) return undefined;
    comparedCount = count;
    const mismatches = new Problems(strictness);
    grouping.reportMismatches({ requests, shapes, problems: mismatches }, { split });
    if (mismatches.errors === 0 && isMixed) return undefined;
    isMixed = shapes.size > 1;
    problems.merge(mismatches);
    const lines = mismatches.sorted().flatMap(({ severity, line }) => (severity === "error" ? (line ?? 1) : []));
    return lines.toSorted((a, b) => a - b)[0];
  };

  return {
    ...{ dataset, all, toUnreadable },
    async open() {
      const before = all.at(-1);
      if (before && !before.isRewritten && !before.tail.isMoved()) return;
      if (all.some(({ isRewritten, isFinished, tail }) => !isRewritten && !isFinished && tail.isCurrent())) return;
      const index = all.length;
      try {
        const facts = await stat(file);
        if (facts.isDirectory()) {
          problems.report("file-is-folder", undefined, { file });
          throw invalidInput(problems);
        }
        // Opening a pipe would wait for a writer.
        if (!facts.isFile()) throw fileNotFollowable(file, "not-a-file");
        const tail = await inputs.openTail(file, before ? `${file} (version ${index + 1})` : file);
        sources.push(tail.source);
        problems.inputs = sources.map(({ name }) => name);
        const scan = new inputs.Scan(tail.source, { index, groupBy, result: found });
        const assembler = grouping.openGroupAssembler({
          ...{ ...completion, scan: found, groups: dataset.groups, isGroupedByKey: groupBy !== undefined },
          ...{ file: tail.source.name, keys: dedupKeys.addInput(), elapsed: host.elapsed },
        });
        all.push({ index, tail, scan, assembler, changedAt: host.elapsed(), isFinished: false, isRewritten: false });
      } catch (thrown) {
        if (getErrorCode(thrown) !== "ENOENT") throw toUnreadable(thrown);
        if (!isWaiting) onEvent("waiting");
        isWaiting = true;
        return;
      }
      isWaiting = false;
      if (!before) return;
      before.changedAt = host.elapsed();
      onEvent(before.isRewritten ? "rewritten" : "moved");
    },
    async read({ tail, scan, assembler }: FollowedFile, onLines: () => Promise<void>) {
      const head = tail.taken() === 0 ? tail.head() : Buffer.alloc(0);
      if (tail.taken() === 0) requireText(head);
      const end = await tail.findCompleteEnd();
      const start = tail.taken() + bomLength(head);
      if (end <= start) return;
      try {
        for await (const block of inputs.readBlocks(tail.source.bytes, { start, end })) {
          if (host.urgent.aborted) return;
          const first = parts.count;
          await scan.scanFrame(block);
          await tail.skip(block.start);
          if (block.kind === "lines") tail.take(block.bytes);
          else await tail.skip(block.end);
          assembler.take(first, reportNewMismatches());
          await onLines();
        }
        await tail.skip(end);
      } catch (thrown) {
        // The next poll finds that the file was rewritten.
        if (!(thrown instanceof inputs.ShrunkSourceError)) throw thrown;
      }
    },
    async reportUnfinished() {
      let hasUnfinished = false;
      for (const { tail, isRewritten } of all) {
        const bytes = isRewritten ? 0 : await tail.countUnfinished();
        if (bytes > 0) problems.report("incomplete-line", { bytes }, { file: tail.source.name });
        hasUnfinished ||= bytes > 0;
      }
      return hasUnfinished;
    },
  };
};
