/** Makes groups invalid if one of their records cannot be converted, or can be a record of theirs. */

import { requireFault } from "../../json/reader.ts";
import { closeTruncated } from "../../json/table.ts";
import { Value } from "../../json/value.ts";
import { findAmbiguousGroups } from "../index/group-key.ts";
import type * as input from "../input/source.ts";
import { type FaultyText, type ProblemLocation, type Problems, reportSyntaxFault } from "../rules/problems.ts";
import type { RuleData } from "../rules/rules.ts";
import type { Converter, Format, Rollout } from "./format.ts";
import type { ConvertedGroup, GroupLines, WrittenRollout } from "./group-lines.ts";
import * as records from "./source-records.ts";

interface BrokenRecord extends Omit<RuleData<"record-invalid">, "format" | "fault"> {
  location: ProblemLocation;
  fault: string | FaultyText;
  /** The keys of the record. Undefined for other text than JSON. */
  keys?: readonly string[] | undefined;
}

/** What this file reads and changes in the conversion of a format. */
interface OpenConversion {
  readonly run: { readonly problems: Problems; readonly hasOtherFormats: boolean };
  readonly format: Format;
  readonly converter: Converter;
  readonly name: string;
  readonly output: Pick<GroupLines, "addBroken" | "groups">;
  readonly broken: ReturnType<typeof openBrokenGroups>;
  readonly keys: { readonly all: readonly string[] };
  readonly isFormatGiven: boolean;
  readonly isGroupedByKey: boolean;
}

export const openBrokenGroups = () => {
  const ungrouped = new Map<ConvertedGroup, Pick<BrokenRecord, "keys" | "location"> & { mayLackGroup: boolean }>();
  const faults: ((areOthersConverted: boolean) => void)[] = [];
  return {
    faults,
    /** The groups of records without a known group. */
    ungrouped,
    /** Expects that all records were read, because an option holds for all of them. */
    reportFaults(groups: readonly ConvertedGroup[]) {
      const isConverted = groups.some(({ rollouts }) => rollouts.some(({ isBroken }) => !isBroken));
      for (const report of faults) report(isConverted);
    },
    /** Expects that all records were read. */
    dropGrouped() {
      for (const [group, { mayLackGroup }] of ungrouped) if (mayLackGroup) ungrouped.delete(group);
    },
    countUnreadable: () => [...ungrouped.values()].filter(({ keys }) => keys === undefined).length,
  };
};

export const breakGroup = (
  { run: { problems, hasOtherFormats }, format, name, output, broken: { ungrouped, faults } }: OpenConversion,
  rollout: Rollout,
  at: records.RolloutPosition,
  { location, keys, fault, ...misfit }: BrokenRecord,
) => {
  const own = { key: `broken ${at.record} ${rollout.part?.span.start} ${at.file.name}` };
  const group = output.addBroken(rollout.group ?? own, at, rollout);
  group.isBroken = true;
  // The missing part of a truncated record can have its group key, if other records have one.
  const mayLackGroup = keys === undefined && rollout.group?.isDerived === true;
  if (!rollout.group || mayLackGroup) ungrouped.set(group, { keys, location, mayLackGroup });
  const shown = { ...location, readAt: `${name}:${group.position + 1}` };
  if (typeof fault !== "string") reportSyntaxFault(fault, (rule, data) => problems.report(rule, data, shown));
  else
    faults.push((areOthersConverted) => {
      const others = { areOthersConverted, hasOtherFormats };
      problems.report("record-invalid", { format: format.name, fault, ...others, ...misfit }, shown);
    });
};

