/** JSON as values for an agent: of bounded size, and without a wrong number. */
import {
  closeBrace,
  closeBracket,
  elements,
  isObject,
  memberOf,
  members,
  openBrace,
  openBracket,
  quote,
  type Span,
  skipWhite,
  textOf,
} from "../../json/walk.ts";

/** How much of a value is given. */
export interface Bounds {
  /** Longest text, in UTF-16 units. */
  readonly text: number;
  /** Most entries of an array or an object. */
  readonly entries: number;
  /** Levels of nesting. */
  readonly levels: number;
}

/**
 * The value at a place in valid JSON. A number that a double can't hold is a text of its digits. What is over a bound ends with
 * how much was left out.
 */
export const valueAt = (bytes: Uint8Array, span: Span, bounds: Bounds): unknown => {
  const at = skipWhite(bytes, span.start);
  const first = bytes[at];
  if (first === quote) return shortened(parsedText(textOf(bytes, { start: at, end: span.end })), bounds.text);
  if (first !== openBrace && first !== openBracket) return scalarOf(textOf(bytes, { start: at, end: span.end }).trim());
  if (bounds.levels === 0) return isEmpty(bytes, at) ? emptyOf(first) : leftOut(`${span.end - at} bytes`);
  const inner = { ...bounds, levels: bounds.levels - 1 };
  return first === openBrace ? objectAt(bytes, at, inner) : listAt(bytes, at, inner);
};

/** The members of an object by their keys, the last of a key that stands twice: where their values stand. */
export const spansOf = (bytes: Uint8Array, { start }: Span): ReadonlyMap<string, Span> => {
  const at = skipWhite(bytes, start);
  if (bytes[at] !== openBrace) return new Map();
  return new Map(Array.from(members(bytes, at), ({ key, value }) => [key, value]));
};

/** How much of an entry of a list is given: an entry of a real catalog is a tenth of it. */
const entryBounds: Bounds = { text: 500, entries: 100, levels: 6 };

/** Longest entry as JSON, and longest page; about four characters are a token of a model that reads them. */
const longestEntry = 8_000;
const longestPage = 60_000;

/** A page of the list that a document holds under `data`: as many entries as fit, of those whose id is among `ids`. */
export const pageOf = (
  bytes: Uint8Array,
  { offset, limit, ids }: { readonly offset: number; readonly limit: number; readonly ids?: ReadonlySet<string> },
) => {
  const entries = entriesIn(bytes).filter((span) => ids === undefined || ids.has(idOf(bytes, span)));
  const page: unknown[] = [];
  let length = 0;
  for (const span of entries.slice(offset, offset + limit)) {
    const entry = entryOf(bytes, span);
    length += JSON.stringify(entry).length;
    if (page.length > 0 && length > longestPage) break;
    page.push(entry);
  }
  const next = offset + page.length;
  return { total: entries.length, offset, data: page, next_offset: next < entries.length ? next : null };
};

/** The ids of the list that a document holds: an entry without one is none of another without one. */
export const idsIn = (bytes: Uint8Array): ReadonlySet<string> =>
  new Set(entriesIn(bytes).flatMap((span) => idOf(bytes, span) || []));

const entriesIn = (bytes: Uint8Array): readonly Span[] => {
  const data = spansOf(bytes, { start: 0, end: bytes.length }).get("data");
  return data === undefined ? [] : [...elements(bytes, skipWhite(bytes, data.start))];
};

/** The id of an entry, which in a list of both catalogs stands beside the catalog's name. */
const idOf = (bytes: Uint8Array, span: Span): string => {
  const row = spansOf(bytes, span);
  const entry = row.has("catalog") ? row.get("entry") : undefined;
  const id = (entry === undefined ? row : spansOf(bytes, entry)).get("id");
  const value = id === undefined ? undefined : valueAt(bytes, id, { text: longestKey, entries: 0, levels: 0 });
  return typeof value === "string" ? value : "";
};

const entryOf = (bytes: Uint8Array, span: Span): unknown => {
  const value = valueAt(bytes, span, entryBounds);
  const [catalog, entry] = [memberOf(value, "catalog"), memberOf(value, "entry")];
  // In a list of both catalogs an entry stands beside the catalog's name.
  const { entry: _, ...row } = isObject(value) ? value : { value };
  const whole =
    catalog === undefined || !isObject(entry)
      ? { ...row, ...(entry === undefined ? {} : { entry }) }
      : { ...row, ...entry };
  if (JSON.stringify(whole).length <= longestEntry) return whole;
  const id = idOf(bytes, span);
  return {
    ...(typeof catalog === "string" ? { catalog } : {}),
    ...(id === "" ? {} : { id }),
    left_out: `an entry of ${span.end - span.start} bytes`,
  };
};

/** A text without what is over a bound. */
export const shortened = (text: string, most: number): string =>
  text.length <= most ? text : `${text.slice(0, most)}${leftOut(`${text.length - most} characters`)}`;

const leftOut = (what: string): string => `… [${what} left out]`;

const isEmpty = (bytes: Uint8Array, at: number): boolean => {
  const next = bytes[skipWhite(bytes, at + 1)];
  return next === closeBrace || next === closeBracket;
};

const emptyOf = (first: number): unknown => (first === openBrace ? {} : []);

const objectAt = (bytes: Uint8Array, at: number, bounds: Bounds): unknown => {
  const entries = new Map<string, unknown>();
  let left = 0;
  for (const { key, value } of members(bytes, at)) {
    if (entries.size < bounds.entries || entries.has(key)) entries.set(key, valueAt(bytes, value, bounds));
    else left++;
  }
  if (left > 0) entries.set("…", leftOut(`${left} keys`));
  return Object.fromEntries(Array.from(entries, ([key, value]) => [shortened(key, longestKey), value]));
};

/** Longest key, in UTF-16 units: a text in disguise is cut. */
const longestKey = 200;

const listAt = (bytes: Uint8Array, at: number, bounds: Bounds): unknown => {
  const items: unknown[] = [];
  let left = 0;
  for (const item of elements(bytes, at)) {
    if (items.length < bounds.entries) items.push(valueAt(bytes, item, bounds));
    else left++;
  }
  return left === 0 ? items : [...items, leftOut(`${left} entries`)];
};

const parsedText = (json: string): string => {
  const value: unknown = JSON.parse(json);
  return typeof value === "string" ? value : "";
};

const scalarOf = (word: string): unknown => {
  const value: unknown = JSON.parse(word);
  return typeof value !== "number" || isHeld(value, word) ? value : word;
};

/** Digits that every double holds, but for those nearest to zero. */
const digitsHeld = 15;
const smallestNormal = 2 ** -1022;

/** Whether a double holds all of a number as it is spelled. */
const isHeld = (value: number, spelled: string): boolean => {
  if (!Number.isFinite(value)) return false;
  const digits = spelled
    .replace(/[eE].*$/, "")
    .replace(/[^0-9]/g, "")
    .replace(/^0+|0+$/g, "");
  if (value === 0) return digits === "";
  return (digits.length <= digitsHeld && Math.abs(value) >= smallestNormal) || String(value) === spelled;
};

/** JSON Schema of a page. */
export const pageSchema = {
  type: "object",
  properties: {
    total: { type: "integer", description: "entries that match" },
    offset: { type: "integer" },
    data: { type: "array", items: { type: "object", description: "an entry, as the service wrote it" } },
    next_offset: { type: ["integer", "null"], description: "offset of the next page; null at the end" },
  },
  required: ["total", "offset", "data", "next_offset"],
};
