/** Finds the position of a path in a part, and the group of a problem. */

import type { Problem } from "../../failure.ts";
import { findDeepest, readRoot, spanOf } from "../../json/table.ts";
import { countWhile } from "../index/column.ts";
import type { Groups } from "../index/groups.ts";
import type { Part, Parts } from "../index/parts.ts";
import type { ScanResult } from "../index/scan-result.ts";
import { countUnitsBefore } from "../input/frames.ts";
import { fileOf, locateLine, type Source } from "../input/source.ts";
import { inputChanged } from "../rules/failures.ts";
import { type Path, PositionCounter, toFileLine, toFilePath } from "../rules/positions.ts";
import type { ProblemLocation, Problems } from "../rules/problems.ts";
import type { RuleData, RuleName } from "../rules/rules.ts";

export type IndexedGroups = Readonly<{ sources: readonly Source[]; scan: ScanResult; groups: Groups }>;

/** A trajectory by its part, and by its index in a part that is a group. */
export type TrajectoryPosition = Readonly<{ part: number; trajectory: number }>;

export type GroupPart = Readonly<{ source: Source; part: Part }>;

export const getPart = ({ sources, scan }: IndexedGroups, at: number): GroupPart => {
  const part = scan.parts.at(at);
  const source = sources[part.source];
  if (!source) throw new Error(`part ${at} has no source`);
  return { source, part };
};

/** @throws Failure `input-changed` if the source became shorter */
export const readPartStart = ({ source, part }: GroupPart, maxLength = part.length): Buffer => {
  const bytes = Buffer.allocUnsafe(Math.min(part.length, maxLength));
  if (source.bytes.read(bytes, part.start) < bytes.length) throw inputChanged(source.name);
  return bytes;
};

type PartLocator = (path: Path) => ProblemLocation;

export const openPartLocator = ({ source, part }: GroupPart): PartLocator => {
  const { name: file, originals } = source;
  const { start, line } = part;
  const unitsBefore = () => countUnitsBefore(source.bytes, part);
  const openPart = () => {
    const bytes = readPartStart({ source, part });
    return { root: readRoot(bytes), positions: new PositionCounter({ bytes, start, line, unitsBefore }) };
  };
  let opened: ReturnType<typeof openPart> | undefined;
  const locate = (path: Path): ProblemLocation => {
    opened ??= openPart();
    const { root, positions } = opened;
    return { file, ...positions.locate(root ? spanOf(findDeepest(root, path)).start : 0), path };
  };
  return (path) => {
    if (originals) return { file, line, path };
    try {
      return path.length > 0 ? locate(path) : { file, line, column: unitsBefore() + 1, path, offset: start };
    } catch {
      // The file has changed.
      return { file, line };
    }
  };
};

/** A missing value gets the position of the deepest existing value on its path. */
export const locateValue = async (groupPart: GroupPart, path: Path): Promise<ProblemLocation> => {
  const { source, part } = groupPart;
  if (!source.originals) return openPartLocator(groupPart)(path);
  return await locateInRecord(source, part.line, path);
};

const locateInRecord = async (source: Source, line: number, path: Path) => {
  const recordLocation = await source.originals?.locationOf(line, path).catch(() => undefined);
  // A value in a Parquet row, or in a changed file, gets the position of its record.
  const lineLocation = recordLocation?.file === undefined ? locateLine(source, line) : {};
  return { ...lineLocation, ...recordLocation, readAt: `${source.name}:${line}`, readPath: path };
};

export const mapProblemsToRecords = async (sources: readonly Source[], problems: Problems) => {
  const byName = new Map(sources.flatMap((source) => (source.originals ? [[source.name, source]] : [])));
  if (byName.size === 0) return;
  await problems.relocate(async ({ file = "", line, path = [], readAt }) => {
    const source = readAt === undefined ? byName.get(file) : undefined;
    if (!source) return undefined;
    return line === undefined ? { file: fileOf(source) } : await locateInRecord(source, line, path);
  });
};

interface PartProblem<Name extends RuleName> {
  data: RuleData<Name>;
  part: number;
  path?: Path | (() => Path);
  locate?: PartLocator;
}

export const reportPart = <Name extends RuleName>(
  dataset: IndexedGroups,
  rule: Name,
  { data, part, path = [], locate }: PartProblem<Name>,
) => {
  const { parts, problems } = dataset.scan;
  problems.input = dataset.sources[parts.columns.source.at(part)]?.name;
  const find = () => (locate ?? openPartLocator(getPart(dataset, part)))(typeof path === "function" ? path() : path);
  return problems.report(rule, data, find);
};

export const reportGroup = <Name extends RuleName>(
  dataset: IndexedGroups,
  rule: Name,
  { group, ...problem }: Omit<PartProblem<Name>, "part"> & { group: number; part?: number },
) => {
  const { groups } = dataset;
  const severity = reportPart(dataset, rule, { part: groups.firstOf(group), ...problem });
  if (severity === "error") groups.reject(group);
  if (severity === "warning") groups.warn(group);
};

