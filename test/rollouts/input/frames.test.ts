import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { JsonReader, nodeSize } from "../../../src/json/reader.ts";
import { endOf, nodeAfter, startOf } from "../../../src/json/table.ts";
import { blockBytes, readBlocks, readElements, readFrames } from "../../../src/rollouts/input/frames.ts";
import { openMemoryBytes } from "../../../src/rollouts/input/source.ts";

/** Reads the text after an array's bracket in pieces of these lengths. A piece without the end of an element grows. */
const readInPieces = (text: string, { lengths, isTolerant }: { lengths: readonly number[]; isTolerant: boolean }) => {
  const reader = new JsonReader();
  const bytes = Buffer.from(text);
  const elements: string[] = [];
  reader.beginElements();
  for (let [base, length, piece] = [0, 0, 0]; ; piece++) {
    length = Math.min(bytes.length - base, length + (lengths[piece % lengths.length] ?? 1));
    const own = bytes.subarray(base, base + length);
    const read = reader.readElements(own, { isLast: base + length === bytes.length, isTolerant });
    const table = reader.viewTable();
    for (let root = 0; root < table.words.length; root = nodeAfter(table, root)) {
      const end = endOf(table, root) || endOf(table, root + nodeSize);
      elements.push(own.toString("utf8", startOf(table, root), end));
    }
    const { fault, isEnd } = read;
    const at = base + read.restAt;
    if (isEnd || fault !== undefined) return { elements, isEnd, at, fault: fault && { ...fault, at: base + fault.at } };
    base = at;
    length -= read.restAt;
  }
};

const pieces = fc.array(fc.integer({ min: 1, max: 90 }), { minLength: 1, maxLength: 5 });

describe("the elements of an array", () => {
  it("do not depend on the length of pieces", () => {
    fc.assert(
      fc.property(
        fc.array(fc.jsonValue()),
        fc.constantFrom(0, 1),
        pieces,
        fc.boolean(),
        (values, indent, lengths, isTolerant) => {
          const text = JSON.stringify(values, null, indent);
          const { elements, isEnd, at } = readInPieces(`${text.slice(1)} more`, { lengths, isTolerant });
          expect(elements.map((element) => JSON.parse(element))).toEqual(JSON.parse(text));
          expect([isEnd, at]).toEqual([true, Buffer.byteLength(text) - 2]);
        },
      ),
    );
  });

  it.each([
    ["{'a': 1}, 2]", ["{'a': 1}", "2"]],
    ['1, {"a": NaN, "b": ["]"]} , 2]', ["1", '{"a": NaN, "b": ["]"]} ', "2"]],
    ['1 2, [3 "],"], "\\x, "]', ["1 2", '[3 "],"]', '"\\x, "']],
    ['{"a": 1]}, 2]', ['{"a": 1]}', "2"]],
  ])("include invalid elements if isTolerant is set (row %$)", (text, elements) => {
    for (const length of [1, 2, 100]) {
      expect(readInPieces(text, { lengths: [length], isTolerant: true })).toMatchObject({ elements, isEnd: true });
    }
    expect(readInPieces(text, { lengths: [5], isTolerant: false }).isEnd).toBe(false);
  });

  it.each([
    ["is cut off", '1, {"a": "]', ["1"], 3, "end"],
    ["lacks an element", "1,, 2]", ["1"], 2, "comma"],
    ["lacks its last element", "1,]", ["1"], 2, "comma"],
  ])("end with a fault if the array %s", (_, text, elements, at, fault) => {
    for (const [length, isTolerant] of [1, 2, 100].flatMap((own) => [[own, true] as const, [own, false] as const])) {
      const found = readInPieces(text, { lengths: [length], isTolerant });
      expect(found).toMatchObject({ elements, isEnd: false, at, fault: { fault } });
    }
  });

  it("have the lines on which they begin", async () => {
    const text = `[1,\n2, "${"é".repeat(2 ** 20)}",\r\n\n{"a":\n3}, 4\n]`;
    const source = openMemoryBytes(Buffer.from(text));
    const found: unknown[] = [];
    const range = { start: 1, end: source.size, line: 1 };
    for await (const { table, positions } of readElements(source, range, {
      reader: new JsonReader(),
      isTolerant: false,
    })) {
      for (let root = 0; root < table.words.length; root = nodeAfter(table, root)) {
        const start = startOf(table, root);
        positions.mark(start);
        const { line, column } = positions.locate(start);
        found.push([line, column]);
      }
    }
    expect(found).toEqual([
      [1, 2],
      [2, 1],
      [2, 4],
      [4, 1],
      [5, 5],
    ]);
  });
});

