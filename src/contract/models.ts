/** Describes inference models (interface 2.3, 4.2) and public catalogs (interface 2.5, 4.4, 4.5). */
import * as z from "zod/mini";
import { describe } from "../schemas.ts";
import { endpoint } from "./endpoint.ts";
import { integer, readListReply, type ServiceObject, text, texts } from "./replies.ts";

/** Assumed (interface 2.3): `created` is in Unix seconds, or 0 if unknown. */
export const InferenceModel = z.looseObject({
  id: text,
  object: describe('"model"', text),
  created: describe("Unix seconds", integer),
  owned_by: text,
  root: text,
});

const list = { method: "GET", repeatable: true, body: z.undefined(), reply: readListReply } as const;

export const listModels = endpoint({
  ...list,
  name: "list models",
  host: "inference",
  path: "/v1/models",
  use: "inference",
  parameters: z.object({}),
});

/** Assumed (interface 2.5): prices are decimal strings in US dollars per token, image or request. */
const Pricing = z.looseObject({ prompt: text, completion: text, image: text, request: text, input_cache_read: text });

/** Assumed (interface 2.5): `created` is in Unix seconds. Enumerated fields can contain any string. */
export const CatalogModel = z.looseObject({
  id: text,
  name: text,
  created: describe("Unix seconds", integer),
  input_modalities: texts,
  output_modalities: texts,
  quantization: describe("such as int4", text),
  context_length: integer,
  max_output_length: integer,
  pricing: describe("decimal strings, US dollars: per token; image and request per unit", z.nullish(Pricing)),
  supported_sampling_parameters: texts,
  supported_features: texts,
  datacenters: z.nullish(z.array(z.looseObject({ country_code: text }))),
  deprecation_date: text,
});
export type CatalogModel = ServiceObject;

const provider = z.string().check(z.minLength(1));

export const listAnalysisModels = endpoint({
  ...list,
  name: "list the analysis catalog",
  host: "base",
  path: "/inference/analysis/{analysis_provider}/models",
  parameters: z.object({ analysis_provider: provider }),
});

export const listRouterModels = endpoint({
  ...list,
  name: "list the router catalog",
  host: "base",
  path: "/inference/router/{router_provider}/models",
  parameters: z.object({ router_provider: provider }),
});
