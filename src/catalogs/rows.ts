/** Makes the rows of lists from catalog entries and models that can be called. */
import type { CatalogModel } from "../contract/catalog.ts";
import { type ReplyEntry, type ReplyList, textOf } from "../contract/replies.ts";
import type { CatalogName } from "./catalog-files.ts";
import { compilePattern } from "./fields.ts";
import { createMatcher, type Filter, hasFilters } from "./filter.ts";

export type CatalogEntry = Readonly<Omit<ReplyEntry, "value"> & { catalog: CatalogName; entry: CatalogModel }>;

/** A model that can be called (interface 2.3), an entry, or both if they have the same id. */
export type CatalogRow = Readonly<{ model?: ReplyEntry; catalogEntry?: CatalogEntry | undefined }>;

export const groupById = <Value>(
  values: readonly Value[],
  idOf: (value: Value) => unknown,
): ReadonlyMap<string, readonly Value[]> => {
  const byId = new Map<string, Value[]>();
  for (const value of values) {
    const id = textOf(idOf(value));
    if (id === undefined) continue;
    const sameId = byId.get(id);
    if (sameId === undefined) byId.set(id, [value]);
    else sameId.push(value);
  }
  return byId;
};

/** Joins each model with each entry of exactly the same id, in the order of the models. */
export const joinById = (models: ReplyList, entries: readonly CatalogEntry[]): readonly CatalogRow[] => {
  const byId = groupById(entries, ({ entry }) => entry.id);
  return models.entries.flatMap((model): readonly CatalogRow[] => {
    const id = textOf(model.value.id);
    const matching = id === undefined ? undefined : byId.get(id);
    return matching?.map((catalogEntry) => ({ model, catalogEntry })) ?? [{ model }];
  });
};

/** A model without an entry has only an id, so it can match a pattern, but no other filter. */
export const createRowMatcher = (filter: Filter, now: number): ((row: CatalogRow) => boolean) => {
  const matches = createMatcher(filter, now);
  const matchesId = hasFilters(filter) ? () => false : compilePattern(filter.pattern ?? "");
  return ({ model, catalogEntry }) =>
    catalogEntry ? matches(catalogEntry.entry) : matchesId({ id: textOf(model?.value.id) ?? "", name: "" });
};

/** Composes `{"catalogs":[…],"data":[{"model":{…},"catalog":"router","entry":{…}},…]}` with the service's bytes. */
export const rowsDocument = (rows: readonly CatalogRow[], catalogs: readonly CatalogName[]): Uint8Array => {
  const start = JSON.stringify({ catalogs, data: [] }).slice(0, -2);
  const pieces = rows.flatMap(({ model, catalogEntry }, at) => [
    at === 0 ? "{" : ",{",
    ...(model === undefined ? [] : ['"model":', model.raw, ","]),
    `"catalog":${JSON.stringify(catalogEntry?.catalog ?? null)},"entry":`,
    catalogEntry?.raw ?? "null",
    "}",
  ]);
  return Buffer.concat([start, ...pieces, "]}"].map((piece) => Buffer.from(piece)));
};
