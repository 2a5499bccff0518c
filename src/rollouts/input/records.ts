/** Reads records from files of other tools. */

import * as json from "../../json/json-bytes.ts";
import { JsonReader, nodeSize } from "../../json/reader.ts";
import { endOf, nodeAfter, startOf } from "../../json/table.ts";
import { findTextStart, readElements, readFrames } from "./frames.ts";
import { findContainer, sniffedBytes } from "./sniff.ts";
import type { Batches, Bytes, LineStart, RawRecord, ReadLimits, Records, Source } from "./source.ts";
import { documentTooLong, maxDocumentBytes, readHead, readRange, readRangeNow, unreadableRecord } from "./source.ts";

export type RecordKinds = Readonly<{
  /** `documents`: one document, a document on each line, or an array of documents. */
  text?: "lines" | "documents" | "document";
  /** Matches the names of members that are records. */
  zip?: RegExp;
  /** Matches the names of other members that the writer writes. */
  zipCompanions?: RegExp;
  /** The columns of a Parquet file that are read, or all. */
  parquet?: true | readonly string[];
  /** A column of strings with JSON. The output never contains these strings. */
  longText?: string;
}>;

/** @throws UnusableInput */
export const openRecords = async (source: Source, records: RecordKinds, limits: ReadLimits): Promise<Records> => {
  const container = findContainer(readHead(source.bytes, sniffedBytes));
  if (records.zip && container === "zip") {
    const { openMembers } = await import("./zip.ts");
    return await openMembers(source, { ...limits, names: records.zip, companions: records.zipCompanions });
  }
  if (records.parquet && container === "parquet") {
    const { openRows } = await import("./parquet.ts");
    return await openRows(source, { ...limits, columns: records.parquet === true ? undefined : records.parquet });
  }
  const { text: kind = "lines" } = records;
  const isList = kind === "documents" && (await hasSeveralDocuments(source.bytes, limits.signal));
  return { ...openText(source, kind !== "lines" && !isList, limits.signal), isList };
};

/** If `isOneDocument` is false, the records are lines, elements of arrays, or one object. */
const openText = ({ name, bytes }: Source, isOneDocument: boolean, signal: AbortSignal): Records => {
  const text = { label: name, within: bytes };
  const recordRanges: (LineStart & { length: number } & Pick<RawRecord, "fault" | "element">)[] = [];
  /** The ranges stay known while the records are read again. */
  let count = 0;
  const remember = function* (batch: Iterable<RawRecord>) {
    for (const record of batch) {
      const { start, line, fault, element } = record;
      recordRanges[count++] = { start, line, length: record.bytes.length, fault, element };
      yield record;
    }
  };
  return {
    async *batches() {
      count = 0;
      const first = { start: findTextStart(bytes), line: 1 };
      if (isOneDocument) return yield remember([await readWhole(text, { ...first, end: bytes.size })]);
      const list = await findList(bytes, first);
      for await (const batch of list ? cutElements(text, list, signal) : cutLines(text, first, signal))
        yield remember(batch);
    },
    async reread(position) {
      const range = recordRanges[position];
      return range && { ...text, ...range, bytes: await readRange(bytes, range) };
    },
    readNow: (position) => recordRanges[position] && readRangeNow(bytes, recordRanges[position]),
    locate: (position) => ({ label: name, line: recordRanges[position]?.line ?? 1 }),
    text: bytes,
  };
};

/** True for an array of objects, or if the second line that is not blank also begins with an object. */
const hasSeveralDocuments = async (bytes: Bytes, signal: AbortSignal) => {
  const start = findTextStart(bytes);
  if (await findList(bytes, { start, line: 1 })) return true;
  let isAfterFirst = false;
  for await (const block of readFrames(bytes, { start, signal })) {
    if (block.kind === "document") return false;
    if (block.kind === "lines") {
      const first = json.skipWhite(block.bytes, 0);
      const at = isAfterFirst ? first : json.skipWhite(block.bytes, json.endOfLine(block.bytes, first));
      if (at < block.bytes.length) return block.bytes[at] === json.openBrace;
      isAfterFirst ||= first < block.bytes.length;
    } else isAfterFirst = true;
  }
  return false;
};

