/** Indexes the lines of selected groups by the facts of their trajectories. */
import { crc32 } from "node:zlib";
import type { NumberColumn } from "../../index/column.ts";
import type { PartPosition, ScanResult } from "../../index/scan-result.ts";
import { findBounds } from "../../index/sums.ts";
import { createTrajectoryFacts, type TrajectoryFacts } from "../../index/trajectory-facts.ts";
import { blockBytes, type Frame } from "../../input/frames.ts";
import { lineEnd } from "../group-bytes.ts";
import type { IndexedGroups } from "../locate.ts";
import { Scan, type scanSource } from "../scan.ts";
import { Breaks } from "./breaks.ts";
import type { SelectedGroups } from "./select-groups.ts";

/** The group and the byte offset of each line, in ascending order. */
export interface SelectedLines {
  readonly groups: NumberColumn;
  readonly starts: NumberColumn;
  size: number;
}

interface SelectedSources {
  readonly subsets: SelectedGroups["subsets"];
  readonly linesOfSources: readonly SelectedLines[];
  readonly composeLine: (group: number) => Buffer;
}

/** Scans only groups with problems again, because the index has the facts of groups, but not their problems. */
export const openSelectedScan = (dataset: IndexedGroups, selected: SelectedSources): typeof scanSource => {
  const hasProblem = openProblemSearch(dataset);
  const addGroup = openGroupAdder(dataset, selected);
  return async (source, options, onRead) => {
    const { index, result, signal } = options;
    const scan = new Scan(source, options);
    const breaks = new Breaks(signal);
    const lines = selected.linesOfSources[index];
    for (let at = 0; lines && at < lines.groups.length; at++) {
      const group = lines.groups.at(at);
      const start = lines.starts.at(at);
      const end = at + 1 < lines.groups.length ? lines.starts.at(at + 1) : lines.size;
      if (hasProblem(group))
        await scan.scanFrame(toFrame({ start, end, composeLine: () => selected.composeLine(group) }));
      else {
        scan.skipLine();
        addGroup(result, group, { source: index, start, length: end - lineEnd.length - start, line: at + 1 });
      }
      if (!breaks.isDue(end - start)) continue;
      onRead(end);
      await breaks.take();
    }
    onRead(source.bytes.size);
  };
};

const openProblemSearch = ({ groups, scan: { parts } }: IndexedGroups) => {
  const { warned, prompt } = parts.columns;
  const isWarned = (group: number) => groups.partsOf(group).some((part) => warned.at(part) === 1);
  // The checker has not compared the trajectories of a bare group.
  const isMixed = (group: number) =>
    groups.isBare(group) &&
    (areDifferent(groups.rowsOf(group).map((row) => parts.facts.versionOf(row))) ||
      areDifferent(groups.partsOf(group).map((part) => prompt.at(part) || Number.NaN)));
  return (group: number) => !groups.isValid(group) || (!warned.hasOnlyDefaults && isWarned(group)) || isMixed(group);
};

/** Ignores NaN. */
const areDifferent = (numbers: readonly number[]) => {
  const { min, max } = findBounds(numbers);
  return min < max;
};

const toFrame = ({ start, end, composeLine }: { start: number; end: number; composeLine: () => Buffer }): Frame =>
  end - start > blockBytes
    ? { kind: "long", start, end: end - lineEnd.length, isLast: false }
    : { kind: "lines", bytes: composeLine(), start, isLast: false };

/** The returned function expects a valid group without problems. */
const openGroupAdder = ({ groups, scan: { parts } }: IndexedGroups, { subsets, composeLine }: SelectedSources) => {
  const known: TrajectoryFacts[] = [];
  return (result: ScanResult, group: number, position: PartPosition) => {
    const rows = groups.rowsOf(group, subsets.get(group));
    for (const [at, row] of rows.entries()) known[at] = parts.facts.read(row, known[at] ?? createTrajectoryFacts());
    const counts = { trajectories: rows.length, exceptions: groups.exceptionsOf(group) };
    result.addPart(position, { kind: "group", ...counts, isValid: true, isWarned: false }, known);
    const { columns, options } = result.parts;
    if (parts.facts.walked) result.parts.facts.walked?.copyRows(parts.facts.walked, rows);
    // `readSources` adds the digest.
    if (options.hasDigests) columns.checksum.push(crc32(composeLine(group).subarray(0, -lineEnd.length)));
    else columns.checksum.length++;
  };
};
