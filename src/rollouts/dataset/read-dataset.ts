/** Reads and checks all inputs. */

import { Breaks } from "../../system/breaks.ts";
import type { Host } from "../../system/host.ts";
import type { MeasuredKeys } from "../check/measure.ts";
import { listCustomKeys } from "../check/trajectory.ts";
import type { Conversion } from "../formats/convert-inputs.ts";
import { convertOpened } from "../formats/convert-opened.ts";
import type { FormatOptions } from "../formats/format.ts";
import { findCommonSplit, reportMismatches } from "../index/contradictions.ts";
import { digestBytes } from "../index/digests.ts";
import { Groups, openGrouping, type ScatteredPart } from "../index/groups.ts";
import { Parts } from "../index/parts.ts";
import { ScanResult } from "../index/scan-result.ts";
import type { SkippedFile } from "../input/list-folder.ts";
import { type OpenOptions, openInputs } from "../input/open-inputs.ts";
import { closeSources, fileOf, filesOf, ShrunkSourceError, type Source } from "../input/source.ts";
import { inputChanged, invalidInput, missingSplit } from "../rules/failures.ts";
import { maxNameLength } from "../rules/positions.ts";
import { Problems } from "../rules/problems.ts";
import { defaultStrictness, type Strictness } from "../rules/rules.ts";
import * as datasetProblems from "./dataset-problems.ts";
import { finalizeGroup, readPartValue } from "./group-bytes.ts";
import { getPart, type IndexedGroups, listDerivedFinishes, mapProblemsToRecords } from "./locate.ts";
import { formatLacks } from "./missing-features.ts";
import { scanSource } from "./scan.ts";

/** `read` has the groups that were read so far. The last of them can get further trajectories. */
export type ReadProgress = Readonly<{ bytes: number; of: number; read: IndexedGroups }>;

/** What the check of open sources needs of `ReadOptions`. */
interface SourceOptions extends Pick<FormatOptions, "split" | "groupBy" | "skipsDigests"> {
  readonly host: Pick<Host, "signal">;
  readonly isSplitRequired?: boolean;
  readonly strictness?: Strictness | undefined;
  /** Collects the facts of each trajectory, with the values of these keys. */
  readonly measures?: MeasuredKeys | undefined;
  readonly onProgress?: ((progress: ReadProgress) => void) | undefined;
}

/** The options of a command that reads rollouts, as each step gets them. */
export interface ReadOptions extends SourceOptions, FormatOptions, OpenOptions {
  readonly host: Host;
  /** True if rollcall continues without the inputs that it cannot open. */
  readonly continuesAfterErrors?: boolean;
  readonly onOpened?: () => void;
}

/** The caller must close the dataset. */
export interface Dataset extends IndexedGroups {
  split: string | undefined;
  conversion?: Conversion | undefined;
  /** Names of files that are inputs under another name. */
  repeatedFiles?: readonly string[];
  /** The number of groups of several files that `--group-by` joined. */
  joinedGroups?: number | undefined;
  /** What all rollouts of some files lack. */
  note?: string | undefined;
  close(): Promise<void>;
}

/** Counts unreadable lines. Also counts unreadable records of other tools if their group is unknown. */
export const countUnreadable = ({ scan, sources, conversion }: Omit<Dataset, "close">) => {
  const { parts } = scan;
  const isUnconverted = sources.map(({ originals }) => originals === undefined);
  const count = parts.has("unreadable") ? parts.count : 0;
  let lines = 0;
  for (let at = 0; at < count; at++)
    if (parts.kindOf(at) === "unreadable" && isUnconverted[parts.columns.source.at(at)]) lines++;
  return lines + (conversion?.unreadableRecords ?? 0);
};

/** @throws Failure `invalid-input` if an input cannot be opened; as `openInputs`, `convertOpened`, `readSources` */
export const readDataset = async (options: ReadOptions): Promise<Dataset> => {
  const { continuesAfterErrors = false, isSplitRequired = false } = options;
  const opened = await openInputs(options);
  const { problems, repeated } = opened;
  let sources: readonly Source[] = opened.sources;
  const close = async () => await closeSources(sources);
  try {
    const { conversion, skipped, ...converted } = await convertOpened(options, opened);
    sources = converted.sources;
    if (problems.errors > 0 && (!continuesAfterErrors || sources.length === 0))
      throw invalidInput(problems, { isSending: isSplitRequired });
    options.onOpened?.();
    const read = await readSources(sources, options);
    read.scan.problems.merge(problems);
    if (conversion) read.scan.problems.merge(conversion.recordProblems);
    await mapProblemsToRecords(sources, read.scan.problems);
    reportSkippedFiles(read.scan.problems, skipped);
    reportConversion(read.scan.problems, conversion);
    return { ...read, conversion, repeatedFiles: repeated, close };
  } catch (thrown) {
    await close();
    throw thrown;
  }
};

