/** Converts inputs of other tools. Inputs in rollcall's format stay as they are. */
import { readFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { PackedTooLarge } from "../check/rules/packed.ts";
import { Problems } from "../check/rules/problems.ts";
import { Failure } from "../failure.ts";
import { codeOf } from "../files.ts";
import {
  type Converted,
  type Convertible,
  isRemote,
  longestDocument,
  openRecords,
  reportWithout,
  type Source,
} from "../input/index.ts";
import { markLength } from "../json/walk.ts";
import { convertFiles } from "./converted.ts";
import type { Format, FormatOptions, FormatRun } from "./format.ts";
import type { ConvertedFile } from "./origin.ts";
import { Receipt } from "./receipt.ts";
import { ownFormat, type RecognizedInput, recognize } from "./recognize.ts";
import { Value } from "./value.ts";

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
  /** The number of files that were converted. */
  readonly files: number;
  /** What people should know, and of how many rollouts or values. */
  readonly notes: ReadonlyMap<string, number>;
  /** What is wrong with records. Only their groups cannot be read. */
  readonly broken: Problems;
  /** The number of records whose group is unknown. Each counts as a group. */
  readonly unplaced: number;
  readonly receipt: Receipt | undefined;
}

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
  const isOwn = used.every(({ formats }) => formats.length === 0 || formats.includes(ownFormat));
  if (format === undefined || isOwn || isRefused(used, format, { choice, problems })) {
    const isKept = format === undefined || isOwn;
    await closeAll(isKept ? remotes : [...usedSources, ...remotes]);
    return { sources: isKept ? usedSources : [], others };
  }
  const documents = documentsNextTo(sources);
  const made = await convertSources(usedSources, format, { ...inputs, choice, documents });
  const closing = made.sources.map((source) => {
    const close = async (): Promise<void> => await closeAll([source, ...remotes]);
    return { ...source, bytes: { ...source.bytes, close } };
  });
  return { ...made, sources: closing, others: others.filter((other) => !documents.read.has(other)) };
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
    problems.report("format-in-doubt", { formats: [...files.keys()], files: [...files.values()] }, () => ({ file }));
    return true;
  }
  if (format.lossy !== true || choice.lossy) return false;
  const file = used[0]?.source.name;
  problems.report("format-lossy", { format: format.name }, () => (file === undefined ? {} : { file }));
  return true;
};

/** Converts files of one format. */
const convertSources = async (
  sources: readonly Source[],
  format: Format,
  {
    host,
    choice,
    problems,
    maxUnpackedBytes,
    documents,
  }: Convertible & { readonly choice: ForeignChoice; readonly documents: Documents },
): Promise<Omit<Converted<Conversion>, "others">> => {
  const isLast = ({ name }: Source): number => (format.last?.test(name) === true ? 1 : 0);
  const files: ConvertedFile[] = [];
  const kinds = { records: format.records, columns: choice.receipt ? undefined : format.columns };
  for (const source of sources.toSorted((a, b) => isLast(a) - isLast(b))) {
    try {
      files.push({ name: source.name, records: await openRecords(source, kinds, maxUnpackedBytes) });
    } catch (thrown) {
      if (!(thrown instanceof PackedTooLarge)) throw thrown;
      problems.report("unpacked-too-large", { limit: thrown.limit }, () => ({ file: source.name }));
      await source.bytes.close();
    }
  }
  if (files.length === 0) return { sources: [], conversion: undefined };
  const notes = new Map<string, number>();
  const receipt = choice.receipt ? new Receipt() : undefined;
  const taken = new Set<string>();
  const run: FormatRun = {
    options: choice,
    files: files.map(({ name }) => name),
    beside: ({ file, member }, name) => {
      if (member === undefined) return documents.at(file, name);
      const records = files.find((one) => one.name === file)?.records;
      return documents.from(`${file}!${name}`, () => records?.beside?.(name));
    },
    rewardTaken: (id) => void taken.add(id),
    note: (text, count = 1) => void notes.set(text, (notes.get(text) ?? 0) + count),
    leave: (value, why) => {
      if (value !== undefined) receipt?.leave(value, why);
    },
  };
  const name = `${files.length === 1 ? files[0]?.name : `${files.length} files`} (as groups)`;
  const broken = new Problems();
  const converter = format.open(run);
  const made = await convertFiles(files, { host, format, converter, name, receipt, notes, problems: broken });
  const untaken = untakenRewards(choice, taken);
  if (untaken !== undefined) notes.set(untaken, 1);
  // Records that are converted again, for the position of a problem, do not count twice.
  const conversion = { format, files: files.length, notes: new Map(notes), broken, unplaced: made.unplaced, receipt };
  return { sources: [made.source], conversion };
};

