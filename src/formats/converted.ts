/** Converts files of another tool to one source of groups, a line each, that knows the origin of each line. */
import { groupsInDoubt } from "../check/rules/in-doubt.ts";
import type { Problems, Spot } from "../check/rules/problems.ts";
import type { Host } from "../host.ts";
import { type Cut, openSpool, type Source } from "../input/index.ts";
import { faultOf } from "../json/reader.ts";
import { newline, type Span } from "../json/walk.ts";
import type { Converter, Format } from "./format.ts";
import { type Group, GroupLines, type RecordPlace } from "./group-lines.ts";
import { type ConvertedFile, convertRecord, originOf, placeIn, recordIn, recordsMade, spotIn } from "./origin.ts";
import type { Receipt } from "./receipt.ts";
import { Unfit, Value } from "./value.ts";

/** What conversion needs in addition to the files. */
interface ConversionOptions {
  readonly host: Host;
  readonly format: Format;
  readonly converter: Converter;
  /** The name of the source. */
  readonly name: string;
  readonly receipt: Receipt | undefined;
  /** What people should know of all rollouts, and how often it applies. */
  readonly notes: Map<string, number>;
  /** Is told what is wrong with records, and which groups they may belong to. */
  readonly problems: Problems;
}

const failedRollout = "a rollout that failed is counted among the exceptions of its group, and is no trajectory";

/**
 * Converts files one after the other. Returns the source of their groups, and the number of records of unknown groups.
 * @throws Failure `spool-failed`; the signal's reason; what reading throws
 */
export const convertFiles = async (
  files: readonly ConvertedFile[],
  options: ConversionOptions,
): Promise<{ readonly source: Source; readonly unplaced: number }> => {
  const { host, format, converter, name, receipt, notes, problems } = options;
  const areAcross = format.groupsAcross === true;
  const lines = new GroupLines(await openSpool(host), areAcross);
  const unplaced = new Set<Group>();

  /** Breaks the group of a record. A record whose group is unknown is a group of its own. */
  const breakGroup = (
    key: string | undefined,
    at: RecordPlace,
    { wrong, spot, span, isUnplaced = key === undefined }: BrokenRecord,
  ): void => {
    const group = lines.addBroken(key ?? `broken ${at.file} ${at.record}`, at, span);
    if (isUnplaced) unplaced.add(group);
    const readAt = `${name}:${group.position + 1}`;
    problems.report("record-broken", { format: format.name, wrong }, () => ({ ...spot, readAt }));
  };

  /** Takes a record that cannot be read. Its groups are known if its name has them, or if only NaN is wrong. */
  const takeUnread = (cut: Cut, at: RecordPlace, file: string): void => {
    const fault = cut.wrong === undefined ? faultOf(cut.bytes) : undefined;
    const spot = placeIn(cut, fault?.at ?? 0);
    const value = fault && Value.ofPython(cut.bytes);
    if (fault === undefined || value === undefined) {
      const group = cut.member === undefined ? undefined : converter.groupOf?.(cut.member);
      breakGroup(group, at, { wrong: fault?.fault === "end" ? "it is cut off" : cut.wrong, spot });
      return;
    }
    const [word] = /^-?[A-Za-z]*/.exec(cut.bytes.toString("latin1", fault.token, fault.token + 9)) ?? [];
    const made = convertRecord(converter, { value, file, position: at.record, member: cut.member }) ?? [];
    const groups = made instanceof Unfit ? [made.group] : made.map(({ group }) => group);
    for (const group of new Set(groups.length === 0 ? [undefined] : groups)) {
      breakGroup(group, at, { wrong: `${word} is not JSON`, spot });
    }
    receipt?.take(format, { file, value, rollouts: undefined });
  };

  const take = (cut: Cut, at: RecordPlace, file: string): void => {
    const record = cut.wrong === undefined ? recordIn(format, cut) : undefined;
    if (record === undefined) {
      takeUnread(cut, at, file);
      return;
    }
    const made = convertRecord(converter, { value: record, file, position: at.record, member: cut.member });
    if (made === undefined) return;
    const withoutLines = cut.isMade === true || cut.bytes.includes(newline) ? undefined : cut.bytes;
    if (made instanceof Unfit) breakGroup(made.group, at, { wrong: made.message, spot: spotIn(cut, made.value) });
    else {
      for (let position = 0; position < made.length; position++) {
        const rollout = made[position];
        if (rollout === undefined) continue;
        const { unfit, isUnplaced, of = record } = rollout;
        if (rollout.exception !== undefined) notes.set(failedRollout, (notes.get(failedRollout) ?? 0) + 1);
        if (unfit === undefined) lines.add(rollout, { record, at, position, withoutLines });
        else {
          const about = { wrong: unfit.message, spot: spotIn(cut, unfit.value), span: of.span, isUnplaced };
          breakGroup(rollout.group, at, about);
        }
      }
    }
    receipt?.take(format, { file, value: record, rollouts: made instanceof Unfit ? undefined : made });
  };

  try {
    await lookAt(files, options);
    for (const [file, { name, records }] of files.entries()) {
      let record = 0;
      for await (const batch of records.batches()) {
        for (const cut of batch) {
          host.signal.throwIfAborted();
          take(cut, { file, record: record++ }, name);
          if (lines.isFull) await lines.flush();
        }
      }
    }
    const { groups } = lines;
    for (const { group, file, record } of breakDoubtful(groups, unplaced, areAcross)) {
      const { label, line } = files[file]?.records.placeOf(record) ?? { label: "a record", line: 1 };
      const spot = { file: name, line: group + 1, path: [] };
      problems.report("group-in-doubt", { place: `${label}:${line}` }, () => spot);
    }
    const { descriptor, ...bytes } = await lines.end(host);
    // Only this thread knows which lines stand for what could not be converted.
    const shared = problems.errors === 0 && descriptor !== undefined ? { descriptor } : {};
    if (receipt !== undefined) receipt.records = () => recordsMade(files, groups);
    const closeAll = async (): Promise<void> => {
      await bytes.close();
      for (const { records } of files) await records.close();
    };
    const origin = originOf({ files, groups, format, converter });
    const source = { name, bytes: { ...bytes, ...shared, close: closeAll }, touched: async () => false, origin };
    return { source, unplaced: unplaced.size };
  } catch (thrown) {
    await lines.discard();
    throw thrown;
  }
};

