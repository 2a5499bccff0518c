/** What a trajectory is made of: values that stay as they were written, words of our own, and objects and lists of both. */
import type { Path } from "../check/rules/places.ts";
import { Value } from "./value.ts";

/** JSON of our own, with the values of the record that it says. */
export interface Said {
  readonly kind: "said";
  readonly json: string;
  readonly of: readonly Value[];
}

/** An object or a list that is put together. */
export interface Composed {
  readonly kind: "object" | "list";
  /** The keys of an object's values; a list has none. */
  readonly keys: readonly string[];
  readonly values: readonly Built[];
}

export type Built = Value | Said | Composed;

const none: readonly Value[] = [];

/** JSON of our own, and the values that it stands for. */
export const said = (data: unknown, ...of: readonly (Value | undefined)[]): Said => ({
  kind: "said",
  json: JSON.stringify(data),
  of: of.length === 0 ? none : of.filter((value) => value !== undefined),
});

/**
 * A text that holds a value as JSON, as it was written: what the arguments of a call are. Of what was indented, the
 * line ends go, so that it reads as Python's `json.dumps` writes it: no text of JSON holds one.
 */
export const asText = (value: Value): Built => (value.isText ? value : said(asDumped(value.raw), value));

/** JSON that was indented, on one line. */
export const asDumped = (json: string): string =>
  json.replaceAll(/(,?)[ \t]*\r?\n[ \t]*/g, (_, comma: string) => (comma === "" ? "" : ", "));

/** An object of these members, in their order; those without a value are left out. */
export const object = (members: Readonly<Record<string, Built | undefined>>): Composed => {
  const keys = Object.keys(members);
  return withoutMissing(
    keys,
    keys.map((key) => members[key]),
  );
};

/** The same of keys that come from the record. */
export const objectOf = (members: Iterable<readonly [string, Built | undefined]>): Composed => {
  const keys: string[] = [];
  const values: (Built | undefined)[] = [];
  for (const [key, value] of members) {
    keys.push(key);
    values.push(value);
  }
  return withoutMissing(keys, values);
};

const withoutMissing = (keys: readonly string[], values: readonly (Built | undefined)[]): Composed => ({
  kind: "object",
  keys: values.includes(undefined) ? keys.filter((_, at) => values[at] !== undefined) : keys,
  values: values.filter((value) => value !== undefined),
});

/** An object with members of our own in place of its, or behind them; undefined takes a member away. */
export const replaced = (value: Value, own: Readonly<Record<string, Built | undefined>>): Composed =>
  objectOf(new Map<string, Built | undefined>([...value.members(), ...Object.entries(own)]));

/** A list of these. */
export const list = (values: readonly Built[]): Composed => ({ kind: "list", keys: [], values });

/** An object where it has members; undefined where it has none. */
export const unlessEmpty = (composed: Composed): Composed | undefined =>
  composed.values.length === 0 ? undefined : composed;

/** What takes the bytes of JSON piece by piece. */
export interface Sink {
  text(text: string): void;
  bytes(bytes: Buffer, start: number, end: number): void;
}

/** Writes JSON on one line: newlines that stood between values of a document become blanks. */
export const write = (built: Built, sink: Sink): void => {
  if (built instanceof Value) {
    const { start, end } = built.span;
    sink.bytes(built.bytes, start, end);
  } else if (built.kind === "said") sink.text(built.json);
  else {
    const { values, keys } = built;
    const isObject = built.kind === "object";
    sink.text(isObject ? "{" : "[");
    let at = 0;
    for (const value of values) {
      if (at > 0) sink.text(",");
      if (isObject) sink.text(keyText(keys[at] ?? ""));
      write(value, sink);
      at++;
    }
    sink.text(isObject ? "}" : "]");
  }
};

/** Keys as JSON, for those that most objects have. */
const keyTexts = new Map<string, string>();
const mostKeyTexts = 2 ** 10;

const keyText = (key: string): string => {
  let text = keyTexts.get(key);
  if (text === undefined) {
    text = `${JSON.stringify(key)}:`;
    if (keyTexts.size < mostKeyTexts) keyTexts.set(key, text);
  }
  return text;
};

/** A value of the record, and the path from there. */
export interface SourceSpot {
  readonly value: Value;
  readonly way: Path;
}

/** The value of the record that stands at a path of what was built; undefined where it is of our own. */
export const sourceAt = (built: Built, path: Path): SourceSpot | undefined => {
  if (built instanceof Value) return { value: built, way: path };
  if (built.kind === "said") return built.of[0] === undefined ? undefined : { value: built.of[0], way: [] };
  const [key, ...rest] = path;
  const member = built.values[typeof key === "number" ? key : built.keys.indexOf(key ?? "")];
  if (member !== undefined) return sourceAt(member, rest);
  // What lacks something is told by the first of what it was made of.
  for (const other of built.values) {
    const found = sourceAt(other, []);
    if (found !== undefined) return found;
  }
  return undefined;
};
