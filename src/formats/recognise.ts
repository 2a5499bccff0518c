/** Finds out of which format inputs are, by their first records. */
import { dirname, join } from "node:path";
import { PackedTooLarge } from "../check/rules/packed.ts";
import type { RuleData } from "../check/rules/rules.ts";
import { cutsOf, openRecords } from "../input/records.ts";
import { type Container, holdsOwnKey, ownKeyBytes, sniff, sniffedBytes } from "../input/sniff.ts";
import { longestDocument, readRange, type Source } from "../input/source.ts";
import type { Format, SourceRecord } from "./format.ts";
import { loadFormat, loadFormats } from "./formats.ts";
import { Value } from "./value.ts";

/** An input, the formats that it may be of, and what it is where none of them reads that. */
export interface Recognised {
  readonly source: Source;
  readonly formats: readonly Format[];
  readonly wrong: RuleData<"not-json"> | undefined;
  /** What it is, where nothing of it can be read: nobody can say of which format. */
  readonly damaged: "text" | Container | undefined;
}

/** How inputs are looked at. */
interface Looking {
  /** The name of a format, or `auto`. */
  readonly from: string;
  /** Whether a file was named itself: it is of the format that was named too. */
  readonly isNamed: (name: string) => boolean;
  readonly maxUnpackedBytes: number;
}

/** Stands for the interface's own shape. */
export const ownShape: Format = {
  name: "rollcall",
  title: "",
  keys: { group: "", reward: "", sampled: "" },
  records: { text: "lines" },
  recognises: () => false,
  open: () => ({ convert: () => [] }),
};

/** Looks at inputs, one after the other: a document is read whole for it. */
export const recognise = async (sources: readonly Source[], looking: Looking): Promise<readonly Recognised[]> => {
  const asked = looking.from === ownShape.name ? ownShape : await loadFormat(looking.from);
  const looked: Recognised[] = [];
  for (const source of sources) looked.push(await look(source, asked, looking));
  return withNamesakes(withoutParts(looked), asked);
};

const look = async (source: Source, asked: Format | undefined, looking: Looking): Promise<Recognised> => {
  const head = await readRange(source.bytes, { start: 0, length: Math.min(sniffedBytes, source.bytes.size) });
  const sniffed = sniff(head);
  const { container, data } = sniffed?.rule === "not-json" ? sniffed : {};
  if (asked === undefined || !looking.isNamed(source.name)) {
    const { formats, unreadable } =
      container === undefined ? await formatsOf(source, looking) : await formatsIn(source, container, looking);
    const own = asked === undefined ? formats : formats.filter(({ name }) => name === asked.name);
    const wrong = data === undefined || unreadable === undefined ? data : unreadableAs(data, unreadable);
    const damaged = formats.length === 0 && unreadable !== undefined ? (container ?? "text") : undefined;
    return { source, formats: own, wrong: own.length === 0 ? wrong : undefined, damaged };
  }
  const isReadable = container === undefined || asked.records[container] !== undefined;
  const wrong = isReadable ? undefined : data;
  return { source, formats: isReadable ? [asked] : [], wrong, damaged: undefined };
};

/** Files beside those of the one format are of it where they are called so, or nothing of them can be read: what is wrong with them is told. */
const withNamesakes = (looked: readonly Recognised[], asked: Format | undefined): readonly Recognised[] => {
  const found = new Set(asked === undefined ? looked.flatMap(({ formats }) => formats) : [asked]);
  const [one] = found;
  if (found.size !== 1 || one === undefined) return looked;
  const isOfIt = ({ source, wrong, damaged }: Recognised): boolean =>
    damaged === undefined
      ? wrong === undefined && one.files?.test(source.name) === true
      : one.records[damaged] !== undefined;
  return looked.map((own) =>
    own.formats.length === 0 && isOfIt(own) ? { ...own, formats: [one], wrong: undefined } : own,
  );
};

