import { expect, it } from "vitest";
import { readRoot } from "../../../src/json/table.ts";
import {
  findGroupKey,
  formatKeyText,
  openGroupKeyReader,
  parseKeyText,
  rankGroupKey,
} from "../../../src/rollouts/index/group-key.ts";

/** Returns the group key of a trajectory, and the names that are reported as missing. */
const read = (json: string, names?: readonly string[]) => {
  const root = readRoot(Buffer.from(json));
  const missing: unknown[] = [];
  return [root && openGroupKeyReader(names)(root, (_, data) => missing.push(data)), ...missing];
};

it.each<[names: string | undefined, json: string, key: string | undefined, missing?: string]>([
  [undefined, '{"group_id":"g","a":1}', '"g"'],
  [undefined, '{"group_id":null,"metadata":{"group_id":"g"}}', undefined],
  ["a", '{"a":"x","metadata":{"a":"y"}}', '"x"'],
  ["a", '{"a":null,"metadata":{"a":7}}', "7"],
  ["a", '{"b":1}', undefined, "a"],
  ["a", '{"a":{"b":2}}', "sha256:0ab1a6d394cd3019"],
  ["a", '{"a":{"c":[{"e":1,"d":2}],"b":2}}', "sha256:e6d16a5fa7ed5522"],
  ["a", '{"a": { "b": 2.0, "c": [{"d":2, "e":1}] }}', "sha256:e6d16a5fa7ed5522"],
  ["a.b", '{"a":{"b":2}}', "2"],
  ["a.b", '{"a":{"b":2},"a.b":3}', "3"],
  ["a.b", '{"metadata":{"a":{"b":4}}}', "4"],
  ["step", '{"step":null,"extra_info":{"step":4}}', "4"],
  ["trainStep", '{"info":{"trainStep":2}}', "2"],
  ["a", '{"info":{"a":2}}', undefined, "a"],
  ["a.1", '{"a":[8,9]}', "9"],
  ["a.01", '{"a":[8,9]}', undefined, "a.01"],
  ["a.0.b", '{"a":[{"b":true}]}', "true"],
  ["a", '{"a":1.0}', "1"],
  ["a", '{"a":9007199254740993}', "9007199254740993"],
  ["a", '{"a":0.50}', "0.5"],
  ["a", '{"another":"key","a":0.50,"b":[]}', "0.5"],
  ["a", '{"a":1e-05}', "0.00001"],
  ["a", '{"a":-1.2345678901234}', "-1.2345678901234"],
  ["a", '{"a":0.1000000000000000}', "0.1000000000000000"],
  ["a", '{"a":1e999}', "1e999"],
  ["a", '{"a":"\\u0041é"}', '"Aé"'],
  ["b,a", '{"a":1,"b":"x"}', '["x",1]'],
  ["a,b", '{"a":[],"metadata":{"b":2}}', '["sha256:4f53cda18c2baa0c",2]'],
  ["a,b,c", '{"b":2}', undefined, "a,c"],
])("the group key by %s is the value, its digits or its digest (row %$)", (names, json, key, missing) => {
  expect(read(json, names?.split(","))).toEqual(missing === undefined ? [key] : [key, { key: missing }]);
});

it("the value and the text of a missing group key are null", () => {
  expect([parseKeyText(undefined), formatKeyText(undefined)]).toEqual([null, null]);
});

it.each([
  ['"x"', "x"],
  ["7", 7],
  ["1.5", 1.5],
  ["true", true],
  ["9007199254740993", "9007199254740993"],
  ['[1,"x"]', '[1,"x"]'],
  ["sha256:4f53cda18c2baa0c", "sha256:4f53cda18c2baa0c"],
])("a group key is shown as its value, or as a text if no value has its digits (row %$)", (key, value) => {
  expect([parseKeyText(key), formatKeyText(key)]).toEqual([value, String(value)]);
});

it.each<[value: object, names: readonly string[] | undefined, key: string | undefined]>([
  [{ a: 1, group_id: "g" }, ["a"], "1"],
  [{ a: "x", b: 2 }, ["a", "b"], '["x",2]'],
  [{ a: 1, uid: "u" }, ["a", "b"], "u"],
  [{ metadata: { info: { task_id: 3 } } }, undefined, "3"],
  [{ task_id: 1, prompt_id: 2 }, undefined, "2"],
  [{ task_id: null, metadata: { task_id: 3 } }, undefined, "3"],
  [{ task_id: 1, metadata: { task_id: 3 } }, undefined, "1"],
  [{ prompt: "p", question: "q", task: "t" }, undefined, undefined],
])(
  "a group key is found by its name if a named key is missing, but not in the prompt (row %$)",
  (value, names, key) => {
    expect(findGroupKey(value, names)).toBe(key);
  },
);

it("the best group key is the id of a group, then of a task, then the prompt, and at the top level", () => {
  const ids = "example_id task_id info.task_id problem_id question_id scenario_id instance_id uid";
  const names = `metadata.group_id info.prompt_id ${ids} prompt question task`.split(" ");
  expect(names.toReversed().sort((a, b) => rankGroupKey(a) - rankGroupKey(b))).toEqual(names);
});
