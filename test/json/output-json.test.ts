import { describe, expect, it } from "vitest";
import { toArguments } from "../../src/conversation/apis/openai.ts";
import { rawOf } from "../../src/json/output-json.ts";
import { Value } from "../../src/json/value.ts";

const indented = `{
  "a": 1,
\t"b": [
    2,

    "x\\r\\n  y, z"
  ], 
  "c": {}
}`;

describe("the arguments of a call", () => {
  it.each(["\n", "\r\n"])(
    "are on one line, like those of Python, if they are an object on lines with the end %j",
    (end) => {
      const args = toArguments(Value.parse(Buffer.from(indented.replaceAll("\n", end))));
      expect(JSON.parse(rawOf(args))).toBe('{"a": 1, "b": [2, "x\\r\\n  y, z"], "c": {}}');
    },
  );

  it.each([
    ['"{\\r\\n}"', "{\r\n}"],
    ['{"a":1}', '{"a":1}'],
    ["[1, 2]", "[1, 2]"],
  ])("stay as they are if they are a text or on one line (row %$)", (json, text) => {
    expect(JSON.parse(rawOf(toArguments(Value.parse(Buffer.from(json)))))).toBe(text);
  });
});
