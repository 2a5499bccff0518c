/** Finds the formats of inputs by their first records. */
import { dirname, join } from "node:path";
import { PackedTooLarge } from "../check/rules/packed.ts";
import type { RuleData } from "../check/rules/rules.ts";
import {
  type Container,
  cutsOf,
  holdsOwnKey,
  longestDocument,
  openRecords,
  ownKeyBytes,
  readHead,
  type Source,
  sniff,
  sniffedBytes,
} from "../input/index.ts";
import type { Format, SourceRecord } from "./format.ts";
import { loadFormat, loadFormats } from "./formats.ts";
import { Value } from "./value.ts";

/** An input, and the formats that it can have. */
export interface RecognizedInput {
  readonly source: Source;
  readonly formats: readonly Format[];
  /** What it is if it has no format. */
  readonly wrong: RuleData<"not-json"> | undefined;
  /** What it is if nothing of it can be read, so that its format is unknown. */
  readonly damaged: "text" | Container | undefined;
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
export const recognize = async (
  sources: readonly Source[],
  looking: RecognizeOptions,
): Promise<readonly RecognizedInput[]> => {
  const given = looking.from === ownFormat.name ? ownFormat : await loadFormat(looking.from);
  const looked: RecognizedInput[] = [];
  for (const source of sources) looked.push(await look(source, given, looking));
  return withNamesakes(withoutParts(looked), given);
};

const look = async (source: Source, given: Format | undefined, looking: RecognizeOptions): Promise<RecognizedInput> => {
  const sniffed = sniff(await readHead(source.bytes, sniffedBytes));
  const { container, data } = sniffed?.rule === "not-json" ? sniffed : {};
  if (given !== undefined && looking.isNamed(source.name)) {
    const isReadable = container === undefined || given.records[container] !== undefined;
    const formats = isReadable ? [given] : [];
    return { source, formats, wrong: isReadable ? undefined : data, damaged: undefined };
  }
  const { formats, unreadable } =
    container === undefined ? await formatsOf(source, looking) : await formatsIn(source, container, looking);
  const own = given === undefined ? formats : formats.filter(({ name }) => name === given.name);
  const kind = `${data?.kind} that can't be read (${unreadable})`;
  const wrong =
    data === undefined || unreadable === undefined ? data : { kind, instead: "write it again, or copy it again" };
  const damaged = formats.length === 0 && unreadable !== undefined ? (container ?? "text") : undefined;
  return { source, formats: own, wrong: own.length === 0 ? wrong : undefined, damaged };
};

/** Files without a format have that of the others if they have such a name, or if nothing of them can be read. */
const withNamesakes = (looked: readonly RecognizedInput[], given: Format | undefined): readonly RecognizedInput[] => {
  const [one, ...more] = new Set(given === undefined ? looked.flatMap(({ formats }) => formats) : [given]);
  if (one === undefined || more.length > 0) return looked;
  const hasIt = ({ source, wrong, damaged }: RecognizedInput): boolean =>
    damaged === undefined
      ? wrong === undefined && one.files?.test(source.name) === true
      : one.records[damaged] !== undefined;
  return looked.map((own) =>
    own.formats.length === 0 && hasIt(own) ? { ...own, formats: [one], wrong: undefined } : own,
  );
};

/** Files that another is made of are not inputs. The other may have no more than the name of its format. */
const withoutParts = (looked: readonly RecognizedInput[]): readonly RecognizedInput[] => {
  const found = [...new Set(looked.flatMap(({ formats }) => formats))];
  const parts = new Set(
    looked.flatMap(({ source, formats }) => {
      const format = formats[0] ?? found.find(({ files }) => files?.test(source.name) === true);
      return (format?.partsIn ?? []).map((folder) => join(dirname(source.name), folder));
    }),
  );
  const isPart = (path: string): boolean => {
    const folder = dirname(path);
    return parts.has(folder) || (folder !== path && isPart(folder));
  };
  return parts.size === 0 ? looked : looked.filter(({ source }) => !isPart(join(source.name)));
};

/** The formats that a file can have; why they are unknown if nothing of it can be read. */
interface Possible {
  readonly formats: readonly Format[];
  readonly unreadable: string | undefined;
}

/**
 * The formats of a file that is not text: those that recognize its first record that can be read. If none can be
 * read, the only format that such a file can have.
 */
const formatsIn = async (
  source: Source,
  container: Container,
  { maxUnpackedBytes }: RecognizeOptions,
): Promise<Possible> => {
  const found: Format[] = [];
  const closed: Format[] = [];
  let unreadable: string | undefined;
  const firsts = new Map<string, SourceRecord | string | undefined>();
  for (const format of await loadFormats()) {
    const kind = format.records[container];
    if (kind === undefined) continue;
    // Formats with the same kind of record look at the same first record.
    const key = String(kind);
    if (!firsts.has(key)) firsts.set(key, await firstInside(source, format, maxUnpackedBytes));
    const first = firsts.get(key);
    if (typeof first === "string") {
      closed.push(format);
      unreadable = first;
    } else if (first !== undefined && format.recognizes(first)) found.push(format);
  }
  return { formats: found.length === 0 && closed.length === 1 ? closed : found, unreadable };
};

/** The first record that can be read; why none can, if there are some. */
const firstInside = async (
  source: Source,
  { records }: Format,
  maxUnpackedBytes: number,
): Promise<SourceRecord | string | undefined> => {
  let wrong: string | undefined;
  try {
    // All columns of a row tell what it is.
    const own = await openRecords(unclosed(source), { records }, maxUnpackedBytes);
    for await (const cut of own.first === undefined ? cutsOf(own) : [await own.first()]) {
      if (cut === undefined) break;
      const value = cut.wrong === undefined ? Value.of(cut.bytes) : undefined;
      if (value !== undefined) return { value, file: source.name, position: 0, member: cut.member };
      wrong = cut.wrong ?? "it holds no JSON";
    }
  } catch (thrown) {
    if (!(thrown instanceof PackedTooLarge)) throw thrown;
    return `it unpacks to more than ${thrown.limit} bytes`;
  }
  return wrong;
};

/** The formats that a text can have. */
const formatsOf = async (source: Source, { maxUnpackedBytes }: RecognizeOptions): Promise<Possible> => {
  const { name, bytes } = source;
  if (holdsOwnKey(await readHead(bytes, ownKeyBytes))) return { formats: [ownFormat], unreadable: undefined };
  const formats = await loadFormats();
  let unreadable: string | undefined = "it holds no JSON";
  for await (const { value, kinds } of firstRecords(source, maxUnpackedBytes)) {
    unreadable = undefined;
    const record = { value, file: name, position: 0 };
    const found = formats.filter((format) => {
      const { text } = format.records;
      return text !== undefined && kinds.includes(text) && format.recognizes(record);
    });
    if (found.length > 0) return { formats: found, unreadable };
  }
  if (bytes.size <= longestDocument) return { formats: [], unreadable };
  // Of a document that is too long to be read, only its name tells the format.
  const named = formats.filter(({ records, files }) => records.text === "document" && files?.test(name) === true);
  return { formats: named.length === 1 ? named : [], unreadable };
};

/** The number of lines at the beginning of a file of which one should be a record. */
const maxLines = 20;

/** A value that may be the first record of a file. */
interface FirstRecord {
  readonly kinds: readonly ("lines" | "document")[];
  readonly value: Value;
}

/** Lines that are objects, and all of a file. */
async function* firstRecords(source: Source, maxUnpackedBytes: number): AsyncGenerator<FirstRecord, void> {
  const { bytes } = source;
  const lines = await openRecords(unclosed(source), { records: { text: "lines" } }, maxUnpackedBytes);
  const head = await readHead(bytes, sniffedBytes);
  const isList = /^[\s\ufeff]*\[/.test(head.toString("utf8"));
  let seen = 0;
  let isLines = false;
  for await (const cut of cutsOf(lines)) {
    const value = Value.ofPython(Buffer.from(cut.bytes));
    const isWhole = seen === 0 && cut.start + cut.bytes.length >= bytes.size - 2;
    if (value?.isObject === true || (value !== undefined && isWhole)) {
      yield { kinds: isWhole ? ["lines", "document"] : ["lines"], value };
      // An indented document can have an object on a line, and a list is a document too.
      isLines ||= seen === 0 && !isList;
    }
    if (isWhole || ++seen === maxLines) break;
  }
  if (isLines || bytes.size > longestDocument) return;
  const whole = await openRecords(unclosed(source), { records: { text: "document" } }, maxUnpackedBytes);
  for await (const cut of cutsOf(whole)) {
    const value = Value.ofPython(cut.bytes);
    if (value !== undefined) yield { kinds: ["document"], value };
  }
}

const unclosed = (source: Source): Source => ({ ...source, bytes: { ...source.bytes, close: async () => undefined } });