type RecordText = Required<Pick<RawRecord, "label" | "within">>;

const readWhole = async (text: RecordText, { start, line, end }: json.Span & LineStart) => {
  const length = end - start;
  if (length > maxDocumentBytes) return unreadableRecord(text, documentTooLong, { start, line });
  return { ...text, start, line, bytes: await readRange(text.within, { start, length }) };
};

async function* cutLines(text: RecordText, { start, line: first }: LineStart, signal: AbortSignal): Batches {
  const { label, within } = text;
  let line = first;
  const linesOf = function* (bytes: Buffer, start: number) {
    for (let from = 0; from < bytes.length; line++) {
      // A block can have a million empty lines.
      if (bytes[from] === json.newline) {
        from++;
        continue;
      }
      const end = json.endOfLine(bytes, from);
      const whole = bytes.subarray(from, end);
      const textStart = json.skipWhite(whole, 0);
      const text = trimEnd(whole, textStart, whole.length);
      if (text.length > 0) yield { bytes: text, line, start: start + from + textStart, label, within };
      from = end + 1;
    }
  };
  for await (const block of readFrames(within, { start, signal })) {
    if (block.kind === "lines") yield linesOf(block.bytes, block.start);
    else {
      const record = await readWhole(text, { start: block.start, end: block.end, line: line++ });
      const bytes = trimEnd(record.bytes, 0, record.bytes.length);
      yield [{ ...record, bytes, isDocument: block.kind === "document" }];
    }
  }
}

const trimEnd = (bytes: Buffer, start: number, end: number) =>
  bytes.subarray(start, Math.max(start, json.trimmedEnd(bytes, end)));

const listHeadBytes = 4096;

const findList = async (bytes: Bytes, { start, line }: LineStart) => {
  const head = await readRange(bytes, { start, length: Math.min(listHeadBytes, bytes.size - start) });
  const open = json.skipWhite(head, 0);
  if (head[open] !== json.openBracket || head[json.skipWhite(head, open + 1)] !== json.openBrace) return undefined;
  return { start: start + open + 1, line: line + json.locateOffset(head, open).line - 1 };
};

async function* cutElements(text: RecordText, list: LineStart, signal: AbortSignal): Batches {
  const { label, within } = text;
  const range = { ...list, end: within.size };
  let count = 0;
  for await (const part of readElements(within, range, { reader: new JsonReader(), isTolerant: true, signal })) {
    const { table, start: base, positions, restAt, isEnd, fault } = part;
    const records = function* () {
      for (let root = 0; root < table.words.length; root = nodeAfter(table, root)) {
        const start = startOf(table, root);
        // The first node of invalid JSON has the end 0. The second node has the real end.
        const bytes = trimEnd(table.bytes, start, endOf(table, root) || endOf(table, root + nodeSize));
        const line = positions.mark(start);
        const element = line === list.line ? count : undefined;
        yield { bytes, line, start: base + start, label, within, element };
        count++;
      }
    };
    yield records();
    const position = { start: base + restAt, line: positions.mark(restAt) };
    // A comma can precede the closing bracket.
    if (isEnd || (fault && table.bytes[restAt] === json.closeBracket)) yield* readAfterList(text, position, signal);
    else if (fault) {
      const wrong = "its list of records is truncated or lacks an element (write the whole list)";
      yield [unreadableRecord(text, wrong, position)];
    }
  }
}

async function* readAfterList(text: RecordText, { start, line }: LineStart, signal: AbortSignal): Batches {
  const rest = { start: start + 1, line };
  const next = await findList(text.within, rest);
  if (next) return yield* cutElements(text, next, signal);
  for await (const batch of cutLines(text, rest, signal)) {
    for (const record of batch) return yield [unreadableRecord(text, "other data follows the list of records", record)];
  }
}