/** Files that another is made of are no inputs by themselves; also of one that can't be recognised, and is called as others are. */
const withoutParts = (looked: readonly Recognised[]): readonly Recognised[] => {
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

const unreadableAs = ({ kind }: RuleData<"not-json">, why: string): RuleData<"not-json"> => ({
  kind: `${kind} that can't be read (${why})`,
  instead: "write it again, or copy it again",
});

/** Formats that a file may be of; why nobody can say, where nothing of it can be read. */
interface Possible {
  readonly formats: readonly Format[];
  readonly unreadable: string | undefined;
}

/**
 * The formats that a file may be of which is no text: those that recognise the first record that can be read, or, where
 * none can, the only one that may hold it; and why none can.
 */
const formatsIn = async (source: Source, container: Container, { maxUnpackedBytes }: Looking): Promise<Possible> => {
  const found: Format[] = [];
  const closed: Format[] = [];
  let unreadable: string | undefined;
  const firsts = new Map<string, SourceRecord | string | undefined>();
  for (const format of await loadFormats()) {
    const inside = format.records[container];
    if (inside === undefined) continue;
    // Formats whose records are the same ones look at the same first one.
    const key = String(inside);
    if (!firsts.has(key)) firsts.set(key, await firstInside(source, format, maxUnpackedBytes));
    const first = firsts.get(key);
    if (typeof first === "string") {
      closed.push(format);
      unreadable = first;
    } else if (first !== undefined && format.recognises(first)) found.push(format);
  }
  return { formats: found.length === 0 && closed.length === 1 ? closed : found, unreadable };
};

/** The first record that can be read; why none can, where there are some. */
const firstInside = async (
  source: Source,
  format: Format,
  maxUnpackedBytes: number,
): Promise<SourceRecord | string | undefined> => {
  let wrong: string | undefined;
  const { records } = format;
  try {
    // All columns of a row say what it is.
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

/** The formats that a text may be of, and why none where it holds no JSON. */
const formatsOf = async (source: Source, { maxUnpackedBytes }: Looking): Promise<Possible> => {
  if (await isOwn(source)) return { formats: [ownShape], unreadable: undefined };
  const formats = await loadFormats();
  let unreadable: string | undefined = "it holds no JSON";
  for await (const record of firstRecords(source, maxUnpackedBytes)) {
    unreadable = undefined;
    const found = formats.filter((format) => {
      const { text } = format.records;
      return (text === record.kind || record.kind === "both") && text !== undefined && format.recognises(record);
    });
    if (found.length > 0) return { formats: found, unreadable };
  }
  return { formats: source.bytes.size > longestDocument ? calledSo(source.name, formats) : [], unreadable };
};

/** The one format whose documents are called so: of one that is too long to be read, nothing else tells. */
const calledSo = (name: string, formats: readonly Format[]): readonly Format[] => {
  const own = formats.filter(({ records, files }) => records.text === "document" && files?.test(name) === true);
  return own.length === 1 ? own : [];
};

const isOwn = async ({ bytes }: Source): Promise<boolean> =>
  holdsOwnKey(await readRange(bytes, { start: 0, length: Math.min(ownKeyBytes, bytes.size) }));

/** Lines at the beginning of a file of which one should be a record. */
const linesLookedAt = 20;

interface FirstRecord {
  readonly kind: "lines" | "document" | "both";
  readonly value: Value;
  readonly file: string;
  readonly position: 0;
}

/** What may be the first record of a file: lines that are objects, or all of it. */
async function* firstRecords(source: Source, maxUnpackedBytes: number): AsyncGenerator<FirstRecord, void> {
  const { name, bytes } = source;
  const lines = await openRecords(unclosed(source), { records: { text: "lines" } }, maxUnpackedBytes);
  const head = await readRange(bytes, { start: 0, length: Math.min(sniffedBytes, bytes.size) });
  const isList = /^[\s\ufeff]*\[/.test(head.toString("utf8"));
  let seen = 0;
  let isLines = false;
  for await (const cut of cutsOf(lines)) {
    const value = Value.ofPython(Buffer.from(cut.bytes));
    const isWhole = seen === 0 && cut.start + cut.bytes.length >= bytes.size - 2;
    if (value?.isObject === true || (value !== undefined && isWhole)) {
      yield { kind: isWhole ? "both" : "lines", value, file: name, position: 0 };
      // A document that is indented may have an object on a line of its own, and a list is one too.
      isLines ||= seen === 0 && !isList;
    }
    if (isWhole || ++seen === linesLookedAt) break;
  }
  if (isLines) return;
  if (bytes.size > longestDocument) return;
  const whole = await openRecords(unclosed(source), { records: { text: "document" } }, maxUnpackedBytes);
  for await (const cut of cutsOf(whole)) {
    const value = Value.ofPython(cut.bytes);
    if (value !== undefined) yield { kind: "document", value, file: name, position: 0 };
  }
}

const unclosed = (source: Source): Source => ({ ...source, bytes: { ...source.bytes, close: async () => undefined } });
