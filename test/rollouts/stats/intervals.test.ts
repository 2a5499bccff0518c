import { describe, expect, it } from "vitest";
import {
  adjustChances,
  type Chance,
  compareDifferences,
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
  it.each<[groups: string, mean: number, interval: readonly number[] | null]>([
    ["1 3", 2, null],
    ["1,3", 2, null],
    ["0 1,1 1,NaN", 0.75, null],
    ["0,2,4", 2, [0, 4]],
    ["0,2,2,2,2,2,2,4", 2, [2 - 0.89374, 2 + 0.89374]],
    ["0,0,0,1", 0.25, [0, 1]],
    ["1,1,1,0.9,1", 0.98, [0.98 - 0.0555289, 1]],
    ["1e200,0,0", 1e200 / 3, null],
  ])(
    "has an interval over three groups or more, in the range of %s, or from 0 to 1 for rates",
    (groups, mean, ci95) => {
      const values = new GroupedValues();
      for (const [group, own] of groups.split(",").entries())
        for (const value of own.split(" ")) values.add(group, Number(value));
      const close = ci95?.map((end) => expect.closeTo(end, 4)) ?? null;
      expect(values.describe()).toEqual({ mean: expect.closeTo(mean, 9), ci95: close });
    },
  );
});

const pairsOf = (...differences: readonly number[]) => {
  const values = new PairedValues();
  for (const difference of differences) values.add(0, difference);
  return values;
};

describe("the chance of a difference", () => {
  it.each<[differences: readonly number[], p: number | null]>([
    [[1, 1], null],
    [[0, 0, 0], 1],
    // From tables of the t distribution: t = 2.5706 has 5 % with 5 degrees of freedom.
    [[1, 1, 1, 1, 1, 1], 2 ** -5],
    [[-1, 0, 1, 2, 3, 4], 0.1067],
    [[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11], 0.0003],
  ])("is that of the t test, and at least that of equal signs: %j", (differences, p) => {
    expect(pairsOf(...differences).describe()?.p).toEqual(
      p === null ? null : expect.closeTo(Math.max(p, 2 ** (1 - differences.length)), 4),
    );
  });

  it("of the smallest is multiplied by the number of those that can be small, and ascends", () => {
    const all: Chance[] = [0.02, null, 0.01, 1, 0.015, 0.9].map((p) => ({ p }));
    adjustChances(all);
    expect(all.map(({ p }) => p)).toEqual([0.045, null, 0.04, 1, 0.045, 0.9]);
  });

  it("of two differences depends on both deviations", () => {
    const [low, high] = [
      [0, 0.1, 0, -0.1, 0, 0],
      [1, 1.1, 1, 0.9, 1, 1],
    ];
    expect(compareDifferences(pairsOf(...low), pairsOf(...high))).toBeCloseTo(2 ** -10, 6);
    expect(compareDifferences(pairsOf(...low), pairsOf(...low))).toBe(1);
    expect(compareDifferences(pairsOf(...low), pairsOf())).toBe(null);
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
  const compared = { pairs: 2, a: 2, b: 4, difference: 2, ci95: null };
  expect(pairs.describe()).toMatchObject({ compared, detectable: null, p: null });
  expect(new PairedValues().describe()).toBe(undefined);
  expect(named.names).toEqual(["known", "lacking"]);
  expect([...named.describe(), ...named.describe(["none"])]).toEqual([{ name: "known", ...compared, p: null }]);
});
