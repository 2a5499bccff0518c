/** The members of JSON objects as they were written, to be spliced into other JSON. */
import {
  elementSpans,
  isWhite,
  memberSpans,
  newline,
  openBrace,
  openBracket,
  quote,
  type Span,
  skipWhite,
  wholeOf,
} from "../json/walk.ts";

/** JSON bytes of one value, as they were written. */
export type Raw = Uint8Array;

type RawKind = "object" | "list" | "text" | "number" | "word";

/** The members of an object by their keys, of one that stands twice the last; none of anything else. */
export const fieldsOf = (raw: Raw = nothing): ReadonlyMap<string, Raw> =>
  new Map(Array.from(memberSpans(raw, wholeOf(raw)), ([key, span]) => [key, cutOut(raw, span)]));

/** The items of a list; undefined for anything else. */
export const itemsOfRaw = (raw: Raw = nothing): readonly Raw[] | undefined =>
  kindOf(raw) === "list" ? elementSpans(raw, wholeOf(raw)).map((span) => cutOut(raw, span)) : undefined;

const nothing: Raw = Buffer.from("null");

const cutOut = (raw: Raw, { start, end }: Span): Raw => raw.subarray(start, end);

const kinds: Readonly<Record<number, RawKind>> = {
  [openBrace]: "object",
  [openBracket]: "list",
  [quote]: "text",
  116: "word",
  102: "word",
  110: "word",
};

/** What kind of value it is. */
export const kindOf = (raw: Raw): RawKind => kinds[raw[skipWhite(raw, 0)] ?? 0] ?? "number";

/** Whether a member is absent or null. */
export const isNone = (raw: Raw | undefined): raw is undefined => raw === undefined || raw[skipWhite(raw, 0)] === 0x6e;

/** The text of a value that is one. */
export const textIn = (raw: Raw | undefined): string | undefined => {
  if (raw === undefined || kindOf(raw) !== "text") return undefined;
  const value: unknown = JSON.parse(Buffer.from(raw).toString());
  return typeof value === "string" ? value : undefined;
};

const carriageReturn = 0x0d;

/** A value on one line: only line ends go, which in JSON can stand outside its texts alone, and white space behind them. */
const onOneLine = (raw: Raw): Raw => {
  if (!raw.includes(newline) && !raw.includes(carriageReturn)) return raw;
  const line = Buffer.allocUnsafe(raw.length);
  let length = 0;
  let behind = false;
  for (const byte of raw) {
    if (byte === newline || byte === carriageReturn) behind = true;
    else if (!behind || !isWhite(byte)) {
      behind = false;
      line[length++] = byte;
    }
  }
  return line.subarray(0, length);
};

const bytesOf = (text: string): Raw => Buffer.from(text);

/** An object of raw values, in this order; what has none is left out. */
export const objectOf = (entries: readonly (readonly [key: string, value: Raw | undefined])[]): Raw => {
  const pieces: Raw[] = [];
  for (const [key, value] of entries) {
    if (value === undefined) continue;
    pieces.push(bytesOf(`${pieces.length === 0 ? "{" : ","}${JSON.stringify(key)}:`), onOneLine(value));
  }
  return pieces.length === 0 ? bytesOf("{}") : Buffer.concat([...pieces, bytesOf("}")]);
};

/** A list of raw values. */
export const listOf = (items: readonly Raw[]): Raw =>
  Buffer.concat([
    bytesOf("["),
    ...items.flatMap((item, at) => (at === 0 ? [onOneLine(item)] : [bytesOf(","), onOneLine(item)])),
    bytesOf("]"),
  ]);

/** A text as JSON. */
export const rawText = (text: string): Raw => bytesOf(JSON.stringify(text));
