import fc from "fast-check";
import { describe, expect } from "vitest";
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
