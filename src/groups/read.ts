/** Reads all inputs: every line is checked before anything else happens. */

import { kernelOnce } from "../check/kernel/kernel.ts";
import { addSums } from "../check/kernel/results.ts";
import { type Judgement, lenient } from "../check/rules/judgement.ts";
import type { Problems } from "../check/rules/problems.ts";
import { shortName } from "../check/rules/values.ts";
import { ownKeysOf } from "../check/scan/group-key.ts";
import { checkAgreement, ownSplit, splitsOf } from "../check/scan/request-checks.ts";
import { isReadAtOnce, kernelFor, roomForSmall, scanSource } from "../check/scan/scan-source.ts";
import type { Sharing } from "../check/scan/sharing.ts";
import { checkGroup, checkTrajectory } from "../check/scan/type-checks.ts";
import { Trajectory, type TrajectoryGroup } from "../contract/log.ts";
import { Failure, type ReasonData } from "../failure.ts";
import { type Conversion, conversionAs, type ForeignChoice } from "../formats/index.ts";
import type { Host } from "../host.ts";
import { openInputs } from "../input/inputs.ts";
import type { RemoteAccess } from "../input/remote.ts";
import { inputChanged, placeOfLine, Shrunk, type Source } from "../input/source.ts";
import { type Outside, outsideOf, reportInDoubt, reportWholes } from "./dataset.ts";
import { newExtremes } from "./metrics/picture.ts";
import { digestBytes } from "./parts/digests.ts";
import { type Found, nothingFound } from "./parts/found.ts";
import { Grouping, type Scattered } from "./parts/grouping.ts";
import { Groups } from "./parts/groups.ts";
import type { Part, Parts } from "./parts/parts.ts";
import type { OwnKeys } from "./parts/requests.ts";
import { type GroupsRead, partValue, spotToKeep } from "./whole.ts";

/** How inputs are read. */
export interface ReadOptions {
  readonly host: Host;
  /** Paths; `-` is standard input, which none at all means too. */
  readonly files: readonly string[];
  /** The split in force; undefined where none is given. */
  readonly split: string | undefined;
  /** Whether a split must be known in the end: the given one, or the one that all inputs say themselves. */
  readonly splitNeeded: boolean;
  /** Key that puts trajectories into one group, wherever they stand. */
  readonly groupBy: string | undefined;
  /** What compressed input may unpack to, in bytes. */
  readonly maxUnpackedBytes: number;
  /** What is made of warnings; they warn where nothing is said. */
  readonly judgement?: Judgement | undefined;
  /** How the reading of large files is shared among threads; as suits the machine where nothing is said. */
  readonly sharing?: Sharing;
  /** Whether the others are read where an input can't be opened: its problem then stands beside theirs. */
  readonly goesOn?: boolean;
  /** How inputs of other tools are read; as the interface's own shape where nothing is said. */
  readonly foreign?: ForeignChoice | undefined;
  /** How inputs that are addresses are reached; where nothing is said, they are names of files as all others. */
  readonly remote?: RemoteAccess | undefined;
  /** Whether what is read is only looked at, so that no part is marked (parts/columns.ts). */
  readonly isOnlyLookedAt?: boolean;
  /** What this thread does first where others begin to read: it loads what will be needed for what was read. */
  readonly meanwhile?: () => Promise<void>;
  /** Asked once all inputs are open, before the first is read: whatever it throws ends the run. */
  readonly onOpened: () => void;
  /** Told how far reading is. */
  readonly onProgress: (progress: { readonly bytes: number; readonly of: number }) => void;
}

/** What was left out by a choice. */
interface LeftOut {
  readonly trajectories: number;
  readonly groups: number;
}

/** What a choice left out, by the option that did. */
export type LeftOutBy = Readonly<Partial<Record<"where" | "best" | "sample" | "shard", LeftOut>>>;

