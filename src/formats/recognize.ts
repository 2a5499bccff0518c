/** Finds the formats of inputs by their first records. */
import { dirname, join } from "node:path";
import { DecompressedSizeError } from "../check/rules/compression.ts";
import type { RuleData } from "../check/rules/rules.ts";
import {
  type Container,
  hasOwnKey,
  maxDocumentBytes,
  openRecords,
  ownKeyBytes,
  type RawRecord,
  type RecordKinds,
  readHead,
  type Source,
  sniff,
  sniffedBytes,
} from "../input/index.ts";
import type { Format } from "./format.ts";
import { loadFormat, loadFormats } from "./formats.ts";
import { Value } from "./value.ts";

/** The formats that a file can have, and why nothing of it can be read, so that its format is unknown. */
interface FormatMatches {
  readonly formats: readonly Format[];
  readonly unreadable?: string | undefined;
}

export interface RecognizedInput {
  readonly source: Source;
  readonly formats: readonly Format[];
  /** What it is if it has no format. */
  readonly rejection?: RuleData<"not-json"> | undefined;
  /** What it is if nothing of it can be read, so that its format is unknown. */
  readonly damagedKind?: "text" | Container | undefined;
}

interface RecognizeOptions {
  /** The name of a format, or `auto`. */
  readonly from: string;
  /** True if a file was given itself: it has the format that was given too. */
  readonly isNamed: (name: string) => boolean;
  readonly maxUnpackedBytes: number;
}

/** Stands for rollcall's format. */
export const ownFormat: Format = {
  name: "rollcall",
  title: "",
  keys: { group: "", reward: "", sampled: "" },
  records: { text: "lines" },
  recognizes: () => false,
  open: () => ({ convert: () => [] }),
};

/** Looks at inputs one after the other, because a document is read whole for it. */
export const recognizeInputs = async (
  sources: readonly Source[],
  options: RecognizeOptions,
): Promise<readonly RecognizedInput[]> => {
  const given = options.from === ownFormat.name ? ownFormat : await loadFormat(options.from);
  const looked: RecognizedInput[] = [];
  for (const source of sources) looked.push(await recognizeInput(source, given, options));
  return addFormatsByName(dropParts(looked), given);
};

const recognizeInput = async (
  source: Source,
  given: Format | undefined,
  options: RecognizeOptions,
): Promise<RecognizedInput> => {
  const { isNamed, maxUnpackedBytes } = options;
  const sniffed = sniff(await readHead(source.bytes, sniffedBytes));
  const { container, data } = sniffed?.rule === "not-json" ? sniffed : {};
  if (given !== undefined && isNamed(source.name)) {
    const isReadable = container === undefined || given.records[container] !== undefined;
    return { source, formats: isReadable ? [given] : [], rejection: isReadable ? undefined : data };
  }
  const find =
    container === undefined
      ? recognizeText(source, maxUnpackedBytes)
      : recognizeContainer(source, container, maxUnpackedBytes);
  const { formats, unreadable } = await find;
  const own = given === undefined ? formats : formats.filter(({ name }) => name === given.name);
  const broken = {
    kind: `${data?.kind} that can't be read (${unreadable})`,
    instead: "write it again, or copy it again",
  };
  const wrong = data !== undefined && unreadable !== undefined ? broken : data;
  const damaged = formats.length === 0 && unreadable !== undefined ? (container ?? "text") : undefined;
  return { source, formats: own, rejection: own.length === 0 ? wrong : undefined, damagedKind: damaged };
};

/** Files without a format have that of the others if they have such a name, or if nothing of them can be read. */
const addFormatsByName = (
  looked: readonly RecognizedInput[],
  given: Format | undefined,
): readonly RecognizedInput[] => {
  const [one, ...more] = new Set(given === undefined ? looked.flatMap(({ formats }) => formats) : [given]);
  if (one === undefined || more.length > 0) return looked;
  const hasIt = ({ source, rejection: wrong, damagedKind: damaged }: RecognizedInput): boolean => {
    if (damaged !== undefined) return one.records[damaged] !== undefined;
    return wrong === undefined && one.files?.test(source.name) === true;
  };
  return looked.map((own) =>
    own.formats.length === 0 && hasIt(own) ? { ...own, formats: [one], rejection: undefined } : own,
  );
};

