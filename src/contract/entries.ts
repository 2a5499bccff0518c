/** Lists in replies, read entry by entry: the reply's bytes are kept once, and an entry is decoded when it is looked at. */
import * as z from "zod/mini";
import {
  closeBracket,
  comma,
  endOfValue,
  members,
  openBrace,
  openBracket,
  type Span,
  skipWhite,
  textOf,
} from "../json/walk.ts";
import { asIs } from "./as-is.ts";

/** The entries of a list in their order. Each is decoded and checked anew whenever it is looked at: none is kept. */
export interface Entries<Entry> extends Iterable<Entry> {
  readonly length: number;
  at(position: number): Entry | undefined;
}

/** A list as it stands in a reply's bytes. */
class Listed {
  readonly bytes: Uint8Array;
  readonly spans: readonly Span[];
  constructor(bytes: Uint8Array, spans: readonly Span[]) {
    this.bytes = bytes;
    this.spans = spans;
  }

  get length(): number {
    return this.spans.length;
  }

  value(position: number): unknown {
    const span = this.spans[position];
    return span === undefined ? undefined : JSON.parse(textOf(this.bytes, span));
  }

  /** The first entry that is no object. */
  other(): number {
    return this.spans.findIndex(({ start }) => this.bytes[start] !== openBrace);
  }
}

/** A list that was decoded as a whole. */
class Decoded {
  readonly values: readonly unknown[];
  constructor(values: readonly unknown[]) {
    this.values = values;
  }

  get length(): number {
    return this.values.length;
  }

  value(position: number): unknown {
    return this.values[position];
  }

  other(): number {
    return this.values.findIndex((value) => typeof value !== "object" || value === null || Array.isArray(value));
  }
}

/** A list of objects whose fields are all read leniently, so that only what is no object can be wrong with an entry. */
export const entries = <Of extends z.ZodMiniType>(entry: Of) =>
  z.pipe(
    z.custom<readonly z.input<Of>[]>((value) => value instanceof Listed || Array.isArray(value)),
    z.transform((value: readonly z.input<Of>[], { issues }): Entries<z.output<Of>> => {
      const list = value instanceof Listed ? value : new Decoded(value);
      const other = list.other();
      if (other >= 0) issues.push({ code: "invalid_type", expected: "object", input: value, path: [other] });
      return open(list, entry);
    }),
  );

/** Opens a list. An entry that its schema would copy as it is, is not copied. */
const open = <Of extends z.ZodMiniType>(list: Listed | Decoded, entry: Of): Entries<z.output<Of>> => {
  const changesNothing = asIs(entry);
  const isAsIs = (value: unknown): value is z.output<Of> => changesNothing(value);
  const at = (position: number): z.output<Of> => {
    const value = list.value(position);
    return isAsIs(value) ? value : z.parse(entry, value);
  };
  return {
    length: list.length,
    at: (position) => (position >= 0 && position < list.length ? at(position) : undefined),
    *[Symbol.iterator]() {
      for (let position = 0; position < list.length; position++) yield at(position);
    },
  };
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
  return { value: { ...around.value, [member]: new Listed(bytes, spans) } };
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
