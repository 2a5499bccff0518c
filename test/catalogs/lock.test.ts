import { mkdtempSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { readLock, toLockedModel, verifyLock, writeLock } from "../../src/catalogs/index.ts";
import { parseDecimal, zero } from "../../src/decimal.ts";
import { entries, parseEntries } from "./models.ts";

const policy = { maxRise: zero, withinMs: 0, now: Date.parse("2026-01-01T00:00:00Z") };

const listedOf = (data: readonly unknown[]) =>
  parseEntries(JSON.stringify({ data })).map(({ value: entry, ...raw }) => {
    return { catalog: "router" as const, entry, ...raw };
  });

const lockFileOf = async (data: readonly unknown[]) => {
  const file = join(mkdtempSync(join(tmpdir(), "lock-")), "lock.json");
  const models = listedOf(data).flatMap((one) => toLockedModel(one) ?? []);
  writeLock(file, models, (json) => json);
  return {
    file,
    models,
    lock: readLock(file),
    text: () => readFileSync(file, "utf8"),
    write: () => writeLock(file, models, (json) => json),
  };
};

describe("a lock file", () => {
  it("contains the facts of all models, and is not written again if no fact changed", async () => {
    await fc.assert(
      fc.asyncProperty(entries, async (data) => {
        const { lock, models, write } = await lockFileOf(data);
        const facts = (list: readonly object[] = []) => list.map((one) => JSON.stringify(one)).sort();
        const stated = models.map((model) => JSON.parse(JSON.stringify(model)));
        const sorted = (one: object) => Object.fromEntries(Object.entries(one).sort(([a], [b]) => (a < b ? -1 : 1)));
        expect(facts(lock?.models.map(sorted))).toEqual(facts(stated.map(sorted)));
        expect(write()).toBe(false);
      }),
      { numRuns: 40 },
    );
  });

  it("causes only reports of deprecations for its own catalog", async () => {
    await fc.assert(
      fc.asyncProperty(entries, async (data) => {
        const { lock } = await lockFileOf(data);
        if (lock === undefined) throw new Error("no lock");
        const found = verifyLock(lock, listedOf(data), policy);
        expect(found.map(({ problem }) => problem.rule).filter((rule) => !/deprecat/.test(rule))).toEqual([]);
      }),
      { numRuns: 40 },
    );
  });

  it.each([
    [{ input_cache_write: "2" }, ["price-increased"]],
    [{ input_cache_read: "0.1" }, ["price-added"]],
    [{ input_cache_read: "1" }, []],
    [{ internal_reasoning: "3" }, ["price-increased"]],
    [{ internal_reasoning: "2" }, []],
    [{ internal_reasoning: "0" }, []],
    [{ request: "0.01" }, ["price-increased"]],
    [{ request: "0", image: null, web_search: "9" }, []],
    [{ overrides: [{ min_prompt_tokens: 9, input_cache_write: "2" }] }, ["price-increased"]],
  ])("reports a new price if it can change a total (row %$)", async (added, rules) => {
    const pricing = { prompt: "1", completion: "2" };
    const { lock } = await lockFileOf([{ id: "a", pricing }]);
    const now = listedOf([{ id: "a", pricing: { ...pricing, ...added } }]);
    const found = lock ? verifyLock(lock, now, policy) : [];
    expect(found.map(({ problem }) => problem.rule)).toEqual(rules);
    expect(found.map(({ regression }) => regression.path)).toEqual(rules.map(() => ["pricing", expect.any(String)]));
  });

  it("names the price that applied before", async () => {
    const { lock } = await lockFileOf([{ id: "a", pricing: { prompt: "0.000003" } }]);
    const now = { prompt: "0.000003", input_cache_write: "0.00000375", request: "0.01" };
    const found = lock ? verifyLock(lock, listedOf([{ id: "a", pricing: now }]), policy) : [];
    expect(found.map(({ problem: { message } }) => message).sort()).toEqual([
      "a raised its input_cache_write price from 3 $/M (the price of prompt) to 3.75 $/M",
      "a raised its request price from not stated to 0.01 $",
    ]);
  });

  it("reports a new price of a model without prices", async () => {
    const { lock } = await lockFileOf([{ id: "a" }]);
    const found = lock ? verifyLock(lock, listedOf([{ id: "a", pricing: { prompt: "1" } }]), policy) : [];
    expect(found.map(({ problem: { rule, message } }) => [rule, message])).toEqual([
      ["price-added", "a states a new prompt price, 1000000 $/M"],
    ]);
  });

  it("is compared with the locked one of two models with equal ids", async () => {
    const ending = { id: "a/one", output_modalities: ["text"], deprecation_date: "2020-01-31" };
    for (const data of [
      [{ id: "a/one" }, ending],
      [ending, { id: "a/one" }],
    ]) {
      const { lock } = await lockFileOf([ending]);
      if (lock === undefined) throw new Error("no lock");
      const found = verifyLock(lock, listedOf(data), policy);
      expect(found.map(({ problem }) => problem.rule)).toEqual(["model-deprecated"]);
    }
  });

  it("causes a report of every model for an empty catalog, at the line of its id", async () => {
    await fc.assert(
      fc.asyncProperty(entries, async (data) => {
        const { lock, models, text } = await lockFileOf(data);
        if (lock === undefined) throw new Error("no lock");
        const found = verifyLock(lock, [], policy);
        expect(found.map(({ problem }) => problem.rule)).toEqual(models.map(() => "model-removed"));
        const lines = text().split("\n");
        for (const { problem, locked } of found) {
          expect(lines[(problem.line ?? 0) - 1]).toContain(`"id": ${JSON.stringify(locked.id)}`);
        }
      }),
      { numRuns: 40 },
    );
  });

  it.each([
    ["a cheaper model", "1e-6", "other"],
    ["no model at the same price", "2e-6", undefined],
  ])("causes the advice of %s in place of a model whose price rose", async (_, price, replacement) => {
    const entry = (id: string, amount: string) => ({ id, pricing: { prompt: amount, completion: amount } });
    const { lock } = await lockFileOf([entry("own", "1e-7")]);
    if (lock === undefined) throw new Error("no lock");
    const models = listedOf([entry("own", "2e-6"), entry("other", price)]);
    const found = verifyLock(lock, models, policy);
    expect(found.map((one) => [one.problem.rule, one.replacement?.id])).toEqual([
      ["price-increased", replacement],
      ["price-increased", replacement],
    ]);
  });

  it("is compared with prices as exact decimals", async () => {
    const price = fc.bigInt(0n, 10n ** 12n);
    await fc.assert(
      fc.asyncProperty(price, price, fc.nat({ max: 300 }), async (was, is, percent) => {
        const entry = (amount: bigint) => [{ id: "a", pricing: { prompt: `${amount}e-15` } }];
        const { lock } = await lockFileOf(entry(was));
        if (lock === undefined) throw new Error("no lock");
        const maxRise = parseDecimal(`${percent}`) ?? zero;
        const found = verifyLock(lock, listedOf(entry(is)), { ...policy, maxRise });
        expect(found.length > 0).toBe(is * 100n > was * BigInt(100 + percent));
      }),
      { numRuns: 60 },
    );
  });
});
