/** Reads all inputs: every line is checked before anything else happens. */

import { listUnknownKeys } from "../check/group-key.ts";
import { compareRequests, findCommonSplit, listSplits } from "../check/requests.ts";
import { shortName } from "../check/rules/positions.ts";
import type { Problems } from "../check/rules/problems.ts";
import { defaultStrictness, type Strictness } from "../check/rules/rules.ts";
import { scanSource, type ThreadSharing } from "../check/threads.ts";
import { trajectoryFields } from "../check/trajectory.ts";
import type { Failure } from "../failure.ts";
import { type Conversion, type ConversionOptions, selectConversion } from "../formats/index.ts";
import type { Host } from "../host.ts";
import {
  inputChanged,
  locateLine,
  openInputs,
  type RemoteAccess,
  ShrunkSourceError,
  type Source,
} from "../input/index.ts";
import {
  findRewardOutliers,
  type RewardOutliers,
  reportAmbiguousGroups,
  reportGroupProblems,
  reportUnsortedParts,
} from "./dataset-problems.ts";
import { invalidInputFailure, splitMissing, type ValidGroups } from "./failures.ts";
import { findPart, readPartValue } from "./group-bytes.ts";
import { finalizeGroups } from "./group-metrics.ts";
import { newExtremes } from "./metrics/sketch.ts";
import { digestBytes } from "./parts/column.ts";
import { Groups, openGrouping, type UnsortedPart } from "./parts/groups.ts";
import type { Parts } from "./parts/parts.ts";
import { newScanResult, type OwnKeys, type ScanResult } from "./parts/scan-result.ts";
import type { IndexedGroups } from "./positions.ts";

export interface SourceOptions {
  readonly signal: AbortSignal;
  /** The split in force; undefined if none is given. */
  readonly split: string | undefined;
  /** True if a split must be known in the end: the given one, or the one that all inputs have. */
  readonly splitNeeded: boolean;
  /** Key that puts trajectories into one group, at any position. */
  readonly groupBy: string | undefined;
  /** How strictly findings are judged. Default: warnings warn. */
  readonly judgement?: Strictness | undefined;
  /** How the reading of large files is shared among threads. Default: as suits the machine. */
  readonly sharing?: ThreadSharing;
  /** True if nothing is sent, chosen or compared, so that no part is marked (parts/parts.ts). */
  readonly skipsDigests?: boolean;
  /** Called while other threads begin to read: loads the code that is needed next. */
  readonly meanwhile?: () => Promise<void>;
  /** Called with the progress of reading. */
  readonly onProgress: (progress: { readonly bytes: number; readonly of: number }) => void;
}

export interface ReadOptions extends Omit<SourceOptions, "signal"> {
  readonly host: Host;
  /** Paths; `-`, or no path at all, is standard input. */
  readonly files: readonly string[];
  /** Decompressed bytes that a compressed input may have. */
  readonly maxUnpackedBytes: number;
  /** True if the other inputs are read although one can't be opened. */
  readonly goesOn?: boolean;
  /** How inputs of other tools are read. Default: as rollcall's format. */
  readonly foreign?: ConversionOptions | undefined;
  /** How inputs at addresses are fetched. Default: an address is the name of a file. */
  readonly remote?: RemoteAccess | undefined;
  /** Called once all inputs are open, before the first is read; what it throws ends the run. */
  readonly onOpened: () => void;
}

export type FilteredOut = Readonly<
  Partial<Record<"where" | "best" | "sample" | "shard", { readonly trajectories: number; readonly groups: number }>>
>;

/** What was read: the index of all groups, the metrics of the valid ones, and what is wrong. Must be closed. */
export interface Dataset extends IndexedGroups {
  readonly split: string | undefined;
  /** Keys of whole requests that go into every request made of them. */
  readonly ownKeys: OwnKeys;
  readonly problems: Problems;
  /** What was converted of other tools' files, if anything. */
  readonly conversion?: Conversion | undefined;
  /** Files of folders that were skipped because they have no rollouts. */
  readonly skippedFiles?: readonly string[] | undefined;
  /** Names of files that are inputs by another name already; undefined for a choice. */
  readonly repeatedFiles?: readonly string[];
  /** What a choice filtered out; undefined if there was none. */
  readonly leftOut?: FilteredOut | undefined;
  /** Position of a group among those that it was chosen from; undefined if there was no choice. */
  readonly originalGroup?: (group: number) => number;
  /** Number of unreadable lines of the inputs of a choice; otherwise the parts have it. */
  readonly unreadable?: number;
  close(): Promise<void>;
}

