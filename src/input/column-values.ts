/** Decodes the texts in columns of a Parquet file, and converts rows to JSON. */
import { isUtf8 } from "node:buffer";
import { findFault } from "../json/reader.ts";
import { bomLength, isObject, toBuffer } from "../json/walk.ts";

export type Columns = Readonly<Record<string, unknown>>;

/** A text of a column, which is decoded on demand. */
export class LazyText {
  readonly bytes: Buffer;
  #text: string | undefined;

  /** @param bytes UTF-8 */
  constructor(bytes: Buffer) {
    this.bytes = bytes;
  }

  get text(): string {
    this.#text ??= this.bytes.toString("utf8");
    return this.#text;
  }
}

export class LazyJson extends LazyText {}

/** Converts a value or a row to JSON with all digits of 64-bit integers. Returns undefined for null. */
export const columnToJson = (value: unknown): string | undefined => {
  if (value === undefined || value === null) return undefined;
  if (typeof value === "bigint") return String(value);
  if (typeof value === "number") return numberToJson(value);
  if (value instanceof LazyJson && findFault(value.bytes) === undefined) return value.text;
  if (value instanceof LazyText) return JSON.stringify(value.text);
  if (value instanceof Date) return JSON.stringify(value);
  if (value instanceof Uint8Array) return JSON.stringify(Buffer.from(value).toString("base64"));
  if (ArrayBuffer.isView(value)) return columnToJson(Array.from(Object.values(value)));
  if (Array.isArray(value)) return `[${value.map((item: unknown) => columnToJson(item) ?? "null").join(",")}]`;
  if (!isObject(value)) return JSON.stringify(value);
  const members = Object.entries(value).flatMap(([key, member]) => {
    const json = columnToJson(member);
    return json === undefined ? [] : `${JSON.stringify(key)}:${json}`;
  });
  return `{${members.join(",")}}`;
};

const numberToJson = (value: number) =>
  Number.isFinite(value) ? (Object.is(value, -0) ? "-0" : String(value)) : JSON.stringify(String(value));

/** Converts a row to JSON in which the long texts of the named columns are empty. Returns these texts by column. */
export const extractTexts = (columns: Columns, names: readonly string[]) => {
  const texts = new Map<string, Buffer>();
  let json = "";
  for (const name in columns) {
    const value = columns[name];
    const isExtracted = value instanceof LazyText && names.includes(name);
    if (isExtracted) texts.set(name, value.bytes);
    const valueJson = isExtracted ? '""' : columnToJson(value);
    if (valueJson !== undefined) json += `${json === "" ? "{" : ","}${JSON.stringify(name)}:${valueJson}`;
  }
  return { bytes: Buffer.from(json === "" ? "{}" : `${json}}`), texts };
};

/** Longer texts are decoded on demand (`LazyText`), because few of them are needed. */
const maxDecodedBytes = 64;

/** Removes a byte order mark. */
const utf8Decoder = new TextDecoder();

export const decodeText = (bytes: Uint8Array | undefined): string | LazyText | undefined => {
  if (bytes === undefined) return undefined;
  const text = toBuffer(bytes);
  const isLazy = text.length > maxDecodedBytes && bomLength(text) === 0 && isUtf8(text);
  return isLazy ? new LazyText(text) : utf8Decoder.decode(text);
};

export const decodeJson = (bytes: Uint8Array | undefined): unknown => {
  const text = bytes && toBuffer(bytes);
  return text !== undefined && isUtf8(text) ? new LazyJson(text) : decodeText(bytes);
};
