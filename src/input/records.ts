/** Cuts a file of another tool into records: its lines, the elements of its array, its members, its rows, or all of it. */
import { JsonReader, nodeSize } from "../json/reader.ts";
import { endOf, nodeAfter, startOf } from "../json/table.ts";
import { closeBracket, endOfLine, newline, openBrace, openBracket, skipWhite, trimmedEnd } from "../json/walk.ts";
import type { Columns } from "./column-values.ts";
import { findTextStart, type LineRange, readBlocks, readElements } from "./frames.ts";
import { findContainer, sniffedBytes } from "./sniff.ts";
import {
  type Bytes,
  documentTooLong,
  maxDocumentBytes,
  type Position,
  readHead,
  readRange,
  type Source,
} from "./source.ts";

/** What the records of a format are, by the kind of file. */
export interface RecordKinds {
  readonly text?: "lines" | "document";
  /** The members of an archive with these names. */
  readonly zip?: RegExp;
  /** The rows of a Parquet file. */
  readonly parquet?: true;
}

/** A record, and its position. */
export interface RawRecord {
  /** Valid until the next record is read. */
  readonly bytes: Buffer;
  /** The columns of a row of a Parquet file. Its bytes are composed when they are asked for. */
  readonly columns?: Columns;
  /** The file, or a part of it (`run.eval!samples/1_epoch_1.json`). */
  readonly label: string;
  /** Line of the first byte, from 1, and its offset. */
  readonly line: number;
  readonly start: number;
  /** The text that contains it, if other bytes can be before it on its line. */
  readonly within?: Bytes;
  /** The archive's member that it is. */
  readonly member?: string;
  /** True if the bytes were composed, so that they have neither lines nor columns in the file. */
  readonly isComposed?: true;
  /** Why it cannot be read. Then it has no bytes. */
  readonly wrong?: string | undefined;
}

/** The records of a file. The caller closes them. */
export interface Records {
  /**
   * Yields all records in order, as many at once as are in memory. `columns` restricts rows to these columns.
   * @throws Shrunk; Failure `input-unreadable`
   */
  batches(columns?: readonly string[]): AsyncGenerator<Iterable<RawRecord>, void>;
  /** Reads the first record alone, if that is less to read. @throws as `batches` */
  readFirst?(): Promise<RawRecord | undefined>;
  /** Reads a record again, by its position among all. */
  reread(position: number): Promise<RawRecord | undefined>;
  positionOf(position: number): Pick<RawRecord, "label" | "line">;
  /** Reads a document of the same archive. */
  readSibling?(name: string): Buffer | undefined;
  /** The text that positions with this label are in. */
  readonly text?: Bytes;
  close(): Promise<void>;
}

/** Opens the records of a file of a format. @throws PackedTooLarge */
export const openRecords = async (
  source: Source,
  { records, columns }: { readonly records: RecordKinds; readonly columns?: readonly string[] | undefined },
  maxUnpackedBytes: number,
): Promise<Records> => {
  const container = findContainer(await readHead(source.bytes, sniffedBytes));
  if (records.zip !== undefined && container === "zip") {
    const { openMembers } = await import("./zip.ts");
    return await openMembers(source, { names: records.zip, maxUnpackedBytes });
  }
  if (records.parquet !== undefined && container === "parquet") {
    const { openRows } = await import("./parquet.ts");
    return await openRows(source, { columns, maxUnpackedBytes });
  }
  return textRecords(source, records.text === "document");
};

/** All of a text, or its lines, or its elements if it is an array. */
const textRecords = ({ name, bytes }: Source, isDocument: boolean): Records => {
  const text = { label: name, within: bytes };
  /** The records that were read, to be read again. */
  const known: (Position & { readonly length: number; readonly wrong: string | undefined })[] = [];
  const remember = function* (batch: Iterable<RawRecord>): Generator<RawRecord, void> {
    for (const cut of batch) {
      const { start, line, wrong } = cut;
      known.push({ start, line, length: cut.bytes.length, wrong });
      yield cut;
    }
  };
  return {
    async *batches() {
      known.length = 0;
      const first = { start: await findTextStart(bytes), line: 1 };
      const list = isDocument ? undefined : await findList(bytes, first);
      if (isDocument) yield remember([await readWhole(text, { ...first, end: bytes.size })]);
      else
        for await (const batch of list === undefined ? cutLines(text, first) : cutElements(text, list))
          yield remember(batch);
    },
    async reread(position) {
      const own = known[position];
      return own && { ...text, ...own, bytes: await readRange(bytes, own) };
    },
    positionOf: (position) => ({ label: name, line: known[position]?.line ?? 1 }),
    text: bytes,
    close: async () => await bytes.close(),
  };
};

