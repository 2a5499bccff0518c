/** Schemas of `models`, `call` and `catalog`: objects of the service, and comparisons. */
import * as z from "zod/mini";
import { Call } from "../../contract/call.ts";
import { CatalogModel } from "../../contract/catalog.ts";
import { InferenceModel } from "../../contract/models.ts";
import * as s from "./shape.ts";
import { about, count, either, list, nullable, number, object, oneOf, optionalAbout, sameKeys, text } from "./shape.ts";

export const passthroughNote = "as the service sent it, with unknown keys, the spelling of numbers and invalid values";

const inferenceModel = about(`a model, ${passthroughNote}`, InferenceModel);
const catalogModel = about(`a model, ${passthroughNote}`, CatalogModel);
const call = about(`a call, ${passthroughNote}; vendor_ is the prefix of the deployment`, Call);

const catalogName = oneOf("analysis", "router");
const catalogOrNull = oneOf("analysis", "router", null);

const catalog = s.open({ data: z.array(catalogModel) });

const catalogRows = <Of extends z.ZodMiniType>(row: Of) => object({ catalogs: list(catalogName), data: list(row) });

const entry = object({ catalog: catalogName, entry: catalogModel });

const priced = object({ model: inferenceModel, catalog: catalogOrNull, entry: nullable(catalogModel) });

const models = either([
  s.open({ object: optionalAbout('"list"', nullable(text)), data: z.array(inferenceModel) }),
  about("with --with-prices", catalogRows(priced)),
]);

const callCounts = {
  ...sameKeys(count, "calls", "ok", "failed", "running", "deleted"),
  seconds: about(
    "durations by nearest rank, over the number of calls with a known duration",
    object({ calls: count, ...sameKeys(nullable(number), "p50", "p95") }),
  ),
  tokens: about(
    "sums over the number of calls with known tokens",
    object({ calls: count, ...sameKeys(nullable(count), "prompt", "completion", "total") }),
  ),
};
const cost = optionalAbout(
  "sum over the number of calls with a known cost",
  object({ calls: count, usd: nullable(number) }),
);

const callGroup = object({ ...sameKeys(nullable(text), "op", "model"), ...callCounts, cost });

const callSummary = object({
  summary: object({ ...callCounts, missing: about("ids of missing calls", count), cost }),
  groups: about("by operation and model; a call of several models counts for each", list(callGroup)),
});

const callsRead = either([
  about("the reply, with its other keys", s.open({ call })),
  object({ calls: list(call) }),
  about("with --summary", callSummary),
]);

const comparedCatalog = object({
  catalog: about("null for a file", catalogOrNull),
  provider: nullable(text),
  file: nullable(text),
  as_of: about("time of the catalog; null for a file", nullable(s.time)),
});

const comparison = object({
  from: comparedCatalog,
  to: comparedCatalog,
  models: object(sameKeys(count, "from", "to", "same", "without_id")),
});

const change = object({
  catalog: about("null if two catalogs or files are compared", catalogOrNull),
  id: text,
  name: nullable(text),
  change: about(
    "added: only in the second catalog; gone: only in the first",
    oneOf(
      ...["added", "gone", "price", "context", "output", "quantization", "modalities", "features", "parameters"],
      ...["countries", "deprecation"],
    ),
  ),
  field: about("name on the wire, such as pricing.prompt; null for an added or gone model", nullable(text)),
  from: about("value on the wire; null if absent", s.anything),
  to: s.anything,
});

const diff = object({ compared: list(comparison), changes: list(change) });

const dollars = text.check(z.regex(/^[0-9]+(\.[0-9]+)?$/));

const usage = object({
  prompt_tokens: count,
  cached_tokens: about("part of the prompt tokens", count),
  ...sameKeys(count, "completion_tokens", "images", "requests"),
  from: oneOf("options", "call"),
});

const costOfModel = object({
  catalog: catalogName,
  ...sameKeys(nullable(text), "id", "name"),
  deprecation_date: about("YYYY-MM-DD", nullable(text)),
  ended: about("true if deprecation_date has passed; such models are last", s.flag),
  total: about("exact US dollars; null if a price is not stated", nullable(dollars)),
  at_least: about("sum of the known prices", dollars),
  not_stated: about("names of missing prices", list(text)),
  items: list(object({ price: text, count, ...sameKeys(nullable(dollars), "unit_price", "cost") })),
});

const lock = object({
  file: text,
  changed: about("true if the file was rewritten", s.flag),
  models: list(object({ catalog: catalogName, id: text })),
});

const replacement = object({
  id: text,
  ...sameKeys(about("US dollars per million tokens", dollars), "prompt", "completion"),
});

const verification = object({
  status: oneOf("verified", "differs"),
  file: text,
  models: count,
  problems: s.problems,
  replacements: about(
    "the cheapest equivalent of each model with an error",
    list(object({ catalog: catalogName, id: text, replacement: nullable(replacement) })),
  ),
});

const entryRows = catalogRows(entry);

export const modelsOutputs: s.Outputs = {
  models: ["the inference models", models, either([inferenceModel, about("with --with-prices", priced)])],
  "call read": ["one call, or a list of calls", callsRead, either([call, about("with --summary", callGroup)])],
  "catalog analysis": ["the models in the analysis catalog", catalog, catalogModel],
  "catalog router": ["the models in the router catalog", catalog, catalogModel],
  "catalog all": ["the models of both catalogs", entryRows, entry],
  "catalog show": ["the entries of one model", entryRows, entry],
  "catalog diff": ["the differences between two catalogs, dates or files", diff, change],
  "catalog cost": ["the cost of a usage by model, cheapest first", ...s.listDocument("models", costOfModel, { usage })],
  "catalog lock": ["the locked models", lock],
  "catalog verify": ["the regressions from a lock file, and replacements", verification, s.problem],
};
