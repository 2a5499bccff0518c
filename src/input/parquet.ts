/** Reads the rows of a Parquet file as JSON. One row group is in memory at a time. */
import { isUtf8 } from "node:buffer";
import * as zlib from "node:zlib";
import {
  type Compressors,
  type FileMetaData,
  parquetMetadataAsync,
  parquetReadObjects,
  snappyUncompress,
} from "hyparquet";
import { parquetHeader } from "hyparquet/src/column.js";
import { Failure } from "../failure.ts";
import { bomLength, isObject } from "../json/walk.ts";
import { type Columns, columnToJson, LazyText } from "./column-values.ts";
import { decompressedTooLarge } from "./failures.ts";
import type { RawRecord, Records } from "./records.ts";
import { type Bytes, readRange, ShrunkSourceError, type Source } from "./source.ts";
import { decompressionLimit } from "./spool.ts";
import { unzstd } from "./zstd.ts";

/** Bytes that a row group may decompress to, because it is in memory together with its rows. */
const maxRowGroupBytes = 2 ** 28;

interface RowRange {
  readonly start: number;
  readonly end: number;
}

interface LoadedRows extends RowRange {
  readonly rows: readonly unknown[];
}

interface RowOptions {
  /** Columns to read, if they exist. Default: all. */
  readonly columns: readonly string[] | undefined;
  readonly maxUnpackedBytes: number;
}

/**
 * Opens the rows of a file. The last record of a damaged file, or of one with a row group that is too large, has a defect.
 * @throws UnusableInput; Failure `input-unreadable`
 */
export const openRows = async (
  { name, bytes }: Source,
  { columns: wanted, maxUnpackedBytes }: RowOptions,
): Promise<Records> => {
  const opened = await readMetadata(bytes);
  const metadata = typeof opened === "string" ? undefined : opened;
  const groups = metadata?.row_groups ?? [];
  const limit = decompressionLimit(bytes.size, maxUnpackedBytes);
  if (groups.reduce((sum, { total_byte_size }) => sum + Number(total_byte_size), 0) > limit)
    throw decompressedTooLarge(limit);
  const ranges: RowRange[] = [];
  for (const { num_rows } of groups) {
    const start = ranges.at(-1)?.end ?? 0;
    ranges.push({ start, end: start + Number(num_rows) });
  }
  const columns = wanted?.filter((column) => metadata?.schema.some((element) => element.name === column));
  const damagedRecord = (wrong: string): RawRecord => {
    const own = { label: name, line: 1, start: 0, bytes: Buffer.alloc(0) };
    return { ...own, isComposed: true, wrong };
  };
  /** The record with the defect, and its position. */
  let damaged = typeof opened === "string" ? { record: damagedRecord(opened), at: 0 } : undefined;
  let loaded: LoadedRows | undefined;
  /** Returns why the rows cannot be read. */
  const loadRows = async (range: RowRange): Promise<string | undefined> => {
    const { start, end } = range;
    const isLoaded = loaded !== undefined && loaded.start <= start && end <= loaded.end;
    if (isLoaded || metadata === undefined) return undefined;
    loaded = undefined;
    try {
      loaded = { start, end, rows: await readRows(bytes, { metadata, range, columns }) };
      return undefined;
    } catch (thrown) {
      return toReason(thrown);
    }
  };
  const labelOf = (row: number): string => `${name}#row ${row + 1}`;
  const toRecord = (row: number): RawRecord => {
    const columns = loaded?.rows[row - loaded.start];
    return createRow(labelOf(row), isObject(columns) ? columns : {});
  };
  return {
    // Faster than reading its row group.
    async readFirst() {
      if (damaged !== undefined || ranges.every(({ end }) => end === 0)) return damaged?.record;
      const why = await loadRows({ start: 0, end: 1 });
      return why === undefined ? toRecord(0) : damagedRecord(why);
    },
    async *batches() {
      // A damaged file has no other records, because a part of a group is not a group.
      if (damaged !== undefined) damaged = { record: damaged.record, at: 0 };
      let total = 0;
      for (const range of damaged === undefined ? ranges : []) {
        const failure = await loadRows(range);
        // A text of the dictionary is in memory once, however many rows have it.
        for (const row of loaded?.rows ?? []) total += measureValue(row);
        const why = failure ?? (total > limit ? `its rows decompress to more than ${limit / 2 ** 20} MiB` : undefined);
        if (why !== undefined) {
          damaged = { record: damagedRecord(why), at: range.start };
          break;
        }
        yield makeRows(range, toRecord);
      }
      if (damaged !== undefined) yield [damaged.record];
    },
    async reread(position) {
      if (position === damaged?.at) return damaged.record;
      const range = ranges.find(({ start, end }) => start <= position && position < end);
      if (range === undefined || (await loadRows(range)) !== undefined) return undefined;
      return toRecord(position);
    },
    positionOf: (position) => ({ label: position === damaged?.at ? name : labelOf(position), line: 1 }),
    close: async () => await bytes.close(),
  };
};

