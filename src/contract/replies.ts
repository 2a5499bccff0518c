/** Reads replies of the service, strict about lists and objects, tolerant of fields. Decodes values on access. */
import * as table from "../json/table.ts";
import {
  isObject,
  type JsonObject,
  listElementSpans,
  openBrace,
  openBracket,
  type Span,
  sliceText,
} from "../json/walk.ts";

/** A value whose type differs from the interface. It is shown unchanged, and never used in a calculation. */
export class MistypedValue {
  readonly value: unknown;
  constructor(value: unknown) {
    this.value = value;
  }
}

/** The value of a field. Each field may be absent or null. */
export type Field<Value> = Value | MistypedValue | null | undefined;

/** Returns the value of a field; undefined if it is absent, null or mistyped. */
export const typedValue = <Value>(value: Field<Value>): Value | undefined =>
  value instanceof MistypedValue || value === null ? undefined : value;

/** Returns the names of an object's mistyped fields. */
export const mistypedNames = (object: object): readonly string[] =>
  Object.entries(object).flatMap(([name, value]) => (value instanceof MistypedValue ? [name] : []));

interface FieldType<Value> {
  /** Its JSON Schema (draft 2020-12). */
  readonly schema: JsonObject;
  /** Returns the value, or a copy with its mistyped parts as `MistypedValue`. */
  readonly read: (value: unknown) => Value | MistypedValue;
}

export type ValueOf<Of> = Of extends FieldType<infer Value> ? Value : never;

const defineType = <Value>(schema: JsonObject, isOfType: (value: unknown) => value is Value): FieldType<Value> => ({
  schema,
  read: (value) => (isOfType(value) ? value : new MistypedValue(value)),
});

const isText = (value: unknown): value is string => typeof value === "string";
// JSON.parse reads a number that is too large for a double as infinite.
const isNumber = (value: unknown): value is number => Number.isFinite(value);
const isTexts = (value: unknown): value is readonly string[] => Array.isArray(value) && value.every(isText);

export const text = defineType({ type: "string" }, isText);

/** A whole number. Fractions are accepted, too. */
export const integer = defineType({ type: "integer" }, isNumber);

export const texts = defineType({ type: "array", items: { type: "string" } }, isTexts);

/** An object with any members. */
export const freeObject = defineType({ type: "object", additionalProperties: {} }, isObject);

export const anything = defineType({}, (_: unknown): _ is unknown => true);

export const withDescription = <Value>({ schema, read }: FieldType<Value>, description: string): FieldType<Value> => {
  const { type, ...others } = schema;
  return { schema: { type, description, ...others }, read };
};

/** The types of an object's fields. Other fields are accepted. */
type Shape = Readonly<Record<string, FieldType<unknown>>>;

type ObjectValue<Of extends Shape> = JsonObject & { readonly [Name in keyof Of]?: Field<ValueOf<Of[Name]>> };

export const object = <Of extends Shape>(shape: Of): FieldType<ObjectValue<Of>> => {
  const fields = Object.entries(shape);
  const properties = fields.map(([name, { schema }]) => {
    return [name, schema.type === undefined ? schema : { ...schema, type: [schema.type, "null"] }] as const;
  });
  const findChanges = (value: JsonObject): readonly (readonly [string, unknown])[] => {
    const changes: [string, unknown][] = [];
    for (const [name, { read }] of fields) {
      const was = value[name];
      const is = was === undefined || was === null || was instanceof MistypedValue ? was : read(was);
      if (is !== was) changes.push([name, is]);
    }
    return changes;
  };
  const hasShape = (value: JsonObject, changes: readonly unknown[]): value is ObjectValue<Of> =>
    isObject(value) && changes.length === 0;
  return {
    schema: { type: "object", properties: Object.fromEntries(properties) },
    read: (value) => {
      if (!isObject(value)) return new MistypedValue(value);
      const changes = findChanges(value);
      if (hasShape(value, changes)) return value;
      const mistyped = Object.fromEntries(changes);
      // The mistyped fields come first, in the order of the interface.
      const changed = { ...mistyped, ...value, ...mistyped };
      return hasShape(changed, []) ? changed : new MistypedValue(value);
    },
  };
};

