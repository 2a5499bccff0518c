import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { compareCosts, computeCost, readCallUsage } from "../../src/catalogs/index.ts";
import { entry, modelsOf } from "./models.ts";

const modelOf = (value: unknown) => modelsOf([value])[0] ?? {};

const count = fc.nat({ max: 10 ** 12 });
const usage = fc
  .record({
    prompt_tokens: count,
    share: fc.nat({ max: 100 }),
    completion_tokens: count,
    images: count,
    requests: count,
  })
  .map(({ share, ...counts }) => ({ ...counts, cached_tokens: Math.floor((counts.prompt_tokens * share) / 100) }));

/** A price in units of 10^-18 dollars, and one of its spellings. */
const price = fc
  .tuple(fc.bigInt(0n, 10n ** 15n), fc.nat({ max: 3 }))
  .map(([digits, spelling]): readonly [bigint, string] => {
    const whole = String(digits).padStart(19, "0");
    const plain = `${whole.slice(0, -18)}.${whole.slice(-18)}`;
    return [digits, [plain, `${digits}e-18`, `${digits}0E-19`, ` ${plain} `][spelling] ?? plain];
  });

/** The exact dollars of an amount in units of 10^-18 dollars. */
const dollars = (amount: bigint): string => {
  const text = String(amount).padStart(19, "0");
  return `${text.slice(0, -18)}.${text.slice(-18)}`.replace(/\.?0+$/, "");
};

describe("the cost of a usage", () => {
  it("adds exactly, to the last digit", () => {
    const names = ["prompt", "completion", "input_cache_read", "image", "request"] as const;
    fc.assert(
      fc.property(usage, fc.tuple(price, price, price, price, price), (used, prices) => {
        const pricing = Object.fromEntries(names.map((name, at) => [name, prices[at]?.[1]]));
        const of = (at: number) => prices[at]?.[0] ?? 0n;
        const expected =
          BigInt(used.prompt_tokens - used.cached_tokens) * of(0) +
          BigInt(used.completion_tokens) * of(1) +
          BigInt(used.cached_tokens) * of(2) +
          BigInt(used.images) * of(3) +
          BigInt(used.requests) * of(4);
        const cost = computeCost(modelOf({ pricing }), { usage: used, needsUnitPrices: true });
        expect(cost).toMatchObject({ total: dollars(expected), at_least: dollars(expected), not_stated: [] });
      }),
    );
  });

  it("has a total only if every price that it needs is valid", () => {
    fc.assert(
      fc.property(usage, entry, fc.boolean(), (used, model, needsUnitPrices) => {
        const cost = computeCost(modelOf(model), { usage: used, needsUnitPrices });
        expect(cost.total === null).toBe(cost.not_stated.length > 0);
        for (const { unit_price, cost: own, count: counted } of cost.items) {
          expect((unit_price === null) === (own === null)).toBe(true);
          expect(counted).toBeGreaterThan(0);
        }
        if (used.prompt_tokens > used.cached_tokens) expect(cost.items[0]?.price).toBe("prompt");
      }),
    );
  });

  it("sorts after every known cost if it is unknown", () => {
    const at = (pricing: object) =>
      computeCost(modelOf({ pricing }), {
        usage: { prompt_tokens: 10, cached_tokens: 0, completion_tokens: 10, images: 0, requests: 0 },
        needsUnitPrices: false,
      });
    const [cheap, dear, part] = [
      at({ prompt: "1", completion: "1" }),
      at({ prompt: "9", completion: "1e1" }),
      at({ prompt: "0" }),
    ];
    expect([part, dear, cheap].sort(compareCosts)).toEqual([cheap, dear, part]);
  });

  const used = { prompt_tokens: 100, cached_tokens: 40, completion_tokens: 0, images: 2, requests: 1 };

  it.each([
    ["input_cache_read", { prompt: "1", input_cache_read: "0.5" }, ["60", "20"]],
    ["no price, as unknown", { prompt: "1" }, ["60", null]],
  ])("takes the price of cached tokens from %s", (_, pricing, costs) => {
    const cost = computeCost(modelOf({ pricing }), {
      usage: { ...used, images: 0, requests: 0 },
      needsUnitPrices: false,
    });
    expect(cost.items.map((item) => item.cost)).toEqual(costs);
  });

  it("includes recorded images and requests only if the model has a price for them", () => {
    const pricing = { prompt: "1", input_cache_read: "1", request: "0.5" };
    const counted = computeCost(modelOf({ pricing }), { usage: used, needsUnitPrices: false });
    expect(counted).toMatchObject({ total: "100.5", not_stated: [] });
    const asked = computeCost(modelOf({ pricing }), { usage: used, needsUnitPrices: true });
    expect(asked).toMatchObject({ total: null, at_least: "100.5", not_stated: ["image"] });
  });

  it.each(["", "free", "-1", null, true, {}, "1e-99", "0x1", "1,5"])("has no total if the price is %j", (prompt) => {
    const cost = computeCost(modelOf({ pricing: { prompt } }), {
      usage: { ...used, cached_tokens: 0 },
      needsUnitPrices: false,
    });
    expect(cost).toMatchObject({ total: null, not_stated: ["prompt"] });
  });
});

