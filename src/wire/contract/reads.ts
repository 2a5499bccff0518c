/** Describes inference models (interface 2.3, 4.2), public catalogs (2.5, 4.4, 4.5) and the read of a call (4.3). */
import * as z from "zod/mini";
import { endpoint } from "./endpoint.ts";
import { listReader, type ReplyEntry, readCallReply } from "./replies.ts";

/** A field of another type is undefined, because rollcall shows but does not use it (decision 8). */
const field = <Type extends z.ZodMiniType>(type: Type) => z.catch(z.optional(type), undefined);
const text = field(z.string());
const texts = field(z.array(z.string()));
/** Assumed: some services write numbers as texts. */
const amount = field(z.union([z.number(), z.string()]));

/** An inference model (interface 2.3). Assumed: it can have a name. */
const Model = z.object({ id: text, name: text, object: text, created: amount, owned_by: text, root: text });

/** A catalog entry (interface 2.5). */
const CatalogModel = z.object({
  id: text,
  name: text,
  created: amount,
  input_modalities: texts,
  output_modalities: texts,
  quantization: text,
  context_length: amount,
  max_output_length: amount,
  pricing: field(z.record(z.string(), z.unknown())),
  supported_sampling_parameters: texts,
  supported_features: texts,
  datacenters: field(z.array(z.object({ country_code: text }))),
  deprecation_date: amount,
});
export type CatalogModel = z.infer<typeof CatalogModel>;
export type ModelEntry = ReplyEntry<CatalogModel>;

const list = { method: "GET", repeatable: true, toJson: (_: undefined) => undefined } as const;
const catalog = { ...list, host: "base", reply: listReader(CatalogModel) } as const;

export const listModels = endpoint({
  ...list,
  name: "list models",
  host: "inference",
  path: "/v1/models",
  use: "inference",
  reply: listReader(Model),
});

export const listAnalysisModels = endpoint({
  ...catalog,
  name: "list the analysis catalog",
  path: "/inference/analysis/{analysis_provider}/models",
});

export const listRouterModels = endpoint({
  ...catalog,
  name: "list the router catalog",
  path: "/inference/router/{router_provider}/models",
});

const isIncluded = z._default(z.boolean(), false);

export const CallRequest = z.strictObject({
  project_id: z.string(),
  id: z.string(),
  include_costs: isIncluded,
  include_storage_size: isIncluded,
  include_total_storage_size: isIncluded,
});
export type CallRequest = z.infer<typeof CallRequest>;

/** Assumed (interface 4.3): `call` is null if the call does not exist. */
export const readCall = endpoint({
  name: "read the call",
  method: "POST",
  host: "base",
  path: "/call/read",
  use: "calls",
  repeatable: true,
  toJson: (request: z.input<typeof CallRequest>) => CallRequest.parse(request),
  reply: readCallReply,
});
