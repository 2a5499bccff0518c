import fc from "fast-check";
import { describe, expect, it, vi } from "vitest";
import { FaultFinder, faultIn, type SyntaxFault } from "../../src/json/fault.ts";
import { type Nodes, nodeSize, nodesOf } from "../../src/json/nodes.ts";
import { readSpelled } from "../../src/json/read-spelled.ts";
import { readSpelledText } from "../../src/json/read-spelled-text.ts";
import { inline, laidOut } from "../../src/json/spelled.ts";
import {
  elements,
  endOfValue,
  memberSpans,
  members,
  parsedJson,
  positionOf,
  skipWhite,
  spanAt,
  textOf,
  wholeOf,
} from "../../src/json/walk.ts";
import { itHolds } from "../support/property.ts";

const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text);

describe("the elements and members of JSON bytes", () => {
  itHolds(
    "contain every element of an array",
    fc.property(fc.array(fc.jsonValue()), fc.constantFrom(0, 1, 2), (values, indent) => {
      const bytes = bytesOf(` ${JSON.stringify(values, null, indent)} `);
      const found = Array.from(elements(bytes, skipWhite(bytes, 0)), (span) => JSON.parse(textOf(bytes, span)));
      expect(found).toEqual(JSON.parse(JSON.stringify(values)));
    }),
    { quick: 20, slow: 200 },
  );

  itHolds(
    "contain every member of an object",
    fc.property(fc.dictionary(fc.string(), fc.jsonValue()), fc.constantFrom(0, 1), (value, indent) => {
      const text = JSON.stringify(value, null, indent);
      const bytes = bytesOf(text);
      const found = Array.from(members(bytes, 0), ({ key, value: span }) => [key, JSON.parse(textOf(bytes, span))]);
      expect(found).toEqual(Object.entries(JSON.parse(text)));
      expect(endOfValue(bytes, 0)).toBe(bytes.length);
    }),
    { quick: 20, slow: 200 },
  );

  it("keep the spelling of numbers, repeated keys, and escapes at the end of a string", () => {
    const bytes = bytesOf('{"a":1e400,"a":9007199254740993,"b\\\\":"\\\\\\"]}","c":[]}');
    expect(Array.from(members(bytes, 0), ({ key, value }) => `${key}=${textOf(bytes, value)}`)).toEqual([
      "a=1e400",
      "a=9007199254740993",
      'b\\="\\\\\\"]}"',
      "c=[]",
    ]);
  });

  it("give the last value of a repeated key", () => {
    const bytes = bytesOf(' {"a":[1,{"b":2,"\\u0062":3}],"a":[0,{"b":4,"b":5}]} ');
    expect([...memberSpans(bytes, wholeOf(bytes)).keys()]).toEqual(["a"]);
    expect(textOf(bytes, spanAt(bytes, ["a", 1, "b"]) ?? { start: 0, end: 0 })).toBe("5");
    for (const path of [["b"], ["a", 2], ["a", "b"], ["a", 0, "b"]]) expect(spanAt(bytes, path)).toBeUndefined();
  });

  it.each([
    ["[1 2]", ["1"]],
    ["[1,2", ["1", "2"]],
    ["[1,,2]", ["1", "", "2"]],
    ['{"a":1 "b":2}', ["1"]],
    ['{"a":1,b:2}', ["1"]],
    ['{"a" 1}', []],
    ['{"\\x":1}', []],
    ['{"a', []],
  ])("end at the first wrong character of %s", (text, values) => {
    const bytes = bytesOf(text);
    const spans = text.startsWith("[") ? [...elements(bytes, 0)] : Array.from(members(bytes, 0), ({ value }) => value);
    expect(spans.map((span) => textOf(bytes, span))).toEqual(values);
  });
});

describe("a position in JSON bytes", () => {
  it("counts lines and columns from 1, and columns in UTF-16 units", () => {
    const bytes = bytesOf('{\n "😀": x');
    expect(positionOf(bytes, bytes.indexOf("x".charCodeAt(0)))).toEqual({ line: 2, column: 8 });
    expect(positionOf(bytes, 0)).toEqual({ line: 1, column: 1 });
  });
});

