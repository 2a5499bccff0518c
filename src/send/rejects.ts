/** Writes rejected groups to a file, byte for byte, and their reasons to a second file. */
import { createHash } from "node:crypto";
import { constants, createReadStream, statSync } from "node:fs";
import { access, stat } from "node:fs/promises";
import { dirname } from "node:path";
import { createProblem, Problems } from "../check/rules/problems.ts";
import type { Strictness } from "../check/rules/rules.ts";
import { Scan } from "../check/scan.ts";
import { Failure, isFailure, type Problem, toProblemDocument } from "../failure.ts";
import { type Draft, getErrorCode, openDraft, removeDrafts } from "../files.ts";
import {
  type Dataset,
  type GroupPart,
  groupClosing,
  groupOpening,
  listParts,
  newScanResult,
  ReadWindow,
  requireUnchanged,
} from "../groups/index.ts";
import { combineModes, locateLine, memoryBytes, type Source } from "../input/index.ts";
import { memberAt, parseValue, readRoot } from "../json/table.ts";
import { endOfLine, newline, skipWhite } from "../json/walk.ts";
import type { WrittenFiles } from "../ledger/index.ts";
import { rejectsExist, rejectsUnwritable } from "./failures.ts";

export interface RejectedGroup {
  readonly group: number;
  /** The reasons that are not problems of the input. */
  readonly problems: readonly Problem[];
}

/** The state of a rejects file that is written in several steps. */
interface RejectsState {
  lines: number;
  /** True if the last line ends in a newline. */
  isEnded: boolean;
  /** The source of the lines of each `group_id`. */
  readonly keys: Map<string, Source>;
}

export const emptyRejects = (): RejectsState => ({ lines: 0, isEnded: true, keys: new Map() });

const toReasonsPath = (path: string): string => `${path}.reasons`;

/** The name that the ledger stores a file's digest under before the file is written. */
const pendingName = (path: string): string => `${path}.new`;

const toUnwritable = (file: string, thrown: unknown): Failure => rejectsUnwritable(file, getErrorCode(thrown), thrown);

/**
 * Checks that both files can be written. Only files that rollcall wrote are replaced.
 * @param needed true if groups may be rejected; else the folder may be read-only
 * @throws Failure `rejects-exist`, `rejects-unwritable`, before anything is sent
 */
export const requireWritableRejects = async (
  dataset: Dataset,
  { needed, ...options }: RejectsOptions & { readonly needed: boolean },
): Promise<void> => {
  const { path, written } = options;
  try {
    await adoptRejects(dataset, options);
    for (const file of [path, toReasonsPath(path)]) await requireReplaceable(file, written);
    await access(dirname(path), constants.W_OK).catch((thrown: unknown) => {
      throw toUnwritable(path, thrown);
    });
  } catch (thrown) {
    if (!isFailure(thrown, "rejects-unwritable")) throw thrown;
    if (needed) throw thrown.withDetails({ unsent: true });
  }
};

/** Records files that have exactly the content for these groups as written, because `convert` has no ledger. */
const adoptRejects = async (dataset: Dataset, { path, rejected, written, redact }: RejectsOptions): Promise<void> => {
  const digest = await hashFile(path);
  if (digest === undefined || digest === (await written.readDigest(path))) return;
  const reasons: string[] = [];
  const hash = createHash("sha256");
  const soFar = emptyRejects();
  const pieces = readRejectedLines(dataset, { rejected, soFar, onReason: (line) => reasons.push(line) });
  for await (const piece of pieces) hash.update(piece);
  const reasonsDigest = createHash("sha256")
    .update(redact(reasons.join("")))
    .digest("hex");
  if (digest !== hash.digest("hex") || reasonsDigest !== (await hashFile(toReasonsPath(path)))) return;
  await written.recordDigest(path, digest);
  await written.recordDigest(toReasonsPath(path), reasonsDigest);
};