/** What was read: the index of all groups, the metrics of the valid ones, and what is wrong. Must be closed. */
export interface Reading {
  readonly sources: readonly Source[];
  readonly found: Found;
  readonly groups: Groups;
  readonly split: string | undefined;
  /** Keys of whole requests that go into every request made of them. */
  readonly ownKeys: OwnKeys;
  readonly problems: Problems;
  /** What was converted of other tools' files; undefined where nothing was. */
  readonly conversion?: Conversion | undefined;
  /** Files of folders that were left out, since they hold no rollouts. */
  readonly others?: readonly string[] | undefined;
  /** Names of files that another name stands for already; undefined where a choice was made. */
  readonly repeated?: readonly string[];
  /** What a choice left out, by the option that did; undefined where there was none. */
  readonly leftOut?: LeftOutBy | undefined;
  /** Position of a group among those that it was chosen from; undefined where there was no choice. */
  readonly chosenFrom?: (group: number) => number;
  /** Lines that can't be read, where a choice stands for them; otherwise its parts say it. */
  readonly unreadable?: number;
  close(): Promise<void>;
}

/** Opens and reads inputs to their end. @throws Failure `input-invalid` where one can't be opened; `split-missing`, … */
export const readTrajectories = async (options: ReadOptions): Promise<Reading> => {
  const { sources, problems, conversion, others, repeated } = await openInputs({
    ...options,
    ...conversionAs(options.foreign),
  });
  const close = async () => {
    for (const { bytes } of sources) await bytes.close();
  };
  try {
    if (problems.errors > 0 && (options.goesOn !== true || sources.length === 0))
      throw invalidInput(problems, options.files, { unsent: options.splitNeeded });
    options.onOpened();
    const read = await readSources(sources, { ...options, signal: options.host.signal });
    read.problems.merge(problems.pack(), 0);
    if (conversion !== undefined) read.problems.merge(conversion.broken.pack(), 0);
    if (conversion !== undefined) await tellInInput(read.problems, sources);
    return { ...read, conversion, others, repeated, close };
  } catch (thrown) {
    await close();
    throw thrown;
  }
};

/** Has problems of what was converted told where it came from. */
export const tellInInput = async (problems: Problems, sources: readonly Source[]): Promise<void> =>
  await problems.move(async ({ file, line = 1, path = [], readAt }) => {
    const source = sources.find(({ name }) => name === file);
    if (source?.origin === undefined || readAt !== undefined) return undefined;
    const spot = await source.origin.spotOf(line, path);
    // Where a row says the place there is no line.
    const place = placeOfLine(source, line);
    if (spot.file === undefined) return { ...place, ...spot, readPath: path };
    return place.readAt === undefined ? spot : { ...spot, readAt: place.readAt, readPath: path };
  });

/** What a run ends with whose input is wrong. */
export const invalidInput = (
  problems: Problems,
  files: readonly string[],
  about: Pick<ReasonData<"input-invalid">, "unsent" | "valid"> = {},
): Failure<"input-invalid"> =>
  new Failure("input-invalid", { counts: problems.counts, ...about }, { problems: errorsOf(problems, files) });

const errorsOf = (problems: Problems, files: readonly string[]) =>
  problems.sorted(files).filter(({ severity }) => severity === "error");

interface SignalOnly {
  readonly signal: AbortSignal;
}

