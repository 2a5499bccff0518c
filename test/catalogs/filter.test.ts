import { describe, expect, it } from "vitest";
import { compileGlob, compilePattern, readDay } from "../../src/catalogs/fields.ts";
import { checkFilterWords, compileFilter, type Filter } from "../../src/catalogs/filter.ts";
import { formatPercentChange, formatPrice } from "../../src/catalogs/prices.ts";
import { tagDeprecation } from "../../src/commands/catalog/catalog-columns.ts";
import { parseDecimal, zero } from "../../src/text/decimal.ts";
import { dayMs } from "../../src/text/units.ts";
import { modelsOf } from "./models.ts";

const now = Date.UTC(2026, 0, 31, 12);

const models = modelsOf([
  {
    ...{ id: "lab/one", name: "First", context_length: 1000, max_output_length: 10, created: 1_769_817_600 },
    ...{ input_modalities: ["text", "Image"], output_modalities: ["text"], quantization: "FP8" },
    ...{ supported_features: ["tools", "reasoning"], supported_sampling_parameters: ["seed"] },
    ...{ pricing: { prompt: "0.000001", completion: "0" }, datacenters: [{ country_code: "FI" }] },
    deprecation_date: "2026-01-31",
  },
  {
    ...{ id: "lab/two", name: "Second", context_length: 999, max_output_length: 0, created: 1_769_817_599 },
    ...{ input_modalities: ["text"], output_modalities: ["image"], quantization: "int4" },
    ...{ supported_features: ["tools"], supported_sampling_parameters: ["stop"] },
    ...{ pricing: { prompt: "0", completion: "0", request: "0.5" } },
    ...{ datacenters: [{ country_code: "us" }, { country_code: "DE" }], deprecation_date: "2026-02-01" },
  },
  { id: "three", pricing: { prompt: 0, completion: "0.0" }, datacenters: [], deprecation_date: "soon" },
  {
    id: "four",
    pricing: { prompt: "0", completion: "0", currency: "EUR" },
    datacenters: [{ country_code: "FI" }, {}],
    expiration_date: "",
  },
  { id: "five" },
]);

describe("a filter of models", () => {
  it.each<[ids: string, Filter]>([
    ["lab/one", { inputModality: [" IMAGE "] }],
    ["lab/two", { outputModality: ["image"] }],
    ["lab/one", { feature: ["tools", "reasoning"] }],
    ["lab/two", { parameter: ["stop"] }],
    ["lab/one lab/two", { quantization: ["fp8", "int4"] }],
    ["lab/one lab/two four", { country: ["eu"] }],
    ["lab/two", { country: ["US"] }],
    ["lab/one", { onlyCountry: ["EU"] }],
    ["lab/one lab/two", { onlyCountry: ["EU", "US"] }],
    ["lab/one", { minContext: 1000 }],
    ["lab/one", { minOutput: 0 }],
    ["lab/one", { createdSince: () => 1_769_817_600_000 }],
    ["lab/one lab/two three", { maxPrice: [["prompt", "1"]] }],
    ["lab/two", { maxPrice: [["request", "0.5"]] }],
    ["", { maxPrice: [["request", "0.4"]] }],
    ["three", { free: true }],
    ["lab/one", { deprecated: true }],
    ["lab/two four five", { notDeprecated: true }],
    ["lab/one lab/two", { deprecatedWithin: (at) => at + dayMs }],
    ["lab/two", { pattern: "LAB sec" }],
    ["lab/one", { pattern: "l*e" }],
    ["", { pattern: "first two" }],
    ["lab/one", { pattern: "lab", feature: ["reasoning"], country: ["FI"] }],
  ])("selects %j with %j", (ids, filter) => {
    const selected = models.filter(compileFilter(filter, now).matches);
    expect(selected.map(({ id }) => id).join(" ")).toBe(ids);
  });

  it("reads dates and counts like the columns, and matches no unreadable value", () => {
    const created = ["2026-01-01T00:00:00Z", "2026-01-01", 1_767_225_600, 1_767_225_599, "2025-12-31", "1767225600"];
    const listed = modelsOf([
      ...[...created, 1_700_000_000_000, 2026, "soon", null].map((value, at) => ({ id: `c${at}`, created: value })),
      ...["128000", 128_000, " 128e3", "127999", "0", 0, "128k", [128_000]].map((value, at) => ({
        ...{ id: `n${at}`, context_length: value, max_output_length: value },
      })),
    ]);
    const select = (filter: Filter) =>
      listed
        .filter(compileFilter(filter, now).matches)
        .map(({ id }) => id)
        .join(" ");
    expect(select({ createdSince: () => Date.UTC(2026, 0) })).toBe("c0 c1 c2");
    expect(select({ minContext: 128_000 })).toBe("n0 n1 n2");
    expect(select({ minOutput: 0 })).toBe("n0 n1 n2 n3");
  });

  it("knows flags, statuses and other dates of an end, and prices of zero with usual terms", () => {
    const ends = [{ deprecated: true }, { is_active: false }, { status: "sunset" }, { end_of_life: "2020-01-01" }];
    const others = [
      { deprecated: false },
      { is_active: true },
      { status: "ready" },
      { end_of_life: null, public: false },
      { cache_expiry: "1h", expires: "never", sunset_on: "N/A" },
    ];
    const unknown = [{ expires: "soon" }, { planned_retirement: "Q3" }];
    const free = { prompt: "0", completion: "0" };
    const pricings = [
      { ...free, currency: "USD" },
      { ...free, overrides: [] },
      { ...free, currency: "EUR" },
    ];
    const listed = modelsOf(
      [...ends, ...others, ...unknown, ...pricings.map((pricing) => ({ pricing }))].map((one, id) => ({ ...one, id })),
    );
    const select = (filter: Filter) => listed.filter(compileFilter(filter, now).matches).map(({ id }) => id);
    expect(select({ deprecated: true })).toEqual([0, 1, 2, 3]);
    expect(select({ notDeprecated: true })).toEqual([4, 5, 6, 7, 8, 11, 12, 13]);
    expect(select({ free: true })).toEqual([11, 12]);
  });

  it("selects a model by --max-price only if its prices under all conditions are known and at most the limit", () => {
    const base = { prompt: "0.000001", completion: "0.000002", input_cache_read: "0.000001" };
    const overrides: readonly object[] = [
      { min_prompt_tokens: 200_000, prompt: "0.000003" },
      { utc_start: "08:00", utc_end: "20:00", prompt: "0.0000005", input_cache_reads: "0.000009" },
      { utc_start: "08:00", prompt: "-1" },
      { utc_start: "08:00", discount: 0.5 },
      { utc_start: "08:00", completion: "0.000009" },
    ];
    const tiers = [
      { ...base, min_context: 0 },
      { prompt: "0.000002", min_context: 200_000 },
    ];
    const pricings = [...overrides.map((one) => ({ ...base, overrides: [one] })), tiers];
    const listed = modelsOf(pricings.map((pricing, id) => ({ id: String(id), pricing })));
    const select = (...maxPrice: readonly [string, string]) =>
      listed.filter(compileFilter({ maxPrice: [maxPrice] }, now).matches).map(({ id }) => id);
    expect(select("prompt", "1")).toEqual(["1", "4"]);
    expect(select("prompt", "2")).toEqual(["1", "4", "5"]);
    expect(select("prompt", "3")).toEqual(["0", "1", "4", "5"]);
    expect(select("completion", "2")).toEqual(["0", "1", "2"]);
    expect(select("input_cache_read", "1")).toEqual(["0", "2", "4"]);
  });

  it("accepts known words, words of the models and countries, and suggests words of the models", () => {
    const listed = models.map((entry) => ({ entry }));
    const check = (filter: Filter) => () => checkFilterWords(filter, listed);
    check({ feature: ["JSON_mode"], country: ["jp", "EU"], maxPrice: [["currency", "1"]] })();
    checkFilterWords({ feature: ["nothing"] }, []);
    expect(check({ feature: ["tool"] })).toThrow('invalid --feature "tool": expected one of reasoning, tools');
    expect(() => checkFilterWords({ feature: ["tool"] }, [{ entry: {} }])).toThrow("expected one of tools, json_mode");
    expect(check({ onlyCountry: ["UK"] })).toThrow('invalid --only-country "UK": expected one of DE, FI, us');
    const found = "expected one of completion, currency, prompt, request, such as prompt=0.5";
    expect(check({ maxPrice: [["promt", "1"]] })).toThrow(`invalid --max-price "promt=1": ${found}`);
  });
});

