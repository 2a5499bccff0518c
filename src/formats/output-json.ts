/** What a trajectory is built of: values as they were written, JSON of our own, and objects and lists of both. */
import type { Path } from "../check/rules/positions.ts";
import { replaceLineEnds } from "../json/walk.ts";
import { Value } from "./value.ts";

/** JSON of our own, and the values of the record that it stands for. */
export interface JsonLiteral {
  readonly kind: "said";
  readonly json: string;
  readonly sources: readonly Value[];
}

interface Composite {
  readonly kind: "object" | "list";
  /** The keys of an object's values; a list has none. */
  readonly keys: readonly string[];
  readonly values: readonly OutputJson[];
}

export type OutputJson = Value | JsonLiteral | Composite;

/** A member of an object; one without a value is left out. */
export type Member = readonly [key: string, value: OutputJson | undefined];

/** JSON of our own, and the values that it stands for. */
export const literal = (data: unknown, ...of: readonly (Value | undefined)[]): JsonLiteral => ({
  kind: "said",
  json: JSON.stringify(data),
  sources: of.length === 0 ? none : of.filter((value) => value !== undefined),
});

const none: readonly Value[] = [];

/** The same of JSON as it is to be written. */
export const rawLiteral = (json: string, of: readonly Value[]): JsonLiteral => ({ kind: "said", json, sources: of });

/**
 * A string that contains a value as JSON, as it was written: the arguments of a call. Indented JSON loses its line
 * ends, so that it reads as Python's `json.dumps` writes it. No string of JSON contains a line end.
 */
export const toText = (value: Value): OutputJson => (value.isText ? value : literal(unindentJson(value.raw), value));

/** Indented JSON on one line, as Python's `json.dumps` writes it. */
export const unindentJson = (json: string): string =>
  json.replaceAll(/(,?)[ \t]*\r?\n[ \t]*/g, (_, comma: string) => (comma === "" ? "" : ", "));

/** An object with these members in their order. Their keys are ours: those of a record go through `objectFrom`. */
export const object = (members: Readonly<Record<string, OutputJson | undefined>>): Composite => {
  const keys = Object.keys(members);
  const values = keys.map((key) => members[key]);
  return withValues(keys, values);
};

/** An object with members that may come from a record. */
export const objectFrom = (members: Iterable<Member>): Composite => {
  const own = Array.isArray(members) ? members : Array.from(members);
  return withValues(
    own.map(([key]) => key),
    own.map(([, value]) => value),
  );
};

const withValues = (keys: readonly string[], values: readonly (OutputJson | undefined)[]): Composite => {
  if (areDefined(values)) return { kind: "object", keys, values };
  const own = keys.filter((_, at) => values[at] !== undefined);
  return { kind: "object", keys: own, values: values.filter((value) => value !== undefined) };
};

const areDefined = (values: readonly (OutputJson | undefined)[]): values is readonly OutputJson[] =>
  !values.includes(undefined);

/** The same; undefined if it has no members. */
export const objectUnlessEmpty = (members: Iterable<Member>): Composite | undefined => {
  const composed = objectFrom(members);
  return composed.values.length === 0 ? undefined : composed;
};

/** An object with members of our own in place of its members, or after them; undefined removes a member. */
export const replaceMembers = (value: Value, own: Readonly<Record<string, OutputJson | undefined>>): Composite =>
  objectFrom(new Map<string, OutputJson | undefined>([...value.members(), ...Object.entries(own)]));

export const list = (values: readonly OutputJson[]): Composite => ({ kind: "list", keys: noKeys, values });

/** The same; undefined if it has no values. */
export const listUnlessEmpty = (values: readonly OutputJson[]): Composite | undefined =>
  values.length === 0 ? undefined : list(values);

const noKeys: readonly string[] = [];

/** The value of the record at a path of what was built, and the rest of the path; undefined if it is our own. */
export const findSource = (
  built: OutputJson,
  path: Path,
): { readonly value: Value; readonly rest: Path } | undefined => {
  if (built instanceof Value) return { value: built, rest: path };
  if (built.kind === "said") return built.sources[0] === undefined ? undefined : { value: built.sources[0], rest: [] };
  const [key, ...rest] = path;
  const member = built.values[typeof key === "number" ? key : built.keys.indexOf(key ?? "")];
  if (member !== undefined) return findSource(member, rest);
  // If something is missing, the first value that the object was made of stands for it.
  for (const other of built.values) {
    const found = findSource(other, []);
    if (found !== undefined) return found;
  }
  return undefined;
};

/** What was built, as JSON on one line. */
export const toJson = (built: OutputJson): string => {
  const writer = new LineWriter(maxLoopCharacters);
  writer.write(built);
  return writer.take().toString("utf8");
};

/** Characters and bytes that are copied one by one: a call into Node takes longer. */
const maxLoopCharacters = 48;
const maxLoopBytes = 128;

/** Writes JSON on one line: line ends between its values become blanks. */
export class LineWriter {
  #buffer: Buffer;
  #length = 0;
  /** Bytes that contain no line ends. */
  withoutNewlines: Buffer | undefined;

  /** @param size number of bytes that are usually written before they are taken */
  constructor(size: number) {
    this.#buffer = Buffer.allocUnsafe(size);
  }

  get length(): number {
    return this.#length;
  }

  write(built: OutputJson): void {
    if (built instanceof Value) {
      const { start, end } = built.span;
      this.bytes(built.bytes, start, end);
    } else if (built.kind === "said") this.text(built.json);
    else {
      const { values, keys } = built;
      const isObject = built.kind === "object";
      this.text(isObject ? "{" : "[");
      for (let at = 0; at < values.length; at++) {
        const value = values[at];
        if (at > 0) this.text(",");
        if (isObject) this.text(keyJson(keys[at] ?? ""));
        if (value !== undefined) this.write(value);
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
    if (bytes !== this.withoutNewlines) replaceLineEnds(this.#buffer.subarray(this.#length, this.#length + length));
    this.#length += length;
  }

  /** Returns what was written. It is valid until more is written. */
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

/** Keys with a colon, as JSON: most objects have the same ones. */
const keyJsons = new Map<string, string>();
const maxKeyJsons = 2 ** 10;

const keyJson = (key: string): string => {
  let json = keyJsons.get(key);
  if (json === undefined) {
    json = `${JSON.stringify(key)}:`;
    if (keyJsons.size < maxKeyJsons) keyJsons.set(key, json);
  }
  return json;
};
