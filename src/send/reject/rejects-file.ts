/** Writes rejected groups to a file, byte for byte, with the reasons in a second file. */
import { createHash } from "node:crypto";
import { constants, createReadStream, statSync } from "node:fs";
import { access, stat } from "node:fs/promises";
import { dirname } from "node:path";
import { Failure, isFailure } from "../../failure.ts";
import { clearDrafts, codeOf, type Draft, openDraft } from "../../files.ts";
import type { Reading } from "../../groups/index.ts";
import { modeOf } from "../../input/index.ts";
import type { Written } from "../../ledger/index.ts";
import { rejectsExist, rejectsUnwritable } from "../failures.ts";
import { noRejects, type Rejected, type RejectsSoFar, rejectedLines } from "./rejected-lines.ts";

/** The file of the reasons for a rejects file. */
const reasonsFile = (path: string): string => `${path}.reasons`;

/** The name by which a file is remembered before it is written. */
const upcoming = (path: string): string => `${path}.new`;

const unwritable = (file: string, thrown: unknown): Failure => rejectsUnwritable(file, codeOf(thrown), thrown);

/**
 * Checks that both files can be written: only files that rollcall wrote itself are replaced.
 * @param needed whether something will be written, or may be: if not, the folder may be read-only
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
  const digest = await digestOfFile(file);
  // A run that was killed between the two may have remembered what it did not write.
  const known = [await written.digest(file), await written.digest(upcoming(file))];
  if (digest !== undefined && !known.includes(digest)) throw rejectsExist(file);
};

/** How rejected groups are written. */
interface RejectsOptions {
  readonly path: string;
  readonly rejected: readonly Rejected[];
  readonly written: Written;
  /** Redacts secrets in the reasons; rejected lines stay byte for byte. */
  readonly redact: (json: string) => string;
  readonly soFar?: RejectsSoFar;
}

/** Adds to both files, or writes them; returns the lines. @throws Failure `rejects-exist`, `rejects-unwritable` */
export const writeRejects = async (reading: Reading, options: RejectsOptions): Promise<number> => {
  const { path, rejected, written, redact, soFar = noRejects() } = options;
  const reasons: string[] = [];
  // Nobody knows who else could read a pipe.
  const own = { written, mode: modeOf(reading.sources, 0o600), isBegun: soFar.lines > 0 };
  const pieces = rejectedLines(reading, { rejected, soFar, onReason: (line) => reasons.push(line) });
  await rewrite(path, { ...own, pieces });
  await rewrite(reasonsFile(path), { ...own, pieces: [Buffer.from(redact(reasons.join("")))] });
  return soFar.lines;
};

/** A draft that was not written to for so long is from a run that was killed. */
const abandonedMs = 2000;

/** Bytes that are written at once: a system call for each line takes longer than everything else about it. */
const chunkBytes = 2 ** 16;

/** What is written to a file. */
interface Content {
  readonly pieces: Iterable<Buffer> | AsyncIterable<Buffer>;
  /** True if the pieces follow the present content. */
  readonly isBegun: boolean;
  readonly written: Written;
  readonly mode: number;
}

/** Writes a file again, so that it is complete at any time. @throws Failure `rejects-exist`, `rejects-unwritable` */
const rewrite = async (path: string, { pieces, isBegun, written, mode }: Content): Promise<void> => {
  let draft: Draft | undefined;
  try {
    draft = openDraft(path, mode);
    clearDrafts(path, statSync(draft.path).ctimeMs - abandonedMs);
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
