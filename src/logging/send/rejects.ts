/** Writes rejected groups to the rejects file, and the problems to the reasons file. */
import { constants, createReadStream, statSync } from "node:fs";
import { access } from "node:fs/promises";
import { dirname } from "node:path";
import { crc32 } from "node:zlib";
import { Failure, isFailure, type Problem, toProblemDocument } from "../../failure.ts";
import { bomLength, endOfLine, newline, replaceLineEnds, skipWhite, trimmedEnd } from "../../json/json-bytes.ts";
import { memberAt, parseValue, readRoot } from "../../json/table.ts";
import { listParts, ReadWindow, requireUnchanged } from "../../rollouts/dataset/group-bytes.ts";
import { type GroupPart, locateGroup } from "../../rollouts/dataset/locate.ts";
import type { Dataset } from "../../rollouts/dataset/read-dataset.ts";
import { groupClosing, groupOpening } from "../../rollouts/index/groups.ts";
import { combineModes, type Source } from "../../rollouts/input/source.ts";
import { createProblem } from "../../rollouts/rules/problems.ts";
import { Breaks } from "../../system/breaks.ts";
import { type Draft, getErrorCode, openDraft, removeDrafts } from "../../system/files.ts";
import { listByKey } from "../../text/lists.ts";
import { rejectsExist, rejectsUnwritable } from "./failures.ts";
import { createEnvelope, type RequestEnvelope } from "./plan.ts";
import type { LogTools } from "./policy.ts";

export const nameRejects = (firstInput: string) => `${firstInput}.rejected`;

export type RejectsFile = ReturnType<typeof openRejects>;

interface RejectsOptions {
  path: string;
  /** Returns the path or URL of the run's ledger. Runs with one ledger replace the files of each other. */
  findLedger: () => string | undefined;
  redact: LogTools["redact"];
}

const minAbandonedAgeMs = 2000;

export const openRejects = (dataset: Dataset, { path, findLedger, redact }: RejectsOptions) => {
  /** The checksum of the lines that this run wrote. */
  let written: number | undefined;
  const reasonsPath = `${path}.reasons`;
  const reader = openRejectedLines(dataset, redact);
  // The data of a pipe may be private.
  const mode = combineModes(dataset.sources, 0o600);

  /** @param findNext returns the checksum of the lines to write. @throws Failure `rejects-exist` */
  const requireReplaceable = async (findNext: () => number | Promise<number>) => {
    const [lines, reasons] = [await readChecksums(path), await readChecksums(reasonsPath)];
    const ledger = findLedger();
    if (written !== undefined && lines.checksum !== written) throw rejectsExist(path);
    const isOwn = written !== undefined || (ledger !== undefined && reasons.owner === crc32(ledger));
    const isKnown = lines.isEmpty || reasons.known.includes(lines.checksum);
    const isIntact = isOwn && isKnown && reasons.isMarked;
    if (!isIntact && !(lines.isEmpty && reasons.isEmpty)) {
      const isForeign = lines.isEmpty || !(reasons.isEmpty || reasons.isMarked);
      if (isForeign || (await findNext()) !== lines.checksum) throw rejectsExist(isForeign ? reasonsPath : path);
    }
    return { before: lines.checksum, reasonsEnd: reasons.end };
  };

  const readLines = async function* (rejected: Uint32Array, reasons: string[]) {
    if (written !== undefined) yield* createReadStream(path);
    yield* reader.read(rejected, reasons);
  };

  const readReasons = async function* (reasons: readonly string[], end: number) {
    if (written !== undefined) yield* createReadStream(reasonsPath, { end: end - 1 });
    yield Buffer.from(`${written === undefined ? "" : markEnd}${reasons.join("").slice(0, -markEnd.length)}`);
  };

  return {
    path,
    isWritten: () => written !== undefined,
    countLines: reader.countLines,
    hasJoined: reader.hasJoined,
    /** @throws Failure `rejects-exist`, or `rejects-unwritable` if `isNeeded` */
    async requireWritable(isNeeded: boolean, rejected: Uint32Array) {
      try {
        await requireReplaceable(async () => await writePieces(openRejectedLines(dataset, redact).read(rejected, [])));
        await access(dirname(path), constants.W_OK);
      } catch (thrown) {
        const failure = toRejectsFailure(path, thrown);
        if (isNeeded || !isFailure(failure, "rejects-unwritable")) throw failure;
      }
    },
    /** @throws Failure `rejects-exist`, `rejects-unwritable` */
    async append(rejected: Uint32Array) {
      if (rejected.length === 0) return;
      const reasons: string[] = [];
      const drafts: Draft[] = [];
      const open = (file: string) => {
        const draft = openDraft(file, mode);
        drafts.push(draft);
        removeDrafts(file, statSync(draft.path).ctimeMs - minAbandonedAgeMs);
        return draft;
      };
      try {
        const [reasonsDraft, draft] = [open(reasonsPath), open(path)];
        const checksum = await writePieces(readLines(rejected, reasons), draft);
        const { before, reasonsEnd } = await requireReplaceable(() => checksum);
        const own = await writePieces(readReasons(reasons, reasonsEnd), reasonsDraft);
        reasonsDraft.write(`,"checksums":[${[own, checksum, before, crc32(findLedger() ?? "")].join()}]${markEnd}`);
        for (const each of drafts) each.commit();
        written = checksum;
      } catch (thrown) {
        throw toRejectsFailure(path, thrown);
      } finally {
        for (const draft of drafts) draft.discard();
      }
    },
  };
};

