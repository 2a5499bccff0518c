import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { diffCatalogs } from "../../src/catalogs/index.ts";
import { entries, modelsOf, parseModels } from "./models.ts";

const diff = (from: readonly unknown[], to: readonly unknown[]) => diffCatalogs(modelsOf(from), modelsOf(to));

type Change = ReturnType<typeof diff>["changes"][number];

const mirrored = ({ change, from, to, ...others }: Change): Change => ({
  ...others,
  change: change === "added" ? "gone" : change === "gone" ? "added" : change,
  from: to,
  to: from,
});
/** The changes without the name, which comes from the later catalog if both have one. */
const facts = (changes: readonly Change[]) =>
  changes.map(({ id, change, field, from, to }) => JSON.stringify([id, change, field, from, to])).sort();

describe("the difference of two catalogs", () => {
  it("finds no change between a catalog and itself", () => {
    fc.assert(
      fc.property(entries, (data) => {
        const { changes, models } = diff(data, data);
        expect(changes).toEqual([]);
        expect(models.same + models.without_id / 2).toBe(data.length);
      }),
    );
  });

  it("finds the opposite changes in the opposite direction", () => {
    fc.assert(
      fc.property(entries, entries, (one, other) => {
        const [there, back] = [diff(one, other), diff(other, one)];
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
    const changesOf = (isPartial: Parameters<typeof diffCatalogs>[2]) =>
      diffCatalogs(one, two, isPartial).changes.map(({ id, change }) => `${change} ${id}`);
    expect(changesOf({ from: true })).toEqual(["gone a"]);
    expect(changesOf({ to: true })).toEqual(["added c"]);
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
  ])("contains %s", (_, from, to, [change, field, was, is]) => {
    const { changes } = diff([{ id: "a", ...from }], [{ id: "a", ...to }]);
    expect(changes).toEqual([{ id: "a", name: null, change, field, from: was, to: is }]);
  });

  it("shortens a value that is nested too deeply to be printed", () => {
    const deep = "[".repeat(50_000) + "]".repeat(50_000);
    const models = parseModels(`{"data":[{"id":"a","quantization":${deep}}]}`);
    expect(diffCatalogs(models, modelsOf([{ id: "a" }])).changes).toMatchObject([
      { from: "(nested too deeply)", to: null },
    ]);
  });
});
