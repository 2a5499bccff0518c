/** Defines the documents of `catalog`. */
import * as s from "../../output/document-schemas.ts";
import {
  count,
  describe,
  dollars,
  flag,
  list,
  nullable,
  object,
  oneOf,
  sameKeys,
  text,
} from "../../output/document-schemas.ts";

export const notes = s.optionalAbout("notices about an incomplete list", list(text));

/** A catalog entry (interface 2.5). Enumerated fields can contain any string. */
export const model = describe(
  `a model ${s.passthroughNote}`,
  s.looseObject({
    ...sameKeys(s.sentText, "id", "name"),
    created: s.sent("Unix seconds"),
    ...sameKeys(s.sentTexts, "input_modalities", "output_modalities"),
    quantization: s.sent("a text such as int4"),
    ...sameKeys(s.sentInteger, "context_length", "max_output_length"),
    pricing: s.sent("decimal strings in US dollars per token; image and request per unit"),
    ...sameKeys(s.sentTexts, "supported_sampling_parameters", "supported_features"),
    datacenters: s.sent("a list of objects with country_code"),
    deprecation_date: s.sentText,
  }),
);

/** A list of a service, which can be or contain null. */
export const sentList = (row: s.Schema) => nullable(s.array(nullable(row)));

const catalog = oneOf("analysis", "router");
export const catalogOrNull = oneOf("analysis", "router", null);
export const catalogRows = (row: s.Schema) => object({ catalogs: list(catalog), data: list(row), notes });

const oneCatalog = s.looseObject({ data: sentList(model), notes });
const entry = object({
  catalog: s.optionalAbout("absent if --fields does not have it", catalog),
  entry: s.optional(model),
});
const entryRows = catalogRows(entry);

const side = object({
  catalog: describe("null for a file", catalogOrNull),
  ...sameKeys(nullable(text), "provider", "file"),
  partial: describe("true if the service sent only a part of the list; no model counts as added or gone then", flag),
});
const change = object({
  catalog: describe("null if two catalogs or files are compared", catalogOrNull),
  id: text,
  name: nullable(text),
  change: describe(
    "added: only in the second catalog; gone: only in the first",
    oneOf(
      ...(["added", "gone", "price", "context", "output", "quantization", "modalities", "features"] as const),
      ...(["parameters", "countries", "deprecation", "other"] as const),
    ),
  ),
  field: describe("name on the wire, such as pricing.prompt; null for an added or gone model", nullable(text)),
  from: describe("value on the wire; null if absent", s.unknown()),
  to: s.unknown(),
  worse: describe("true if the change can break a user", flag),
});
const models = object(sameKeys(count, "from", "to", "same", "without_id"));
const diff = object({
  compared: list(
    object({
      ...sameKeys(side, "from", "to"),
      models,
      unchecked: describe("ids that an incomplete list does not have", list(text)),
    }),
  ),
  changes: list(change),
  notes,
});
export type DiffDocument = s.Infer<typeof diff>;

const usage = object({
  prompt_tokens: count,
  cached_tokens: describe("part of the prompt tokens", count),
  cache_write_tokens: describe("another part of the prompt tokens", count),
  ...sameKeys(count, "completion_tokens", "images", "requests"),
  from: oneOf("options", "call"),
});
const modelCost = object({
  catalog,
  ...sameKeys(nullable(text), "id", "name"),
  deprecation_date: describe("YYYY-MM-DD", nullable(text)),
  ended: describe("true if deprecation_date has passed; such models are last", flag),
  total: describe("exact US dollars; null if it is unknown", nullable(dollars)),
  at_least: describe("sum of the known prices", dollars),
  not_stated: describe("names of prices that are missing or unknown", list(text)),
  reason: describe("why the total is unknown", nullable(text)),
  items: list(object({ price: text, count, ...sameKeys(nullable(dollars), "unit_price", "cost") })),
});
const cost = object({ usage, notes, models: list(modelCost) });
export type ModelCost = s.Infer<typeof modelCost>;
export type CostDocument = s.Infer<typeof cost>;

export const outputs: s.Outputs = {
  "catalog analysis": ["the models in the analysis catalog", oneCatalog, model],
  "catalog router": ["the models in the router catalog", oneCatalog, model],
  "catalog all": ["the models of both catalogs", entryRows, entry],
  "catalog show": ["the entries of one model", entryRows, entry],
  "catalog diff": ["the differences between two catalogs or files", diff, change],
  "catalog cost": ["the cost of tokens by model, cheapest first", cost, modelCost],
};
