/** Converted JSON: values as they were written, texts and numbers that rollcall adds, and objects and lists of both. */
import type { Path } from "../check/rules/positions.ts";
import { Value } from "./value.ts";

/** JSON that rollcall composes, and the values of the record that it represents. */
class JsonLiteral {
  readonly json: string;
  readonly sources: readonly Value[];

  constructor(json: string, sources: readonly Value[]) {
    this.json = json;
    this.sources = sources;
  }
}

/** A member of an object; absent if its value is undefined. */
export type Member = readonly [key: string, value: OutputJson | undefined];

/** An object with keys of a record, in their order. A plain object would put keys that are integers first. */
class RecordObject {
  readonly members: readonly Member[];

  constructor(members: readonly Member[]) {
    this.members = members;
  }
}

type PlainObject = { readonly [key: string]: OutputJson | undefined };

export type OutputJson =
  | Value
  | JsonLiteral
  | RecordObject
  | PlainObject
  | readonly OutputJson[]
  | string
  | number
  | null;

/** Returns data as JSON that represents values of the record. */
export const literal = (data: unknown, ...sources: readonly (Value | undefined)[]): OutputJson =>
  rawLiteral(
    JSON.stringify(data),
    sources.filter((value) => value !== undefined),
  );

export const rawLiteral = (json: string, sources: readonly Value[]): OutputJson => new JsonLiteral(json, sources);

/** Returns a text unchanged, and any other value as JSON in a string, such as the arguments of a call. */
export const toText = (value: Value): OutputJson => (value.isText ? value : literal(unindentJson(value.raw), value));

/** Writes indented JSON on one line, as Python's `json.dumps` does. No string of JSON contains a line end. */
export const unindentJson = (json: string): string =>
  json.replaceAll(/(,?)[ \t]*\r?\n[ \t]*/g, (_, comma: string) => (comma === "" ? "" : ", "));

export const objectFrom = (members: Iterable<Member>): OutputJson => new RecordObject([...members]);

export const objectUnlessEmpty = (members: Iterable<Member>): OutputJson | undefined => {
  const present = [...members].filter(([, value]) => value !== undefined);
  return present.length === 0 ? undefined : new RecordObject(present);
};

/** Replaces or adds members of an object; undefined removes a member. */
export const replaceMembers = (value: Value, replacements: PlainObject): OutputJson =>
  objectFrom(new Map<string, OutputJson | undefined>([...value.members(), ...Object.entries(replacements)]));

export const listUnlessEmpty = (values: readonly OutputJson[]): OutputJson | undefined =>
  values.length === 0 ? undefined : values;

const isList = (json: OutputJson): json is readonly OutputJson[] => Array.isArray(json);

/** Returns the members of an object, or the elements of a list by index (from 0); none of other JSON. */
export const childrenOf = (json: OutputJson): readonly (readonly [key: string | number, child: OutputJson])[] => {
  if (json instanceof Value || json instanceof JsonLiteral || json === null || typeof json !== "object") return [];
  if (isList(json)) return [...json.entries()];
  const members = json instanceof RecordObject ? json.members : Object.entries(json);
  return members.flatMap(([key, value]) => (value === undefined ? [] : [[key, value] as const]));
};

export const sourcesOf = (json: OutputJson): readonly Value[] => (json instanceof JsonLiteral ? json.sources : []);

/** Returns the record's value at a path of converted JSON, and the rest of the path; undefined if there is none. */
export const findSource = (
  json: OutputJson,
  path: Path,
): { readonly value: Value; readonly rest: Path } | undefined => {
  if (json instanceof Value) return { value: json, rest: path };
  const [source] = sourcesOf(json);
  if (source !== undefined) return { value: source, rest: [] };
  const [key, ...rest] = path;
  const children = childrenOf(json);
  const child = children.find(([childKey]) => childKey === key);
  if (child !== undefined) return findSource(child[1], rest);
  // A missing member is located at the first source in its object.
  for (const [, descendant] of children) {
    const childSource = findSource(descendant, []);
    if (childSource !== undefined) return childSource;
  }
  return undefined;
};

/** Converts to JSON on one line, with one character for each byte of its UTF-8. */
export const toLine = (json: OutputJson): string => compose(json).replaceAll("\n", " ");

const compose = (json: OutputJson): string => {
  if (json instanceof Value) return json.bytes.toString("latin1", json.span.start, json.span.end);
  if (json instanceof JsonLiteral) return toByteText(json.json);
  if (typeof json === "string") return quoteText(json);
  if (json === null || typeof json === "number") return String(json);
  let items = "";
  const add = (value: OutputJson | undefined, key = ""): void => {
    if (value !== undefined) items += `${items === "" ? "" : ","}${key}${compose(value)}`;
  };
  if (isList(json)) for (const item of json) add(item);
  else if (json instanceof RecordObject) for (const [key, value] of json.members) add(value, `${quoteText(key)}:`);
  else for (const key in json) add(json[key], `${quoteText(key)}:`);
  return isList(json) ? `[${items}]` : `{${items}}`;
};

/** Cached JSON of keys and texts of formats, because each trajectory repeats them. */
const quotedTexts = new Map<string, string>();
const maxQuotedTexts = 2 ** 10;

const quoteText = (text: string): string => {
  const json = quotedTexts.get(text) ?? toByteText(JSON.stringify(text));
  if (quotedTexts.size < maxQuotedTexts) quotedTexts.set(text, json);
  return json;
};

/** Returns a text with one character for each byte of its UTF-8. */
const toByteText = (text: string): string =>
  Buffer.byteLength(text) === text.length ? text : Buffer.from(text).toString("latin1");
