/** Pages of a JSON document for an agent, with bounded size. Numbers keep their spelling. */
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

interface PageRequest {
  readonly paged: string;
  readonly offset: number;
  readonly limit: number;
  readonly maxTextLength: number;
}

/** Maximum length of a page, in UTF-16 units: about 15,000 tokens of a model. */
const maxPageLength = 60_000;

/** Formats an object with one page of its list, `total` and `next_offset`. Long values are shortened. */
export const formatPage = (bytes: Uint8Array, { paged, offset, limit, maxTextLength }: PageRequest): string => {
  const parts: string[] = [];
  for (const { key, value } of walkMembers(bytes, skipWhite(bytes, 0))) {
    if (key !== paged || bytes[value.start] !== openBracket) {
      parts.push(`${JSON.stringify(key)}:${formatFitting(bytes, value, maxTextLength)}`);
      continue;
    }
    const all = [...walkElements(bytes, value.start)];
    const page: string[] = [];
    let length = 0;
    for (const entry of all.slice(offset, offset + limit)) {
      const text = formatFitting(bytes, entry, maxTextLength);
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

/** Limits of a value: text in UTF-16 units, entries of an array or object, levels of nesting. */
type Bounds = Readonly<Record<"maxTextLength" | "maxEntries" | "maxLevels", number>>;

const boundsByWidth: readonly Bounds[] = [
  { maxTextLength: Number.POSITIVE_INFINITY, maxEntries: 200, maxLevels: 12 },
  { maxTextLength: 500, maxEntries: 50, maxLevels: 8 },
  { maxTextLength: 100, maxEntries: 10, maxLevels: 2 },
];

const formatFitting = (bytes: Uint8Array, span: Span, maxTextLength: number): string => {
  let text = "";
  for (const bounds of boundsByWidth) {
    text = formatBounded(bytes, span, { ...bounds, maxTextLength: Math.min(maxTextLength, bounds.maxTextLength) });
    if (text.length <= maxPageLength) break;
  }
  return text;
};

/** Maximum bytes of an array or object that is copied as it is. */
const maxCopiedBytes = 40;

const maxKeyLength = 200;

const formatBounded = (bytes: Uint8Array, { start, end }: Span, bounds: Bounds): string => {
  const isList = bytes[start] === openBracket;
  if (!(isList || bytes[start] === openBrace) || end - start <= maxCopiedBytes) {
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

const truncateText = (json: string, max: number): string => {
  const text = String(JSON.parse(json));
  return text.length <= max ? json : JSON.stringify(`${text.slice(0, max)}… [${text.length - max} characters omitted]`);
};

const formatOmission = (what: string): string => JSON.stringify(`… [${what} omitted]`);
