/** JSON text made of values that stay as they were written and values of our own. */
import { listMemberSpans, rootSpan, sliceText } from "./walk.ts";

/** JSON text of an object with these members in this order; those without a value are left out. */
export const composeMembers = (entries: Iterable<readonly [string, string | undefined]>): string => {
  const texts: string[] = [];
  for (const [key, value] of entries) if (value !== undefined) texts.push(`${JSON.stringify(key)}:${value}`);
  return `{${texts.join(",")}}`;
};

/** The same, with keys of our own. */
export const composeObject = (entries: Readonly<Record<string, string | undefined>>): string =>
  composeMembers(Object.entries(entries));

/** JSON text of an array. */
export const composeArray = (elements: readonly string[]): string => `[${elements.join(",")}]`;

/** The members of an object in JSON bytes, their values as they were written; of a key that appears twice the last. */
export const sliceMembers = (bytes: Uint8Array): ReadonlyMap<string, string> =>
  new Map(Array.from(listMemberSpans(bytes, rootSpan(bytes)), ([key, span]) => [key, sliceText(bytes, span)]));