/** Breaks the groups that the readable start of the record names. */
export const breakUnreadable = (conversion: OpenConversion, raw: input.RawRecord, at: records.RolloutPosition) => {
  const { format, converter, isFormatGiven } = conversion;
  const { bytes, member } = raw;
  const fault = raw.fault === undefined ? requireFault(bytes) : undefined;
  const completeStart = fault && closeTruncated(bytes.subarray(0, fault.at));
  const value = completeStart && Value.parse(completeStart);
  const isOneOfLines = format.records.text === "lines" || at.file.records.isList === true;
  const isLine = isOneOfLines && raw.isDocument !== true && member === undefined;
  const text = fault && { bytes, fault, isLast: records.isAtEnd(raw), isDocument: !isLine, isFormatGiven };
  const record = value && { ...records.toRecord(value, raw, at), isTruncated: true };
  const rollouts = record && records.convertRecord(converter, record);
  const [, memberKey] = (value || conversion.isGroupedByKey ? undefined : format.records.zip?.exec(member ?? "")) ?? [];
  const unknown: Rollout = memberKey === undefined ? {} : { group: { key: memberKey } };
  const location = records.locateByte(raw, fault?.at ?? 0);
  const groups = new Map((rollouts?.[0] ? rollouts : [unknown]).map((rollout) => [rollout.group?.key, rollout.group]));
  for (const group of groups.values())
    breakGroup(conversion, { group }, at, { fault: text ?? raw.fault ?? "", location });
};

export const breakAmbiguous = ({ run, format, name, output, broken, ...conversion }: OpenConversion) => {
  const { groups } = output;
  if (format.hasGroupPerRecord && !conversion.isGroupedByKey) return;
  // A JSON record without any key of the first converted record is not part of a converted group.
  const isPossible = (keys: BrokenRecord["keys"]) => keys?.some((key) => conversion.keys.all.includes(key)) !== false;
  const isApart = ({ rollouts }: ConvertedGroup) =>
    !conversion.isGroupedByKey && rollouts.some(({ file }) => file.areRecordsApart);
  const possible = new Map([...broken.ungrouped].filter(([group, { keys }]) => isPossible(keys) && !isApart(group)));
  if (possible.size === 0) return;
  const hasOwnFile = ({ rollouts: [first, ...others] }: ConvertedGroup) =>
    others.every(({ file }) => file === first?.file);
  // If groups have several records, but of one file, then a record belongs to a group of its own file.
  const areFilesApart = groups.some(({ rollouts }) => rollouts.length > 1) && groups.every(hasOwnFile);
  const members = groups.flatMap((group) =>
    group.rollouts.map(({ file, record, span }) => ({
      fileSet: conversion.isGroupedByKey ? 0 : areFilesApart ? file.position : file.fileSet,
      group: group.position,
      isUnknown: possible.has(group),
      file,
      record,
      start: span?.start ?? 0,
      unknown: possible.get(group),
    })),
  );
  members.sort((a, b) => a.file.position - b.file.position || a.record - b.record || a.start - b.start);
  for (const [position, by] of findAmbiguousGroups(members, true)) {
    const [group, member] = [groups[position], members[by]];
    if (!group || !member || group.isBroken) continue;
    group.isBroken = true;
    const { keys, location: fault = {} } = member.unknown ?? {};
    // Several records of a document can be on one line.
    const path = format.records.text !== "lines" ? (fault.path ?? []).join(".") : "";
    const unknownRecord = `${describePosition(member, fault)}${path === "" ? "" : ` (${path})`}`;
    const location = { file: name, line: position + 1, path: [] };
    run.problems.report("ambiguous-group", { position: unknownRecord, isJson: keys !== undefined }, location);
  }
};

/** A row of Parquet has no line. */
const describePosition = ({ file, record }: Pick<WrittenRollout, "file" | "record">, fault: ProblemLocation) => {
  const { label, line } = file.records.locate(record);
  const [, container, row] = /^(.*)#row (\d+)$/.exec(label) ?? [];
  if (container !== undefined) return `row ${row} of ${container}`;
  return `the record at ${label}:${fault.column === undefined ? line : `${fault.line}:${fault.column}`}`;
};
