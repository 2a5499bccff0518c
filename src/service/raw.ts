/** JSON text made of values that stay as they were written and values of our own. */
import { members, skipWhite, textOf } from "../json.ts";

/** JSON text of an object; members without a value are left out. */
export const objectText = (entries: Readonly<Record<string, string | undefined>>): string =>
  `{${Object.entries(entries)
    .flatMap(([key, value]) => (value === undefined ? [] : [`${JSON.stringify(key)}:${value}`]))
    .join(",")}}`;

/** JSON text of an array. */
export const arrayText = (elements: readonly string[]): string => `[${elements.join(",")}]`;

/** The members of an object in JSON bytes, their values as they were written; of a key that stands twice the last. */
export const textsOf = (bytes: Uint8Array): ReadonlyMap<string, string> => {
  const texts = new Map<string, string>();
  for (const { key, value } of members(bytes, skipWhite(bytes, 0))) texts.set(key, textOf(bytes, value));
  return texts;
};
