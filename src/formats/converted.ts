/** Converts files of another tool to one source of groups, a line each, that knows the origin of each line. */
import { groupsInDoubt } from "../check/rules/in-doubt.ts";
import { Problems, type Spot } from "../check/rules/problems.ts";
import type { Host } from "../host.ts";
import { type Cut, openSpool, type Source } from "../input/index.ts";
import { faultOf } from "../json/reader.ts";
import { newline } from "../json/walk.ts";
import type { Documents } from "./documents.ts";
import type { Converter, Format, FormatOptions, FormatRun } from "./format.ts";
import { type Group, openLines, type RolloutPlace } from "./lines.ts";
import { type ConvertedFile, convertRecord, originOf, placeIn, recordIn, recordsMade, spotIn } from "./origin.ts";
import { openReceipt, type Receipt } from "./receipt.ts";
import { Unfit, Value } from "./value.ts";

/** How inputs of other tools are read. */
export interface ForeignChoice extends FormatOptions {
  /** The name of a format; `auto` recognizes the files. */
  readonly from: string;
  /** True if what becomes of every value is counted. */
  readonly receipt: boolean;
}

/** What was converted, for people. */
export interface Conversion {
  readonly format: Format;
  readonly files: number;
  /** What people should know, and of how many rollouts or values. */
  readonly notes: ReadonlyMap<string, number>;
  /** What is wrong with records. Only their groups cannot be read. */
  readonly broken: Problems;
  /** The number of records whose group is unknown. Each counts as a group. */
  readonly unplaced: number;
  readonly receipt: Receipt | undefined;
}

interface Converting {
  readonly host: Host;
  readonly choice: ForeignChoice;
  readonly documents: Documents;
}

interface BrokenRecord {
  /** Undefined if the record is not JSON. */
  readonly wrong: string | undefined;
  readonly spot: Spot;
  readonly of?: Value;
  readonly isUnplaced?: boolean | undefined;
}

const failedRollout = "a rollout that failed is counted among the exceptions of its group, and is no trajectory";

/**
 * Converts files of a format, one after the other. Returns the source of their groups.
 * @throws Failure `spool-failed`; the signal's reason; what reading throws
 */
export const convertFiles = async (
  files: readonly ConvertedFile[],
  format: Format,
  { host, choice, documents }: Converting,
): Promise<{ readonly source: Source; readonly conversion: Conversion }> => {
  const areAcross = format.groupsAcross === true;
  const name = `${files.length === 1 ? files[0]?.name : `${files.length} files`} (as groups)`;
  const lines = openLines(await openSpool(host), areAcross);
  const { groups } = lines;
  const unplaced = new Set<Group>();
  const notes = new Map<string, number>();
  const receipt = choice.receipt ? openReceipt(format, () => recordsMade({ files, groups })) : undefined;
  const broken = new Problems();
  const takenRewards = new Set<string>();
  const run: FormatRun = {
    options: choice,
    files: files.map((file) => file.name),
    beside: ({ file, member }, path) => {
      if (member === undefined) return documents.at(file, path);
      const records = files.find((one) => one.name === file)?.records;
      return documents.from(`${file}!${path}`, () => records?.beside?.(path));
    },
    rewardTaken: (id) => void takenRewards.add(id),
    note: (text, count = 1) => void notes.set(text, (notes.get(text) ?? 0) + count),
    leave: (value, why) => {
      if (value !== undefined) receipt?.leave(value, why);
    },
  };
  const converter = format.open(run);

  /** Breaks the group of a record. A record whose group is unknown is a group of its own. */
  const breakGroup = (key: string | undefined, place: RolloutPlace, about: BrokenRecord): void => {
    const { wrong, spot, of, isUnplaced = key === undefined } = about;
    const group = lines.addBroken(key ?? `broken ${place.file} ${place.record}`, place, of?.span);
    if (isUnplaced) unplaced.add(group);
    const readAt = `${name}:${group.position + 1}`;
    broken.report("record-broken", { format: format.name, wrong }, () => ({ ...spot, readAt }));
  };

  const take = (cut: Cut, at: RolloutPlace, file: string): void => {
    const record = cut.wrong === undefined ? recordIn(format, cut) : undefined;
    const fault = cut.wrong === undefined && record === undefined ? faultOf(cut.bytes) : undefined;
    // If only NaN is wrong, the record has its groups.
    const value = record ?? (fault && Value.ofPython(cut.bytes));
    if (value === undefined) {
      const group = cut.member === undefined ? undefined : converter.groupOf?.(cut.member);
      const wrong = fault?.fault === "end" ? "it is cut off" : cut.wrong;
      breakGroup(group, at, { wrong, spot: placeIn(cut, fault?.at ?? 0) });
      return;
    }
    const made = convertRecord(converter, { value, file, position: at.record, member: cut.member });
    if (fault !== undefined) {
      const [word] = /^-?[A-Za-z]*/.exec(cut.bytes.toString("latin1", fault.token, fault.token + 9)) ?? [];
      const keys = made instanceof Unfit ? [made.group] : (made ?? []).map(({ group }) => group);
      for (const key of new Set(keys.length === 0 ? [undefined] : keys)) {
        breakGroup(key, at, { wrong: `${word} is not JSON`, spot: placeIn(cut, fault.at) });
      }
      receipt?.take({ file, value, rollouts: undefined });
      return;
    }
    if (made === undefined) return;
    if (made instanceof Unfit) {
      breakGroup(made.group, at, { wrong: made.message, spot: spotIn(cut, made.value) });
      receipt?.take({ file, value, rollouts: undefined });
      return;
    }
    const withoutLines = cut.isMade === true || cut.bytes.includes(newline) ? undefined : cut.bytes;
    for (const [position, rollout] of made.entries()) {
      const { unfit, isUnplaced, of = value, group } = rollout;
      if (rollout.exception !== undefined) run.note(failedRollout);
      if (unfit === undefined) lines.add(rollout, value, { place: { ...at, position }, withoutLines });
      else breakGroup(group, at, { wrong: unfit.message, spot: spotIn(cut, unfit.value), of, isUnplaced });
    }
    receipt?.take({ file, value, rollouts: made });
  };

  try {
    await lookAt(files, format, { host, converter });
    for (const [file, { name, records }] of files.entries()) {
      let record = 0;
      for await (const batch of records.batches()) {
        for (const cut of batch) {
          host.signal.throwIfAborted();
          take(cut, { file, record: record++, position: -1 }, name);
          if (lines.isFull()) await lines.flush();
        }
      }
    }
    for (const [group, { file, record }] of findDoubtful(groups, unplaced, areAcross)) {
      group.isBroken = true;
      const { label, line } = files[file]?.records.placeOf(record) ?? { label: "a record", line: 1 };
      const spot = { file: name, line: group.position + 1, path: [] };
      broken.report("group-in-doubt", { place: `${label}:${line}` }, () => spot);
    }
    const { descriptor, ...bytes } = await lines.end(host);
    // Only this thread knows which lines stand for what could not be converted.
    const shared = broken.errors === 0 && descriptor !== undefined ? { descriptor } : {};
    const close = async (): Promise<void> => {
      await bytes.close();
      for (const { records } of files) await records.close();
    };
    const origin = originOf({ files, groups, format, converter });
    noteUntakenRewards(run, takenRewards);
    // Records that are converted again, for the position of a problem, do not count twice.
    const counted = { files: files.length, notes: new Map(notes), unplaced: unplaced.size };
    return {
      source: { name, bytes: { ...bytes, ...shared, close }, touched: async () => false, origin },
      conversion: { ...counted, format, broken, receipt },
    };
  } catch (thrown) {
    await lines.discard();
    throw thrown;
  }
};

