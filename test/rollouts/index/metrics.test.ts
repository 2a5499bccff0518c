import { readFileSync } from "node:fs";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Tally } from "../../../src/rollouts/index/metrics.ts";
import { addTrajectory, type MeasuredTrajectory } from "../../support/tally.ts";

interface Group {
  readonly trajectories: readonly MeasuredTrajectory[];
  readonly exceptions?: readonly unknown[];
}

const tallyOf = (...groups: readonly Group[]): Tally => {
  const tally = new Tally();
  for (const { trajectories, exceptions = [] } of groups) {
    for (const trajectory of trajectories) addTrajectory(tally, trajectory);
    tally.addGroup({ rewards: trajectories.map(({ reward }) => reward), exceptions: exceptions.length });
  }
  return tally;
};

const ofRewards = (rewards: readonly number[]) =>
  tallyOf({ trajectories: rewards.map((reward) => ({ reward })) }).metrics("train");

/** Sums of such values, and the deviations of two of them, are exact in any order. */
const value = fc.integer({ min: -1_000_000, max: 1_000_000 }).map((units) => units / 4);
const metrics = fc.dictionary(fc.constantFrom("a", "b", "c"), value);
const trajectories = fc.array(fc.record({ reward: value, metrics }), { minLength: 2, maxLength: 2 });
const groups = fc.array(fc.record({ trajectories, exceptions: fc.array(fc.string(), { maxLength: 2 }) }));

describe("the metrics", () => {
  it("equal the sample's figures to the last digit", () => {
    const lines = readFileSync("test/samples/airline.groups.jsonl", "utf8").trimEnd().split("\n");
    expect(tallyOf(...lines.map((line) => JSON.parse(line))).metrics("train")).toMatchObject({
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
    const measured = [{ reward: 1, metrics: { solved: true, steps: 3 } }, { reward: 0 }];
    expect(tallyOf({ trajectories: measured, exceptions: ["no"] }).metrics("val")).toEqual({
      ...{ "val/reward": 0.5, "val/reward_std_dev": 0.5, "val/exception_rate": 1 / 3, "val/solved": 1, "val/steps": 3 },
      ...{ "data/step_num_scenarios": 1, "data/step_num_trajectories": 2, "data/step_num_groups_submitted": 1 },
    });
    expect(new Tally().metrics()).toEqual({
      reward_std_dev: 0,
      ...{ "data/step_num_scenarios": 0, "data/step_num_trajectories": 0, "data/step_num_groups_submitted": 0 },
    });
  });

  it("omit values that are not finite, values that are not numbers, and keys with a calculated name", () => {
    const own = { steps: 1, reward: 9, reward_std_dev: 9, exception_rate: 9 };
    const odd = { steps: Number.POSITIVE_INFINITY, word: "x", ["__proto__"]: 2 };
    const measured = [own, odd].map((metrics, reward) => ({ reward: reward || Number.POSITIVE_INFINITY, metrics }));
    expect(tallyOf({ trajectories: measured }).metrics()).toEqual({
      ...{ reward: 1, reward_std_dev: 0, steps: 1, exception_rate: 0, ["__proto__"]: 2 },
      ...{ "data/step_num_scenarios": 1, "data/step_num_trajectories": 2, "data/step_num_groups_submitted": 1 },
    });
  });

  it("count a group as trainable if its rewards differ by more than 1e-12", () => {
    const rewards = [[1], [1, 1], [0.3, 0.1 + 0.2], [0, 1e-12], [0, 2e-12], [0, 1, 0]];
    expect(rewards.map((own) => ofRewards(own)["data/step_num_groups_trainable"])).toEqual([0, 0, 0, 0, 1, 1]);
  });

  it("do not depend on the order or the parts of groups, and subtract groups", () => {
    fc.assert(
      fc.property(groups, groups, (kept, removed) => {
        const [kept1, removed1] = [tallyOf(...kept), tallyOf(...removed)];
        const both = tallyOf(...removed.toReversed(), ...kept.toReversed());
        expect(both.metrics("train")).toEqual(tallyOf(...kept, ...removed).metrics("train"));
        removed1.merge(kept1);
        expect(removed1.metrics("train")).toEqual(both.metrics("train"));
        both.merge(tallyOf(...removed), -1);
        expect(both.metrics("train")).toEqual(kept1.metrics("train"));
      }),
    );
  });

  it.each([
    [[0.1, 0.1, 0.1], 0],
    [[0, 0, 1], 0.4714045207910317],
    [[1e308, -1e308], 1e308],
    [[5e-324, 0], 0],
    [[1e16, 1e16 + 2], 1],
    [[2 ** 960, -(2 ** 960)], 2 ** 960],
  ])("give the exact deviation of %j, without overflow and lost digits", (rewards, deviation) => {
    expect(ofRewards(rewards)["train/reward_std_dev"]).toBe(deviation);
  });
});
