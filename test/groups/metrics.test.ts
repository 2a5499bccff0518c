import { readFileSync } from "node:fs";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Tally } from "../../src/rollouts/index/metrics.ts";
import { addToSketch, mergeSketch, Sketch } from "../../src/rollouts/index/sketch.ts";
import { TrajectoryFacts } from "../../src/rollouts/index/trajectory-facts.ts";
import { addTrajectory, type MeasuredTrajectory } from "../support/tally.ts";

/** Adds a group with its trajectories. */
const addGroup = (
  tally: Tally,
  { trajectories, exceptions = [] }: { trajectories: readonly MeasuredTrajectory[]; exceptions?: readonly unknown[] },
): void => {
  for (const trajectory of trajectories) addTrajectory(tally, trajectory);
  tally.addGroup({ rewards: trajectories.map(({ reward }) => reward), exceptions: exceptions.length });
};

const tallyOf = (...groups: readonly Parameters<typeof addGroup>[1][]): Tally => {
  const tally = new Tally();
  for (const group of groups) addGroup(tally, group);
  return tally;
};

/** The exact value of a finite double, in units of 2^-1074. */
const exactly = (value: number): bigint => {
  const view = new DataView(new ArrayBuffer(8));
  view.setFloat64(0, value);
  const bits = view.getBigUint64(0);
  const exponent = (bits >> 52n) & 0x7ffn;
  const fraction = bits & 0xfffffffffffffn;
  const size = exponent === 0n ? fraction : (fraction | 0x10000000000000n) << (exponent - 1n);
  return bits >> 63n === 1n ? -size : size;
};

/** Finds the double that is nearest to a whole number of 2^-1074, by bisection over all doubles. */
const nearest = (units: bigint): number => {
  if (units < 0n) return -nearest(-units);
  const view = new DataView(new ArrayBuffer(8));
  const at = (bits: bigint): number => {
    view.setBigUint64(0, bits);
    return view.getFloat64(0);
  };
  let low = 0n;
  let high = 0x7fefffffffffffffn;
  while (low < high) {
    const middle = (low + high + 1n) / 2n;
    if (exactly(at(middle)) <= units) low = middle;
    else high = middle - 1n;
  }
  const below = units - exactly(at(low));
  if (below === 0n) return at(low);
  const above = exactly(at(low + 1n)) - units;
  return at(below < above || (below === above && low % 2n === 0n) ? low : low + 1n);
};

/** Sums of such values are exact in any order. */
const plainValue = fc.integer({ min: -1_000_000, max: 1_000_000 }).map((value) => value / 4);

/** Deviations can differ in their last digits. */
const expectNear = (found: Readonly<Record<string, number>>, expected: Readonly<Record<string, number>>) => {
  expect(Object.keys(found)).toEqual(Object.keys(expected));
  for (const [name, value] of Object.entries(expected))
    expect(Math.abs((found[name] ?? 0) - value)).toBeLessThanOrEqual(4 * Number.EPSILON * Math.abs(value));
};

const rewardOf = (rewards: readonly number[]): number | undefined => {
  const tally = new Tally();
  addGroup(tally, { trajectories: rewards.map((reward) => ({ reward })) });
  return tally.metrics().reward;
};

const deviationOf = (rewards: readonly number[]): number | undefined => {
  const tally = new Tally();
  addGroup(tally, { trajectories: rewards.map((reward) => ({ reward })) });
  return tally.metrics().reward_std_dev;
};

const someValue = fc.oneof(
  fc.double({ noNaN: true, noDefaultInfinity: true, min: -1e300, max: 1e300 }),
  fc.integer(),
  fc.constantFrom(0.1, 0.2, 0.3, -0, 5e-324, 2 ** 53, 1e16, -1e16, 1 / 3, 2 ** 960, -(2 ** 960), 2 ** 959, 2 ** -1030),
);

