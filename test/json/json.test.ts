import { crc32 } from "node:zlib";
import fc from "fast-check";
import { describe, expect, it, vi } from "vitest";
import { locateOffset, parseJson, replaceLineEnds, skipWhite, walkItems } from "../../src/json/json-bytes.ts";
import * as raw from "../../src/json/raw-json.ts";
import { compileJsonPattern, formatIndented, formatInline, tryParseRawJson } from "../../src/json/raw-json.ts";
import { findFault, JsonReader, nodeSize, readTable } from "../../src/json/reader.ts";
import * as table from "../../src/json/table.ts";
import {
  endOf,
  expandNumbers,
  findMemberNode,
  type JsonTable,
  nodeAfter,
  readString,
  startOf,
} from "../../src/json/table.ts";
import { Breaks } from "../../src/system/breaks.ts";
import { itHolds } from "../support/property.ts";

const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text);

describe("closeTruncated", () => {
  itHolds(
    "gives JSON with the first members of an object that is cut off anywhere",
    fc.property(fc.dictionary(fc.string(), fc.jsonValue()), fc.constantFrom(0, 1), fc.nat(), (value, indent, cut) => {
      const text = JSON.stringify(value, null, indent);
      const members = Object.entries(JSON.parse(text));
      for (const depth of [1, 4]) {
        const closed = table.closeTruncated(bytesOf(text.slice(0, cut % text.length)), depth);
        const found = closed === undefined ? [] : Object.entries(JSON.parse(closed.toString()));
        const complete = depth === 1 ? found.length : Math.max(0, found.length - 1);
        expect(found.slice(0, complete)).toEqual(members.slice(0, complete));
      }
    }),
    { quick: 10, slow: 80 },
  );

  it.each([
    ['{"a":[1,{"b":"x"},{"c', 1, undefined],
    ['{"a":[1,{"b":"x"},{"c', 2, '{"a":[1,{"b":"x"}]}'],
    ['{"a":[1,{"b":"x","c', 3, '{"a":[1,{"b":"x"}]}'],
    ['{"a":1,"b":"\\\\","c":{"d":2},"e":[3', 1, '{"a":1,"b":"\\\\","c":{"d":2}}'],
    ['{"a":1', 1, undefined],
    ["[1,2", 1, undefined],
  ])("closes a text after its last complete value at a depth (row %$)", (text, depth, closed) => {
    expect(table.closeTruncated(bytesOf(text), depth)?.toString()).toBe(closed);
  });
});

describe("findAt", () => {
  it("finds the last value of a repeated key at a path", () => {
    const root = table.readRoot(bytesOf(' {"a":[1,{"b":2,"\\u0062":3}],"a":[0,{"b":4,"b":5}]} '));
    const found = table.findAt(root, ["a", 1, "b"]);
    expect(found && table.parseValue(found)).toBe(5);
    for (const path of [["b"], ["a", 2], ["a", "b"], ["a", 0, "b"]]) expect(table.findAt(root, path)).toBeUndefined();
  });
});

describe("readNumber", () => {
  const spellings = "0 -0 7 -12.5 0.1 -0.001 123456789012345 12345678901234567890 -1.25e-7 1E3 1e400 -1e400 4.35";
  const middles =
    "9007199254740993 9007199254740992.9999 9007199254740993.00001 -36028797018963970 0.000000000000000000001";
  const readRoot = (json: string) => {
    const root = table.readRoot(bytesOf(` ${json} `));
    return root && table.readNumber(root.table, root.node);
  };
  it.each([...spellings.split(" "), ...middles.split(" ")])("reads %s like JSON.parse", (json) => {
    expect(readRoot(json)).toBe(JSON.parse(json));
  });

  const double = fc.double({ noNaN: true, noDefaultInfinity: true, min: -1e18, max: 1e18 });
  const spelled = fc.tuple(double, fc.integer({ min: 1, max: 22 }), fc.boolean());
  itHolds(
    "reads up to 22 digits like JSON.parse",
    fc.property(spelled, ([value, digits, isFixed]) => {
      const json = isFixed ? value.toFixed(digits) : value.toPrecision(digits).replace("e+", "e");
      expect(readRoot(json)).toBe(JSON.parse(json));
    }),
    { quick: 500, slow: 20_000 },
  );
});

