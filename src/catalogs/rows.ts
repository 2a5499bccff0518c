/** Makes rows from catalog entries and inference models. */
import type { CatalogModel } from "../contract/models.ts";
import { type ReplyEntry, type ReplyList, toText } from "../contract/replies.ts";
import { toBuffer } from "../json/json-bytes.ts";
import { composeArray, composeObject } from "../json/raw-json.ts";
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

/** Copies the service's raw JSON into `{"catalogs":[…],"data":[…]}`. */
export const rowsDocument = (rows: readonly CatalogRow[], catalogs: readonly CatalogName[]) => {
  const toText = (raw?: Uint8Array) => raw && toBuffer(raw).toString("utf8");
  const data = rows.map(({ model, catalog = null, raw }) =>
    composeObject({ model: toText(model?.raw), catalog: JSON.stringify(catalog), entry: toText(raw) ?? "null" }),
  );
  return Buffer.from(composeObject({ catalogs: JSON.stringify(catalogs), data: composeArray(data) }));
};
