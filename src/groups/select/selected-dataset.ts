/** Builds the dataset of a selection: its lines are composed from parts of the inputs. */
import { createHash } from "node:crypto";
import { setImmediate } from "node:timers/promises";
import { Problems } from "../../check/rules/problems.ts";
import type { Host } from "../../host.ts";
import { type Bytes, fileOf, findText, type Origin, type Source } from "../../input/index.ts";
import { replaceLineEnds } from "../../json/walk.ts";
import { findPart, findTrajectorySpans, listParts, ReadWindow } from "../group-bytes.ts";
import { Column, countWhile } from "../parts/column.ts";
import { groupClosing, groupOpening } from "../parts/groups.ts";
import { findProblemSubject, locateGroup, locateValue } from "../positions.ts";
import { countUnreadable, type Dataset, mapProblemsToSource, type ReadOptions, readSources } from "../read-dataset.ts";
import { type SelectedGroups, type Selection, selectGroups } from "./select-groups.ts";

export interface SelectOptions extends Pick<ReadOptions, "strictness" | "onProgress"> {
  readonly host: Pick<Host, "signal">;
  readonly choosing: Selection;
}

/** Selects groups of a dataset. @throws Failure `invalid-filter`, `input-changed`; the signal's reason */
export const selectDataset = async (
  dataset: Dataset,
  { choosing, host: { signal }, strictness, onProgress }: SelectOptions,
): Promise<Dataset> => {
  const selection = await selectGroups(dataset, choosing, signal);
  const { kept, partial, filteredOut } = selection;
  const { sources, lineOf } = await composeSources(dataset, selection, signal);
  const options = { groupBy: undefined, split: dataset.split, splitNeeded: false };
  const read = await readSources(sources, { ...options, strictness, signal, onProgress });
  await requireGroupsUnchanged(dataset, kept);
  const { problems } = read;
  await mapProblemsToSource(read);
  const errors = new Problems(dataset.problems.strictness);
  errors.merge(dataset.problems.toData("error"), 0);
  await errors.relocate(async (problem) => {
    const group = findProblemSubject(dataset, problem)?.group;
    return group === undefined ? undefined : { ...problem, readAt: lineOf(group) };
  });
  problems.merge(errors.toData(), 0);
  const [firstCut = 0] = partial.keys();
  if (partial.size > 0)
    problems.report("baseline-changed", { groups: partial.size }, () => locateGroup(dataset, firstCut));
  // A shard of a small file can be empty.
  if (kept.length === 0 && dataset.groups.count > 0 && choosing.shard === undefined) {
    const [only, ...more] = dataset.sources;
    const by = Object.entries(filteredOut).flatMap(([option, count]) => (count.groups > 0 ? [`--${option}`] : []));
    const place = only === undefined || more.length > 0 ? {} : { file: fileOf(only) };
    problems.report("empty-selection", { by, groups: dataset.groups.count }, () => place);
  }
  const { split, conversion, skippedFiles, ownKeys, found } = dataset;
  return {
    ...{ ...read, split, conversion, skippedFiles, ownKeys, filteredOut },
    found: { ...read.found, shapes: found.shapes },
    unreadable: countUnreadable(dataset),
    originalGroup: (group) => kept[group] ?? group,
    close: dataset.close,
  };
};

/** @throws Failure `input-changed` if groups changed since they were read */
const requireGroupsUnchanged = async (dataset: Dataset, kept: SelectedGroups["kept"]): Promise<void> => {
  const window = new ReadWindow();
  for (const group of kept) {
    for (const part of dataset.groups.isValid(group) ? listParts(dataset, group) : []) await window.readPart(part);
  }
};

/** Bytes, or a range of a source whose line ends become blanks. */
type Piece = Buffer | { readonly source: Source; readonly start: number; readonly length: number };

const comma = Buffer.from(",");
const lineEnd = Buffer.from("\n");

/** Line of an invalid group, which is not read again. */
const invalidLine = [Buffer.from("!"), lineEnd];

/** Composed lines of a source: the group of each line, ascending, and the offset of the line. */
interface ComposedLines {
  readonly groups: Column;
  readonly starts: Column;
  size: number;
}

/** Composes a source for each input, with a line for each selected group that starts in the input. */
const composeSources = async (dataset: Dataset, { kept, partial }: SelectedGroups, signal: AbortSignal) => {
  const { groups, found } = dataset;
  const all = dataset.sources.map((source) => {
    const lines: ComposedLines = { groups: new Column("u32"), starts: new Column("f64"), size: 0 };
    return { source, lines };
  });
  const composedOf = (group: number) => all[found.parts.columns.source.at(groups.firstOf(group))];
  const window = new ReadWindow();
  const piecesOf = openPieceReader(dataset, partial, window);
  for (const group of kept) {
    signal.throwIfAborted();
    const lines = composedOf(group)?.lines;
    // Read here asynchronously, so that the pieces are in memory.
    for (const part of partial.has(group) ? listParts(dataset, group) : []) await window.readPart(part);
    lines?.groups.push(group);
    lines?.starts.push(lines.size);
    if (lines !== undefined) lines.size += piecesOf(group).reduce((size, { length }) => size + length, 0);
  }
  return {
    sources: all.flatMap(({ source, lines }): readonly Source[] => {
      const origin = createOrigin(dataset, { source, lines, partial });
      return lines.size === 0 ? [] : [{ ...source, bytes: openLines(lines, piecesOf), origin }];
    }),
    lineOf: (group: number): string => {
      const { source, lines } = composedOf(group) ?? {};
      return `${source?.name}:${lines === undefined ? 0 : findLastUpTo(lines.groups, group) + 1}`;
    },
  };
};