describe("the metrics", () => {
  it("equal the sample's figures to the last digit", () => {
    const tally = new Tally();
    for (const line of readFileSync("test/samples/airline.groups.jsonl", "utf8").trimEnd().split("\n"))
      addGroup(tally, JSON.parse(line));
    expect(tally.metrics("train")).toMatchObject({
      "train/reward": 0.25,
      "train/reward_std_dev": 0.22320508075688772,
      "train/user_cost": 0.002866753246753247,
      "train/exception_rate": 0,
      "data/step_num_scenarios": 20,
      "data/step_num_trajectories": 80,
      "data/step_num_groups_submitted": 20,
      "data/step_num_groups_trainable": 10,
    });
  });

  it("have only the defined names", () => {
    const tally = new Tally();
    addGroup(tally, {
      trajectories: [{ reward: 1, metrics: { solved: true, steps: 3 } }, { reward: 0 }],
      exceptions: ["no"],
    });
    expect(tally.metrics("val")).toEqual({
      "val/reward": 0.5,
      "val/reward_std_dev": 0.5,
      "val/exception_rate": 1 / 3,
      "val/solved": 1,
      "val/steps": 3,
      "data/step_num_scenarios": 1,
      "data/step_num_trajectories": 2,
      "data/step_num_groups_submitted": 1,
    });
    expect(new Tally().metrics()).toEqual({
      reward_std_dev: 0,
      "data/step_num_scenarios": 0,
      "data/step_num_trajectories": 0,
      "data/step_num_groups_submitted": 0,
    });
  });

  it("omit values that are not finite, values that are not numbers, and keys with a calculated name", () => {
    const tally = new Tally();
    addGroup(tally, {
      trajectories: [
        { reward: Number.POSITIVE_INFINITY, metrics: { steps: 1, reward: 9, reward_std_dev: 9, exception_rate: 9 } },
        { reward: 1, metrics: { steps: Number.POSITIVE_INFINITY, word: "x", ["__proto__"]: 2 } },
        { reward: 1, metrics: JSON.parse('{"__proto__":4}') },
      ],
    });
    const metrics = tally.metrics();
    expect(metrics).toMatchObject({ reward: 1, reward_std_dev: 0, steps: 1, exception_rate: 0 });
    expect(Object.keys(metrics)).toContain("__proto__");
    expect(Object.keys(metrics)).not.toContain("word");
  });

  it("count a group as trainable if its rewards differ by more than 1e-12", () => {
    const trainable = (rewards: readonly number[]) => {
      const tally = new Tally();
      addGroup(tally, { trajectories: rewards.map((reward) => ({ reward })) });
      return tally.metrics("train")["data/step_num_groups_trainable"];
    };
    expect([[1], [1, 1], [0.3, 0.1 + 0.2], [0, 1e-12], [0, 2e-12], [0, 1, 0]].map(trainable)).toEqual([
      0, 0, 0, 0, 1, 1,
    ]);
  });

  it("keep a mean finite if the sum is larger than any double", () => {
    expect(rewardOf([1.7e308, 1.7e308, 1.7e308, 1.7e308])).toBe(1.7e308);
    expect(rewardOf([-1.7e308, -1.7e308])).toBe(-1.7e308);
    expect(rewardOf([1e308, 1e308, -1e308, -1e308, 1])).toBe(0.2);
  });

  it("stay within a unit in the last place over two million additions", () => {
    const tally = new Tally();
    const times = 2 ** 21 + 3;
    const facts = Object.assign(new TrajectoryFacts(), { reward: 0.1 });
    for (let at = 0; at < times; at++) tally.addTrajectory(facts);
    const exact = nearest(exactly(0.1) * BigInt(times)) / times;
    expect(Math.abs((tally.metrics().reward ?? 0) - exact)).toBeLessThanOrEqual(Number.EPSILON * exact);
  });

  it("do not depend on the order or the parts of the trajectories", () => {
    const group = fc.record({
      trajectories: fc.array(
        fc.record({ reward: plainValue, metrics: fc.dictionary(fc.constantFrom("a", "b", "c"), plainValue) }),
        { maxLength: 5 },
      ),
      exceptions: fc.array(fc.string(), { maxLength: 2 }),
    });
    fc.assert(
      fc.property(
        fc.array(group, { maxLength: 12 }),
        fc.array(fc.nat(3)),
        fc.infiniteStream(fc.nat()),
        (groups, cuts, order) => {
          const whole = new Tally();
          for (const one of groups) addGroup(whole, one);
          const parts = [new Tally(), new Tally(), new Tally(), new Tally()];
          const shuffled = groups.map((one) => ({ one, at: order.next().value ?? 0 })).sort((a, b) => a.at - b.at);
          for (const [at, { one }] of shuffled.entries())
            addGroup(parts[cuts[at] ?? 0] ?? whole, { ...one, trajectories: one.trajectories.toReversed() });
          const merged = new Tally();
          for (const part of parts.toReversed()) merged.merge(part);
          expectNear(merged.metrics("train"), whole.metrics("train"));
        },
      ),
    );
  });

  it("subtract a trajectory", () => {
    fc.assert(
      fc.property(fc.array(plainValue, { minLength: 1 }), fc.array(plainValue), (kept, removed) => {
        const tally = new Tally();
        for (const reward of [...kept, ...removed]) addTrajectory(tally, { reward, metrics: { x: reward } });
        const taken = new Tally();
        for (const reward of removed) addTrajectory(taken, { reward, metrics: { x: reward } });
        tally.merge(taken, -1);
        const plain = new Tally();
        for (const reward of kept) addTrajectory(plain, { reward, metrics: { x: reward } });
        expect(tally.metrics()).toEqual(plain.metrics());
      }),
    );
  });

  it("subtract a group, with its exceptions", () => {
    const kept = { trajectories: [{ reward: 0 }, { reward: 1 }], exceptions: ["a"] };
    const removed = { trajectories: [{ reward: 0.1 }, { reward: 0.3 }], exceptions: ["b", "c"] };
    const tally = new Tally();
    for (const group of [kept, removed]) addGroup(tally, group);
    tally.merge(tallyOf(removed), -1);
    const plain = new Tally();
    addGroup(plain, kept);
    expect(tally.metrics("train")).toEqual(plain.metrics("train"));
    expect(tally.metrics().exception_rate).toBe(1 / 3);
  });

  it("give the deviation of the exact values: 0 if all are equal, otherwise correct in 15 digits", () => {
    expect(deviationOf([0.1, 0.1, 0.1])).toBe(0);
    expect(deviationOf([0, 0, 1])).toBe(0.4714045207910317);
    expect(deviationOf([1e308, -1e308])).toBe(1e308);
    expect(deviationOf([5e-324, 0])).toBe(0);
    expect(deviationOf([1e16, 1e16 + 2])).toBe(1);
    fc.assert(
      fc.property(fc.array(someValue, { minLength: 2, maxLength: 8 }), (values) => {
        const given = deviationOf(values) ?? Number.NaN;
        // Compares the squares of neighboring doubles as whole numbers.
        const count = BigInt(values.length);
        const sum = values.map(exactly).reduce((a, b) => a + b);
        const squares = values.map((value) => exactly(value) ** 2n).reduce((a, b) => a + b);
        const wanted = count * squares - sum * sum;
        const up = exactly(next(given, 4)) * count;
        const down = given < 4 * Number.MIN_VALUE ? 0n : exactly(next(given, -4)) * count;
        expect(down * down <= wanted && wanted <= up * up).toBe(true);
      }),
      { numRuns: 100 },
    );
  });
});

describe("a distribution that is merged of parts", () => {
  it("has the values of all parts", () => {
    const sketchOf = (values: readonly number[]): Sketch => {
      const sketch = new Sketch();
      for (const value of values) addToSketch(sketch, value);
      return sketch;
    };
    const parts = [[1, 2, 4], [], [10], [-3, 7, 7, 0.5]];
    const [whole, merged] = [sketchOf(parts.flat()), new Sketch()];
    for (const part of parts) mergeSketch(merged, sketchOf(part));
    expect(merged).toEqual(whole);
  });
});

/** The double that is `by` doubles above or below. */
const next = (value: number, by: number): number => {
  const view = new DataView(new ArrayBuffer(8));
  view.setFloat64(0, value);
  view.setBigInt64(0, view.getBigInt64(0) + BigInt(by));
  return view.getFloat64(0);
};