/** Bytes of a value of a column as JSON, at least. */
const measureValue = (value: unknown): number => {
  if (value instanceof LazyText) return value.bytes.length;
  if (typeof value === "string" || value instanceof Uint8Array) return value.length;
  if (Array.isArray(value) && typeof value[0] !== "number" && typeof value[0] !== "bigint")
    return value.reduce<number>((sum, one) => sum + measureValue(one), value.length);
  if (Array.isArray(value)) return value.length;
  return isObject(value) ? Object.values(value).reduce<number>((sum, one) => sum + measureValue(one), 1) : 1;
};

function* makeRows({ start, end }: RowRange, toRecord: (row: number) => RawRecord): Generator<RawRecord, void> {
  for (let row = start; row < end; row++) yield toRecord(row);
}

/** Returns the record of a row, whose bytes are composed on demand. */
const createRow = (label: string, columns: Columns): RawRecord => {
  let bytes: Buffer | undefined;
  return {
    label,
    columns,
    line: 1,
    start: 0,
    isComposed: true,
    get bytes() {
      bytes ??= Buffer.from(columnToJson(columns) ?? "null");
      return bytes;
    },
  };
};

/** Returns the metadata, or why it cannot be read. */
const readMetadata = async (bytes: Bytes): Promise<FileMetaData | string> => {
  try {
    const metadata = await parquetMetadataAsync(toAsyncBuffer(bytes));
    const sizes = metadata.row_groups.map(measureRowGroup);
    const large = sizes.findIndex((size) => size > maxRowGroupBytes);
    if (large < 0) return metadata;
    const mebibytes = Math.ceil((sizes[large] ?? 0) / 2 ** 20);
    return `its row group ${large + 1} decompresses to ${mebibytes} MiB, over the limit of ${maxRowGroupBytes / 2 ** 20} MiB, so write smaller row groups`;
  } catch (thrown) {
    return toReason(thrown);
  }
};

/** Minimum bytes of a row in memory. */
const minRowBytes = 200;

/**
 * Returns the minimum bytes of a row group in memory: its pages, its rows, or 8 bytes for each value, because a page can
 * repeat one value.
 */
const measureRowGroup = ({ columns, num_rows, total_byte_size }: FileMetaData["row_groups"][number]): number => {
  const values = columns.reduce((sum, { meta_data }) => sum + Number(meta_data?.num_values ?? num_rows), 0);
  return Math.max(Number(total_byte_size), 8 * values, minRowBytes * Number(num_rows));
};

/** Reads the rows of a range, which is a row group or the start of one. @throws errors of the file */
const readRows = async (
  bytes: Bytes,
  { metadata, range, columns }: { metadata: FileMetaData; range: RowRange; columns: readonly string[] | undefined },
): Promise<readonly unknown[]> => {
  let start = 0;
  for (const group of metadata.row_groups) {
    if (start <= range.start && range.start < start + Number(group.num_rows)) await checkPages(bytes, group, columns);
    start += Number(group.num_rows);
  }
  const file = toAsyncBuffer(bytes);
  let isOver = false;
  return await new Promise((resolve, reject) => {
    // hyparquet does not await all of its reads if a file is damaged. The error of such a read would end the process, so
    // a read that fails, or that arrives after the end, never settles.
    const slice = (start: number, end?: number) =>
      new Promise<ArrayBuffer>((deliver) => {
        file.slice(start, end).then((part) => setImmediate(() => isOver || deliver(part)), reject);
      });
    parquetReadObjects({
      file: { byteLength: file.byteLength, slice },
      metadata,
      compressors: createDecompressors(),
      // Keep the spelling of numbers in JSON columns.
      parsers: { stringFromBytes: decodeText, jsonFromBytes: decodeText },
      geoparquet: false,
      ...(columns === undefined ? {} : { columns: [...columns] }),
      rowStart: range.start,
      rowEnd: range.end,
    })
      .finally(() => {
        isOver = true;
      })
      .then(resolve, reject);
  });
};