interface BrokenRecord {
  /** Undefined if the record is not JSON. */
  readonly wrong: string | undefined;
  readonly spot: Spot;
  readonly span?: Span | undefined;
  readonly isUnplaced?: boolean | undefined;
}

/** Shows all records to the converter before the first is converted, if it wants to see them. */
const lookAt = async (
  files: readonly ConvertedFile[],
  { host, format, converter }: ConversionOptions,
): Promise<void> => {
  if ((converter.look ?? converter.lookAtColumns) === undefined) return;
  for (const { name: file, records } of files) {
    let position = 0;
    for await (const batch of records.batches(format.looksAt)) {
      host.signal.throwIfAborted();
      for (const cut of batch) {
        const place = { file, position: position++, member: cut.member };
        if (cut.columns !== undefined) converter.lookAtColumns?.(cut.columns, place);
        const value = converter.look === undefined ? undefined : recordIn(format, cut);
        if (value !== undefined) converter.look?.({ value, ...place });
      }
    }
  }
};

/** Breaks the groups that records of unknown groups may belong to. Returns them, each with such a record. */
const breakDoubtful = (
  groups: readonly Group[],
  unplaced: ReadonlySet<Group>,
  areAcross: boolean,
): readonly (RecordPlace & { readonly group: number })[] => {
  if (unplaced.size === 0) return [];
  const members = groups
    .flatMap((group) =>
      group.rollouts.map(({ file, record, span }) => ({ file, record, start: span?.start ?? 0, group })),
    )
    .sort((a, b) => a.file - b.file || a.record - b.record || a.start - b.start);
  const doubtful = groupsInDoubt(members.length, {
    mayBeApart: true,
    standingAt: (at) => {
      const { file = 0, group } = members[at] ?? {};
      const isUnknown = group !== undefined && unplaced.has(group);
      return { scope: areAcross ? 0 : file, group: group?.position, isUnknown };
    },
  });
  return Array.from(doubtful).flatMap(([position, at]) => {
    const group = groups[position];
    const { file = 0, record = 0 } = members[at] ?? {};
    if (group === undefined || group.isBroken) return [];
    group.isBroken = true;
    return { group: position, file, record };
  });
};
