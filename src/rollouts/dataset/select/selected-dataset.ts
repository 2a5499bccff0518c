/** Composes a dataset of selected groups. */
import { createHash } from "node:crypto";
import type { Host } from "../../../system/host.ts";
import { countWhile, NumberColumn } from "../../index/column.ts";
import { ScanResult } from "../../index/scan-result.ts";
import * as input from "../../input/source.ts";
import { Problems } from "../../rules/problems.ts";
import { composeGroup, type GroupSubset, lineEnd, listParts, measureSubset, ReadWindow } from "../group-bytes.ts";
import {
  findProblemSubject,
  getPart,
  listDerivedFinishes,
  locateGroup,
  locateValue,
  mapProblemsToRecords,
} from "../locate.ts";
import { countUnreadable, type Dataset, type ReadOptions, readSources, reportSkippedFiles } from "../read-dataset.ts";
import { Breaks } from "./breaks.ts";
import { openSelectedScan, type SelectedLines } from "./scan-selected.ts";
import { type SelectedGroups, type Selection, selectGroups } from "./select-groups.ts";

interface SelectOptions extends Pick<ReadOptions, "strictness" | "skipsDigests" | "measures" | "onProgress"> {
  host: Pick<Host, "signal">;
  choosing: Selection;
}

/** Expects a dataset read with `isSelected`. @throws Failure `invalid-filter`, `input-changed`; the signal's reason */
export const selectDataset = async (
  dataset: Dataset,
  { choosing, host, strictness, skipsDigests = false, measures, onProgress }: SelectOptions,
): Promise<Dataset> => {
  const { signal } = host;
  const selected = await selectGroups(dataset, choosing, signal);
  const { kept, subsets, filteredOut, lacking } = selected;
  const { sources, lineOf, ...composed } = await composeSources(dataset, selected, signal);
  const read = await readSources(sources, {
    host,
    strictness,
    skipsDigests,
    measures,
    onProgress,
    split: dataset.split,
    scan: openSelectedScan(dataset, { ...composed, subsets }),
  });
  const { problems } = read;
  await mapProblemsToRecords(sources, problems);
  const errors = new Problems(dataset.problems.strictness);
  errors.merge(dataset.problems, ({ rule, severity }) => severity === "error" || readingRules.has(rule));
  await errors.relocate(async (problem) => {
    const group = findProblemSubject(dataset, problem)?.group;
    return group === undefined ? undefined : { ...problem, readAt: lineOf(group) };
  });
  problems.merge(errors);
  if (!dataset.problems.strictness.strict) reportSkippedFiles(problems, dataset.skippedFiles);
  const [firstReduced = 0] = subsets.keys();
  if (subsets.size > 0)
    problems.report("baseline-changed", { groups: subsets.size }, () => locateGroup(dataset, firstReduced));
  // A shard of a small file can be empty.
  if (kept.length === 0 && dataset.groups.count > 0 && !choosing.shard) {
    const [only, ...rest] = dataset.sources;
    const by = Object.entries(filteredOut).flatMap(([option, count]) => (count.groups > 0 ? [`--${option}`] : []));
    const location = !only || rest.length > 0 ? {} : { file: input.fileOf(only) };
    problems.report("empty-selection", { by, groups: dataset.groups.count }, location);
  }
  const { split, conversion, skippedFiles, joinedGroups, ownKeys, scan } = dataset;
  return {
    ...read,
    split,
    conversion,
    skippedFiles,
    joinedGroups,
    ownKeys,
    filteredOut,
    lacking,
    scan: new ScanResult({ ...read.scan, shapes: scan.shapes }, read.scan.rewards),
    unreadable: countUnreadable(dataset),
    unselected: dataset,
    originalOf: (at) => {
      const group = kept[at] ?? at;
      return { group, selected: subsets.get(group) };
    },
    close: dataset.close,
  };
};

/** The warnings that `readSources` does not find again in a selection. */
const readingRules: ReadonlySet<string> = new Set(["mixed-shapes", "group-key-missing", "duplicate-rollout"]);

/** A line that replaces an invalid group. */
const invalidLine = Buffer.from("!\n");

const createLines = (): SelectedLines => ({
  groups: new NumberColumn("u32"),
  starts: new NumberColumn("f64"),
  size: 0,
});