describe("findInnermost", () => {
  const json = '{"é":1,"list":[0,[true],{"b":"x"}]}';
  it.each([
    ["1", ["é"]],
    ['"list"', []],
    ["0", ["list", 0]],
    [",[", ["list"]],
    ["true", ["list", 1, 0]],
    ['{"b"', ["list", 2]],
    ['"x"', ["list", 2, "b"]],
  ])("gives the path of the value at %s", (text, path) => {
    const root = table.readRoot(bytesOf(json));
    const byte = Buffer.from(json).indexOf(text);
    expect(root && table.findInnermost(root.table, { from: 0, byte }).path).toEqual(path);
  });
});

it("findInnermost does not begin again in a list in which it has found an element", () => {
  const root = table.readRoot(bytesOf(`[${"{},".repeat(999)}{}]`));
  let reads = 0;
  const get = (words: Int32Array, key: string): unknown => {
    reads++;
    return Reflect.get(words, key);
  };
  const watched = root && { ...root.table, words: new Proxy(root.table.words, { get }) };
  const found: table.FoundChildren = new Map();
  for (let at = 0; watched && at < 1000; at++)
    expect(table.findInnermost(watched, { from: 0, byte: 3 * at + 1, found }).path).toEqual([at]);
  expect(reads).toBeLessThan(20_000);
});

describe("expandLeaf", () => {
  it.each(['{"b":[1,{"c":2}]}', '[{"b":1}]', "[1,2]", "{}", "[]", '"text"', "12.5", "[true]"])(
    "reads the content of %s, which the reader skipped",
    (json) => {
      const root = table.openRootReader(["leaf"])(bytesOf(`{"a":[0,1],"leaf":${json},"z":3}`));
      const leaf = table.memberAt(root, "leaf");
      const whole = leaf && table.expandLeaf(leaf);
      const children = whole
        ? Array.from(table.childrenOf(whole), ([key, value]) => [key, table.parseValue(value)])
        : [];
      const value = JSON.parse(json);
      const expected = Object.entries(typeof value === "object" ? value : {});
      expect(Object.fromEntries(children)).toEqual(Object.fromEntries(expected));
    },
  );
});

it("replaces each newline with a space, and keeps all other bytes", () => {
  expect(String(replaceLineEnds(Buffer.from('\n[1,\n\n\r\n"\v"]\n')))).toBe(' [1,  \r "\v"] ');
});

it.each([
  ['[1, "a,]b" ,[2,{"c":3}],{"d":[4]} ]', ["1", '"a,]b"', '[2,{"c":3}]', '{"d":[4]}']],
  [" [ ]", []],
  ["[[],[]]x", ["[]", "[]"]],
  ["[1,", ["1"]],
])("the items of %s are spans without white space", (text, items) => {
  const [bytes, start] = [bytesOf(text), text.indexOf("[")];
  expect(Array.from(walkItems(bytes, start), (item) => text.slice(item.start, item.end))).toEqual(items);
});

describe("locateOffset", () => {
  it("counts lines and columns from 1, and columns in UTF-16 units", () => {
    const bytes = bytesOf('{\n "😀": x');
    expect(locateOffset(bytes, bytes.indexOf("x".charCodeAt(0)))).toEqual({ line: 2, column: 8 });
    expect(locateOffset(bytes, 0)).toEqual({ line: 1, column: 1 });
  });

  it("counts a line end as the last character of its line", () => {
    expect(locateOffset(bytesOf("{\n}"), 1)).toEqual({ line: 1, column: 2 });
  });
});

