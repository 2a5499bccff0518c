/** Reads replies of the service. Requires the lists and objects of the interface, but accepts mistyped fields. */
import * as z from "zod/mini";
import * as table from "../json/table.ts";
import { isObject, openBrace, openBracket } from "../json/walk.ts";

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

/** An object of the service. Each field, also of its objects, can be a `MistypedValue`. */
export type ServiceObject<Value> = Value extends readonly (infer Item)[]
  ? readonly ServiceObject<Item>[]
  : Value extends object
    ? { readonly [Name in keyof Value]: ServiceObject<Value[Name]> | MistypedValue }
    : Value;

type ObjectSchema = z.ZodMiniType<object>;

/** Adds parts of a JSON Schema that zod does not generate. An `id` is a name in `$defs`. */
export const withNotes = <Of extends z.ZodMiniType>(schema: Of, notes: z.core.GlobalMeta): Of => {
  const noted = schema.clone();
  z.globalRegistry.add(noted, { ...z.globalRegistry.get(schema), ...notes });
  return noted;
};

export const describe = <Of extends z.ZodMiniType>(schema: Of, description: string): Of =>
  withNotes(schema, { description });

export const text = z.nullish(z.string());
export const texts = z.nullish(z.array(z.string()));
/** A whole number in the interface. Fractions are accepted, too. */
export const integer = z.nullish(withNotes(z.number(), { type: "integer" }));

/** Parses an object and marks its mistyped fields. A list with a mistyped element is mistyped. */
const parseServiceObject = <Of extends ObjectSchema>(schema: Of, json: string): ServiceObject<z.infer<Of>> => {
  const value: unknown = JSON.parse(json);
  const paths = (z.safeParse(schema, value).error?.issues ?? []).map(({ path }) =>
    typeof path.at(-1) === "number" ? path.slice(0, -1) : path,
  );
  // Shorter paths first, because a part of a mistyped value is not marked.
  for (const path of paths.sort((a, b) => a.length - b.length)) markMistyped(value, path);
  const isRead = (read: unknown): read is ServiceObject<z.infer<Of>> => isObject(read);
  if (!isRead(value)) throw new TypeError("not an object");
  return value;
};

const markMistyped = (value: unknown, [name = "", ...below]: readonly PropertyKey[]): void => {
  if (typeof value !== "object" || value === null || value instanceof MistypedValue) return;
  const field: unknown = Reflect.get(value, name);
  if (below.length > 0) markMistyped(field, below);
  else if (!(field instanceof MistypedValue)) Reflect.set(value, name, new MistypedValue(field));
};

/** The value of a reply, or the dotted path of an invalid part; undefined if the bytes are not JSON. */
type ReplyResult<Value> = { readonly value: Value } | { readonly invalidPath: string } | undefined;

export type ReplyReader<Value> = (bytes: Uint8Array) => ReplyResult<Value>;

export interface ReplyEntry<Value> {
  readonly value: Value;
  readonly raw: Uint8Array;
  /** Index in the list, from 0, with null elements counted. */
  readonly position: number;
}

/** The objects in the list of a reply, without null elements. */
export interface ReplyList<Value> {
  readonly bytes: Uint8Array;
  readonly entries: readonly ReplyEntry<Value>[];
  /** The number of null elements. */
  readonly nulls: number;
  /** Assumed: `has_more` marks a list with pages. The interface cannot request the next page. */
  readonly hasMore: boolean;
}

/** Reads `{"data":[{…},…]}`. */
export const listReader =
  <Of extends ObjectSchema>(schema: Of): ReplyReader<ReplyList<ServiceObject<z.infer<Of>>>> =>
  (bytes) => {
    const root = table.readRoot(bytes);
    const data = table.memberAt(root, "data");
    if (root === undefined) return undefined;
    if (data === undefined) return { invalidPath: table.firstByteOf(root) === openBrace ? "data" : "" };
    if (table.firstByteOf(data) !== openBracket) return { invalidPath: "data" };
    const elements = table
      .elementsOf(data)
      .map(table.spanOf)
      .map(({ start, end }) => bytes.subarray(start, end));
    const invalid = elements.findIndex(([first]) => first !== openBrace && first !== letterN);
    if (invalid >= 0) return { invalidPath: `data.${invalid}` };
    const entries = elements.flatMap((raw, position) =>
      raw[0] === letterN ? [] : [{ value: parseServiceObject(schema, Buffer.from(raw).toString()), raw, position }],
    );
    const hasMoreValue = table.memberAt(root, "has_more");
    const hasMore = hasMoreValue !== undefined && table.parseValue(hasMoreValue) === true;
    return { value: { bytes, entries, nulls: elements.length - entries.length, hasMore } };
  };

/** The first byte of `null`. */
const letterN = 0x6e;

/** Reads `{"<member>":{…}}`, also with null. The value is the object's bytes, because it can have many megabytes. */
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
