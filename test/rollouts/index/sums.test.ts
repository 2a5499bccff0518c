import fc from "fast-check";
import { describe, expect, it } from "vitest";
import * as sums from "../../../src/rollouts/index/sums.ts";
import { addExactly, addToSum, ExactSum, meanOfSum } from "../../../src/rollouts/index/sums.ts";
import { itHolds } from "../../support/property.ts";

/** Large and small values whose sum is often between two doubles. */
const value = fc.oneof(
  fc.double({ noNaN: true, noDefaultInfinity: true }),
  fc.tuple(fc.integer({ min: -3, max: 3 }), fc.integer({ min: -120, max: 120 })).map(([a, b]) => a * 2 ** b),
  fc.constantFrom(0.1, 0.7, 1, 1 / 3, Number.MAX_VALUE, Number.MIN_VALUE),
);

describe("addExactly", () => {
  itHolds(
    "rounds the exact sum of the values minus a shift",
    fc.property(fc.array(value, { maxLength: 60 }), value, (values, shift) => {
      const sum = new ExactSum();
      for (const one of values) for (const part of [one, -shift]) addToSum(sum, part);
      expect(addExactly(values, shift) + 0).toBe(values.length === 0 ? 0 : meanOfSum(sum, 1));
    }),
    { quick: 200, slow: 20_000 },
  );
});

/** A multiple of 2^-200 below 2^200, as a big integer of these units. */
const toUnits = (value: number) => {
  const exponent = value === 0 ? 0 : Math.floor(Math.log2(Math.abs(value))) - 52;
  return BigInt(value * 2 ** -exponent) << BigInt(exponent + 200);
};
const scaled = fc
  .tuple(fc.integer({ min: -(2 ** 31), max: 2 ** 31 }), fc.integer({ min: -140, max: 120 }))
  .map(([digits, exponent]) => digits * 2 ** exponent);

describe("ExactSum", () => {
  itHolds(
    "has the sum of big integers, rounded once, also merged of parts and after a removal",
    fc.property(
      fc.array(fc.oneof(scaled, fc.constantFrom(0.1, -0.1, 1 / 3, 2 ** 53, 1)), { maxLength: 20 }),
      (values) => {
        const [sum, rest] = [new ExactSum(), new ExactSum()];
        for (const [at, value] of values.entries()) addToSum(at % 2 === 0 ? sum : rest, value);
        sums.mergeSum(sum, rest, 3);
        addToSum(sum, 0.7);
        addToSum(sum, 0.7, -1);
        const exact = values.reduce((total, value, at) => total + toUnits(value) * (at % 2 === 0 ? 1n : 3n), 0n);
        const odd = Math.floor(values.length / 2);
        expect([meanOfSum(sum, 1), sum.count]).toEqual([Number(exact) * 2 ** -200, values.length + 2 * odd]);
      },
    ),
    { quick: 60, slow: 2000 },
  );
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

it.each([1, 33, 100])("the deviation of %i values does not depend on their order", (count) => {
  const rising = Array.from({ length: count }, (_, at) => (at * 37) % 101);
  const expected = sums.standardDeviation([...rising].sort((a, b) => a - b));
  expect(sums.standardDeviation(rising)).toBe(expected);
  const mean = rising.reduce((sum, value) => sum + value, 0) / count;
  const squares = rising.map((value) => (value - mean) ** 2);
  expect(expected).toBeCloseTo(Math.sqrt(squares.reduce((sum, value) => sum + value, 0) / count), 10);
});
