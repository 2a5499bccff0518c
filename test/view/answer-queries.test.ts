import { describe, expect, it } from "vitest";
import { compareNaturally, openAnswers, relativePosition } from "../../src/view/answer-queries.ts";
import { allGroups, type GroupFacts, type GroupReader, type GroupRow, type Query } from "../../src/view/answers.ts";

const unknown: GroupFacts = {
  ...{ group: 0, file: "a", size: 1, untrainable: null, rules: [], rewards: [], mean: null, spread: null },
  ...{ failures: 0, step: null, parts: null, finish: null, truncated: 0, toolErrors: null },
};

/** Answers queries about groups with these facts. */
const openGroups = (...facts: readonly Partial<GroupFacts>[]) => {
  const groups = facts.map((own, group): GroupRow => ({ ...unknown, group, ...own, key: null, prompt: "" }));
  const unused = () => {
    throw new Error("unused");
  };
  const store: GroupReader<GroupRow> = {
    ...{ count: groups.length, groups },
    ...{ state: unused, charts: unused, search: unused, readGroup: unused },
    readRow: async (row) => row,
  };
  return async (query: Partial<Query>) => {
    const rows = await openAnswers(store)("rows", { ...allGroups, ...query });
    return rows && [rows.selected, rows.rows.map(({ group }) => group + 1).join("")];
  };
};

describe("the rows of a query", () => {
  it.each<[sort: Query["sort"], facts: readonly Partial<GroupFacts>[], ascending: string, descending: string]>([
    ["size", [{ size: 2 }, { size: 1 }, { size: 3 }], "213", "312"],
    ["mean", [{}, { mean: 0.5 }, { mean: 0 }], "321", "231"],
    ["spread", [{}, { spread: 0.5 }, { spread: 0 }], "321", "231"],
    ["tool errors", [{}, { toolErrors: 2 }, { toolErrors: 0 }], "321", "231"],
    ["failed", [{ failures: 1 }, {}, { failures: 2 }], "213", "312"],
    ["step", [{}, { step: "10" }, { step: "9" }], "321", "231"],
    ["trainable", [{}, { untrainable: "invalid" }, {}], "213", "132"],
    ["problems", [{ rules: ["a"] }, {}, { rules: ["a", "a"] }], "213", "312"],
  ])("are sorted by %s, with unknown values last", async (sort, facts, ascending, descending) => {
    const ask = openGroups(...facts);
    expect(await ask({ sort })).toEqual([3, ascending]);
    expect(await ask({ sort, descending: true })).toEqual([3, descending]);
  });

  it.each<[query: Partial<Query>, groups: string]>([
    [{ file: "b" }, "2"],
    [{ reward: [2, 3] }, "2"],
    [{ reward: [0, 2, "below"] }, "12"],
    [{ rule: "any" }, "13"],
    [{ rule: "y" }, "3"],
    [{ step: "7" }, "2"],
    [{ truncated: true, rule: "x" }, "1"],
    [{ failed: true }, "3"],
    [{ toolErrors: true }, "2"],
    [{ trainable: true, reward: [0, 9] }, "1"],
    [{ page: 2 }, ""],
  ])("are those of groups with each fact of %j", async (query, groups) => {
    const ask = openGroups(
      { rewards: [0], rules: ["x"], truncated: 1 },
      { file: "b", rewards: [1, 2], step: "7", untrainable: "equal rewards", truncated: 2, toolErrors: 1 },
      { rules: ["y"], failures: 1, toolErrors: 0 },
    );
    expect(await ask(query)).toEqual([query.page ? 3 : groups.length, groups]);
  });

  it("are at most a hundred on each page", async () => {
    const ask = openGroups(...Array.from({ length: 101 }, () => ({})));
    const [selected, first] = (await ask({})) ?? [];
    expect([selected, first, await ask({ page: 2 })]).toEqual([101, expect.stringMatching(/100$/), [101, "101"]]);
  });
});

it.each([
  ["0.25", "0.5"],
  ["9", "10"],
  ["step-9", "step-10"],
  ["2, 30", "3, 1"],
  ["7", "a"],
  ["-1", "0"],
])("compareNaturally sorts %s before %s", (a, b) => {
  expect([compareNaturally(a, b) < 0, compareNaturally(b, a) > 0, compareNaturally(a, a)]).toEqual([true, true, 0]);
});

it("relativePosition is from 0 to 1, also in a range as wide as doubles can be, and in the middle of a point", () => {
  const [lowest, highest] = [-Number.MAX_VALUE, Number.MAX_VALUE];
  expect([1, 2, 3.5, 9].map((value) => relativePosition(value, 1, 6))).toEqual([0, 0.2, 0.5, 1]);
  expect([relativePosition(0, 1, 2), relativePosition(4, 4, 4)]).toEqual([0, 0.5]);
  expect([lowest, 0, highest].map((value) => relativePosition(value, lowest, highest))).toEqual([0, 0.5, 1]);
});
