/** A service with a catalog that differs from its lock file, for tests of `catalog lock` and `catalog verify`. */
import { mkdtempSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { newHome, type RunOptions, runRollcall } from "../../support/run.ts";
import { json, scriptedServer } from "../../support/server.ts";

/** An entry of a catalog with every field that a lock file has. */
export const entry = (id: string, more: object = {}) => ({
  id,
  name: `Name of ${id}`,
  created: 1737331200,
  input_modalities: ["text", "image"],
  output_modalities: ["text"],
  quantization: "fp8",
  context_length: 131072,
  max_output_length: 65536,
  pricing: { completion: "0.0000012", prompt: "0.0000003", input_cache_read: "3e-8", web_search: "0.01" },
  supported_sampling_parameters: ["top_p", "temperature"],
  supported_features: ["tools", "json_mode"],
  datacenters: [{ country_code: "US" }, { country_code: "FI" }, { country_code: "US" }],
  ...more,
});

const { quantization: _, ...plain } = entry("maker/plain");
export const locked = [
  ...["same", "gone", "dearer", "cheaper", "coarser", "smaller", "moved", "ending", "less", "unstated"].map((name) =>
    entry(`maker/${name}`),
  ),
  plain,
];
/** The current models: one changed model for each rule, and models that could replace them. */
export const served = [
  entry("maker/same"),
  entry("maker/dearer", {
    pricing: { prompt: "0.00000031", completion: "0.0000012", input_cache_read: "0.00000003", web_search: "0.011" },
  }),
  entry("maker/cheaper", { pricing: { prompt: "0", completion: "0.0000011", input_cache_read: "0", web_search: "0" } }),
  entry("maker/coarser", { quantization: "int4" }),
  entry("maker/smaller", { context_length: 131071, max_output_length: 1000 }),
  entry("maker/moved", { datacenters: [{ country_code: "US" }] }),
  entry("maker/ending", { deprecation_date: "2020-01-31" }),
  entry("maker/less", {
    supported_features: ["tools"],
    input_modalities: ["text"],
    supported_sampling_parameters: ["seed", "top_p"],
  }),
  { id: "maker/unstated" },
  entry("maker/plain", { quantization: "int4" }),
  entry("other/small", { context_length: 8000, pricing: { prompt: "0", completion: "0" } }),
  entry("other/large", { context_length: 262144, pricing: { prompt: "0.0000004", completion: "0.0000014" } }),
];

export const newFolder = () => mkdtempSync(join(tmpdir(), "lock-"));

/** Opens a service that lists these entries in turn, and a working folder. */
export const openLockedCatalog = async (...lists: readonly (readonly object[])[]) => {
  const server = await scriptedServer(lists.map((data) => ({ answer: json({ data }) })));
  const env = { ...newHome(), ROLLCALL_BASE_URL: server.url, ROLLCALL_ROUTER_PROVIDER: "r" };
  const cwd = newFolder();
  const file = join(cwd, "rollcall.lock.json");
  const run = (verb: "lock" | "verify", args: readonly string[] = [], options: RunOptions = {}) =>
    runRollcall(["catalog", verb, ...args], { cwd, ...options, env: { ...env, ...options.env } });
  return { run, env, file, cwd, text: () => readFileSync(file, "utf8") };
};
