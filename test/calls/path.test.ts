import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type CallPath, findPath, formatPath, parsePath } from "../../src/calls/path.ts";
import { parseRawJson } from "../../src/json/raw-json.ts";
import { itHolds } from "../support/property.ts";

const at = (json: string, path: string): unknown => {
  const found = findPath(parseRawJson(json), parsePath(path, "--path"));
  return found.kind === "found" ? found.value.json : found;
};

const pathsOf = (value: unknown, path: CallPath = []): readonly (readonly [CallPath, unknown])[] => {
  const below = Array.isArray(value)
    ? value.flatMap((one, index) => pathsOf(one, [...path, index]))
    : typeof value === "object" && value !== null
      ? Object.entries(value).flatMap(([key, one]) => pathsOf(one, [...path, key]))
      : [];
  return path.length === 0 ? below : [[path, value], ...below];
};

describe("a path into a call", () => {
  itHolds(
    "finds every value that JSON.parse finds, and reads back from its text",
    fc.property(fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 4 })), (value) => {
      const json = JSON.stringify(value);
      for (const [path, there] of pathsOf(JSON.parse(json))) {
        const read = parsePath(formatPath(path), "--path");
        expect(read).toEqual(path);
        const found = findPath(parseRawJson(json), read);
        expect(found.kind).toBe("found");
        if (found.kind === "found") {
          expect(JSON.parse(found.value.json)).toEqual(there);
        }
      }
    }),
    { quick: 6, slow: 60 },
  );

  it.each([
    ["a", '{"a": 1.50, "b":2}', "1.50"],
    ["a[1].b", '{"a":[0,{"b":{"c": [ 1 ]}}]}', '{"c": [ 1 ]}'],
    ["a[-1]", '{"a":[0,1,2]}', "2"],
    ['["a.b"].c', '{"a.b":{"c":"x"}}', '"x"'],
    ["['a[0]']", '{"a[0]":7}', "7"],
    ['costs["gpt-4.1"].usd', '{"costs":{"gpt-4":{},"gpt-4.1":{"usd":1}}}', "1"],
    ["a", '{"a":1,"a":2}', "2"],
    ["a", '{"a":null}', "null"],
    [".a.b", '{"a":{"b":3}}', "3"],
  ])("finds the value of keys, indexes and quoted keys (row %$)", (path, json, value) => {
    expect(at(json, path)).toBe(value);
  });

  it.each([
    [
      "output.choises[0]",
      '{"output":{"choices":[1],"id":"x"}}',
      "output.choises",
      "output.choices[0]",
      ["choices", "id"],
    ],
    ["output.choices[1]", '{"output":{"choices":[1]}}', "output.choices[1]", undefined, ["[0]"]],
    ["output.choices[-2]", '{"output":{"choices":[1]}}', "output.choices[-2]", undefined, ["[0]"]],
    ["id.x", '{"id":"x"}', "id.x", undefined, []],
    ["id[0]", '{"id":null}', "id[0]", undefined, []],
  ])("gives the missing part and similar names (row %$)", (path, json, where, near, found) => {
    expect(at(json, path)).toEqual({ kind: "missing", path: where, near, candidates: found });
  });

  it.each(["", ".", "a.", "a..b", "a[", "a[x]", "a[1", "a]b", '["a]', "a b[0]c"])(
    "cannot be malformed (row %$)",
    (text) => {
      expect(() => parsePath(text, "--path")).toThrow(expect.objectContaining({ kind: "invalid-option-value" }));
    },
  );
});