/** JSON with a changed, deleted or inserted character. */
const mutated = fc
  .tuple(
    fc.json({ maxDepth: 4 }),
    fc.nat(),
    fc.constantFrom("", '"', ",", "]", "}", "{", "[", "\\", "0", "-", ".", "e", "x", "\n", "\\u00e", "\t", "true"),
  )
  .map(([text, at, put]) => text.slice(0, at % (text.length + 1)) + put + text.slice((at % (text.length + 1)) + 1));

const tabled = (table: string): JsonTable | undefined => readTable(Buffer.from(table));

const nodeCount = (table: JsonTable | undefined): number | undefined => table && nodeAfter(table, 0) / nodeSize;

const valueAt = (table: JsonTable, node: number): unknown => {
  const [start, end, after] = [startOf(table, node), endOf(table, node), nodeAfter(table, node)];
  const opening = table.bytes[start];
  if (opening !== 0x7b && opening !== 0x5b) return JSON.parse(table.bytes.toString("utf8", start, end));
  if (opening === 0x5b && after === node + nodeSize) return numbersAt(table, node);
  const members: [string, unknown][] = [];
  const items: unknown[] = [];
  for (let at = node + nodeSize; at < after; ) {
    const value = opening === 0x7b ? at + nodeSize : at;
    if (opening === 0x7b) members.push([readString(table, at), valueAt(table, value)]);
    else items.push(valueAt(table, value));
    at = nodeAfter(table, value);
  }
  return opening === 0x7b ? Object.fromEntries(members) : items;
};

const numbersAt = (table: JsonTable, node: number): readonly unknown[] => {
  const own = expandNumbers(table, node);
  return Array.from({ length: own.words.length / nodeSize - 1 }, (_, at) => valueAt(own, (at + 1) * nodeSize));
};

/** JSON with arrays of numbers, which are one node. */
const documents = fc
  .tuple(
    fc.jsonValue({ maxDepth: 4 }),
    fc.array(fc.oneof(fc.integer(), fc.double({ noNaN: true, noDefaultInfinity: true })), { maxLength: 40 }),
    fc.constantFrom(0, 1, 2),
  )
  .map(([value, numbers, indent]) =>
    JSON.stringify({ value, numbers, more: [numbers, [...numbers, value]] }, null, indent),
  );

