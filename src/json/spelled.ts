/** JSON as it was spelled: digits of numbers, order of keys and keys that stand twice are kept, for what is read without a schema. */
import { faultIn } from "./fault.ts";
import { closeBrace, closeBracket, openBrace, openBracket, quote, type Span, textOf, Walker } from "./walk.ts";

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

/** Levels of nesting that are taken apart: no page is this wide. */
const deepest = 48;

/** Reads valid JSON. */
export const readSpelled = (bytes: Uint8Array): Spelled => spelledAt(new Walker(bytes), deepest);

/** Reads the JSON that a text holds, as the arguments of tool calls are written; undefined where it holds none. */
export const readSpelledText = (text: string): Spelled | undefined => {
  const bytes = Buffer.from(text);
  return faultIn(bytes) === undefined ? readSpelled(bytes) : undefined;
};

/** Reads the value of valid JSON that stands at a span. */
export const readSpelledAt = (bytes: Uint8Array, { start }: Span): Spelled =>
  spelledAt(new Walker(bytes, start), deepest);

const spelledAt = (walker: Walker, levels: number): Spelled => {
  const first = walker.bytes[walker.at];
  const isTree = first === openBrace || first === openBracket;
  if (!isTree || levels === 0) {
    const text = textOf(walker.bytes, walker.skip());
    if (isTree) return { kind: "deep", text: text.replaceAll(/\s+/g, " ") };
    if (first === quote) return { kind: "text", text: String(JSON.parse(text)) };
    return { kind: /^[tfn]/.test(text) ? "word" : "number", text };
  }
  if (first === openBracket) {
    const items: Spelled[] = [];
    for (let more = walker.enter(openBracket); more; more = walker.next(closeBracket)) {
      items.push(spelledAt(walker, levels - 1));
    }
    return { kind: "list", items };
  }
  const members: SpelledMember[] = [];
  for (let more = walker.enter(openBrace); more; more = walker.next(closeBrace)) {
    members.push({ key: walker.key(), value: spelledAt(walker, levels - 1) });
  }
  return { kind: "object", members };
};

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