const requireReplaceable = async (file: string, written: WrittenFiles): Promise<void> => {
  const digest = await hashFile(file);
  // A killed run may have recorded a digest of a file that it did not write.
  const known = [await written.readDigest(file), await written.readDigest(pendingName(file))];
  if (digest !== undefined && !known.includes(digest)) throw rejectsExist(file);
};

interface RejectsOptions {
  readonly path: string;
  readonly rejected: readonly RejectedGroup[];
  readonly written: WrittenFiles;
  /** Redacts secrets in the reasons, not in rejected lines. */
  readonly redact: (json: string) => string;
  readonly soFar?: RejectsState;
}

/** Writes both files; returns the lines of the rejects file. @throws Failure `rejects-exist`, `rejects-unwritable` */
export const writeRejects = async (dataset: Dataset, options: RejectsOptions): Promise<number> => {
  const { path, rejected, written, redact, soFar = emptyRejects() } = options;
  const reasons: string[] = [];
  // Nobody knows who can read a pipe, so its rejects are private.
  const own = { written, mode: combineModes(dataset.sources, 0o600), isBegun: soFar.lines > 0 };
  const pieces = readRejectedLines(dataset, { rejected, soFar, onReason: (line) => reasons.push(line) });
  await replaceFile(path, { ...own, pieces });
  await replaceFile(toReasonsPath(path), { ...own, pieces: [Buffer.from(redact(reasons.join("")))] });
  return soFar.lines;
};

/** A draft that was not changed for this long is from a killed run. */
const abandonedMs = 2000;

/** Bytes that are written at once, because a system call for each line is slow. */
const chunkBytes = 2 ** 16;

interface ReplacedContent {
  readonly pieces: Iterable<Buffer> | AsyncIterable<Buffer>;
  /** True if the pieces are appended to the present content. */
  readonly isBegun: boolean;
  readonly written: WrittenFiles;
  readonly mode: number;
}

/** Replaces a file, so that it is complete at any time. @throws Failure `rejects-exist`, `rejects-unwritable` */
const replaceFile = async (path: string, { pieces, isBegun, written, mode }: ReplacedContent): Promise<void> => {
  let draft: Draft | undefined;
  try {
    draft = openDraft(path, mode);
    removeDrafts(path, statSync(draft.path).ctimeMs - abandonedMs);
    const hash = createHash("sha256");
    let gathered: Buffer[] = [];
    let length = 0;
    const flush = (): void => {
      const chunk = Buffer.concat(gathered);
      hash.update(chunk);
      draft?.write(chunk);
      gathered = [];
      length = 0;
    };
    for (const source of isBegun ? [createReadStream(path), pieces] : [pieces]) {
      for await (const piece of source) {
        gathered.push(piece);
        length += piece.length;
        if (length >= chunkBytes) flush();
      }
    }
    flush();
    const digest = hash.digest("hex");
    await requireReplaceable(path, written);
    await written.recordDigest(pendingName(path), digest);
    draft.commit();
    await written.recordDigest(path, digest);
  } catch (thrown) {
    throw thrown instanceof Failure ? thrown : toUnwritable(path, thrown);
  } finally {
    draft?.discard();
  }
};

const hashFile = async (path: string): Promise<string | undefined> => {
  try {
    if (!(await stat(path)).isFile()) return "";
    const hash = createHash("sha256");
    for await (const chunk of createReadStream(path)) hash.update(chunk);
    return hash.digest("hex");
  } catch (thrown) {
    if (getErrorCode(thrown) === "ENOENT") return undefined;
    throw toUnwritable(path, thrown);
  }
};

interface RejectedLinesOptions extends Required<Pick<RejectsOptions, "rejected" | "soFar">> {
  readonly onReason: (line: string) => void;
}

