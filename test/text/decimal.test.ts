import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  compareDecimals,
  type Decimal,
  formatDecimal,
  formatForDisplay,
  formatRounded,
  parseDecimal,
  shiftDecimal,
} from "../../src/text/units.ts";

const decimal: fc.Arbitrary<Decimal> = fc.record({
  digits: fc.bigInt({ min: -(10n ** 20n), max: 10n ** 20n }),
  places: fc.nat({ max: 30 }),
});

/** An amount as a whole number of 10^-60, whose arithmetic is exact. */
const scaled = ({ digits, places }: Decimal): bigint => digits * 10n ** BigInt(60 - places);

describe("a decimal", () => {
  it("keeps its value when it is formatted and parsed again", () => {
    fc.assert(
      fc.property(decimal, (one) => {
        const read = parseDecimal(formatDecimal(one));
        expect(read && scaled(read)).toBe(scaled(one));
      }),
    );
  });

  it("is compared and shifted exactly", () => {
    fc.assert(
      fc.property(decimal, decimal, fc.integer({ min: -20, max: 20 }), (a, b, power) => {
        expect(Math.sign(compareDecimals(a, b))).toBe(scaled(a) < scaled(b) ? -1 : scaled(a) > scaled(b) ? 1 : 0);
        const [factor, moved] = [10n ** BigInt(Math.abs(power)), shiftDecimal(a, power)];
        expect(moved.places).toBeGreaterThanOrEqual(0);
        expect(power < 0 ? moved.digits * factor * 10n ** BigInt(60 - moved.places) : scaled(moved)).toBe(
          power < 0 ? scaled(a) : scaled(a) * factor,
        );
      }),
    );
  });

  it.each(["", " 1", "+1", ".5", "5.", "1,0", "0x1", "NaN", "Infinity", "free", "1e41", "1e-41", "1".repeat(101)])(
    "cannot be parsed from another notation, or with too many digits (row %$)",
    (text) => {
      expect(parseDecimal(text)).toBeUndefined();
    },
  );

  it.each([
    ["3e-7", 6, "0.3"],
    ["0.000000039", 6, "0.039"],
    ["1E3", -6, "0.001"],
    ["-0.0", 6, "0"],
    ["-12.50", 0, "-12.5"],
  ])("shifts by places, without zeros at its end (row %$)", (text, places, result) => {
    const parsed = parseDecimal(text);
    expect(parsed && formatDecimal(shiftDecimal(parsed, places))).toBe(result);
  });
});

it("a number for people has at most 6 significant digits, unless its whole part has more", () => {
  const numbers = "0.1234565 0.1234564 -0.1234565 1234567 1234567.5 12345.67 0.00000123456789 9.999999 0.1230";
  const shown = numbers.split(" ").map((text) => formatRounded(parseDecimal(text) ?? { digits: 0n, places: 0 }));
  expect(shown.join(" ")).toBe("0.123457 0.123456 -0.123457 1234567 1234568 12345.7 0.00000123457 10 0.123");
  const displayed = [1234567, 1234567.5, 999_999, -0, 0.1 + 0.2, -0.00012345678].map(formatForDisplay);
  expect(displayed.join(" ")).toBe("1234567 1234568 999999 0 0.3 -0.000123457");
});
