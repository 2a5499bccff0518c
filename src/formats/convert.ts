/** Converts inputs of other tools to groups, one per line. Inputs in rollcall's format stay unchanged. */
import { dirname } from "node:path";
import { findAmbiguousGroups } from "../check/rules/ambiguous-groups.ts";
import { type ProblemLocation, Problems } from "../check/rules/problems.ts";
import type { Host } from "../host.ts";
import {
  type ConvertedInputs,
  type ConvertibleInputs,
  isRemote,
  openSpool,
  type RawRecord,
  reportEmptyFolders,
  type Source,
} from "../input/index.ts";
import { requireFault } from "../json/reader.ts";
import { closeTruncated } from "../json/table.ts";
import { newline } from "../json/walk.ts";
import { pluralize } from "../sentences.ts";
import { openDocuments } from "./documents.ts";
import type { Converter, Format, FormatOptions, FormatRun } from "./format.ts";
import { type ConvertedGroup, openGroupLines, type RolloutPosition } from "./group-lines.ts";
import {
  type ConvertedFile,
  type ConvertedFiles,
  convertRecord,
  createOrigin,
  listRecordMappings,
  locateByte,
  locateInRecord,
  openFiles,
  parseRecord,
} from "./origin.ts";
import { openReceipt, type Receipt } from "./receipt.ts";
import { ownFormat, recognizeInputs } from "./recognize.ts";
import { ConversionError, Value } from "./value.ts";

export interface ConversionOptions extends FormatOptions {
  /** The name of a format; `auto` recognizes the files. */
  readonly from: string;
  readonly hasReceipt: boolean;
}

export interface Conversion {
  /** Each format of the inputs, with the number of its files. */
  readonly formats: readonly { readonly format: Format; readonly files: number }[];
  /** The path of rewards, or the option that names their file; undefined if they are those of the format. */
  readonly rewardFrom: string | undefined;
  /** Notes for the user, each with its number of rollouts or values. */
  readonly notes: ReadonlyMap<string, number>;
  /** Problems of records, which break their groups. */
  readonly recordProblems: Problems;
  /** The number of records that are not JSON and whose group is unknown. Each counts as a group. */
  readonly unreadableRecords: number;
  readonly receipt: Receipt | undefined;
}

interface ConversionState {
  readonly host: Host;
  readonly run: Omit<FormatRun, "files" | "readDocument">;
  readonly documents: ReturnType<typeof openDocuments>;
  readonly problems: Problems;
  readonly receipt: Receipt | undefined;
  /** True if the inputs have several formats. */
  readonly isMixed: boolean;
}

interface BrokenRecord {
  /** Undefined if the record is not JSON. */
  readonly reason: string | undefined;
  readonly location: ProblemLocation;
  /** Default: all of the record. */
  readonly part?: Value;
  readonly isUngrouped?: boolean | undefined;
  /** The keys of the record; undefined if it is not JSON. */
  readonly keys?: readonly string[] | undefined;
}

/**
 * Converts each input in its own format. Skips files of folders that have no format. The converted sources come first.
 * @throws Failure `spool-failed`; the signal's reason
 */