describe("readTable", () => {
  itHolds(
    "reads exactly the texts that JSON.parse accepts, with the same values",
    fc.property(fc.oneof(mutated, documents, fc.json({ stringUnit: "grapheme" }), fc.string()), (json) => {
      const text = tabled(json);
      const parsed = parseJson(new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytesOf(json)));
      expect(text === undefined).toBe(parsed === undefined);
      if (text !== undefined) expect(valueAt(text, 0)).toEqual(parsed?.value);
    }),
    { quick: 40 },
  );

  itHolds(
    "has a root for each line of a block, with the fault of a line that is not JSON",
    fc.property(
      fc.array(fc.oneof(mutated, fc.json(), documents, fc.constantFrom("", " ", "\t\r"))),
      fc.boolean(),
      (texts, hasEnd) => {
        const block = texts.map((text) => text.replaceAll("\n", " ")).join("\n") + (hasEnd ? "\n" : "");
        const bytes = Buffer.from(block);
        const reader = new JsonReader();
        reader.readLines(bytes);
        const own = reader.viewTable();
        let node = 0;
        for (let from = 0; from < bytes.length; ) {
          const end = bytes.indexOf("\n", from) < 0 ? bytes.length : bytes.indexOf("\n", from);
          const line = Buffer.from(bytes.toString("utf8", from, end).replace(/[ \t\r]+$/, ""));
          const start = skipWhite(bytes, from);
          if (start < end) {
            const fault = findFault(line);
            expect(startOf(own, node)).toBe(start);
            if (fault === undefined) expect(valueAt(own, node)).toEqual(JSON.parse(line.toString()));
            else {
              const found = reader.faultOf(own, node);
              expect({ ...found, at: found.at - from }).toEqual(fault);
              expect(endOf(own, node)).toBe(0);
            }
            node = nodeAfter(own, node);
          }
          from = end + 1;
        }
        expect(node).toBe(own.words.length);
      },
    ),
    { quick: 15, slow: 120 },
  );

  itHolds(
    "finds the last value of a key",
    fc.property(
      fc.array(
        fc.tuple(fc.oneof(fc.constantFrom("role", "content", "tool_calls", "é", 'a"b', ""), fc.string()), fc.nat()),
      ),
      fc.boolean(),
      (members, isEscaped) => {
        const keyText = (key: string) =>
          isEscaped && key.length > 0
            ? `"\\u${key.charCodeAt(0).toString(16).padStart(4, "0")}${JSON.stringify(key.slice(1)).slice(1)}`
            : JSON.stringify(key);
        const text = tabled(`{${members.map(([key, value]) => `${keyText(key)}: ${value}`).join(",")}}`);
        for (const [key] of [...members, ["missing"] as const]) {
          const expected = members.findLast(([name]) => name === key)?.[1];
          const node = text && findMemberNode(text, 0, key);
          expect(node === undefined ? undefined : text && valueAt(text, node)).toBe(expected);
        }
      },
    ),
    { quick: 15, slow: 120 },
  );

  itHolds(
    "has the number of code points of a string, whether characters are escaped or not",
    fc.property(fc.string({ unit: "binary" }), fc.infiniteStream(fc.boolean()), (text, areEscaped) => {
      const toEscape = (unit: string) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`;
      const json = Array.from(text, (character) =>
        areEscaped.next().value ? character.split("").map(toEscape).join("") : JSON.stringify(character).slice(1, -1),
      );
      const read = tabled(`"${json.join("")}"`);
      expect(read && table.detailOf(read, 0)).toBe([...text].length);
    }),
    { quick: 40 },
  );

  it("has one node for an array of numbers", () => {
    const numbers = JSON.stringify(Array.from({ length: 10_000 }, (_, at) => at / 8));
    expect(nodeCount(readTable(bytesOf(`{"token_ids": ${numbers}}`)))).toBe(3);
    expect(nodeCount(readTable(bytesOf(`[${numbers}, [1, null]]`)))).toBe(5);
  });

  it.each(["{}]", '{"role":', "{}]]"])(
    "reads a long text in passes, with the same nodes or fault (end %j)",
    async (end) => {
      const item =
        '{"role":"user","parameters":{"a":[{"b":null}]},"content":[{"é":"\\n"},[1,2],[[],true]],"other":{"c":1}},';
      const bytes = bytesOf(`[${item.repeat(60_000)}${end}`);
      const [whole, passes] = [0, 1].map(
        () => new JsonReader({ leafKeys: ["parameters"], shapeTexts: { role: ["user"] } }),
      );
      const breaks = new Breaks();
      const taken = vi.spyOn(breaks, "take");
      const isJson = await passes?.readLong(bytes, breaks);
      expect(isJson).toBe(whole?.read(bytes, { skipsLeaves: true }));
      expect(taken.mock.calls.length).toBeGreaterThan(2);
      const resultOf = (reader?: JsonReader) => {
        const words = reader?.copyTable(bytes).words ?? new Int32Array();
        return isJson ? crc32(new Uint8Array(words.buffer, words.byteOffset, words.byteLength)) : reader?.fault();
      };
      expect(resultOf(passes)).toEqual(resultOf(whole));
    },
  );

  it.each([
    ['{"list":[{"list":[1,{}]},null,"a, b"],"other":[{},{}]}', 3],
    ['{"other":{"list":[{},{}]},"list":[ [ 1, 2 ] ]}', 1],
    ['{"list":[{},{}],"more":[ ],"other":[[],0]}', 2],
    ['{"list":[{}],"more":[[],0]}', 3],
    ['{"list":{"a":[{},{}]}}', 0],
    ['{"list":[{},{}],"list":[ ]}', 0],
    ['{"list":[{},{}],"more":[{}],"list":null}', 1],
    ['{"l\\u0069st":[{},{}],"more":[{}]}', 3],
  ])("counts the elements of counted lists in the leaf %s: %i", (leaf, count) => {
    const countedKeys = ["list", "more"];
    const reader = new JsonReader({ leafKeys: ["leaf"], countedKeys });
    reader.read(bytesOf(`{"leaf":{"list":[{}]},"leaf":${leaf}}`), { skipsLeaves: true });
    const read = reader.viewTable();
    expect(table.countListed(read, table.findMemberNode(read, 0, "leaf") ?? 0, countedKeys)).toBe(count);
  });

  it("reads repeated strings like others", () => {
    const texts = ["a", "a", "a\\n", "a\n", "a\\n", "é", "é", "Ã©", "\\u0061", "a", ""];
    const read = tabled(JSON.stringify(texts));
    const readRepeated = table.openRepeatReader();
    expect(
      read && Array.from(table.childrenOf({ table: read, node: 0 }), ([, { node }]) => readRepeated(read, node)),
    ).toEqual(texts);
  });

  it("has no limit of depth", () => {
    const deep = `${'[{"a":'.repeat(50_000)}1${"}]".repeat(50_000)}`;
    expect(nodeCount(readTable(bytesOf(deep)))).toBe(3 * 50_000 + 1);
    expect(findFault(bytesOf(deep))).toBeUndefined();
    expect(findFault(bytesOf(`${deep}]`))).toEqual({ at: deep.length, fault: "more" });
  });

  it("keeps earlier tables when it outgrows the memory", () => {
    const small = tabled('{"a":[1]}');
    const json = JSON.stringify(Array.from({ length: 20_000 }, (_, at) => ({ at })));
    const large = tabled(json);
    expect(nodeCount(readTable(bytesOf(json)))).toBe(1 + 20_000 * 3);
    expect(large && valueAt(large, 0)).toEqual(JSON.parse(json));
    expect(small && valueAt(small, 0)).toEqual({ a: [1] });
  });
});

describe("an array of numbers", () => {
  it.each(["[%1,%0]", "[1%,0%]", "[%1%,%0%]", '{"a":%[%1%,%0%]%}', "[[%1%,%0%]%,%2]"])(
    "has the same numbers with white space in each position of %s",
    (text) => {
      for (const white of [" ", "\t", "\n", "\r", "\r\n", " \n\t "]) {
        const spaced = text.replaceAll("%", white);
        const read = tabled(spaced);
        expect(read && [spaced, valueAt(read, 0)]).toEqual([spaced, JSON.parse(text.replaceAll("%", ""))]);
      }
    },
  );
});

describe("findFault", () => {
  itHolds(
    "finds a fault in exactly the texts that JSON.parse refuses",
    fc.property(fc.oneof(mutated, fc.json(), fc.string()), (text) => {
      const bytes = bytesOf(text);
      const fault = findFault(bytes);
      expect(fault === undefined).toBe(
        parseJson(new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes)) !== undefined,
      );
      if (fault !== undefined) expect(fault.at).toBeLessThanOrEqual(bytes.length);
    }),
    { quick: 40 },
  );

  const list = fc.array(fc.oneof(mutated, fc.json()), { minLength: 1 }).map((texts) => texts.join(","));
  itHolds(
    "finds the same position in an array that is read in pieces",
    fc.property(list, fc.array(fc.nat(300), { maxLength: 20 }), (text, sizes) => {
      const bytes = bytesOf(`[${text}`);
      const reader = new JsonReader();
      reader.beginElements();
      let [base, end] = [1, 1];
      for (const size of [...sizes, bytes.length]) {
        end = Math.min(bytes.length, end + size);
        const own = { isLast: end === bytes.length, isTolerant: false };
        const { restAt, isEnd, fault } = reader.readElements(bytes.subarray(base, end), own);
        if (isEnd) break;
        if (fault === undefined) base += restAt;
        else {
          expect({ ...fault, at: base + fault.at }).toEqual(findFault(bytes));
          break;
        }
      }
    }),
    { quick: 40 },
  );

  it.each([
    ['{"a":1,}', { at: 7, fault: "comma" }],
    ['{"a" 1}', { at: 5, fault: "character" }],
    ["{a:1}", { at: 1, fault: "word" }],
    ["{'a':1}", { at: 1, fault: "single-quote" }],
    ["[1 2]", { at: 3, fault: "character" }],
    ["[1,2", { at: 4, fault: "end" }],
    ["[1, // one", { at: 4, fault: "comment" }],
    ['{"a":"b\nc"}', { at: 7, fault: "control" }],
    ['["\\x"]', { at: 2, fault: "escape" }],
    ['["b', { at: 3, fault: "end" }],
    ["[tru", { at: 4, fault: "end" }],
    ["[-NaN]", { at: 1, fault: "word" }],
    ["[01]", { at: 1, fault: "number" }],
    ["01", { at: 0, fault: "number" }],
    ["[1.", { at: 3, fault: "end" }],
    ["[1.e", { at: 1, fault: "number" }],
    ["[-", { at: 2, fault: "end" }],
    ["[1e+", { at: 4, fault: "end" }],
    ["[1, 2, x]", { at: 7, fault: "word" }],
    ['{"a":1 /', { at: 7, fault: "character" }],
    ['["\\u00', { at: 6, fault: "end" }],
    ["[1,]", { at: 3, fault: "comma" }],
    ['{"a":}', { at: 5, fault: "comma" }],
    ["[,1]", { at: 1, fault: "comma" }],
    ["[+1]", { at: 1, fault: "number" }],
    ["[.5]", { at: 1, fault: "number" }],
    ["[+x]", { at: 1, fault: "character" }],
    ["[_]", { at: 1, fault: "word" }],
    ["[/* a */ 1]", { at: 1, fault: "comment" }],
    ["[# a", { at: 1, fault: "comment" }],
    ["{} {}", { at: 3, fault: "more" }],
    ["{} # end", { at: 3, fault: "comment" }],
    ["", { at: 0, fault: "end" }],
  ])("gives the kind and position of each fault (row %$)", (text, fault) => {
    expect(findFault(bytesOf(text))).toEqual(fault);
  });
});

describe("raw JSON", () => {
  it("is undefined for a truncated text", () => {
    expect(tryParseRawJson('{"a":1')).toBeUndefined();
  });

  it("is searched in any spelling, also in a string that contains JSON, and in any case without capitals", () => {
    const spelled = ["é\\n", "\\u00e9\\n", "\\u00E9\\n", "é\\\\n", "\\\\u00e9\\\\n", "\\\\u00E9\\\\n"];
    const capitals = ["É\\n", "\\u00c9\\n", "\\\\u00C9\\\\n"];
    const isFound = (text: string) => (json: string) => compileJsonPattern(text).exec(json)?.[0] === json;
    expect([...spelled, ...capitals].filter(isFound("é\n"))).toEqual([...spelled, ...capitals]);
    expect([...spelled, ...capitals].filter(isFound("É\n"))).toEqual(capitals);
    expect(["AxB 🙂ß", "axb \\ud83d\\uDE42\\u00df"].filter(isFound("axb 🙂ß"))).toHaveLength(2);
    expect(isFound('"'.repeat(2000))('\\\\\\"'.repeat(2000))).toBe(true);
  });

  it.each([
    ["pandas", "</think> é", "<\\/think> \\u00e9"],
    ["Datasets, without force_ascii", "https://é", "https:\\/\\/é"],
    ["Go", "<a> & 'b'", "\\u003ca\\u003e \\u0026 'b'"],
    ["Gson", "a='b'>", "a\\u003d\\u0027b\\u0027\\u003e"],
    [".NET", 'it\'s "é" + \\', "it\\u0027s \\u0022\\u00E9\\u0022 \\u002B \\\\"],
    ["JavaScript, in JSON of pandas", '"</a>', '\\\\\\"<\\/a>'],
  ])("has the spelling of %s", (_, text, spelled) => {
    expect(compileJsonPattern(text).exec(spelled)?.[0]).toBe(spelled);
  });

  it.each([
    [null, "word", "null"],
    [true, "word", "true"],
    [2n ** 70n, "number", "1180591620717411303424"],
    [1.5, "number", "1.5"],
    ["a\n", "text", '"a\\n"'],
    [[1, [undefined, "x"]], "list", '[1,[null,"x"]]'],
    [
      { a: raw.parseRawJson(" [1.0, 2]"), b: undefined, c: () => 1, d: { e: null } },
      "object",
      '{"a":[1.0,2],"d":{"e":null}}',
    ],
  ])("of a value of the program has a kind, and JSON without white space (row %$)", (value, kind, json) => {
    const made = raw.toRawJson(value);
    expect([made.kind, made.json, raw.toRawJson(made)]).toEqual([kind, json, made]);
    const read = raw.parseRawJson(json);
    expect([
      made.text,
      made.items.length,
      made.members.map(({ key, value }) => [key, raw.toCompactJson(value)]),
    ]).toEqual([read.text, read.items.length, read.members.map(({ key, value }) => [key, value.json])]);
  });

  it("is undefined at null, at a missing member and for a value of another kind", () => {
    const value = raw.parseRawJson('\r\n{"a":null,\r"b":\t{"c":"x","c":"y"} ,"d":1e2\n}');
    expect(["a", "e"].map((key) => raw.findValue(value, key))).toEqual([undefined, undefined]);
    expect([raw.textAt(value, "b", "c"), raw.textAt(value, "d"), raw.digitsAt(value, "d")]).toEqual([
      "y",
      undefined,
      "1e2",
    ]);
    expect([raw.digitsAt(value, "b", "c"), raw.findValue(value, "a", "b")]).toEqual([undefined, undefined]);
  });

  it("has its deepest levels on one line, without white space", () => {
    const deep = (levels: number, inner: string) => `${"[".repeat(levels)}${inner}${"]".repeat(levels)}`;
    const lines = formatIndented(raw.parseRawJson(deep(raw.maxIndentedLevels, '{ "a": 1 }'))).split("\n");
    expect([lines.length, lines[raw.maxIndentedLevels]?.trim()]).toEqual([2 * raw.maxIndentedLevels + 1, '{"a":1}']);
    const value = { a: [{ b: [1, { c: " " }] }], d: raw.parseRawJson("[ 1.0 ]") };
    expect([...raw.formatJsonPieces(raw.toRawJson(value), "")].join("")).toBe('{"a":[{"b":[1,{"c":" "}]}],"d":[1.0]}');
    expect(formatInline(raw.toRawJson(value))).toBe('{"a": [{"b": [1, {"c": " "}]}], "d": [1.0]}');
  });

  it.each([
    ['\r\n{"a b" :\t[ 1 , "\\" x"] }\n', '{"a b":[1,"\\" x"]}'],
    ['["x"]', '["x"]'],
  ])("loses only white space outside of texts: %j", (json, compact) => {
    expect(raw.compactJson(json)).toBe(compact);
  });

  it("keeps its digits, its order and its repeated keys", () => {
    const read = tryParseRawJson('{"b":12345678901234567890,"1":1.0,"b":[1e2,{}],"c":[],"d":{"e":null}}');
    expect(read === undefined ? undefined : formatIndented(read)).toBe(
      '{\n  "b": 12345678901234567890,\n  "1": 1.0,\n  "b": [\n    1e2,\n    {}\n  ],\n  "c": [],\n  "d": {\n    "e": null\n  }\n}',
    );
  });

  itHolds(
    "is formatted like JSON.stringify, indented and on one line",
    fc.property(fc.object(), (value) => {
      const text = JSON.stringify(value, null, 2);
      const spelled = tryParseRawJson(text);
      expect(spelled === undefined ? undefined : formatIndented(spelled)).toBe(text);
      expect(spelled === undefined ? undefined : JSON.parse(formatInline(spelled))).toEqual(JSON.parse(text));
    }),
    { quick: 10, slow: 80 },
  );
});
