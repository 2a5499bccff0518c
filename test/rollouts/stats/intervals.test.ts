import { describe, expect, it } from "vitest";
import {
  findDetectable,
  GroupedValues,
  NamedPairs,
  PairedValues,
  percentile,
  tQuantile,
} from "../../../src/rollouts/stats/intervals.ts";

/** From tables of the t distribution. */
it.each([
  [1, 12.7062047362],
  [2, 4.3026527297],
  [3, 3.1824463053],
  [4, 2.7764451052],
  [5, 2.5705818356],
  [10, 2.2281388519],
  [29, 2.0452296421],
  [100, 1.9839715185],
  [199, 1.9719565442],
  [200, 1.9718962236],
  [500, 1.964719837],
  [1_000_000, 1.9599663569],
])("the t of 95 %% with %i degrees of freedom is %d", (degrees, t) => {
  expect(tQuantile(degrees)).toBeCloseTo(t, 9);
});

it.each([
  ["7", 0.9, 7],
  ["1 2", 0.5, 1.5],
  ["1 2 4 8", 0, 1],
  ["1 2 4 8", 0.1, 1.3],
  ["1 2 4 8", 0.5, 3],
  ["1 2 4 8", 0.9, 6.8],
  ["1 2 4 8", 1, 8],
  ["-1e308 1e308", 0.75, 5e307],
])("of %s, the percentile %d is %d", (values, share, expected) => {
  expect(percentile(values.split(" ").map(Number), share)).toBeCloseTo(expected, 12);
});

describe("the mean of values in groups", () => {
  it.each<[groups: string, mean: number, half: number | null]>([
    ["1 3", 2, null],
    ["1,3", 2, 12.7062047362],
    ["1 1,3 3", 2, 12.7062047362],
    ["0 1,1 1,NaN", 0.75, 3.1765511841],
    ["0,2,4", 2, (2 / Math.sqrt(3)) * 4.3026527297],
    ["1e200,0", 5e199, null],
  ])("has an interval over the groups %s", (groups, mean, half) => {
    const values = new GroupedValues();
    for (const [group, own] of groups.split(",").entries())
      for (const value of own.split(" ")) values.add(group, Number(value));
    const described = values.describe();
    const interval = half === null ? null : [mean - half, mean + half].map((end) => expect.closeTo(end, 8));
    expect(described).toEqual({ mean, ci95: interval });
    const detectable = findDetectable(2, described);
    const factor = 1 + 0.8416212335729143 / 12.7062047362;
    expect(detectable).toEqual(half === null ? null : expect.closeTo(half * factor, 8));
  });
});

it("pairs have means, a difference and its interval, without pairs that lack a value or overflow", () => {
  const [pairs, named] = [new PairedValues(), new NamedPairs<string>()];
  for (const [a, b] of [
    [1, 2],
    [null, 5],
    [5, null],
    [3, 6],
    [-1e308, 1e308],
  ] as const) {
    pairs.add(a, b);
    named.of(a === null || b === null ? "lacking" : "known").add(a, b);
  }
  const described = { pairs: 2, a: 2, b: 4, difference: 2, ci95: [2 - 12.7062047362, 2 + 12.7062047362] };
  const close = { ...described, ci95: described.ci95.map((end) => expect.closeTo(end, 8)) };
  expect([pairs.describe(), pairs.overflows, new PairedValues().describe()]).toEqual([close, true, undefined]);
  expect([named.names, named.overflowing]).toEqual([["known", "lacking"], ["known"]]);
  expect([...named.describe(), ...named.describe(["none"])]).toEqual([{ name: "known", ...close }]);
});
