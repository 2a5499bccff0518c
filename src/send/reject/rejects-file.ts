/** Writes groups that were rejected to a file of their own, byte for byte, with the reasons beside it. */
import { createHash } from "node:crypto";
import { constants, createReadStream, statSync } from "node:fs";
import { access, stat } from "node:fs/promises";
import { dirname } from "node:path";
import { Failure, isFailure } from "../../failure.ts";
import { clearDrafts, codeOf, type Draft, openDraft } from "../../files.ts";
import type { Reading } from "../../groups/index.ts";
import { modeOf } from "../../input/source.ts";
import { noRejects, type Rejected, type RejectsSoFar, rejectedLines } from "./rejected-lines.ts";

/** What rollcall remembers of the files it wrote: the digest of each by its path. */
export interface Written {
  digest(path: string): Promise<string | undefined>;
  remember(path: string, digest: string): Promise<void>;
}

/** Where nothing is remembered. */
export const nothingWritten: Written = { digest: async () => undefined, remember: async () => undefined };

/** The file of the reasons beside a rejects file. */
const reasonsFile = (path: string): string => `${path}.reasons`;

/**
 * Holds both files against what rollcall wrote itself: anything else is never overwritten.
 * @param needed whether something will be written, or may be: where nothing will, it may be a place where nothing can
 * @throws Failure `rejects-exist`, `rejects-unwritable`: nothing was sent then
 */
export const checkRejectsFree = async (
  path: string,
  { written, needed }: { readonly written: Written; readonly needed: boolean },
): Promise<void> => {
  try {
    for (const file of [path, reasonsFile(path)]) await checkFree(file, written);
    await access(dirname(path), constants.W_OK).catch((thrown: unknown) => {
      throw unwritable(path, thrown);
    });
  } catch (thrown) {
    if (!isFailure(thrown, "rejects-unwritable")) throw thrown;
    if (needed) throw thrown.also({ unsent: true });
  }
};

const checkFree = async (file: string, written: Written): Promise<void> => {
  const there = await digestOfFile(file);
  // A run that was killed between the two may have remembered what it did not write any more.
  const known = [await written.digest(file), await written.digest(upcoming(file))];
  if (there !== undefined && !known.includes(there)) throw new Failure("rejects-exist", { file });
};

/** What a file is remembered by that is about to be written. */
const upcoming = (path: string): string => `${path}.new`;

/** Writes both files anew, with what this run wrote to them so far; gives the lines that there are. @throws Failure `rejects-exist`, `rejects-unwritable` */
export const writeRejects = async (
  reading: Reading,
  {
    path,
    written,
    rejected,
    redact,
    soFar = noRejects(),
  }: {
    readonly path: string;
    readonly rejected: readonly Rejected[];
    readonly written: Written;
    /** Takes secrets out of the reasons; rejected lines stay byte for byte. */
    readonly redact: (json: string) => string;
    readonly soFar?: RejectsSoFar;
  },
): Promise<number> => {
  const reasons: string[] = [];
  // Nobody knows who else could read a pipe.
  const mode = modeOf(reading.sources, 0o600);
  const isBegun = soFar.lines > 0;
  const lines = rejectedLines(reading, { rejected, soFar, onReason: (line) => reasons.push(line) });
  await writeAnew(path, { written, mode, isBegun, pieces: lines });
  await writeAnew(reasonsFile(path), { written, mode, isBegun, pieces: [Buffer.from(redact(reasons.join("")))] });
  return soFar.lines;
};

/** A draft that nobody wrote to for so long is one of a run that was killed. */
const abandonedMs = 2000;

/**
 * Writes a file anew, so that what is there is whole at every moment.
 * @throws Failure `rejects-exist` where somebody wrote to it meanwhile
 */
const writeAnew = async (
  path: string,
  {
    pieces,
    isBegun,
    written,
    mode,
  }: {
    readonly pieces: Iterable<Buffer> | AsyncIterable<Buffer>;
    /** Whether the pieces stand behind what is there. */
    readonly isBegun: boolean;
    readonly written: Written;
    readonly mode: number;
  },
): Promise<void> => {
  let draft: Draft | undefined;
  try {
    draft = openDraft(path, mode);
    clearDrafts(path, statSync(draft.path).ctimeMs - abandonedMs);
    const hash = createHash("sha256");
    const write = (chunk: Buffer): void => {
      hash.update(chunk);
      draft?.write(chunk);
    };
    if (isBegun) for await (const chunk of createReadStream(path)) write(chunk);
    for await (const chunk of chunksOf(pieces)) write(chunk);
    const digest = hash.digest("hex");
    await checkFree(path, written);
    await written.remember(upcoming(path), digest);
    draft.commit();
    await written.remember(path, digest);
  } catch (thrown) {
    throw thrown instanceof Failure ? thrown : unwritable(path, thrown);
  } finally {
    draft?.discard();
  }
};

/** Bytes that are written at once: a system call for each line takes longer than all else about it. */
const chunkBytes = 2 ** 16;

async function* chunksOf(pieces: Iterable<Buffer> | AsyncIterable<Buffer>): AsyncGenerator<Buffer, void> {
  let gathered: Buffer[] = [];
  let length = 0;
  for await (const piece of pieces) {
    gathered.push(piece);
    length += piece.length;
    if (length < chunkBytes) continue;
    yield Buffer.concat(gathered);
    gathered = [];
    length = 0;
  }
  yield Buffer.concat(gathered);
}

const digestOfFile = async (path: string): Promise<string | undefined> => {
  try {
    if (!(await stat(path)).isFile()) return "";
    const hash = createHash("sha256");
    for await (const chunk of createReadStream(path)) hash.update(chunk);
    return hash.digest("hex");
  } catch (thrown) {
    if (codeOf(thrown) === "ENOENT") return undefined;
    throw unwritable(path, thrown);
  }
};

const unwritable = (file: string, thrown: unknown): Failure =>
  new Failure("rejects-unwritable", { file, code: codeOf(thrown) }, { cause: thrown });
