/** Reads the rows of a Parquet file, each as JSON. One row group is in memory at a time. */
import { isUtf8 } from "node:buffer";
import * as zlib from "node:zlib";
import {
  type Compressors,
  type FileMetaData,
  parquetMetadataAsync,
  parquetReadObjects,
  snappyUncompress,
} from "hyparquet";
import { PackedTooLarge } from "../check/rules/packed.ts";
import { Failure } from "../failure.ts";
import { isObject, markLength } from "../json/walk.ts";
import { type Columns, columnJson, TextBytes } from "./column-json.ts";
import type { Cut, Records } from "./records.ts";
import { type Bytes, readRange, Shrunk, type Source } from "./source.ts";
import { unpackedLimit } from "./spool.ts";
import { unzstd } from "./zstd.ts";

/** Bytes that a row group may decompress to: it is in memory together with its rows. */
const maxRowGroup = 2 ** 28;

/** Rows from `start` up to `end`. */
interface Range {
  readonly start: number;
  readonly end: number;
}

/** Rows in memory. */
interface HeldRows extends Range {
  readonly columns: readonly string[] | undefined;
  readonly rows: readonly unknown[];
}

interface RowOptions {
  /** Columns to read, if the file has them. Default: all. */
  readonly columns: readonly string[] | undefined;
  readonly maxUnpackedBytes: number;
}

/**
 * Opens the rows of a file. A file that is damaged, or has a row group that is too large, ends with a record that cannot be
 * read. @throws PackedTooLarge; Failure `input-unreadable`
 */
export const openRows = async (
  { name, bytes }: Source,
  { columns: wanted, maxUnpackedBytes }: RowOptions,
): Promise<Records> => {
  const opened = await readMetadata(bytes);
  const metadata = typeof opened === "string" ? undefined : opened;
  const groups = metadata?.row_groups ?? [];
  const limit = unpackedLimit(bytes.size, maxUnpackedBytes);
  if (groups.reduce((sum, { total_byte_size }) => sum + Number(total_byte_size), 0) > limit)
    throw new PackedTooLarge(limit);
  const ranges: Range[] = [];
  for (const { num_rows } of groups) {
    const start = ranges.at(-1)?.end ?? 0;
    ranges.push({ start, end: start + Number(num_rows) });
  }
  const existing = (columns: readonly string[] | undefined) =>
    columns?.filter((column) => metadata?.schema.some((element) => element.name === column));
  const ownColumns = existing(wanted);
  const damagedCut = (wrong: string): Cut => {
    const own = { label: name, line: 1, start: 0, bytes: Buffer.alloc(0) };
    return { ...own, isMade: true, wrong };
  };
  /** The record for what cannot be read, and its position, once it is known. */
  let damaged = typeof opened === "string" ? { cut: damagedCut(opened), at: 0 } : undefined;
  let held: HeldRows | undefined;
  /** Reads rows into memory. Returns why they cannot be read. */
  const hold = async (range: Range, columns: readonly string[] | undefined): Promise<string | undefined> => {
    const { start, end } = range;
    const isHeld = held?.columns === columns && held !== undefined && held.start <= start && end <= held.end;
    if (isHeld || metadata === undefined) return undefined;
    held = undefined;
    try {
      held = { start, end, columns, rows: await readRows(bytes, { metadata, range, columns }) };
      return undefined;
    } catch (thrown) {
      return messageOf(thrown);
    }
  };
  const labelOf = (row: number): string => `${name}#row ${row + 1}`;
  const cutOf = (row: number): Cut => {
    const columns = held?.rows[row - held.start];
    return new RowCut(labelOf(row), isObject(columns) ? columns : {});
  };
  return {
    // The first row alone is read faster than its row group.
    async first() {
      if (damaged !== undefined || ranges.every(({ end }) => end === 0)) return damaged?.cut;
      const why = await hold({ start: 0, end: 1 }, ownColumns);
      return why === undefined ? cutOf(0) : damagedCut(why);
    },
    async *batches(named) {
      const columns = existing(named) ?? ownColumns;
      // A file that was found to be damaged has no other record, because a part of a group is not a group.
      if (damaged !== undefined) damaged = { cut: damaged.cut, at: 0 };
      for (const range of damaged === undefined ? ranges : []) {
        const why = await hold(range, columns);
        if (why !== undefined) {
          damaged = { cut: damagedCut(why), at: range.start };
          break;
        }
        yield rowsOf(range, cutOf);
      }
      if (damaged !== undefined) yield [damaged.cut];
    },
    async again(position) {
      if (position === damaged?.at) return damaged.cut;
      const range = ranges.find(({ start, end }) => start <= position && position < end);
      if (range === undefined || (await hold(range, ownColumns)) !== undefined) return undefined;
      return cutOf(position);
    },
    placeOf: (position) => ({ label: position === damaged?.at ? name : labelOf(position), line: 1 }),
    close: async () => await bytes.close(),
  };
};

