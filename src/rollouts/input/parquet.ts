/** Reads the rows of a Parquet file as JSON, one row group at a time. */
import * as zlib from "node:zlib";
import * as hyparquet from "hyparquet";
import { parquetHeader } from "hyparquet/src/column.js";
import { decompressPage } from "hyparquet/src/datapage.js";
import { getMaxDefinitionLevel, getMaxRepetitionLevel, getSchemaPath } from "hyparquet/src/schema.js";
import { readVarInt } from "hyparquet/src/thrift.js";
import { Failure } from "../../failure.ts";
import { isObject } from "../../json/json-bytes.ts";
import { formatMiB } from "../../text/units.ts";
import { decodeJson, decodeText, LazyText, valueToJson } from "./column-values.ts";
import { decompressedTooLarge } from "./failures.ts";
import type { Bytes, RawRecord, ReadLimits, Records, Source } from "./source.ts";
import { openUnreadable, readRange, ShrunkSourceError, unreadableRecord } from "./source.ts";
import { decompressionLimit } from "./spool.ts";
import { unzstd } from "./zstd.ts";

/** The parsed rows of a row group can take more memory. */
const maxRowGroupBytes = 2 ** 28;

/** Row numbers in the file, from 0. `end` is exclusive. */
type RowRange = Readonly<{ start: number; end: number; group: hyparquet.RowGroup }>;

type RowFile = Readonly<{ bytes: Bytes; metadata: hyparquet.FileMetaData; columns: readonly string[] | undefined }>;

type RowOptions = Pick<RowFile, "columns"> & ReadLimits;

/** If rows are unreadable, the last record describes the defect. @throws UnusableInput; Failure `input-unreadable` */
export const openRows = async ({ name, bytes }: Source, options: RowOptions): Promise<Records> => {
  const { metadata, defect } = await readMetadata(bytes);
  const toDefectRecord = (wrong: string) => unreadableRecord({ label: name, columns: {} }, wrong);
  if (defect) return openUnreadable(toDefectRecord(defect));
  const { row_groups: groups, schema } = metadata;
  const limit = decompressionLimit(bytes.size, options.maxUnpackedBytes);
  if (groups.reduce((sum, { total_byte_size }) => sum + Number(total_byte_size), 0) > limit)
    throw decompressedTooLarge(limit, options.maxUnpackedBytes, "parquet");
  const ranges = listRanges(groups);
  const columns = options.columns?.filter((column) => schema.some((element) => element.name === column));
  const labelOf = (row: number) => `${name}#row ${row + 1}`;
  const rows = openLoader({ bytes, metadata, columns }, labelOf);
  const toRecords = function* ({ start, end }: RowRange) {
    for (let row = start; row < end; row++) yield rows.toRecord(row);
  };
  let damage: { record: RawRecord; from: number } | undefined;
  return {
    async readFirst() {
      const first = ranges.find(({ end }) => end > 0);
      const why = first && (await rows.load({ ...first, end: 1 }));
      return why ? toDefectRecord(why) : first && rows.toRecord(0);
    },
    async *batches() {
      let total = 0;
      for (const range of ranges) {
        const why = await rows.load(range);
        options.signal.throwIfAborted();
        // `total_byte_size` counts a repeated text once.
        for (const row of rows.getLoaded()?.rows ?? []) total += minJsonBytesOf(row);
        const defect = why ?? (total > limit ? `its rows decompress to more than ${formatMiB(limit)}` : undefined);
        damage = defect ? { record: toDefectRecord(defect), from: range.start } : undefined;
        if (damage) return yield [damage.record];
        yield toRecords(range);
      }
    },
    async reread(position) {
      if (position === damage?.from) return damage.record;
      const has = ({ start, end }: RowRange) => start <= position && position < end;
      const last = rows.getLoaded()?.range;
      const range = last && has(last) ? last : ranges.find(has);
      return !range || (await rows.load(range)) ? undefined : rows.toRecord(position);
    },
    locate: (position) => ({ label: position === damage?.from ? name : labelOf(position), line: 1 }),
  };
};

const listRanges = (groups: readonly hyparquet.RowGroup[]) => {
  let end = 0;
  return groups.map((group): RowRange => {
    const start = end;
    end += Number(group.num_rows);
    return { start, end, group };
  });
};

