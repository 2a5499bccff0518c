import { expect, it } from "vitest";
import { findCommonSplit, Requests, reportMismatches } from "../../../src/rollouts/index/contradictions.ts";
import { Problems } from "../../../src/rollouts/rules/problems.ts";

it.each([
  ["split=x k=1; split=x k=1", "", "x"],
  ["split=x k=[1,\t2]; split=x k=[1,2]", ""],
  ["; split=x", "2:10 the request in the input has the split x, not y", "y"],
  ["k=1 m=2; k=1 m=3; k=2", "2:12 this request and a:1 differ in the key `m`; 3:11 this request and a:1 differ"],
  ["; k=1", "2:11 this request and a:1 differ in the key `k`"],
  ["k=1; ", "2:1 this request and a:1 differ in the key `k`"],
])("requests on lines contradict the option or the first request: %s", (texts, expected, split?: string) => {
  const [requests, problems] = [new Requests(), new Problems()];
  for (const [at, text] of texts.split("; ").entries()) {
    const members = text.split(" ").map((member): [string, string | undefined] => {
      const [name = "", value] = member.split("=");
      return [name, value];
    });
    const own = members.flatMap(([name, value]) => (value === undefined ? [] : [[name, { name, value }] as const]));
    const keys = new Map(own.filter(([name]) => name !== "split"));
    // The key at index N is in column 11 + N.
    const columns = ["split", ...keys.keys()];
    const locate = (key?: string) => ({ file: "a", line: at + 1, column: key ? 10 + columns.indexOf(key) : 1 });
    requests.add({ split: new Map(members).get("split"), keys }, locate);
  }
  reportMismatches({ requests, problems, shapes: new Set(["requests"]) }, { split });
  const found = problems.sorted().map(({ line, column, message }) => `${line}:${column} ${message}`);
  expect(found).toEqual(expected === "" ? [] : expected.split("; ").map((start) => expect.stringContaining(start)));
});

it.each<[splits: readonly (string | undefined)[], shapes: string, split: string | undefined, problem: string]>([
  [["x"], "requests", "x", ""],
  [["x", "x"], "requests", "x", ""],
  [["x", undefined], "requests", undefined, ""],
  [[undefined], "requests", undefined, ""],
  [["x", "y"], "requests", undefined, ""],
  [["x"], "groups requests trajectories", undefined, "contains groups and trajectories that"],
  [[], "groups", undefined, ""],
])("requests have a common split if the input has nothing else (row %$)", (splits, names, split, others) => {
  const [requests, problems] = [new Requests(), new Problems()];
  const shapes = new Set<"requests" | "groups" | "trajectories">();
  for (const shape of ["requests", "groups", "trajectories"] as const) if (names.includes(shape)) shapes.add(shape);
  const keys = new Map([["k", { name: "k", value: "1" }]]);
  for (const [at, own] of splits.entries()) requests.add({ split: own, keys }, () => ({ file: "a", line: at + 1 }));
  expect(findCommonSplit(requests, shapes)).toBe(split);
  reportMismatches({ requests, problems, shapes }, { split: undefined });
  const found = problems.sorted().find(({ rule }) => rule === "request-key-mismatch");
  expect(found?.message ?? "").toContain(others);
  expect(found === undefined).toBe(others === "");
});