/** Returns the checksum of the pieces. */
const writePieces = async (pieces: AsyncIterable<Buffer>, draft?: Draft) => {
  let checksum = 0;
  for await (const piece of pieces) {
    draft?.write(piece);
    checksum = crc32(piece, checksum);
  }
  return checksum;
};

const toRejectsFailure = (path: string, thrown: unknown) =>
  thrown instanceof Failure ? thrown : rejectsUnwritable(path, thrown);

/**
 * The last reason has the checksums of all reasons, of the rejected lines after and before the write, and of the path
 * of the ledger. The file may have the lines before, because rollcall can be killed between the commits of both files.
 */
const mark = /,"checksums":\[(\d+),(\d+),(\d+),(\d+)\]\}\n$/;
const markEnd = "}\n";
const maxMarkBytes = 100;

/** Reads the mark of a file, and its checksum. A missing file is empty. */
const readChecksums = async (file: string) => {
  let [checksum, size, rest] = [0, 0, Buffer.alloc(0)];
  try {
    if (!statSync(file).isFile()) throw rejectsExist(file);
    for await (const piece of createReadStream(file)) {
      const bytes = Buffer.concat([rest, piece]);
      rest = bytes.subarray(-maxMarkBytes);
      checksum = crc32(bytes.subarray(0, bytes.length - rest.length), checksum);
      size += piece.length;
    }
  } catch (thrown) {
    if (getErrorCode(thrown) !== "ENOENT") throw toRejectsFailure(file, thrown);
  }
  const [found = "", ...numbers] = mark.exec(rest.toString("latin1")) ?? [];
  const [own, after, before, owner] = numbers.map(Number);
  return {
    isEmpty: size === 0,
    checksum: crc32(rest, checksum),
    /** True if rollcall wrote the file, and nobody changed it. */
    isMarked: crc32(rest.subarray(0, rest.length - found.length), checksum) === own,
    /** The byte after all reasons without the mark. */
    end: size - found.length,
    known: [after, before],
    owner,
  };
};

