/** The two public catalogs (service-interface 4.4 and 4.5): files of the data folder, or a sample. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { listAnalysisModels, listRouterModels } from "../contract/catalog.ts";
import { type Answer, detailWording, Refusal } from "./answer.ts";
import { type Operation, operation } from "./operation.ts";

/** The operations that list catalogs. */
export const catalogOperations = (dataDir: string): readonly Operation[] => [
  operation(listAnalysisModels, detailWording, ({ parameters }) =>
    catalog(join(dataDir, "catalog", "analysis"), parameters.analysis_provider),
  ),
  operation(listRouterModels, detailWording, ({ parameters }) =>
    catalog(join(dataDir, "catalog", "router"), parameters.router_provider),
  ),
];

/** A provider's name is a file's name, never a path. */
const isName = (provider: string): boolean => /^[^./\\\0][^/\\\0]*$/.test(provider);

const catalog = async (folder: string, provider: string): Promise<Answer> => {
  if (!isName(provider)) throw new Refusal(404, "Not Found");
  const file = await readFile(join(folder, `${provider}.json`)).catch(() => undefined);
  if (file !== undefined) return { status: 200, body: file };
  const { sampleCatalog } = await import("./sample.ts");
  return { status: 200, body: JSON.stringify(sampleCatalog) };
};
