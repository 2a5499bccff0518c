/** Decodes texts of Parquet files, and converts rows to JSON. */
import { isUtf8 } from "node:buffer";
import { bomLength, isObject, toBuffer } from "../../json/json-bytes.ts";
import { findFault } from "../../json/reader.ts";

export type Columns = Readonly<Record<string, unknown>>;

export class LazyText {
  readonly bytes: Buffer;
  constructor(bytes: Buffer) {
    this.bytes = bytes;
  }
}

class LazyJson extends LazyText {}

/** Keeps all digits of 64-bit integers. */
export const valueToJson = (value: unknown): string | undefined => {
  if (value === undefined || value === null) return undefined;
  if (typeof value === "number" && !Number.isFinite(value)) return `"${value}"`;
  if (typeof value === "bigint" || typeof value === "number") return Object.is(value, -0) ? "-0" : String(value);
  if (value instanceof LazyJson && !findFault(value.bytes)) return value.bytes.toString("utf8");
  if (value instanceof LazyText) return JSON.stringify(value.bytes.toString("utf8"));
  if (value instanceof Date) return JSON.stringify(value);
  if (value instanceof Uint8Array) return JSON.stringify(Buffer.from(value).toString("base64"));
  if (ArrayBuffer.isView(value)) return valueToJson(Array.from(Object.values(value)));
  if (Array.isArray(value)) return `[${value.map((item: unknown) => valueToJson(item) ?? "null").join(",")}]`;
  if (!isObject(value)) return JSON.stringify(value);
  const members = Object.entries(value).flatMap(([key, member]) => {
    const json = valueToJson(member);
    return json === undefined ? [] : `${JSON.stringify(key)}:${json}`;
  });
  return `{${members.join(",")}}`;
};

/** Converts a row to JSON, and returns the undecoded text of the named column separately. */
export const extractText = (columns: Columns, name: string) => {
  const value = columns[name];
  const isLong = value instanceof LazyText;
  const bytes = Buffer.from(valueToJson(isLong ? { ...columns, [name]: "" } : columns) ?? "{}");
  return { bytes, texts: isLong ? new Map([[name, value.bytes]]) : undefined };
};

/** Longer texts stay as bytes, because few of them are needed. */
const maxDecodedBytes = 64;

const bomRemovingDecoder = new TextDecoder();

/** Returns the bytes if they are not text, such as an image's. */
export const decodeText = (bytes: Uint8Array | undefined) => {
  if (!bytes) return undefined;
  const text = toBuffer(bytes);
  if (!isUtf8(text)) return text;
  const isLazy = text.length > maxDecodedBytes && bomLength(text) === 0;
  return isLazy ? new LazyText(text) : bomRemovingDecoder.decode(text);
};

export const decodeJson = (bytes: Uint8Array | undefined) => {
  const text = bytes && toBuffer(bytes);
  return text && isUtf8(text) ? new LazyJson(text) : decodeText(bytes);
};
