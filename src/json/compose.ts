/** JSON text made of values that stay as they were written and values of our own. */
import { memberSpans, textOf, wholeOf } from "./walk.ts";

/** JSON text of an object with these members in this order; those without a value are left out. */
export const membersText = (entries: Iterable<readonly [string, string | undefined]>): string => {
  const texts: string[] = [];
  for (const [key, value] of entries) if (value !== undefined) texts.push(`${JSON.stringify(key)}:${value}`);
  return `{${texts.join(",")}}`;
};

/** The same, with keys of our own. */
export const objectText = (entries: Readonly<Record<string, string | undefined>>): string =>
  membersText(Object.entries(entries));

/** JSON text of an array. */
export const arrayText = (elements: readonly string[]): string => `[${elements.join(",")}]`;

/** The members of an object in JSON bytes, their values as they were written; of a key that appears twice the last. */
export const textsOf = (bytes: Uint8Array): ReadonlyMap<string, string> =>
  new Map(Array.from(memberSpans(bytes, wholeOf(bytes)), ([key, span]) => [key, textOf(bytes, span)]));
