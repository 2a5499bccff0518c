import { expect, it } from "vitest";
import { Requests, reportMismatches } from "../../../src/rollouts/index/contradictions.ts";
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
