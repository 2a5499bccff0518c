import { describe, expect, it } from "vitest";
import {
  formatMB,
  formatMiB,
  formatPercent,
  formatRest,
  formatRoundedSize,
  formatSeconds,
  formatShare,
  formatUnixDay,
  parseCount,
  parseDuration,
  parseSize,
  reject,
} from "../../src/text/units.ts";

describe("a duration", () => {
  it.each([
    ["500ms", 500],
    ["1.5s", 1500],
    ["2m", 120_000],
    ["1h", 3_600_000],
    ["1d", 86_400_000],
    ["2w", 1_209_600_000],
    ["1", undefined],
    ["1 s", undefined],
  ])("is a number and a unit, without a space (row %$)", (text, ms) => {
    expect(parseDuration(text)).toEqual(ms ?? { wanted: expect.any(String) });
  });
});

describe("a size or a count", () => {
  it.each([
    ["131072", 131_072],
    ["128k", 128_000],
    ["128KB", 128_000],
    ["1M", 1e6],
    ["8MiB", 2 ** 23],
    ["8Mi", 2 ** 23],
    ["1.5kb", 1500],
    ["3g", 3e9],
    ["4TB", 4e12],
    ["2Ki", 2048],
    ["1GiB", 2 ** 30],
    ["1tib", 2 ** 40],
    ["8 MiB", undefined],
    ["k", undefined],
    ["-1", undefined],
    ["1e3", undefined],
    ["1.", undefined],
    ["2constructor", undefined],
    ["0.000000001g", 1],
    ["999999999999999", 999_999_999_999_999],
    ["1000000000000000", undefined],
  ])("is a number with a decimal or binary prefix, without a space (row %$)", (text, amount) => {
    expect(parseCount(text)).toEqual(amount ?? { wanted: expect.any(String) });
  });
});

describe("formatRoundedSize", () => {
  it.each([
    [1, "1 byte"],
    [1023, "1023 bytes"],
    [1024, "1 KiB"],
    [1.26 * 2 ** 10, "1.3 KiB"],
    [2 ** 20 - 1, "1024 KiB"],
    [2 ** 20, "1 MiB"],
    [2.5 * 2 ** 30, "2560 MiB"],
  ])("uses the largest unit, with one decimal place (row %$)", (bytes, text) => {
    expect(formatRoundedSize(bytes)).toBe(text);
  });
});

describe("formatRest", () => {
  it.each([
    [500, "1 s"],
    [59_000, "59 s"],
    [59_001, "1 min"],
    [3_599_000, "60 min"],
    [3_600_000, "1 h"],
    [3_600_001, "2 h"],
  ])("rounds up to the largest unit (row %$)", (ms, text) => {
    expect(formatRest(ms)).toBe(text);
  });
});

describe("formatPercent", () => {
  it("prints 100% for an empty whole, and otherwise only for all of it", () => {
    expect([formatPercent(999, 1000), formatPercent(2, 3), formatPercent(0, 0)]).toEqual(["99%", "66%", "100%"]);
  });
});

it("an amount is parsed between its limits, and rounded to what it can be", () => {
  const small = reject("a size of at least 1 byte");
  expect(["1.9", "1KiB", "0", "0.5"].map(parseSize)).toEqual([1, 1024, small, small]);
  expect(["8191TiB", "8192TiB"].map(parseSize)).toEqual([8191 * 2 ** 40, reject("a size below 8192TiB")]);
  expect(["0", "1.5", "1.5k"].map(parseCount)).toEqual([0, reject("a number such as 131072, 128k or 1M"), 1500]);
  expect(["596h", "1.4ms", "2147483647ms"].map(parseDuration)).toEqual([596 * 3.6e6, 1, 2 ** 31 - 1]);
  const tooLong = reject("a duration of at most 596h");
  expect(["597h", "2147483648ms"].map(parseDuration)).toEqual([tooLong, tooLong]);
});

it("an amount is printed in the unit of its kind", () => {
  expect([499, 500, 999_499].map(formatMB)).toEqual(["0 kB", "1 kB", "999 kB"]);
  expect([1e6, 1_050_000, 99_940_000, 1e8].map(formatMB)).toEqual(["1.0 MB", "1.1 MB", "99.9 MB", "100 MB"]);
  expect([2 ** 20, 2 ** 20 + 1].map(formatMiB)).toEqual(["1 MiB", "2 MiB"]);
  expect([1499, 1500].map((ms) => formatSeconds(ms))).toEqual(["1 s", "2 s"]);
  expect(formatSeconds(2540, Math.round, 10)).toBe("2.5 s");
  const shares = [0, 1e-12, 0.004, 0.005, 0.174, 0.994, 0.996, 1 - 1e-12, 1, 1.5];
  expect(shares.map(formatShare).join(" ")).toBe("0% 0% <1% 1% 17% 99% >99% 100% 100% 150%");
  expect([946_684_800, 253_402_300_799.999].map(formatUnixDay)).toEqual(["2000-01-01", "9999-12-31"]);
  expect([946_684_799, 253_402_300_800, "946684800"].map(formatUnixDay)).toEqual(Array(3).fill(undefined));
});
