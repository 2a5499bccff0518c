/** Rows of lists: entries of catalogs, models that can be called, or both if they have the same id. */
import type { CatalogModel } from "../contract/catalog.ts";
import type { InferenceModel } from "../contract/models.ts";
import { type Entries, type ReplyList, toEntries, typedValue } from "../contract/replies.ts";
import { listMemberSpans, openBrace, rootSpan, skipWhite } from "../json/walk.ts";
import type { CatalogName } from "./catalog-files.ts";
import { createMatcher, type Filter, hasFilters } from "./filter.ts";
import { compilePattern } from "./models.ts";

/** An entry of a catalog (interface 2.5). */
export interface CatalogEntry {
  readonly catalog: CatalogName;
  readonly entry: CatalogModel;
  /** The bytes from the service. */
  readonly raw: Uint8Array;
}

/** A row has a model, an entry or both. */
export interface CatalogRow {
  /** A model that can be called (interface 2.3). */
  readonly model?: { readonly value: InferenceModel; readonly raw: Uint8Array };
  readonly listed?: CatalogEntry;
}

/** Returns the entries of catalogs, one catalog after the other. */
type CatalogList = Readonly<{ catalog: CatalogName; models: ReplyList<CatalogModel> }>;

export const joinCatalogs = (lists: readonly CatalogList[]): Entries<CatalogEntry> => {
  const length = lists.reduce((sum, { models }) => sum + models.length, 0);
  return toEntries(length, (position) => {
    let at = position;
    for (const { catalog, models } of lists) {
      const entry = models.at(at);
      if (entry !== undefined) return { catalog, entry, raw: models.bytesAt(at) };
      at -= models.length;
    }
    throw new RangeError(`no entry ${position} of ${length}`);
  });
};

/** Joins each model with each entry that has exactly its id, in the order of the models. */
export const joinById = (models: ReplyList<InferenceModel>, entries: Entries<CatalogEntry>): readonly CatalogRow[] => {
  const byId = new Map(Array.from(models, ({ id }): [string | undefined, CatalogEntry[]] => [typedValue(id), []]));
  byId.delete(undefined);
  for (const listed of entries) byId.get(typedValue(listed.entry.id))?.push(listed);
  return Array.from(models, (value, at) => ({ value, raw: models.bytesAt(at) })).flatMap(
    (model): readonly CatalogRow[] => {
      const found = byId.get(typedValue(model.value.id)) ?? [];
      return found.length === 0 ? [{ model }] : found.map((listed) => ({ model, listed }));
    },
  );
};

/** A model without an entry has nothing but its id, so it matches only patterns. */
export const createRowMatcher = (filter: Filter, now: number): ((row: CatalogRow) => boolean) => {
  const matches = createMatcher(filter, now);
  const matchesId = hasFilters(filter) ? () => false : compilePattern(filter.pattern ?? "");
  return ({ model, listed }) =>
    listed === undefined ? matchesId({ id: typedValue(model?.value.id) ?? "", name: "" }) : matches(listed.entry);
};

type Rows = Pick<Entries<CatalogRow>, "length" | "at">;

/** `{"catalogs":[…],"data":[{"model":{…},"catalog":"router","entry":{…}},…]}` with the bytes from the service. */
export const rowsDocument = (rows: Rows, catalogs: readonly CatalogName[]): Uint8Array =>
  joinRows(rows, { catalogs }, ({ model, listed }) => [
    ...(model === undefined ? [] : ['"model":', model.raw, ","]),
    `"catalog":${JSON.stringify(listed?.catalog ?? null)},"entry":`,
    listed?.raw ?? "null",
  ]);

/** The rows for the cells of tables: the keys of an entry, then `catalog` and `model`. */
export const cellsDocument = (rows: Rows): Uint8Array =>
  joinRows(rows, {}, ({ model, listed }) => {
    const id = model && listed === undefined ? listMemberSpans(model.raw, rootSpan(model.raw)).get("id") : undefined;
    return [
      ...(listed === undefined ? [] : innerMembers(listed.raw)),
      ...(model === undefined || id === undefined ? [] : ['"id":', model.raw.subarray(id.start, id.end), ","]),
      `"catalog":${JSON.stringify(listed?.catalog ?? null)}`,
      ...(model === undefined ? [] : [',"model":', model.raw]),
    ];
  });

type Piece = string | Uint8Array;

const joinRows = (rows: Rows, others: object, piecesOf: (row: CatalogRow) => readonly Piece[]): Uint8Array => {
  const pieces: Piece[] = [JSON.stringify({ ...others, data: [] }).slice(0, -2)];
  for (let at = 0; at < rows.length; at++) pieces.push(at === 0 ? "{" : ",{", ...piecesOf(rows.at(at) ?? {}), "}");
  return Buffer.concat([...pieces, "]}"].map((piece) => (typeof piece === "string" ? Buffer.from(piece) : piece)));
};

const innerMembers = (raw: Uint8Array): readonly Piece[] => {
  const start = skipWhite(raw, 1);
  return raw[0] !== openBrace || start >= raw.length - 1 ? [] : [raw.subarray(start, raw.length - 1), ","];
};
