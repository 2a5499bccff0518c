/** Finds the formats of inputs by their first records. */
import { dirname, join } from "node:path";
import type { Path } from "../check/rules/positions.ts";
import type { RuleData } from "../check/rules/rules.ts";
import { UnusableInput } from "../input/failures.ts";
import {
  type Container,
  findContainer,
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

interface FormatMatches {
  readonly formats: readonly Format[];
  /** The reason if nothing can be read, so that the format is unknown. */
  readonly unreadable?: string | undefined;
}

interface RecognizedInput {
  readonly source: Source;
  readonly formats: readonly Format[];
  /** The facts for an error if it has no format. */
  readonly rejection?: RuleData<"not-json"> | undefined;
  /** Its kind if nothing can be read, so that its format is unknown. */
  readonly damagedKind?: "text" | Container | undefined;
}

interface RecognizeOptions {
  /** The name of a format, or `auto`. */
  readonly from: string;
  readonly messagesFrom?: Path | undefined;
  /** True if the user named a file, so that it has the format in `from`. */
  readonly isNamed: (name: string) => boolean;
  readonly maxUnpackedBytes: number;
}

/** rollcall's format. */
export const ownFormat: Format = {
  name: "rollcall",
  title: "",
  keys: { group: "", reward: "", sampled: "" },
  records: { text: "lines" },
  recognizes: () => false,
  open: () => ({ convert: () => [] }),
};

/** Recognizes inputs one by one, because a document is in memory until it is recognized. */
export const recognizeInputs = async (
  sources: readonly Source[],
  options: RecognizeOptions,
): Promise<readonly RecognizedInput[]> => {
  const given = options.from === ownFormat.name ? ownFormat : await loadFormat(options.from, options.messagesFrom);
  const inputs: RecognizedInput[] = [];
  for (const source of sources) inputs.push(await recognizeInput(source, given, options));
  return addFormatsByName(dropParts(inputs), given);
};

const recognizeInput = async (
  source: Source,
  given: Format | undefined,
  { isNamed, maxUnpackedBytes }: RecognizeOptions,
): Promise<RecognizedInput> => {
  const head = await readHead(source.bytes, sniffedBytes);
  const [container, sniffed] = [findContainer(head), sniff(head, source.name)];
  const data = sniffed?.rule === "not-json" ? sniffed.data : undefined;
  if (given !== undefined && isNamed(source.name)) {
    const isReadable = container === undefined || given.records[container] !== undefined;
    return { source, formats: isReadable ? [given] : [], rejection: isReadable ? undefined : data };
  }
  const candidates = given === undefined ? await loadFormats() : [given];
  const { formats, unreadable } = await (container === undefined
    ? recognizeText(source, candidates, maxUnpackedBytes)
    : recognizeContainer(source, { container, candidates }, maxUnpackedBytes));
  // A file in rollcall's format does not have another one.
  const own = given === undefined ? formats : formats.filter((one) => one === given);
  const kind = `${data?.kind} that cannot be read (${unreadable})`;
  const broken = data && unreadable !== undefined ? { kind, instead: "write or copy the file again" } : data;
  const damagedKind = formats.length === 0 && unreadable !== undefined ? (container ?? "text") : undefined;
  return { source, formats: own, rejection: own.length === 0 ? broken : undefined, damagedKind };
};

const hasName = ({ filePattern }: Format, { source }: RecognizedInput): boolean =>
  filePattern?.test(source.name) === true;

/**
 * Adds a format to unreadable files, and to files with the names of a format. It must be the only format of the other files
 * that fits.
 */
const addFormatsByName = (
  inputs: readonly RecognizedInput[],
  given: Format | undefined,
): readonly RecognizedInput[] => {
  const found = new Set(given === undefined ? inputs.flatMap(({ formats }) => formats) : [given]);
  return inputs.map((input) => {
    const { damagedKind: kind, rejection } = input;
    if (input.formats.length > 0 || (kind === undefined && rejection !== undefined)) return input;
    const formats = [...found].filter((one) => (kind === undefined ? hasName(one, input) : one.records[kind]));
    return formats.length === 1 ? { ...input, formats, rejection: undefined } : input;
  });
};

const dropParts = (inputs: readonly RecognizedInput[]): readonly RecognizedInput[] => {
  const found = [...new Set(inputs.flatMap(({ formats }) => formats))];
  const parts = new Set(
    inputs.flatMap((input) => {
      const format = input.formats[0] ?? found.find((one) => hasName(one, input));
      return (format?.partFolders ?? []).map((folder) => join(dirname(input.source.name), folder));
    }),
  );
  const isPart = (path: string): boolean => {
    const folder = dirname(path);
    return parts.has(folder) || (folder !== path && isPart(folder));
  };
  return parts.size === 0 ? inputs : inputs.filter(({ source }) => !isPart(join(source.name)));
};

/**
 * Returns the formats that recognize the first readable record of a file that is not text. Without one, returns the
 * only format that such a file can have.
 */
const recognizeContainer = async (
  source: Source,
  { container, candidates }: { readonly container: Container; readonly candidates: readonly Format[] },
  maxUnpackedBytes: number,
): Promise<FormatMatches> => {
  const formats = candidates.filter(({ records }) => records[container] !== undefined);
  let unreadable: string | undefined;
  try {
    // All formats have the same records in such a file.
    for await (const cut of readFirstCuts(source, formats[0]?.records ?? {}, maxUnpackedBytes)) {
      const value = cut.wrong === undefined ? Value.parse(cut.bytes) : undefined;
      const record = value && { value, file: source.name, position: 0, member: cut.member };
      if (record !== undefined) return { formats: formats.filter((format) => format.recognizes(record)) };
      unreadable = cut.wrong ?? "it contains no JSON";
    }
  } catch (thrown) {
    if (!(thrown instanceof UnusableInput)) throw thrown;
    unreadable = thrown.message;
  }
  return { formats: unreadable !== undefined && formats.length === 1 ? formats : [], unreadable };
};

const recognizeText = async (
  source: Source,
  formats: readonly Format[],
  maxUnpackedBytes: number,
): Promise<FormatMatches> => {
  const { name, bytes } = source;
  if (hasOwnKey(await readHead(bytes, ownKeyBytes))) return { formats: [ownFormat] };
  let unreadable: string | undefined = "it contains no JSON";
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
  // For a document that is too large to be read, only the name counts.
  const named = formats.filter((one) => one.records.text === "document" && one.filePattern?.test(name) === true);
  return { formats: named.length === 1 ? named : [], unreadable };
};

const maxFirstLines = 20;

/** Returns values that may be the first record: lines that are objects, and the whole file. */
async function* readFirstRecords(
  source: Source,
  maxUnpackedBytes: number,
): AsyncGenerator<{ readonly kinds: readonly ("lines" | "document")[]; readonly value: Value }, void> {
  const { bytes } = source;
  const isList = /^[\s\ufeff]*\[/.test((await readHead(bytes, sniffedBytes)).toString("utf8"));
  let count = 0;
  let isLines = false;
  for await (const cut of readFirstCuts(source, { text: "lines" }, maxUnpackedBytes)) {
    const value = Value.parsePython(Buffer.from(cut.bytes));
    const isWhole = cut.isDocument === true || (count === 0 && cut.start + cut.bytes.length >= bytes.size - 2);
    if (value?.isObject === true || (value !== undefined && isWhole)) {
      yield { kinds: isWhole ? ["lines", "document"] : ["lines"], value };
      // An indented document can have an object on a line, and a list is a document too.
      isLines ||= count === 0 && !isList;
    }
    if (isWhole || ++count === maxFirstLines) break;
  }
  if (isLines || bytes.size > maxDocumentBytes) return;
  for await (const cut of readFirstCuts(source, { text: "document" }, maxUnpackedBytes)) {
    const value = Value.parsePython(cut.bytes);
    if (value !== undefined) yield { kinds: ["document"], value };
  }
}

/** Returns the records of a source, which stays open. */
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
