/** Cuts a file of another tool into records, and reads one of them again: its lines, its list's elements, its members, or all of it as one document. */

import { endOfLine, isWhite, newline, openBrace, openBracket, skipWhite } from "../json/walk.ts";
import type { Columns } from "./column-json.ts";
import { type Element, elementsOf, ListFrame } from "./elements.ts";
import { blocksOf, textStart } from "./lines.ts";
import { containerOf, sniffedBytes } from "./sniff.ts";
import { type Bytes, longestDocument, readRange, type Source, tooLong } from "./source.ts";

/** What of a file is a record, by what the file is. */
export interface RecordKinds {
  /** Lines, or a whole file. */
  readonly text?: "lines" | "document";
  /** The members of an archive whose names fit. */
  readonly zip?: RegExp;
  /** The rows of a Parquet file. */
  readonly parquet?: true;
}

/** A record, and where it stands. */
export interface Cut {
  /** Valid until the next one is asked for. */
  readonly bytes: Buffer;
  /** Of a row of a Parquet file what its columns say: its bytes are made of that when they are asked for. */
  readonly columns?: Columns;
  /** What its place is called: the file, or what of it is named (`run.eval!samples/1_epoch_1.json`). */
  readonly label: string;
  /** Line of its first byte there, from 1, and the offset of that byte. */
  readonly line: number;
  readonly start: number;
  /** What it is a part of: something may stand before it on its line. */
  readonly within?: Bytes;
  /** The archive's member that it is. */
  readonly member?: string;
  /** Whether the bytes were made of what stands there, which has neither lines nor columns. */
  readonly isMade?: true;
  /** Why it can't be read; it has no bytes then. */
  readonly wrong?: string;
}

/** The records of a file. Must be closed. */
export interface Records {
  /**
   * All of them in their order, as many at once as are in memory, rows with nothing but these columns where some are named.
   * @throws Shrunk; Failure `input-unreadable`
   */
  batches(columns?: readonly string[]): AsyncGenerator<Iterable<Cut>, void>;
  /** The first that there is, where that is less to read. @throws as `batches` */
  first?(): Promise<Cut | undefined>;
  /** One of them again, by its position among all. */
  again(position: number): Promise<Cut | undefined>;
  /** Its label and line. */
  placeOf(position: number): Pick<Cut, "label" | "line">;
  /** A document that stands in the same archive. */
  beside?(name: string): Buffer | undefined;
  /** What a place's label is read from, where somebody wants to see what stands around it. */
  readonly text?: Bytes;
  close(): Promise<void>;
}

/** Records one by one. @throws as `batches` */
export async function* cutsOf(records: Records, columns?: readonly string[]): AsyncGenerator<Cut, void> {
  for await (const batch of records.batches(columns)) yield* batch;
}

/** Opens the records of a file that is of a format. @throws PackedTooLarge */
export const openRecords = async (
  source: Source,
  { records, columns }: { readonly records: RecordKinds; readonly columns?: readonly string[] | undefined },
  maxUnpackedBytes: number,
): Promise<Records> => {
  const head = Buffer.alloc(Math.min(sniffedBytes, source.bytes.size));
  await source.bytes.read(head, 0);
  if (records.zip !== undefined && containerOf(head) === "zip") {
    const { openMembers } = await import("./zip.ts");
    return await openMembers(source, { names: records.zip, maxUnpackedBytes });
  }
  if (records.parquet !== undefined && containerOf(head) === "parquet") {
    const { openRows } = await import("./parquet.ts");
    return await openRows(source, { columns, maxUnpackedBytes });
  }
  return records.text === "document" ? documentIn(source) : linesIn(source);
};

/** The lines of a text, or the elements of the list that it is. */
const linesIn = ({ name, bytes }: Source): Records => {
  const places: { start: number[]; length: number[]; line: number[] } = { start: [], length: [], line: [] };
  const wrongs = new Map<number, string>();
  const noted = function* (batch: Iterable<Cut>): Generator<Cut, void> {
    for (const cut of batch) {
      if (cut.wrong !== undefined) wrongs.set(places.start.length, cut.wrong);
      places.start.push(cut.start);
      places.length.push(cut.bytes.length);
      places.line.push(cut.line);
      yield cut;
    }
  };
  return {
    async *batches() {
      for (const own of Object.values(places)) own.length = 0;
      const start = await textStart(bytes);
      const list = await listAt(bytes, { start, line: 1 });
      const source = { label: name, within: bytes };
      for await (const batch of list === undefined ? lineCuts(source, start) : listCuts(source, list))
        yield noted(batch);
    },
    async again(position) {
      const [start, length, line] = [places.start[position], places.length[position], places.line[position]];
      if (start === undefined || length === undefined || line === undefined) return undefined;
      const place = { label: name, line, start, within: bytes };
      const wrong = wrongs.get(position);
      return { ...place, bytes: await readRange(bytes, { start, length }), ...(wrong === undefined ? {} : { wrong }) };
    },
    placeOf: (position) => ({ label: name, line: places.line[position] ?? 1 }),
    text: bytes,
    close: async () => await bytes.close(),
  };
};

