import { describe, expect, it } from "vitest";
import { computeBars } from "../../../src/commands/stats/stats-page.ts";
import { runHere } from "../../support/here.ts";

describe("computeBars", () => {
  const bars = (values: readonly number[]) =>
    computeBars(Float64Array.from(values).sort()).map(({ name, count }) => `${name}: ${count}`);

  it("counts up to eight single values, or round ranges with the maximum in the last", () => {
    expect(bars([0, 0.1 + 0.2, 1])).toEqual(["0: 1", "0.3: 1", "1: 1"]);
    expect(bars([1000000.25, 1000000.75, 1234567.89])).toEqual(["1000000: 1", "1000001: 1", "1234568: 1"]);
    expect(bars([1000000.25, 1000000.4])).toEqual(["1000000.25: 1", "1000000.4: 1"]);
    expect(bars([0, 1, 2, 3, 4, 5, 6, 7, 8])).toEqual(["0 – 2: 2", "2 – 4: 2", "4 – 6: 2", "6 – 8: 3"]);
    expect(bars([...Array(13).keys()].map((value) => value / 2))[0]).toBe("0 – 1: 2");
    expect(bars([-1, 0, 1, 2, 3, 4, 5, 6, 1.7e308])).toHaveLength(5);
    const tenths = [-3, -2, -1, 0, 1, 2, 3, 4, 5].map((value) => value / 10);
    expect(bars(tenths)).toEqual(["-0.4 – -0.2: 1", "-0.2 – 0: 2", "0 – 0.2: 2", "0.2 – 0.4: 2", "0.4 – 0.6: 2"]);
  });

  it("leaves out the rewards of a group that is rejected after its lines are read", async () => {
    const lines = ["a", "b", "a"].map((group_id, reward) => {
      return JSON.stringify({ group_id, messages_and_choices: [], reward });
    });
    const { stdout } = await runHere(["stats", "-", "--on-invalid", "skip"], { stdin: lines.join("\n") });
    expect(stdout).toContain("Trajectories by reward\n  1  1  █");
    expect(stdout).toContain("min, median, max    1, 1, 1\n");
  });
});
