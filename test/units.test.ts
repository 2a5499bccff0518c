import { describe, expect, it } from "vitest";
import { parseAmountOf, parseMs } from "../src/units.ts";

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
  ])("%s is %s ms", (text, ms) => {
    expect(parseMs(text)).toBe(ms);
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
  ])("%s is %s", (text, amount) => {
    expect(parseAmountOf(text)).toBe(amount);
  });
});