/** What lines and elements are cut from. */
type TextSource = Required<Pick<Cut, "label" | "within">>;

/** Lines that are not blank, each without white space around it. */
async function* lineCuts({ label, within }: TextSource, start: number): AsyncGenerator<Iterable<Cut>, void> {
  let line = 1;
  const linesOf = function* (bytes: Buffer, start: number): Generator<Cut, void> {
    for (let from = 0; from < bytes.length; line++) {
      const end = endOfLine(bytes, from);
      const first = skipWhite(bytes, from);
      const own = trimmed(bytes, first, Math.max(first, end));
      if (own.length > 0) yield { bytes: own, line, start: start + first, label, within };
      from = end + 1;
    }
  };
  for await (const block of blocksOf(within, { start, end: within.size })) {
    if (block.kind === "lines") yield linesOf(block.bytes, block.start);
    else {
      const length = block.end - block.start;
      const place = { line: line++, start: block.start, label, within };
      if (length > longestDocument) yield [{ ...place, bytes: Buffer.alloc(0), wrong: tooLong }];
      else yield [{ ...place, bytes: trimmed(await readRange(within, { start: block.start, length }), 0, length) }];
    }
  }
}

const trimmed = (bytes: Buffer, start: number, end: number): Buffer => {
  let last = end;
  while (last > start && isWhite(bytes[last - 1])) last--;
  return bytes.subarray(start, last);
};

/** Bytes at which it shows whether a text is a list of objects. */
const listHeadBytes = 4096;

/** Where a list of objects begins, behind its bracket; undefined where no such list stands there. */
const listAt = async (bytes: Bytes, { start, line }: Element): Promise<Element | undefined> => {
  const head = await readRange(bytes, { start, length: Math.min(listHeadBytes, bytes.size - start) });
  const open = skipWhite(head, 0);
  if (head[open] !== openBracket || head[skipWhite(head, open + 1)] !== openBrace) return undefined;
  const lines = head.subarray(0, open).reduce((sum, byte) => sum + (byte === newline ? 1 : 0), line);
  return { start: start + open + 1, line: lines };
};

/** The elements of a list, and of those behind it; what is wrong with it stands for what can't be read. */
async function* listCuts(source: TextSource, list: Element): AsyncGenerator<Iterable<Cut>, void> {
  const { within } = source;
  const frame = new ListFrame(list.line);
  for await (const block of elementsOf(within, { start: list.start, end: within.size, frame })) {
    yield block.elements.map(({ start, line }) => {
      const from = start - block.start;
      return { ...source, bytes: trimmed(block.bytes, from, endOfLine(block.asLines, from)), line, start };
    });
  }
  const { begun, end } = frame;
  const behind = { start: begun?.start ?? end ?? within.size, line: begun?.line ?? frame.line };
  if (end === undefined) {
    const wrong = "the list that it stands in is cut off, or lacks an element";
    return yield [{ ...source, bytes: Buffer.alloc(0), ...behind, wrong }];
  }
  const next = await listAt(within, { start: end + 1, line: frame.line });
  if (next !== undefined) return yield* listCuts(source, next);
  for await (const batch of lineCuts(source, end + 1)) {
    for (const { line, start } of batch) {
      const place = { line: frame.line + line - 1, start };
      return yield [{ ...source, bytes: Buffer.alloc(0), ...place, wrong: "something follows the list of records" }];
    }
  }
}

/** All of a file. */
const documentIn = ({ name, bytes }: Source): Records => {
  const whole = async (): Promise<Cut> => {
    const start = await textStart(bytes);
    const place = { label: name, line: 1, start };
    if (bytes.size > longestDocument) return { ...place, bytes: Buffer.alloc(0), wrong: tooLong };
    return { ...place, bytes: await readRange(bytes, { start, length: bytes.size - start }) };
  };
  return {
    async *batches() {
      yield [await whole()];
    },
    again: async () => await whole(),
    placeOf: () => ({ label: name, line: 1 }),
    text: bytes,
    close: async () => await bytes.close(),
  };
};