/** The path of a trajectory in a group or trajectory. */
export const pathInPart = (parts: Parts, part: number, at: number) =>
  parts.kindOf(part) === "group" ? ["trajectories", at] : [];

export const getFirstFile = ({ sources: [first] }: Pick<IndexedGroups, "sources">) => (first ? fileOf(first) : "-");

export const locateGroup = (dataset: IndexedGroups, group: number) =>
  locatePart(dataset, dataset.groups.firstOf(group));

export const formatGroupPositions = (dataset: IndexedGroups, groups: Uint32Array | readonly number[]) => {
  const [from = "", to = ""] = [0, -1].map((at) => toFileLine(locateGroup(dataset, groups.at(at) ?? 0)));
  return from === to ? from : `${from} to ${to}`;
};

/** A row of a Parquet file, or a member of an archive, belongs to its file. */
export const findFileOfGroup = (dataset: IndexedGroups, group: number) => {
  const { source } = getPart(dataset, dataset.groups.firstOf(group));
  const [file, ...others] = source.originals?.files ?? [];
  return file !== undefined && others.length === 0 ? file : locateGroup(dataset, group).file;
};

/** Returns the position of the line or record. */
export const locatePart = (dataset: IndexedGroups, at: number) => {
  const { source, part } = getPart(dataset, at);
  return locateLine(source, part.line);
};

/** For each trajectory of a part, true if its record states no finish reason of the last choice. */
export const listDerivedFinishes = ({ source, part }: GroupPart): readonly boolean[] =>
  source.originals?.derivedFinishesOf(part.line) ?? Array<boolean>(part.trajectories).fill(false);

/** The file ends with the path of the trajectory in a document of another tool. */
export const locateTrajectory = async (dataset: IndexedGroups, part: number, trajectory: number) => {
  const { file, line, path } = await findTrajectory(dataset, part, trajectory);
  return { file: toFilePath(file, path), line };
};

/** A document is one line, so its path says more. */
export const formatTrajectoryPosition = async (dataset: IndexedGroups, { part, trajectory }: TrajectoryPosition) => {
  const { file, line, path } = await findTrajectory(dataset, part, trajectory);
  return path.length > 0 && line === 1 ? toFilePath(file, path) : toFileLine({ file: toFilePath(file, path), line });
};

const findTrajectory = async (dataset: IndexedGroups, part: number, trajectory: number) => {
  const { file: ofPart, line: lineOfPart } = locatePart(dataset, part);
  const groupPart = getPart(dataset, part);
  if (!groupPart.source.originals || groupPart.part.kind !== "group")
    return { file: ofPart, line: lineOfPart, path: [] };
  // A group without trajectories has exceptions.
  const list = groupPart.part.trajectories === 0 ? "exceptions" : "trajectories";
  const { file = ofPart, line = lineOfPart, path = [] } = await locateValue(groupPart, [list, trajectory]);
  return { file, line, path };
};

export const findPartAt = (
  { columns, count }: Parts,
  source: number,
  { line = -1, offset }: { line?: number | undefined; offset?: number | undefined },
) => {
  const isBefore = (at: number) => {
    if (columns.source.at(at) !== source) return columns.source.at(at) < source;
    return offset === undefined ? columns.line.at(at) <= line : columns.start.at(at) <= offset;
  };
  const last = countWhile(count, isBefore) - 1;
  return last >= 0 && columns.source.at(last) === source ? last : undefined;
};

type ProblemSubject = Readonly<{ group: number } & Record<"trajectory" | "message", number | undefined>>;

/** The result returns undefined for a problem outside of groups. */
export const openSubjects = ({ sources, scan, groups }: IndexedGroups) => {
  const sourceOf = new Map<string | undefined, number>(sources.map(({ name }, at) => [name, at]));
  /** The parts of the last problem's group. */
  let last: { group: number; parts: readonly number[] } | undefined;
  return (problem: Problem): ProblemSubject | undefined => {
    const { file, line, offset, readAt } = problem;
    // `readPath` is the path in the converted group.
    const path = problem.readPath ?? (readAt === undefined ? (problem.path ?? []) : []);
    const [, name = file, lineRead] = /^(.*):(\d+)$/s.exec(readAt ?? "") ?? [];
    const source = sourceOf.get(name);
    const at = lineRead === undefined ? { line, offset } : { line: Number(lineRead) };
    const part = source === undefined ? undefined : findPartAt(scan.parts, source, at);
    if (part === undefined) return undefined;
    const group = groups.groupOf(part);
    const isGroup = scan.parts.kindOf(part) === "group";
    if (last?.group !== group) last = { group, parts: groups.partsOf(group) };
    const { parts } = last;
    const rank = () => countWhile(parts.length, (index) => (parts[index] ?? part) < part);
    const trajectory = isGroup ? indexAfter(path, "trajectories") : rank();
    const message = trajectory === undefined ? undefined : indexAfter(path, "messages_and_choices");
    return { group, trajectory, message };
  };
};

const indexAfter = (path: NonNullable<Problem["path"]>, list: string) => {
  const step = path.includes(list) ? path[path.indexOf(list) + 1] : undefined;
  return typeof step === "number" ? step : undefined;
};