/** Yields the lines of rejected groups. @throws Failure `input-changed` */
async function* readRejectedLines(
  dataset: Dataset,
  { rejected, soFar, onReason }: RejectedLinesOptions,
): AsyncGenerator<Buffer, void> {
  const errors = indexErrorsByLine(dataset);
  const recheck = openRecheck(dataset.problems.strictness);
  const window = new ReadWindow();
  for (const { group, problems } of rejected) {
    const parts = listParts(dataset, group);
    const [first] = parts;
    const isUnexplained = problems.length === 0 && !parts.some((part) => errors.has(partLineKey(part)));
    const isJoined = dataset.sources.length > 1 && (await hasAmbiguousGroupId(parts, { keys: soFar.keys, window }));
    /** Lines of the rejects file by line of the input. */
    const lines = new Map<string, number>();
    const again: Problem[] = [];
    for await (const { bytes, part, beginsLine, isWhole = false } of copyParts(parts, { isJoined, window })) {
      if (beginsLine) soFar.lines++;
      if (beginsLine && !soFar.isEnded) yield newlineBytes;
      // An element of a pretty-printed list has several lines.
      const more = part?.source.origin === undefined ? countLineEnds(bytes) : 0;
      for (let line = 0; part !== undefined && line <= more; line++) lines.set(partLineKey(part, line), soFar.lines);
      if (part !== undefined && part.source.origin === undefined && isUnexplained && more === 0) {
        again.push(...recheck(part, { bytes, isWhole }));
      }
      yield bytes;
      soFar.lines += more;
      soFar.isEnded = bytes.at(-1) === newline;
    }
    const own = [...[...lines.keys()].flatMap((line) => errors.get(line) ?? []), ...again, ...problems];
    const unknown = () =>
      createProblem("group-rejected", undefined, first && locateLine(first.source, first.part.line));
    for (const problem of own.length > 0 ? own : [unknown()]) {
      const rejects_line = lines.get(problemLineKey(problem)) ?? lines.values().next().value ?? 1;
      onReason(`${JSON.stringify({ ...toProblemDocument(problem), rejects_line })}\n`);
    }
  }
}

const newlineBytes = Buffer.from("\n");
const commaBytes = Buffer.from(",");

/** Identifies the line of a part, or a line after it, in the input. */
const partLineKey = ({ source, part }: GroupPart, next = 0): string => `${source.name}:${part.line + next}`;
const problemLineKey = ({ readAt, file, line }: Problem): string => readAt ?? `${file}:${line}`;

/** Counts the newlines before the last byte. */
const countLineEnds = (bytes: Buffer): number => {
  let count = 0;
  for (let at = bytes.indexOf(newline); at >= 0 && at < bytes.length - 1; at = bytes.indexOf(newline, at + 1)) count++;
  return count;
};

interface CopiedBytes {
  readonly bytes: Buffer;
  readonly beginsLine: boolean;
  /** The part that begins with the bytes. */
  readonly part?: GroupPart;
  /** True if the bytes are a whole line of the input. */
  readonly isWhole?: boolean;
}

/** Yields the parts of a group as their lines, or joined to a group on one line. */
async function* copyParts(
  parts: readonly GroupPart[],
  { isJoined, window }: { readonly isJoined: boolean; readonly window: ReadWindow },
): AsyncGenerator<CopiedBytes, void> {
  if (isJoined) yield { bytes: groupOpening, beginsLine: true };
  for (const [at, part] of parts.entries()) {
    const { origin } = part.source;
    if (origin !== undefined) {
      for (const [index, record] of (await origin.recordsOf(part.part.line)).entries()) {
        yield { bytes: Buffer.concat([record, newlineBytes]), beginsLine: true, ...(index === 0 ? { part } : {}) };
      }
    } else if (isJoined) {
      if (at > 0) yield { bytes: commaBytes, beginsLine: false };
      yield { bytes: await window.readPart(part), beginsLine: false, part };
    } else yield { ...(await readLine(part, window)), beginsLine: true, part };
  }
  if (isJoined) yield { bytes: Buffer.concat([groupClosing, newlineBytes]), beginsLine: false };
}

