/** Lists in replies, read entry by entry: the reply's bytes are kept once, and an entry is decoded when it is looked at. */
import * as z from "zod/mini";
import {
  closeBracket,
  comma,
  endOfValue,
  isObject,
  members,
  openBrace,
  openBracket,
  type Span,
  skipWhite,
  textOf,
} from "../json/walk.ts";
import { asIs } from "./as-is.ts";
import { type Entries, entriesOf } from "./fields.ts";

/** A list as it stands in a reply's bytes: a value is decoded when it is looked at. */
class Undecoded {
  readonly bytes: Uint8Array;
  readonly spans: readonly Span[];
  constructor(bytes: Uint8Array, spans: readonly Span[]) {
    this.bytes = bytes;
    this.spans = spans;
  }

  at(position: number): unknown {
    const span = this.spans[position];
    return span === undefined ? undefined : JSON.parse(textOf(this.bytes, span));
  }

  /** The position of the first value that is no object. */
  firstOther(): number {
    return this.spans.findIndex(({ start }) => this.bytes[start] !== openBrace);
  }
}

/** The schemas of the entries of such lists. */
export const entrySchemas = new WeakMap<z.core.$ZodType, z.ZodMiniType>();

/** A list of objects whose fields are all read leniently, so that only what is no object can be wrong with an entry. */
export const entries = <Of extends z.ZodMiniType>(entry: Of) => {
  const list = z.pipe(
    z.custom<readonly z.input<Of>[]>((value) => value instanceof Undecoded || Array.isArray(value)),
    z.transform((value: readonly z.input<Of>[], { issues }): Entries<z.output<Of>> => {
      const values: Undecoded | readonly unknown[] = value;
      const isDecoded = !(values instanceof Undecoded);
      const other = isDecoded ? values.findIndex((one) => !isObject(one)) : values.firstOther();
      if (other >= 0) issues.push({ code: "invalid_type", expected: "object", input: value, path: [other] });
      // An entry that its schema would copy as it is, is not copied.
      const changesNothing = asIs(entry);
      const isAsIs = (one: unknown): one is z.output<Of> => changesNothing(one);
      return entriesOf(isDecoded ? values.length : values.spans.length, (position) => {
        const one = values.at(position);
        return isAsIs(one) ? one : z.parse(entry, one);
      });
    }),
  );
  entrySchemas.set(list, entry);
  return list;
};

/**
 * Reads a document whose `member` is a list, without decoding all of it at the same time: what stands around the list is
 * decoded, and each entry was, once, to know that it is JSON. Undefined where the document is not.
 */
export const readDocument = (bytes: Uint8Array, member: string): { readonly value: unknown } | undefined => {
  const holder = holderOf(bytes, member);
  if (holder === undefined || bytes[holder.start] !== openBracket) return parsed(textOf(bytes, whole(bytes)));
  const around = parsed(
    `${textOf(bytes, { start: 0, end: holder.start })}[]${textOf(bytes, whole(bytes, holder.end))}`,
  );
  const spans = entrySpans(bytes, holder);
  if (around === undefined || typeof around.value !== "object" || spans === undefined) return undefined;
  return { value: { ...around.value, [member]: new Undecoded(bytes, spans) } };
};

/** Where the value of the member stands; undefined where there is none to be found. */
const holderOf = (bytes: Uint8Array, member: string): Span | undefined => {
  const top = skipWhite(bytes, 0);
  if (bytes[top] !== openBrace) return undefined;
  try {
    return [...members(bytes, top)].findLast(({ key }) => key === member)?.value;
  } catch {
    // A key that is no JSON.
    return undefined;
  }
};

const whole = (bytes: Uint8Array, start = 0): Span => ({ start, end: bytes.length });

/** Bytes that are decoded at the same time: many entries at once take less time than one by one, and little memory. */
const batchBytes = 1 << 16;

/** Where the entries of a list stand; undefined where it is not JSON. */
const entrySpans = (bytes: Uint8Array, { start, end }: Span): readonly Span[] | undefined => {
  const spans: Span[] = [];
  let offset = skipWhite(bytes, start + 1);
  if (bytes[offset] === closeBracket) return spans;
  for (let batch = offset; ; offset = skipWhite(bytes, offset + 1)) {
    const span = { start: offset, end: endOfValue(bytes, offset) };
    spans.push(span);
    offset = skipWhite(bytes, span.end);
    const isLast = bytes[offset] === closeBracket && offset === end - 1;
    if (!isLast && bytes[offset] !== comma) return undefined;
    if (!isLast && offset - batch < batchBytes) continue;
    if (parsed(`[${textOf(bytes, { start: batch, end: offset })}]`) === undefined) return undefined;
    if (isLast) return spans;
    batch = offset + 1;
  }
};

const parsed = (text: string): { readonly value: unknown } | undefined => {
  try {
    return { value: JSON.parse(text) };
  } catch {
    return undefined;
  }
};
