import { describe, expect, it } from "vitest";
import { type Filter, filterModels, readDay } from "../../../src/commands/catalog/filter.ts";
import { parseDecimal } from "../../../src/text/units.ts";
import { listRouterModels } from "../../../src/wire/contract/reads.ts";

const rowsOf = (data: readonly unknown[]) => {
  const reply = listRouterModels.reply(Buffer.from(JSON.stringify({ data })));
  return reply !== undefined && "value" in reply ? reply.value.entries : [];
};

const models = rowsOf([
  {
    ...{ id: "lab/one", name: "First", context_length: 1000, supported_features: ["tools", "reasoning"] },
    ...{ input_modalities: ["text", "Image"], output_modalities: ["text"] },
    pricing: { prompt: "0.000001", completion: "0" },
  },
  {
    ...{ id: "lab/two", name: "Second", context_length: 999, supported_features: ["tools"] },
    ...{ input_modalities: ["text"], output_modalities: ["image"] },
    pricing: { prompt: "0", completion: "0", request: "0.5" },
  },
  { id: "three", pricing: { prompt: 0, completion: "-1" }, context_length: "1e3", supported_features: "tools" },
  { id: "four", pricing: [{ prompt: "0" }], context_length: 0 },
]);

const limit = (name: string, text: string) => [[name, parseDecimal(text) ?? { digits: 0n, places: 0 }]] as const;

const select = (rows: typeof models, filter: Filter) => {
  const { matching, unreadable } = filterModels(rows, filter);
  return [matching.map(({ model }) => model.id).join(" "), ...Array.from(unreadable, (pair) => pair.join(" "))];
};

describe("a filter of models", () => {
  it.each<[result: readonly string[], Filter]>([
    [["lab/one", "input_modalities 2"], { inputModality: [" IMAGE "] }],
    [["lab/two", "output_modalities 2"], { outputModality: ["image"] }],
    [["lab/one", "supported_features 2"], { feature: ["tools", "reasoning"] }],
    [["lab/one three", "context_length 1"], { minContext: 1000 }],
    [["lab/one lab/two three", "pricing.prompt 1"], { maxPrice: limit("prompt", "1") }],
    [["lab/two", "pricing.request 3"], { maxPrice: limit("request", "0.5") }],
    [["", "pricing.request 3"], { maxPrice: limit("request", "0.4") }],
    [["lab/one lab/two", "pricing.completion 2"], { maxPrice: limit("completion", "1") }],
    [["lab/two"], { pattern: "LAB sec" }],
    [["lab/one"], { pattern: "l*e" }],
    [[""], { pattern: "first two" }],
    [["lab/one"], { pattern: "lab", feature: ["reasoning"] }],
    [["", "supported_features 1"], { feature: ["tools"], minContext: 1001 }],
  ])("selects models, and counts those without a readable value (row %$)", (result, filter) => {
    expect(select(models, filter)).toEqual(result);
  });

  it("reads counts in each spelling, and counts models without a readable one", () => {
    const counts = ["128000", 128_000, " 128e3", "127999", "0", 0, "128k", [128_000], null];
    const listed = rowsOf(counts.map((value, at) => ({ id: `n${at}`, context_length: value })));
    expect(select(listed, { minContext: 128_000 })).toEqual(["n0 n1 n2", "context_length 5"]);
  });

  it("matches a glob with the whole id, and each word of a pattern with the id or name", () => {
    for (const glob of ["*", "a*", "*a", "?", "a?c", "*b*", "a**c", "*?c"])
      for (const id of ["", "a", "b", "ABC", "aXc", "cba", "😀"]) {
        const model = new RegExp(`^${glob.replaceAll("*", ".*").replaceAll("?", ".")}$`, "isu");
        expect([glob, id, filterModels(rowsOf([{ id }]), { pattern: glob }).matching.length]).toEqual([
          ...[glob, id, Number(model.test(id))],
        ]);
      }
    const isMatch = [" ", "", "a*"].map((pattern) => select(rowsOf([{ id: "b", name: "a" }]), { pattern })[0]);
    expect(isMatch).toEqual(["b", "b", ""]);
  });
});

describe("the date of a model", () => {
  it("is a day", () => {
    const texts = ["2026-02-28T23:00:00-05:00", "2026-02-29", "2026-01-011", "26-01-01"].map((text) => readDay(text));
    const numbers = [1_769_817_600, 20_260_131, undefined].map((seconds) => readDay(seconds));
    expect([texts.join(), numbers.join()]).toEqual(["2026-02-28,,,", "2026-01-31,,"]);
  });
});
