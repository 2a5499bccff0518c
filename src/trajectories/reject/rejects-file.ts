/** Writes groups that were rejected to a file of their own, byte for byte, with the reasons beside it. */

import { createHash } from "node:crypto";
import { constants, createReadStream } from "node:fs";
import { access, mkdtemp, open, rename, rm, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { Failure, isFailure, type Problem, problemFacts } from "../../failure.ts";
import { codeOf } from "../../files.ts";
import { newline } from "../../json/walk.ts";
import type { Source } from "../input/source.ts";
import type { Part } from "../read/parts/columns.ts";
import { groupClosing, groupOpening } from "../read/parts/group.ts";
import type { Reading } from "../read/read.ts";
import { problemOf } from "../rules/problems.ts";
import { openRecheck } from "./recheck.ts";
import { bytesOf, lineOf } from "./rejected-lines.ts";

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
  const known = [written.digest(file), written.digest(upcoming(file))];
  if (there !== undefined && !known.includes(there)) throw new Failure("rejects-exist", { file });
};

/** What a file is remembered by that is about to be written. */
const upcoming = (path: string): string => `${path}.new`;

/** Writes both files anew. @throws Failure `rejects-exist`, `rejects-unwritable` */
export const writeRejects = async (
  reading: Reading,
  {
    path,
    written,
    isFollowed = false,
    ...rest
  }: {
    readonly path: string;
    readonly rejected: readonly Rejected[];
    readonly written: Written;
    readonly isFollowed?: boolean;
  },
): Promise<void> => {
  const reasons: string[] = [];
  await writeAnew(path, { written, pieces: rejectedLines(reading, { ...rest, isFollowed, reasons }) });
  await writeAnew(reasonsFile(path), { written, pieces: [Buffer.from(reasons.join(""))] });
};

/** The lines of rejected groups, each of which ends before the next begins; adds the reasons of each. */
async function* rejectedLines(
  reading: Reading,
  {
    rejected,
    isFollowed,
    reasons,
  }: { readonly rejected: readonly Rejected[]; readonly isFollowed: boolean; readonly reasons: string[] },
): AsyncGenerator<Buffer, void> {
  const errors = errorsByPlace(reading);
  const recheck = openRecheck(reading.problems.judgement);
  const keys = new Map<string, Source>();
  let count = 0;
  let ended = true;
  for (const { group, problems } of rejected) {
    const places = new Map<string, number>();
    const parts = Array.from(reading.groups.partsOf(group), (at) => reading.found.parts.at(at));
    const again: Problem[] = [];
    const isBare = problems.length === 0 && !parts.some((part) => errors.has(placeOf(reading, part)));
    const check = (part: Part, bytes: Buffer, isWhole: boolean): void => {
      const file = reading.sources[part.source]?.name ?? "";
      if (isBare) again.push(...recheck({ bytes, file, line: part.line, isWhole }));
    };
    const whole = await clashes(reading, { parts, keys, isFollowed });
    if (whole) count++;
    for (const [at, part] of parts.entries()) {
      const source = reading.sources[part.source];
      if (source === undefined) continue;
      places.set(placeOf(reading, part), whole ? count : ++count);
      if (!ended) yield end;
      ended = true;
      if (whole) {
        const bytes = await bytesOf({ source, part, isFollowed });
        check(part, bytes, false);
        yield at === 0 ? groupOpening : comma;
        yield bytes;
        continue;
      }
      const { line, isWhole } = await lineOf({ source, part, isFollowed });
      check(part, line, isWhole);
      ended = line.at(-1) === newline;
      yield line;
    }
    if (whole) yield Buffer.concat([groupClosing, end]);
    const own = [...Array.from(places.keys()).flatMap((place) => errors.get(place) ?? []), ...again, ...problems];
    const all = own.length > 0 ? own : [problemOf("group-rejected", undefined, spotOf(places))];
    for (const problem of all) reasons.push(reasonLine(problem, places));
  }
}

const placeOf = ({ sources }: Reading, { source, line }: Part): string => `${sources[source]?.name}:${line}`;