/** JSON with a character changed, taken away or put in. */
const mutated = fc
  .tuple(
    fc.json({ maxDepth: 4 }),
    fc.nat(),
    fc.constantFrom("", '"', ",", "]", "}", "{", "[", "\\", "0", "-", ".", "e", "x", "\n", "\\u00e", "\t", "true"),
  )
  .map(([text, at, put]) => text.slice(0, at % (text.length + 1)) + put + text.slice((at % (text.length + 1)) + 1));

/** `nodesOf` without WebAssembly. */
const nodesWithout = await (async () => {
  vi.stubGlobal("WebAssembly", undefined);
  vi.resetModules();
  const { nodesOf: without } = await import("../../src/json/nodes.ts");
  without(bytesOf("1"));
  vi.unstubAllGlobals();
  vi.resetModules();
  return without;
})();

describe("the nodes of JSON", () => {
  const tableOf = (nodes: Nodes | undefined) => nodes?.table.slice(nodes.base, nodes.base + nodes.length);

  itHolds(
    "have the same table without WebAssembly",
    fc.property(fc.oneof(mutated, fc.json(), fc.json({ stringUnit: "grapheme" })), fc.nat(2), (text, indent) => {
      const parsed = parsedJson(text);
      const bytes = bytesOf(parsed === undefined ? text : JSON.stringify(parsed.value, null, indent));
      expect(tableOf(nodesWithout(bytes))).toEqual(tableOf(nodesOf(bytes)));
    }),
    { quick: 100 },
  );

  /** The value of a node, built from the table. */
  const valueAt = (bytes: Uint8Array, nodes: Nodes, node: number): unknown => {
    const [start = 0, end = 0, after = 0] = nodes.table.subarray(nodes.base + node, nodes.base + node + nodeSize);
    const opening = bytes[start];
    if (opening !== 0x7b && opening !== 0x5b) return JSON.parse(textOf(bytes, { start, end }));
    const inside: unknown[] = [];
    for (let at = node + nodeSize; at < after; ) {
      inside.push(valueAt(bytes, nodes, at));
      const isKey = opening === 0x7b && inside.length % 2 === 1;
      at = isKey ? at + nodeSize : (nodes.table[nodes.base + at + 2] ?? after);
    }
    if (opening === 0x5b) return inside;
    return Object.fromEntries(inside.flatMap((key, at) => (at % 2 === 0 ? [[key, inside[at + 1]]] : [])));
  };

  itHolds(
    "exist for exactly the texts that JSON.parse takes, with the same value",
    fc.property(fc.oneof(mutated, fc.json(), fc.string()), (text) => {
      const bytes = bytesOf(text);
      const nodes = nodesOf(bytes);
      const parsed = parsedJson(new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes));
      expect(nodes === undefined).toBe(parsed === undefined);
      if (nodes !== undefined) expect(valueAt(bytes, nodes, 0)).toEqual(parsed?.value);
    }),
    { quick: 100 },
  );

  it.each([
    "[01]",
    "[-]",
    "[1.]",
    "[1e]",
    "[.5]",
    "[+1]",
    '["\\u12g4"]',
    '["\\x"]',
    '["\u0001"]',
    "[tru]",
    "[nul",
    '{"a":1,}',
    "[1,]",
    "{1:2}",
    "[1}",
    "]",
    "",
    "1 2",
  ])("do not exist for %j", (text) => {
    expect(nodesOf(bytesOf(text))).toBeUndefined();
  });

  it("outgrow the first table without a loss, and leave earlier nodes alone", () => {
    const small = bytesOf('{"a":[1]}');
    const before = nodesOf(small);
    const bytes = bytesOf(JSON.stringify(Array.from({ length: 20_000 }, (_, at) => ({ at }))));
    const nodes = nodesOf(bytes);
    expect(nodes?.length).toBe((1 + 20_000 * 3) * nodeSize);
    expect(nodes === undefined ? undefined : valueAt(bytes, nodes, 0)).toEqual(
      JSON.parse(new TextDecoder().decode(bytes)),
    );
    expect(before === undefined ? undefined : valueAt(small, before, 0)).toEqual({ a: [1] });
  });
});