const readPiece = (piece: Piece, window: ReadWindow): Buffer =>
  Buffer.isBuffer(piece) ? piece : window.readNow(piece.source, piece.start, piece.length);

/** Opens a reader of the pieces of a group's line. Reads the part of a line that loses trajectories. */
const openPieceReader = (dataset: Dataset, partial: SelectedGroups["partial"], window: ReadWindow) => {
  const { groups } = dataset;
  const joined = (pieces: readonly Piece[]): readonly Piece[] =>
    pieces.flatMap((piece, at) => (at === 0 ? [piece] : [comma, piece]));
  return (group: number): readonly Piece[] => {
    if (!groups.isValid(group)) return invalidLine;
    const positions = partial.get(group);
    const parts = listParts(dataset, group);
    const ranges = parts.map(({ source, part: { start, length } }) => ({ source, start, length }));
    const [whole] = ranges;
    if (groups.isBare(group) || whole === undefined) {
      const own = positions?.flatMap((at) => ranges[at] ?? []) ?? ranges;
      return [groupOpening, ...joined(own), groupClosing, lineEnd];
    }
    if (positions === undefined) return [whole, lineEnd];
    const spans = findTrajectorySpans(readPiece(whole, window), { kind: "group" });
    const rangeOf = (from = 0, to = 0) => ({ ...whole, start: whole.start + from, length: Math.max(0, to - from) });
    return [
      rangeOf(0, spans[0]?.start),
      ...joined(positions.map((at) => rangeOf(spans[at]?.start, spans[at]?.end))),
      rangeOf(spans.at(-1)?.end, whole.length),
      lineEnd,
    ];
  };
};

const openLines = ({ groups, starts, size }: ComposedLines, piecesOf: (group: number) => readonly Piece[]): Bytes => {
  const window = new ReadWindow();
  const readNow = (into: Buffer, at: number): number => {
    let filled = 0;
    for (let line = findLastUpTo(starts, at); line < starts.length && filled < into.length; line++) {
      let end = starts.at(line);
      for (const piece of piecesOf(groups.at(line))) {
        const from = at + filled - end;
        end += piece.length;
        const length = Math.min(piece.length - from, into.length - filled);
        if (length <= 0) continue;
        const range = Buffer.isBuffer(piece)
          ? piece.subarray(from, from + length)
          : { ...piece, start: piece.start + from, length };
        const copied = readPiece(range, window).copy(into, filled);
        if (!Buffer.isBuffer(piece)) replaceLineEnds(into.subarray(filled, filled + copied));
        filled += copied;
        if (copied < length) return filled;
      }
    }
    return filled;
  };
  // Yields to other tasks.
  const read = async (into: Buffer, at: number): Promise<number> => await setImmediate().then(() => readNow(into, at));
  return { size, read, readSync: readNow, close: async () => undefined };
};

/** Returns the index of the last number up to `max` in an ascending column. */
const findLastUpTo = (column: Column, max: number): number =>
  Math.max(0, countWhile(column.length, (at) => column.at(at) <= max) - 1);

/** Maps composed lines to their inputs, for positions and rejects. */
const createOrigin = (
  dataset: Dataset,
  { source, lines, partial }: { source: Source; lines: ComposedLines; partial: SelectedGroups["partial"] },
): Origin => {
  const { groups } = dataset;
  const groupAt = (line: number): number => lines.groups.at(line - 1);
  return {
    files: source.origin?.files ?? [source.name],
    isBroken: (line) => !groups.isValid(groupAt(line)),
    positionOf: (line) => locateGroup(dataset, groupAt(line)),
    digestOf: (line) => {
      const group = groupAt(line);
      const positions = partial.get(group);
      const digest = groups.digestOf(group);
      if (positions === undefined) return digest;
      // A digest of the original's digest and the selected positions.
      const own = findPart(dataset, groups.firstOf(group));
      const made = own?.source.origin?.digestOf(own.part.line, positions);
      return made ?? createHash("sha256").update(digest).update(positions.join(" ")).digest();
    },
    locationOf: async (line, path) => {
      const group = groupAt(line);
      const [list, at, ...inside] = path;
      const kept = partial.get(group);
      const position = list === "trajectories" && typeof at === "number" ? (kept?.[at] ?? at) : undefined;
      const parts = listParts(dataset, group);
      const isBare = groups.isBare(group);
      const own = parts[isBare ? (position ?? 0) : 0];
      if (own === undefined) return {};
      const ownPath = position === undefined ? path : ["trajectories", position, ...inside];
      return await locateValue(own.source, { part: own.part, path: isBare ? inside : ownPath });
    },
    recordsOf: async (line) => {
      const records: Buffer[] = [];
      const window = new ReadWindow();
      for (const own of listParts(dataset, groupAt(line))) {
        const { origin } = own.source;
        records.push(...((await origin?.recordsOf(own.part.line)) ?? [await window.readPart(own)]));
      }
      return records;
    },
    textOf: (file) => findText(dataset.sources, file),
  };
};