/** Reads open sources to their end. @throws Failure `split-missing`, `input-changed`; the signal's reason */
export const readSources = async (
  sources: readonly Source[],
  options: Omit<ReadOptions, "host" | "files" | "maxUnpackedBytes" | "onOpened"> & SignalOnly,
): Promise<Omit<Reading, "close">> => {
  const { groupBy, split: given, signal } = options;
  const judgement = judgementFor(sources, options.judgement);
  const isMarked = options.isOnlyLookedAt !== true;
  const found = nothingFound(judgement, { isMarked });
  const groups = new Groups(found.parts);
  const of = sources.reduce((sum, { bytes }) => sum + bytes.size, 0);
  const module = kernelFor(of);
  const kernel = kernelOnce(module, groupBy);
  const settle = () => {
    const used = module === undefined ? undefined : kernel();
    if (used !== undefined) addSums(found, used);
  };
  const outside: Outside[] = [];
  const scattered: Scattered[] = [];
  const room = roomForSmall();
  let before = 0;
  let grouping = new Grouping({ found, groups, byKey: groupBy !== undefined });
  for (const [index, source] of sources.entries()) {
    if (groupBy === undefined) grouping = new Grouping({ found, groups, byKey: false });
    const first = found.parts.count;
    let grouped = first;
    const onRead = (bytes: number, soFar: Found) => {
      if (options.splitNeeded && given === undefined && !isRequestsOnly(soFar)) throw splitMissing(soFar);
      grouping.take(grouped);
      grouped = found.parts.count;
      options.onProgress({ bytes: before + bytes, of });
    };
    found.problems.of(source.name);
    const isSmall = isReadAtOnce(source, options.sharing);
    const own = { ...found, extremes: newExtremes(isSmall ? Number.POSITIVE_INFINITY : undefined) };
    // Small sources are summed up together.
    if (!isSmall) settle();
    await scanSource(source, {
      index,
      found: own,
      groupBy,
      judgement,
      isMarked,
      module,
      kernel,
      room,
      sharing: options.sharing,
      meanwhile: options.meanwhile,
      signal,
      onRead,
    }).catch((thrown: unknown) => {
      throw thrown instanceof Shrunk ? inputChanged(source.name) : thrown;
    });
    knowByOrigin(source, { parts: found.parts, first });
    if (found.parts.count === first) found.problems.report("input-empty", undefined, () => ({ file: source.name }));
    outside.push(...outsideOf(own));
    if (groupBy === undefined) scattered.push(...grouping.scattered);
    before += source.bytes.size;
  }
  settle();
  const { problems, requests, shapes } = found;
  const hasKey = groupBy === undefined || (await checkGroupKey(groupBy, { sources, found, groups }));
  const file = sources.length === 1 ? sources[0]?.name : undefined;
  checkAgreement({ requests, shapes, split: given, problems, file });
  const split = given ?? ownSplit(requests, shapes);
  if (options.splitNeeded && split === undefined) throw splitMissing(found);
  for (let group = 0; !hasKey && group < groups.count; group++) {
    if (found.parts.kindOf(groups.firstOf(group)) === "trajectory") groups.reject(group);
  }
  await reportScattered(scattered, { sources, found, groups });
  await reportInDoubt({ sources, found, groups }, groupBy !== undefined);
  await reportWholes({ sources, found, groups }, { outside, signal });
  found.parts.columns.fingerprint.clear();
  await closeGroups(groups, { sources, found });
  return { sources, found, groups, split, ownKeys: requests.different[0]?.keys ?? new Map(), problems };
};

/** Of what was converted, the place of each problem is looked for in its record: of no more of them than a person reads. */
const judgementFor = (sources: readonly Source[], judgement: Judgement = lenient): Judgement =>
  sources.some(({ origin }) => origin !== undefined) ? { ...judgement, setsAside: false } : judgement;

/** Has the ledger know the groups of a converted source, from a part on, by what they were made of. */
const knowByOrigin = (
  { origin }: Source,
  { parts, first }: { readonly parts: Parts; readonly first: number },
): void => {
  if (origin === undefined || !parts.isMarked) return;
  for (let at = first; at < parts.count; at++) {
    parts.digests.set(at, origin.digestOf(parts.at(at).line).subarray(0, digestBytes));
  }
};

/** Trajectories that are looked at for the keys that they have, and the keys that are named. */
const lookedAt = 20;
const mostNamed = 8;

/** Whether any trajectory has the key that was asked for; that none has is said once, instead of each. */
const checkGroupKey = async (key: string, { sources, found, groups }: GroupsRead): Promise<boolean> => {
  const { parts, problems } = found;
  if (groups.haveKeys || !parts.has("trajectory")) return true;
  const others = new Set<string>();
  for (let at = 0; at < Math.min(parts.count, lookedAt); at++) {
    const part = parts.at(at);
    const source = sources[part.source];
    if (part.kind !== "trajectory" || source === undefined) continue;
    for (const name of ownKeysOf(await valueAgain(source, part), knownKeys)) others.add(shortName(name));
  }
  problems.drop("group-key-missing");
  const file = sources.length === 1 ? sources[0]?.name : undefined;
  const spot = file === undefined ? {} : { file };
  problems.report("group-key-nowhere", { key, others: [...others].slice(0, mostNamed) }, () => spot);
  return false;
};

