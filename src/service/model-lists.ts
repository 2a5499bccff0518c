/** Lists of models: the models that were logged to (interface 4.2), and two catalogs (4.4 and 4.5). */
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { listAnalysisModels, listRouterModels } from "../contract/catalog.ts";
import { listModels } from "../contract/models.ts";
import { readListReply } from "../contract/replies.ts";
import { defineOperation, detailError, type Operation, openAiError, Refusal } from "./operation.ts";
import type { Store } from "./store/store.ts";

/** The project header has no effect, because it is for usage tracking. */
export const modelsOperation = (store: Store): Operation =>
  defineOperation(listModels, openAiError, async ({ caller }) => {
    const models = await store.listModels(caller.projects);
    const data = models.map(({ id, owner, created }) => ({ id, object: "model", created, owned_by: owner, root: id }));
    return JSON.stringify({ object: "list", data });
  });

export const catalogOperations = (dataDir: string): readonly Operation[] => [
  defineOperation(listAnalysisModels, detailError, async ({ parameters }) =>
    readCatalog(dataDir, "analysis", parameters.analysis_provider),
  ),
  defineOperation(listRouterModels, detailError, async ({ parameters }) =>
    readCatalog(dataDir, "router", parameters.router_provider),
  ),
];

type CatalogKind = "analysis" | "router";

/** Reads the provider's file, or the sample if no file exists. @throws Refusal 404, 500 */
const readCatalog = async (dataDir: string, kind: CatalogKind, provider: string): Promise<string | Uint8Array> => {
  const folder = join(dataDir, "catalog", kind);
  const files = await readdir(folder).catch(() => []);
  const names = files.flatMap((file) => (file.endsWith(".json") ? [file.slice(0, -".json".length)] : [])).sort();
  if (names.length === 0) return await readSample(kind);
  if (!names.includes(provider)) {
    const known = names.map((name) => JSON.stringify(name)).join(", ");
    throw new Refusal(404, `unknown provider ${JSON.stringify(provider)}, expected ${known}`);
  }
  const bytes = await readFile(join(folder, `${provider}.json`)).catch(() => undefined);
  if (bytes !== undefined && "value" in (readListReply(bytes) ?? {})) return bytes;
  throw new Refusal(500, `the file of this provider in catalog/${kind} is not a catalog, expected {"data":[…]}`);
};

/** Facts are from github.com/anomalyco/models.dev, MIT, Copyright (c) 2025 models.dev (test/samples/README.md). */
const readSample = async (kind: CatalogKind): Promise<string> => {
  const { default: entries } = await import("./sample-catalog.json");
  const note = `a sample that comes with rollcall. Put your own catalog at catalog/${kind}/<provider>.json in the data folder`;
  return JSON.stringify({ note, data: entries[kind] });
};
