/** The lines of rejected groups, byte for byte, with the reasons of each. */

import type { Judgement } from "../../check/rules/judgement.ts";
import { Problems, problemOf } from "../../check/rules/problems.ts";
import { Scan } from "../../check/scan.ts";
import { type Problem, problemFacts } from "../../failure.ts";
import type { Reading } from "../../groups/index.ts";
import {
  type GroupPart,
  groupClosing,
  groupOpening,
  nothingFound,
  partsOf,
  unchanged,
  Window,
} from "../../groups/index.ts";
import { memoryBytes, placeOfLine, type Source } from "../../input/source.ts";
import { newline, skipWhite } from "../../json/walk.ts";

/** A group that was rejected, and why, as far as that is not among the problems of reading. */
export interface Rejected {
  readonly group: number;
  readonly problems: readonly Problem[];
}

/** How far a rejects file is written: what is rejected later stands behind it. */
export interface RejectsSoFar {
  lines: number;
  /** Whether the last line has its end. */
  isEnded: boolean;
  /** The file that the lines of a `group_id` are from. */
  readonly keys: Map<string, Source>;
}

/** A rejects file that nothing is written to yet. */
export const noRejects = (): RejectsSoFar => ({ lines: 0, isEnded: true, keys: new Map() });

/**
 * The lines of rejected groups, each of which ends before the next begins, behind those that were written so far.
 * @param onReason told of each reason, as a line of JSON
 * @throws Failure `input-changed`
 */
export async function* rejectedLines(
  reading: Reading,
  {
    rejected,
    soFar,
    onReason,
  }: {
    readonly rejected: readonly Rejected[];
    readonly soFar: RejectsSoFar;
    readonly onReason: (line: string) => void;
  },
): AsyncGenerator<Buffer, void> {
  const errors = errorsByPlace(reading);
  const recheck = openRecheck(reading.problems.judgement);
  const window = new Window();
  for (const { group, problems } of rejected) {
    const parts = partsOf(reading, group);
    const places = new Map<string, number>();
    const again: Problem[] = [];
    const isUnexplained = problems.length === 0 && !parts.some((part) => errors.has(placeOf(part)));
    const isOneLine = reading.sources.length > 1 && (await clashes(parts, { keys: soFar.keys, window }));
    if (isOneLine) soFar.lines++;
    for (const [at, own] of parts.entries()) {
      const { origin } = own.source;
      if (origin !== undefined) {
        places.set(placeOf(own), soFar.lines + 1);
        if (!soFar.isEnded) yield end;
        soFar.isEnded = true;
        for (const record of await origin.recordsOf(own.part.line)) {
          soFar.lines++;
          yield Buffer.concat([record, end]);
        }
        continue;
      }
      const { line, isWhole } = isOneLine ? { line: await window.of(own), isWhole: false } : await lineOf(own, window);
      places.set(placeOf(own), isOneLine ? soFar.lines : ++soFar.lines);
      if (isUnexplained) again.push(...recheck(own, { bytes: line, isWhole }));
      if (!soFar.isEnded) yield end;
      if (isOneLine) yield at === 0 ? groupOpening : comma;
      yield line;
      soFar.isEnded = isOneLine || line.at(-1) === newline;
    }
    if (isOneLine) yield Buffer.concat([groupClosing, end]);
    const own = [...Array.from(places.keys()).flatMap((place) => errors.get(place) ?? []), ...again, ...problems];
    const all = own.length > 0 ? own : [problemOf("group-rejected", undefined, spotOf(parts[0]))];
    for (const problem of all) onReason(reasonLine(problem, places));
  }
}

const end = Buffer.from("\n");
const comma = Buffer.from(",");

const spotOf = (rejected: GroupPart | undefined): { readonly file?: string; readonly line?: number } =>
  rejected === undefined ? {} : placeOfLine(rejected.source, rejected.part.line);

const placeOf = ({ source, part }: GroupPart): string => `${source.name}:${part.line}`;

/**
 * Whether lines that are a group by their `group_id` would be taken for one with those of another file, which begins
 * again to count: they are then written as the group that they are, on one line.
 */
const clashes = async (
  parts: readonly GroupPart[],
  { keys, window }: { readonly keys: Map<string, Source>; readonly window: Window },
): Promise<boolean> => {
  const [first] = parts;
  if (first === undefined || parts.some(({ part }) => part.kind !== "trajectory")) return false;
  const key = groupIdIn(await window.of(first));
  if (key === undefined) return false;
  const other = keys.get(key);
  if (other === undefined) keys.set(key, first.source);
  return other !== undefined && other !== first.source;
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
    const place = problem.readAt ?? `${problem.file}:${problem.line}`;
    const own = byPlace.get(place);
    if (own === undefined) byPlace.set(place, [problem]);
    else own.push(problem);
  }
  return byPlace;
};

const reasonLine = (problem: Problem, places: ReadonlyMap<string, number>): string => {
  const [firstLine = 1] = places.values();
  const rejects_line = places.get(problem.readAt ?? `${problem.file}:${problem.line}`) ?? firstLine;
  return `${JSON.stringify({ ...problemFacts(problem), rejects_line })}\n`;
};

/** Opens what checks a line by itself once more: of a rule that was broken thousands of times, not every problem was kept. */
const openRecheck = (judgement: Judgement) => {
  // What else is found is nobody's concern, but to make it anew for each line takes longer than the check.
  const found = nothingFound(judgement, { isMarked: false });
  return (
    { source: { name }, part: { line } }: GroupPart,
    { bytes, isWhole }: { readonly bytes: Buffer; readonly isWhole: boolean },
  ): readonly Problem[] => {
    const problems = new Problems(judgement);
    const source = { name, bytes: memoryBytes([]), touched: async () => false };
    const scan = new Scan(source, { index: 0, groupBy: undefined, judgement, found: { ...found, problems } });
    scan.takeLines({ kind: "lines", bytes, start: 0, last: false });
    const errors = problems.sorted([name]).filter(({ severity }) => severity === "error");
    // Columns are those of the file only where the bytes are the whole line.
    return errors.map(({ column, ...problem }) => ({
      ...problem,
      line,
      ...(column === undefined || !isWhole ? {} : { column }),
    }));
  };
};

/** White space around a part that is looked at for the ends of its line. */
const marginBytes = 4096;

/** The line that a part is all of, with its end; for a part of a longer text, its bytes on a line of their own. */
const lineOf = async (
  rejected: GroupPart,
  window: Window,
): Promise<{ readonly line: Buffer; readonly isWhole: boolean }> => {
  const { source, part } = rejected;
  const { start, length } = part;
  const before = Math.min(start, marginBytes);
  const bytes = await window.at(source, start - before, before + length + marginBytes);
  const own = unchanged(bytes.subarray(before, before + length), rejected);
  const behind = skipBlank(bytes, before + length);
  const first = lineStart(bytes, before);
  const isLine = first !== undefined && (bytes[behind] === newline || behind === bytes.length);
  if (isLine) return { line: bytes.subarray(first, behind + (bytes[behind] === newline ? 1 : 0)), isWhole: true };
  return { line: Buffer.concat([own, end]), isWhole: false };
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
