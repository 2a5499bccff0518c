/** What the commands print that hold catalogs against something: a date, a usage, a lock file. */
import { problem, problems } from "./problem.ts";
import {
  about,
  anything,
  count,
  flag,
  list,
  moment,
  nullable,
  type Output,
  object,
  oneOf,
  type Schema,
  text,
} from "./shape.ts";

const catalogName = oneOf("analysis", "router");

/** One of two catalogs that are compared. */
const side = object({
  catalog: about("null for a file", oneOf("analysis", "router", null)),
  provider: nullable(text),
  file: about("null for a catalog of a service", nullable(text)),
  as_of: about("when it was so; null for a file", nullable(moment)),
});

const change: Schema = object({
  catalog: about(
    "the catalog that it is a change of; null where two catalogs, or files, are compared",
    oneOf("analysis", "router", null),
  ),
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
  from: about("the value as on the wire; null where it is absent", anything),
  to: anything,
});

/** A decimal number, spelled in full. */
const dollars: Schema = { type: "string", pattern: "^[0-9]+(\\.[0-9]+)?$" };

const usage = object({
  prompt_tokens: count,
  cached_tokens: about("of the prompt tokens, those that are read from a cache", count),
  completion_tokens: count,
  images: count,
  requests: count,
  from: oneOf("options", "call"),
});

const priced: Schema = object({
  catalog: catalogName,
  id: nullable(text),
  name: nullable(text),
  deprecation_date: about("its day, YYYY-MM-DD; null where none is set", nullable(text)),
  ended: about("whether that day is over; such models stand last", flag),
  total: about("US dollars, exact; null where a price of something used is not stated", nullable(dollars)),
  at_least: about("the sum of what is known", dollars),
  not_stated: about("names of the prices that are not stated", list(text)),
  items: list(
    object({
      price: about("name of the price on the wire", text),
      count,
      unit_price: nullable(dollars),
      cost: nullable(dollars),
    }),
  ),
});

const replacement = object({
  id: text,
  prompt: about("US dollars per million tokens", dollars),
  completion: about("US dollars per million tokens", dollars),
});

/** The outputs. */
export const catalogsOutputs: readonly Output[] = [
  {
    name: "catalog diff",
    about: "what is different between two catalogs, two dates or two files",
    schema: object({
      compared: about(
        "what was compared with what",
        list(
          object({ from: side, to: side, models: object({ from: count, to: count, same: count, without_id: count }) }),
        ),
      ),
      changes: list(change),
    }),
    line: change,
  },
  {
    name: "catalog cost",
    about: "what a usage costs at each model, cheapest first",
    schema: object({ usage, models: list(priced) }),
    line: priced,
  },
  {
    name: "catalog lock",
    about: "what was locked",
    schema: object({
      file: text,
      changed: about("whether the file was written anew", flag),
      models: list(object({ catalog: catalogName, id: text })),
    }),
  },
  {
    name: "catalog verify",
    about: "what got worse than a lock file allows, and what could be used instead",
    schema: {
      ...object({
        status: oneOf("verified", "differs"),
        file: text,
        models: about("how many are locked", count),
        problems,
        replacements: about(
          "the cheapest model that can do the same, for each with an error; null where there is none",
          list(object({ catalog: catalogName, id: text, replacement: nullable(replacement) })),
        ),
      }),
      $defs: { problem },
    },
    line: problem,
  },
];
