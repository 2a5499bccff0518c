/** Has inputs converted that are another tool's: what is in the interface's own shape stays as it is. */
import { dirname, join } from "node:path";
import { PackedTooLarge } from "../check/rules/packed.ts";
import { Problems } from "../check/rules/problems.ts";
import type { Host } from "../host.ts";
import { reportWithout } from "../input/folder.ts";
import { openRecords } from "../input/records.ts";
import { isRemote } from "../input/remote-names.ts";
import type { Source } from "../input/source.ts";
import { type Broken, convertFiles } from "./converted.ts";
import { Documents, readBeside, wholeOf } from "./documents.ts";
import type { Asked, Format, FormatRun } from "./format.ts";
import type { ConvertedFile } from "./origin.ts";
import { Receipt } from "./receipt.ts";
import { ownShape, type Recognised, recognise } from "./recognise.ts";

/** How inputs of other tools are read. */
export interface ForeignChoice extends Asked {
  /** The name of a format; `auto` looks at the files. */
  readonly from: string;
  /** Whether what became of every value is counted. */
  readonly receipt: boolean;
}

/** What was converted, for people. */
export interface Conversion {
  readonly format: Format;
  /** Files that were converted. */
  readonly files: number;
  /** What people should know of it, and of how many rollouts or values. */
  readonly notes: ReadonlyMap<string, number>;
  /** What is wrong with records: the groups of these can't be read, and all others can. */
  readonly broken: Problems;
  /** Records whose group nobody knows: each counts as a group. */
  readonly unplaced: number;
  readonly receipt: Receipt | undefined;
}

/** The inputs, converted where they are another tool's. */
export interface Foreign {
  readonly sources: readonly Source[];
  readonly conversion: Conversion | undefined;
  /** Files of folders that hold no rollouts. */
  readonly others: readonly string[];
}

/** Open inputs, and what they are converted with. */
export interface Converting {
  readonly sources: readonly Source[];
  /** The folders of files that were not named themselves. */
  readonly folders: ReadonlyMap<string, string>;
  readonly host: Host;
  readonly problems: Problems;
  /** What a packed input may unpack to. */
  readonly maxUnpackedBytes: number;
}

/**
 * Converts inputs that are another tool's. A file that is no format's, and was not named itself, is left out.
 * @throws Failure `spool-failed`; the signal's reason
 */
export const convertForeign = async (choice: ForeignChoice, converting: Converting): Promise<Foreign> => {
  const { sources, folders, problems, maxUnpackedBytes } = converting;
  const options = { from: choice.from, isNamed: (name: string) => !folders.has(name), maxUnpackedBytes };
  const looked = await recognise(sources, options);
  const left = looked.filter(
    ({ source, formats, damaged }) => folders.has(source.name) && formats.length === 0 && damaged === undefined,
  );
  const wrongOnes = looked.filter((one) => one.wrong !== undefined && !left.includes(one));
  for (const { source, wrong } of wrongOnes) {
    if (wrong !== undefined) problems.report("not-json", wrong, () => ({ file: source.name }));
  }
  const used = looked.filter((one) => !left.includes(one) && !wrongOnes.includes(one));
  const kept = new Set(used.map(({ source }) => source));
  // What stands at an address may be a document beside another, and is read from what was kept of it.
  const far = new Map(sources.flatMap((source) => (isRemote(source.name) ? [[join(source.name), source]] : [])));
  const rest = sources.filter((source) => !kept.has(source) && isRemote(source.name));
  for (const source of sources) if (!kept.has(source) && !isRemote(source.name)) await source.bytes.close();
  const others = left.map(({ source }) => source.name);
  reportWithout(folders, { others, problems });
  const asTheyAre = { sources: [...kept], conversion: undefined, others };
  const isOwn = ({ formats }: Recognised) => formats.length === 0 || formats.includes(ownShape);
  const [format] = used.flatMap(({ formats }) => formats);
  if (format === undefined || used.every(isOwn)) {
    await closeAll(rest);
    return asTheyAre;
  }
  const doubt = doubtIn(
    used.filter(({ damaged }) => damaged === undefined),
    format,
  );
  if (doubt !== undefined) {
    problems.report("format-in-doubt", doubt, () => ({ file: doubt.file }));
    return await unread([...kept, ...rest], others);
  }
  if (format.lossy === true && !choice.lossy) {
    const file = used[0]?.source.name;
    problems.report("format-lossy", { format: format.name }, () => (file === undefined ? {} : { file }));
    return await unread([...kept, ...rest], others);
  }
  const { source, conversion, read } = await converted([...kept], format, { ...converting, choice, far });
  return { sources: source.map(closingToo(rest)), conversion, others: others.filter((other) => !read.has(other)) };
};

const closeAll = async (sources: Iterable<Source>): Promise<void> => {
  for (const { bytes } of sources) await bytes.close();
};

/** A source that others are closed with. */
const closingToo =
  (others: readonly Source[]) =>
  (source: Source): Source => {
    const close = async () => {
      await source.bytes.close();
      await closeAll(others);
    };
    return { ...source, bytes: { ...source.bytes, close } };
  };

