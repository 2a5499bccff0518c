/** Converted JSON: values as they were written, literals of rollcall's own, and objects and lists of both. */
import type { Path } from "../check/rules/positions.ts";
import { replaceLineEnds } from "../json/walk.ts";
import { Value } from "./value.ts";

/** JSON that rollcall composes, and the values of the record that it represents. */
interface JsonLiteral {
  readonly kind: "literal";
  readonly json: string;
  readonly sources: readonly Value[];
}

interface Composite {
  readonly kind: "object" | "list";
  /** The keys of an object's values; none for a list. */
  readonly keys: readonly string[];
  readonly values: readonly OutputJson[];
}

export type OutputJson = Value | JsonLiteral | Composite;

/** A member of an object, unless it is undefined. */
export type Member = readonly [key: string, value: OutputJson | undefined];

const none: readonly never[] = [];

export const literal = (data: unknown, ...sources: readonly (Value | undefined)[]): JsonLiteral =>
  rawLiteral(JSON.stringify(data), sources.length === 0 ? none : sources.filter((value) => value !== undefined));

export const rawLiteral = (json: string, sources: readonly Value[]): JsonLiteral => ({
  kind: "literal",
  json,
  sources,
});

/** A string that contains a value as JSON, such as the arguments of a call. */
export const toText = (value: Value): OutputJson => (value.isText ? value : literal(unindentJson(value.raw), value));

/** Writes indented JSON on one line, as Python's `json.dumps` does. No string of JSON contains a line end. */
export const unindentJson = (json: string): string =>
  json.replaceAll(/(,?)[ \t]*\r?\n[ \t]*/g, (_, comma: string) => (comma === "" ? "" : ", "));

/** An object with known keys; those of a record require `objectFrom`, which keeps their order. */
export const object = (members: Readonly<Record<string, OutputJson | undefined>>): Composite =>
  objectFrom(Object.entries(members));

export const objectFrom = (members: Iterable<Member>): Composite => {
  const keys: string[] = [];
  const values: OutputJson[] = [];
  for (const [key, value] of members) {
    if (value === undefined) continue;
    keys.push(key);
    values.push(value);
  }
  return { kind: "object", keys, values };
};

export const objectUnlessEmpty = (members: Iterable<Member>): Composite | undefined => {
  const composite = objectFrom(members);
  return composite.values.length === 0 ? undefined : composite;
};

/** Replaces or adds members of an object; undefined removes a member. */
export const replaceMembers = (value: Value, own: Readonly<Record<string, OutputJson | undefined>>): Composite =>
  objectFrom(new Map<string, OutputJson | undefined>([...value.members(), ...Object.entries(own)]));

export const list = (values: readonly OutputJson[]): Composite => ({ kind: "list", keys: none, values });

export const listUnlessEmpty = (values: readonly OutputJson[]): Composite | undefined =>
  values.length === 0 ? undefined : list(values);

/** Returns the value of the record at a path of converted JSON, and the rest of the path; undefined if it has none. */
export const findSource = (
  json: OutputJson,
  path: Path,
): { readonly value: Value; readonly rest: Path } | undefined => {
  if (json instanceof Value) return { value: json, rest: path };
  if (json.kind === "literal") return json.sources[0] && { value: json.sources[0], rest: [] };
  const [key, ...rest] = path;
  const member = json.values[typeof key === "number" ? key : json.keys.indexOf(key ?? "")];
  if (member !== undefined) return findSource(member, rest);
  // For a missing member, the first source of the object.
  for (const other of json.values) {
    const found = findSource(other, []);
    if (found !== undefined) return found;
  }
  return undefined;
};

/** Converts to JSON on one line. */
export const toJson = (json: OutputJson): string => {
  const writer = new LineWriter(maxLoopCharacters);
  writer.write(json);
  return writer.take().toString("utf8");
};

/** Characters and bytes that are copied in a loop, which is faster than a call into Node. */
const maxLoopCharacters = 48;
const maxLoopBytes = 128;

/** Writes JSON on one line. Line ends between values become blanks. */
export class LineWriter {
  #buffer: Buffer;
  #length = 0;

  /** @param size usual number of bytes between two calls of `take` */
  constructor(size: number) {
    this.#buffer = Buffer.allocUnsafe(size);
  }

  get length(): number {
    return this.#length;
  }

  write(json: OutputJson): void {
    if (json instanceof Value) {
      const { start, end } = json.span;
      this.bytes(json.bytes, start, end);
    } else if (json.kind === "literal") this.text(json.json);
    else {
      const { values, keys } = json;
      const isObject = json.kind === "object";
      this.text(isObject ? "{" : "[");
      for (const [at, value] of values.entries()) {
        if (at > 0) this.text(",");
        if (isObject) this.text(keyJson(keys[at] ?? ""));
        this.write(value);
      }
      this.text(isObject ? "}" : "]");
    }
  }

  text(text: string): void {
    this.#reserve(3 * text.length);
    if (text.length > maxLoopCharacters) {
      this.#length += this.#buffer.write(text, this.#length);
      return;
    }
    const start = this.#length;
    for (let at = 0; at < text.length; at++) {
      const code = text.charCodeAt(at);
      if (code >= 0x80) {
        this.#length = start + this.#buffer.write(text, start);
        return;
      }
      this.#buffer[this.#length++] = code;
    }
  }

  bytes(bytes: Buffer, start = 0, end = bytes.length): void {
    const length = end - start;
    this.#reserve(length);
    if (length > maxLoopBytes) this.#buffer.set(bytes.subarray(start, end), this.#length);
    else for (let at = 0; at < length; at++) this.#buffer[this.#length + at] = bytes[start + at] ?? 0;
    replaceLineEnds(this.#buffer.subarray(this.#length, this.#length + length));
    this.#length += length;
  }

  /** Returns the written bytes, which are valid until the next write. */
  take(): Buffer {
    const taken = this.#buffer.subarray(0, this.#length);
    this.#length = 0;
    return taken;
  }

  #reserve(more: number): void {
    if (this.#length + more <= this.#buffer.length) return;
    const larger = Buffer.allocUnsafe(2 * (this.#length + more));
    this.#buffer.copy(larger, 0, 0, this.#length);
    this.#buffer = larger;
  }
}

const keyJsons = new Map<string, string>();
const maxKeyJsons = 2 ** 10;

const keyJson = (key: string): string => {
  const json = keyJsons.get(key) ?? `${JSON.stringify(key)}:`;
  if (keyJsons.size < maxKeyJsons) keyJsons.set(key, json);
  return json;
};
