import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { ListFrame } from "../../src/input/list.ts";

/** Scans the text after an array's bracket in pieces of these lengths. */
const scanned = (text: string, lengths: readonly number[]) => {
  const frame = new ListFrame(1);
  const bytes = Buffer.from(text);
  const elements: string[] = [];
  for (let [at, piece] = [0, 0]; at < bytes.length && frame.isOpen; piece++) {
    const length = lengths[piece % lengths.length] ?? 1;
    const ended = frame.scan(bytes.subarray(at, at + length), at);
    elements.push(...ended.map(({ start, end }) => bytes.toString("utf8", start, end)));
    at += length;
  }
  return { frame, elements };
};

const pieces = fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1, maxLength: 5 });

describe("the frame of an array", () => {
  it("finds the elements, however the array is cut into pieces", () => {
    fc.assert(
      fc.property(fc.array(fc.jsonValue()), fc.constantFrom(0, 1), pieces, (values, indent, lengths) => {
        const text = JSON.stringify(values, null, indent);
        const { frame, elements } = scanned(`${text.slice(1)} more`, lengths);
        expect(elements.map((element) => JSON.parse(element))).toEqual(JSON.parse(text));
        expect(frame.end).toBe(Buffer.byteLength(text) - 2);
        expect(frame.line).toBe(text.split("\n").length);
      }),
    );
  });

  it.each([
    ["is cut off", '1, {"a": "]', ["1"], 3],
    ["lacks an element", "1,, 2]", ["1"], undefined],
  ])("has no end if the array %s", (_, text, elements, begun) => {
    for (const length of [1, 2, 100]) {
      const { frame, elements: found } = scanned(text, [length]);
      expect([frame.end, found, frame.begun?.start]).toEqual([undefined, elements, begun]);
    }
  });
});