/** Bytes in which the header of a page must end. Writers put the smallest and largest value in it. */
const maxHeaderBytes = 2 ** 20;

/** A column can have 4 million values, or 1,000 for each of its bytes, because equal values compress well. */
const minValueLimit = 2 ** 22;
const maxValuesPerByte = 1000;

/** Compares the headers of pages with the values of their column, because hyparquet allocates what they claim. */
const checkPages = async (
  bytes: Bytes,
  group: FileMetaData["row_groups"][number],
  columns: readonly string[] | undefined,
): Promise<void> => {
  for (const { meta_data: column } of group.columns) {
    const [name = ""] = column?.path_in_schema ?? [];
    if (column === undefined || columns?.includes(name) === false) continue;
    let at = Number(column.dictionary_page_offset || column.data_page_offset);
    const end = Math.min(bytes.size, at + Number(column.total_compressed_size));
    let left = Number(column.num_values);
    if (left > Math.max(minValueLimit, maxValuesPerByte * (end - at)))
      throw new Error(`the column ${name} claims ${left} values in ${end - at} bytes`);
    while (at < end - 1) {
      const head = await readRange(bytes, { start: at, length: Math.min(maxHeaderBytes, end - at) });
      const reader = { view: new DataView(head.buffer, head.byteOffset, head.length), offset: 0 };
      const { compressed_page_size, dictionary_page_header, ...page } = parquetHeader(reader);
      const { data_page_header, data_page_header_v2: second } = page;
      const own = Math.max(
        data_page_header?.num_values ?? 0,
        (second?.num_values ?? 0) - Math.min(0, second?.num_nulls ?? 0),
      );
      if (Math.max(own, dictionary_page_header?.num_values ?? 0) > left || !(compressed_page_size >= 0))
        throw new Error(`a page of the column ${name} claims more values than its ${column.num_values}`);
      left -= own;
      at += reader.offset + compressed_page_size;
    }
  }
};

/** Returns why a file cannot be read. @throws errors that the file did not cause */
const toReason = (thrown: unknown): string => {
  if (thrown instanceof Failure || thrown instanceof ShrunkSourceError) throw thrown;
  const why = thrown instanceof Error ? ` (${thrown.message})` : "";
  return `it is cut off, damaged, or uses a Parquet feature that rollcall does not support${why}`;
};

/** Bytes of texts that are decoded at once. Few longer texts are ever needed. */
const maxDecodedBytes = 64;

/** Removes a byte order mark. */
const decoder = new TextDecoder();

const decodeText = (bytes: Uint8Array | undefined): string | LazyText | undefined => {
  if (bytes === undefined) return undefined;
  const own = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  const isPlain = own.length > maxDecodedBytes && bomLength(own) === 0 && isUtf8(own);
  return isPlain ? new LazyText(own) : decoder.decode(own);
};

const toAsyncBuffer = (bytes: Bytes) => ({
  byteLength: bytes.size,
  slice: async (start: number, end = bytes.size): Promise<ArrayBuffer> => {
    if (!(start >= 0 && start <= end && end <= bytes.size)) throw new Error("a column is outside of the file");
    const own = await readRange(bytes, { start, length: end - start });
    return Uint8Array.from(own).buffer;
  },
});

/** Decompressors for the pages of one row group, within the limit. */
const createDecompressors = (): Compressors => {
  let left = maxRowGroupBytes;
  const withLimit =
    (decompress: (page: Uint8Array, length: number) => Uint8Array) =>
    (page: Uint8Array, length: number): Uint8Array => {
      left -= length;
      if (left < 0) throw new Error("a row group decompresses to more than it declares");
      return decompress(page, length);
    };
  return {
    SNAPPY: withLimit((compressed, length) => {
      const page = new Uint8Array(length);
      snappyUncompress(compressed, page);
      return page;
    }),
    ZSTD: withLimit(unzstd),
    GZIP: withLimit((page, length) => zlib.gunzipSync(page, { maxOutputLength: Math.max(1, length) })),
    BROTLI: withLimit((page, length) => zlib.brotliDecompressSync(page, { maxOutputLength: Math.max(1, length) })),
  };
};
