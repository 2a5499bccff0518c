import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { compareCosts, computeCost, noUsage } from "../../src/catalogs/cost.ts";
import { findPrice, readPrices } from "../../src/catalogs/prices.ts";
import { formatDecimal } from "../../src/text/decimal.ts";
import { entry, modelsOf } from "./models.ts";

const modelOf = (value: unknown) => modelsOf([value])[0] ?? {};

const count = fc.nat({ max: 10 ** 12 });
const usage = fc
  .record({
    prompt_tokens: count,
    share: fc.nat({ max: 100 }),
    completion_tokens: count,
    images: count,
    requests: fc.integer({ min: 1, max: 10 ** 12 }),
  })
  .map(({ share, ...counts }) => {
    const cached = Math.floor((counts.prompt_tokens * share) / 100);
    return { ...counts, cached_tokens: cached, cache_write_tokens: Math.floor((counts.prompt_tokens - cached) / 2) };
  });

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
    const names = ["prompt", "completion", "input_cache_read", "image", "request", "input_cache_write"] as const;
    fc.assert(
      fc.property(usage, fc.tuple(price, price, price, price, price, price), (used, prices) => {
        const pricing = Object.fromEntries(names.map((name, at) => [name, prices[at]?.[1]]));
        const of = (at: number) => prices[at]?.[0] ?? 0n;
        const expected =
          BigInt(used.prompt_tokens - used.cached_tokens - used.cache_write_tokens) * of(0) +
          BigInt(used.cache_write_tokens) * of(5) +
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
        if (used.prompt_tokens > used.cached_tokens + used.cache_write_tokens)
          expect(cost.items[0]?.price).toBe("prompt");
      }),
    );
  });

  it("sorts after every known cost if it is unknown", () => {
    const at = (pricing: object) =>
      computeCost(modelOf({ pricing }), {
        usage: {
          prompt_tokens: 10,
          cached_tokens: 0,
          cache_write_tokens: 0,
          completion_tokens: 10,
          images: 0,
          requests: 0,
        },
        needsUnitPrices: false,
      });
    const [cheap, dear, part] = [
      at({ prompt: "1", completion: "1" }),
      at({ prompt: "9", completion: "1e1" }),
      at({ prompt: "0" }),
    ];
    expect([part, dear, cheap].sort(compareCosts)).toEqual([cheap, dear, part]);
  });

  const used = {
    prompt_tokens: 100,
    cached_tokens: 40,
    cache_write_tokens: 0,
    completion_tokens: 0,
    images: 2,
    requests: 1,
  };

  it.each([
    ["input_cache_read", { prompt: "1", input_cache_read: "0.5" }, ["60", "20"]],
    ["input_cache_reads", { prompt: "1", input_cache_reads: "0.5" }, ["60", "20"]],
    ["the first of two names", { prompt: "1", input_cache_read: "0.5", input_cache_reads: "9" }, ["60", "20"]],
    ["the valid of two names", { prompt: "1", input_cache_read: "-1", input_cache_reads: "0.5" }, ["60", "20"]],
    ["no price, as unknown", { prompt: "1" }, ["60", null]],
  ])("takes the price of cached tokens from %s", (_, pricing, costs) => {
    const cost = computeCost(modelOf({ pricing }), {
      usage: { ...used, images: 0, requests: 0 },
      needsUnitPrices: false,
    });
    expect(cost.items.map((item) => item.cost)).toEqual(costs);
  });

  it.each([
    ["input_cache_write", { prompt: "1", input_cache_read: "0.5", input_cache_write: "2" }, ["50", "20", "20"]],
    ["no price, as unknown", { prompt: "1", input_cache_read: "0.5" }, ["50", "20", null]],
  ])("takes the price of tokens that are written to a cache from %s", (_, pricing, costs) => {
    const cost = computeCost(modelOf({ pricing }), {
      usage: { ...used, cache_write_tokens: 10, images: 0, requests: 0 },
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
    const free = computeCost(modelOf({ pricing: { ...pricing, image: "0" } }), { usage: used, needsUnitPrices: false });
    expect(free.items).toContainEqual({ price: "image", count: 2, unit_price: "0", cost: "0" });
  });

  it.each([
    ["the usage contradicts itself", { prompt: "1", completion: "2" }, "its counts contradict each other"],
    ["reasoning has a price of its own", { prompt: "1", completion: "2", internal_reasoning: "5" }, undefined],
  ])("has no total if %s", (_, pricing, doubt) => {
    const usage = { ...noUsage, prompt_tokens: 3, completion_tokens: 4 };
    expect(computeCost(modelOf({ pricing }), { usage, needsUnitPrices: false, doubt })).toMatchObject({
      total: null,
      at_least: "11",
      reason: expect.stringContaining(doubt ?? "internal_reasoning"),
    });
  });

  const ofReasoning = "its price of internal_reasoning applies to an unknown part of the completion tokens";

  it.each<[string, object, Partial<Parameters<typeof computeCost>[1]>, string | null]>([
    ["the name of a price is unknown", { reasoning: "8" }, {}, 'its prices have the unknown price "reasoning 8"'],
    [
      "billing is not per token",
      { billing: "per_second" },
      {},
      'its prices have the unknown term "billing per_second"',
    ],
    [
      "an override has an unknown condition",
      { overrides: [{ region: "us", prompt: "1" }] },
      {},
      "its prices have the unknown condition region",
    ],
    [
      "a price of images can apply",
      { image: "0.1" },
      { media: ["image_url"] },
      "its price of image can apply to parts of the prompt (image_url)",
    ],
    [
      "a price of other images can apply",
      { image: "0", image_token: "0.1", input_image: "0" },
      { usage: { ...noUsage, prompt_tokens: 11, images: 1 } },
      "its price of image_token can apply to images",
    ],
    [
      "the number of requests is unknown",
      { request: "0.01" },
      { usage: { ...noUsage, prompt_tokens: 11 } },
      "its price of request applies to an unknown number of requests",
    ],
    ["a price of requests cannot be read", { request: "some" }, {}, 'the price of request is unreadable: "some"'],
    [
      "a router states -1, and a price is missing",
      { prompt: "-1", completion: "-1" },
      { usage: { ...noUsage, prompt_tokens: 4, cached_tokens: 1, completion_tokens: 4 } },
      'the price of prompt is unreadable: "-1"; the price of completion is unreadable: "-1"; the price of input_cache_read is not stated',
    ],
    [
      "a price of larger prompts cannot be read",
      { overrides: [{ min_prompt_tokens: 2, prompt: "$0.15", completion: null, request: "" }] },
      {},
      'the price of prompt is unreadable: "$0.15"; the price of completion is not stated',
    ],
    [
      "a price of requests depends on the time",
      { overrides: [{ utc_start: 8, utc_end: 9, request: "1" }] },
      {},
      "the price of request depends on utc_start and utc_end",
    ],
    ["reasoning has a price at a time", { overrides: [{ utc_start: 8, internal_reasoning: "5" }] }, {}, ofReasoning],
    ["an unknown price cannot be read", { schedule: "night" }, {}, 'its prices have the unknown term "schedule night"'],
    ["an override is a word", { overrides: ["night"] }, {}, "its prices have the unknown condition night"],
    [
      "a price with another name cannot be read",
      { input_cache_reads: "some" },
      { usage: { ...noUsage, prompt_tokens: 11, cached_tokens: 1 } },
      'the price of input_cache_reads is unreadable: "some"',
    ],
    [
      "a price of reasoning or images is not stated",
      { internal_reasoning: "", image_token: null },
      { media: ["image_url"] },
      null,
    ],
    ["an unknown price is 1", { x: "1" }, {}, 'its prices have the unknown price "x 1"'],
    [
      "only reasoning has a price",
      { completion: null, internal_reasoning: "5" },
      {},
      `${ofReasoning}; the price of completion is not stated`,
    ],
    ["a price of reasoning cannot be read", { internal_reasoning: "some" }, {}, ofReasoning],
    [
      "an unknown condition concerns a prompt of this size",
      { overrides: [{ min_prompt_tokens: 3, region: "us", prompt: "1" }] },
      {},
      "its prices have the unknown condition region",
    ],
    ["a condition is about larger prompts", { overrides: [{ min_prompt_tokens: 4, region: "us" }] }, {}, null],
    ["a condition changes no price", { overrides: [{ utc_start: 8, prompt: "1" }] }, {}, null],
    [
      "nothing is unknown",
      { unit: "per_token", denominator: "1", tiers: [], fees: {}, web_search: "5", image: "0", reasoning: "0" },
      { media: ["image_url"] },
      null,
    ],
  ])("has the reason if %s", (_, more, options, reason) => {
    const usage = { ...noUsage, prompt_tokens: 3, completion_tokens: 4, requests: 1 };
    const cost = computeCost(modelOf({ pricing: { prompt: "1", completion: "2", ...more } }), {
      usage,
      needsUnitPrices: false,
      ...options,
    });
    expect([cost.total, cost.reason]).toEqual([reason === null ? "11" : null, reason]);
  });

  it("has the reasons of prices of reasoning and images only with completion tokens, images or media", () => {
    const pricing = { prompt: "1", completion: "2", image: "3", internal_reasoning: "5", image_token: "7" };
    const costOf = (completion_tokens: number, images: number, ...media: readonly string[]) => {
      const usage = { ...noUsage, prompt_tokens: 3, completion_tokens, images };
      const cost = computeCost(modelOf({ pricing }), { usage, needsUnitPrices: false, media });
      return [cost.total, cost.at_least, cost.reason];
    };
    const ofMedia = "its price of image_token can apply to parts of the prompt (file)";
    const ofImages = "its price of image_token can apply to images";
    expect([costOf(0, 0), costOf(1, 0), costOf(0, 0, "file"), costOf(0, 1), costOf(1, 1, "file")]).toEqual([
      ["3", "3", null],
      [null, "5", ofReasoning],
      [null, "3", ofMedia],
      [null, "6", ofImages],
      [null, "8", [ofReasoning, ofMedia, ofImages].join("; ")],
    ]);
  });

  it("has the reason of each price that can apply to images or media, and none of other prices", () => {
    const reasonOf = (price: string) => {
      const usage = { ...noUsage, prompt_tokens: 3, images: 1 };
      const pricing = { prompt: "1", [price]: "7" };
      return computeCost(modelOf({ pricing }), { usage, needsUnitPrices: false, media: ["file"] }).reason;
    };
    const toMedia = (price: string) => `its price of ${price} can apply to parts of the prompt (file)`;
    for (const price of ["image_token", "input_image"])
      expect(reasonOf(price)).toBe(`${toMedia(price)}; its price of ${price} can apply to images`);
    const mediaPrices = ["image", "audio", "input_audio", "video", "input_video"];
    expect(mediaPrices.map(reasonOf)).toEqual(mediaPrices.map(toMedia));
    const others = ["completion", "input_cache_read", "internal_reasoning", "web_search"];
    const outputs = ["audio_output", "output_audio", "image_output", "output_image", "video_output", "output_video"];
    expect([...others, ...outputs].filter((price) => reasonOf(price) !== null)).toEqual([]);
  });

  const overrides = [
    { min_prompt_tokens: 10, prompt: "2", utc_start: null },
    { min_prompt_tokens: "20", prompt: "3", completion: null },
    { min_prompt_tokens: 20, utc_start: 8, request: "4" },
  ];

  it.each([
    ["prompt", 9, 9, "1"],
    ["prompt", 10, 10, "the price of prompt changes at exactly 10 prompt tokens"],
    ["prompt", 11, 11, "2"],
    ["prompt", 21, 21, "3"],
    ["prompt", undefined, 9, "1"],
    ["prompt", undefined, 10, "the price of prompt depends on the prompt tokens of each request"],
    ["completion", 20, 20, "the price of completion changes at exactly 20 prompt tokens"],
    ["completion", 21, 21, "none"],
    ["request", 19, 19, "none"],
    ["request", 20, 20, "the price of request depends on utc_start"],
    ["image", 21, 21, "5"],
  ])("takes the price of %s for %s of %i tokens from the last override that applies", (part, tokens, most, found) => {
    const read = readPrices({ pricing: { prompt: "1", completion: "6", image: "5", overrides } });
    const { price, reason } = findPrice(read, part, { tokens, most });
    expect(reason ?? (price ? formatDecimal(price) : "none")).toBe(found);
  });

  it.each([
    ["input_cache_read", "input_cache_reads"],
    ["input_cache_reads", "input_cache_read"],
  ])("takes the price of %s from an override of %s", (base, other) => {
    const overrides = [{ min_prompt_tokens: 10, [other]: "2" }];
    const usage = { ...noUsage, prompt_tokens: 11, cached_tokens: 11 };
    const pricing = { prompt: "9", [base]: "1", overrides };
    expect(computeCost(modelOf({ pricing }), { usage, needsUnitPrices: false }).total).toBe("22");
  });

  it("takes the prices of the tier of a prompt from a list of tiers in any order", () => {
    const tiers = [
      { min_context: 20, prompt: "3", completion: "7" },
      { prompt: "1", completion: "5", image: "9" },
      { min_context: 10, prompt: "2" },
    ];
    const find = (pricing: unknown, part: string, tokens: number) => {
      const { price } = findPrice(readPrices({ pricing }), part, { tokens, most: tokens });
      return price && formatDecimal(price);
    };
    const sizes = [9, 11, 21];
    expect(sizes.map((tokens) => find(tiers, "prompt", tokens))).toEqual(["1", "2", "3"]);
    expect(sizes.map((tokens) => find(tiers, "completion", tokens))).toEqual(["5", undefined, "7"]);
    expect(sizes.map((tokens) => find(tiers, "image", tokens))).toEqual(["9", undefined, undefined]);
    const usage = { ...noUsage, prompt_tokens: 21, images: 1 };
    expect(computeCost(modelOf({ pricing: tiers }), { usage, needsUnitPrices: false })).toMatchObject({
      ...{ total: null, at_least: "63", reason: "the price of image is not stated" },
    });
    const reasoned = [{ ...tiers[1], internal_reasoning: "5" }, tiers[0]];
    const answered = { ...noUsage, prompt_tokens: 21, completion_tokens: 1 };
    expect(computeCost(modelOf({ pricing: reasoned }), { usage: answered, needsUnitPrices: false }).total).toBeNull();
    const withoutBase = [[...tiers.slice(2)], [...tiers, { min_context: 5 }], [...tiers, "free"], []];
    expect(withoutBase.map((one) => find(one, "prompt", 9))).toEqual(withoutBase.map(() => undefined));
  });

  it("knows the size of the prompt only of one request", () => {
    const pricing = { prompt: "1", completion: "0", overrides: [{ min_prompt_tokens: 10, prompt: "2" }] };
    const totals = [1, 2].map((requests) => {
      const usage = { ...noUsage, prompt_tokens: 11, requests };
      return computeCost(modelOf({ pricing }), { usage, needsUnitPrices: false }).total;
    });
    expect(totals).toEqual(["22", null]);
    const always = { prompt: "1", overrides: [{ prompt: "2" }] };
    const usage = { ...noUsage, prompt_tokens: 11, requests: 2 };
    expect(computeCost(modelOf({ pricing: always }), { usage, needsUnitPrices: false }).total).toBe("22");
  });

  it.each(["0", "2"])("is exact if the price of reasoning is %s", (internal_reasoning) => {
    const pricing = { prompt: "1", completion: "2", internal_reasoning };
    const usage = { ...noUsage, prompt_tokens: 3, completion_tokens: 4 };
    expect(computeCost(modelOf({ pricing }), { usage, needsUnitPrices: false }).total).toBe("11");
  });

  it.each([{ fee: "0.01" }, { min_charge: "0.01" }])("has no total with an unknown price (row %$)", (more) => {
    const usage = { ...noUsage, prompt_tokens: 3, completion_tokens: 4 };
    const cost = computeCost(modelOf({ pricing: { prompt: "1", completion: "2", ...more } }), {
      usage,
      needsUnitPrices: false,
    });
    expect([cost.total, cost.reason]).toEqual([
      null,
      `its prices have the unknown term "${Object.keys(more)[0]} 0.01"`,
    ]);
  });

  it.each([
    ..."markup margin tax vat_rate surge tariff batch_only promo_until minimum_spend rate_card rates".split(" "),
    ..."credits_per_token charge discount".split(" "),
  ])("has no total with %s next to the prices", (key) => {
    const usage = { ...noUsage, prompt_tokens: 3 };
    const costOf = (model: object) => computeCost(modelOf(model), { usage, needsUnitPrices: false }).reason;
    expect(costOf({ pricing: { prompt: "1" }, [key]: "2" })).toBe(`its prices have the unknown term "${key} 2"`);
    expect(costOf({ pricing: { prompt: "1" }, rate_limits: "1", [key]: false })).toBeNull();
  });

  it.each(["unit_price", "minimum", "surcharge"])("has no total if %s is 1, which is no usual factor", (key) => {
    const usage = { ...noUsage, prompt_tokens: 3 };
    const read = computeCost(modelOf({ pricing: { prompt: "1", [key]: "1" } }), { usage, needsUnitPrices: false });
    expect(read.total).toBeNull();
  });

  it.each(["", "free", "-1", null, true, {}, "1e-99", "0x1", "1,5"])(
    "has no total if the price is invalid (row %$)",
    (prompt) => {
      const cost = computeCost(modelOf({ pricing: { prompt } }), {
        usage: { ...used, cached_tokens: 0 },
        needsUnitPrices: false,
      });
      expect(cost).toMatchObject({ total: null, not_stated: ["prompt"] });
    },
  );
});
