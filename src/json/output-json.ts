/** Composes JSON from recorded and new values. */
import { replaceLineEnds } from "./json-bytes.ts";
import type { Path } from "./table.ts";
import { Value } from "./value.ts";

type JsonSources = readonly (Value | undefined)[];

/** JSON that represents the recorded values in `sources`. */
class JsonLiteral {
  readonly json: string;
  readonly sources: readonly Value[];

  constructor(json: string, sources: JsonSources) {
    this.json = json;
    this.sources = sources.filter((value) => value !== undefined);
  }
}

export type Member = readonly [key: string, value: Json | undefined];

type PlainObject = { readonly [key: string]: Json | undefined };
type Scalar = string | number | null;
/** Unlike an object, a Map keeps the order of integer keys. */
export type Json = Value | JsonLiteral | Map<string, Json | undefined> | PlainObject | readonly Json[] | Scalar;

export const literal = (data: unknown, ...sources: JsonSources) => rawLiteral(JSON.stringify(data), sources);

export const rawLiteral = (json: string, sources: JsonSources) => new JsonLiteral(json, sources);

export const toText = (value: Value) => (value.isText ? value : literal(unindentJson(value.raw), value));

/** Puts JSON on one line like Python's `json.dumps`. JSON strings never contain raw line ends. */
export const unindentJson = (json: string) =>
  json.replaceAll(/(,?)[ \t\r\n]+/g, (run, comma: string) => {
    if (!run.includes("\n")) return run;
    return comma === "" ? "" : ", ";
  });

export const nonEmptyMap = (members: Iterable<Member>) => {
  const present = new Map<string, Json>();
  for (const [key, value] of members) if (value !== undefined) present.set(key, value);
  return present.size === 0 ? undefined : present;
};

/** Removes a member if its replacement is undefined. */
export const replaceMembers = (value: Value, replacements: PlainObject) =>
  new Map<string, Json | undefined>([...value.members(), ...Object.entries(replacements)]);

export const nonEmpty = (values: readonly Json[]) => (values.length === 0 ? undefined : values);

const isList = (json: Json | undefined): json is readonly Json[] => Array.isArray(json);

export const elementsOf = (json: Json | undefined) => (isList(json) ? json : []);

export const childrenOf = (json: Json): readonly (readonly [key: string | number, child: Json])[] => {
  if (json instanceof Value || json instanceof JsonLiteral || json === null || typeof json !== "object") return [];
  if (isList(json)) return [...json.entries()];
  const members = json instanceof Map ? [...json] : Object.entries(json);
  return members.flatMap(([key, value]) => (value === undefined ? [] : [[key, value] as const]));
};

/** Visits the recorded values in the JSON, and those that its literals represent. */
export const visitValues = (json: Json | undefined, visit: (value: Value) => void): void => {
  if (json instanceof Value) visit(json);
  else if (json instanceof JsonLiteral) json.sources.forEach(visit);
  else if (json === undefined || json === null || typeof json !== "object") return;
  else if (isList(json)) for (const item of json) visitValues(item, visit);
  else if (json instanceof Map) for (const member of json.values()) visitValues(member, visit);
  else for (const key in json) visitValues(json[key], visit);
};

export const memberOf = (json: Json | undefined, key: string): Json | undefined => {
  if (json instanceof Value || json instanceof Map) return json.get(key);
  if (json instanceof JsonLiteral || json === null || typeof json !== "object" || isList(json)) return undefined;
  return Object.hasOwn(json, key) ? json[key] : undefined;
};

/** Returns the recorded value itself, or the values that a literal represents. */
export const sourcesOf = (json: Json | undefined): readonly Value[] => {
  if (json instanceof Value) return [json];
  return json instanceof JsonLiteral ? json.sources : [];
};

export const rawOf = (json: Json) =>
  json instanceof Value ? json.raw : json instanceof JsonLiteral ? json.json : JSON.stringify(json);

/** Finds the value that became the JSON at a path. `rest` is the path inside this value. */
export const findSource = (json: Json, path: Path): Readonly<{ value: Value; rest: Path }> | undefined => {
  if (json instanceof Value) return { value: json, rest: path };
  const [source] = sourcesOf(json);
  if (source) return { value: source, rest: [] };
  const [key, ...rest] = path;
  const children = childrenOf(json);
  const child = children.find(([childKey]) => childKey === key);
  if (child) return findSource(child[1], rest);
  // A missing member has no source, so the first source in the object is used.
  // A finish reason can be far from its turn.
  const near = children.filter(([childKey]) => childKey !== "finish_reason");
  for (const [, descendant] of near) {
    const childSource = findSource(descendant, []);
    if (childSource) return childSource;
  }
  return undefined;
};

const initialBytes = 2 ** 21;
/** Up to this length, a loop is faster than `Buffer.copy`. */
const maxLoopBytes = 48;
const brackets = [Buffer.from("["), Buffer.from("]")] as const;
const braces = [Buffer.from("{"), Buffer.from("}")] as const;
const comma = Buffer.from(",");

/** Returned bytes are valid until the next write. */
export class JsonWriter {
  #bytes = Buffer.allocUnsafeSlow(initialBytes);
  length = 0;

  write(bytes: Buffer, start = 0, end = bytes.length) {
    const after = this.length + end - start;
    if (after > this.#bytes.length) this.#bytes = Buffer.concat([this.#bytes], 2 * after);
    const into = this.#bytes;
    if (end - start > maxLoopBytes) bytes.copy(into, this.length, start, end);
    else for (let at = start, to = this.length; at < end; at++) into[to++] = bytes[at] ?? 0;
    this.length = after;
  }

  writeOnOneLine(json: Json) {
    const start = this.length;
    this.#writeJson(json);
    return replaceLineEnds(this.#bytes.subarray(start, this.length));
  }

  take(start = 0) {
    const bytes = this.#bytes.subarray(start, this.length);
    this.length = start;
    if (start === 0 && this.#bytes.length > initialBytes) this.#bytes = Buffer.allocUnsafeSlow(initialBytes);
    return bytes;
  }

  #writeJson(json: Json): void {
    if (json instanceof Value) this.write(json.bytes, json.span.start, json.span.end);
    else if (json instanceof JsonLiteral) this.write(Buffer.from(json.json));
    else if (json === null || typeof json !== "object") this.write(toJson(json));
    else {
      const [open, close] = isList(json) ? brackets : braces;
      this.write(open);
      const start = this.length;
      if (isList(json)) for (const item of json) this.#writeItem(item);
      else if (json instanceof Map) for (const [key, value] of json) this.#writeItem(value, key);
      else for (const key in json) this.#writeItem(json[key], key);
      // The closing bracket replaces the last comma.
      if (this.length > start) this.length--;
      this.write(close);
    }
  }

  #writeItem(json: Json | undefined, key?: string): void {
    if (json === undefined) return;
    if (key !== undefined) this.write(toKey(key));
    this.#writeJson(json);
    this.write(comma);
  }
}

const maxCachedJson = 2 ** 10;

const openCache = (after: string) => {
  const known = new Map<Scalar, Buffer>();
  return (data: Scalar) => {
    const cached = known.get(data);
    if (cached) return cached;
    const json = Buffer.from(`${typeof data === "string" ? JSON.stringify(data) : String(data)}${after}`);
    if (known.size < maxCachedJson) known.set(data, json);
    return json;
  };
};

const toJson = openCache("");
const toKey = openCache(":");