const lengthsOfLines = (text: string): readonly number[] =>
  text
    .replace(/\n$/, "")
    .split("\n")
    .map(({ length }) => length);

describe("the blocks of a source", () => {
  it("contain complete lines, or the range of a line that is longer than a block", async () => {
    const long = "x".repeat(3 * 2 ** 20);
    const source = openMemoryBytes(Buffer.from(`a\nb\n${long}\nc`));
    const found: unknown[] = [];
    for await (const block of readBlocks(source, { start: 2, end: source.size })) {
      found.push(block.kind === "lines" ? block.bytes.toString() : [block.start, block.end, block.isLast]);
    }
    expect(found).toEqual(["b\n", [4, 4 + long.length, false], "c"]);
  });

  it.each([1, 2, 4].flatMap((blocks) => [-1, 0, 1].map((more) => blocks * blockBytes + more)))(
    "contain each line if a long one ends at byte %d, next to the end of a read",
    async (end) => {
      for (const before of ["", "b\n"]) {
        for (const after of ["", "\n", "\nc\n\nd"]) {
          const text = `${before}${"x".repeat(end - before.length)}${after}`;
          const found: unknown[] = [];
          for await (const block of readBlocks(openMemoryBytes(Buffer.from(text)), { start: 0, end: text.length })) {
            if (block.kind === "lines") found.push(...lengthsOfLines(block.bytes.toString("latin1")));
            else found.push(block.end - block.start);
            expect(block.isLast).toBe(found.length === lengthsOfLines(text).length);
          }
          expect(found).toEqual(lengthsOfLines(text));
        }
      }
    },
  );
});

describe("the frames of a source", () => {
  it.each([
    ["lines", '{"a":1}\n{"b":2}\n'],
    ["lines", '\n \n[1]\n{"b":2}'],
    ["document", '{\n"a":1}'],
    ["document", '\n\n  [{"a":1},\n{"a":2}]\n'],
    ["document", '{"a":[1,\n2]'],
    ["document", '{"a":{\n'],
    ["document", `{"a":"${"x".repeat(80)}","b":[\n`],
    ["document", `[${" ".repeat(80)}[\n[1]]`],
    ["lines", '{"a":1\n{"b":2}\n'],
    ["lines", '{"a":"x\n{"b":2}\n'],
    ["lines", '{"a":1'],
    ["lines", '[{"a":1}\n\n'],
    ["lines", "[[1]\n[2]\n"],
    ["lines", "[1,[2]\n3\n4]"],
    ["document", '"a":1,\n"b":[2]}'],
    ["document", '"a":1,\n"b":[2'],
    ["lines", '"a":1,\nb'],
    ["lines", '"a" 1\n"b"'],
    ["lines", "2\n3\n"],
  ])("are %s: %j", async (kind, text) => {
    const source = openMemoryBytes(Buffer.from(`\n${text}`));
    const frames: unknown[] = [];
    for await (const { kind, isLast, start, ...frame } of readFrames(source, { start: 1 }))
      frames.push([kind, isLast, start, "end" in frame ? frame.end : start + frame.bytes.length]);
    expect(frames).toEqual([[kind, true, 1, source.size]]);
  });
});
