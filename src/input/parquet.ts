/** Reads the rows of a Parquet file, each as JSON: a row group of it is held at a time. */
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

/** What a row group may unpack to: it is held in memory, and so are its rows. */
const largestRowGroup = 2 ** 28;

/** Rows that follow each other in the file, from one up to another. */
interface Range {
  readonly start: number;
  readonly end: number;
}

/**
 * Opens the rows of a file. One that is damaged, or has a row group that is too large, ends with a record that can't be read.
 * @throws PackedTooLarge; Failure `input-unreadable`
 */
export const openRows = async (
  { name, bytes }: Source,
  {
    columns,
    maxUnpackedBytes,
  }: {
    /** Those that are read, as far as they are there; all where nothing is said. */
    readonly columns: readonly string[] | undefined;
    readonly maxUnpackedBytes: number;
  },
): Promise<Records> => {
  const opened = await opening(bytes);
  const limit = unpackedLimit(bytes.size, maxUnpackedBytes);
  if (typeof opened !== "string" && unpackedSize(opened) > limit) throw new PackedTooLarge(limit);
  return new Rows(name, { bytes, opened, columns });
};

/** What the file says of itself; a sentence where it can't be read. */
const opening = async (bytes: Bytes): Promise<FileMetaData | string> => {
  try {
    const metadata = await parquetMetadataAsync(bufferOf(bytes));
    const large = metadata.row_groups.findIndex((group) => Number(group.total_byte_size) > largestRowGroup);
    if (large < 0) return metadata;
    const mebibytes = Math.ceil(Number(metadata.row_groups[large]?.total_byte_size) / 2 ** 20);
    return `its row group ${large + 1} unpacks to ${mebibytes} MiB, and ${largestRowGroup / 2 ** 20} MiB can be held at once: write it with smaller row groups`;
  } catch (thrown) {
    return wrongOf(thrown);
  }
};

const unpackedSize = ({ row_groups }: FileMetaData): number =>
  row_groups.reduce((sum, { total_byte_size }) => sum + Number(total_byte_size), 0);

/** What is wrong with a file that could not be read. @throws what is not the file's fault */
const wrongOf = (thrown: unknown): string => {
  if (thrown instanceof Failure || thrown instanceof Shrunk) throw thrown;
  const why = thrown instanceof Error ? ` (${thrown.message})` : "";
  return `it is cut off or damaged, or written in a way that rollcall does not know${why}`;
};

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

class Rows implements Records {
  readonly #name: string;
  readonly #bytes: Bytes;
  readonly #metadata: FileMetaData | undefined;
  readonly #columns: string[] | undefined;
  readonly #ranges: readonly Range[];
  #held: (Range & { readonly columns: readonly string[] | undefined; readonly rows: readonly unknown[] }) | undefined;
  /** The record that stands for what can't be read, and its position, once it is known. */
  #wrong: { readonly cut: Cut; readonly at: number } | undefined;

