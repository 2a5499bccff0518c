/** Reads replies of the service into values over their bytes: strict about what is around its objects, tolerant of their fields. */
import {
  childrenOf,
  firstByteOf,
  type JsonValue,
  memberAt,
  parseValue,
  readRoot,
  readRootWithLeaf,
  spanOf,
} from "../json/table.ts";
import {
  isObject,
  type JsonObject,
  listElementSpans,
  openBrace,
  openBracket,
  type Span,
  sliceText,
} from "../json/walk.ts";

/** A value that is not of the interface's type: shown as it came, never calculated with. */
export class MistypedValue {
  readonly value: unknown;
  constructor(value: unknown) {
    this.value = value;
  }
}

/** The value of a field. Each field may be absent or null. */
export type Field<Value> = Value | MistypedValue | null | undefined;

/** The value of a field if it is of its type. */
export const typedValue = <Value>(value: Field<Value>): Value | undefined =>
  value instanceof MistypedValue || value === null ? undefined : value;

/** The names of an object's fields that are not of their types. */
export const mistypedNames = (object: object): readonly string[] =>
  Object.entries(object).flatMap(([name, value]) => (value instanceof MistypedValue ? [name] : []));

/** A type of the interface. */
interface FieldType<Value> {
  /** Its JSON Schema, a part of one of draft 2020-12. */
  readonly schema: JsonObject;
  /** Returns the value itself, or a copy with what is not of its type as `MistypedValue`. */
  readonly read: (value: unknown) => Value | MistypedValue;
}

/** The value of a type. */
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

/** A number that the interface says is whole. Others are taken too. */
export const integer = defineType({ type: "integer" }, isNumber);

export const texts = defineType({ type: "array", items: { type: "string" } }, isTexts);

/** An object of anything. */
export const freeObject = defineType({ type: "object", additionalProperties: {} }, isObject);

export const anything = defineType({}, (_: unknown): _ is unknown => true);

/** A type with a description. */
export const withDescription = <Value>({ schema, read }: FieldType<Value>, description: string): FieldType<Value> => {
  const { type, ...others } = schema;
  return { schema: { type, description, ...others }, read };
};

/** The types of an object's fields. It may have other fields too. */
type Shape = Readonly<Record<string, FieldType<unknown>>>;

type ObjectValue<Of extends Shape> = JsonObject & { readonly [Name in keyof Of]?: Field<ValueOf<Of[Name]>> };

/** An object of the interface. */
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
  // `changes` are what is still to be changed in the value.
  const hasShape = (value: JsonObject, changes: readonly unknown[]): value is ObjectValue<Of> =>
    isObject(value) && changes.length === 0;
  return {
    schema: { type: "object", properties: Object.fromEntries(properties) },
    read: (value) => {
      if (!isObject(value)) return new MistypedValue(value);
      const changes = findChanges(value);
      if (hasShape(value, changes)) return value;
      const mistyped = Object.fromEntries(changes);
      // First in the order of the interface.
      const changed = { ...mistyped, ...value, ...mistyped };
      return hasShape(changed, []) ? changed : new MistypedValue(value);
    },
  };
};

/** A list of objects. */
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

/** A reply that was read: its value, or the dotted path of what has another shape; undefined if the bytes are not JSON. */
type ReplyResult<Value> = { readonly value: Value } | { readonly wrongAt: string } | undefined;

/** Reads the bytes of a reply. */
export type ReplyReader<Value> = (bytes: Uint8Array) => ReplyResult<Value>;

/** Objects in their order. Each is decoded again whenever it is looked at, and none is kept. */
export interface Entries<Entry> extends Iterable<Entry> {
  readonly length: number;
  at(position: number): Entry | undefined;
}

/** Entries that `entryAt` makes when they are looked at. */
export const toEntries = <Entry>(length: number, entryAt: (position: number) => Entry): Entries<Entry> => ({
  length,
  at: (position) => (position >= 0 && position < length ? entryAt(position) : undefined),
  *[Symbol.iterator]() {
    for (let position = 0; position < length; position++) yield entryAt(position);
  },
});

/** The same entries, each as `change` makes it when it is looked at. */
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

/** The objects of a list in a reply. Elements that are null are not among them. */
export interface ReplyList<Entry> extends Entries<Entry> {
  /** The reply. */
  readonly bytes: Uint8Array;
  /** Returns an entry as the service spelled it. */
  bytesAt(position: number): Uint8Array;
  /** The bytes of each element in the list of the reply, and the position of each entry among them. */
  readonly elements: readonly Span[];
  readonly positions: readonly number[];
  /** Elements that are null. */
  readonly nulls: number;
  /** Assumed: a service that pages its list says so as others do. The interface has no way to ask for the next page. */
  readonly hasMore: boolean;
}

/** Reads `{"data":[{…},…]}`. */
export const listReader =
  <Value>({ read }: FieldType<Value>): ReplyReader<ReplyList<Value>> =>
  (bytes) => {
    const root = readRootWithLeaf("data", bytes);
    const data = memberAt(root, "data");
    if (root === undefined) return undefined;
    if (data === undefined) return { wrongAt: firstByteOf(root) === openBrace ? "data" : "" };
    if (firstByteOf(data) !== openBracket) return { wrongAt: "data" };
    const spans: Span[] = [];
    const positions: number[] = [];
    const elements = listElementSpans(bytes, spanOf(data));
    for (const [position, span] of elements.entries()) {
      if (bytes[span.start] === letterN) continue;
      if (bytes[span.start] !== openBrace) return { wrongAt: `data.${position}` };
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
    const more = memberAt(root, "has_more");
    const hasMore = more !== undefined && parseValue(more) === true;
    const nulls = elements.length - spans.length;
    return { value: { ...entries, bytes, bytesAt, elements, positions, nulls, hasMore } };
  };

const isNull = (place: JsonValue): boolean => firstByteOf(place) === letterN;

/** The first byte of `null`, and of no other value. */
const letterN = 0x6e;

/** An object in a reply whose content stays bytes: one of many megabytes is in memory once. */
interface ReplyObject {
  readonly bytes: Uint8Array;
  readonly mistyped: readonly string[];
}

/** Reads `{"<member>":{…}}`, or null in place of the object. */
export const objectReader =
  ({ read }: FieldType<object>, member: string): ReplyReader<ReplyObject | null> =>
  (bytes) => {
    const root = readRoot(bytes);
    if (root === undefined) return undefined;
    const place = memberAt(root, member);
    if (place !== undefined && isNull(place)) return { value: null };
    if (place === undefined) return { wrongAt: firstByteOf(root) === openBrace ? member : "" };
    const outline = read(readOutline(place));
    if (outline instanceof MistypedValue) return { wrongAt: member };
    const { start, end } = spanOf(place);
    return { value: { bytes: bytes.subarray(start, end), mistyped: mistypedNames(outline) } };
  };

/** The fields of an object, with nothing in those that are objects or lists. */
const readOutline = (place: JsonValue): unknown =>
  firstByteOf(place) === openBrace
    ? Object.fromEntries(Array.from(childrenOf(place), ([name, field]) => [name, emptyIfNested(field)]))
    : undefined;

const emptyIfNested = (place: JsonValue): unknown => {
  const first = firstByteOf(place);
  return first === openBrace ? {} : first === openBracket ? [] : parseValue(place);
};