describe("the first fault of a text", () => {
  itHolds(
    "exists in exactly the texts that JSON.parse refuses",
    fc.property(fc.oneof(mutated, fc.json(), fc.string()), (text) => {
      const bytes = bytesOf(text);
      const fault = faultIn(bytes);
      expect(fault === undefined).toBe(
        parsedJson(new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes)) !== undefined,
      );
      if (fault !== undefined) expect(fault.at).toBeLessThanOrEqual(bytes.length);
      if (fault !== undefined) expect(fault.token).toBeLessThanOrEqual(fault.at);
    }),
    { quick: 100 },
  );

  const long = fc.tuple(mutated, fc.nat(200)).map(([text, blanks]) => `${text}${" ".repeat(blanks)}`);
  itHolds(
    "has the same position if the text comes in pieces",
    fc.property(fc.oneof(long, fc.json()), fc.array(fc.nat(300), { maxLength: 20 }), (text, sizes) => {
      const bytes = bytesOf(text);
      const finder = new FaultFinder();
      let [base, end]: [number, number] = [0, 0];
      let found: SyntaxFault | number | undefined = 0;
      for (const size of [...sizes, bytes.length]) {
        end = Math.min(bytes.length, end + size);
        found = finder.pass(bytes.subarray(base, end), end === bytes.length);
        if (typeof found !== "number") break;
        base += found;
      }
      const fault =
        typeof found === "number" ? found : found && { ...found, at: base + found.at, token: base + found.token };
      expect(fault).toEqual(faultIn(bytes));
    }),
    { quick: 100 },
  );

  it.each([
    ['{"a":1,}', { at: 7, fault: "comma", token: 7 }],
    ['{"a" 1}', { at: 5, fault: "character", token: 5 }],
    ["{a:1}", { at: 1, fault: "word", token: 1 }],
    ["{'a':1}", { at: 1, fault: "single-quote", token: 1 }],
    ["[1 2]", { at: 3, fault: "character", token: 3 }],
    ["[1,2", { at: 4, fault: "end", token: 4 }],
    ["[1, // one", { at: 4, fault: "comment", token: 4 }],
    ['{"a":"b\nc"}', { at: 7, fault: "control", token: 5 }],
    ['["\\x"]', { at: 2, fault: "escape", token: 1 }],
    ['["b', { at: 3, fault: "end", token: 1 }],
    ["[tru", { at: 4, fault: "end", token: 1 }],
    ["[-NaN]", { at: 1, fault: "word", token: 1 }],
    ["[01]", { at: 1, fault: "number", token: 1 }],
    ["{} {}", { at: 3, fault: "more", token: 3 }],
    ["{} # end", { at: 3, fault: "comment", token: 3 }],
    ["", { at: 0, fault: "end", token: 0 }],
  ])("has a kind and a position in %j", (text, fault) => {
    expect(faultIn(bytesOf(text))).toEqual(fault);
  });
});

describe("JSON with its spelling", () => {
  itHolds(
    "reads the same from a text as from its bytes",
    fc.property(fc.jsonValue({ maxDepth: 60, depthSize: "large" }), fc.constantFrom(0, 1), (value, indent) => {
      const text = JSON.stringify(value, null, indent);
      expect(readSpelledText(text)).toEqual(readSpelled(bytesOf(text)));
    }),
    { quick: 20, slow: 200 },
  );

  it("reads the same from a text as from its bytes, 60 levels deep", () => {
    const deep = `${'[{"a\\"]": '.repeat(60)}"}]"${"}]".repeat(60)}`;
    expect(readSpelledText(deep)).toEqual(readSpelled(bytesOf(deep)));
  });

  it("requires a whole text", () => {
    expect(readSpelledText('{"a":1')).toBeUndefined();
  });

  it("prints with its digits, its order and its repeated keys", () => {
    const read = readSpelledText('{"b":12345678901234567890,"1":1.0,"b":[1e2,{}],"c":[],"d":{"e":null}}');
    expect(read === undefined ? undefined : laidOut(read)).toBe(
      '{\n  "b": 12345678901234567890,\n  "1": 1.0,\n  "b": [\n    1e2,\n    {}\n  ],\n  "c": [],\n  "d": {\n    "e": null\n  }\n}',
    );
  });

  itHolds(
    "prints as JSON.stringify does, on lines or on one line",
    fc.property(fc.object(), (value) => {
      const text = JSON.stringify(value, null, 2);
      const spelled = readSpelledText(text);
      expect(spelled === undefined ? undefined : laidOut(spelled)).toBe(text);
      expect(spelled === undefined ? undefined : JSON.parse(inline(spelled))).toEqual(JSON.parse(text));
    }),
    { quick: 20, slow: 200 },
  );
});
