import { describe, expect, it } from "vitest";
import { countNames, type FactRow, readFacts } from "../../../src/rollouts/facts.ts";
import { FactColumns, TrajectoryFacts } from "../../../src/rollouts/index/fact-columns.ts";

const countsFrom = (turns: number) => ({
  ...{ turns, characters: turns + 1, tokens: turns + 2 },
  ...{ tool_calls: turns + 3, tool_errors: turns + 4, unanswered: turns + 5 },
});

describe("the columns of facts", () => {
  it("forget removed rows, and keep rows beyond a block", () => {
    const columns = new FactColumns();
    const addRow = (at: number, calls = 1) =>
      columns.addRow(Object.assign(new TrajectoryFacts(), { hasGreeting: at % 2 === 1 }), {
        counts: countsFrom(at * 2 ** 31),
        finishReason: `${at}`,
        media: at,
        uses: new Map([[1, { calls, errors: 0, unanswered: 0 }]]),
      });
    let removeRows = () => {};
    for (let at = 0; at < 16_400; at++) {
      if (at === 17) removeRows = columns.mark();
      addRow(at);
    }
    removeRows();
    addRow(7, 5);
    const uses: unknown[] = [];
    for (const at of [16, 17]) columns.forEachUse(at, (tool, { calls }) => uses.push([tool, calls]));
    expect(uses).toEqual([
      [1, 1],
      [1, 5],
    ]);
    columns.finishReason.set(16, undefined);
    for (const [at, reason, first = at] of [
      [15, "15"],
      [16, undefined],
      [17, "7", 7],
    ] as const) {
      const { finishReason, counts } = columns.at(at);
      expect([finishReason, columns.isGreeted(at)]).toEqual([reason, first % 2 === 1]);
      expect(Object.values(counts)).toEqual(countNames.map((_, fact) => first * 2 ** 31 + fact));
    }
  });
});

it.each<[row: Partial<FactRow>, facts: object]>([
  [{}, { reward: 0.5, advantage: 0.25, solved: true, turns: 2, tokens: null, finish_reason: "stop" }],
  [{ reward: Number.POSITIVE_INFINITY }, { reward: null, advantage: null, solved: null }],
  [
    { mean: null, isSolved: false, finishReason: undefined },
    { reward: 0.5, advantage: null, solved: false, finish_reason: null },
  ],
])("a fact is null if it is unknown (row %$)", (row, facts) => {
  const known = { reward: 0.5, mean: 0.25, isSolved: true, finishReason: "stop", counts: { turns: 2, tokens: null } };
  expect(readFacts({ ...known, ...row })).toMatchObject(facts);
});