/** The number of ids without a rollout that are named. */
const maxNamed = 3;

/** Names the rewards that belong to nothing that was read: their file may be that of another run. */
const noteUntakenRewards = ({ options: { rewards }, note }: FormatRun, taken: ReadonlySet<string>): void => {
  const left = [...(rewards?.keys() ?? [])].filter((id) => !taken.has(id));
  const named = `${left.slice(0, maxNamed).join(", ")}${left.length > maxNamed ? ", …" : ""}`;
  if (left.length > 0) note(`--rewards has ${left.length} that no rollout of the input has the id of: ${named}`);
};

/** Shows all records to the converter before the first is converted, if it wants to see them. */
const lookAt = async (
  files: readonly ConvertedFile[],
  format: Format,
  { host, converter }: { readonly host: Host; readonly converter: Converter },
): Promise<void> => {
  if ((converter.look ?? converter.lookAtColumns) === undefined) return;
  for (const { name: file, records } of files) {
    let position = 0;
    for await (const batch of records.batches(format.looksAt)) {
      host.signal.throwIfAborted();
      for (const cut of batch) {
        const place = { file, position: position++, member: cut.member };
        if (cut.columns !== undefined) converter.lookAtColumns?.(cut.columns, place);
        const value = converter.look && recordIn(format, cut);
        if (value !== undefined) converter.look?.({ value, ...place });
      }
    }
  }
};

/** Finds the groups that records of unknown groups may belong to, each with such a record. */
const findDoubtful = (
  groups: readonly Group[],
  unplaced: ReadonlySet<Group>,
  areAcross: boolean,
): readonly (readonly [Group, Pick<RolloutPlace, "file" | "record">])[] => {
  if (unplaced.size === 0) return [];
  const members = groups
    .flatMap((group) => group.rollouts.map((one) => ({ ...one, group })))
    .sort((a, b) => a.file - b.file || a.record - b.record || (a.span?.start ?? 0) - (b.span?.start ?? 0));
  const doubtful = groupsInDoubt(members.length, {
    mayBeApart: true,
    standingAt: (at) => {
      const { file = 0, group } = members[at] ?? {};
      const isUnknown = group !== undefined && unplaced.has(group);
      return { scope: areAcross ? 0 : file, group: group?.position, isUnknown };
    },
  });
  return Array.from(doubtful).flatMap(([position, at]) => {
    const [group, by] = [groups[position], members[at]];
    return group === undefined || by === undefined || group.isBroken ? [] : [[group, by] as const];
  });
};