/** Reads rows, and keeps those that it read last. */
const openLoader = (file: RowFile, labelOf: (row: number) => string) => {
  const texts = hyparquet.parquetSchema(file.metadata).children.filter(hasOnlyTexts);
  let loaded: { range: RowRange; rows: readonly unknown[] } | undefined;
  return {
    getLoaded: () => loaded,
    /** Returns the defect of unreadable rows. */
    async load(range: RowRange) {
      if (loaded && loaded.range.start <= range.start && range.end <= loaded.range.end) return undefined;
      loaded = undefined;
      try {
        await checkPages(file, range.group);
        loaded = { range, rows: await readRows(file, range) };
        return undefined;
      } catch (thrown) {
        return toReason(thrown);
      }
    },
    toRecord(row: number) {
      const values = loaded?.rows[row - loaded.range.start];
      const columns = isObject(values) ? values : {};
      return {
        line: 1,
        start: 0,
        label: labelOf(row),
        columns,
        invalidText: texts.find(({ element }) => hasBytes(columns[element.name]))?.element.name,
        get bytes() {
          return Buffer.from(valueToJson(columns) ?? "null");
        },
      };
    },
  };
};

/** True if all bytes in the column are declared as text. */
const hasOnlyTexts = ({ element, children }: hyparquet.SchemaTree): boolean => {
  const isText = element.converted_type === "UTF8" || element.logical_type?.type === "STRING";
  return children.length > 0 ? children.every(hasOnlyTexts) : isText || !element.type?.endsWith("BYTE_ARRAY");
};

const hasBytes = (value: unknown): boolean => {
  if (ArrayBuffer.isView(value)) return value instanceof Uint8Array;
  if (Array.isArray(value)) return value.some(hasBytes);
  return isObject(value) && !(value instanceof LazyText) && Object.values(value).some(hasBytes);
};

const minJsonBytesOf = (value: unknown): number => {
  if (value instanceof LazyText) return value.bytes.length;
  if (typeof value === "string" || value instanceof Uint8Array) return value.length;
  const isList = Array.isArray(value);
  if (isList && ["number", "bigint"].includes(typeof value[0])) return value.length;
  if (!isList && !isObject(value)) return 1;
  return Object.values(value).reduce<number>((sum, item) => sum + minJsonBytesOf(item), isList ? value.length : 1);
};

const readMetadata = async (bytes: Bytes) => {
  const noRows: hyparquet.FileMetaData = { version: 1, schema: [], num_rows: 0n, row_groups: [], metadata_length: 0 };
  try {
    const end = await readEnd(bytes, 8);
    const footer = await readEnd(bytes, 8 + end.readUInt32LE(0));
    checkStruct(readerOf(footer));
    const metadata = hyparquet.parquetMetadata(footer);
    // hyparquet recognizes JSON by the older `converted_type`.
    for (const element of metadata.schema) if (element.logical_type?.type === "JSON") element.converted_type ??= "JSON";
    for (const [at, size] of metadata.row_groups.map(minMemoryBytesOf).entries()) {
      if (size <= maxRowGroupBytes) continue;
      const tooMuch = `${formatMiB(size)}, over the limit of ${formatMiB(maxRowGroupBytes)}`;
      const defect = `its row group ${at + 1} decompresses to ${tooMuch} (write smaller row groups)`;
      return { metadata: noRows, defect };
    }
    return { metadata };
  } catch (thrown) {
    return { metadata: noRows, defect: toReason(thrown) };
  }
};

const readEnd = async (bytes: Bytes, wanted: number) => {
  const length = Math.min(wanted, bytes.size);
  return await readRange(bytes, { start: bytes.size - length, length });
};

const minRowMemoryBytes = 200;

/** Each value takes at least 8 bytes of memory. */
const minMemoryBytesOf = ({ columns, num_rows, total_byte_size }: hyparquet.RowGroup) => {
  const values = columns.reduce((sum, { meta_data }) => sum + Number(meta_data?.num_values ?? num_rows), 0);
  return Math.max(Number(total_byte_size), 8 * values, minRowMemoryBytes * Number(num_rows));
};

const readRows = async ({ bytes, metadata, columns }: RowFile, { start: rowStart, end: rowEnd }: RowRange) => {
  let isDone = false;
  return await new Promise<readonly unknown[]>((resolve, reject) => {
    // hyparquet does not await all reads of a damaged file, and their rejections would end the process.
    const slice = (start: number, end = bytes.size) =>
      new Promise<ArrayBuffer>((deliver) => {
        readColumn(bytes, start, end - start).then((part) => isDone || deliver(Uint8Array.from(part).buffer), reject);
      });
    hyparquet
      .parquetReadObjects({
        file: { byteLength: bytes.size, slice },
        metadata,
        compressors: createDecompressors(),
        // hyparquet's parser for JSON would change the spelling of numbers.
        parsers: { stringFromBytes: decodeText, jsonFromBytes: decodeJson },
        geoparquet: false,
        ...(columns && { columns: [...columns] }),
        rowStart,
        rowEnd,
      })
      .finally(() => {
        isDone = true;
      })
      .then(resolve, reject);
  });
};