const reportSkippedFiles = (problems: Problems, files: readonly SkippedFile[] = []) => {
  for (const { file, reason } of files) problems.report("skipped-file", { reason }, { file });
};

const reportConversion = (problems: Problems, conversion: Conversion | undefined) => {
  for (const { format, files } of conversion?.formats ?? [])
    if (format.isLossy) problems.report("lossy-format", { format: format.name }, { file: files[0] ?? "" });
  if (conversion) problems.merge(conversion.warnings);
  if (problems.strictness.strict) problems.addInputRule("rollout-in-parts");
};

/** @throws Failure `missing-split`, `input-changed`; the signal's reason */
export const readSources = async (sources: readonly Source[], options: SourceOptions) => {
  const { groupBy, split: given } = options;
  const breaks = new Breaks(options.host.signal);
  const scan = createScanResult(sources, options);
  const { requests, shapes } = scan;
  const read: IndexedGroups = { sources, scan, groups: new Groups(scan.parts) };
  const requireSplit = (isKnown: boolean) => {
    if (options.isSplitRequired === true && !isKnown)
      throw missingSplit([...new Set(requests.distinct.flatMap((request) => request.split ?? []))]);
  };
  const checkSplit = () => requireSplit(given !== undefined || hasOnlyRequests(scan));
  const scattered = await scanSources(read, options, checkSplit);
  if (options.measures) await forgetDerivedFinishes(read, breaks);
  const joinedGroups = groupBy === undefined ? 0 : await checkGroupKey(read, groupBy, breaks);
  reportMismatches(scan, { split: given, location: locateOnlySource(sources) });
  const split = given ?? findCommonSplit(requests, shapes);
  requireSplit(split !== undefined);
  datasetProblems.reportScatteredParts(read, scattered);
  datasetProblems.reportAmbiguousGroups(read, groupBy !== undefined);
  const ungrouped = groupBy === undefined ? locateOnlySource(sources) : undefined;
  const note = await finishCheck(read, breaks, { ungrouped, isTrained: (split ?? "train") === "train" });
  return { ...read, split, joinedGroups, note };
};

const createScanResult = (sources: readonly Source[], options: SourceOptions) => {
  const { strictness = defaultStrictness, skipsDigests = false, measures } = options;
  // The rejects file of converted input contains original records, so rollcall stores fewer errors.
  const writesRejects = strictness.writesRejects === true && sources.some(({ originals }) => !originals);
  const parts = new Parts({ hasDigests: !skipsDigests, hasFacts: measures !== undefined });
  const scan = new ScanResult(new Problems({ ...strictness, writesRejects, isDeferred: true }), parts);
  scan.problems.inputs = sources.map(({ name }) => name);
  return scan;
};

/** A derived finish reason is in the line of a converted trajectory, but it is no fact of the rollout. */
const forgetDerivedFinishes = async (read: IndexedGroups, breaks: Breaks) => {
  const { parts } = read.scan;
  if (read.sources.every(({ originals }) => !originals)) return;
  for (let part = 0; part < parts.count; part++) {
    if (breaks.isDue()) await breaks.take();
    const rows = parts.rowsOf(part);
    const derived = rows.length === 0 ? [] : listDerivedFinishes(getPart(read, part));
    for (const [at, row] of rows.entries()) if (derived[at]) parts.facts?.finishReason.set(row, undefined);
  }
};

const scanSources = async (read: IndexedGroups, options: SourceOptions, checkSplit: () => void) => {
  const { sources, scan, groups } = read;
  const { groupBy, measures, onProgress } = options;
  const { parts, problems } = scan;
  const isGroupedByKey = groupBy !== undefined;
  const totalBytes = sources.reduce((sum, { bytes }) => sum + bytes.size, 0);
  const scattered: ScatteredPart[] = [];
  let bytesBefore = 0;
  let grouping = openGrouping({ parts, groups, isGroupedByKey });
  const measure = measures && (await import("../check/measure.ts")).openMeasurer(measures);
  for (const [index, source] of sources.entries()) {
    if (!isGroupedByKey) grouping = openGrouping({ parts, groups, isGroupedByKey });
    const first = parts.count;
    let grouped = first;
    const onRead = (bytes: number) => {
      checkSplit();
      grouping.groupParts(grouped);
      grouped = parts.count;
      onProgress?.({ bytes: bytesBefore + bytes, of: totalBytes, read });
    };
    problems.input = source.name;
    const { signal } = options.host;
    await scanSource(source, { index, result: scan, groupBy, measure, signal }, onRead).catch((thrown: unknown) => {
      throw thrown instanceof ShrunkSourceError ? inputChanged(source.name) : thrown;
    });
    takeDigests(parts, source, first);
    if (parts.count === first) reportEmpty(problems, source);
    if (!isGroupedByKey) for (const part of grouping.scattered) scattered.push(part);
    bytesBefore += source.bytes.size;
  }
  return scattered;
};