describe("the recorded usage", () => {
  const callWith = (more: object) => readCallUsage({ id: "c", ...more });
  const counts = (value: unknown) => {
    const read = callWith({ output: { usage: value } });
    return read === undefined
      ? undefined
      : [read.prompt_tokens, read.cached_tokens, read.completion_tokens, read.requests];
  };

  it.each([
    [
      "a chat completion",
      { prompt_tokens: 5, completion_tokens: 3, prompt_tokens_details: { cached_tokens: 2 } },
      [5, 2, 3, 1],
    ],
    ["a response", { input_tokens: 5, output_tokens: 3, input_tokens_details: { cached_tokens: 2 } }, [5, 2, 3, 1]],
    [
      "a message",
      { input_tokens: 5, output_tokens: 3, cache_read_input_tokens: 2, cache_creation_input_tokens: 1 },
      [8, 2, 3, 1],
    ],
    ["an embedding", { prompt_tokens: 5, total_tokens: 5 }, [5, 0, 0, 1]],
    ["several requests", { prompt_tokens: 5, completion_tokens: 3, requests: 4 }, [5, 0, 3, 4]],
    [
      "more cached tokens than prompt tokens",
      { prompt_tokens: 5, completion_tokens: 3, cached_tokens: 9 },
      [5, 5, 3, 1],
    ],
    ["only a total", { total_tokens: 8 }, undefined],
    ["no numbers", { prompt_tokens: "5", completion_tokens: 3 }, undefined],
    ["numbers below zero", { prompt_tokens: -5, completion_tokens: 3 }, undefined],
    ["fractions", { prompt_tokens: 0.5, completion_tokens: 3 }, undefined],
    ["null", null, undefined],
    ["a list", [1], undefined],
  ])("takes the counts of %s", (_, value, expected) => {
    expect(counts(value)).toEqual(expected);
  });

  const one = { prompt_tokens: 5, completion_tokens: 3 };

  it("comes from the output of a call, with cached tokens, if the summary has equal counts", () => {
    const output = { usage: { ...one, prompt_tokens_details: { cached_tokens: 4 } } };
    expect(callWith({ output, summary: { usage: { m: one } } })).toMatchObject({ cached_tokens: 4, prompt_tokens: 5 });
    expect(callWith({ output })).toMatchObject({ cached_tokens: 4 });
  });

  it.each([
    ["prompt", { ...one, prompt_tokens: 6 }],
    ["completion", { ...one, completion_tokens: 4 }],
  ])("comes from the summary of a call if only its %s tokens differ from the output", (_, summed) => {
    expect(callWith({ output: { usage: one }, summary: { usage: { m: summed } } })).toMatchObject(summed);
  });

  it("comes from the summary of a call, over all models, if its child calls used models", () => {
    const summary = { usage: { m: { ...one, requests: 2 }, n: { prompt_tokens: 1, completion_tokens: 1 } } };
    expect(callWith({ output: { usage: one }, summary })).toMatchObject({
      prompt_tokens: 6,
      completion_tokens: 4,
      requests: 3,
    });
  });

  it.each([{}, { output: "text" }, { summary: null, output: null }, { summary: { usage: [] } }, { summary: 5 }])(
    "is missing in the call %j",
    (call) => {
      expect(callWith(call)).toBeUndefined();
    },
  );
});
