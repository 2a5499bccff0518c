/** A small catalog to look at where nobody put one into the data folder; it says that it is a sample. */

import type { Catalog } from "../contract/catalog.ts";
import type { Given } from "../contract/endpoint.ts";

/** The sample of a kind of catalog. */
export const sampleCatalog = (kind: "analysis" | "router"): Given<typeof Catalog> => ({
  note: `a sample that comes with rollcall: put a catalog of your own at catalog/${kind}/<provider>.json in the data folder`,
  data: entries[kind],
});

const textOnly = { input_modalities: ["text"], output_modalities: ["text"] };
const sampling = { supported_sampling_parameters: ["temperature", "top_p", "max_tokens", "stop"] };
const structured = ["tools", "json_mode", "structured_outputs"];

/**
 * Facts from github.com/anomalyco/models.dev, MIT, Copyright (c) 2025 models.dev, in the interface's shape;
 * data centres and most sampling parameters are composed (test/samples/README.md says which).
 */
const entries: Readonly<Record<"analysis" | "router", Given<typeof Catalog>["data"]>> = {
  analysis: [
    {
      id: "deepseek-ai/DeepSeek-V3.2",
      name: "DeepSeek-V3.2 (sample)",
      created: 1764633600,
      ...textOnly,
      context_length: 163840,
      max_output_length: 64000,
      pricing: { prompt: "0.00000026", completion: "0.00000038", input_cache_read: "0.00000013" },
      ...sampling,
      supported_features: ["tools", "reasoning"],
      datacenters: [{ country_code: "US" }],
    },
    {
      id: "google/gemma-4-26B-A4B-it",
      name: "Gemma 4 26B A4B IT (sample)",
      created: 1775088000,
      input_modalities: ["text", "image"],
      output_modalities: ["text"],
      context_length: 262144,
      max_output_length: 32768,
      pricing: { prompt: "0.00000007", completion: "0.00000034", image: "0.0001", request: "0" },
      ...sampling,
      supported_features: [...structured, "reasoning"],
      datacenters: [{ country_code: "US" }],
    },
    {
      id: "moonshotai/Kimi-K2.5",
      name: "Kimi K2.5 (sample)",
      created: 1769472000,
      input_modalities: ["text", "image", "video"],
      output_modalities: ["text"],
      quantization: "int4",
      context_length: 262144,
      max_output_length: 32768,
      pricing: { prompt: "0.00000045", completion: "0.00000225", input_cache_read: "0.00000007" },
      ...sampling,
      supported_features: [...structured, "reasoning"],
      datacenters: [{ country_code: "US" }],
      deprecation_date: "2027-03-31",
    },
    {
      id: "openai/gpt-oss-120b",
      name: "GPT OSS 120B (sample)",
      created: 1754352000,
      ...textOnly,
      quantization: "mxfp4",
      context_length: 131072,
      max_output_length: 16384,
      pricing: { prompt: "0.000000039", completion: "0.00000019" },
      ...sampling,
      supported_features: ["tools", "reasoning"],
      datacenters: [{ country_code: "US" }],
    },
    {
      id: "zai-org/GLM-4.6",
      name: "GLM-4.6 (sample)",
      created: 1759190400,
      ...textOnly,
      context_length: 202752,
      max_output_length: 131072,
      pricing: { prompt: "0.00000043", completion: "0.00000174", input_cache_read: "0.00000008" },
      ...sampling,
      supported_features: ["tools", "reasoning"],
      datacenters: [{ country_code: "US" }],
      deprecation_date: "2026-03-04",
    },
  ],
  router: [
    {
      id: "Qwen/Qwen3-235B-A22B-Instruct-2507",
      name: "Qwen3 235B A22B Instruct 2507 (sample)",
      created: 1753401600,
      ...textOnly,
      context_length: 262144,
      max_output_length: 8192,
      pricing: { prompt: "0.0000002", completion: "0.0000006" },
      ...sampling,
      supported_features: ["tools"],
      datacenters: [{ country_code: "FI" }, { country_code: "US" }],
    },
    {
      id: "deepseek-ai/DeepSeek-V3.2",
      name: "DeepSeek-V3.2 (sample)",
      created: 1768867200,
      ...textOnly,
      context_length: 163000,
      max_output_length: 16384,
      pricing: { prompt: "0.0000003", completion: "0.00000045", input_cache_read: "0.00000003" },
      ...sampling,
      supported_features: [...structured, "reasoning"],
      datacenters: [{ country_code: "FI" }, { country_code: "US" }],
      deprecation_date: "2026-02-04",
    },
    {
      id: "meta-llama/Llama-3.3-70B-Instruct",
      name: "Llama-3.3-70B-Instruct (sample)",
      created: 1764892800,
      ...textOnly,
      context_length: 128000,
      max_output_length: 8192,
      pricing: { prompt: "0.00000013", completion: "0.0000004", input_cache_read: "0.000000013" },
      ...sampling,
      supported_features: structured,
      datacenters: [{ country_code: "FI" }, { country_code: "US" }],
    },
    {
      id: "moonshotai/Kimi-K2.5",
      name: "Kimi-K2.5 (sample)",
      created: 1765756800,
      input_modalities: ["text", "image"],
      output_modalities: ["text"],
      quantization: "int4",
      context_length: 256000,
      max_output_length: 8192,
      pricing: { prompt: "0.0000005", completion: "0.0000025", input_cache_read: "0.00000005" },
      ...sampling,
      supported_features: [...structured, "reasoning"],
      datacenters: [{ country_code: "FI" }, { country_code: "US" }],
      deprecation_date: "2026-02-04",
    },
    {
      id: "openai/gpt-oss-120b",
      name: "gpt-oss-120b (sample)",
      created: 1768003200,
      ...textOnly,
      quantization: "mxfp4",
      context_length: 128000,
      max_output_length: 8192,
      pricing: { prompt: "0.00000015", completion: "0.0000006", input_cache_read: "0.000000015" },
      ...sampling,
      supported_features: [...structured, "reasoning"],
      datacenters: [{ country_code: "FI" }, { country_code: "US" }],
    },
  ],
};
