import fc from "fast-check";
import { describe, expect, it } from "vitest";
import * as sums from "../../../src/rollouts/index/sums.ts";
import { itHolds } from "../../support/property.ts";

/** A multiple of 2^-200 below 2^200, as a big integer of these units. */
const toUnits = (value: number) => {
  const exponent = value === 0 ? 0 : Math.floor(Math.log2(Math.abs(value))) - 52;
  return BigInt(value * 2 ** -exponent) << BigInt(exponent + 200);
};
const scaled = fc
  .tuple(fc.integer({ min: -(2 ** 31), max: 2 ** 31 }), fc.integer({ min: -15, max: 15 }))
  .map(([digits, exponent]) => digits * 2 ** exponent);

describe("a sum", () => {
  itHolds(
    "is within one unit in the last place of the exact sum, also merged of parts and after a removal",
    fc.property(
      fc.array(fc.oneof(scaled, fc.constantFrom(0.1, 0.7, 1 / 3, 2 ** 53, 1)), { maxLength: 20 }),
      (values) => {
        const [sum, rest] = [new sums.Sum(), new sums.Sum()];
        for (const [at, value] of values.entries()) (at % 2 === 0 ? sum : rest).add(value);
        sum.merge(rest);
        sum.add(0.7);
        sum.add(0.7, -1);
        const exact = Number(values.reduce((total, value) => total + toUnits(value), 0n)) * 2 ** -200;
        expect(Math.abs(sum.total - exact)).toBeLessThanOrEqual(Number.EPSILON * Math.abs(exact));
        expect(sum.count).toBe(values.length);
      },
    ),
    { quick: 200, slow: 20_000 },
  );

  it("has a finite mean beyond the range of doubles, also merged", () => {
    const sum = new sums.Sum();
    for (const value of [1, 1.5e308, 1.5e308]) sum.add(value);
    expect([sum.total, sum.mean]).toEqual([Number.POSITIVE_INFINITY, 1e308]);
    const other = new sums.Sum();
    for (const value of [-1.5e308, 0.5]) other.add(value);
    sum.merge(other);
    expect(sum.mean).toBe(3e307);
    other.merge(sum, -1);
    expect([other.count, other.total]).toEqual([-3, Number.NEGATIVE_INFINITY]);
  });
});

it.each([
  ["", null, 0],
  ["NaN", null, 0],
  ["3", 3, 0],
  ["-0.1 -0.1 -0.1", -0.1, 0],
  ["1 Infinity 2 NaN", 1.5, 0.5],
  ["-1 1", 0, 1],
  ["1.7e308 1.7e308 -1.7e308", 1.7e308 / 3, 1.6027753706895e308],
  ["5e-324 0", 0, 0],
])("the mean and the deviation of the finite values of %j", (text, mean, deviation) => {
  const values = text.split(" ").filter(Boolean).map(Number);
  expect(sums.meanOfFinite(values)).toBe(mean);
  const moments = sums.computeMoments(sums.pickFinite(values));
  expect([moments.mean, moments.deviation / (deviation || 1)]).toEqual([mean ?? 0, expect.closeTo(deviation && 1, 12)]);
});
