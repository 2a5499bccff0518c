/** Writes groups that were rejected to a file of their own, byte for byte, with the reasons beside it. */
import { createHash } from "node:crypto";
import { constants } from "node:fs";
import { open, readFile, rename, rm, stat } from "node:fs/promises";
import { Failure, type Problem } from "../failure.ts";
import { skipWhite } from "../json.ts";
import type { Part } from "./columns.ts";
import { problemOf } from "./problems.ts";
import type { Reading } from "./read.ts";
import type { Source } from "./source.ts";

/** A group that was rejected, and why, as far as that is not among the problems of reading. */
export interface Rejected {
  readonly group: number;
  readonly problems: readonly Problem[];
}

/** What rollcall remembers of the files it wrote: the digest of each by its path. */
export interface Written {
  digest(path: string): string | undefined;
  remember(path: string, digest: string): void;
}

/** The file of the reasons beside a rejects file. */
export const reasonsFile = (path: string): string => `${path}.reasons`;

/**
 * Holds both files against what rollcall wrote itself: anything else is never overwritten.
 * @throws Failure `rejects-exist`
 */
export const checkRejectsFree = async (path: string, written: Written): Promise<void> => {
  for (const file of [path, reasonsFile(path)]) {
    const there = await digestOfFile(file);
    if (there !== undefined && there !== written.digest(file)) throw new Failure("rejects-exist", { file });
  }
};

/** Writes both files anew. @throws Failure `rejects-unwritable` */
export const writeRejects = async (
  reading: Reading,
  {
    path,
    rejected,
    written,
  }: { readonly path: string; readonly rejected: readonly Rejected[]; readonly written: Written },
): Promise<void> => {
  const lines = new Lines();
  const reasons: string[] = [];
  for (const { group, problems } of rejected) {
    const places = new Map<string, number>();
    for (const at of reading.groups.partsOf(group)) {
      const part = reading.found.parts.at(at);
      const source = reading.sources[part.source];
      if (source === undefined) continue;
      places.set(`${source.name}:${part.line}`, lines.count + 1);
      lines.add(await lineOf(source, part));
    }
    const own = [...problemsAt(reading, places), ...problems];
    const all = own.length > 0 ? own : [problemOf("group-rejected", undefined, spotOf(places))];
    reasons.push(...all.map((problem) => reasonLine(problem, places)));
  }
  await writeAnew(path, lines.bytes, written);
  await writeAnew(reasonsFile(path), Buffer.from(reasons.join("")), written);
};

/** Lines put together: each ends before the next begins. */
class Lines {
  readonly #pieces: Buffer[] = [];

  get count(): number {
    return this.#pieces.length;
  }

  add(line: Buffer): void {
    const last = this.#pieces.at(-1);
    if (last !== undefined && last.at(-1) !== newline)
      this.#pieces[this.#pieces.length - 1] = Buffer.concat([last, end]);
    this.#pieces.push(line);
  }

  get bytes(): Buffer {
    return Buffer.concat(this.#pieces);
  }
}

const newline = 0x0a;
const end = Buffer.from("\n");

/** White space around a part that is looked at for the ends of its line. */
const marginBytes = 4096;

/** The line that a part is all of, with its end; for a part of a longer text, its bytes on a line of their own. */
const lineOf = async ({ bytes: source }: Source, { start, length }: Part): Promise<Buffer> => {
  const before = Math.min(start, marginBytes);
  const around = Buffer.alloc(before + length + marginBytes);
  const bytes = around.subarray(0, await source.read(around, start - before));
  const behind = skipBlank(bytes, before + length);
  const first = lineStart(bytes, before);
  const isLine = first !== undefined && (bytes[behind] === newline || behind === bytes.length);
  if (isLine) return bytes.subarray(first, behind + (bytes[behind] === newline ? 1 : 0));
  return Buffer.concat([bytes.subarray(before, before + length), end]);
};

/** Offset behind the white space from `at` on that ends no line. */
const skipBlank = (bytes: Buffer, at: number): number => {
  const stop = bytes.indexOf(newline, at);
  return Math.min(skipWhite(bytes, at), stop < 0 ? bytes.length : stop);
};

/** Where the line begins whose first value stands at `at`; undefined where something stands before it. */
const lineStart = (bytes: Buffer, at: number): number | undefined => {
  const start = at === 0 ? 0 : bytes.lastIndexOf(newline, at - 1) + 1;
  const text = bytes.toString("latin1", start, at);
  if (/^[ \t\r]*$/.test(text)) return start;
  // A byte order mark belongs to the file, and not to its first line.
  return start === 0 && /^\u00ef\u00bb\u00bf[ \t\r]*$/.test(text) ? 3 : undefined;
};

const problemsAt = ({ problems, sources }: Reading, places: ReadonlyMap<string, number>): readonly Problem[] =>
  problems
    .sorted(sources.map(({ name }) => name))
    .filter(({ severity, file, line }) => severity === "error" && places.has(`${file}:${line}`));

const spotOf = (places: ReadonlyMap<string, number>): { readonly file?: string; readonly line?: number } => {
  const [place] = places.keys();
  const colon = place?.lastIndexOf(":") ?? -1;
  return place === undefined ? {} : { file: place.slice(0, colon), line: Number(place.slice(colon + 1)) };
};

const reasonLine = (problem: Problem, places: ReadonlyMap<string, number>): string => {
  const { file, line, column, path, rule, severity, message, from } = problem;
  const [firstLine = 1] = places.values();
  const rejects_line = places.get(`${file}:${line}`) ?? firstLine;
  return `${JSON.stringify({ file, line, column, path, rule, severity, message, from, rejects_line })}\n`;
};

/** Writes a file as a whole, beside itself first, so that what is there is whole at every moment. */
const writeAnew = async (path: string, bytes: Buffer, written: Written): Promise<void> => {
  const beside = `${path}.new`;
  try {
    const file = await open(beside, constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL, 0o666);
    try {
      await file.writeFile(bytes);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(beside, path);
  } catch (thrown) {
    await rm(beside, { force: true });
    throw new Failure("rejects-unwritable", { file: path, code: codeOf(thrown) }, { cause: thrown });
  }
  written.remember(path, createHash("sha256").update(bytes).digest("hex"));
};

const digestOfFile = async (path: string): Promise<string | undefined> => {
  try {
    if (!(await stat(path)).isFile()) return "";
    return createHash("sha256")
      .update(await readFile(path))
      .digest("hex");
  } catch (thrown) {
    if (codeOf(thrown) === "ENOENT") return undefined;
    throw new Failure("rejects-unwritable", { file: path, code: codeOf(thrown) }, { cause: thrown });
  }
};

const codeOf = (thrown: unknown): string =>
  thrown instanceof Error && "code" in thrown && typeof thrown.code === "string" ? thrown.code : "";
