/** Reads the complete lines of a followed file, and of later files with its name. */
import { stat } from "node:fs/promises";
import { Problems } from "../../check/rules/problems.ts";
import type { Strictness } from "../../check/rules/rules.ts";
import { Scan } from "../../check/scan.ts";
import { Failure } from "../../failure.ts";
import { getErrorCode } from "../../files.ts";
import * as grouping from "../../groups/index.ts";
import type { Host } from "../../host.ts";
import * as inputs from "../../input/index.ts";
import { bomLength } from "../../json/walk.ts";
import { fileNotFollowable } from "../failures.ts";

export interface FollowedFileOptions {
  readonly host: Host;
  readonly file: string;
  readonly split: string | undefined;
  readonly groupBy: string | undefined;
  readonly strictness: Strictness;
  readonly onEvent: (event: FollowEvent, file: string) => void;
}

export type FollowEvent = "waiting" | "moved" | "rewritten";

interface CompletionOptions extends Pick<grouping.AssemblyOptions, "size" | "wasSent" | "onInvalid" | "onComplete"> {
  readonly dedupKeys: grouping.DedupKeys;
}

export interface FollowedFile {
  readonly index: number;
  readonly tail: inputs.Tail;
  readonly growing: grouping.GroupAssembler;
  readonly scan: Scan;
  /** The last time that lines were read, or that the file was found to be moved, in monotonic milliseconds. */
  changedAt: number;
  /** True if another file has the name and this file was quiet, so that all groups of this file are complete. */
  isFinished: boolean;
  /** True if the file was rewritten, so that its groups cannot be read again. */
  isRewritten: boolean;
}

export const openFollowedFiles = (
  { host, file, onEvent, groupBy, split, strictness }: FollowedFileOptions,
  { dedupKeys, ...completion }: CompletionOptions,
) => {
  const all: FollowedFile[] = [];
  const sources: inputs.Source[] = [];
  const found = grouping.newScanResult(strictness);
  const { parts, problems, requests, shapes } = found;
  let isWaiting = false;
  let compared = { requests: 0, shapes: 0 };
  let isMixed = false;
  const dataset: grouping.Dataset = {
    ...{ sources, found, problems, split, groups: new grouping.Groups(parts) },
    get ownKeys() {
      return requests.different[0]?.keys ?? new Map();
    },
    close: async () => await inputs.closeSources(sources),
  };

  /** @param valid `some` if the hint should offer to skip the invalid groups */
  const toInvalidInput = (valid?: "some"): Failure => grouping.invalidInput(problems, { valid });

  const toUnreadable = (thrown: unknown): Failure => {
    if (thrown instanceof Failure) return thrown;
    const code = getErrorCode(thrown);
    if (code === "unknown") throw thrown;
    problems.report("file-unreadable", { code }, { file });
    return toInvalidInput();
  };

  const requireText = (head: Buffer): void => {
    if (inputs.findDecompressor(head) !== undefined) throw fileNotFollowable(file, "compressed");
    if (/^[\s\ufeff]*[{[]\s*\n/.test(head.toString("utf8"))) throw fileNotFollowable(file, "document");
    const sniffed = inputs.findFormatError(head, file);
    if (sniffed === undefined) return;
    sniffed.report(problems, file);
    throw toInvalidInput();
  };

  /** Reports whole requests whose split or keys differ, and mixed shapes; returns the first line with a new error. */
  const reportDisagreement = (): number | undefined => {
    const now = { requests: requests.different.length, shapes: shapes.size };
    if (now.requests === compared.requests && now.shapes === compared.shapes) return undefined;
    compared = now;
    const differences = new Problems(strictness);
    grouping.reportMismatches({ requests, shapes, problems: differences }, { split });
    if (differences.errors === 0 && isMixed) return undefined;
    isMixed = now.shapes > 1;
    problems.merge(differences);
    const lines = differences.sorted().flatMap(({ severity, line }) => (severity === "error" ? (line ?? 1) : []));
    return lines.length === 0 ? undefined : Math.min(...lines);
  };

  return {
    ...{ dataset, all, toInvalidInput, toUnreadable },
    async open(): Promise<void> {
      const before = all.at(-1);
      if (before !== undefined && !before.isRewritten && !before.tail.isMoved()) return;
      if (all.some(({ isRewritten, isFinished, tail }) => !isRewritten && !isFinished && tail.isCurrent())) return;
      const index = all.length;
      try {
        const facts = await stat(file);
        if (facts.isDirectory()) {
          problems.report("file-is-folder", undefined, { file });
          throw toInvalidInput();
        }
        // Opening a pipe would wait for a writer.
        if (!facts.isFile()) throw fileNotFollowable(file, "not-a-file");
        const tail = await inputs.openTail(file, before === undefined ? file : `${file} (file ${index + 1})`);
        sources.push(tail.source);
        problems.inputs = sources.map(({ name }) => name);
        const scan = new Scan(tail.source, { index, groupBy, result: found });
        const own = { file: tail.source.name, keys: dedupKeys.addInput(), found, groups: dataset.groups };
        const grouped = { byKey: groupBy !== undefined, elapsed: host.elapsed };
        const growing = grouping.openGroupAssembler({ ...completion, ...grouped, ...own });
        all.push({ index, tail, scan, growing, changedAt: host.elapsed(), isFinished: false, isRewritten: false });
      } catch (thrown) {
        if (getErrorCode(thrown) !== "ENOENT") throw toUnreadable(thrown);
        if (!isWaiting) onEvent("waiting", file);
        isWaiting = true;
        return;
      }
      isWaiting = false;
      if (before === undefined) return;
      before.changedAt = host.elapsed();
      onEvent(before.isRewritten ? "rewritten" : "moved", file);
    },
    async read({ tail, scan, growing }: FollowedFile, onLines: () => Promise<void>): Promise<void> {
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
          growing.take(first, reportDisagreement());
          await onLines();
        }
        await tail.skip(end);
      } catch (thrown) {
        // The next poll finds the reason.
        if (!(thrown instanceof inputs.ShrunkSourceError)) throw thrown;
      }
    },
    async reportUnfinished(): Promise<boolean> {
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
