/** JSON as it was spelled: digits of numbers, order of keys and keys that stand twice are kept, for what is read without a schema. */
import { elements, members, type Span, skipWhite, textOf } from "./walk.ts";

/** A JSON value as it was spelled. */
export type Spelled =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "number"; readonly text: string }
  | { readonly kind: "word"; readonly text: string }
  | { readonly kind: "list"; readonly items: readonly Spelled[] }
  | { readonly kind: "object"; readonly members: readonly SpelledMember[] }
  /** Nested deeper than anybody reads: its JSON, on one line. */
  | { readonly kind: "deep"; readonly text: string };

/** A key and its value. */
export interface SpelledMember {
  readonly key: string;
  readonly value: Spelled;
}

/** Levels of nesting that are taken apart. Every level is scanned once more, and no page is this wide. */
const deepest = 48;

/** Reads valid JSON. */
export const readSpelled = (bytes: Uint8Array): Spelled =>
  spelledAt(bytes, { start: skipWhite(bytes, 0), end: bytes.length }, deepest);

/** Reads the JSON that a text holds, as the arguments of tool calls are written; undefined where it holds none. */
export const readSpelledText = (text: string): Spelled | undefined => {
  try {
    JSON.parse(text);
  } catch {
    return undefined;
  }
  return readSpelled(Buffer.from(text));
};

/** Reads the value of valid JSON that stands at a span. */
export const readSpelledAt = (bytes: Uint8Array, span: Span): Spelled => spelledAt(bytes, span, deepest);

const spelledAt = (bytes: Uint8Array, span: Span, levels: number): Spelled => {
  const first = bytes[span.start];
  if (first === 0x22) return { kind: "text", text: textAt(bytes, span) };
  if (first === 0x7b || first === 0x5b) {
    if (levels === 0) return { kind: "deep", text: textOf(bytes, span).replaceAll(/\s+/g, " ") };
    return first === 0x7b ? objectAt(bytes, span.start, levels - 1) : listAt(bytes, span.start, levels - 1);
  }
  const text = textOf(bytes, span).trim();
  return { kind: /^[tfn]/.test(text) ? "word" : "number", text };
};

const textAt = (bytes: Uint8Array, span: Span): string => {
  const value: unknown = JSON.parse(textOf(bytes, span));
  return typeof value === "string" ? value : "";
};

const objectAt = (bytes: Uint8Array, at: number, levels: number): Spelled => ({
  kind: "object",
  members: Array.from(members(bytes, at), ({ key, value }) => ({ key, value: spelledAt(bytes, value, levels) })),
});

const listAt = (bytes: Uint8Array, at: number, levels: number): Spelled => ({
  kind: "list",
  items: Array.from(elements(bytes, at), (span) => spelledAt(bytes, span, levels)),
});

/** The members of an object; none of anything else. */
export const membersOf = (value: Spelled | undefined): readonly SpelledMember[] =>
  value?.kind === "object" ? value.members : [];

/** The items of a list; none of anything else. */
export const itemsOf = (value: Spelled | undefined): readonly Spelled[] => (value?.kind === "list" ? value.items : []);

/** The value that stands at a path of keys, the last of a key that stands twice; undefined where there is none or null. */
export const valueAt = (value: Spelled | undefined, ...path: readonly string[]): Spelled | undefined => {
  let found = value;
  for (const key of path) found = membersOf(found).findLast((member) => member.key === key)?.value;
  return isNothing(found) ? undefined : found;
};

/** Whether a value is absent or null. */
export const isNothing = (value: Spelled | undefined): value is undefined =>
  value === undefined || (value.kind === "word" && value.text === "null");

/** The text that stands at a path, where it is one. */
export const textFrom = (value: Spelled | undefined, ...path: readonly string[]): string | undefined => {
  const found = valueAt(value, ...path);
  return found?.kind === "text" ? found.text : undefined;
};

/** The digits of the number that stands at a path, where it is one. */
export const numberFrom = (value: Spelled | undefined, ...path: readonly string[]): string | undefined => {
  const found = valueAt(value, ...path);
  return found?.kind === "number" ? found.text : undefined;
};

/** A value on one line: a text as it is, anything else as JSON. */
export const inline = (value: Spelled): string => (value.kind === "text" ? value.text : jsonOf(value));

const jsonOf = (value: Spelled): string => {
  if (value.kind === "text") return JSON.stringify(value.text);
  if (value.kind === "list") return `[${value.items.map(jsonOf).join(", ")}]`;
  if (value.kind !== "object") return value.text;
  return `{${value.members.map(({ key, value: inner }) => `${JSON.stringify(key)}: ${jsonOf(inner)}`).join(", ")}}`;
};
