import { describe, expect, it } from "vitest";
import { JsonReader } from "../../src/json/reader.ts";
import { describeValue, Kind, kindNames, Shape } from "../../src/json/shape.ts";
import { elementsOf, readRoot } from "../../src/json/table.ts";

it.each([
  ["[1,[2]]", 2],
  ['{"a":1}', 0],
  ["1", 0],
  [`[${"1,".repeat(149)}1]`, 150],
])("the elements of %s are those of a list", (json, count) => {
  expect(elementsOf(readRoot(Buffer.from(json)))).toHaveLength(count);
});

it.each([
  ["null", "null"],
  ["true", "true"],
  ["-2.50", "the number -2.5"],
  ["1e400", "a number"],
  ['"x"', "a string"],
  ["[]", "an array"],
  ["{}", "an object"],
])("%s is described as %s", (json, description) => {
  const root = readRoot(Buffer.from(json));
  expect(root && describeValue(root.table, root.node)).toBe(description);
});

describe("Shape", () => {
  const factsOf = (roles: readonly string[], shapeTexts: Readonly<Record<string, string[]>>) => {
    let derived = 0;
    const shape = new Shape(["role", "content"], ({ kinds, textOf, list }) => {
      derived++;
      return [textOf("role"), kindNames[kinds.content] ?? "absent", ...list().map(({ key }) => key)];
    });
    const reader = new JsonReader({ leafKeys: ["unused"], shapeTexts });
    const records = roles.map((role) => ({ role, content: "x" }));
    reader.read(Buffer.from(JSON.stringify(records)), { skipsLeaves: true });
    const table = reader.viewTable();
    return { facts: elementsOf({ table, node: 0 }).map(({ node }) => shape.read(table, node)), derived };
  };
  const expected = (roles: readonly string[]) => roles.map((role) => [role, "a string", "role", "content"]);

  it("derives facts once for objects with the same keys, kinds and texts", () => {
    const roles = ["user", "tool", "user", "tool"];
    expect(factsOf(roles, { role: ["user", "tool"] })).toEqual({ facts: expected(roles), derived: 2 });
  });

  it("shares no facts between objects whose texts are in no shape", () => {
    const roles = ["user", "other", "user", "other"];
    expect(factsOf(roles, {})).toEqual({ facts: expected(roles), derived: 4 });
    expect(factsOf(roles, { role: ["user"] })).toEqual({ facts: expected(roles), derived: 3 });
  });

  it("gives the kind of the last value of a key, and all keys in their order", () => {
    const shape = new Shape(["a", "b"], ({ kinds: { a, b }, list }) => ({ a, b, keys: list().map(({ key }) => key) }));
    const reader = new JsonReader();
    reader.read(Buffer.from('{"a":1,"c":{},"\\u0061":null}'));
    expect(shape.read(reader.viewTable(), 0)).toEqual({ a: Kind.null, b: Kind.absent, keys: ["a", "c", "a"] });
  });
});
