/** Opens files and the documents next to them, and parses, converts and locates their records. */
import { basename } from "node:path";
import { bomLength } from "../../json/json-bytes.ts";
import { visitValues } from "../../json/output-json.ts";
import { findFault, requireFault, type SyntaxFault } from "../../json/reader.ts";
import { ConversionError, Value } from "../../json/value.ts";
import { getErrorCode, readRegularFile } from "../../system/files.ts";
import { extractText } from "../input/column-values.ts";
import { inputUnreadable, UnusableInput } from "../input/failures.ts";
import { countUnitsBefore } from "../input/frames.ts";
import { openRecords } from "../input/records.ts";
import type { RawRecord, Records, Source } from "../input/source.ts";
import { type Path, PositionCounter } from "../rules/positions.ts";
import type { Problems } from "../rules/problems.ts";
import type { Converter, Format, FormatOptions, Rollout, SourceRecord } from "./format.ts";

export interface ConvertedFile {
  readonly name: string;
  readonly records: Records;
  readonly position: number;
  /** Files with the same number share groups. */
  fileSet: number;
  /** True if no two records of the file share a group. */
  readonly areRecordsApart: boolean;
}

export type RolloutPosition = Readonly<{
  file: ConvertedFile;
  record: number;
  /** The index of the rollout in the record, or -1 if the rollout could not be converted. */
  position: number;
}>;

export const openFiles = async (
  sources: readonly Source[],
  format: Format,
  { problems, maxUnpackedBytes, host }: FormatOptions & { problems: Problems },
) => {
  const files: ConvertedFile[] = [];
  const scopes = new Map<string, number>();
  for (const source of sources) {
    try {
      const records = await openRecords(source, format.records, { maxUnpackedBytes, signal: host.signal });
      const position = files.length;
      const scope = format.groupScope?.(source.name) ?? source.name.replace(shardNumber, "");
      const fileSet = scopes.get(scope) ?? position;
      scopes.set(scope, fileSet);
      const areRecordsApart = records.isList === true && format.groupScope === undefined;
      files.push({ name: source.name, records, position, fileSet, areRecordsApart });
    } catch (thrown) {
      if (!(thrown instanceof UnusableInput)) throw thrown;
      thrown.report(problems, source.name);
    }
  }
  return files;
};

/** In the names of shards that `datasets` writes, such as `train-00000-of-00002.parquet`. */
const shardNumber = /-\d{5}(?=-of-\d{5}\.[^/\\]+$)/;

/**
 * Returns undefined for invalid JSON other than NaN and Infinity.
 * The long text of a row stays outside its JSON.
 */
export const parseRecord = ({ hasNonFinite, records }: Format, raw: RawRecord, at: RolloutPosition) => {
  if (raw.fault !== undefined) return undefined;
  const { longText } = records;
  const { bytes, texts } = raw.columns && longText ? extractText(raw.columns, longText) : { bytes: raw.bytes };
  const strict = Value.parse(bytes, undefined, texts);
  const value = strict ?? Value.parsePython(bytes);
  const nonFinite = strict ? undefined : { bytes, isAllowed: hasNonFinite === true };
  return value && toRecord(value, raw, at, nonFinite);
};

type NonFinite = SourceRecord["nonFinite"];

/** The record has these members from the start, because V8 adds a member slowly. */
export const toRecord = (value: Value, raw: RawRecord, at: RolloutPosition, nonFinite?: NonFinite): SourceRecord => {
  const { member, invalidText, isDocument = false } = raw;
  const isWhole = isDocument || (at.record === 0 && isAtEnd(raw));
  const { name, records } = at.file;
  const isListed = records.isList === true;
  const file = isListed ? nameListed(name, at.record) : name;
  const unset = { group: undefined, steps: undefined, id: undefined };
  return { value, file, position: at.record, member, isWhole, isListed, nonFinite, invalidText, ...unset };
};

/** The name of a document in a file of several documents. */
const nameListed = (file: string, position: number) => `${file}#record ${position + 1}`;

export const parseListedName = (name: string) => {
  const [, file, number] = /^(.*)#record (\d+)$/.exec(name) ?? [];
  return file === undefined ? undefined : { file, position: Number(number) - 1 };
};

/** A line end has up to two bytes. */
export const isAtEnd = ({ within, start, bytes }: RawRecord) =>
  within !== undefined && start + bytes.length >= within.size - 2;

export const convertRecord = (converter: Converter, record: SourceRecord): readonly Rollout[] | undefined => {
  const { value, invalidText } = record;
  const rejectNonFinite = openNonFiniteFilter(record);
  const toRollout = (rollout: Rollout) => rejectNonFinite({ group: record.group, id: record.id, ...rollout });
  try {
    const rollouts = converter.convert(record)?.map(toRollout);
    if (rollouts && invalidText !== undefined)
      throw value.require(invalidText).error("the column is declared as text, but has bytes that are not UTF-8");
    // If the whole record is invalid, its group needs only one error.
    const isInvalid = rollouts?.every(({ part, error }) => !part && error instanceof NonFiniteError);
    return isInvalid ? rollouts?.slice(0, 1) : rollouts;
  } catch (thrown) {
    // Only a value that is nested too deeply can exceed the stack.
    const isTooDeep = thrown instanceof RangeError && /stack/.test(thrown.message);
    const error = isTooDeep ? value.error("the record is nested too deeply (remove the nested value)") : thrown;
    if (error instanceof ConversionError) return [toRollout({ error })];
    throw thrown;
  }
};

/** NaN or Infinity is at this position of the record. */
class NonFiniteError extends ConversionError {
  readonly at: number;
  /** Default: the key before the number. */
  readonly key: string | undefined;

  constructor(value: Value, at: number, key: string | undefined) {
    super("the record contains NaN or Infinity", value);
    this.at = at;
    this.key = key;
  }
}

