/** Entries of several catalogs in one list, each beside the model that can be called where it was joined with one. */
import type { CatalogModel } from "../contract/catalog.ts";
import type { Entries } from "../contract/fields.ts";
import { known } from "../contract/fields.ts";
import type { InferenceModel } from "../contract/models.ts";
import { elements, members, openBrace, type Span, skipWhite } from "../json/walk.ts";
import type { CatalogName } from "./catalog-names.ts";
import { type Filter, type FilterMoment, matcherOf } from "./filter.ts";
import { matchesPattern } from "./model-ids.ts";
import { lastPart } from "./near.ts";

/** Where an object stands, so that it can be passed on as it was spelled. */
export interface Spelling {
  readonly bytes: Uint8Array;
  readonly span: Span;
}

/** An entry of a catalog (interface 2.5). */
export interface Listed {
  readonly catalog: CatalogName;
  readonly entry: CatalogModel;
  readonly spelling: Spelling;
}

/** A model that can be called (interface 2.3). */
export interface Callable {
  readonly value: InferenceModel;
  readonly spelling: Spelling;
}

/** A row of such a list: at least one of the two is there. */
export interface JoinedRow {
  readonly model?: Callable;
  readonly listed?: Listed;
}

/** Where the objects of a reply's list stand. */
const spansIn = (bytes: Uint8Array): readonly Span[] => {
  const holder = [...members(bytes, skipWhite(bytes, 0))].findLast(({ key }) => key === "data");
  return holder === undefined ? [] : [...elements(bytes, holder.value.start)];
};

/** A reply whose entries are listed. */
export interface CatalogReply {
  readonly catalog: CatalogName;
  readonly entries: Entries<CatalogModel>;
  readonly bytes: Uint8Array;
}

/** The entries of several catalogs, one catalog behind the other; each is decoded when it is looked at. */
export const listedIn = (replies: readonly CatalogReply[]): Entries<Listed> => {
  const parts = replies.map((reply) => ({ ...reply, spans: spansIn(reply.bytes) }));
  const listed = ({ catalog, bytes, spans }: (typeof parts)[number], entry: CatalogModel, at: number): Listed => ({
    catalog,
    entry,
    spelling: { bytes, span: spans[at] ?? { start: 0, end: 0 } },
  });
  return {
    length: parts.reduce((sum, { entries }) => sum + entries.length, 0),
    at(position) {
      let before = 0;
      for (const part of parts) {
        const entry = part.entries.at(position - before);
        if (position >= before && entry !== undefined) return listed(part, entry, position - before);
        before += part.entries.length;
      }
      return undefined;
    },
    *[Symbol.iterator]() {
      for (const part of parts) {
        let at = 0;
        for (const entry of part.entries) yield listed(part, entry, at++);
      }
    },
  };
};

/** The same entries, each as `change` makes it when it is looked at. */
export const changed = <From, To>(entries: Entries<From>, change: (entry: From) => To): Entries<To> => ({
  length: entries.length,
  at(position) {
    const entry = entries.at(position);
    return entry === undefined ? undefined : change(entry);
  },
  *[Symbol.iterator]() {
    for (const entry of entries) yield change(entry);
  },
});

/** The models of a list's reply. */
export const callableIn = (models: Entries<InferenceModel>, bytes: Uint8Array): readonly Callable[] => {
  const spans = spansIn(bytes);
  return Array.from(models, (value, at) => ({ value, spelling: { bytes, span: spans[at] ?? { start: 0, end: 0 } } }));
};

/** Each model beside each entry with exactly its id, in the order of the models; alone where there is none. */
export const joinedById = (models: readonly Callable[], entries: Entries<Listed>): readonly JoinedRow[] => {
  const byId = new Map<string, Listed[]>(models.map(({ value }) => [known(value.id) ?? noId, []]));
  byId.delete(noId);
  for (const listed of entries) byId.get(known(listed.entry.id) ?? noId)?.push(listed);
  return models.flatMap((model): readonly JoinedRow[] => {
    const found = byId.get(known(model.value.id) ?? noId) ?? [];
    return found.length === 0 ? [{ model }] : found.map((listed) => ({ model, listed }));
  });
};

/** No model has it. */
const noId = "\0";

