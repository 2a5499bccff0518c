import fc from "fast-check";
import { expect, it } from "vitest";
import { bestValueOf } from "../../src/catalogs/index.ts";
import { compareDecimals, parseDecimal } from "../../src/decimal.ts";

const models = fc.array(
  fc.record({
    context: fc.integer({ min: 1, max: 6 }),
    price: fc.constantFrom("0", "0.10", "0.1", "2e-1", "3", "10"),
  }),
);

it("a model is one of best value exactly where no other takes as much for less, or more for as little", () => {
  fc.assert(
    fc.property(models, (list) => {
      const priced = list.map(({ context, price }) => ({
        context,
        price: parseDecimal(price) ?? { digits: 0n, places: 0 },
      }));
      const best = bestValueOf(priced);
      for (const one of priced) {
        const isBeaten = priced.some((other) => {
          const dearer = compareDecimals(one.price, other.price);
          return other.context >= one.context && dearer >= 0 && (other.context > one.context || dearer > 0);
        });
        expect(best.has(one)).toBe(!isBeaten);
      }
    }),
  );
});
