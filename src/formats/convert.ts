/** Converts inputs of other tools to one source of groups, a line each. Those in rollcall's format stay as they are. */
import { readFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { groupsInDoubt } from "../check/rules/in-doubt.ts";
import { PackedTooLarge } from "../check/rules/packed.ts";
import { Problems, type Spot } from "../check/rules/problems.ts";
import { codeOf } from "../files.ts";
import type { Host } from "../host.ts";
import { inputUnreadable } from "../input/failures.ts";
import {
  type Converted,
  type Convertible,
  type Cut,
  isRemote,
  longestDocument,
  openRecords,
  openSpool,
  reportWithout,
  type Source,
} from "../input/index.ts";
import { faultOf } from "../json/reader.ts";
import { markLength, newline } from "../json/walk.ts";
import type { Converter, Format, FormatOptions, FormatRun } from "./format.ts";
import { type Group, openLines, type RolloutPlace } from "./lines.ts";
import { type ConvertedFile, convertRecord, originOf, placeIn, recordIn, recordsMade, spotIn } from "./origin.ts";
import { openReceipt, type Receipt } from "./receipt.ts";
import { ownFormat, type RecognizedInput, recognize } from "./recognize.ts";
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
 * Converts inputs. A file that has no format, and was not given itself, is left out.
 * @throws Failure `spool-failed`; the signal's reason
 */
export const convertForeign = async (choice: ForeignChoice, inputs: Convertible): Promise<Converted<Conversion>> => {
  const { sources, folders, problems, maxUnpackedBytes } = inputs;
  const isNamed = (name: string): boolean => !folders.has(name);
  const used: RecognizedInput[] = [];
  const others: string[] = [];
  for (const one of await recognize(sources, { from: choice.from, isNamed, maxUnpackedBytes })) {
    const { source, formats, wrong, damaged } = one;
    if (!isNamed(source.name) && formats.length === 0 && damaged === undefined) others.push(source.name);
    else if (wrong === undefined) used.push(one);
    else problems.report("not-json", wrong, () => ({ file: source.name }));
  }
  const usedSources = used.map(({ source }) => source);
  const left = sources.filter((source) => !usedSources.includes(source));
  // A file at an address can be a document next to another: it is read from what was stored of it.
  const remotes = left.filter(({ name }) => isRemote(name));
  await closeAll(left.filter(({ name }) => !isRemote(name)));
  reportWithout(folders, { others, problems });
  const [format] = used.flatMap(({ formats }) => formats);
  if (format === undefined || used.every(({ formats }) => formats.length === 0 || formats.includes(ownFormat))) {
    await closeAll(remotes);
    return { sources: usedSources, others };
  }
  const isWrong = isRefused(used, format, { choice, problems });
  if (isWrong) await closeAll(usedSources);
  const files = isWrong ? [] : await openFiles(usedSources, format, { ...inputs, choice });
  if (files.length === 0) {
    await closeAll(remotes);
    return { sources: [], others };
  }
  const documents = openDocuments(sources);
  const { source, conversion } = await convertFiles(files, format, { host: inputs.host, choice, documents });
  const close = async (): Promise<void> => await closeAll([source, ...remotes]);
  const closing = { ...source, bytes: { ...source.bytes, close } };
  return { sources: [closing], conversion, others: others.filter((other) => !documents.read.has(other)) };
};

const closeAll = async (sources: Iterable<Source>): Promise<void> => {
  for (const { bytes } of sources) await bytes.close();
};

/** Reports files of several formats, and a format that has lost something, unless the person accepts that. */
const isRefused = (
  used: readonly RecognizedInput[],
  format: Format,
  { choice, problems }: { readonly choice: ForeignChoice; readonly problems: Problems },
): boolean => {
  const sound = used.filter(({ damaged }) => damaged === undefined);
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
  if (format.lossy !== true || choice.lossy) return false;
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
  { choice, problems, maxUnpackedBytes }: Convertible & { readonly choice: ForeignChoice },
): Promise<readonly ConvertedFile[]> => {
  const isLast = ({ name }: Source): number => (format.last?.test(name) === true ? 1 : 0);
  const kinds = { records: format.records, columns: choice.receipt ? undefined : format.columns };
  const files: ConvertedFile[] = [];
  for (const source of sources.toSorted((a, b) => isLast(a) - isLast(b))) {
    try {
      files.push({ name: source.name, records: await openRecords(source, kinds, maxUnpackedBytes) });
    } catch (thrown) {
      if (!(thrown instanceof PackedTooLarge)) throw thrown;
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
    broken.report("record-invalid", { format: format.name, wrong }, () => ({ ...spot, readAt }));
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
      broken.report("ambiguous-group", { place: `${label}:${line}` }, () => spot);
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

/** Bytes of documents that are in memory. */
const maxBytes = 2 ** 26;

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
    const bytes = all?.subarray(markLength(all));
    const value = bytes && Value.of(bytes, { document: name });
    if (bytes !== undefined) existing.add(name);
    size += bytes?.length ?? 0;
    for (const [oldest, document] of inMemory) {
      if (size <= maxBytes) break;
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
      if (remote !== undefined) return from(remote.name, () => readWhole(remote));
      return file === "-" || isRemote(file) ? undefined : from(name, () => readDocument(name));
    },
  };
};

/** Reads all of a stored source; undefined if it is too large. */
const readWhole = ({ bytes }: Source): Buffer | undefined => {
  if (bytes.size > longestDocument) return undefined;
  const whole = Buffer.allocUnsafe(bytes.size);
  return whole.subarray(0, bytes.readNow(whole, 0));
};

const readDocument = (path: string): Buffer | undefined => {
  try {
    return readFileSync(path);
  } catch (thrown) {
    const code = codeOf(thrown);
    if (["ENOENT", "ENOTDIR", "EISDIR"].includes(code)) return undefined;
    throw inputUnreadable(basename(path), code, { cause: thrown });
  }
};