export const listOf = <Value>({ schema, read }: FieldType<Value>): FieldType<readonly Value[]> => ({
  schema: { type: "array", items: schema },
  read: (value) => {
    if (!Array.isArray(value)) return new MistypedValue(value);
    const isItem = (item: unknown): item is Value => read(item) === item;
    if (value.every(isItem)) return value;
    const items = value.flatMap((item: unknown): readonly Value[] => {
      const found = read(item);
      return found instanceof MistypedValue ? [] : [found];
    });
    return items.length === value.length ? items : new MistypedValue(value);
  },
});

/** The value of a reply, or the dotted path of an invalid part; undefined if the bytes are not JSON. */
type ReplyResult<Value> = { readonly value: Value } | { readonly invalidPath: string } | undefined;

export type ReplyReader<Value> = (bytes: Uint8Array) => ReplyResult<Value>;

/** Objects that are decoded at each access. */
export interface Entries<Entry> extends Iterable<Entry> {
  readonly length: number;
  at(position: number): Entry | undefined;
}

export const toEntries = <Entry>(length: number, entryAt: (position: number) => Entry): Entries<Entry> => ({
  length,
  at: (position) => (position >= 0 && position < length ? entryAt(position) : undefined),
  *[Symbol.iterator]() {
    for (let position = 0; position < length; position++) yield entryAt(position);
  },
});

/** Converts entries at each access. */
export const mapEntries = <From, To>(entries: Entries<From>, change: (entry: From) => To): Entries<To> => ({
  length: entries.length,
  at(position) {
    const entry = entries.at(position);
    return entry === undefined ? undefined : change(entry);
  },
  *[Symbol.iterator]() {
    for (const entry of entries) yield change(entry);
  },
});

/** The objects in the list of a reply, without null elements. */
export interface ReplyList<Entry> extends Entries<Entry> {
  readonly bytes: Uint8Array;
  bytesAt(position: number): Uint8Array;
  /** The elements of the list, and the position of each entry among them. */
  readonly elements: readonly Span[];
  readonly positions: readonly number[];
  readonly nulls: number;
  /** Assumed: `has_more` marks a list with pages. The interface cannot request the next page. */
  readonly hasMore: boolean;
}

const readListRoot = table.openRootReader(["data"]);

/** Reads `{"data":[{…},…]}`. */
export const listReader =
  <Value>({ read }: FieldType<Value>): ReplyReader<ReplyList<Value>> =>
  (bytes) => {
    const root = readListRoot(bytes);
    const data = table.memberAt(root, "data");
    if (root === undefined) return undefined;
    if (data === undefined) return { invalidPath: table.firstByteOf(root) === openBrace ? "data" : "" };
    if (table.firstByteOf(data) !== openBracket) return { invalidPath: "data" };
    const spans: Span[] = [];
    const positions: number[] = [];
    const elements = listElementSpans(bytes, table.spanOf(data));
    for (const [position, span] of elements.entries()) {
      if (bytes[span.start] === letterN) continue;
      if (bytes[span.start] !== openBrace) return { invalidPath: `data.${position}` };
      spans.push(span);
      positions.push(position);
    }
    const bytesAt = (position: number) => {
      const { start, end } = spans[position] ?? { start: 0, end: 0 };
      return bytes.subarray(start, end);
    };
    const entries = toEntries(spans.length, (position): Value => {
      const value = read(JSON.parse(sliceText(bytes, spans[position] ?? { start: 0, end: 0 })));
      if (value instanceof MistypedValue) throw new TypeError(`entry ${position} is not an object`);
      return value;
    });
    const more = table.memberAt(root, "has_more");
    const hasMore = more !== undefined && table.parseValue(more) === true;
    const nulls = elements.length - spans.length;
    return { value: { ...entries, bytes, bytesAt, elements, positions, nulls, hasMore } };
  };

/** The first byte of `null`. */
const letterN = 0x6e;

/** Reads `{"<member>":{…}}`, or null instead of the object. Its bytes are the value, because it can be many megabytes long. */
export const objectReader =
  (member: string): ReplyReader<Uint8Array | null> =>
  (bytes) => {
    const root = table.readRoot(bytes);
    if (root === undefined) return undefined;
    const json = table.memberAt(root, member);
    if (json === undefined) return { invalidPath: table.firstByteOf(root) === openBrace ? member : "" };
    if (table.firstByteOf(json) === letterN) return { value: null };
    if (table.firstByteOf(json) !== openBrace) return { invalidPath: member };
    const { start, end } = table.spanOf(json);
    return { value: bytes.subarray(start, end) };
  };