/** Files that another is made of are not inputs. The other may have no more than the name of its format. */
const dropParts = (looked: readonly RecognizedInput[]): readonly RecognizedInput[] => {
  const found = [...new Set(looked.flatMap(({ formats }) => formats))];
  const parts = new Set(
    looked.flatMap(({ source, formats }) => {
      const format = formats[0] ?? found.find(({ files }) => files?.test(source.name) === true);
      return (format?.partFolders ?? []).map((folder) => join(dirname(source.name), folder));
    }),
  );
  const isPart = (path: string): boolean => {
    const folder = dirname(path);
    return parts.has(folder) || (folder !== path && isPart(folder));
  };
  return parts.size === 0 ? looked : looked.filter(({ source }) => !isPart(join(source.name)));
};

/**
 * The formats of a file that is not text: those that recognize its first record that can be read. If none can be
 * read, the only format that such a file can have.
 */
const recognizeContainer = async (
  source: Source,
  container: Container,
  maxUnpackedBytes: number,
): Promise<FormatMatches> => {
  const formats = (await loadFormats()).filter(({ records }) => records[container] !== undefined);
  let unreadable: string | undefined;
  try {
    // All formats have the same records in such a file. All columns of a row tell what it is.
    for await (const cut of readFirstCuts(source, formats[0]?.records ?? {}, maxUnpackedBytes)) {
      const value = cut.wrong === undefined ? Value.parse(cut.bytes) : undefined;
      const record = value && { value, file: source.name, position: 0, member: cut.member };
      if (record !== undefined) return { formats: formats.filter((format) => format.recognizes(record)) };
      unreadable = cut.wrong ?? "it holds no JSON";
    }
  } catch (thrown) {
    if (!(thrown instanceof DecompressedSizeError)) throw thrown;
    unreadable = `it unpacks to more than ${thrown.limit} bytes`;
  }
  return { formats: unreadable !== undefined && formats.length === 1 ? formats : [], unreadable };
};

const recognizeText = async (source: Source, maxUnpackedBytes: number): Promise<FormatMatches> => {
  const { name, bytes } = source;
  if (hasOwnKey(await readHead(bytes, ownKeyBytes))) return { formats: [ownFormat] };
  const formats = await loadFormats();
  let unreadable: string | undefined = "it holds no JSON";
  for await (const { value, kinds } of readFirstRecords(source, maxUnpackedBytes)) {
    unreadable = undefined;
    const record = { value, file: name, position: 0 };
    const found = formats.filter((format) => {
      const { text } = format.records;
      return text !== undefined && kinds.includes(text) && format.recognizes(record);
    });
    if (found.length > 0) return { formats: found };
  }
  if (bytes.size <= maxDocumentBytes) return { formats: [], unreadable };
  // Of a document that is too long to be read, only its name tells the format.
  const named = formats.filter(({ records, files }) => records.text === "document" && files?.test(name) === true);
  return { formats: named.length === 1 ? named : [], unreadable };
};

/** The number of lines at the beginning of a file of which one should be a record. */
const maxFirstLines = 20;

/** Lines that are objects, and all of a file: values that may be its first record. */
async function* readFirstRecords(
  source: Source,
  maxUnpackedBytes: number,
): AsyncGenerator<{ readonly kinds: readonly ("lines" | "document")[]; readonly value: Value }, void> {
  const { bytes } = source;
  const isList = /^[\s\ufeff]*\[/.test((await readHead(bytes, sniffedBytes)).toString("utf8"));
  let seen = 0;
  let isLines = false;
  for await (const cut of readFirstCuts(source, { text: "lines" }, maxUnpackedBytes)) {
    const value = Value.parsePython(Buffer.from(cut.bytes));
    const isWhole = seen === 0 && cut.start + cut.bytes.length >= bytes.size - 2;
    if (value?.isObject === true || (value !== undefined && isWhole)) {
      yield { kinds: isWhole ? ["lines", "document"] : ["lines"], value };
      // An indented document can have an object on a line, and a list is a document too.
      isLines ||= seen === 0 && !isList;
    }
    if (isWhole || ++seen === maxFirstLines) break;
  }
  if (isLines || bytes.size > maxDocumentBytes) return;
  for await (const cut of readFirstCuts(source, { text: "document" }, maxUnpackedBytes)) {
    const value = Value.parsePython(cut.bytes);
    if (value !== undefined) yield { kinds: ["document"], value };
  }
}

/** The records of a source, which stays open. */
async function* readFirstCuts(
  source: Source,
  records: RecordKinds,
  maxUnpackedBytes: number,
): AsyncGenerator<RawRecord, void> {
  const unclosed = { ...source, bytes: { ...source.bytes, close: async () => undefined } };
  const own = await openRecords(unclosed, { records }, maxUnpackedBytes);
  const first = await own.readFirst?.();
  if (first !== undefined) yield first;
  if (own.readFirst === undefined) for await (const batch of own.batches()) yield* batch;
}