export const convertInputs = async (
  options: ConversionOptions,
  inputs: ConvertibleInputs,
): Promise<ConvertedInputs<Conversion>> => {
  const { sources, folders, problems, maxUnpackedBytes, host } = inputs;
  const isNamed = (name: string): boolean => !folders.has(name);
  const byFormat = new Map<Format, Source[]>();
  const others: string[] = [];
  for (const input of await recognizeInputs(sources, { ...options, isNamed, maxUnpackedBytes })) {
    const { source, formats, rejection, damagedKind } = input;
    const location = () => ({ file: source.name });
    const [format = ownFormat, ...more] = formats;
    if (!isNamed(source.name) && formats.length === 0 && damagedKind === undefined) others.push(source.name);
    else if (rejection !== undefined) problems.report("not-json", rejection, location);
    else if (more.length > 0)
      problems.report("ambiguous-format", { formats: formats.map(({ name }) => name) }, location);
    else byFormat.set(format, [...(byFormat.get(format) ?? []), source]);
  }
  for (const [format, [first]] of byFormat) {
    if (format.isLossy !== true || options.allowsLossy) continue;
    problems.report("lossy-format", { format: format.name }, () => (first ? { file: first.name } : {}));
    byFormat.delete(format);
  }
  reportEmptyFolders(folders, { others, problems });
  const own = byFormat.get(ownFormat) ?? [];
  byFormat.delete(ownFormat);
  const used = [...own, ...[...byFormat.values()].flat()];
  const unused = sources.filter((source) => !used.includes(source));
  // A remote file can be a document next to another, so it stays open.
  const isKept = ({ name }: Source): boolean => byFormat.size > 0 && isRemote(name);
  const kept = unused.filter(isKept);
  await closeAll(unused.filter((source) => !isKept(source)));
  const formats: { format: Format; files: readonly ConvertedFile[] }[] = [];
  for (const [format, files] of byFormat) {
    const opened = await openFiles(files, format, { ...inputs, hasReceipt: options.hasReceipt });
    if (opened.length > 0) formats.push({ format, files: opened });
  }
  if (formats.length === 0) {
    await closeAll(kept);
    return { sources: own, others };
  }
  const documents = openDocuments(sources);
  const done: ConvertedFiles[] = [];
  const receipt = options.hasReceipt ? openReceipt(() => listRecordMappings(done)) : undefined;
  const notes = new Map<string, number>();
  const usedRewards = new Set<string>();
  const note = (text: string): void => void notes.set(text, (notes.get(text) ?? 0) + 1);
  const leaveOut = (value: Value | undefined, reason: string): void => {
    if (value !== undefined) receipt?.leaveOut(value, reason);
  };
  const run: ConversionState["run"] = {
    options,
    markRewardUsed: (id) => void usedRewards.add(id),
    note,
    leaveOut,
    skip: (value, subject) => {
      note(`left out ${subject}`);
      leaveOut(value, subject);
      return [];
    },
  };
  const isMixed = formats.length + own.length > 1;
  const state = { host, run, documents, receipt, problems: new Problems(), isMixed };
  const converted: Source[] = [];
  let unreadableRecords = 0;
  for (const { format, files } of formats) {
    const { source, groups, unreadable } = await convertFiles(files, format, state);
    converted.push(source);
    done.push({ files, groups });
    unreadableRecords += unreadable;
  }
  // Their file may belong to another run.
  const unusedIds = [...(options.rewards?.keys() ?? [])].filter((id) => !usedRewards.has(id));
  const named = `${unusedIds.slice(0, maxNamedIds).join(", ")}${unusedIds.length > maxNamedIds ? ", …" : ""}`;
  if (unusedIds.length > 0) note(`--rewards has ${pluralize(unusedIds.length, "id")} without a rollout: ${named}`);
  const [first] = converted;
  if (first !== undefined) {
    const close = async (): Promise<void> => await closeAll([first, ...kept]);
    converted[0] = { ...first, bytes: { ...first.bytes, close } };
  }
  return {
    sources: [...converted, ...own],
    conversion: {
      formats: formats.map(({ format, files }) => ({ format, files: files.length })),
      rewardFrom: options.rewards === undefined ? options.rewardFrom?.join(".") : "--rewards",
      // Copied, because records that are converted again to locate a problem do not count.
      notes: new Map(notes),
      recordProblems: state.problems,
      unreadableRecords,
      receipt,
    },
    others: others.filter((other) => !documents.existing.has(other)),
  };
};

const closeAll = async (sources: Iterable<Source>): Promise<void> => {
  for (const { bytes } of sources) await bytes.close();
};

/**
 * Converts files of a format, one after the other. Returns the source of their groups.
 * @throws Failure `spool-failed`; the signal's reason; errors of reading
 */
