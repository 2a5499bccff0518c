/** Schemas of `models`, `call` and `catalog`: objects of the service, and comparisons. */
import { call as callFields } from "../../contract/call.ts";
import { catalogModel as catalogFields } from "../../contract/catalog.ts";
import { inferenceModel as modelFields } from "../../contract/models.ts";
import type { JsonObject } from "../../json/walk.ts";
import { about, type Documents, either, list, nullable, object, open, problem, problems, rows } from "./shape.ts";

export const passthroughNote = "as the service sent it, with unknown keys, the spelling of numbers and invalid values";

const inferenceModel = about(`a model, ${passthroughNote}`, modelFields.schema);
const catalogModel = about(`a model, ${passthroughNote}`, catalogFields.schema);
const call = about(`a call, ${passthroughNote}; vendor_ is the prefix of the deployment`, callFields.schema);

const catalogRows = (row: JsonObject): JsonObject => object({ catalogs: list("analysis|router"), data: list(row) });

/** An inference model and a catalog entry with its id. */
const priced = object({ model: inferenceModel, catalog: "analysis|router?", entry: nullable(catalogModel) });
const modelWithPrices = about("with --with-prices", priced);

const models = either(
  open({ "object?": 'text? "list"', data: list(inferenceModel) }),
  about("with --with-prices", catalogRows(priced)),
);

const durations = object({ calls: "count", "p50 p95": "number?" });
const callCounts = {
  "calls ok failed running deleted": "count",
  seconds: about("durations by nearest rank, over the number of calls with a known duration", durations),
  tokens: about(
    "sums over the number of calls with known tokens",
    object({ calls: "count", "prompt completion total": "count?" }),
  ),
  "cost?": about("sum over the number of calls with a known cost", object({ calls: "count", usd: "number?" })),
};

const callGroup = object({ "op model": "text?", ...callCounts });

const callSummary = object({
  summary: object({ ...callCounts, missing: "count ids of missing calls" }),
  groups: about("by operation and model; a call of several models counts for each", list(callGroup)),
});

const callsRead = either(
  about("the reply, with its other keys", open({ call })),
  object({ calls: list(call) }),
  about("with --summary", callSummary),
);

const catalog = open({ data: list(catalogModel) });

const catalogEntry = object({ catalog: "analysis|router", entry: catalogModel });

const comparedCatalog = object({
  catalog: "analysis|router? null for a file",
  "provider file": "text?",
  as_of: "time? time of the catalog; null for a file",
});

const comparison = object({ "from to": comparedCatalog, models: object({ "from to same without_id": "count" }) });

const changes = "added|gone|price|context|output|quantization|modalities|features|parameters|countries|deprecation";

const change = object({
  catalog: "analysis|router? null if two catalogs or files are compared",
  id: "text",
  name: "text?",
  change: `${changes} added: only in the second catalog; gone: only in the first`,
  field: "text? name on the wire, such as pricing.prompt; null for an added or gone model",
  from: "any value on the wire; null if absent",
  to: "any",
});

/** A decimal number without exponent. */
const dollars = { type: "string", pattern: "^[0-9]+(\\.[0-9]+)?$" };

const usage = object({
  prompt_tokens: "count",
  cached_tokens: "count part of the prompt tokens",
  "completion_tokens images requests": "count",
  from: "options|call",
});

const costOfModel = object({
  catalog: "analysis|router",
  "id name": "text?",
  deprecation_date: "text? YYYY-MM-DD",
  ended: "flag true if deprecation_date has passed; such models are last",
  total: about("exact US dollars; null if a price is not stated", nullable(dollars)),
  at_least: about("sum of the known prices", dollars),
  not_stated: about("names of missing prices", list("text")),
  items: list(object({ price: "text", count: "count", "unit_price cost": nullable(dollars) })),
});

const lock = object({
  file: "text",
  changed: "flag true if the file was rewritten",
  models: list(object({ catalog: "analysis|router", id: "text" })),
});

const replacement = object({ id: "text", "prompt completion": about("US dollars per million tokens", dollars) });

const verification = object({
  status: "verified|differs",
  file: "text",
  models: "count",
  problems,
  replacements: about(
    "the cheapest equivalent of each model with an error",
    list(object({ catalog: "analysis|router", id: "text", replacement: nullable(replacement) })),
  ),
});

const entryRows = catalogRows(catalogEntry);

export const modelsDocuments: Documents = {
  models: ["the inference models", models, either(inferenceModel, modelWithPrices)],
  "call read": ["one call, or a list of calls", callsRead, either(call, about("with --summary", callGroup))],
  "catalog analysis": ["the models in the analysis catalog", catalog, catalogModel],
  "catalog router": ["the models in the router catalog", catalog, catalogModel],
  "catalog all": ["the models of both catalogs", entryRows, catalogEntry],
  "catalog show": ["the entries of one model", entryRows, catalogEntry],
  "catalog diff": [
    "the differences between two catalogs, dates or files",
    object({ compared: list(comparison), changes: list(change) }),
    change,
  ],
  "catalog cost": ["the cost of a usage by model, cheapest first", ...rows("models", costOfModel, { usage })],
  "catalog lock": ["the locked models", lock],
  "catalog verify": ["the regressions from a lock file, and replacements", verification, problem],
};
