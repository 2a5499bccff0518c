/** Lists in replies, read entry by entry: the reply's bytes are kept once, and an entry is decoded when it is looked at. */
import * as z from "zod/mini";
import { childrenOf, firstByteOf, memberAt, type Place, rootOf, spanOf } from "../json/table.ts";
import { isObject, openBrace, openBracket, parsedJson, type Span, textOf } from "../json/walk.ts";
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

  get length(): number {
    return this.spans.length;
  }

  at(position: number): unknown {
    const span = this.spans[position];
    return span === undefined ? undefined : JSON.parse(textOf(this.bytes, span));
  }

  isObject(position: number): boolean {
    return this.bytes[this.spans[position]?.start ?? -1] === openBrace;
  }

  isNull(position: number): boolean {
    return this.bytes[this.spans[position]?.start ?? -1] === letterN;
  }
}

/** What `null` begins with, and no other value. */
const letterN = 0x6e;

/** The schemas of the entries of such lists. */
export const entrySchemas = new WeakMap<z.core.$ZodType, z.ZodMiniType>();

/** A list of objects whose fields are all read leniently, so that only what is no object can be wrong with an entry. */
export const entries = <Of extends z.ZodMiniType>(entry: Of) => {
  const list = z.pipe(
    z.custom<readonly z.input<Of>[]>((value) => value instanceof Undecoded || Array.isArray(value)),
    z.transform((value: readonly z.input<Of>[], { issues }): Entries<z.output<Of>> => {
      const values: Undecoded | readonly unknown[] = value;
      const isDecoded = !(values instanceof Undecoded);
      const positions = Array.from({ length: values.length }, (_, at) => at).filter((at) =>
        isDecoded ? values[at] !== null : !values.isNull(at),
      );
      const other = positions.find((at) => !(isDecoded ? isObject(values[at]) : values.isObject(at)));
      if (other !== undefined) issues.push({ code: "invalid_type", expected: "object", input: value, path: [other] });
      // An entry that its schema would copy as it is, is not copied.
      const changesNothing = asIs(entry);
      const isAsIs = (one: unknown): one is z.output<Of> => changesNothing(one);
      const found = entriesOf(positions.length, (position) => {
        const one = values.at(positions[position] ?? values.length);
        return isAsIs(one) ? one : z.parse(entry, one);
      });
      return { ...found, nulls: values.length - positions.length };
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
  const root = rootOf(bytes);
  if (root === undefined) return undefined;
  const list = memberAt(root, member);
  if (list === undefined || firstByteOf(list) !== openBracket) return parsedJson(textOf(bytes, whole(bytes)));
  const value: unknown = JSON.parse(around(bytes, list, "[]"));
  return isObject(value) ? { value: { ...value, [member]: new Undecoded(bytes, entrySpans(list)) } } : undefined;
};

/**
 * Reads a document as far as the fields of what it holds: what is in a field is found to be JSON, and not decoded, so that a
 * call of many megabytes is there once. Undefined where the document is not JSON.
 */
export const readOutline = (bytes: Uint8Array): { readonly value: unknown } | undefined => {
  const root = rootOf(bytes);
  return root && { value: outlineOf(root, 2) };
};

const outlineOf = (place: Place, levels: number): unknown => {
  const first = firstByteOf(place);
  if (first === openBracket) return [];
  if (first !== openBrace) return JSON.parse(textOf(place.text.bytes, spanOf(place)));
  const inside = levels === 0 ? [] : childrenOf(place);
  return Object.fromEntries(Array.from(inside, ([key, value]) => [key, outlineOf(value, levels - 1)]));
};

/** The document without what is `null` in its list, so that entries stand where `entries` counts them. */
export const withoutNulls = (bytes: Uint8Array, member: string): Uint8Array => {
  const root = rootOf(bytes);
  const list = root && memberAt(root, member);
  if (list === undefined || firstByteOf(list) !== openBracket) return bytes;
  const kept = entrySpans(list).filter(({ start }) => bytes[start] !== letterN);
  return Buffer.from(around(bytes, list, `[${kept.map((span) => textOf(bytes, span)).join(",")}]`));
};

/** A document with something else in place of a value. */
const around = (bytes: Uint8Array, value: Place, instead: string): string => {
  const { start, end } = spanOf(value);
  return `${textOf(bytes, { start: 0, end: start })}${instead}${textOf(bytes, whole(bytes, end))}`;
};

const whole = (bytes: Uint8Array, start = 0): Span => ({ start, end: bytes.length });

/** Where the entries of a list stand. */
const entrySpans = (list: Place): readonly Span[] => Array.from(childrenOf(list), ([, entry]) => spanOf(entry));
