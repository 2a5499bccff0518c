/** JSON as it was spelled: digits of numbers, order of keys and keys that stand twice are kept, for what is read without a schema. */

/** Levels of nesting that are taken apart: no page is this wide. */
export const deepestSpelled = 48;

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

/** The members of an object; none of anything else. */
export const membersOf = (value: Spelled | undefined): readonly SpelledMember[] =>
  value?.kind === "object" ? value.members : [];

/** The items of a list; none of anything else. */
export const itemsOf = (value: Spelled | undefined): readonly Spelled[] => (value?.kind === "list" ? value.items : []);

/** The value that stands at a path of keys, the last of a key that appears twice; undefined if there is none or null. */
export const valueAt = (value: Spelled | undefined, ...path: readonly string[]): Spelled | undefined => {
  let found = value;
  for (const key of path) found = membersOf(found).findLast((member) => member.key === key)?.value;
  return isNothing(found) ? undefined : found;
};

/** True if a value is absent or null. */
export const isNothing = (value: Spelled | undefined): value is undefined =>
  value === undefined || (value.kind === "word" && value.text === "null");

/** Members that hold something. */
export const filled = (members: readonly SpelledMember[]): readonly SpelledMember[] =>
  members.filter(({ value }) => !isNothing(value));

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

/** A value as a person reads it: a text as it is, anything else as JSON, a member a line. */
export const laidOut = (value: Spelled): string => (value.kind === "text" ? value.text : linesOf(value, "\n"));

const linesOf = (value: Spelled, line: string): string => {
  const below = `${line}  `;
  const within = (open: string, all: readonly string[], close: string) =>
    all.length === 0 ? open + close : `${open}${below}${all.join(`,${below}`)}${line}${close}`;
  if (value.kind === "list")
    return within(
      "[",
      value.items.map((item) => linesOf(item, below)),
      "]",
    );
  if (value.kind !== "object") return jsonOf(value);
  const members = value.members.map(({ key, value: inner }) => `${JSON.stringify(key)}: ${linesOf(inner, below)}`);
  return within("{", members, "}");
};