const convertFiles = async (files: readonly ConvertedFile[], format: Format, state: ConversionState) => {
  const { host, documents, receipt, problems, isMixed } = state;
  const scopes = files.map((_, at) => (format.hasGroupsAcrossFiles === true ? 0 : at));
  const documentScopes = new Map<string, number>();
  const what = files.length === 1 ? files[0]?.name : `${files.length} files${isMixed ? ` of ${format.name}` : ""}`;
  const name = `${what} (as groups)`;
  const lines = openGroupLines(await openSpool(host), scopes);
  const { groups } = lines;
  const ungrouped = new Map<ConvertedGroup, Pick<BrokenRecord, "keys">>();
  /** Keys of the first record that was converted. */
  let knownKeys: readonly string[] = [];
  const run: FormatRun = {
    ...state.run,
    files: files.map((file) => file.name),
    readDocument: ({ file, member }, path) => {
      if (member === undefined) return documents.documentAt(file, path);
      const records = files.find((one) => one.name === file)?.records;
      return documents.load(`${file}!${path}`, () => records?.readSibling?.(path));
    },
  };
  const { note } = run;
  const converter = format.open(run);

  /** Lets documents of one record each share groups in their folder, as lines do in their file. */
  const shareGroups = (file: number, folder: string): void => {
    const scope = documentScopes.get(folder) ?? scopes[file] ?? file;
    documentScopes.set(folder, scope);
    scopes[file] = scope;
  };

  /** Breaks the group of a record. A record whose group is unknown becomes a group. */
  const breakGroup = (key: string | undefined, position: RolloutPosition, record: BrokenRecord): void => {
    const { reason, location, part, isUngrouped = key === undefined, keys } = record;
    const group = lines.addBroken(key ?? `broken ${position.file} ${position.record}`, position, part?.span);
    if (isUngrouped) ungrouped.set(group, { keys });
    const readAt = `${name}:${group.position + 1}`;
    problems.report("record-invalid", { format: format.name, wrong: reason }, () => ({ ...location, readAt }));
  };

  const convertCut = (cut: RawRecord, at: RolloutPosition, file: string): void => {
    const record = cut.wrong === undefined ? parseRecord(format, cut) : undefined;
    const fault = cut.wrong === undefined && record === undefined ? requireFault(cut.bytes) : undefined;
    // If only NaN is wrong, the groups are known.
    const value = record ?? (fault && Value.parsePython(cut.bytes));
    const convert = (own: Value) =>
      convertRecord(converter, { value: own, file, position: at.record, member: cut.member });
    if (value === undefined) {
      const start = fault && closeTruncated(cut.bytes.subarray(0, fault.at));
      const begun = start && Value.parse(start);
      const group = cut.member === undefined ? undefined : converter.groupOfMember?.(cut.member);
      const reason = fault?.fault === "end" ? "it is cut off" : cut.wrong;
      for (const key of begun === undefined ? [group] : listGroups(convert(begun))) {
        breakGroup(key, at, { reason, location: locateByte(cut, fault?.at ?? 0) });
      }
      return;
    }
    const result = convert(value);
    const keys = value.isText ? undefined : value.members().map(([key]) => key);
    const error = result instanceof ConversionError ? result : undefined;
    if (fault !== undefined) {
      const [word] = /^-?[A-Za-z]*/.exec(cut.bytes.toString("latin1", fault.at, fault.at + 9)) ?? [];
      for (const key of listGroups(result)) {
        breakGroup(key, at, { reason: `${word} is not JSON`, location: locateByte(cut, fault.at) });
      }
    } else if (error !== undefined) {
      breakGroup(error.group, at, { reason: error.message, location: locateInRecord(cut, error.value), keys });
    } else if (result === undefined) return;
    const rollouts = fault !== undefined || result instanceof ConversionError ? undefined : result;
    if (rollouts !== undefined && knownKeys.length === 0) knownKeys = keys ?? [];
    const withoutNewlines = cut.isComposed === true || cut.bytes.includes(newline) ? undefined : cut.bytes;
    for (const [position, rollout] of rollouts?.entries() ?? []) {
      const { error, isUngrouped, part = value, group } = rollout;
      if (rollout.exception !== undefined) note("converted a failed rollout to an exception of its group");
      if (error === undefined) lines.add(rollout, value, { position: { ...at, position }, withoutNewlines });
      else {
        const location = locateInRecord(cut, error.value);
        breakGroup(group, at, { reason: error.message, location, part, isUngrouped, keys });
      }
    }
    receipt?.addRecord({ format, file, value, rollouts });
  };

  try {
    await previewRecords(files, format, { host, converter });
    for (const [file, { name, records }] of files.entries()) {
      let record = 0;
      for await (const batch of records.batches()) {
        for (const cut of batch) {
          host.signal.throwIfAborted();
          if (cut.isDocument === true) shareGroups(file, dirname(name));
          convertCut(cut, { file, record: record++, position: -1 }, name);
          if (lines.isFull()) await lines.flush();
        }
      }
    }
    // A record that shares no key with the other records belongs to no group.
    const isForeign = ({ keys }: Pick<BrokenRecord, "keys">): boolean =>
      keys !== undefined && !keys.some((key) => knownKeys.includes(key));
    const possible = new Map(Array.from(ungrouped).filter(([, record]) => !isForeign(record)));
    for (const { file: own, position, group, wrong } of converter.findFaults?.() ?? []) {
      const file = files.findIndex((one) => one.name === own);
      const { label } = files[file]?.records.positionOf(position) ?? { label: own };
      breakGroup(
        group,
        { file, record: position, position: -1 },
        { reason: wrong, location: { file: label, path: [] } },
      );
    }
    for (const [group, { file, record, isJson }] of findAmbiguous(groups, possible, scopes)) {
      group.isBroken = true;
      const { label, line } = files[file]?.records.positionOf(record) ?? { label: "a record", line: 1 };
      const location = { file: name, line: group.position + 1, path: [] };
      problems.report("ambiguous-group", { place: `${label}:${line}`, isJson }, () => location);
    }
    const bytes = await lines.end(host);
    const close = async (): Promise<void> => {
      await bytes.close();
      for (const { records } of files) await records.close();
    };
    const origin = createOrigin({ files, groups, format, converter });
    const source = { name, bytes: { ...bytes, close }, origin };
    const unreadable = Array.from(ungrouped.values()).filter(({ keys }) => keys === undefined).length;
    return { source, groups, unreadable };
  } catch (thrown) {
    await lines.discard();
    throw thrown;
  }
};

