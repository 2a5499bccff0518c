/** A page of one list or of several: entries as a service wrote them, as many as an agent reads at once. */
import type { Entries } from "../../contract/fields.ts";
import { elements, type Span, skipWhite } from "../../json/walk.ts";
import { type Order, selected } from "../lists/selection.ts";
import { spansOf, valueAt } from "./values.ts";

/** A list of a service's reply. */
export interface List<Model> {
  readonly entries: Entries<Model>;
  readonly bytes: Uint8Array;
  /** Which catalog it is, where there are several. */
  readonly catalog?: string;
}

/** The entries of lists, one list after the other. */
export const joined = <Model>(lists: readonly List<Model>[]): Entries<Model> => ({
  length: lists.reduce((sum, { entries }) => sum + entries.length, 0),
  at: (position) => {
    const place = placeOf(lists, position);
    return place?.list.entries.at(place.position);
  },
  *[Symbol.iterator]() {
    for (const { entries } of lists) yield* entries;
  },
});

/** Which of the lists a position is in, and where. */
const placeOf = <Model>(
  lists: readonly List<Model>[],
  position: number,
): { readonly list: List<Model>; readonly position: number } | undefined => {
  let before = 0;
  for (const list of lists) {
    if (position < before + list.entries.length) return { list, position: position - before };
    before += list.entries.length;
  }
  return undefined;
};

/** How much of an entry is given: an entry of a real catalog is a tenth of it. */
const entryBounds = { text: 500, entries: 100, levels: 5 };

/** Longest entry as JSON, and longest page; about four characters are a token of a model that reads them. */
const longestEntry = 8_000;
const longestPage = 60_000;

/** A page of what matches, as many entries as fit. */
export const pageOf = <Model>({
  lists,
  matches,
  order,
  offset,
  limit,
}: {
  readonly lists: readonly List<Model>[];
  readonly matches: (model: Model) => boolean;
  readonly order: readonly Order<Model>[];
  readonly offset: number;
  readonly limit: number;
}) => {
  const { kept, found } = selected({ entries: joined(lists), matches, order, limit: offset + limit });
  const spans = new Map(lists.map((list) => [list, spansIn(list.bytes)]));
  const page: unknown[] = [];
  let length = 0;
  for (const at of kept.slice(offset)) {
    const place = placeOf(lists, at);
    const span = place === undefined ? undefined : spans.get(place.list)?.[place.position];
    if (place === undefined || span === undefined) continue;
    const value = entryOf(place.list, span);
    length += JSON.stringify(value).length;
    if (page.length > 0 && length > longestPage) break;
    page.push(value);
  }
  const next = offset + page.length;
  return { total: found, offset, data: page, next_offset: next < found ? next : null };
};

const spansIn = (bytes: Uint8Array): readonly Span[] => {
  const data = spansOf(bytes, { start: 0, end: bytes.length }).get("data");
  return data === undefined ? [] : [...elements(bytes, skipWhite(bytes, data.start))];
};

const entryOf = ({ bytes, catalog }: List<unknown>, span: Span): unknown => {
  const of = catalog === undefined ? {} : { catalog };
  const value = valueAt(bytes, span, entryBounds);
  const whole = { ...of, ...(typeof value === "object" ? value : { value }) };
  if (JSON.stringify(whole).length <= longestEntry) return whole;
  const id = spansOf(bytes, span).get("id");
  const named = id === undefined ? {} : { id: valueAt(bytes, id, { text: 200, entries: 0, levels: 0 }) };
  return { ...of, ...named, left_out: `an entry of ${span.end - span.start} bytes` };
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