/** True if another file has the `group_id` too, so that the lines of both groups would be read as one group. */
const hasAmbiguousGroupId = async (
  parts: readonly GroupPart[],
  { keys, window }: { readonly keys: Map<string, Source>; readonly window: ReadWindow },
): Promise<boolean> => {
  const [first] = parts;
  if (first === undefined || parts.some(({ part }) => part.kind !== "trajectory")) return false;
  const value = memberAt(readRoot(await window.readPart(first)), "group_id");
  const id = value === undefined ? null : parseValue(value);
  if (id === null) return false;
  const key = JSON.stringify(id);
  const source = keys.get(key) ?? first.source;
  keys.set(key, source);
  return source !== first.source;
};

/** Returns the stored errors by file and line. */
const indexErrorsByLine = ({ problems, sources }: Dataset): ReadonlyMap<string, readonly Problem[]> => {
  const byLine = new Map<string, Problem[]>();
  for (const problem of problems.sorted(sources.map(({ name }) => name))) {
    if (problem.severity !== "error") continue;
    const own = byLine.get(problemLineKey(problem)) ?? [];
    byLine.set(problemLineKey(problem), own);
    own.push(problem);
  }
  return byLine;
};

/** Opens a second check of one line, because not every problem of a frequent rule is stored. */
const openRecheck = (strictness: Strictness) => {
  // Shared, because creating a scan result takes longer than the check of a line.
  const found = newScanResult(strictness, { hasDigests: false });
  return (
    { source: { name }, part: { line } }: GroupPart,
    { bytes, isWhole }: { readonly bytes: Buffer; readonly isWhole: boolean },
  ): readonly Problem[] => {
    const problems = new Problems(strictness);
    const source = { name, bytes: memoryBytes([]), touched: async () => false };
    const scan = new Scan(source, { index: 0, groupBy: undefined, result: { ...found, problems } });
    scan.scanLines({ kind: "lines", bytes, start: 0, last: false });
    const errors = problems.sorted([name]).filter(({ severity }) => severity === "error");
    // The columns are wrong unless the bytes are the whole line.
    return errors.map(({ column, ...problem }) => ({
      ...problem,
      line,
      ...(column === undefined || !isWhole ? {} : { column }),
    }));
  };
};

/** Maximum white space between a part and the start or end of its line. */
const marginBytes = 4096;

/** Returns the line of a part. If other data is on the line, returns the bytes of the part and a newline. */
const readLine = async (own: GroupPart, window: ReadWindow): Promise<Pick<CopiedBytes, "bytes" | "isWhole">> => {
  const { source, part } = own;
  const start = Math.min(part.start, marginBytes);
  const bytes = await window.read(source, part.start - start, start + part.length + marginBytes);
  const value = requireUnchanged(bytes.subarray(start, start + part.length), own);
  const after = start + part.length;
  const lineEnd = endOfLine(bytes, after);
  const lineStart = findLineStart(bytes, start);
  if (lineStart === undefined || skipWhite(bytes, after) < lineEnd)
    return { bytes: Buffer.concat([value, newlineBytes]) };
  return { bytes: bytes.subarray(lineStart, lineEnd + 1), isWhole: true };
};

/** Returns the start of the line whose first value is at `at`; undefined if other text is before the value. */
const findLineStart = (bytes: Buffer, at: number): number | undefined => {
  const start = at === 0 ? 0 : bytes.lastIndexOf(newline, at - 1) + 1;
  const text = bytes.toString("latin1", start, at);
  if (/^[ \t\r]*$/.test(text)) return start;
  // A byte order mark is not part of the first line.
  return start === 0 && /^\u00ef\u00bb\u00bf[ \t\r]*$/.test(text) ? 3 : undefined;
};
