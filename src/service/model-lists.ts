/** The lists of models: those that were logged to (interface 4.2), and two catalogs (4.4 and 4.5) with an entity tag. */
import { createHash } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { listAnalysisModels, listRouterModels, readCatalogReply } from "../contract/catalog.ts";
import { listModels } from "../contract/models.ts";
import { type Answer, defineOperation, detailError, type Operation, openAiError, Refusal } from "./operation.ts";
import type { Store } from "./store/store.ts";

/** The operation that lists models. The project header is for tracking usage, which is not done here. */
export const modelsOperation = (store: Store): Operation =>
  defineOperation(listModels, openAiError, async ({ caller }) => {
    const models = await store.listModels(caller.projects);
    const data = models.map(({ id, owner, created }) => ({ id, object: "model", created, owned_by: owner, root: id }));
    return { status: 200, body: JSON.stringify({ object: "list", data }) };
  });

/** The operations that list catalogs. */
export const catalogOperations = (dataDir: string): readonly Operation[] => [
  defineOperation(listAnalysisModels, detailError, async ({ parameters, header }) =>
    withEntityTag(await readCatalog(dataDir, "analysis", parameters.analysis_provider), header),
  ),
  defineOperation(listRouterModels, detailError, async ({ parameters, header }) =>
    withEntityTag(await readCatalog(dataDir, "router", parameters.router_provider), header),
  ),
];

/** Characters of a digest that distinguish catalogs. */
const tagLength = 22;

/** Returns the answer with its entity tag; 304 without a body if `If-None-Match` names it (RFC 9110, 13.1.2). */
const withEntityTag = (body: string | Uint8Array, header: (name: string) => string | undefined): Answer => {
  const etag = `"${createHash("sha256").update(body).digest("base64url").slice(0, tagLength)}"`;
  const requestedTags = (header("if-none-match") ?? "").split(",").map((tag) => tag.trim().replace(/^W\//, ""));
  const isUnchanged = requestedTags.some((tag) => tag === etag || tag === "*");
  return isUnchanged
    ? { status: 304, headers: { ETag: etag }, body: "" }
    : { status: 200, headers: { ETag: etag }, body };
};

type CatalogKind = "analysis" | "router";

/** Reads the provider's file, or the sample if there are no files. @throws Refusal 404, 500 */
const readCatalog = async (dataDir: string, kind: CatalogKind, provider: string): Promise<string | Uint8Array> => {
  const folder = join(dataDir, "catalog", kind);
  // The list is read each time, and the name is searched for in it: a provider's name is never a path.
  const files = await readdir(folder).catch(() => []);
  const names = files.flatMap((file) => (file.endsWith(".json") ? [file.slice(0, -".json".length)] : [])).sort();
  if (names.length === 0) return await readSample(kind);
  if (!names.includes(provider)) {
    const known = names.map((name) => JSON.stringify(name)).join(", ");
    throw new Refusal(404, `no catalog of ${JSON.stringify(provider)}: there is ${known}`);
  }
  const bytes = await readFile(join(folder, `${provider}.json`)).catch(() => undefined);
  if (bytes !== undefined && "value" in (readCatalogReply(bytes) ?? {})) return bytes;
  throw new Refusal(500, `the file of this provider in catalog/${kind} holds no {"data":[…]} that can be read`);
};

/**
 * The sample, which says that it is one. Its facts are from github.com/anomalyco/models.dev, MIT, Copyright (c) 2025 models.dev,
 * in the interface's shape. Data centers and most sampling parameters are composed (test/samples/README.md says which).
 */
const readSample = async (kind: CatalogKind): Promise<string> => {
  const { default: entries } = await import("./sample-catalog.json");
  const note = `a sample that comes with rollcall: put a catalog of your own at catalog/${kind}/<provider>.json in the data folder`;
  return JSON.stringify({ note, data: entries[kind] });
};