const end = Buffer.from("\n");
const comma = Buffer.from(",");

/**
 * Whether lines that are a group by their `group_id` would be taken for one with those of another file, which begins
 * again to count: they are then written as the group that they are, on one line.
 */
const clashes = async (
  { sources }: Reading,
  {
    parts,
    keys,
    isFollowed,
  }: { readonly parts: readonly Part[]; readonly keys: Map<string, Source>; readonly isFollowed: boolean },
): Promise<boolean> => {
  const [first] = parts;
  const source = first === undefined ? undefined : sources[first.source];
  if (first === undefined || source === undefined || parts.some(({ kind }) => kind !== "trajectory")) return false;
  if (sources.length === 1) return false;
  const key = groupIdIn(await bytesOf({ source, part: first, isFollowed }));
  if (key === undefined) return false;
  const other = keys.get(key);
  if (other === undefined) keys.set(key, source);
  return other !== undefined && other !== source;
};

const groupIdIn = (line: Buffer): string | undefined => {
  try {
    const value: unknown = JSON.parse(line.toString("utf8"));
    if (typeof value !== "object" || value === null || !("group_id" in value) || value.group_id === null) return;
    return JSON.stringify(value.group_id);
  } catch {
    return undefined;
  }
};

/** The errors that were kept, by file and line. */
const errorsByPlace = ({ problems, sources }: Reading): ReadonlyMap<string, readonly Problem[]> => {
  const errors = problems.sorted(sources.map(({ name }) => name)).filter(({ severity }) => severity === "error");
  const byPlace = new Map<string, Problem[]>();
  for (const problem of errors) {
    const place = `${problem.file}:${problem.line}`;
    const there = byPlace.get(place);
    if (there === undefined) byPlace.set(place, [problem]);
    else there.push(problem);
  }
  return byPlace;
};

const spotOf = (places: ReadonlyMap<string, number>): { readonly file?: string; readonly line?: number } => {
  const [place] = places.keys();
  const colon = place?.lastIndexOf(":") ?? -1;
  return place === undefined ? {} : { file: place.slice(0, colon), line: Number(place.slice(colon + 1)) };
};

const reasonLine = (problem: Problem, places: ReadonlyMap<string, number>): string => {
  const { file, line } = problem;
  const [firstLine = 1] = places.values();
  const rejects_line = places.get(`${file}:${line}`) ?? firstLine;
  return `${JSON.stringify({ ...problemFacts(problem), rejects_line })}\n`;
};

/**
 * Writes a file as a whole, in a folder beside itself first, so that what is there is whole at every moment.
 * @throws Failure `rejects-exist` where somebody wrote to it meanwhile
 */
const writeAnew = async (
  path: string,
  { pieces, written }: { readonly pieces: AsyncIterable<Buffer> | Iterable<Buffer>; readonly written: Written },
): Promise<void> => {
  let beside: string | undefined;
  try {
    beside = await mkdtemp(`${path}.`);
    const whole = join(beside, "new");
    const digest = await write(whole, pieces);
    await checkFree(path, written);
    written.remember(upcoming(path), digest);
    await rename(whole, path);
    written.remember(path, digest);
  } catch (thrown) {
    throw thrown instanceof Failure ? thrown : unwritable(path, thrown);
  } finally {
    if (beside !== undefined) await rm(beside, { recursive: true, force: true });
  }
};

/** Writes a new file; gives its digest. */
const write = async (path: string, pieces: AsyncIterable<Buffer> | Iterable<Buffer>): Promise<string> => {
  const hash = createHash("sha256");
  const file = await open(path, "wx", 0o666);
  try {
    for await (const piece of pieces) {
      hash.update(piece);
      await file.write(piece);
    }
    await file.sync();
  } finally {
    await file.close();
  }
  return hash.digest("hex");
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

const unwritable = (file: string, thrown: unknown): Failure =>
  new Failure("rejects-unwritable", { file, code: codeOf(thrown) }, { cause: thrown });