/** The text that records are cut from. */
type RecordText = Required<Pick<RawRecord, "label" | "within">>;

const unreadableRecord = (text: RecordText, { start, line }: Position, wrong: string): RawRecord => {
  const own = { ...text, start, line };
  return { ...own, bytes: Buffer.alloc(0), wrong };
};

/** A document, or a line that is longer than a block. */
const readWhole = async (text: RecordText, { start, line, end }: LineRange & Position): Promise<RawRecord> => {
  const length = end - start;
  if (length > maxDocumentBytes) return unreadableRecord(text, { start, line }, documentTooLong);
  return { ...text, start, line, bytes: await readRange(text.within, { start, length }) };
};

/** Lines that are not blank, without the white space around them. */
async function* cutLines(
  text: RecordText,
  { start, line: first }: Position,
): AsyncGenerator<Iterable<RawRecord>, void> {
  const { label, within } = text;
  let line = first;
  const linesOf = function* (bytes: Buffer, start: number): Generator<RawRecord, void> {
    for (let from = 0; from < bytes.length; line++) {
      const end = endOfLine(bytes, from);
      const first = skipWhite(bytes, from);
      const own = trimEnd(bytes, first, Math.max(first, end));
      if (own.length > 0) yield { bytes: own, line, start: start + first, label, within };
      from = end + 1;
    }
  };
  for await (const block of readBlocks(within, { start, end: within.size })) {
    if (block.kind === "lines") yield linesOf(block.bytes, block.start);
    else {
      const cut = await readWhole(text, { start: block.start, end: block.end, line: line++ });
      yield [{ ...cut, bytes: trimEnd(cut.bytes, 0, cut.bytes.length) }];
    }
  }
}

const trimEnd = (bytes: Buffer, start: number, end: number): Buffer =>
  bytes.subarray(start, Math.max(start, trimmedEnd(bytes, end)));

/** Bytes that show if a text is an array of objects. */
const listHeadBytes = 4096;

/** Position after the bracket of an array of objects; undefined if there is none. */
const findList = async (bytes: Bytes, { start, line }: Position): Promise<Position | undefined> => {
  const head = await readRange(bytes, { start, length: Math.min(listHeadBytes, bytes.size - start) });
  const open = skipWhite(head, 0);
  if (head[open] !== openBracket || head[skipWhite(head, open + 1)] !== openBrace) return undefined;
  const lines = head.subarray(0, open).reduce((sum, byte) => sum + (byte === newline ? 1 : 0), line);
  return { start: start + open + 1, line: lines };
};

/** The elements of an array, and of arrays after it. A fault of the array is a record that cannot be read. */
async function* cutElements(text: RecordText, list: Position): AsyncGenerator<Iterable<RawRecord>, void> {
  const { label, within } = text;
  const range = { ...list, end: within.size };
  for await (const part of readElements(within, range, { reader: new JsonReader(), isTolerant: true })) {
    const { text: table, start: base, places, length, isEnd, fault } = part;
    const cuts = function* (): Generator<RawRecord, void> {
      for (let root = 0; root < table.words.length; root = nodeAfter(table, root)) {
        const start = startOf(table, root);
        const bytes = trimEnd(table.bytes, start, endOf(table, root) || nodeAfter(table, root + nodeSize));
        yield { bytes, line: places.mark(start), start: base + start, label, within };
      }
    };
    yield cuts();
    const position = { start: base + length, line: places.mark(length) };
    // A comma before the bracket is no fault of the elements.
    if (isEnd || (fault !== undefined && table.bytes[length] === closeBracket)) yield* cutAfterList(text, position);
    else if (fault !== undefined) {
      yield [unreadableRecord(text, position, "the list that it stands in is cut off, or lacks an element")];
    }
  }
}

/** What follows an array, from its closing bracket on. */
async function* cutAfterList(text: RecordText, { start, line }: Position): AsyncGenerator<Iterable<RawRecord>, void> {
  const rest = { start: start + 1, line };
  const next = await findList(text.within, rest);
  if (next !== undefined) return yield* cutElements(text, next);
  for await (const batch of cutLines(text, rest)) {
    for (const cut of batch) return yield [unreadableRecord(text, cut, "something follows the list of records")];
  }
}