/** Nothing of the inputs: what they would be read as is not what they are. */
const unread = async (sources: Iterable<Source>, others: readonly string[]): Promise<Foreign> => {
  await closeAll(sources);
  return { sources: [], conversion: undefined, others };
};

/** The formats that inputs may be of, each with a file, where they are not all of the one. */
const doubtIn = (used: readonly Recognised[], format: Format) => {
  const files = new Map<string, string>();
  for (const { source, formats } of used) {
    for (const { name } of formats.length === 0 ? [ownShape] : formats)
      if (!files.has(name)) files.set(name, source.name);
  }
  if (files.size < 2) return undefined;
  const odd = used.find(({ formats }) => formats[0] !== format || formats.length > 1);
  return { formats: [...files.keys()], files: [...files.values()], file: odd?.source.name ?? "-" };
};

/** Converts files that are of one format; gives the documents beside them that were read too. */
const converted = async (
  sources: readonly Source[],
  format: Format,
  {
    host,
    choice,
    problems,
    maxUnpackedBytes,
    far,
  }: Converting & { readonly choice: ForeignChoice; readonly far: ReadonlyMap<string, Source> },
) => {
  const isLast = ({ name }: Source): number => (format.last?.test(name) === true ? 1 : 0);
  const files: ConvertedFile[] = [];
  const { records, columns } = format;
  const cut = { records, columns: choice.receipt ? undefined : columns };
  for (const source of sources.toSorted((a, b) => isLast(a) - isLast(b))) {
    try {
      files.push({ name: source.name, records: await openRecords(source, cut, maxUnpackedBytes) });
    } catch (thrown) {
      if (!(thrown instanceof PackedTooLarge)) throw thrown;
      problems.report("unpacked-too-large", { limit: thrown.limit }, () => ({ file: source.name }));
      await source.bytes.close();
    }
  }
  const documents = new Documents();
  const { read } = documents;
  if (files.length === 0) return { source: [], conversion: undefined, read };
  const notes = new Map<string, number>();
  const receipt = choice.receipt ? new Receipt() : undefined;
  const taken = new Set<string>();
  const run = runOf(files, { choice, notes, receipt, documents, far, taken });
  const name = `${files.length === 1 ? files[0]?.name : `${files.length} files`} (as groups)`;
  const options = { host, format, converter: format.open(run), name, receipt, notes };
  const { source, broken, inDoubt, unplaced } = await convertFiles(files, options);
  noteUntaken(choice, taken, notes);
  const conversion = { format, files: files.length, notes: new Map(notes), broken: new Problems(), unplaced, receipt };
  for (const one of broken) reportBroken(conversion.broken, { broken: one, format, name });
  for (const { group, place } of inDoubt) {
    conversion.broken.report("group-in-doubt", { place }, () => ({ file: name, line: group + 1, path: [] }));
  }
  return { source: [source], conversion, read };
};

const reportBroken = (
  problems: Problems,
  { broken, format, name }: { readonly broken: Broken; readonly format: Format; readonly name: string },
): void => {
  const data = { format: format.name, wrong: broken.wrong };
  problems.report("record-broken", data, () => ({ ...broken.spot, readAt: `${name}:${broken.group + 1}` }));
};

/** Ids that are named of those that no rollout has. */
const mostNamed = 3;

/** Says which rewards belong to nothing that was read: their file may be another run's. */
const noteUntaken = ({ rewards }: ForeignChoice, taken: ReadonlySet<string>, notes: Map<string, number>): void => {
  const left = [...(rewards?.keys() ?? [])].filter((id) => !taken.has(id));
  if (left.length === 0) return;
  const named = `${left.slice(0, mostNamed).join(", ")}${left.length > mostNamed ? ", …" : ""}`;
  notes.set(`--rewards has ${left.length} that no rollout of the input has the id of: ${named}`, 1);
};

/** What converters are told and asked. Records that are converted again, for the place of a problem, are not counted again. */
const runOf = (
  files: readonly ConvertedFile[],
  {
    choice,
    notes,
    receipt,
    documents,
    far,
    taken,
  }: {
    readonly choice: ForeignChoice;
    readonly notes: Map<string, number>;
    readonly receipt: Receipt | undefined;
    readonly documents: Documents;
    /** Ids whose rewards were taken. */
    readonly taken: Set<string>;
    /** Sources at addresses, by their names as paths. */
    readonly far: ReadonlyMap<string, Source>;
  },
): FormatRun => ({
  asked: choice,
  files: files.map(({ name }) => name),
  beside: ({ file, member }, name) => {
    const records = files.find((one) => one.name === file)?.records;
    if (member !== undefined) return documents.at(`${file}!${name}`, () => records?.beside?.(name));
    const path = join(dirname(file), name);
    const there = far.get(path);
    if (there !== undefined) return documents.at(there.name, () => wholeOf(there));
    return file === "-" || isRemote(file) ? undefined : documents.at(path, () => readBeside(path));
  },
  rewardTaken: (id) => void taken.add(id),
  note: (text, count = 1) => void notes.set(text, (notes.get(text) ?? 0) + count),
  leave: (value, why) => {
    if (value !== undefined) receipt?.leave(value, why);
  },
});