describe("a field of a model", () => {
  it("is matched by a glob as a whole, and by each word of a pattern in the id or name", () => {
    for (const glob of ["*", "a*", "*a", "?", "a?c", "*b*", "a**c", "", "*?c"])
      for (const text of ["", "a", "b", "ABC", "aXc", "cba", "😀"]) {
        const model = new RegExp(`^${glob.replaceAll("*", ".*").replaceAll("?", ".")}$`, "isu");
        expect([glob, text, compileGlob(glob)(text)]).toEqual([glob, text, model.test(text)]);
      }
    const isMatch = [compilePattern(" ")("a"), compilePattern("")(undefined), compilePattern("a*")("b", "a")];
    expect(isMatch).toEqual([true, true, false]);
  });

  it("is shown with its unit, and with its change in percent", () => {
    const names = ["prompt", "internal_reasoning", "image", "request", "input_cache_writes"];
    const shown = names.map((name) => formatPrice(name, "0.0000025"));
    expect(shown).toEqual(["2.5 $/M", "2.5 $/M", "0.0000025 $", "0.0000025 $", "2.5 $/M"]);
    const odd = ["free", -1, { a: 1 }].map((price) => formatPrice("prompt", price));
    expect([...odd, formatPrice("billing", "1")]).toEqual(["free", "-1", '{"a":1}', "1"]);
    const changes = ["3 2", "0.3 0.4", "3 5", "2 2", "1 10", "4 0"].map((pair) => {
      const [from = zero, to = zero] = pair.split(" ").map(parseDecimal);
      return formatPercentChange(from, to);
    });
    expect(changes.join(" ")).toBe("-33.3 +33.3 +66.7 +0 +900 -100");
  });

  it("is a date only if it is a day, and has a tag from 30 days before", () => {
    const texts = ["2026-02-28T23:00:00-05:00", "2026-02-29", "2026-01-011", "26-01-01"].map(readDay);
    const numbers = [1_769_817_600, 20_260_131, null].map(readDay);
    expect([texts.join(), numbers.join()]).toEqual(["2026-02-28,,,", "2026-01-31,,"]);
    const days = ["2026-01-30", "2026-01-31", "2026-02-01", "2026-03-02", "2026-03-03", null, undefined];
    expect(days.map((day) => tagDeprecation(day, now)?.text).join()).toBe("past,today,soon,soon,,,");
  });
});
