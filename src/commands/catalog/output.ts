/** Defines the documents of `catalog`. */
import * as s from "../../output/document-schemas.ts";

export const notes = s.optionalAbout("notices about an incomplete list", s.list(s.text));

/** A catalog entry (interface 2.5). Enumerated fields can contain any string. */
export const model = s.describe(
  `a model ${s.passthroughNote}`,
  s.looseObject({
    ...s.sameKeys(s.sentText, "id", "name"),
    created: s.sent("Unix seconds"),
    ...s.sameKeys(s.sentTexts, "input_modalities", "output_modalities"),
    quantization: s.sent("a text such as int4"),
    ...s.sameKeys(s.sentInteger, "context_length", "max_output_length"),
    pricing: s.sent("decimal strings in US dollars per token; image and request per unit"),
    ...s.sameKeys(s.sentTexts, "supported_sampling_parameters", "supported_features"),
    datacenters: s.sent("a list of objects with country_code"),
    deprecation_date: s.sentText,
  }),
);

/** A list of a service, which can be or contain null. */
export const sentList = (row: s.Schema) => s.nullable(s.array(s.nullable(row)));

const catalog = s.oneOf("analysis", "router");
export const catalogOrNull = s.oneOf("analysis", "router", null);
export const catalogRows = (row: s.Schema) => s.object({ catalogs: s.list(catalog), data: s.list(row), notes });

const oneCatalog = s.looseObject({ data: sentList(model), notes });
const entry = s.object({
  catalog: s.optionalAbout("absent if --fields does not have it", catalog),
  entry: s.optional(model),
});
const entryRows = catalogRows(entry);

const side = s.object({
  catalog: s.describe("null for a file", catalogOrNull),
  ...s.sameKeys(s.nullable(s.text), "provider", "file"),
  partial: s.describe(
    "true if the service sent only a part of the list; no model counts as added or gone then",
    s.flag,
  ),
});
const change = s.object({
  catalog: s.describe("null if two catalogs or files are compared", catalogOrNull),
  id: s.text,
  name: s.nullable(s.text),
  change: s.describe(
    "added: only in the second catalog; gone: only in the first",
    s.oneOf(
      ...(["added", "gone", "price", "context", "output", "quantization", "modalities", "features"] as const),
      ...(["parameters", "countries", "deprecation", "other"] as const),
    ),
  ),
  field: s.describe("name on the wire, such as pricing.prompt; null for an added or gone model", s.nullable(s.text)),
  from: s.describe("value on the wire; null if absent", s.unknown()),
  to: s.unknown(),
  worse: s.describe("true if the change can break a user", s.flag),
});
const diff = s.object({
  compared: s.objects({
    ...s.sameKeys(side, "from", "to"),
    models: s.object(s.sameKeys(s.count, "from", "to", "same", "without_id")),
    unchecked: s.describe("ids that an incomplete list does not have", s.list(s.text)),
  }),
  changes: s.list(change),
  notes,
});
export type DiffDocument = s.Infer<typeof diff>;

const usage = s.object({
  prompt_tokens: s.count,
  cached_tokens: s.describe("part of the prompt tokens", s.count),
  cache_write_tokens: s.describe("another part of the prompt tokens", s.count),
  ...s.sameKeys(s.count, "completion_tokens", "images", "requests"),
  from: s.oneOf("options", "call"),
});
const modelCost = s.object({
  catalog,
  ...s.sameKeys(s.nullable(s.text), "id", "name"),
  deprecation_date: s.describe("YYYY-MM-DD", s.nullable(s.text)),
  ended: s.describe(
    "true if the model states its end, or if deprecation_date has passed; such models are last",
    s.flag,
  ),
  total: s.describe("exact US dollars; null if it is unknown", s.nullable(s.dollars)),
  at_least: s.describe("sum of the known prices", s.dollars),
  not_stated: s.describe("names of prices that are missing or unknown", s.list(s.text)),
  reason: s.describe("why the total is unknown", s.nullable(s.text)),
  items: s.objects({ price: s.text, count: s.count, ...s.sameKeys(s.nullable(s.dollars), "unit_price", "cost") }),
});
const cost = s.object({ usage, notes, models: s.list(modelCost) });
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
