import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  catalogText,
  type DamagedModel,
  damagedModels,
  damages,
  perMillion,
  priceOf,
  textOf,
  wholeModel,
} from "../../support/damage.ts";
import { itHolds } from "../../support/property.ts";
import type { RunResult } from "../../support/run.ts";
import { catalogOf, servedHere } from "../catalog/catalogs.ts";

/** Text that only unchecked values print. */
const neverPrinted = /(?:\bNaN\b|\bundefined\b|\[object |Invalid Date|\bInfinity\b|\u001b|\u202e).{0,40}/;

/** Expects one of the exit codes, and no output of an unchecked value. */
const sane = ({ code, stdout, stderr }: RunResult, codes: readonly number[] = [0]): void => {
  expect({ code, stderr: codes.includes(code ?? -1) ? "" : stderr }).toEqual({ code, stderr: "" });
  expect(codes).toContain(code);
  expect(neverPrinted.exec(stdout)?.[0]).toBeUndefined();
  expect(neverPrinted.exec(stderr)?.[0]).toBeUndefined();
  expect(/\bat .*\.cjs:|defect/.exec(stderr)).toBeNull();
};

const run = servedHere();

/** Replies by a word in their path. */
type Replies = Readonly<Partial<Record<"models" | "analysis" | "router", string>>>;

const runWith = async (replies: Replies, args: readonly string[]): Promise<RunResult> =>
  await run(args, {
    answer: (path) =>
      (path.includes("/analysis/") ? replies.analysis : path.includes("/router/") ? replies.router : replies.models) ??
      "",
  });

const linesOf = (text: string): readonly string[] => text.split("\n").slice(0, -1);

/** A column of tab-separated lines, without those whose id is damaged. */
const columnOf = (stdout: string): ReadonlyMap<string, string> =>
  new Map(linesOf(stdout).map((line) => [line.split("\t")[0] ?? "", line.split("\t").slice(1).join("\t")]));

/** The text of a price of a model. */
const promptOf = ({ members }: DamagedModel): string | undefined => {
  const pricing: unknown = JSON.parse(members.pricing ?? "null");
  if (typeof pricing !== "object" || pricing === null || !("prompt" in pricing)) return undefined;
  return JSON.stringify(pricing.prompt);
};

describe("a damaged catalog", () => {
  const models = damagedModels.filter((_, at) => at % 5 === 0);
  const damaged = catalogText(models);
  const identified = models.filter(({ field }) => field !== "id");
  const router = async (...args: readonly string[]): Promise<RunResult> =>
    await runWith({ router: damaged }, ["catalog", "router", ...args]);

  it("keeps each model in each format", async () => {
    for (const form of ["tsv", "json", "table"]) {
      const ran = await router("-o", form);
      sane(ran);
      if (form !== "json")
        expect(linesOf(ran.stdout).length - (form === "table" ? 1 : 0)).toBeGreaterThanOrEqual(models.length);
    }
  });

  it("passes through --json byte for byte", async () => {
    expect((await router("--json")).stdout === `${damaged}\n`).toBe(true);
  });

  it("shows a valid price exactly, and never shows an invalid price as a number", async () => {
    const cells = columnOf((await router("-o", "tsv", "--fields", "id,pricing.prompt")).stdout);
    for (const model of identified) {
      const own = model.field === "pricing.prompt" ? model.value : promptOf(model);
      const cell = cells.get(model.id) ?? "not there";
      if (perMillion(own) !== undefined) expect({ ...model, cell }).toMatchObject({ cell: perMillion(own) });
      else expect({ ...model, isNumber: /^[+-]?[\d.]+(e[+-]?\d+)?$/i.test(cell) }).toMatchObject({ isNumber: false });
      if (own === undefined || own === "null") expect(cell).toBe("");
    }
  });

  it("shows token counts digit by digit, and nothing for absent counts", async () => {
    const cells = columnOf((await router("-o", "tsv", "--fields", "id,context_length")).stdout);
    for (const { id, members, field } of identified) {
      if (field !== "context_length") expect(cells.get(id)).toBe("131072");
      else if (["null", undefined].includes(members.context_length)) expect(cells.get(id)).toBe("");
      else if (/^[-\d]/.test(members.context_length ?? "")) expect(cells.get(id)).toBe(members.context_length);
    }
  });

  it("sorts invalid prices after valid ones, in both directions", async () => {
    for (const sign of ["", "-"]) {
      const { stdout } = await router("--sort", `${sign}pricing.prompt`, "--fields", "id", "-o", "tsv");
      const byId = new Map(identified.map((model) => [model.id, model]));
      const prices = linesOf(stdout).map((id) => {
        const model = byId.get(id);
        return model === undefined
          ? "damaged id"
          : priceOf(model.field === "pricing.prompt" ? model.value : promptOf(model));
      });
      const known = prices.flatMap((price) => (price === undefined || price === "damaged id" ? [] : [price]));
      const numbers = known.map(({ digits, places }) => Number(digits) / 10 ** places);
      expect(numbers).toEqual(numbers.toSorted((a, b) => (sign === "" ? a - b : b - a)));
      const lastKnown = prices.findLastIndex((price) => typeof price === "object");
      expect(prices.slice(0, lastKnown).filter((price) => price === undefined)).toEqual([]);
    }
  });

  it("matches a filter only if the filtered value is known", async () => {
    const idsWith = async (...args: readonly string[]) =>
      new Set(linesOf((await router(...args, "--fields", "id", "-o", "tsv")).stdout));
    const [cheap, roomy] = [await idsWith("--max-price", "prompt=0.2"), await idsWith("--min-context", "1")];
    for (const model of identified) {
      const price = priceOf(model.field === "pricing.prompt" ? model.value : promptOf(model));
      const isCheap = price !== undefined && price.digits * 10n ** 7n <= 2n * 10n ** BigInt(price.places);
      expect([model.id, cheap.has(model.id)]).toEqual([model.id, isCheap]);
      const isNumber = /^[1-9][\d.]*$/.test(model.members.context_length ?? "");
      expect([model.id, roomy.has(model.id)]).toEqual([model.id, isNumber]);
    }
    for (const [name, word] of [
      ["--feature", "tools"],
      ["--input-modality", "text"],
    ] as const) {
      sane(await router(name, word));
    }
  });
});
describe("a damaged model", () => {
  it("is shown on a page with each kind of damage", async () => {
    for (const model of damagedModels.filter(({ field }, at) => field !== "id" && at % 47 === 0))
      sane(await runWith({ router: catalogText([model]) }, ["catalog", "router", "-o", "table"]));
  });

  const anything = fc.jsonValue({ maxDepth: 3 });
  const fields = Object.fromEntries(
    [...Object.keys(wholeModel), "other"].map((name) => [
      name,
      name === "id" ? fc.oneof(fc.string(), anything) : anything,
    ]),
  );
  const anyModels = fc.array(fc.record(fields, { requiredKeys: [] }), { maxLength: 30 });
  itHolds(
    "gives a result in a catalog with any JSON values",
    fc.asyncProperty(anyModels, fc.constantFrom("tsv", "json", "table"), async (list, form) => {
      const body = catalogOf(...list);
      const ran = await runWith({ router: body }, ["catalog", "router", "-o", form, "--sort", "pricing.prompt,-id"]);
      expect({ code: ran.code, stderr: ran.code === 0 ? "" : ran.stderr }).toEqual({ code: 0, stderr: "" });
      if (form === "tsv") expect(linesOf(ran.stdout)).toHaveLength(list.length);
      if (form === "json") expect(JSON.parse(ran.stdout).data).toHaveLength(list.length);
    }),
    { quick: 4, slow: 40 },
  );

  it("can be sorted by objects with a key such as toString", async () => {
    const body = catalogOf({ id: [{ toString: false }] }, { id: "b" });
    const ran = await runWith({ router: body }, ["catalog", "router", "--sort", "id", "-o", "json"]);
    expect({ code: ran.code, ids: JSON.parse(ran.stdout).data.map((one: { id: unknown }) => one.id) }).toEqual({
      code: 0,
      ids: ["b", [{ toString: false }]],
    });
  });

  it("is sorted by a number even if its exponent is too large for an amount", async () => {
    const body =
      '{"data":[{"id":"a","context_length":false},{"id":"b","context_length":5e-324},{"id":"c","context_length":1e300}]}';
    const ran = await runWith({ router: body }, ["catalog", "router", "--sort", "-context_length", "--fields", "id"]);
    expect([ran.code, linesOf(ran.stdout)]).toEqual([0, ["c", "b", "a"]]);
  });
});

describe("a damaged list of models", () => {
  const fields = ["id", "object", "created", "owned_by", "root"];
  const whole = { id: '"m"', object: '"model"', created: "0", owned_by: '"me"', root: '"m"' };
  const list = fields.flatMap((field) => damages.map((value) => textOf({ ...whole, [field]: value })));
  const body = `{"object":"list","data":[${list.join(",")}]}`;

  it("appears in every format, and byte for byte with --json", async () => {
    for (const form of ["tsv", "table"])
      sane(await runWith({ models: body }, ["models", "-o", form, "--sort", "-created"]));
    expect((await runWith({ models: body }, ["models", "--json"])).stdout).toBe(`${body}\n`);
  });
});

describe("a reply that is not a list", () => {
  const commands: readonly (readonly [name: "models" | "router", args: readonly string[]])[] = [
    ["models", ["models"]],
    ["router", ["catalog", "router"]],
  ];

  it.each([
    "",
    "null",
    "[]",
    "7",
    '"data"',
    "{}",
    '{"data":{}}',
    '{"data":[1]}',
    '{"data":[{},null,1]}',
    '{"data":[{}',
    '{"data":[{},]}',
    '{"data":[{} {}]}',
    "<!doctype html><p>not found",
    '{"data":[{"id":"a"}]} and more',
  ])("gives exit 6 and one message (row %$)", async (body) => {
    for (const [name, args] of commands) {
      const ran = await runWith({ [name]: body }, args);
      sane(ran, [6]);
      expect(ran.stdout).toBe("");
      expect(ran.stderr).toMatch(/^rollcall: /);
    }
  });
});