const openRejectedLines = (dataset: Dataset, redact: LogTools["redact"]) => {
  const breaks = new Breaks();
  const window = new ReadWindow();
  const firstSources = new Map<string, Source>();
  const { requests } = dataset.scan;
  const [{ keys, split } = {}] = requests.distinct;
  // The other keys of a request would not be in the requests of the rejects file.
  const request = keys && keys.size > 0 ? createEnvelope(dataset, split) : undefined;
  let lineCount = 0;
  let isAtLineStart = true;
  let hasJoined = false;
  return {
    countLines: () => lineCount,
    /** True if the lines of a group are one group, but others are trajectories. */
    hasJoined: () => hasJoined,
    async *read(rejected: Uint32Array, reasons: string[]) {
      const errors = indexErrorsByLine(dataset);
      for (const group of rejected) {
        const parts = listParts(dataset, group);
        const isJoined = dataset.sources.length > 1 && (await hasAmbiguousGroupId(parts, { firstSources, window }));
        hasJoined ||= isJoined;
        const envelope = isJoined ? { opening: groupOpening, closing: groupClosing } : request;
        const lines = new Map<string, number>();
        const recordLines = new Map<string, number>();
        for await (const { bytes, part, record, beginsLine } of copyParts(parts, { envelope, window })) {
          if (beginsLine) lineCount++;
          if (beginsLine && !isAtLineStart) yield newlineBytes;
          const addedLines = countLineEnds(bytes);
          const written = part?.part.kind === "unreadable" ? bytes : toOneLine(bytes);
          if (record) recordLines.set(`${record.file}:${record.line}`, lineCount);
          if (part) {
            const { source, part: own } = part;
            for (let line = 0; line <= addedLines; line++) lines.set(`${source.name}:${own.line + line}`, lineCount);
          }
          yield written;
          lineCount += countLineEnds(written);
          isAtLineStart = bytes.at(-1) === newline;
        }
        const known = [...lines.keys()].flatMap((line) => errors.get(line) ?? []);
        const unknown = () => [createProblem("group-not-logged", { isInvalid: true }, locateGroup(dataset, group))];
        for (const problem of known.length > 0 ? known : unknown()) {
          if (breaks.isDue(bytesPerReason)) await breaks.take();
          reasons.push(redact(toReason(problem, lines, recordLines)));
        }
      }
    },
  };
};

/** Redacting a reason costs as much as reading this many bytes. */
const bytesPerReason = 2 ** 14;

type LineNumbers = ReadonlyMap<string, number>;

const toReason = (problem: Problem, lines: LineNumbers, recordLines: LineNumbers) => {
  const inRecord = recordLines.get(`${problem.file}:${problem.line}`);
  const rejects_line = inRecord ?? lines.get(problemLineKey(problem)) ?? lines.values().next().value ?? 1;
  return `${JSON.stringify({ ...toProblemDocument(problem), rejects_line })}\n`;
};

const newlineBytes = Buffer.from("\n");

const problemLineKey = ({ readAt, file, line }: Problem) => readAt ?? `${file}:${line}`;

/** An element of a pretty-printed document has several lines, but each line of a rejects file is a value. */
const toOneLine = (bytes: Buffer) => {
  const line = Buffer.from(bytes);
  replaceLineEnds(line.subarray(0, -1));
  return line;
};

const countLineEnds = (bytes: Buffer) => {
  let count = 0;
  for (let at = bytes.indexOf(newline); at >= 0 && at < bytes.length - 1; at = bytes.indexOf(newline, at + 1)) count++;
  return count;
};

type Envelope = Pick<RequestEnvelope, "opening" | "closing">;

/** Yields the original bytes of each part, those of a readable group in the envelope. */
async function* copyParts(
  parts: readonly GroupPart[],
  { envelope, window }: { envelope: Envelope | undefined; window: ReadWindow },
) {
  for (const [at, part] of parts.entries()) {
    const { originals } = part.source;
    if (originals) {
      for (const [index, record] of (await originals.recordsOf(part.part.line)).entries()) {
        const bytes = Buffer.concat([record.bytes, newlineBytes]);
        yield { bytes, beginsLine: true, record, part: index === 0 ? part : undefined };
      }
    } else if (envelope && part.part.kind !== "unreadable") {
      const end = at === parts.length - 1 ? [envelope.closing, newlineBytes] : [];
      const pieces = [at === 0 ? envelope.opening : Buffer.from(","), await window.readPart(part), ...end];
      yield { bytes: Buffer.concat(pieces), beginsLine: at === 0, part, record: undefined };
    } else yield { bytes: await readLine(part, window), beginsLine: true, part, record: undefined };
  }
}

/** True if a group of another file has the same `group_id`. In the rejects file, both would become one. */
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

const indexErrorsByLine = ({ scan: { problems } }: Dataset) => {
  const errors = problems.sorted().filter(({ severity }) => severity === "error");
  return listByKey(errors, problemLineKey);
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
