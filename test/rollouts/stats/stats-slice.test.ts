import { expect, it } from "vitest";
import { countTries, estimateAll, estimatePass, withExceptions } from "../../../src/rollouts/stats/stats-slice.ts";

it.each<[tries: number, solved: number, k: number, any: number, all: number]>([
  [1, 1, 1, 1, 1],
  [1, 0, 1, 0, 0],
  [4, 1, 1, 0.25, 0.25],
  [4, 1, 2, 0.5, 0],
  [4, 2, 2, 5 / 6, 1 / 6],
  [4, 3, 2, 1, 0.5],
  [5, 3, 3, 1, 0.1],
  [5, 2, 3, 0.9, 0],
  [4, 4, 4, 1, 1],
])("of %i tries, of which %i are solved, %i contain a solved one with %d, and only such with %d", (...row) => {
  const [tries, solved, k, any, all] = row;
  expect(estimatePass({ tries, solved }, k)).toBeCloseTo(any, 12);
  expect(estimateAll({ tries, solved }, k)).toBeCloseTo(all, 12);
});

it("tries are the finite rewards, and those of exceptions if they have one", () => {
  const rewards = Float64Array.of(1, 0.5, Number.NaN, 1 - 1e-13, Number.POSITIVE_INFINITY);
  expect(countTries(rewards, 1)).toEqual({ tries: 3, solved: 2 });
  expect(countTries(rewards, 0.5)).toEqual({ tries: 3, solved: 3 });
  expect([withExceptions(rewards, 2, undefined), withExceptions(rewards, 0, 7)]).toEqual([rewards, rewards]);
  expect([...withExceptions(Float64Array.of(1), 2, 7)]).toEqual([1, 7, 7]);
});
