/** Describes inference models (interface 2.3, 4.2) and public catalogs (interface 2.5, 4.4, 4.5). */
import type { JsonObject } from "../../json/json-bytes.ts";
import { endpoint } from "./endpoint.ts";
import { readListReply } from "./replies.ts";

const list = { method: "GET", repeatable: true, toJson: (_: undefined) => undefined, reply: readListReply } as const;

export const listModels = endpoint({
  ...list,
  name: "list models",
  host: "inference",
  path: "/v1/models",
  use: "inference",
});

/** A catalog entry (interface 2.5). */
export type CatalogModel = JsonObject;

export const listAnalysisModels = endpoint({
  ...list,
  name: "list the analysis catalog",
  host: "base",
  path: "/inference/analysis/{analysis_provider}/models",
});

export const listRouterModels = endpoint({
  ...list,
  name: "list the router catalog",
  host: "base",
  path: "/inference/router/{router_provider}/models",
});
