/** What `models`, `call` and `catalog` print: the service's own objects, which may hold more than is named here. */
import {
  about,
  anything,
  count,
  either,
  list,
  named,
  nullable,
  number,
  type Output,
  object,
  oneOf,
  open,
  type Schema,
  text,
} from "./shape.ts";

/** Said of every object that is the service's own. */
export const asItCame =
  "as the service sent it: unknown keys and the spelling of numbers are kept, and so is what breaks the interface";

const words = nullable(text);
const whole = nullable({ type: "integer" });
const free = nullable(named(anything));
const wordList = nullable(list(text));
const when = about("date and time, ISO 8601", words);

/** A model that can be called (interface 2.3). */
export const inferenceModel: Schema = about(
  `a model, ${asItCame}`,
  open({
    id: words,
    object: about('"model"', words),
    created: about("Unix seconds", whole),
    owned_by: words,
    root: words,
  }),
);

/** A model of a catalog (interface 2.5). */
export const catalogModel: Schema = about(
  `a model, ${asItCame}`,
  open({
    id: words,
    name: words,
    created: about("Unix seconds", whole),
    input_modalities: wordList,
    output_modalities: wordList,
    quantization: about("such as int4", words),
    context_length: whole,
    max_output_length: whole,
    pricing: about(
      "decimal strings, US dollars: per token; image and request per unit",
      nullable(open({ prompt: words, completion: words, image: words, request: words, input_cache_read: words })),
    ),
    supported_sampling_parameters: wordList,
    supported_features: wordList,
    datacenters: nullable(list(open({ country_code: words }))),
    deprecation_date: words,
  }),
);

/** A traced call (interface 2.4). */
export const call: Schema = about(
  `a call, ${asItCame}; vendor_ stands for the deployment's own prefix`,
  open({
    id: words,
    project_id: words,
    op_name: words,
    trace_id: words,
    started_at: when,
    attributes: free,
    inputs: free,
    display_name: words,
    parent_id: words,
    thread_id: words,
    turn_id: words,
    ended_at: when,
    exception: words,
    output: anything,
    summary: free,
    vendor_user_id: words,
    vendor_username: words,
    vendor_run_id: words,
    vendor_run_step: whole,
    vendor_run_step_end: whole,
    deleted_at: when,
    storage_size_bytes: whole,
    total_storage_size_bytes: whole,
  }),
);

const catalog = (name: string, of: string): Output => ({
  name,
  about: `the models in the catalog of ${of}`,
  schema: open({ data: list(catalogModel) }, ["data"]),
  line: catalogModel,
});

/** Which catalog an entry is from. */
const catalogName = oneOf("analysis", "router");

/** An entry, and the catalog that it is from. */
const listed = object({ catalog: catalogName, entry: catalogModel });

/** A model that can be called, beside each entry that has its id. */
const joined = object({
  model: inferenceModel,
  catalog: about("null where no catalog has a model of this id", oneOf("analysis", "router", null)),
  entry: nullable(catalogModel),
});

/** What calls come to. */
const callCount = {
  ...Object.fromEntries(["calls", "ok", "failed", "running", "deleted"].map((name) => [name, count])),
  seconds: about(
    "durations, by the nearest rank; calls: those whose duration is known",
    object({ calls: count, p50: nullable(number), p95: nullable(number) }),
  ),
  tokens: about(
    "calls: those whose tokens are known",
    object({ calls: count, prompt: nullable(count), completion: nullable(count), total: nullable(count) }),
  ),
};

/** Only where costs were asked for. */
const callCost = {
  cost: about("calls: those whose cost is known", object({ calls: count, usd: nullable(number) })),
};

const callGroup = object({ op: nullable(text), model: nullable(text), ...callCount }, callCost);

const callSummary = object({
  summary: object({ ...callCount, missing: about("ids without a call", count) }, callCost),
  groups: about("by operation and model; a call of several models counts with each", list(callGroup)),
});

/** Rows of what several catalogs say. */
const catalogRows = (row: Schema): Schema =>
  object({ catalogs: about("the catalogs that were read", list(catalogName)), data: list(row) });

/** The outputs. */
export const readingOutputs: readonly Output[] = [
  {
    name: "models",
    about: "the models that can be called",
    schema: either(
      open({ object: about('"list"', words), data: list(inferenceModel) }, ["data"]),
      about("with --with-prices", catalogRows(joined)),
    ),
    line: either(inferenceModel, about("with --with-prices", joined)),
  },
  {
    name: "call read",
    about: "one call, or several where several ids were given",
    schema: either(object({ call }), object({ calls: list(call) }), about("with --summary", callSummary)),
    line: either(call, about("with --summary", callGroup)),
  },
  catalog("catalog analysis", "the analysis provider"),
  catalog("catalog router", "the routing provider"),
  {
    name: "catalog all",
    about: "the models of both catalogs, and which catalog has them",
    schema: catalogRows(listed),
    line: listed,
  },
  {
    name: "catalog show",
    about: "the entries of one model in the catalogs",
    schema: catalogRows(listed),
    line: listed,
  },
];
