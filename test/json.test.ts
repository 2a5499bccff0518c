import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { breakOf, elements, endOfValue, members, skipWhite, textOf } from "../src/json/walk.ts";

const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text);

describe("places in JSON bytes", () => {
  it("gives every element of an array and every member of an object, whatever they hold", () => {
    fc.assert(
      fc.property(fc.array(fc.jsonValue()), fc.constantFrom(0, 1, 2), (values, indent) => {
        const bytes = bytesOf(` ${JSON.stringify(values, null, indent)} `);
        const found = Array.from(elements(bytes, skipWhite(bytes, 0)), (span) => JSON.parse(textOf(bytes, span)));
        expect(found).toEqual(JSON.parse(JSON.stringify(values)));
      }),
    );
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue()), fc.constantFrom(0, 1), (value, indent) => {
        const text = JSON.stringify(value, null, indent);
        const bytes = bytesOf(text);
        const found = Array.from(members(bytes, 0), ({ key, value: span }) => [key, JSON.parse(textOf(bytes, span))]);
        expect(found).toEqual(Object.entries(JSON.parse(text)));
        expect(endOfValue(bytes, 0)).toBe(bytes.length);
      }),
    );
  });

  it("keeps the spelling of numbers, a key that stands twice, and escapes at the end of a string", () => {
    const bytes = bytesOf('{"a":1e400,"a":9007199254740993,"b\\\\":"\\\\\\"]}","c":[]}');
    expect(Array.from(members(bytes, 0), ({ key, value }) => `${key}=${textOf(bytes, value)}`)).toEqual([
      "a=1e400",
      "a=9007199254740993",
      'b\\="\\\\\\"]}"',
      "c=[]",
    ]);
  });
});

describe("where a text stops being JSON", () => {
  it("is nowhere in JSON, and somewhere in every text that JSON.parse refuses", () => {
    const isJson = (text: string): boolean => {
      try {
        JSON.parse(text);
        return true;
      } catch {
        return false;
      }
    };
    const mutated = fc
      .tuple(
        fc.json({ maxDepth: 4 }),
        fc.nat(),
        fc.constantFrom("", '"', ",", "]", "}", "{", "[", "\\", "0", "-", ".", "e", "x", "\n"),
      )
      .map(([text, at, put]) => text.slice(0, at % (text.length + 1)) + put + text.slice((at % (text.length + 1)) + 1));
    fc.assert(
      fc.property(fc.oneof(mutated, fc.json(), fc.string()), (text) => {
        const at = breakOf(text);
        expect(at === undefined).toBe(isJson(text));
        if (at !== undefined) expect(at).toBeLessThanOrEqual(text.length);
      }),
      { numRuns: 2000 },
    );
  });

  it.each([
    ['{"a":1,}', 7],
    ['{"a" 1}', 5],
    ["{a:1}", 1],
    ["[1 2]", 3],
    ["[1,2", 4],
    ['{"a":"b\nc"}', 7],
    ['["\\x"]', 2],
    ["[NaN]", 1],
    ["[01]", 1],
    ["{} {}", 3],
    ["", 0],
  ])("of %j is at %i", (text, at) => {
    expect(breakOf(text)).toBe(at);
  });
});
