/** Makes rows from catalog entries and inference models. */

import { parseRawBytes } from "../json/raw-bytes.ts";
import type { CatalogModel } from "../wire/contract/models.ts";
import { type ReplyEntry, type ReplyList, toText } from "../wire/contract/replies.ts";
import type { CatalogName } from "./catalog-files.ts";

export type CatalogEntry = Readonly<Omit<ReplyEntry, "value"> & { catalog: CatalogName; entry: CatalogModel }>;

export type CatalogRow = Partial<CatalogEntry> & { readonly model?: ReplyEntry };

export const groupById = <Value>(values: readonly Value[], idOf: (value: Value) => unknown) => {
  const byId = new Map<string, Value[]>();
  for (const value of values) {
    const id = toText(idOf(value));
    const known = id === undefined ? undefined : byId.get(id);
    if (known) known.push(value);
    else if (id !== undefined) byId.set(id, [value]);
  }
  return byId;
};

export const joinById = (models: ReplyList, entries: readonly CatalogEntry[]) => {
  const byId = groupById(entries, ({ entry }) => entry.id);
  return models.entries.flatMap((model): readonly CatalogRow[] => {
    const id = toText(model.value.id);
    const matching = id === undefined ? undefined : byId.get(id);
    return matching?.map((entry) => ({ ...entry, model })) ?? [{ model }];
  });
};

/** Returns `{"catalogs":[…],"data":[…]}` with the service's own JSON of the models. */
export const rowsDocument = (rows: readonly CatalogRow[], catalogs: readonly CatalogName[]) => {
  const data = rows.map(({ model, catalog = null, raw }) => {
    return { model: model && parseRawBytes(model.raw), catalog, entry: raw ? parseRawBytes(raw) : null };
  });
  return { catalogs, data };
};