/** A value takes about 100 bytes of memory. */
const minValueLimit = 2 ** 21;
const maxValuesPerByte = 16;

/** Checks the counts in pages, because hyparquet allocates memory for any count. @throws Error */
const checkPages = async ({ bytes, metadata, columns }: RowFile, group: hyparquet.RowGroup) => {
  const compressors = createDecompressors();
  const chosen = group.columns.flatMap(({ meta_data: column }) =>
    !column || columns?.includes(column.path_in_schema[0] ?? "") === false ? [] : [column],
  );
  const values = chosen.reduce((sum, { num_values }) => sum + Number(num_values), 0);
  const size = chosen.reduce((sum, column) => sum + Math.min(bytes.size, Number(column.total_compressed_size)), 0);
  if (values > Math.max(minValueLimit, maxValuesPerByte * size))
    throw new Error(`a row group claims ${values} values in ${size} bytes`);
  for (const column of chosen) {
    const [name] = column.path_in_schema;
    const start = Number(column.dictionary_page_offset || column.data_page_offset);
    const length = Math.min(bytes.size - start, Number(column.total_compressed_size));
    let left = Number(column.num_values);
    const pageDecoder = { ...column, compressors, schemaPath: getSchemaPath(metadata.schema, column.path_in_schema) };
    const chunk = await readColumn(bytes, start, length);
    const reader = readerOf(chunk);
    while (reader.offset < length - 1) {
      checkStruct(readerOf(chunk, reader.offset));
      const header = parquetHeader(reader);
      const { data_page_header: v1, data_page_header_v2: v2, compressed_page_size: size } = header;
      // In version 2, hyparquet reads `num_values - num_nulls` values, so a negative `num_nulls` adds values.
      const count = Math.max(v1?.num_values ?? 0, (v2?.num_values ?? 0) - Math.min(0, v2?.num_nulls ?? 0));
      if (Math.max(count, header.dictionary_page_header?.num_values ?? 0) > left || !(size >= 0))
        throw new Error(`a page of the column ${name} claims more values than the column has (${column.num_values})`);
      checkRuns(chunk.subarray(reader.offset, reader.offset + size), header, pageDecoder);
      left -= count;
      reader.offset += size;
    }
  }
};

const readerOf = (bytes: Uint8Array, offset = 0) => ({
  view: new DataView(bytes.buffer, bytes.byteOffset, bytes.length),
  offset,
});

/** Limits all lists of a footer or page header together. An element takes up to 200 bytes of memory. */
const maxListElements = 2 ** 20;

/** Checks list lengths in Thrift's compact protocol. hyparquet allocates a list before reading the elements. */
const checkStruct = (reader: hyparquet.DataReader, lists = { left: maxListElements }) => {
  while (reader.offset < reader.view.byteLength) {
    const field = reader.view.getUint8(reader.offset++);
    if ((field & 15) === 0) return;
    if (field >> 4 === 0) readInteger(reader);
    checkElement(reader, field & 15, lists);
  }
};

const checkElement = (reader: hyparquet.DataReader, type: number, lists: { left: number }) => {
  if (type === 3) reader.offset += 1;
  else if (type >= 4 && type <= 6) readInteger(reader);
  else if (type === 7) reader.offset += 8;
  else if (type === 8) {
    const length = readInteger(reader);
    reader.offset += length;
  } else if (type === 12) checkStruct(reader, lists);
  else if (type === 9) {
    const list = reader.view.getUint8(reader.offset++);
    const count = list >> 4 === 15 ? readInteger(reader) : list >> 4;
    lists.left -= count;
    if (lists.left < 0) throw new Error(`its lists claim more than ${maxListElements} elements`);
    // A boolean takes one byte in a list, but no byte in a field.
    for (let at = 0; at < count; at++) checkElement(reader, Math.max(3, list & 15), lists);
  }
};

const readInteger = (reader: hyparquet.DataReader) => {
  const start = reader.offset;
  const integer = readVarInt(reader) >>> 0;
  if (reader.offset - start > maxNumberBytes) throw new Error("a number is too long");
  return integer;
};

