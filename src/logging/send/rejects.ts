/** Writes rejected groups to the rejects file, and the problems to the reasons file. */
import { constants, createReadStream, statSync } from "node:fs";
import { access } from "node:fs/promises";
import { dirname } from "node:path";
import { crc32 } from "node:zlib";
import { Failure, isFailure, type Problem, toProblemDocument } from "../../failure.ts";
import { bomLength, endOfLine, newline, skipWhite, trimmedEnd } from "../../json/json-bytes.ts";
import { memberAt, parseValue, readRoot } from "../../json/table.ts";
import { listParts, ReadWindow, requireUnchanged } from "../../rollouts/dataset/group-bytes.ts";
import { type GroupPart, locateGroup } from "../../rollouts/dataset/locate.ts";
import type { Dataset } from "../../rollouts/dataset/read-dataset.ts";
import { groupClosing, groupOpening } from "../../rollouts/index/groups.ts";
import { combineModes, type Source } from "../../rollouts/input/source.ts";
import { createProblem } from "../../rollouts/rules/problems.ts";
import { type Draft, getErrorCode, openDraft, removeDrafts } from "../../system/files.ts";
import { rejectsExist, rejectsUnwritable } from "./failures.ts";
import type { LogTools } from "./policy.ts";

export const nameRejects = (firstInput: string) => `${firstInput}.rejected`;

export type RejectedGroup = { group: number; problems: readonly Problem[] };

export type RejectsFile = ReturnType<typeof openRejects>;

const minAbandonedAgeMs = 2000;

export const openRejects = (dataset: Dataset, path: string, redact: LogTools["redact"]) => {
  let isWritten = false;
  const reader = openRejectedLines(dataset);
  const reasons: string[] = [];
  // The data of a pipe may be private.
  const mode = combineModes(dataset.sources, 0o600);

  const writeDraft = async (draft: Draft, rejected: readonly RejectedGroup[]) => {
    const isBegun = reader.countLines() > 0;
    const content = async function* () {
      if (isBegun) yield* createReadStream(path);
      yield* reader.read(rejected, reasons);
    };
    let checksum = 0;
    for await (const piece of content()) {
      draft.write(piece);
      checksum = crc32(piece, checksum);
    }
    return checksum;
  };

  return {
    path,
    isWritten: () => isWritten,
    countLines: reader.countLines,
    /** @throws Failure `rejects-exist`, or `rejects-unwritable` if `isNeeded` */
    async requireWritable(isNeeded: boolean) {
      try {
        await requireReplaceable(path);
        await access(dirname(path), constants.W_OK);
      } catch (thrown) {
        const failure = toRejectsFailure(path, thrown);
        if (!isFailure(failure, "rejects-unwritable")) throw failure;
        if (isNeeded) throw failure.withDetails({ unsent: true });
      }
    },
    /** @throws Failure `rejects-exist`, `rejects-unwritable` */
    async append(rejected: readonly RejectedGroup[]) {
      if (rejected.length === 0) return;
      const drafts: Draft[] = [];
      const open = (file: string) => {
        const draft = openDraft(file, mode);
        drafts.push(draft);
        removeDrafts(file, statSync(draft.path).ctimeMs - minAbandonedAgeMs);
        return draft;
      };
      try {
        const [reasonsDraft, draft] = [open(nameReasons(path)), open(path)];
        const checksum = await writeDraft(draft, rejected);
        const before = await requireReplaceable(path);
        reasonsDraft.write(addMark(redact(reasons.join("")), [checksum, before]));
        // After a kill between the two, the mark has the checksum of the old lines.
        for (const each of drafts) each.commit();
      } catch (thrown) {
        throw toRejectsFailure(path, thrown);
      } finally {
        for (const draft of drafts) draft.discard();
      }
      isWritten = true;
    },
  };
};

const nameReasons = (path: string) => `${path}.reasons`;

const toRejectsFailure = (path: string, thrown: unknown) =>
  thrown instanceof Failure ? thrown : rejectsUnwritable(path, thrown);

/** The last reason has the checksums of all reasons, and of the rejected lines, new and old. */
const mark = /,"checksums":\[(\d+),(\d+),(\d+)\]\}\n$/;
const maxMarkBytes = 100;

const addMark = (reasons: string, lines: readonly number[]) => {
  const marked = reasons.replace(/\}\n$/, "");
  return `${marked},"checksums":[${[crc32(marked), ...lines].join()}]}\n`;
};

/** Returns the checksums of a file with and without its mark. A missing file is empty. */
const readChecksums = async (file: string) => {
  let [checksum, end] = [0, Buffer.alloc(0)];
  try {
    if (!statSync(file).isFile()) throw rejectsExist(file);
    for await (const piece of createReadStream(file)) {
      const bytes = Buffer.concat([end, piece]);
      end = bytes.subarray(-maxMarkBytes);
      checksum = crc32(bytes.subarray(0, bytes.length - end.length), checksum);
    }
  } catch (thrown) {
    if (getErrorCode(thrown) !== "ENOENT") throw toRejectsFailure(file, thrown);
  }
  const [found = "", own, ...known] = mark.exec(end.toString("latin1")) ?? [];
  const isOwn = String(crc32(end.subarray(0, end.length - found.length), checksum)) === own;
  return { isEmpty: end.length === 0, checksum: crc32(end, checksum), isOwn, known };
};

/** Returns the checksum of the lines. @throws Failure `rejects-exist` unless rollcall wrote the files */
const requireReplaceable = async (path: string) => {
  const [lines, reasons] = [await readChecksums(path), await readChecksums(nameReasons(path))];
  if (!reasons.isEmpty && !reasons.isOwn) throw rejectsExist(nameReasons(path));
  if (!lines.isEmpty && !reasons.known.includes(String(lines.checksum))) throw rejectsExist(path);
  return lines.checksum;
};

