/** The lists of models: those that were logged to (interface 4.2), and two catalogs (4.4 and 4.5), files of the data folder or a sample, with an entity tag. */

import { createHash } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { Catalog, listAnalysisModels, listRouterModels } from "../contract/catalog.ts";
import type { Given } from "../contract/endpoint.ts";
import { type InferenceModelList, listModels } from "../contract/models.ts";
import { parsedJson } from "../json/walk.ts";
import { type Answer, detailWording, errorWording, Refusal } from "./answer.ts";
import { type Operation, operation } from "./operation.ts";
import type { Store } from "./store/store.ts";

/** The operation that lists models. The project header is for tracking usage: there is none to track here. */
export const modelsOperation = (store: Store): Operation =>
  operation(listModels, errorWording, async ({ caller }) => {
    const models = await store.models(caller.projects);
    const data = models.map(({ id, owner, created }) => ({ id, object: "model", created, owned_by: owner, root: id }));
    const list: Given<typeof InferenceModelList> = { object: "list", data };
    return { status: 200, body: JSON.stringify(list) };
  });

/** The operations that list catalogs. */
export const catalogOperations = (dataDir: string): readonly Operation[] => [
  operation(listAnalysisModels, detailWording, async ({ parameters, header }) =>
    unlessUnchanged(await catalogOf({ dataDir, kind: "analysis", provider: parameters.analysis_provider }), header),
  ),
  operation(listRouterModels, detailWording, async ({ parameters, header }) =>
    unlessUnchanged(await catalogOf({ dataDir, kind: "router", provider: parameters.router_provider }), header),
  ),
];

/** The answer with its entity tag; 304 without a body where `If-None-Match` names it (RFC 9110, 13.1.2). */
const unlessUnchanged = (answer: Answer, header: (name: string) => string | undefined): Answer => {
  const etag = `"${createHash("sha256").update(answer.body).digest("base64url").slice(0, tagLength)}"`;
  const asked = (header("if-none-match") ?? "").split(",").map((tag) => tag.trim().replace(/^W\//, ""));
  const isUnchanged = asked.some((tag) => tag === etag || tag === "*");
  return isUnchanged ? { status: 304, headers: { ETag: etag }, body: "" } : { ...answer, headers: { ETag: etag } };
};

/** Characters of a digest that tell one catalog from another. */
const tagLength = 22;

interface Wanted {
  readonly dataDir: string;
  readonly kind: "analysis" | "router";
  readonly provider: string;
}

/** The provider's file as it stands; the sample where there are no files at all. @throws Refusal 404, 500 */
const catalogOf = async ({ dataDir, kind, provider }: Wanted): Promise<Answer> => {
  const folder = join(dataDir, "catalog", kind);
  // Read anew every time, and looked for in the list: a provider's name is never a path.
  const names = await namesIn(folder);
  if (names.includes(provider)) return { status: 200, body: await fileAt(join(folder, `${provider}.json`), kind) };
  if (names.length > 0) {
    const known = names.map((name) => JSON.stringify(name)).join(", ");
    throw new Refusal(404, `no catalog of ${JSON.stringify(provider)}: there is ${known}`);
  }
  const { sampleCatalog } = await import("./sample-catalog.ts");
  return { status: 200, body: JSON.stringify(sampleCatalog(kind)) };
};

const extension = ".json";

const namesIn = async (folder: string): Promise<readonly string[]> => {
  const files = await readdir(folder).catch(() => []);
  return files
    .filter((file) => file.endsWith(extension))
    .map((file) => file.slice(0, -extension.length))
    .sort();
};

/** A catalog's bytes, if they are one. */
const fileAt = async (path: string, kind: string): Promise<Uint8Array> => {
  const bytes = await readFile(path).catch(() => undefined);
  if (bytes !== undefined && Catalog.safeParse(parsedJson(Buffer.from(bytes).toString("utf8"))?.value).success)
    return bytes;
  throw new Refusal(500, `the file of this provider in catalog/${kind} holds no {"data":[…]} that can be read`);
};