/** What a filter says of rows. Of a model that no catalog has, nothing is known but its id. */
export const joinedMatcher = (filter: Filter, moment: FilterMoment): ((row: JoinedRow) => boolean) => {
  const matches = matcherOf(filter, moment);
  const named = matchesPattern(filter.pattern ?? "");
  const asksMore = Object.entries(filter).some(([key, value]) => key !== "pattern" && value !== undefined);
  return ({ model, listed }) => {
    if (listed !== undefined) return matches(listed.entry);
    return !asksMore && named({ id: known(model?.value.id) ?? "", name: "" });
  };
};

/** Ids of models that no catalog has, each with an id that has the same last part, where there is one. */
export const unlistedIn = (
  rows: readonly JoinedRow[],
  entries: Entries<Listed>,
): readonly { readonly id: string; readonly near: string | undefined }[] => {
  const ids = rows.flatMap(({ model, listed }) => (listed === undefined ? (known(model?.value.id) ?? []) : []));
  const near = new Map<string, string | undefined>(ids.map((id) => [lastPart(id), undefined]));
  if (near.size > 0) {
    for (const { entry } of entries) {
      const id = known(entry.id) ?? "";
      if (near.has(lastPart(id))) near.set(lastPart(id), id);
    }
  }
  return ids.map((id) => ({ id, near: near.get(lastPart(id)) }));
};

/** Rows that are looked at one by one. */
type Rows = Pick<Entries<JoinedRow>, "length" | "at">;

/** `{"catalogs":[…],"data":[{"model":{…},"catalog":"router","entry":{…}},…]}`, every object as the service spelled it. */
export const joinedDocument = (rows: Rows, catalogs: readonly CatalogName[]): Uint8Array =>
  documentOf(`{"catalogs":${JSON.stringify(catalogs)},"data":[`, rows, ({ model, listed }) => [
    "{",
    ...(model === undefined ? [] : ['"model":', bytesIn(model.spelling), ","]),
    `"catalog":${JSON.stringify(listed?.catalog ?? null)},"entry":`,
    listed === undefined ? "null" : bytesIn(listed.spelling),
    "}",
  ]);

/** The rows as tables look for their cells: an entry's own keys, and behind them `catalog` and `model`. */
export const rowsDocument = (rows: Rows): Uint8Array =>
  documentOf('{"data":[', rows, ({ model, listed }) => {
    const id = model === undefined || listed !== undefined ? undefined : memberIn(model.spelling, "id");
    const own = listed === undefined ? undefined : insideOf(listed.spelling);
    const behind = [
      ...(listed === undefined ? [] : [[`"catalog":${JSON.stringify(listed.catalog)}`]]),
      ...(id === undefined ? [] : [['"id":', id]]),
      ...(model === undefined ? [] : [['"model":', bytesIn(model.spelling)]]),
    ];
    const parts = [...(own === undefined ? [] : [[own]]), ...behind];
    return ["{", ...parts.flatMap((part, at) => (at === 0 ? part : [",", ...part])), "}"];
  });

type Part = string | Uint8Array;

const documentOf = (start: string, rows: Rows, partsOf: (row: JoinedRow) => readonly Part[]): Uint8Array => {
  const parts: Uint8Array[] = [Buffer.from(start)];
  for (let at = 0; at < rows.length; at++) {
    const row = rows.at(at);
    if (at > 0) parts.push(Buffer.from(","));
    if (row === undefined) continue;
    for (const part of partsOf(row)) parts.push(typeof part === "string" ? Buffer.from(part) : part);
  }
  parts.push(Buffer.from("]}"));
  return Buffer.concat(parts);
};

const bytesIn = ({ bytes, span }: Spelling): Uint8Array => bytes.subarray(span.start, span.end);

/** The members of an object without its braces; undefined where it has none. */
const insideOf = ({ bytes, span }: Spelling): Uint8Array | undefined => {
  if (bytes[span.start] !== openBrace) return undefined;
  const start = skipWhite(bytes, span.start + 1);
  return start >= span.end - 1 ? undefined : bytes.subarray(start, span.end - 1);
};

const memberIn = ({ bytes, span }: Spelling, name: string): Uint8Array | undefined => {
  if (bytes[span.start] !== openBrace) return undefined;
  const found = [...members(bytes, span.start)].findLast(({ key }) => key === name);
  return found === undefined ? undefined : bytes.subarray(found.value.start, found.value.end);
};