/** Keys that no group can be told by. */
const knownKeys: ReadonlySet<string> = new Set(Object.keys(Trajectory.shape));

/** Whether nothing but whole requests was seen, which say their split themselves. */
const isRequestsOnly = ({ shapes, parts, requests }: Found): boolean =>
  (shapes.size === 0 && parts.count === 0) || (shapes.size === 1 && requests.count > 0);

const splitMissing = ({ requests }: Found): Failure => new Failure("split-missing", { found: splitsOf(requests) });

interface Where {
  readonly sources: readonly Source[];
  readonly found: Found;
}

const reportScattered = async (scattered: readonly Scattered[], whole: GroupsRead): Promise<void> => {
  const { found } = whole;
  for (const { part, first, key } of scattered) {
    const data = { id: key, line: found.parts.at(first).line };
    const spot = await spotToKeep(whole, { rule: "group-scattered", part, path: () => ["group_id"] });
    found.problems.report("group-scattered", data, () => spot);
  }
};

/** Adds to the metrics what is known of groups as a whole, and takes back trajectories of those that are not valid. */
const closeGroups = async (groups: Groups, { sources, found }: Where): Promise<void> => {
  const { parts } = found;
  if (groups.areValid() && !parts.has("trajectory")) return;
  for (let group = 0; group < groups.count; group++) {
    // What arrived as a group, and is valid, was closed when it was read.
    const isClosed = groups.isValid(group) && parts.kindOf(groups.firstOf(group)) === "group";
    if (!isClosed) await closeGroup(groups, group, { sources, found });
  }
};

/** Adds to the metrics what is known of a group as a whole, or takes back the trajectories of one that is not valid. */
export const closeGroup = async (groups: Groups, group: number, { sources, found }: Where): Promise<void> => {
  const positions = groups.partsOf(group);
  if (groups.isValid(group)) {
    if (found.parts.kindOf(groups.firstOf(group)) !== "trajectory") return;
    const rewards = new Float64Array(positions.length);
    for (let at = 0; at < rewards.length; at++) rewards[at] = found.parts.columns.reward.at(positions[at] ?? 0);
    found.tally.closeGroup({ rewards, exceptions: 0 });
    return;
  }
  const { added, flat } = await measuredAgain(positions, { sources, found });
  for (const one of added) found.tally.remove(one);
  for (const one of flat) found.tally.removeTrajectory(one);
};

/** Takes groups back that are part of the metrics, and that the service refused. */
export const takeBackGroups = async (
  { groups, sources, found }: Where & { readonly groups: Groups },
  refused: readonly number[],
): Promise<void> => {
  for (const group of refused) {
    const { added, flat } = await measuredAgain(groups.partsOf(group), { sources, found });
    for (const one of added) found.tally.remove(one);
    if (flat.length > 0) found.tally.remove({ trajectories: flat });
  }
};

/** What valid parts added to the metrics: groups, and trajectories that stand by themselves. @throws Failure `input-changed` */
const measuredAgain = async (positions: Uint32Array, { sources, found }: Where) => {
  const added: TrajectoryGroup[] = [];
  const flat: Trajectory[] = [];
  for (const at of positions) {
    const part = found.parts.at(at);
    const source = sources[part.source];
    if (!part.valid || source === undefined) continue;
    const value = await valueAgain(source, part);
    const group = part.kind === "group" ? checkGroup(value, () => undefined) : undefined;
    const trajectory = part.kind === "trajectory" ? checkTrajectory(value, () => undefined) : undefined;
    if (group !== undefined) added.push(group);
    if (trajectory !== undefined) flat.push(trajectory);
  }
  return { added, flat };
};

/** The value of a part that was read before. @throws Failure `input-changed` */
const valueAgain = async (source: Source, part: Part): Promise<unknown> => {
  try {
    return await partValue(source, part);
  } catch (thrown) {
    throw thrown instanceof Failure ? thrown : inputChanged(source.name);
  }
};