const listGroups = (result: ReturnType<typeof convertRecord>): ReadonlySet<string | undefined> => {
  const groups = result instanceof ConversionError ? [result.group] : (result ?? []).map(({ group }) => group);
  return new Set(groups.length === 0 ? [undefined] : groups);
};

const maxNamedIds = 3;

const previewRecords = async (
  files: readonly ConvertedFile[],
  format: Format,
  { host, converter }: { readonly host: Host; readonly converter: Converter },
): Promise<void> => {
  if (converter.preview === undefined) return;
  for (const { name: file, records } of files) {
    let position = 0;
    for await (const batch of records.batches()) {
      host.signal.throwIfAborted();
      for (const cut of batch) {
        const record = { file, position: position++, member: cut.member };
        const value = parseRecord(format, cut);
        if (value !== undefined) converter.preview({ value, ...record });
      }
    }
  }
};

/** Finds the groups that records of unknown groups may belong to, each with such a record. */
const findAmbiguous = (
  groups: readonly ConvertedGroup[],
  ungrouped: ReadonlyMap<ConvertedGroup, Pick<BrokenRecord, "keys">>,
  scopes: readonly number[],
): readonly (readonly [ConvertedGroup, Pick<RolloutPosition, "file" | "record"> & { readonly isJson: boolean }])[] => {
  if (ungrouped.size === 0) return [];
  const members = groups
    .flatMap((group) => group.rollouts.map((one) => ({ ...one, group })))
    .sort((a, b) => a.file - b.file || a.record - b.record || (a.span?.start ?? 0) - (b.span?.start ?? 0));
  const ambiguous = findAmbiguousGroups(members.length, {
    mayBeApart: true,
    standingAt: (at) => {
      const { file = 0, group } = members[at] ?? {};
      const isUnknown = group !== undefined && ungrouped.has(group);
      return { scope: scopes[file] ?? file, group: group?.position, isUnknown };
    },
  });
  return Array.from(ambiguous).flatMap(([position, at]) => {
    const [group, by] = [groups[position], members[at]];
    if (group === undefined || by === undefined || group.isBroken) return [];
    return [[group, { ...by, isJson: ungrouped.get(by.group)?.keys !== undefined }] as const];
  });
};
