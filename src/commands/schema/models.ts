/** What `models`, `call` and `catalog` print: the service's own objects, and what they are compared with. */
import * as z from "zod/mini";
import * as calls from "../../contract/call.ts";
import * as catalogs from "../../contract/catalog.ts";
import * as callable from "../../contract/models.ts";
import * as s from "./shape.ts";
import { about, count, either, list, nullable, number, object, oneOf, optionalAbout, sameKeys, text } from "./shape.ts";

/** Said of every object that is the service's own. */
export const passthroughNote =
  "as the service sent it: unknown keys and the spelling of numbers are kept, and so is what breaks the interface";

const inferenceModel = about(`a model, ${passthroughNote}`, s.serviceObject(callable.inferenceModel));
const catalogModel = about(`a model, ${passthroughNote}`, s.serviceObject(catalogs.catalogModel));
const call = about(
  `a call, ${passthroughNote}; vendor_ stands for the deployment's own prefix`,
  s.serviceObject(calls.call),
);

const catalogName = oneOf("analysis", "router");
const catalogOrNull = oneOf("analysis", "router", null);

/** The objects of a service's list have a description. */
const catalog = s.open({ data: z.array(catalogModel) });

/** Rows of what several catalogs say. */
const catalogRows = <Of extends z.ZodMiniType>(row: Of) =>
  object({ catalogs: about("the catalogs that were read", list(catalogName)), data: list(row) });

/** An entry, and the catalog that it is from. */
const entry = object({ catalog: catalogName, entry: catalogModel });

/** A model that can be called, next to each entry that has its id. */
const priced = object({
  model: inferenceModel,
  catalog: about("null where no catalog has a model of this id", catalogOrNull),
  entry: nullable(catalogModel),
});

const models = either([
  s.open({ object: optionalAbout('"list"', nullable(text)), data: z.array(inferenceModel) }),
  about("with --with-prices", catalogRows(priced)),
]);

/** What calls come to; their cost only if it was asked for. */
const callCounts = {
  ...sameKeys(count, "calls", "ok", "failed", "running", "deleted"),
  seconds: about(
    "durations, by the nearest rank; calls: those whose duration is known",
    object({ calls: count, ...sameKeys(nullable(number), "p50", "p95") }),
  ),
  tokens: about(
    "calls: those whose tokens are known",
    object({ calls: count, ...sameKeys(nullable(count), "prompt", "completion", "total") }),
  ),
};
const cost = optionalAbout("calls: those whose cost is known", object({ calls: count, usd: nullable(number) }));

const callGroup = object({ ...sameKeys(nullable(text), "op", "model"), ...callCounts, cost });

const callSummary = object({
  summary: object({ ...callCounts, missing: about("ids without a call", count), cost }),
  groups: about("by operation and model; a call of several models counts with each", list(callGroup)),
});

const callsRead = either([
  about("the reply, with what else it says beside the call", s.open({ call })),
  object({ calls: list(call) }),
  about("with --summary", callSummary),
]);

/** One of two catalogs that are compared. */
const comparedCatalog = object({
  catalog: about("null for a file", catalogOrNull),
  provider: nullable(text),
  file: about("null for a catalog of a service", nullable(text)),
  as_of: about("when it was so; null for a file", nullable(s.time)),
});

const comparison = object({
  from: comparedCatalog,
  to: comparedCatalog,
  models: object(sameKeys(count, "from", "to", "same", "without_id")),
});

const change = object({
  catalog: about("the catalog that it is a change of; null where two catalogs, or files, are compared", catalogOrNull),
  id: text,
  name: nullable(text),
  change: about(
    "added: only the second one has the model; gone: only the first one has",
    oneOf(
      ...["added", "gone", "price", "context", "output", "quantization", "modalities", "features", "parameters"],
      ...["countries", "deprecation"],
    ),
  ),
  field: about("name on the wire, such as pricing.prompt; null for a whole model", nullable(text)),
  from: about("the value as on the wire; null where it is absent", s.anything),
  to: s.anything,
});

const diff = object({ compared: about("what was compared with what", list(comparison)), changes: list(change) });

/** A decimal number, spelled in full. */
const dollars = text.check(z.regex(/^[0-9]+(\.[0-9]+)?$/));

const usage = object({
  prompt_tokens: count,
  cached_tokens: about("of the prompt tokens, those that are read from a cache", count),
  ...sameKeys(count, "completion_tokens", "images", "requests"),
  from: oneOf("options", "call"),
});

const costOfModel = object({
  catalog: catalogName,
  ...sameKeys(nullable(text), "id", "name"),
  deprecation_date: about("its day, YYYY-MM-DD; null where none is set", nullable(text)),
  ended: about("whether that day is over; such models stand last", s.flag),
  total: about("US dollars, exact; null where a price of something used is not stated", nullable(dollars)),
  at_least: about("the sum of what is known", dollars),
  not_stated: about("names of the prices that are not stated", list(text)),
  items: list(
    object({
      price: about("name of the price on the wire", text),
      count,
      ...sameKeys(nullable(dollars), "unit_price", "cost"),
    }),
  ),
});

const lock = object({
  file: text,
  changed: about("whether the file was written anew", s.flag),
  models: list(object({ catalog: catalogName, id: text })),
});

const replacement = object({
  id: text,
  ...sameKeys(about("US dollars per million tokens", dollars), "prompt", "completion"),
});

const verification = object({
  status: oneOf("verified", "differs"),
  file: text,
  models: about("how many are locked", count),
  problems: s.problems,
  replacements: about(
    "the cheapest model that can do the same, for each with an error; null where there is none",
    list(object({ catalog: catalogName, id: text, replacement: nullable(replacement) })),
  ),
});

const entryRows = catalogRows(entry);

export const modelsOutputs: s.Outputs = {
  models: ["the models that can be called", models, either([inferenceModel, about("with --with-prices", priced)])],
  "call read": [
    "one call, or several where several ids were given",
    callsRead,
    either([call, about("with --summary", callGroup)]),
  ],
  "catalog analysis": ["the models in the catalog of the analysis provider", catalog, catalogModel],
  "catalog router": ["the models in the catalog of the routing provider", catalog, catalogModel],
  "catalog all": ["the models of both catalogs, and which catalog has them", entryRows, entry],
  "catalog show": ["the entries of one model in the catalogs", entryRows, entry],
  "catalog diff": ["what is different between two catalogs, two dates or two files", diff, change],
  "catalog cost": [
    "what a usage costs at each model, cheapest first",
    ...s.listDocument("models", costOfModel, { usage }),
  ],
  "catalog lock": ["what was locked", lock],
  "catalog verify": ["what got worse than a lock file allows, and what could be used instead", verification, s.problem],
};