  constructor(
    name: string,
    {
      bytes,
      opened,
      columns,
    }: {
      readonly bytes: Bytes;
      readonly opened: FileMetaData | string;
      readonly columns: readonly string[] | undefined;
    },
  ) {
    this.#name = name;
    this.#bytes = bytes;
    this.#metadata = typeof opened === "string" ? undefined : opened;
    this.#columns = this.#there(columns);
    let row = 0;
    this.#ranges = (this.#metadata?.row_groups ?? []).map(({ num_rows }) => {
      const start = row;
      row += Number(num_rows);
      return { start, end: row };
    });
    if (typeof opened === "string") this.#wrong = { cut: this.#cutOf(0, opened), at: 0 };
  }

  /** Those of columns that the file has. */
  #there(columns: readonly string[] | undefined): string[] | undefined {
    return columns?.filter((column) => this.#metadata?.schema.some(({ name }) => name === column));
  }

  /** The first row: who looks at it alone need not wait for all of its row group. */
  async first(): Promise<Cut | undefined> {
    if (this.#wrong !== undefined || this.#ranges.every(({ end }) => end === 0)) return this.#wrong?.cut;
    return this.#cutOf(0, await this.#hold({ start: 0, end: 1 }, this.#columns));
  }

  async *batches(named?: readonly string[]): AsyncGenerator<Iterable<Cut>, void> {
    const columns = this.#there(named) ?? this.#columns;
    // What was found to be damaged before is so from its first row on: a part of a group is none.
    if (this.#wrong !== undefined) {
      this.#wrong = { ...this.#wrong, at: 0 };
      return yield [this.#wrong.cut];
    }
    for (const range of this.#ranges) {
      const wrong = await this.#hold(range, columns);
      if (wrong !== undefined) {
        this.#wrong = { cut: this.#cutOf(range.start, wrong), at: range.start };
        return yield [this.#wrong.cut];
      }
      yield this.#cutsOf(range);
    }
  }

  *#cutsOf({ start, end }: Range): Generator<Cut, void> {
    for (let row = start; row < end; row++) yield this.#cutOf(row);
  }

  async again(position: number): Promise<Cut | undefined> {
    if (position === this.#wrong?.at) return this.#wrong.cut;
    const range = this.#ranges.find(({ start, end }) => start <= position && position < end);
    return range === undefined || (await this.#hold(range, this.#columns)) !== undefined
      ? undefined
      : this.#cutOf(position);
  }

  placeOf(position: number): Pick<Cut, "label" | "line"> {
    return { label: position === this.#wrong?.at ? this.#name : this.#labelOf(position), line: 1 };
  }

  async close(): Promise<void> {
    await this.#bytes.close();
  }

  /** Has rows in memory, in place of those before; a sentence where they can't be read. */
  async #hold({ start, end }: Range, columns: readonly string[] | undefined): Promise<string | undefined> {
    const held = this.#held;
    if (held !== undefined && held.columns === columns && held.start <= start && end <= held.end) return undefined;
    this.#held = undefined;
    if (this.#metadata === undefined) return undefined;
    try {
      const rows: readonly unknown[] = await parquetReadObjects({
        file: bufferOf(this.#bytes),
        metadata: this.#metadata,
        compressors: unpackers(),
        // Numbers in columns of JSON keep their digits.
        parsers: { stringFromBytes: textOf, jsonFromBytes: textOf },
        geoparquet: false,
        ...(columns === undefined ? {} : { columns: [...columns] }),
        rowStart: start,
        rowEnd: end,
      });
      this.#held = { start, end, columns, rows };
      return undefined;
    } catch (thrown) {
      return wrongOf(thrown);
    }
  }

  #cutOf(row: number, wrong?: string): Cut {
    if (wrong !== undefined)
      return { bytes: Buffer.alloc(0), label: this.#name, line: 1, start: 0, isMade: true, wrong };
    const columns = this.#held?.rows[row - this.#held.start];
    return new RowCut(this.#labelOf(row), isObject(columns) ? columns : {});
  }

  #labelOf(row: number): string {
    return `${this.#name}#row ${row + 1}`;
  }
}

/** Bytes of a text that is worth more to be decoded than to be kept as it stands. */
const longBytes = 64;

/** Leaves out the byte order mark that a text may begin with. */
const decoder = new TextDecoder();

/** The text of a column, undefined where it has none: a long one as it stands, since few are decoded. */
const textOf = (bytes: Uint8Array | undefined): string | TextBytes | undefined => {
  if (bytes === undefined) return undefined;
  const own = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  const isPlain = own.length > longBytes && markLength(own) === 0 && isUtf8(own);
  return isPlain ? new TextBytes(own) : decoder.decode(own);
};

const bufferOf = (bytes: Bytes) => ({
  byteLength: bytes.size,
  slice: async (start: number, end = bytes.size): Promise<ArrayBuffer> => {
    const own = await readRange(bytes, { start, length: end - start });
    return Uint8Array.from(own).buffer;
  },
});

/** What unpacks the pages of a row group, none of which holds more than it says, nor all together more than can be held. */
const unpackers = (): Compressors => {
  let left = largestRowGroup;
  const within =
    (unpack: (packed: Uint8Array, length: number) => Uint8Array) =>
    (packed: Uint8Array, length: number): Uint8Array => {
      left -= length;
      if (left < 0) throw new Error("a row group unpacks to more than it says");
      return unpack(packed, length);
    };
  return {
    SNAPPY: within((packed, length) => {
      const page = new Uint8Array(length);
      snappyUncompress(packed, page);
      return page;
    }),
    ZSTD: within(unzstd),
    GZIP: within((packed, length) => zlib.gunzipSync(packed, { maxOutputLength: Math.max(1, length) })),
    BROTLI: within((packed, length) => zlib.brotliDecompressSync(packed, { maxOutputLength: Math.max(1, length) })),
  };
};
