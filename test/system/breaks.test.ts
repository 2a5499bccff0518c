import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { sortRows } from "../../src/output/lists/sort-rows.ts";
import { listGroupRows, listTrajectoryRows } from "../../src/rollouts/stats/fact-rows.ts";
import { Breaks, sortWithBreaks } from "../../src/system/breaks.ts";
import { filesOf, read as readInputs } from "../support/inputs.ts";
import { itHolds } from "../support/property.ts";

const abortSoon = () => {
  const abort = new AbortController();
  setImmediate(() => abort.abort(new Error("stop")));
  return abort.signal;
};

describe("sortWithBreaks", () => {
  itHolds(
    "sorts like toSorted, and keeps equal items in their order",
    fc.asyncProperty(fc.nat({ max: 40_000 }), fc.integer({ min: 1, max: 1000 }), async (count, step) => {
      const items = Array.from({ length: count }, (_, at) => ({ at, key: (at * step) % 97 }));
      const compare = (a: (typeof items)[number], b: typeof a) => a.key - b.key;
      const sorted = await sortWithBreaks(items, compare, new Breaks(new AbortController().signal));
      expect(sorted.map(({ at }) => at)).toEqual(items.toSorted(compare).map(({ at }) => at));
    }),
    { quick: 5, slow: 200 },
  );
});

describe("a long loop", () => {
  it("of a sort ends with the reason of a signal", async () => {
    const rows = Array.from({ length: 50_000 }, (_, at) => ({ at: (at * 7919) % 50_000 }));
    const order = [
      { column: { name: "at", rank: 0, align: "right", value: ({ at }: { at: number }) => at }, descending: false },
    ] as const;
    await expect(sortRows(rows, order, abortSoon())).rejects.toThrow("stop");
  });

  it.each([
    ["groups", listGroupRows],
    ["trajectories", listTrajectoryRows],
  ])("of rows of %s ends with the reason of a signal", async (_, list) => {
    const line = '{"trajectories":[{"messages_and_choices":[],"reward":1}]}\n';
    const dataset = await readInputs(filesOf(line.repeat(3000)), { measures: {} });
    const read = async () => {
      const options = { pass: 1, groupBy: undefined, names: [], signal: abortSoon() };
      for await (const _row of list(dataset, options));
    };
    await expect(read()).rejects.toThrow("stop");
  });
});
