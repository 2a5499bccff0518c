import { describe, expect, it } from "vitest";
import { allGroups, formatQuery, parentQuery, parseQuery, type Query, selectView } from "../../src/view/answers.ts";

const toQuery = (members: object): Query => ({ ...allGroups, ...members });
const format = (query: Query | undefined) => query && JSON.parse(formatQuery(query));

describe("a query of the page", () => {
  it.each([
    {},
    { sort: "size", descending: true, page: 2 },
    { reward: [-1.5, 2, "below"] },
    { trainable: false, truncated: true, failed: true, toolErrors: true, rule: "any", file: "a", step: "1", text: "t" },
    { group: 1, trajectory: 2 },
    ...["group", "size", "mean", "spread", "step", "failed", "tool errors", "trainable", "problems"].map((sort) => ({
      sort,
    })),
  ])("has only known members that are not the default (row %$)", (members) => {
    const { sort, ...others } = members as { sort?: string };
    const shown = sort === "group" ? others : members;
    expect(format(parseQuery(JSON.stringify({ ...members, unknown: 1 })))).toEqual(shown);
  });

  it.each([
    { sort: "name" },
    { descending: "true" },
    ...[{ page: 0 }, { page: 1.5 }, { group: 0 }, { trajectory: "1" }],
    ...[[1], [0, "1"], [0, 1, "above"], [0, 1, "below", 2], [null, 1], 1].map((reward) => ({ reward })),
    ...[{ trainable: 1 }, { truncated: false }],
    ...["rule", "file", "step", "text"].map((name) => ({ [name]: 1 })),
  ])("is refused with %j", (members) => {
    expect(parseQuery(JSON.stringify(members))).toBeUndefined();
  });

  it.each([
    ["groups", {}, {}],
    ["groups", { sort: "mean", descending: true, page: 3 }, { sort: "mean", descending: true, page: 3 }],
    ["groups", { sort: "mean", text: "a", page: 3 }, { sort: "mean" }],
    ["group", { group: 2, reward: [0, 1], page: 2 }, { reward: [0, 1], page: 2 }],
    ["trajectory", { group: 2, trajectory: 1 }, { group: 2 }],
  ])("shows the view %s of %j, below the view of %j", (view, members, parent) => {
    const query = toQuery(members);
    expect([selectView(query), format(parentQuery(query))]).toEqual([view, parent]);
  });
});