const composeSources = async (dataset: Dataset, { kept, subsets }: SelectedGroups, signal: AbortSignal) => {
  const { groups, scan } = dataset;
  const composedSources = dataset.sources.map((source) => ({ source, lines: createLines() }));
  const composedOf = (group: number) => composedSources[scan.parts.columns.source.at(groups.firstOf(group))];
  const subsetOf = (group: number): GroupSubset | undefined => {
    const selected = subsets.get(group);
    return selected && { selected, spans: groups.rowsOf(group).map((row) => scan.parts.facts.spanOf(row)) };
  };
  const lengthOf = (group: number) => {
    const subset = subsetOf(group);
    if (!groups.isValid(group)) return invalidLine.length;
    return (subset ? measureSubset(dataset, group, subset) : groups.bytesOf(group)) + lineEnd.length;
  };
  const breaks = new Breaks(signal);
  for (const group of kept) {
    if (breaks.isDue()) await breaks.take();
    const lines = composedOf(group)?.lines;
    if (!lines) continue;
    lines.groups.push(group);
    lines.starts.push(lines.size);
    lines.size += lengthOf(group);
  }
  const composed = composedSources.filter(({ lines }) => lines.size > 0);
  const window = new ReadWindow();
  const composeLine = (group: number) =>
    groups.isValid(group) ? composeGroup(dataset, group, window, subsetOf(group)) : invalidLine;
  return {
    composeLine,
    linesOfSources: composed.map(({ lines }) => lines),
    sources: composed.map(({ source, lines }) => {
      const originals = createLineOrigin(dataset, { source, lines, subsets });
      return { ...source, bytes: openLines(lines, composeLine), originals };
    }),
    lineOf: (group: number) => {
      const { source, lines } = composedOf(group) ?? {};
      return `${source?.name}:${lines ? findLastUpTo(lines.groups, group) + 1 : 0}`;
    },
  };
};

const openLines = ({ groups, starts, size }: SelectedLines, composeLine: (group: number) => Buffer): input.Bytes => {
  let last: { line: number; bytes: Buffer } = { line: -1, bytes: invalidLine };
  const read = (into: Buffer, at: number) => {
    let filled = 0;
    for (let line = findLastUpTo(starts, at); line < starts.length && filled < into.length; line++) {
      if (last.line !== line) last = { line, bytes: composeLine(groups.at(line)) };
      filled += last.bytes.subarray(at + filled - starts.at(line)).copy(into, filled);
    }
    return filled;
  };
  return { size, read, close: async () => undefined };
};

const findLastUpTo = (column: NumberColumn, max: number) =>
  Math.max(0, countWhile(column.length, (at) => column.at(at) <= max) - 1);

const createLineOrigin = (
  dataset: Dataset,
  { source, lines, subsets }: { source: input.Source; lines: SelectedLines; subsets: SelectedGroups["subsets"] },
): input.OriginalLines => {
  const { groups } = dataset;
  const groupAt = (line: number) => lines.groups.at(line - 1);
  return {
    files: source.originals?.files ?? [source.name],
    isBroken: (line) => !groups.isValid(groupAt(line)),
    positionOf: (line) => locateGroup(dataset, groupAt(line)),
    derivedFinishesOf: (line) => {
      const group = groupAt(line);
      const all = listParts(dataset, group).flatMap(listDerivedFinishes);
      return subsets.get(group)?.map((at) => all[at] === true) ?? all;
    },
    digestOf: (line) => {
      const group = groupAt(line);
      const positions = subsets.get(group);
      const digest = groups.digestOf(group);
      if (!positions) return digest;
      // If the input is not converted, the hash covers the group's digest and the selected positions.
      const first = getPart(dataset, groups.firstOf(group));
      return (
        first.source.originals?.digestOf(first.part.line, positions) ??
        createHash("sha256").update(digest).update(positions.join(" ")).digest()
      );
    },
    locationOf: async (line, path) => {
      const group = groupAt(line);
      const [list, at, ...inside] = path;
      const position = list === "trajectories" && typeof at === "number" ? (subsets.get(group)?.[at] ?? at) : undefined;
      const isBare = groups.isBare(group);
      const groupPart = listParts(dataset, group)[isBare ? (position ?? 0) : 0];
      if (!groupPart) return {};
      const partPath = position === undefined ? path : ["trajectories", position, ...inside];
      return await locateValue(groupPart, isBare ? inside : partPath);
    },
    recordsOf: async (line) => {
      const records: input.OriginalRecord[] = [];
      const window = new ReadWindow();
      for (const groupPart of listParts(dataset, groupAt(line))) {
        const { source: from, part } = groupPart;
        const read = async () => ({ ...input.locateLine(from, part.line), bytes: await window.readPart(groupPart) });
        for (const record of (await from.originals?.recordsOf(part.line)) ?? [await read()]) records.push(record);
      }
      return records;
    },
    textOf: (file) => input.findText(dataset.sources, file),
  };
};
