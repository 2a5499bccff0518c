import { describe, expect, it } from "vitest";
import {
  formatPercent,
  formatRest,
  formatRoundedSize,
  isInvalid,
  parseCount,
  parseDuration,
  parseTime,
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
    ["8 MiB", undefined],
    ["k", undefined],
  ])("is a number with a decimal or binary prefix, without a space (row %$)", (text, amount) => {
    expect(parseCount(text)).toEqual(amount ?? { wanted: expect.any(String) });
  });
});

describe("formatRoundedSize", () => {
  it.each([
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
    expect([formatPercent(999, 1000), formatPercent(2, 3, Math.round), formatPercent(0, 0)]).toEqual([
      "99%",
      "67%",
      "100%",
    ]);
  });
});

it.each([
  ["today", "2026-01-31T00:00:00Z"],
  ["yesterday", "2026-01-30T00:00:00Z"],
  ["12h", "2026-01-31T11:59:59Z"],
  ["2026-01-31", "2026-01-31T00:00:00Z"],
  ["2026-01-31T09:30", "2026-01-31T09:30:00Z"],
  ["2026-01-31T09:30+01:00", "2026-01-31T08:30:00Z"],
])("%s is %s just before the end of a day", (text, wanted) => {
  const time = parseTime(text);
  expect(isInvalid(time) ? time : time(Date.parse("2026-01-31T23:59:59Z"))).toBe(Date.parse(wanted));
});