/** The maximum length of a 64-bit varint in bytes. */
const maxNumberBytes = 10;

type PageDecoder = Pick<hyparquet.ColumnMetaData, "type" | "codec"> &
  Readonly<{ compressors: hyparquet.Compressors; schemaPath: hyparquet.SchemaTree[] }>;

/** @throws Error if levels, dictionary indexes or booleans claim too many values */
const checkRuns = (page: Uint8Array, pageHeader: hyparquet.PageHeader, decoder: PageDecoder) => {
  const { type, codec, compressors, schemaPath } = decoder;
  const v2 = pageHeader.type === "DATA_PAGE_V2" ? pageHeader.data_page_header_v2 : undefined;
  const header = pageHeader.type === "DATA_PAGE" ? pageHeader.data_page_header : v2;
  if (!header) return;
  const { num_values: count, encoding } = header;
  if (encoding === "DELTA_BYTE_ARRAY") throw new Error(`parquet unsupported encoding: ${encoding}`);
  const size = Number(pageHeader.uncompressed_page_size);
  const levels = [getMaxRepetitionLevel(schemaPath), getMaxDefinitionLevel(schemaPath)];
  // In version 2, levels are uncompressed.
  const lengths = v2 && [v2.repetition_levels_byte_length, v2.definition_levels_byte_length];
  const content = v2 ? page : decompressPage(page, size, codec, compressors);
  let at = 0;
  for (const [order, level] of levels.entries()) {
    const given = lengths?.[order];
    const start = given === undefined ? at + 4 : at;
    if (level > 0) checkRunLengths(readerOf(content, start), { width: 32 - Math.clz32(level), count });
    if (level > 0) at = start + (given ?? readerOf(content).view.getUint32(at, true));
    else if (order === 0) at += given ?? 0;
  }
  const isBoolean = v2 ? encoding === "RLE" : type === "BOOLEAN";
  if (encoding !== "RLE" && !encoding.endsWith("_DICTIONARY")) return;
  const isCompressed = v2 && v2.is_compressed !== false;
  const levelBytes = lengths?.reduce((sum, length) => sum + length, 0) ?? 0;
  const valueBytes = content.subarray(at);
  const values = isCompressed ? decompressPage(valueBytes, size - levelBytes, codec, compressors) : valueBytes;
  checkRunLengths(readerOf(values, isBoolean ? 4 : 1), { width: isBoolean ? 1 : (values[0] ?? 0), count });
};

/** The last run of a page can have padding. */
const maxPaddedValues = 2 ** 10;

const checkRunLengths = (reader: hyparquet.DataReader, { width, count }: { width: number; count: number }) => {
  for (let left = count; left > 0 && reader.offset < reader.view.byteLength; ) {
    const header = readVarInt(reader);
    const isPacked = (header & 1) === 1;
    const length = isPacked ? (header >> 1) * 8 : header >>> 1;
    if (length < 0 || length > left + maxPaddedValues)
      throw new Error(`a run of a page claims ${length >>> 0} values, but the page has ${count}`);
    left -= length;
    reader.offset += isPacked ? Math.max(1, (length * width) / 8) : (width + 7) >> 3;
  }
};

const toReason = (thrown: unknown) => {
  if (thrown instanceof Failure || thrown instanceof ShrunkSourceError) throw thrown;
  const why = thrown instanceof Error && thrown.name === "Error" ? ` (${thrown.message})` : "";
  return `it is cut off or damaged, or uses a Parquet feature that rollcall does not support${why}`;
};

const readColumn = async (bytes: Bytes, start: number, length: number) => {
  if (!(start >= 0 && length >= 0 && start + length <= bytes.size)) throw new Error("a column is outside of the file");
  return await readRange(bytes, { start, length });
};

const createDecompressors = (): hyparquet.Compressors => {
  let left = maxRowGroupBytes;
  const takeBytes = (length: number) => {
    left -= length;
    if (left < 0) throw new Error("a row group decompresses to more than it declares");
    return length;
  };
  const zlibOptions = (length: number) => ({ maxOutputLength: Math.max(1, takeBytes(length)) });
  return {
    SNAPPY: (compressed, length) => {
      const page = new Uint8Array(takeBytes(length));
      hyparquet.snappyUncompress(compressed, page);
      return page;
    },
    ZSTD: (page, length) => unzstd(page, takeBytes(length)),
    GZIP: (page, length) => zlib.gunzipSync(page, zlibOptions(length)),
    BROTLI: (page, length) => zlib.brotliDecompressSync(page, zlibOptions(length)),
  };
};
