import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type DiffPolicy, diffCatalogs, isDifference } from "../../src/catalogs/diff.ts";
import { zero } from "../../src/text/decimal.ts";
import { dayMs } from "../../src/text/units.ts";
import { entries, modelsOf, parseModels } from "./models.ts";

const usualPolicy: DiffPolicy = { maxRise: zero, withinMs: 30 * dayMs, now: 0 };
const whole = { from: false, to: false };
const diff = (from: readonly unknown[], to: readonly unknown[], policy = usualPolicy) =>
  diffCatalogs({ from: modelsOf(from), to: modelsOf(to) }, whole, policy);
const byId = (data: readonly unknown[]) => [...new Map(modelsOf(data).map((model) => [model.id, model])).values()];

type Change = ReturnType<typeof diff>["changes"][number];

const mirrored = ({ change, from, to, ...others }: Change): Change => ({
  ...others,
  change: change === "added" ? "gone" : change === "gone" ? "added" : change,
  from: to,
  to: from,
});
/** The changes without the name, which comes from the later catalog if both have one. */
const facts = (changes: readonly Change[]) =>
  changes
    .filter(isDifference)
    .map(({ id, change, field, from, to }) => JSON.stringify([id, change, field, from, to]))
    .sort();

describe("the difference of two catalogs", () => {
  it("finds no change between a catalog and itself", () => {
    fc.assert(
      fc.property(entries, (data) => {
        const { changes, models } = diff(data, data);
        expect(changes.filter(isDifference)).toEqual([]);
        expect(models.same + models.without_id / 2).toBe(data.length);
      }),
    );
  });

  it("compares, of entries with the same id, those of which the fewest got worse", () => {
    const [saved, worse, better] = [
      [2, 2],
      [1, 2],
      [3, 3],
    ].map(([context, output]) => {
      return { id: "a", context_length: context, max_output_length: output };
    });
    expect(diff([saved], [worse, better]).changes.map(({ to }) => to)).toEqual([3, 3, null]);
    expect(diff([saved], [better, worse]).changes.map(({ to }) => to)).toEqual([3, 3, null]);
    const countOf = (others: number) => diff([saved], [...Array(others).fill(worse), saved]).changes.length;
    // A model can have thousands of entries.
    expect([countOf(7), countOf(8)]).toEqual([7, 9]);
  });

  it("ignores what identifies and describes a model", () => {
    const [from, to] = ["old", "new"].map((text) => ({ id: "a", name: text, description: text, created: text.length }));
    expect(diff([from], [{ ...to, created: 7 }]).changes.filter(isDifference)).toEqual([]);
  });

  it("finds the opposite changes in the opposite direction", () => {
    fc.assert(
      fc.property(entries, entries, (one, other) => {
        const [there, back] = [diff(byId(one), byId(other)), diff(byId(other), byId(one))];
        expect(facts(back.changes)).toEqual(facts(there.changes.map(mirrored)));
        expect(back.models).toMatchObject({ same: there.models.same, without_id: there.models.without_id });
      }),
    );
  });

  it("contains a model as added or gone only if one catalog lacks the model", () => {
    fc.assert(
      fc.property(entries, entries, (one, other) => {
        const ids = (data: readonly unknown[]) =>
          modelsOf(data).flatMap(({ id }) => (typeof id === "string" ? [id] : []));
        const counted = (list: readonly string[], id: string) => list.filter((own) => own === id).length;
        const [before, after] = [ids(one), ids(other)];
        const { changes } = diff(one, other);
        for (const id of new Set([...before, ...after])) {
          const more = counted(after, id) - counted(before, id);
          expect(changes.filter((one) => one.id === id && one.change === "added").length).toBe(Math.max(0, more));
          expect(changes.filter((one) => one.id === id && one.change === "gone").length).toBe(Math.max(0, -more));
        }
      }),
    );
  });

  it("claims no model as added to a catalog of which only a part is known, and none as gone from the other", () => {
    const [one, two] = [modelsOf([{ id: "a" }, { id: "b" }]), modelsOf([{ id: "b" }, { id: "c" }])];
    const diffPart = (part: object) => diffCatalogs({ from: one, to: two }, { ...whole, ...part }, usualPolicy);
    const changesOf = (part: object) => diffPart(part).changes.map(({ id, change }) => `${change} ${id}`);
    expect(changesOf({ from: true })).toEqual(["gone a"]);
    expect(changesOf({ to: true })).toEqual(["added c"]);
    expect(diffPart({ to: true }).unchecked).toEqual(["a"]);
  });

  it.each([
    ["another spelling of a price", { pricing: { prompt: "3e-7" } }, { pricing: { prompt: "0.00000030" } }],
    ["a price as a number", { pricing: { prompt: "0.5" } }, { pricing: { prompt: 0.5 } }],
    ["a list in another order", { supported_features: ["a", "b"] }, { supported_features: ["b", "a"] }],
    [
      "a second data center in a country",
      { datacenters: [{ country_code: "FI" }] },
      { datacenters: [{ country_code: "FI" }, { country_code: "FI" }] },
    ],
    ["other values for not stated", { max_output_length: 0, deprecation_date: "" }, { max_output_length: null }],
    ["another name", { name: "One" }, { name: "Uno" }],
    ["a limit as text", { max_output_length: 8192 }, { max_output_length: "8192" }],
  ])("ignores %s", (_, from, to) => {
    expect(diff([{ id: "a", ...from }], [{ id: "a", ...to }]).changes).toEqual([]);
  });

  it.each([
    ["a price that is removed", { pricing: { prompt: "0" } }, { pricing: {} }, ["price", "pricing.prompt", "0", null]],
    [
      "a price that becomes a word",
      { pricing: { prompt: "0" } },
      { pricing: { prompt: "free" } },
      ["price", "pricing.prompt", "0", "free"],
    ],
    [
      "another quantization",
      { quantization: "fp8" },
      { quantization: { bits: 4 } },
      ["quantization", "quantization", "fp8", { bits: 4 }],
    ],
    [
      "another member of a data center",
      { datacenters: [{ country_code: "FI", tier: 1 }] },
      { datacenters: [{ country_code: "FI", tier: 2 }] },
      ["other", "datacenters' other members", [{ tier: 1 }], [{ tier: 2 }]],
    ],
    [
      "members down to the eighth level",
      { a: { b: { c: { d: { e: { f: { g: { h: { i: 1 } } } } } } } } },
      { a: { b: { c: { d: { e: { f: { g: { h: { i: 2 } } } } } } } } },
      ["other", "a.b.c.d.e.f.g.h", { i: 1 }, { i: 2 }],
    ],
    ["a version that only looks like a number", { v: "1.1" }, { v: "1.10" }, ["other", "v", "1.1", "1.10"]],
    [
      "a date of today, which can be the end",
      {},
      { until: "1970-01-01" },
      ["deprecation", "until", null, "1970-01-01"],
    ],
    ["a date of the past under another name", {}, { until: "1969-12-31" }, ["other", "until", null, "1969-12-31"]],
    ["a new member that objects inherit", {}, { constructor: "x" }, ["other", "constructor", null, "x"]],
  ])("contains %s", (_, from, to, [change, field, was, is]) => {
    const { changes } = diff([{ id: "a", ...from }], [{ id: "a", ...to }]);
    expect(changes).toMatchObject([{ id: "a", name: null, change, field, from: was, to: is }]);
  });

  it("shortens a value that is nested too deeply to be printed", () => {
    const deep = "[".repeat(50_000) + "]".repeat(50_000);
    const models = parseModels(`{"data":[{"id":"a","quantization":${deep}}]}`);
    expect(diffCatalogs({ from: models, to: modelsOf([{ id: "a" }]) }, whole, usualPolicy).changes).toMatchObject([
      { from: "(nested too deeply)", to: null },
    ]);
  });

  const worse = (from: object, to: object, policy: Partial<DiffPolicy> = {}) =>
    diff([{ id: "a", ...from }], [{ id: "a", ...to }], { ...usualPolicy, now: Date.UTC(2026, 10, 1), ...policy })
      .changes.filter((change) => change.worse)
      .map(({ field }) => field);
  const prices = (pricing: object) => ({ pricing: { prompt: "1", completion: "2", ...pricing } });
  const tier = (more: object, tokens = 200_000) => prices({ overrides: [{ min_prompt_tokens: tokens, ...more }] });
  const at200k = "pricing.overrides[min_prompt_tokens=200000].prompt";

  it.each<[string, object, object, string]>([
    ["a higher price", prices({}), prices({ prompt: "1.000001" }), "pricing.prompt"],
    ["a price above zero", prices({ prompt: "0" }), prices({ prompt: "1e-9" }), "pricing.prompt"],
    ["a new price of requests", prices({}), prices({ request: "0.1" }), "pricing.request"],
    ["a new price of an unknown part", prices({}), prices({ reasoning: "0.1" }), "pricing.reasoning"],
    ["a price that is gone", prices({}), { pricing: { prompt: "1" } }, "pricing.completion"],
    ["a price of the cache that is gone", prices({ input_cache_read: "0.1" }), prices({}), "pricing.input_cache_read"],
    ["a price that cannot be read", prices({}), prices({ prompt: "-1" }), "pricing.prompt"],
    ["another unit", prices({}), prices({ unit: "per_1m_tokens" }), "pricing.unit"],
    ["another currency next to the prices", prices({}), { ...prices({}), currency: "EUR" }, "currency"],
    ["a dearer override", tier({ prompt: "2" }), tier({ prompt: "3" }), at200k],
    ["a new override", prices({}), tier({ prompt: "3" }), at200k],
    ["an override that no longer makes a price lower", tier({ prompt: "0.5" }), prices({}), at200k],
    [
      "a dearer override of a time",
      prices({}),
      prices({ overrides: [{ utc_start: "08:00", utc_end: "20:00", prompt: "3" }] }),
      'pricing.overrides[utc_end="20:00",utc_start="08:00"].prompt',
    ],
    [
      "a dearer price in a nested member",
      prices({ audio: { in: "1" } }),
      prices({ audio: { in: "2" } }),
      "pricing.audio.in",
    ],
    ["an unknown price that could not be read", prices({ x: "free" }), prices({ x: "0.1" }), "pricing.x"],
    ["reasoning above the completion", prices({}), prices({ internal_reasoning: "3" }), "pricing.internal_reasoning"],
    ["a dearer override of an unknown price", tier({ x: "1" }), tier({ x: "2" }), at200k.replace(/prompt$/, "x")],
    [
      "dearer overrides in an object",
      prices({ overrides: { a: 1 } }),
      prices({ overrides: { a: 2 } }),
      "pricing.overrides.a",
    ],
    ["a smaller context", { context_length: 2000 }, { context_length: 1000 }, "context_length"],
    ["a smaller maximum output", { max_output_length: "2000" }, { max_output_length: 1000 }, "max_output_length"],
    ["a smaller unknown limit", { top: { max_tokens: 9 } }, { top: { max_tokens: 8 } }, "top.max_tokens"],
    ["fewer bits", { quantization: "fp8" }, { quantization: "int4" }, "quantization"],
    ["a feature that is gone", { supported_features: ["tools"] }, { supported_features: [] }, "supported_features"],
    [
      "a country that is gone",
      { datacenters: [{ country_code: "FI" }, { country_code: "US" }] },
      { datacenters: [{ country_code: "us" }] },
      "datacenters.country_code",
    ],
    ["a deprecation date within 30 days", {}, { deprecation_date: "2026-11-30" }, "deprecation_date"],
    [
      "a past date, also before",
      { deprecation_date: "2026-01-01" },
      { deprecation_date: "2026-01-01" },
      "deprecation_date",
    ],
    ["an expiration date", {}, { expiration_date: "2026-11-30T00:00:00Z" }, "expiration_date"],
    ["an end in Unix seconds", {}, { retired_at: Date.UTC(2026, 10, 2) / 1000 }, "retired_at"],
    ["a date that cannot be read", {}, { deprecation_date: "soon" }, "deprecation_date"],
    ["a model that is not ready", { is_ready: true }, { is_ready: false }, "is_ready"],
    ["a model that is not available", {}, { available: false }, "available"],
    ["a hidden model", { hidden: false }, { hidden: true }, "hidden"],
    ["a flag of unknown meaning", { moderated: false }, { moderated: true }, "moderated"],
    ["a first limit", { per_request_limits: null }, { per_request_limits: { tokens: 9 } }, "per_request_limits.tokens"],
    ["a status that ends a model", { status: "active" }, { status: "Deprecated" }, "status"],
    [
      "a lower rate",
      { limits: { requests_per_minute: 9 } },
      { limits: { requests_per_minute: 8 } },
      "limits.requests_per_minute",
    ],
  ])("counts %s as worse", (_, from, to, field) => {
    expect(worse(from, to)).toEqual([field]);
  });

  it("knows the words and keys that end a model, and the keys of limits", () => {
    const keys = `is_deprecated retired removed disabled unavailable inactive hidden archived paused suspended eol
      end_of_life end-of-life endOfLife isDeprecated obsolete discontinued`.split(/\s+/);
    for (const key of keys) {
      expect([key, ...worse({}, { [key]: true })]).toEqual([key, key]);
      expect([key, ...worse({}, { state: key.replace(/is_|is(?=D)/, "") })]).toEqual([key, "state"]);
    }
    const dates =
      `deprecated deprecation_date expires expired_at expiration expiry_time retired_on retirement_day sunset
      shutdown_date end_of_life deprecationDate expiresAt my_sunset day_of_peace`.split(/\s+/);
    for (const key of dates) expect([key, ...worse({}, { [key]: "2026-11-30" })]).toEqual([key, key]);
    const plain = "created updated_on release_day launched start_day since date_added knowledge_cutoff".split(" ");
    for (const key of plain) expect([key, ...worse({}, { [key]: "2026-11-30" })]).toEqual([key]);
    for (const key of ["knowledge", "lastModified"]) expect(worse({}, { [key]: "2026-10-31" })).toEqual([]);
    for (const key of "ready is_active available enabled public visible is_listed isReady".split(" "))
      expect([key, ...worse({}, { [key]: false })]).toEqual([key, key]);
    for (const key of "length tokens a_limit max_x context_x quota x_per_day rpm tps rps_x".split(" "))
      expect([key, ...worse({ [key]: 9 }, { [key]: 8 })]).toEqual([key, key]);
    for (const key of ["score", "corpm"]) expect(worse({ [key]: 9 }, { [key]: 8 })).toEqual([]);
    for (const key of "unit currency discount denominator multiplier scale surcharge minimum min_charge per fee fees is_free".split(
      " ",
    )) {
      const path = `pricing.${key}`;
      expect([path, ...worse(prices({ [key]: "1" }), prices({ [key]: "0.5" }))]).toEqual([path, path]);
    }
    for (const key of "price_unit billing cost currency discount surcharge tier tiers unit fee fees is_free".split(" "))
      expect([key, ...worse({ [key]: "a" }, { [key]: "b" })]).toEqual([key, key]);
    const usual = [
      "US$",
      "$",
      "usd",
      "USD per token",
      "$/token",
      "per_token",
      "1 token",
      "tokens",
      "none",
      "default",
      "0",
    ];
    for (const currency of usual) expect(worse(prices({}), prices({ currency }))).toEqual([]);
  });

  it.each<[string, object, object]>([
    ["no first limit", { per_request_limits: null }, { per_request_limits: { tokens: null } }],
    ["a lower price", prices({}), prices({ prompt: "0.9" })],
    ["another spelling of a price", prices({}), prices({ prompt: "10e-1", completion: 2 })],
    ["a price of the cache below the prompt", prices({}), prices({ input_cache_read: "0.1" })],
    ["another spelling of a key", prices({ input_cache_reads: "0.1" }), prices({ input_cache_read: "0.10" })],
    ["the usual unit and currency", prices({}), prices({ unit: "per_token", currency: "USD", discount: 0 })],
    ["a price that is stated now", { pricing: {} }, prices({})],
    ["a price that can be read now", prices({ prompt: "free" }), prices({})],
    ["an unknown price of 0", prices({}), prices({ x: "0" })],
    ["reasoning at the price of the completion", prices({}), prices({ internal_reasoning: "2" })],
    ["an override of larger prompts", tier({ prompt: "3" }, 100_000), tier({ prompt: "3" })],
    ["prices that are null", prices({ request: "1" }), { pricing: null }],
    ["a cheaper override", tier({ prompt: "3" }), tier({ prompt: "2" })],
    [
      "overrides in another order",
      prices({
        overrides: [
          { min_prompt_tokens: 2e5, prompt: "3" },
          { min_prompt_tokens: 4e5, prompt: "4" },
        ],
      }),
      prices({
        overrides: [
          { min_prompt_tokens: "400000", prompt: "4" },
          { prompt: "3", min_prompt_tokens: 2e5 },
        ],
      }),
    ],
    ["a list that is null", { supported_features: ["tools"] }, { supported_features: null }],
    ["countries in another case", { datacenters: [{ country_code: "FI" }] }, { datacenters: [{ country_code: "fi" }] }],
    ["datacenters that are null", { datacenters: [{ country_code: "FI" }] }, { datacenters: null }],
    ["a limit that is no longer stated", { context_length: 9 }, { context_length: 0 }],
    ["a larger limit", { context_length: 9 }, { context_length: 10 }],
    ["a later date", {}, { deprecation_date: "2027-01-31" }],
    ["a date that is no longer stated", { deprecation_date: "2026-11-02" }, {}],
    ["a model that never ends", { expires: "2026-12-01" }, { expires: "never" }],
    ["another end of its cache", { cache_expiry: "5m" }, { cache_expiry: "1h" }],
    ["a model that is ready now", { is_ready: false }, { is_ready: true }],
    ["a model that ends no more", { deprecated: true }, { deprecated: false }],
    ["another description", { description: "a" }, { description: "b" }],
  ])("does not count %s as worse", (_, from, to) => {
    expect(worse(from, to)).toEqual([]);
  });

  it("compares an override without an equal one with what its tokens cost in the other catalog", () => {
    const of = (prompt: string, more: object = {}) => prices({ prompt, ...more });
    const overrides = [{ min_prompt_tokens: 2e5, prompt: "1", input_cache_read: "2" }];
    expect(worse(of("1"), of("3", { overrides }))).toEqual([
      ...["pricing.prompt", "pricing.overrides[min_prompt_tokens=200000].input_cache_read"],
    ]);
    expect(worse(of("3"), of("3", { overrides }))).toEqual([]);
    expect(worse(of("3", { overrides: [{ ...overrides[0], prompt: "3" }] }), of("1"))).toEqual([]);
    const [before, after] = [tier({ prompt: "2" }, 300_000), tier({ prompt: "5" })];
    expect(diff([{ id: "a", ...before }], [{ id: "a", ...after }]).changes.map(({ field }) => field)).toEqual([
      ...["pricing.overrides[min_prompt_tokens=300000].prompt", at200k],
    ]);
  });

  it("has the later name of a model, or else the earlier name", () => {
    const namesOf = (from: object, to: object) =>
      diff([{ id: "a", context_length: 1, ...from }], [{ id: "a", context_length: 2, ...to }]).changes.map(
        ({ name }) => name,
      );
    expect(namesOf({ name: "old" }, { name: "new" })).toEqual(["new"]);
    expect(namesOf({ name: "old" }, {})).toEqual(["old"]);
    expect(namesOf({}, {})).toEqual([null]);
    expect(diff([{ id: "a", name: "A" }], []).changes).toMatchObject([{ name: "A", change: "gone", field: null }]);
  });

  it("allows a rise up to a percentage, and dates after a time", () => {
    const maxRise = { digits: 10n, places: 0 };
    expect(worse(prices({}), prices({ prompt: "1.1" }), { maxRise })).toEqual([]);
    expect(worse(prices({}), prices({ prompt: "1.1000001" }), { maxRise })).toEqual(["pricing.prompt"]);
    expect(worse({}, { deprecation_date: "2026-11-30" }, { withinMs: 0 })).toEqual([]);
  });

  it.each<[isUnknown: boolean, from: object, to: object]>([
    [true, { context_length: 128_000 }, { context_length: "64k" }],
    [true, { max_tokens: 9 }, { max_tokens: { max: 5 } }],
    [false, { context_length: "long" }, { context_length: 5 }],
    [false, { context_length: "64k" }, { context_length: "32k" }],
    [true, prices({}), { pricing: null }],
    [true, { context_length: 9 }, { context_length: 0 }],
    [true, { score: 5 }, { score: "" }],
    [false, { score: 5 }, { score: [5] }],
    [false, prices({ image: "0.1" }), prices({})],
    [false, { deprecation_date: "2026-01-01" }, {}],
    [false, {}, { context_length: 9 }],
    [false, { quantization: "fp8" }, { quantization: "fp16" }],
    [true, { quantization: "fp8" }, { quantization: "unknown" }],
  ])("says if a fact is no longer known: %j for %j and %j", (isUnknown, from, to) => {
    expect(diff([{ id: "a", ...from }], [{ id: "a", ...to }]).changes.map((change) => change.isUnknown)).toEqual([
      isUnknown,
    ]);
  });

  it.each([null, "tools"])("names a list that is now %j as unknown", (supported_features) => {
    const { changes } = diff([{ id: "a", supported_features: ["tools"] }], [{ id: "a", supported_features }]);
    expect(changes).toMatchObject([{ field: "supported_features", worse: false, isUnknown: true }]);
  });

  it("counts a model as gone only if no entry has its id, and compares the entries that are alike", () => {
    const [a, dear, cheap] = ["b", "a", "a"].map((id, at) => ({ id, ...prices({ prompt: String(5 - at) }) }));
    expect(diff([dear, cheap, a], [cheap, dear, a]).changes).toEqual([]);
    const found = diff([dear, cheap, a], [cheap]).changes.map(({ id, change, worse: isWorse }) => [
      id,
      change,
      isWorse,
    ]);
    expect(found).toEqual([
      ["a", "price", false],
      ["a", "gone", false],
      ["b", "gone", true],
    ]);
  });
});