/** Lines that can't be read, or records of another tool whose group is unknown: each of them counts as a group. */
export const countUnreadable = ({
  found: { parts },
  conversion,
  unreadable,
}: Pick<Dataset, "found" | "conversion" | "unreadable">): number => {
  let lines = 0;
  for (let at = 0; at < parts.count; at++) if (parts.kindOf(at) === "unreadable") lines++;
  return unreadable ?? conversion?.ungroupedRecords ?? lines;
};

/** Opens and reads inputs to their end. @throws Failure `invalid-input` if one can't be opened; `missing-split`, … */
export const readDataset = async (options: ReadOptions): Promise<Dataset> => {
  const { foreign, files, goesOn = false, host, splitNeeded } = options;
  const { sources, problems, conversion, others, repeated } = await openInputs({
    ...options,
    ...selectConversion(foreign),
  });
  const close = async () => {
    for (const { bytes } of sources) await bytes.close();
  };
  try {
    if (problems.errors > 0 && (!goesOn || sources.length === 0))
      throw toInvalidInputFailure(problems, files, { unsent: splitNeeded });
    options.onOpened();
    const read = await readSources(sources, { ...options, signal: host.signal });
    read.problems.merge(problems.toData(), 0);
    if (conversion !== undefined) read.problems.merge(conversion.recordProblems.toData(), 0);
    await mapProblemsToSource(read);
    return { ...read, conversion, skippedFiles: others, repeatedFiles: repeated, close };
  } catch (thrown) {
    await close();
    throw thrown;
  }
};

/** Moves problems of composed groups to what they were made of. */
export const mapProblemsToSource = async ({
  problems,
  sources,
}: Pick<Dataset, "problems" | "sources">): Promise<void> => {
  const byName = new Map(sources.flatMap((source) => (source.origin === undefined ? [] : [[source.name, source]])));
  if (byName.size === 0) return;
  await problems.relocate(async ({ file = "", line = 1, path = [], readAt }) => {
    const source = readAt === undefined ? byName.get(file) : undefined;
    const spot = await source?.origin?.locationOf(line, path);
    if (source === undefined || spot === undefined) return undefined;
    // A row of Parquet has no line.
    const place = spot.file === undefined ? locateLine(source, line) : {};
    return { ...place, ...spot, readAt: `${source.name}:${line}`, readPath: path };
  });
};

/** The failure for invalid input. */
export const toInvalidInputFailure = (
  problems: Problems,
  files: readonly string[],
  about: { readonly unsent?: boolean | undefined; readonly valid?: ValidGroups } = {},
): Failure =>
  invalidInputFailure(
    { counts: problems.counts, ...about },
    problems.sorted(files).filter(({ severity }) => severity === "error"),
  );

/** Bytes of the largest source whose rewards are all kept to find the outlying ones. */
const maxExactBytes = 2 ** 18;

