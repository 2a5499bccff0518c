/** Generates catalog entries with each field present, absent, null or of another type. Catalogs share ids. */
import * as fc from "fast-check";
import { type CatalogModel, listRouterModels } from "../../src/wire/contract/models.ts";

const maybe = <Value>(value: fc.Arbitrary<Value>) =>
  fc.oneof(
    { weight: 6, arbitrary: value as fc.Arbitrary<unknown> },
    fc.constantFrom(undefined, null),
    fc.jsonValue({ maxDepth: 1 }),
  );

/** Valid and invalid spellings of a price. */
export const priceText = fc.oneof(
  fc.bigInt(0n, 10n ** 9n).map((digits) => `0.${String(digits).padStart(12, "0")}`),
  fc.constantFrom("0", "1e-7", "0.30", "", "-1", "free"),
);

const words = (...of: readonly string[]) => fc.subarray([...of]);

/** An unparsed entry of a catalog. */
export const entry = fc.record(
  {
    id: maybe(fc.constantFrom("a/one", "a/two", "b/three", "b/four", "c/five")),
    name: maybe(fc.string()),
    input_modalities: maybe(words("text", "image", "audio")),
    output_modalities: maybe(words("text", "image")),
    quantization: maybe(fc.constantFrom("int4", "fp8", "bf16", "q-new")),
    context_length: maybe(fc.constantFrom(0, 8000, 131072, 262144, 1e41)),
    max_output_length: maybe(fc.constantFrom(0, 4096)),
    pricing: maybe(
      fc.record(
        {
          prompt: maybe(priceText),
          completion: maybe(priceText),
          image: maybe(priceText),
          request: maybe(priceText),
          input_cache_read: maybe(priceText),
        },
        { requiredKeys: [] },
      ),
    ),
    supported_sampling_parameters: maybe(words("temperature", "top_p", "seed")),
    supported_features: maybe(words("tools", "json_mode", "reasoning")),
    datacenters: maybe(words("US", "FI", "DE").map((codes) => codes.map((country_code) => ({ country_code })))),
    deprecation_date: maybe(fc.constantFrom("2020-01-31", "2026-12-01", "soon", 1_580_428_800, 20_200_131)),
  },
  { requiredKeys: [] },
);

export const entries = fc.array(entry, { maxLength: 8 });

/** Parses the models of a reply with these entries. */
export const modelsOf = (data: readonly unknown[]): readonly CatalogModel[] => parseModels(JSON.stringify({ data }));

export const parseModels = (text: string): readonly CatalogModel[] => parseEntries(text).map(({ model }) => model);

export const parseEntries = (text: string) => {
  const reply = listRouterModels.reply(Buffer.from(text));
  return reply !== undefined && "value" in reply ? reply.value.entries : [];
};