const openRejectedLines = (dataset: Dataset) => {
  const window = new ReadWindow();
  const firstSources = new Map<string, Source>();
  let lineCount = 0;
  let isAtLineStart = true;
  return {
    countLines: () => lineCount,
    async *read(rejected: readonly RejectedGroup[], reasons: string[]) {
      const errors = indexErrorsByLine(dataset);
      for (const { group, problems } of rejected) {
        // The rejects file has the whole group, also if the run selected some of its trajectories.
        const { group: original } = dataset.originalOf?.(group) ?? { group };
        const parts = listParts(dataset.unselected ?? dataset, original);
        const isJoined = dataset.sources.length > 1 && (await hasAmbiguousGroupId(parts, { firstSources, window }));
        const lines = new Map<string, number>();
        const recordLines = new Map<string, number>();
        for await (const { bytes, part, record, beginsLine } of copyParts(parts, { isJoined, window })) {
          if (beginsLine) lineCount++;
          if (beginsLine && !isAtLineStart) yield newlineBytes;
          // An element of a pretty-printed list has several lines.
          const addedLines = part?.source.originals ? 0 : countLineEnds(bytes);
          if (record) recordLines.set(`${record.file}:${record.line}`, lineCount);
          if (part) {
            const { source, part: own } = part;
            for (let line = 0; line <= addedLines; line++) lines.set(`${source.name}:${own.line + line}`, lineCount);
          }
          yield bytes;
          lineCount += addedLines;
          isAtLineStart = bytes.at(-1) === newline;
        }
        const known = [...[...lines.keys()].flatMap((line) => errors.get(line) ?? []), ...problems];
        const unknown = () => [createProblem("group-rejected", undefined, locateGroup(dataset, group))];
        reasons.push(...(known.length > 0 ? known : unknown()).map((problem) => toReason(problem, lines, recordLines)));
      }
    },
  };
};

type LineNumbers = ReadonlyMap<string, number>;

const toReason = (problem: Problem, lines: LineNumbers, recordLines: LineNumbers) => {
  const inRecord = recordLines.get(`${problem.file}:${problem.line}`);
  const rejects_line = inRecord ?? lines.get(problemLineKey(problem)) ?? lines.values().next().value ?? 1;
  return `${JSON.stringify({ ...toProblemDocument(problem), rejects_line })}\n`;
};

const newlineBytes = Buffer.from("\n");

const problemLineKey = ({ readAt, file, line }: Problem) => readAt ?? `${file}:${line}`;

const countLineEnds = (bytes: Buffer) => {
  let count = 0;
  for (let at = bytes.indexOf(newline); at >= 0 && at < bytes.length - 1; at = bytes.indexOf(newline, at + 1)) count++;
  return count;
};

/** Yields the original bytes of each part. */
async function* copyParts(
  parts: readonly GroupPart[],
  { isJoined, window }: { isJoined: boolean; window: ReadWindow },
) {
  for (const [at, part] of parts.entries()) {
    const { originals } = part.source;
    if (originals) {
      for (const [index, record] of (await originals.recordsOf(part.part.line)).entries()) {
        const bytes = Buffer.concat([record.bytes, newlineBytes]);
        yield { bytes, beginsLine: true, record, part: index === 0 ? part : undefined };
      }
    } else if (isJoined) {
      const end = at === parts.length - 1 ? [groupClosing, newlineBytes] : [];
      const pieces = [at === 0 ? groupOpening : Buffer.from(","), await window.readPart(part), ...end];
      yield { bytes: Buffer.concat(pieces), beginsLine: at === 0, part, record: undefined };
    } else yield { bytes: await readLine(part, window), beginsLine: true, part, record: undefined };
  }
}

/** True if a group of another file has the same `group_id`. In the rejects file, both groups would become one. */
const hasAmbiguousGroupId = async (
  parts: readonly GroupPart[],
  { firstSources, window }: { firstSources: Map<string, Source>; window: ReadWindow },
) => {
  const [first] = parts;
  if (!first || parts.some(({ part }) => part.kind !== "trajectory")) return false;
  const value = memberAt(readRoot(await window.readPart(first)), "group_id");
  const id = value ? parseValue(value) : null;
  if (id === null) return false;
  const key = JSON.stringify(id);
  const source = firstSources.get(key) ?? first.source;
  firstSources.set(key, source);
  return source !== first.source;
};

const indexErrorsByLine = ({ problems }: Dataset) => {
  const byLine = new Map<string, Problem[]>();
  for (const problem of problems.sorted()) {
    if (problem.severity !== "error") continue;
    const lineErrors = byLine.get(problemLineKey(problem)) ?? [];
    byLine.set(problemLineKey(problem), lineErrors);
    lineErrors.push(problem);
  }
  return byLine;
};

const marginBytes = 4096;

/** Returns the whole line of the part. If the line has other data, returns the part alone. */
const readLine = async (groupPart: GroupPart, window: ReadWindow) => {
  const { source, part } = groupPart;
  const start = Math.min(part.start, marginBytes);
  const after = start + part.length;
  const bytes = await window.read(source, part.start - start, after + marginBytes);
  const value = requireUnchanged(bytes.subarray(start, after), groupPart);
  const lineEnd = endOfLine(bytes, after);
  const lineStart = bytes.subarray(0, start).lastIndexOf(newline) + 1;
  const contentStart = lineStart + bomLength(bytes.subarray(lineStart));
  const isAlone = trimmedEnd(bytes, start) <= contentStart && skipWhite(bytes, after) >= lineEnd;
  return isAlone ? bytes.subarray(lineStart, lineEnd + 1) : Buffer.concat([value, newlineBytes]);
};