/** Rejects a rollout with NaN or Infinity. If the format allows them, only converted values matter. */
const openNonFiniteFilter = ({ value, nonFinite }: SourceRecord) => {
  if (!nonFinite) return (rollout: Rollout) => rollout;
  const { isAllowed } = nonFinite;
  const find = ({ bytes, span }: Value) => {
    if (bytes !== value.bytes) return undefined;
    for (let at = span.start; at < span.end; at++) if (bytes[at] !== nonFinite.bytes[at]) return at;
    return undefined;
  };
  const inRecord = find(value);
  const findInUsed = ({ trajectory = null, exception = null, error }: Rollout) => {
    const isNumber = error?.value.isObject && error.value.members().length === 0;
    const used: Value[] = isNumber ? [error.value] : [];
    if (!error) visitValues([trajectory, exception], (one) => used.push(one));
    return used.map(find).find((at) => at !== undefined);
  };
  return (rollout: Rollout): Rollout => {
    const { trajectory, exception, members, ...facts } = rollout;
    const { part, error } = facts;
    const at = isAllowed ? findInUsed(rollout) : part ? find(part) : inRecord;
    if (at === undefined) return rollout;
    return { ...facts, error: new NonFiniteError(part ?? value, at, isAllowed && error ? "reward" : undefined) };
  };
};

export const locateInRecord = (raw: RawRecord, value: Value, rest: Path = []) => {
  const { document } = value;
  const inRecord = [...value.path, ...rest];
  if (document !== undefined) return { file: document, line: 1, path: inRecord };
  const path = raw.element === undefined ? inRecord : [raw.element, ...inRecord];
  return { file: raw.label, ...(!raw.columns && { line: raw.line }), path };
};

/** A list or object, which can have words of Python, but no other text in brackets. */
const jsonStart = /^\s*[[{]\s*(?:["[{\]}\d-]|(?:true|false|null|nan|infinity|none|undefined)\b)/i;
const nonFinite = /^(?:NaN|-?Infinity)/;

/** Finds the fault of a document, or NaN or Infinity in a record, a string of JSON or a column. */
export const locateFault = (raw: RawRecord, error: ConversionError) => {
  if (error instanceof DocumentError) {
    const { name, bytes } = error.document;
    const fault = requireFault(bytes);
    return {
      fault: { bytes, fault, isLast: true, isDocument: true },
      location: locateByte({ bytes, start: 0, line: 1, label: name }, fault.at),
    };
  }
  if (error instanceof NonFiniteError) {
    const fault: SyntaxFault = { at: error.at, fault: "word" };
    return { fault: { bytes: raw.bytes, fault, key: error.key }, location: locateByte(raw, error.at) };
  }
  const { value } = error;
  const { text = "" } = value;
  const location = locateInRecord(raw, value);
  const bytes = Buffer.from(text);
  const canBeJson = jsonStart.test(text) || (raw.columns !== undefined && nonFinite.test(text));
  const fault = canBeJson ? findFault(bytes) : undefined;
  if (fault?.fault !== "word") return { fault: error.message, location };
  return { fault: { bytes, fault, key: fault.at === 0 ? String(value.path.at(-1)) : undefined }, location };
};

type RecordBytes = Pick<RawRecord, "bytes" | "start" | "line" | "label"> & Partial<RawRecord>;

/** A document with many faults is counted only once. */
const counters = new WeakMap<RecordBytes, { positions: PositionCounter; at: number }>();

export const locateByte = (raw: RecordBytes, offset: number) => {
  const { bytes, start, line, label, columns, within } = raw;
  if (columns) return { file: label };
  const before = within && { unitsBefore: () => countUnitsBefore(within, { start, line }) };
  const known = counters.get(raw);
  const positions =
    known && known.at <= offset ? known.positions : new PositionCounter({ bytes, start, line, ...before });
  counters.set(raw, { positions, at: offset });
  positions.mark(offset);
  return { file: label, ...positions.locate(offset) };
};

/** A file next to a record that is not a record itself. */
interface SideDocument {
  readonly name: string;
  readonly bytes: Buffer;
  /** NaN and Infinity are empty objects. Undefined for other text than JSON. */
  readonly value: Value | undefined;
}

/** A document that the record needs is not JSON. */
export class DocumentError extends ConversionError {
  readonly document: SideDocument;

  constructor(document: SideDocument, record: Value) {
    super(`the document ${document.name} is not JSON`, record);
    this.document = document;
  }
}

export const openDocuments = () => {
  const foundNames = new Set<string>();
  /** Caches the last document, because all records of a file use the same document. */
  let latest: { name: string; document: SideDocument | undefined } | undefined;
  const load = (name: string, read: () => Buffer | undefined) => {
    if (latest?.name === name) return latest.document;
    const content = read();
    if (content) foundNames.add(name);
    const bytes = content?.subarray(bomLength(content));
    latest = { name, document: bytes && { name, bytes, value: Value.parsePython(bytes, name) } };
    return latest.document;
  };
  return {
    foundNames,
    load,
    findFile: (file: string, name: string) => (file === "-" ? undefined : load(name, () => readDocumentFile(name))),
    /** @throws DocumentError for other text than strict JSON */
    require: (document: SideDocument | undefined, record: Value) => {
      if (document && document.value?.bytes !== document.bytes) throw new DocumentError(document, record);
      return document?.value;
    },
  };
};

const readDocumentFile = (path: string) => {
  try {
    return readRegularFile(path);
  } catch (thrown) {
    const code = getErrorCode(thrown);
    if (["ENOENT", "ENOTDIR", "EISDIR"].includes(code)) return undefined;
    throw inputUnreadable(basename(path), code, { cause: thrown });
  }
};