/** Reads open sources to their end. @throws Failure `missing-split`, `input-changed`; the signal's reason */
export const readSources = async (
  sources: readonly Source[],
  options: SourceOptions,
): Promise<Omit<Dataset, "close">> => {
  const { groupBy, split: given, signal, sharing, meanwhile } = options;
  const judgement = strictnessFor(sources, options.judgement);
  const isMarked = options.skipsDigests !== true;
  const found = newScanResult(judgement, { hasDigests: isMarked });
  const { parts, problems, requests, shapes } = found;
  const groups = new Groups(parts);
  const read: IndexedGroups = { sources, found, groups };
  const byKey = groupBy !== undefined;
  const requireSplit = (isKnown: boolean): void => {
    if (options.splitNeeded && !isKnown) throw splitMissing(listSplits(requests));
  };
  const of = sources.reduce((sum, { bytes }) => sum + bytes.size, 0);
  const outside: RewardOutliers[] = [];
  const scattered: UnsortedPart[] = [];
  let before = 0;
  let grouping = openGrouping({ found, groups, byKey });
  for (const [index, source] of sources.entries()) {
    if (!byKey) grouping = openGrouping({ found, groups, byKey });
    const first = parts.count;
    let grouped = first;
    const onRead = (bytes: number) => {
      requireSplit(given !== undefined || hasOnlyRequests(found));
      grouping.groupParts(grouped);
      grouped = parts.count;
      options.onProgress({ bytes: before + bytes, of });
    };
    problems.setInput(source.name);
    const isSmall = source.bytes.size <= maxExactBytes;
    const own = { ...found, extremes: newExtremes(isSmall ? Number.POSITIVE_INFINITY : undefined) };
    await scanSource(source, { index, result: own, groupBy, sharing, meanwhile, signal, onRead }).catch(
      (thrown: unknown) => {
        throw thrown instanceof ShrunkSourceError ? inputChanged(source.name) : thrown;
      },
    );
    if (isMarked) setOriginDigests(parts, source, first);
    if (parts.count === first) problems.report("input-empty", undefined, () => ({ file: source.name }));
    outside.push(...findRewardOutliers(own));
    if (!byKey) scattered.push(...grouping.scattered);
    before += source.bytes.size;
  }
  const hasKey = groupBy === undefined || (await checkGroupKey(read, groupBy));
  compareRequests({ requests, shapes, split: given, problems, file: findOnlyFile(sources) });
  const split = given ?? findCommonSplit(requests, shapes);
  requireSplit(split !== undefined);
  for (let group = 0; !hasKey && group < groups.count; group++) if (groups.isBare(group)) groups.reject(group);
  await reportUnsortedParts(read, scattered);
  await reportAmbiguousGroups(read, byKey);
  await reportGroupProblems(read, { outliers: outside, signal });
  // They were compared.
  parts.fingerprints.reset();
  await finalizeGroups(read);
  return { ...read, split, ownKeys: requests.different[0]?.keys ?? new Map(), problems };
};

/** A problem of composed lines is looked for in what they were made of: of no more problems than a person reads. */
const strictnessFor = (sources: readonly Source[], judgement: Strictness = defaultStrictness): Strictness =>
  sources.some(({ origin }) => origin !== undefined) ? { ...judgement, writesRejects: false } : judgement;

/** Has the ledger know the groups of a composed source, from a part on, by what they were made of. */
const setOriginDigests = ({ digests, columns, count }: Parts, { origin }: Source, first: number): void => {
  for (let at = first; origin !== undefined && at < count; at++) {
    digests.set(at, origin.digestOf(columns.line.at(at)).subarray(0, digestBytes));
  }
};

/** Trajectories that are looked at for the keys that they have, and the keys that are named. */
const maxCheckedTrajectories = 20;
const maxNamedKeys = 8;

/** Keys that no group can be told by. */
const knownKeys: ReadonlySet<string> = new Set(trajectoryFields);

/** True if any trajectory has the key that was asked for; that none has is said once, instead of for each. */
const checkGroupKey = async (read: IndexedGroups, key: string): Promise<boolean> => {
  const { groups } = read;
  const { parts, problems } = read.found;
  for (let group = 0; group < groups.count; group++) if (groups.isKeyed(group)) return true;
  if (!parts.has("trajectory")) return true;
  const others = new Set<string>();
  for (let at = 0; at < Math.min(parts.count, maxCheckedTrajectories); at++) {
    const own = findPart(read, at);
    if (own?.part.kind !== "trajectory") continue;
    for (const name of listUnknownKeys(await readPartValue(own.source, own.part), knownKeys))
      others.add(shortName(name));
  }
  problems.dropRule("group-key-missing");
  const file = findOnlyFile(read.sources);
  const spot = file === undefined ? {} : { file };
  problems.report("group-key-unknown", { key, others: [...others].slice(0, maxNamedKeys) }, () => spot);
  return false;
};

const findOnlyFile = (sources: readonly Source[]): string | undefined =>
  sources.length === 1 ? sources[0]?.name : undefined;

/** True if nothing but whole requests was seen, which say their split themselves. */
const hasOnlyRequests = ({ shapes, parts, requests }: ScanResult): boolean =>
  (shapes.size === 0 && parts.count === 0) || (shapes.size === 1 && requests.count > 0);
