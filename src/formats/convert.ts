/** Converts inputs of other tools to one source of groups, a line each. Those in rollcall's format stay as they are. */
import { readFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { findAmbiguousGroups } from "../check/rules/ambiguous-groups.ts";
import { DecompressedSizeError } from "../check/rules/compression.ts";
import { type ProblemLocation, Problems } from "../check/rules/problems.ts";
import { getErrorCode } from "../files.ts";
import type { Host } from "../host.ts";
import { inputUnreadable } from "../input/failures.ts";
import {
  type ConvertedInputs,
  type ConvertibleInputs,
  isRemote,
  maxDocumentBytes,
  openRecords,
  openSpool,
  type RawRecord,
  reportEmptyFolders,
  type Source,
} from "../input/index.ts";
import { requireFault } from "../json/reader.ts";
import { bomLength, newline } from "../json/walk.ts";
import type { Converter, Format, FormatOptions, FormatRun } from "./format.ts";
import { type ConvertedGroup, openGroupLines, type RolloutPosition } from "./group-lines.ts";
import {
  type ConvertedFile,
  convertRecord,
  createOrigin,
  listRecordMappings,
  locateByte,
  locateInRecord,
  parseRecord,
} from "./origin.ts";
import { openReceipt, type Receipt } from "./receipt.ts";
import { ownFormat, type RecognizedInput, recognizeInputs } from "./recognize.ts";
import { ConversionError, Value } from "./value.ts";

/** How inputs of other tools are read. */
export interface ConversionOptions extends FormatOptions {
  /** The name of a format; `auto` recognizes the files. */
  readonly from: string;
  /** True if what becomes of every value is counted. */
  readonly hasReceipt: boolean;
}

/** What was converted, for people. */
export interface Conversion {
  readonly format: Format;
  readonly files: number;
  /** What people should know, and of how many rollouts or values. */
  readonly notes: ReadonlyMap<string, number>;
  /** What is wrong with records. Only their groups cannot be read. */
  readonly recordProblems: Problems;
  /** The number of records whose group is unknown. Each counts as a group. */
  readonly unplaced: number;
  readonly receipt: Receipt | undefined;
}

interface ConversionContext {
  readonly host: Host;
  readonly options: ConversionOptions;
  readonly documents: Documents;
}

interface BrokenRecord {
  /** Undefined if the record is not JSON. */
  readonly reason: string | undefined;
  readonly location: ProblemLocation;
  readonly part?: Value;
  readonly isUngrouped?: boolean | undefined;
}

const failedRolloutNote = "a rollout that failed is counted among the exceptions of its group, and is no trajectory";

/**
 * Converts inputs. A file that has no format, and was not given itself, is left out.
 * @throws Failure `spool-failed`; the signal's reason
 */
export const convertInputs = async (
  choice: ConversionOptions,
  inputs: ConvertibleInputs,
): Promise<ConvertedInputs<Conversion>> => {
  const { sources, folders, problems, maxUnpackedBytes } = inputs;
  const isNamed = (name: string): boolean => !folders.has(name);
  const used: RecognizedInput[] = [];
  const others: string[] = [];
  for (const one of await recognizeInputs(sources, { from: choice.from, isNamed, maxUnpackedBytes })) {
    const { source, formats, rejection: wrong, damagedKind: damaged } = one;
    if (!isNamed(source.name) && formats.length === 0 && damaged === undefined) others.push(source.name);
    else if (wrong === undefined) used.push(one);
    else problems.report("not-json", wrong, () => ({ file: source.name }));
  }
  const usedSources = used.map(({ source }) => source);
  const left = sources.filter((source) => !usedSources.includes(source));
  // A file at an address can be a document next to another: it is read from what was stored of it.
  const remotes = left.filter(({ name }) => isRemote(name));
  await closeAll(left.filter(({ name }) => !isRemote(name)));
  reportEmptyFolders(folders, { others, problems });
  const [format] = used.flatMap(({ formats }) => formats);
  if (format === undefined || used.every(({ formats }) => formats.length === 0 || formats.includes(ownFormat))) {
    await closeAll(remotes);
    return { sources: usedSources, others };
  }
  const isWrong = reportRefusal(used, format, { choice, problems });
  if (isWrong) await closeAll(usedSources);
  const files = isWrong ? [] : await openFiles(usedSources, format, { ...inputs, choice });
  if (files.length === 0) {
    await closeAll(remotes);
    return { sources: [], others };
  }
  const documents = openDocuments(sources);
  const { source, conversion } = await convertFiles(files, format, { host: inputs.host, options: choice, documents });
  const close = async (): Promise<void> => await closeAll([source, ...remotes]);
  const closing = { ...source, bytes: { ...source.bytes, close } };
  return { sources: [closing], conversion, others: others.filter((other) => !documents.read.has(other)) };
};

const closeAll = async (sources: Iterable<Source>): Promise<void> => {
  for (const { bytes } of sources) await bytes.close();
};

/** Reports files of several formats, and a format that has lost something, unless the person accepts that. */
const reportRefusal = (
  used: readonly RecognizedInput[],
  format: Format,
  { choice, problems }: { readonly choice: ConversionOptions; readonly problems: Problems },
): boolean => {
  const sound = used.filter(({ damagedKind: damaged }) => damaged === undefined);
  const files = new Map<string, string>();
  for (const { source, formats } of sound) {
    for (const { name } of formats.length === 0 ? [ownFormat] : formats)
      if (!files.has(name)) files.set(name, source.name);
  }
  if (files.size > 1) {
    const file = sound.find(({ formats }) => formats[0] !== format || formats.length > 1)?.source.name ?? "-";
    problems.report("ambiguous-format", { formats: [...files.keys()], files: [...files.values()] }, () => ({ file }));
    return true;
  }
  if (format.lossy !== true || choice.allowsLossy) return false;
  const [first] = used;
  problems.report("lossy-format", { format: format.name }, () =>
    first === undefined ? {} : { file: first.source.name },
  );
  return true;
};

/** Opens the records of files of one format, in the order in which they are read. */
const openFiles = async (
  sources: readonly Source[],
  format: Format,
  { choice, problems, maxUnpackedBytes }: ConvertibleInputs & { readonly choice: ConversionOptions },
): Promise<readonly ConvertedFile[]> => {
  const isLast = ({ name }: Source): number => (format.lastFilePattern?.test(name) === true ? 1 : 0);
  const kinds = { records: format.records, columns: choice.hasReceipt ? undefined : format.columns };
  const files: ConvertedFile[] = [];
  for (const source of sources.toSorted((a, b) => isLast(a) - isLast(b))) {
    try {
      files.push({ name: source.name, records: await openRecords(source, kinds, maxUnpackedBytes) });
    } catch (thrown) {
      if (!(thrown instanceof DecompressedSizeError)) throw thrown;
      problems.report("decompressed-too-large", { limit: thrown.limit }, () => ({ file: source.name }));
      await source.bytes.close();
    }
  }
  return files;
};

/**
 * Converts files of a format, one after the other. Returns the source of their groups.
 * @throws Failure `spool-failed`; the signal's reason; what reading throws
 */
const convertFiles = async (
  files: readonly ConvertedFile[],
  format: Format,
  { host, options: choice, documents }: ConversionContext,
): Promise<{ readonly source: Source; readonly conversion: Conversion }> => {
  const hasGroupsAcrossFiles = format.hasGroupsAcrossFiles === true;
  const name = `${files.length === 1 ? files[0]?.name : `${files.length} files`} (as groups)`;
  const lines = openGroupLines(await openSpool(host), hasGroupsAcrossFiles);
  const { groups } = lines;
  const unplaced = new Set<ConvertedGroup>();
  const notes = new Map<string, number>();
  const receipt = choice.hasReceipt ? openReceipt(format, () => listRecordMappings({ files, groups })) : undefined;
  const problems = new Problems();
  const usedRewards = new Set<string>();
  const run: FormatRun = {
    options: choice,
    files: files.map((file) => file.name),
    readDocument: ({ file, member }, path) => {
      if (member === undefined) return documents.at(file, path);
      const records = files.find((one) => one.name === file)?.records;
      return documents.from(`${file}!${path}`, () => records?.readSibling?.(path));
    },
    markRewardUsed: (id) => void usedRewards.add(id),
    note: (text, count = 1) => void notes.set(text, (notes.get(text) ?? 0) + count),
    leaveOut: (value, why) => {
      if (value !== undefined) receipt?.leave(value, why);
    },
  };
  const converter = format.open(run);

  /** Breaks the group of a record. A record whose group is unknown is a group of its own. */
  const breakGroup = (key: string | undefined, place: RolloutPosition, about: BrokenRecord): void => {
    const { reason: wrong, location: spot, part: of, isUngrouped: isUnplaced = key === undefined } = about;
    const group = lines.addBroken(key ?? `broken ${place.file} ${place.record}`, place, of?.span);
    if (isUnplaced) unplaced.add(group);
    const readAt = `${name}:${group.position + 1}`;
    problems.report("record-invalid", { format: format.name, wrong }, () => ({ ...spot, readAt }));
  };

  const convertCut = (cut: RawRecord, at: RolloutPosition, file: string): void => {
    const record = cut.wrong === undefined ? parseRecord(format, cut) : undefined;
    const fault = cut.wrong === undefined && record === undefined ? requireFault(cut.bytes) : undefined;
    // If only NaN is wrong, the record has its groups.
    const value = record ?? (fault && Value.parsePython(cut.bytes));
    if (value === undefined) {
      const group = cut.member === undefined ? undefined : converter.groupOfMember?.(cut.member);
      const wrong = fault?.fault === "end" ? "it is cut off" : cut.wrong;
      breakGroup(group, at, { reason: wrong, location: locateByte(cut, fault?.at ?? 0) });
      return;
    }
    const made = convertRecord(converter, { value, file, position: at.record, member: cut.member });
    if (fault !== undefined) {
      const [word] = /^-?[A-Za-z]*/.exec(cut.bytes.toString("latin1", fault.token, fault.token + 9)) ?? [];
      const keys = made instanceof ConversionError ? [made.group] : (made ?? []).map(({ group }) => group);
      for (const key of new Set(keys.length === 0 ? [undefined] : keys)) {
        breakGroup(key, at, { reason: `${word} is not JSON`, location: locateByte(cut, fault.at) });
      }
      receipt?.addRecord({ file, value, rollouts: undefined });
      return;
    }
    if (made === undefined) return;
    if (made instanceof ConversionError) {
      breakGroup(made.group, at, { reason: made.message, location: locateInRecord(cut, made.value) });
      receipt?.addRecord({ file, value, rollouts: undefined });
      return;
    }
    const withoutLines = cut.isComposed === true || cut.bytes.includes(newline) ? undefined : cut.bytes;
    for (const [position, rollout] of made.entries()) {
      const { error: unfit, isUngrouped: isUnplaced, part: of = value, group } = rollout;
      if (rollout.exception !== undefined) run.note(failedRolloutNote);
      if (unfit === undefined) lines.add(rollout, value, { place: { ...at, position }, withoutLines });
      else
        breakGroup(group, at, {
          reason: unfit.message,
          location: locateInRecord(cut, unfit.value),
          part: of,
          isUngrouped: isUnplaced,
        });
    }
    receipt?.addRecord({ file, value, rollouts: made });
  };

  try {
    await previewRecords(files, format, { host, converter });
    for (const [file, { name, records }] of files.entries()) {
      let record = 0;
      for await (const batch of records.batches()) {
        for (const cut of batch) {
          host.signal.throwIfAborted();
          convertCut(cut, { file, record: record++, position: -1 }, name);
          if (lines.isFull()) await lines.flush();
        }
      }
    }
    for (const [group, { file, record }] of findAmbiguous(groups, unplaced, hasGroupsAcrossFiles)) {
      group.isBroken = true;
      const { label, line } = files[file]?.records.positionOf(record) ?? { label: "a record", line: 1 };
      const spot = { file: name, line: group.position + 1, path: [] };
      problems.report("ambiguous-group", { place: `${label}:${line}` }, () => spot);
    }
    const { descriptor, ...bytes } = await lines.end(host);
    // Only this thread knows which lines stand for what could not be converted.
    const shared = problems.errors === 0 && descriptor !== undefined ? { descriptor } : {};
    const close = async (): Promise<void> => {
      await bytes.close();
      for (const { records } of files) await records.close();
    };
    const origin = createOrigin({ files, groups, format, converter });
    noteUnusedRewards(run, usedRewards);
    // Records that are converted again, for the position of a problem, do not count twice.
    const counted = { files: files.length, notes: new Map(notes), unplaced: unplaced.size };
    return {
      source: { name, bytes: { ...bytes, ...shared, close }, touched: async () => false, origin },
      conversion: { ...counted, format, recordProblems: problems, receipt },
    };
  } catch (thrown) {
    await lines.discard();
    throw thrown;
  }
};

/** The number of ids without a rollout that are named. */
const maxNamed = 3;

/** Names the rewards that belong to nothing that was read: their file may be that of another run. */
const noteUnusedRewards = ({ options: { rewards }, note }: FormatRun, taken: ReadonlySet<string>): void => {
  const left = [...(rewards?.keys() ?? [])].filter((id) => !taken.has(id));
  const named = `${left.slice(0, maxNamed).join(", ")}${left.length > maxNamed ? ", …" : ""}`;
  if (left.length > 0) note(`--rewards has ${left.length} that no rollout of the input has the id of: ${named}`);
};

/** Shows all records to the converter before the first is converted, if it wants to see them. */
const previewRecords = async (
  files: readonly ConvertedFile[],
  format: Format,
  { host, converter }: { readonly host: Host; readonly converter: Converter },
): Promise<void> => {
  if ((converter.preview ?? converter.previewColumns) === undefined) return;
  for (const { name: file, records } of files) {
    let position = 0;
    for await (const batch of records.batches(format.previewedColumns)) {
      host.signal.throwIfAborted();
      for (const cut of batch) {
        const place = { file, position: position++, member: cut.member };
        if (cut.columns !== undefined) converter.previewColumns?.(cut.columns, place);
        const value = converter.preview && parseRecord(format, cut);
        if (value !== undefined) converter.preview?.({ value, ...place });
      }
    }
  }
};

/** Finds the groups that records of unknown groups may belong to, each with such a record. */
const findAmbiguous = (
  groups: readonly ConvertedGroup[],
  unplaced: ReadonlySet<ConvertedGroup>,
  hasGroupsAcrossFiles: boolean,
): readonly (readonly [ConvertedGroup, Pick<RolloutPosition, "file" | "record">])[] => {
  if (unplaced.size === 0) return [];
  const members = groups
    .flatMap((group) => group.rollouts.map((one) => ({ ...one, group })))
    .sort((a, b) => a.file - b.file || a.record - b.record || (a.span?.start ?? 0) - (b.span?.start ?? 0));
  const doubtful = findAmbiguousGroups(members.length, {
    mayBeApart: true,
    standingAt: (at) => {
      const { file = 0, group } = members[at] ?? {};
      const isUnknown = group !== undefined && unplaced.has(group);
      return { scope: hasGroupsAcrossFiles ? 0 : file, group: group?.position, isUnknown };
    },
  });
  return Array.from(doubtful).flatMap(([position, at]) => {
    const [group, by] = [groups[position], members[at]];
    return group === undefined || by === undefined || group.isBroken ? [] : [[group, by] as const];
  });
};

/** Bytes of documents that are in memory. */
const maxStoredBytes = 2 ** 26;

/** Documents next to inputs. The last ones stay in memory, for the next record that asks for them. */
type Documents = ReturnType<typeof openDocuments>;

/** Opens the documents next to these inputs. A file at an address has those that are inputs too. */
const openDocuments = (sources: readonly Source[]) => {
  const remotes = new Map(sources.flatMap((source) => (isRemote(source.name) ? [[join(source.name), source]] : [])));
  const existing = new Set<string>();
  const inMemory = new Map<string, Value | undefined>();
  let size = 0;
  /** The document of a name, which is read if it is not in memory. */
  const from = (name: string, read: () => Buffer | undefined): Value | undefined => {
    if (inMemory.has(name)) return inMemory.get(name);
    const all = read();
    const bytes = all?.subarray(bomLength(all));
    const value = bytes && Value.parse(bytes, { document: name });
    if (bytes !== undefined) existing.add(name);
    size += bytes?.length ?? 0;
    for (const [oldest, document] of inMemory) {
      if (size <= maxStoredBytes) break;
      inMemory.delete(oldest);
      size -= document?.bytes.length ?? 0;
    }
    inMemory.set(name, value);
    return value;
  };
  return {
    /** The names of all that exist. */
    read: existing,
    from,
    /** The document at a path from a file; undefined if there is none. */
    at: (file: string, path: string): Value | undefined => {
      const name = join(dirname(file), path);
      const remote = remotes.get(name);
      if (remote !== undefined) return from(remote.name, () => readSource(remote));
      return file === "-" || isRemote(file) ? undefined : from(name, () => readDocumentFile(name));
    },
  };
};

/** Reads all of a stored source; undefined if it is too large. */
const readSource = ({ bytes }: Source): Buffer | undefined => {
  if (bytes.size > maxDocumentBytes) return undefined;
  const whole = Buffer.allocUnsafe(bytes.size);
  return whole.subarray(0, bytes.readSync(whole, 0));
};

const readDocumentFile = (path: string): Buffer | undefined => {
  try {
    return readFileSync(path);
  } catch (thrown) {
    const code = getErrorCode(thrown);
    if (["ENOENT", "ENOTDIR", "EISDIR"].includes(code)) return undefined;
    throw inputUnreadable(basename(path), code, { cause: thrown });
  }
};
