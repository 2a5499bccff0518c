/** What of a JSON document an agent is given: its list page by page, and nothing larger than it can read. Numbers stay as they were spelled. */
import {
  openBrace,
  openBracket,
  quote,
  type Span,
  skipWhite,
  sliceText,
  walkElements,
  walkMembers,
} from "../../json/walk.ts";

/** Which part of which list is given, and the longest text that is given whole, in UTF-16 units. */
interface PageRequest {
  readonly paged: string;
  readonly offset: number;
  readonly limit: number;
  readonly longest: number;
}

/** Longest page; about four characters are a token of a model that reads them. */
const maxPageLength = 60_000;

/**
 * An object as JSON: one of its lists from an offset on, as many entries as fit, and where the next page begins; all else
 * bounded. What is over a bound ends with how much was left out.
 */
export const formatPage = (bytes: Uint8Array, { paged, offset, limit, longest }: PageRequest): string => {
  const parts: string[] = [];
  for (const { key, value } of walkMembers(bytes, skipWhite(bytes, 0))) {
    if (key !== paged || bytes[value.start] !== openBracket) {
      parts.push(`${JSON.stringify(key)}:${formatFitting(bytes, value, longest)}`);
      continue;
    }
    const all = [...walkElements(bytes, value.start)];
    const page: string[] = [];
    let length = 0;
    for (const entry of all.slice(offset, offset + limit)) {
      const text = formatFitting(bytes, entry, longest);
      length += text.length;
      if (page.length > 0 && length > maxPageLength) break;
      page.push(text);
    }
    const next = offset + page.length;
    parts.push(`${JSON.stringify(key)}:[${page.join(",")}]`, `"total":${all.length}`);
    parts.push(`"next_offset":${next < all.length ? next : null}`);
  }
  return `{${parts.join(",")}}`;
};

/** How much of a value is given: the longest text in UTF-16 units, entries of an array or an object, levels of nesting. */
interface Bounds {
  readonly maxTextLength: number;
  readonly maxEntries: number;
  readonly maxLevels: number;
}

/** The value within the widest bounds in which it fits a page. */
const formatFitting = (bytes: Uint8Array, span: Span, longest: number): string => {
  const wide = formatBounded(bytes, span, { maxTextLength: longest, maxEntries: 200, maxLevels: 12 });
  if (wide.length <= maxPageLength) return wide;
  const narrow = formatBounded(bytes, span, { maxTextLength: Math.min(longest, 500), maxEntries: 50, maxLevels: 8 });
  return narrow.length <= maxPageLength
    ? narrow
    : formatBounded(bytes, span, { maxTextLength: 100, maxEntries: 10, maxLevels: 2 });
};

/** Bytes of a tree that is not taken apart: an empty list, two numbers. */
const minTreeBytes = 40;

/** Longest key, in UTF-16 units: a text in disguise is cut too. */
const maxKeyLength = 200;

const formatBounded = (bytes: Uint8Array, { start, end }: Span, bounds: Bounds): string => {
  const isList = bytes[start] === openBracket;
  if (!(isList || bytes[start] === openBrace) || end - start <= minTreeBytes) {
    const json = sliceText(bytes, { start, end });
    if (json.length <= bounds.maxTextLength) return json;
    return bytes[start] === quote ? truncateText(json, bounds.maxTextLength) : formatOmission(`${json.length} digits`);
  }
  if (bounds.maxLevels === 0) return formatOmission(`${end - start} bytes`);
  const inner = { ...bounds, maxLevels: bounds.maxLevels - 1 };
  const parts: string[] = [];
  let left = 0;
  for (const one of isList ? walkElements(bytes, start) : walkMembers(bytes, start)) {
    if (parts.length >= bounds.maxEntries) left++;
    else if (!("key" in one)) parts.push(formatBounded(bytes, one, inner));
    else parts.push(`${truncateText(JSON.stringify(one.key), maxKeyLength)}:${formatBounded(bytes, one.value, inner)}`);
  }
  if (left > 0) parts.push(isList ? formatOmission(`${left} entries`) : `"…":${formatOmission(`${left} keys`)}`);
  return isList ? `[${parts.join(",")}]` : `{${parts.join(",")}}`;
};

/** A text of JSON without what is over a bound. */
const truncateText = (json: string, max: number): string => {
  const text = String(JSON.parse(json));
  return text.length <= max
    ? json
    : JSON.stringify(`${text.slice(0, max)}… [${text.length - max} characters left out]`);
};

const formatOmission = (what: string): string => JSON.stringify(`… [${what} left out]`);
