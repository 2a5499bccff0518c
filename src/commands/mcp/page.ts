/** What of a JSON document an agent is given: its list page by page, and nothing larger than it can read. Numbers stay as they were spelled. */
import { elements, members, openBrace, openBracket, quote, type Span, skipWhite, textOf } from "../../json/walk.ts";

/** Which part of which list is given, and the longest text that is given whole, in UTF-16 units. */
interface Asked {
  readonly paged: string;
  readonly offset: number;
  readonly limit: number;
  readonly longest: number;
}

/** Longest page; about four characters are a token of a model that reads them. */
const maxPage = 60_000;

/**
 * An object as JSON: one of its lists from an offset on, as many entries as fit, and where the next page begins; all else
 * bounded. What is over a bound ends with how much was left out.
 */
export const pageOf = (bytes: Uint8Array, { paged, offset, limit, longest }: Asked): string => {
  const parts: string[] = [];
  for (const { key, value } of members(bytes, skipWhite(bytes, 0))) {
    if (key !== paged || bytes[value.start] !== openBracket) {
      parts.push(`${JSON.stringify(key)}:${fittingText(bytes, value, longest)}`);
      continue;
    }
    const all = [...elements(bytes, value.start)];
    const page: string[] = [];
    let length = 0;
    for (const entry of all.slice(offset, offset + limit)) {
      const text = fittingText(bytes, entry, longest);
      length += text.length;
      if (page.length > 0 && length > maxPage) break;
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
  readonly text: number;
  readonly entries: number;
  readonly levels: number;
}

/** The value within the widest bounds in which it fits a page. */
const fittingText = (bytes: Uint8Array, span: Span, longest: number): string => {
  const wide = boundedText(bytes, span, { text: longest, entries: 200, levels: 12 });
  if (wide.length <= maxPage) return wide;
  const narrow = boundedText(bytes, span, { text: Math.min(longest, 500), entries: 50, levels: 8 });
  return narrow.length <= maxPage ? narrow : boundedText(bytes, span, { text: 100, entries: 10, levels: 2 });
};

/** Bytes of a tree that is not taken apart: an empty list, two numbers. */
const minTree = 40;

/** Longest key, in UTF-16 units: a text in disguise is cut too. */
const maxKey = 200;

const boundedText = (bytes: Uint8Array, { start, end }: Span, bounds: Bounds): string => {
  const isList = bytes[start] === openBracket;
  if (!(isList || bytes[start] === openBrace) || end - start <= minTree) {
    const json = textOf(bytes, { start, end });
    if (json.length <= bounds.text) return json;
    return bytes[start] === quote ? cutText(json, bounds.text) : leftOut(`${json.length} digits`);
  }
  if (bounds.levels === 0) return leftOut(`${end - start} bytes`);
  const inner = { ...bounds, levels: bounds.levels - 1 };
  const parts: string[] = [];
  let left = 0;
  for (const one of isList ? elements(bytes, start) : members(bytes, start)) {
    if (parts.length >= bounds.entries) left++;
    else if (!("key" in one)) parts.push(boundedText(bytes, one, inner));
    else parts.push(`${cutText(JSON.stringify(one.key), maxKey)}:${boundedText(bytes, one.value, inner)}`);
  }
  if (left > 0) parts.push(isList ? leftOut(`${left} entries`) : `"…":${leftOut(`${left} keys`)}`);
  return isList ? `[${parts.join(",")}]` : `{${parts.join(",")}}`;
};

/** A text of JSON without what is over a bound. */
const cutText = (json: string, max: number): string => {
  const text = String(JSON.parse(json));
  return text.length <= max
    ? json
    : JSON.stringify(`${text.slice(0, max)}… [${text.length - max} characters left out]`);
};

const leftOut = (what: string): string => JSON.stringify(`… [${what} left out]`);