const reportEmpty = (problems: Problems, source: Source) => {
  const ofOtherSplits = source.originals?.ofOtherSplits;
  if (ofOtherSplits) problems.report("input-empty", { isEmpty: false, ofOtherSplits });
  else for (const file of filesOf(source)) problems.report("input-empty", { isEmpty: false }, { file });
};

/** The digest of a converted group does not depend on its bytes. */
const takeDigests = (parts: Parts, { originals }: Source, first: number) => {
  if (!parts.hasDigests || !originals) return;
  for (let at = first; at < parts.count; at++)
    parts.digests.set(at, originals.digestOf(parts.columns.line.at(at)).subarray(0, digestBytes));
};

/** Reports problems of groups and of the whole input, and finishes the metrics. Returns a note. */
const finishCheck = async (
  read: IndexedGroups,
  breaks: Breaks,
  judged: Parameters<typeof datasetProblems.reportGroupProblems>[2],
) => {
  const { groups, scan } = read;
  const { parts, problems } = scan;
  const broken = await datasetProblems.reportGroupProblems(read, breaks, judged);
  const lacking = await datasetProblems.reportDatasetProblems(read, breaks);
  problems.promoteWarnings();
  if (problems.strictness.strict) groups.rejectWarned();
  // Only the search for duplicates needs fingerprints.
  parts.fingerprints.clear();
  const unfinished = groups.areValidParts ? 0 : groups.count;
  for (let group = 0; group < unfinished; group++) {
    if (breaks.isDue()) await breaks.take();
    if (!groups.isValid(group) || groups.isBare(group)) await finalizeGroup(read, group);
  }
  return formatLacks(read, [...lacking, ...broken]);
};

const maxNamedKeys = 8;

/** Returns the number of groups that the key joins across files. */
const checkGroupKey = async (read: IndexedGroups, groupBy: readonly string[], breaks: Breaks) => {
  const { groups, scan, sources } = read;
  const { parts, problems } = scan;
  const uses = sources.flatMap(({ originals }, source) => (originals?.keyUse ? { source, ...originals.keyUse } : []));
  let joined = uses.reduce((sum, use) => sum + use.joined, 0);
  let isUsed = uses.some((use) => use.isUsed);
  for (let group = 0; group < groups.count; group++) {
    if (breaks.isDue()) await breaks.take();
    if (!groups.isKeyed(group)) continue;
    isUsed = true;
    if (sources.length > 1 && new Set(groups.partsOf(group).map((at) => parts.columns.source.at(at))).size > 1)
      joined++;
  }
  let first = 0;
  while (first < parts.count && parts.kindOf(first) !== "trajectory") first++;
  const known = first < parts.count ? listCustomKeys(readPartValue(getPart(read, first))) : uses[0]?.keys;
  const key = (isUsed ? undefined : groupBy.find((name) => !known?.includes(name))) ?? groupBy.join();
  if (isUsed || !known) {
    for (const { source, linesWithout } of uses) datasetProblems.reportMissingKeys(read, { source, linesWithout, key });
    return joined;
  }
  const others = known.filter(isOneKey).slice(0, maxNamedKeys);
  problems.replaceWithError("group-key-missing", { key, others }, locateOnlySource(sources));
  const isConverted = new Set(uses.map(({ source }) => source));
  for (let group = 0; group < groups.count; group++) {
    if (groups.isBare(group) || isConverted.has(parts.columns.source.at(groups.firstOf(group)))) groups.reject(group);
  }
  return 0;
};

/** `--group-by` separates keys by commas. */
const isOneKey = (name: string) => name.trim() !== "" && !name.includes(",") && name.length <= maxNameLength;

const locateOnlySource = ([first, ...others]: readonly Source[]) =>
  !first || others.length > 0 || filesOf(first).length > 1 ? {} : { file: fileOf(first) };

/** Groups and trajectories cannot name a split. */
const hasOnlyRequests = ({ shapes, parts, requests }: ScanResult) =>
  (shapes.size === 0 && parts.count === 0) || (shapes.size === 1 && requests.byContent.size > 0);
