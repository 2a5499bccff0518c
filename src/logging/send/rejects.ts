/** Writes rejected groups to the rejects file, and the problems to the reasons file. */
import { createHash, hash } from "node:crypto";
import { constants, createReadStream, statSync } from "node:fs";
import { access, stat } from "node:fs/promises";
import { dirname } from "node:path";
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
import type { WrittenFiles } from "../ledger/prior-outcomes.ts";
import { rejectsExist, rejectsUnwritable } from "./failures.ts";
import type { LogTools } from "./policy.ts";

export const nameRejects = (firstInput: string) => `${firstInput}.rejected`;

export type RejectedGroup = { group: number; problems: readonly Problem[] };

export type RejectsFile = ReturnType<typeof openRejects>;

interface RejectsOptions {
  path: string;
  runLedger: { readonly writtenFiles: WrittenFiles };
  redact: LogTools["redact"];
}

export const openRejects = (dataset: Dataset, { path, runLedger, redact }: RejectsOptions) => {
  let isWritten = false;
  const reasonsPath = `${path}.reasons`;
  const reader = openRejectedLines(dataset);
  // The data of a pipe may be private.
  const mode = combineModes(dataset.sources, 0o600);

  /** If the files contain exactly `rejected`, records their digests, so that this run can replace the files. */
  const adopt = async (rejected: readonly RejectedGroup[]) => {
    const digest = await hashFile(path);
    const written = runLedger.writtenFiles;
    if (digest === undefined || digest === (await written.readDigest(path))) return;
    const reasons: string[] = [];
    if (digest !== (await hashPieces(openRejectedLines(dataset).read(rejected, reasons)))) return;
    const reasonsDigest = hash("sha256", redact(reasons.join("")));
    if (reasonsDigest !== (await hashFile(reasonsPath))) return;
    await written.recordDigest(path, digest);
    await written.recordDigest(reasonsPath, reasonsDigest);
  };

  return {
    path,
    isWritten: () => isWritten,
    countLines: reader.countLines,
    /** @throws Failure `rejects-exist`, or `rejects-unwritable` if `isNeeded` */
    async requireWritable(isNeeded: boolean, rejected: readonly RejectedGroup[] = []) {
      try {
        await adopt(rejected);
        for (const file of [path, reasonsPath]) await requireReplaceable(file, runLedger.writtenFiles);
        await access(dirname(path), constants.W_OK).catch((thrown: unknown) => {
          throw rejectsUnwritable(path, thrown);
        });
      } catch (thrown) {
        if (!isFailure(thrown, "rejects-unwritable")) throw thrown;
        if (isNeeded) throw thrown.withDetails({ unsent: true });
      }
    },
    /** @throws Failure `rejects-exist`, `rejects-unwritable` */
    async append(rejected: readonly RejectedGroup[]) {
      if (rejected.length === 0) return;
      const replacement = { isBegun: reader.countLines() > 0, written: runLedger.writtenFiles, mode };
      const reasons: string[] = [];
      await replaceFile(path, reader.read(rejected, reasons), replacement);
      await replaceFile(reasonsPath, [Buffer.from(redact(reasons.join("")))], replacement);
      isWritten = true;
    },
  };
};

/** The ledger stores the new digest under this name before `commit`. */
const pendingName = (path: string) => `${path}.new`;

const requireReplaceable = async (file: string, written: WrittenFiles) => {
  const digest = await hashFile(file);
  // If a run was killed after `commit`, only the second digest matches.
  const known = [await written.readDigest(file), await written.readDigest(pendingName(file))];
  if (digest !== undefined && !known.includes(digest)) throw rejectsExist(file);
};

const minAbandonedAgeMs = 2000;

const replaceFile = async (
  path: string,
  pieces: BufferPieces,
  { isBegun, written, mode }: { isBegun: boolean; written: WrittenFiles; mode: number },
) => {
  const content = async function* () {
    if (isBegun) yield* createReadStream(path);
    yield* pieces;
  };
  let draft: Draft | undefined;
  try {
    draft = openDraft(path, mode);
    removeDrafts(path, statSync(draft.path).ctimeMs - minAbandonedAgeMs);
    const digest = await hashPieces(content(), draft.write);
    await requireReplaceable(path, written);
    await written.recordDigest(pendingName(path), digest);
    draft.commit();
    await written.recordDigest(path, digest);
  } catch (thrown) {
    throw thrown instanceof Failure ? thrown : rejectsUnwritable(path, thrown);
  } finally {
    draft?.discard();
  }
};

type BufferPieces = Iterable<Buffer> | AsyncIterable<Buffer>;

const hashPieces = async (pieces: BufferPieces, onPiece?: (piece: Buffer) => void) => {
  const digester = createHash("sha256");
  for await (const piece of pieces) {
    digester.update(piece);
    onPiece?.(piece);
  }
  return digester.digest("hex");
};

const hashFile = async (path: string) => {
  try {
    const facts = await stat(path);
    if (facts.isFile() && facts.size === 0) return undefined;
    // An empty digest makes `requireReplaceable` refuse a path that is not a file.
    return facts.isFile() ? await hashPieces(createReadStream(path)) : "";
  } catch (thrown) {
    if (getErrorCode(thrown) === "ENOENT") return undefined;
    throw rejectsUnwritable(path, thrown);
  }
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
