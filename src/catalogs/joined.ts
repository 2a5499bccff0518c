/** Entries of several catalogs in one list, each beside the model that can be called where it was joined with one. */
import type { CatalogModel } from "../contract/catalog.ts";
import { type Entries, entriesOf, known } from "../contract/fields.ts";
import type { InferenceModel } from "../contract/models.ts";
import { elementSpans, memberSpans, openBrace, type Span, skipWhite, spanAt, wholeOf } from "../json/walk.ts";
import type { CatalogName } from "./catalog-names.ts";
import { type Filter, type FilterMoment, matcherOf } from "./filter.ts";
import { lastPart, matchesPattern } from "./model-ids.ts";

/** An entry of a catalog (interface 2.5). */
export interface Listed {
  readonly catalog: CatalogName;
  readonly entry: CatalogModel;
  /** As the service spelled it. */
  readonly raw: Uint8Array;
}

/** A model that can be called (interface 2.3). */
interface Callable {
  readonly value: InferenceModel;
  /** As the service spelled it. */
  readonly raw: Uint8Array;
}

/** A row of such a list: at least one of the two is there. */
export interface JoinedRow {
  readonly model?: Callable;
  readonly listed?: Listed;
}

/** The objects of a reply's list as the service spelled them; they are looked for when the first is asked for. */
const objectsIn = (bytes: Uint8Array): ((position: number) => Uint8Array) => {
  let spans: readonly Span[] | undefined;
  return (position) => {
    const list = spans === undefined ? spanAt(bytes, ["data"]) : undefined;
    spans ??= list === undefined ? [] : elementSpans(bytes, list);
    return bytes.subarray(spans[position]?.start ?? 0, spans[position]?.end ?? 0);
  };
};

/** A reply whose entries are listed. */
interface CatalogReply {
  readonly catalog: CatalogName;
  readonly entries: Entries<CatalogModel>;
  readonly bytes: Uint8Array;
}

/** The entries of several catalogs, one catalog behind the other; each is decoded when it is looked at. */
export const listedIn = (replies: readonly CatalogReply[]): Entries<Listed> => {
  const parts = replies.map((reply) => ({ ...reply, rawAt: objectsIn(reply.bytes) }));
  const length = parts.reduce((sum, { entries }) => sum + entries.length, 0);
  return entriesOf(length, (position) => {
    let at = position;
    for (const { catalog, entries, rawAt } of parts) {
      const [own, entry] = [at, entries.at(at)];
      if (entry !== undefined) {
        return {
          catalog,
          entry,
          get raw() {
            return rawAt(own);
          },
        };
      }
      at -= entries.length;
    }
    throw new RangeError(`no entry ${position} of ${length}`);
  });
};

/** The models of a list's reply. */
export const callableIn = (models: Entries<InferenceModel>, bytes: Uint8Array): readonly Callable[] => {
  const rawAt = objectsIn(bytes);
  return Array.from(models, (value, at) => ({ value, raw: rawAt(at) }));
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
    ...(model === undefined ? [] : ['"model":', model.raw, ","]),
    `"catalog":${JSON.stringify(listed?.catalog ?? null)},"entry":`,
    listed?.raw ?? "null",
    "}",
  ]);

/** The rows as tables look for their cells: an entry's own keys, and behind them `catalog` and `model`. */
export const rowsDocument = (rows: Rows): Uint8Array =>
  documentOf('{"data":[', rows, ({ model, listed }) => {
    const id = model === undefined || listed !== undefined ? undefined : idIn(model.raw);
    const own = listed === undefined ? undefined : insideOf(listed.raw);
    const parts = [
      ...(own === undefined ? [] : [[own]]),
      ...(listed === undefined ? [] : [[`"catalog":${JSON.stringify(listed.catalog)}`]]),
      ...(id === undefined ? [] : [['"id":', id]]),
      ...(model === undefined ? [] : [['"model":', model.raw]]),
    ];
    return ["{", ...parts.flatMap((part, at) => (at === 0 ? part : [",", ...part])), "}"];
  });

type Piece = string | Uint8Array;

const documentOf = (start: string, rows: Rows, piecesOf: (row: JoinedRow) => readonly Piece[]): Uint8Array => {
  const pieces: Uint8Array[] = [Buffer.from(start)];
  for (let at = 0; at < rows.length; at++) {
    const row = rows.at(at);
    if (at > 0) pieces.push(Buffer.from(","));
    for (const piece of row === undefined ? [] : piecesOf(row)) {
      pieces.push(typeof piece === "string" ? Buffer.from(piece) : piece);
    }
  }
  pieces.push(Buffer.from("]}"));
  return Buffer.concat(pieces);
};

/** The members of an object without its braces; undefined where it has none. */
const insideOf = (raw: Uint8Array): Uint8Array | undefined => {
  if (raw[0] !== openBrace) return undefined;
  const start = skipWhite(raw, 1);
  return start >= raw.length - 1 ? undefined : raw.subarray(start, raw.length - 1);
};

const idIn = (raw: Uint8Array): Uint8Array | undefined => {
  const span = memberSpans(raw, wholeOf(raw)).get("id");
  return span === undefined ? undefined : raw.subarray(span.start, span.end);
};
