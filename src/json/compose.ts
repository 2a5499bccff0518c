/** Composes JSON from texts of values, which stay as they were written. */
import { listMemberSpans, rootSpan, sliceText } from "./walk.ts";

/** Returns an object with these members, except those without a value. */
export const composeMembers = (entries: Iterable<readonly [string, string | undefined]>): string => {
  const texts: string[] = [];
  for (const [key, value] of entries) if (value !== undefined) texts.push(`${JSON.stringify(key)}:${value}`);
  return `{${texts.join(",")}}`;
};

export const composeObject = (entries: Readonly<Record<string, string | undefined>>): string =>
  composeMembers(Object.entries(entries));

export const composeArray = (elements: readonly string[]): string => `[${elements.join(",")}]`;

/** Returns the members of an object as they were written, and the last value of a repeated key. */
export const sliceMembers = (bytes: Uint8Array): ReadonlyMap<string, string> =>
  new Map(Array.from(listMemberSpans(bytes, rootSpan(bytes)), ([key, span]) => [key, sliceText(bytes, span)]));