/** The number of ids without a rollout that are named. */
const maxNamed = 3;

/** Names the rewards that belong to nothing that was read: their file may be that of another run. */
const untakenRewards = ({ rewards }: ForeignChoice, taken: ReadonlySet<string>): string | undefined => {
  const left = [...(rewards?.keys() ?? [])].filter((id) => !taken.has(id));
  const named = `${left.slice(0, maxNamed).join(", ")}${left.length > maxNamed ? ", …" : ""}`;
  return left.length === 0
    ? undefined
    : `--rewards has ${left.length} that no rollout of the input has the id of: ${named}`;
};

/** Bytes of documents that are in memory, for the next record that asks for them. */
const maxDocumentBytes = 2 ** 26;

/** Documents next to inputs, the last ones in memory. */
interface Documents {
  /** The names of all that exist. */
  readonly read: ReadonlySet<string>;
  /** The document at a path from a file; undefined if there is none. */
  at(file: string, path: string): Value | undefined;
  /** The document of a name, which is read if it is not in memory. */
  from(name: string, read: () => Buffer | undefined): Value | undefined;
}

const documentsNextTo = (sources: readonly Source[]): Documents => {
  const remotes = new Map(sources.flatMap((source) => (isRemote(source.name) ? [[join(source.name), source]] : [])));
  const existing = new Set<string>();
  const inMemory = new Map<string, Value | undefined>();
  let size = 0;
  const from: Documents["from"] = (name, read) => {
    if (inMemory.has(name)) return inMemory.get(name);
    const bytes = read();
    const own = bytes?.subarray(markLength(bytes));
    const value = own && Value.of(own, { document: name });
    if (own !== undefined) existing.add(name);
    size += own?.length ?? 0;
    for (const [oldest, document] of inMemory) {
      if (size <= maxDocumentBytes) break;
      inMemory.delete(oldest);
      size -= document?.bytes.length ?? 0;
    }
    inMemory.set(name, value);
    return value;
  };
  const at: Documents["at"] = (file, path) => {
    const name = join(dirname(file), path);
    const remote = remotes.get(name);
    if (remote !== undefined) return from(remote.name, () => readWhole(remote));
    return file === "-" || isRemote(file) ? undefined : from(name, () => readDocument(name));
  };
  return { read: existing, from, at };
};

/** Reads all of a stored source; undefined if it is too large. */
const readWhole = ({ bytes }: Source): Buffer | undefined => {
  if (bytes.size > longestDocument) return undefined;
  const whole = Buffer.allocUnsafe(bytes.size);
  return whole.subarray(0, bytes.readNow(whole, 0));
};

/** Reads a file; undefined if there is none. */
const readDocument = (path: string): Buffer | undefined => {
  try {
    return readFileSync(path);
  } catch (thrown) {
    const code = codeOf(thrown);
    if (["ENOENT", "ENOTDIR", "EISDIR"].includes(code)) return undefined;
    throw new Failure("input-unreadable", { file: basename(path), code }, { cause: thrown });
  }
};