function* rowsOf({ start, end }: Range, cutOf: (row: number) => Cut): Generator<Cut, void> {
  for (let row = start; row < end; row++) yield cutOf(row);
}

/** A row. Its bytes are composed when they are asked for. */
class RowCut implements Cut {
  readonly line = 1;
  readonly start = 0;
  readonly isMade = true;
  readonly label: string;
  readonly columns: Columns;
  #bytes: Buffer | undefined;

  constructor(label: string, columns: Columns) {
    this.label = label;
    this.columns = columns;
  }

  get bytes(): Buffer {
    this.#bytes ??= Buffer.from(columnJson(this.columns) ?? "null");
    return this.#bytes;
  }
}

/** Returns the metadata of a file, or why it cannot be read. */
const readMetadata = async (bytes: Bytes): Promise<FileMetaData | string> => {
  try {
    const metadata = await parquetMetadataAsync(bufferOf(bytes));
    const large = metadata.row_groups.findIndex((group) => Number(group.total_byte_size) > maxRowGroup);
    if (large < 0) return metadata;
    const mebibytes = Math.ceil(Number(metadata.row_groups[large]?.total_byte_size) / 2 ** 20);
    return `its row group ${large + 1} unpacks to ${mebibytes} MiB, and ${maxRowGroup / 2 ** 20} MiB can be held at once: write it with smaller row groups`;
  } catch (thrown) {
    return messageOf(thrown);
  }
};

const readRows = async (
  bytes: Bytes,
  about: {
    readonly metadata: FileMetaData;
    readonly range: Range;
    readonly columns: readonly string[] | undefined;
  },
): Promise<readonly unknown[]> =>
  await parquetReadObjects({
    file: bufferOf(bytes),
    metadata: about.metadata,
    compressors: openCompressors(),
    // Numbers in columns of JSON keep their spelling.
    parsers: { stringFromBytes: textOf, jsonFromBytes: textOf },
    geoparquet: false,
    ...(about.columns === undefined ? {} : { columns: [...about.columns] }),
    rowStart: about.range.start,
    rowEnd: about.range.end,
  });

/** Returns why a file cannot be read. @throws errors that are not the file's fault */
const messageOf = (thrown: unknown): string => {
  if (thrown instanceof Failure || thrown instanceof Shrunk) throw thrown;
  const why = thrown instanceof Error ? ` (${thrown.message})` : "";
  return `it is cut off or damaged, or written in a way that rollcall does not know${why}`;
};

/** Texts above this length in bytes stay as they are: few of them are ever decoded. */
const maxDecoded = 64;

/** Drops a byte order mark. */
const decoder = new TextDecoder();

const textOf = (bytes: Uint8Array | undefined): string | TextBytes | undefined => {
  if (bytes === undefined) return undefined;
  const own = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  const isPlain = own.length > maxDecoded && markLength(own) === 0 && isUtf8(own);
  return isPlain ? new TextBytes(own) : decoder.decode(own);
};

const bufferOf = (bytes: Bytes) => ({
  byteLength: bytes.size,
  slice: async (start: number, end = bytes.size): Promise<ArrayBuffer> => {
    const own = await readRange(bytes, { start, length: end - start });
    return Uint8Array.from(own).buffer;
  },
});

/** Decompressors for the pages of one row group, which may not be larger than they claim, nor too large together. */
const openCompressors = (): Compressors => {
  let left = maxRowGroup;
  const within =
    (decompress: (page: Uint8Array, length: number) => Uint8Array) =>
    (page: Uint8Array, length: number): Uint8Array => {
      left -= length;
      if (left < 0) throw new Error("a row group unpacks to more than it says");
      return decompress(page, length);
    };
  return {
    SNAPPY: within((compressed, length) => {
      const page = new Uint8Array(length);
      snappyUncompress(compressed, page);
      return page;
    }),
    ZSTD: within(unzstd),
    GZIP: within((page, length) => zlib.gunzipSync(page, { maxOutputLength: Math.max(1, length) })),
    BROTLI: within((page, length) => zlib.brotliDecompressSync(page, { maxOutputLength: Math.max(1, length) })),
  };
};
