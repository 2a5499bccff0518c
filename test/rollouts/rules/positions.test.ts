import fc from "fast-check";
import { expect, it } from "vitest";
import { locateOffset } from "../../../src/json/json-bytes.ts";
import { PositionCounter, shortenName, toFileLine, toFilePath } from "../../../src/rollouts/rules/positions.ts";
import { itHolds } from "../../support/property.ts";

const characters = fc.array(fc.constantFrom("a", "é", "😀", "\n", "b", "\r\n"), { maxLength: 40 });
/** Moves the mark, skips bytes of a line, or locates a later byte, by a number of characters. */
const steps = fc.array(fc.tuple(fc.constantFrom("mark", "skip", "locate"), fc.nat(12)), { maxLength: 12 });

itHolds(
  "a counter has the line and column of each byte after its mark",
  fc.property(characters, steps, fc.boolean(), (text, list, hasBefore) => {
    const bytes = Buffer.from(text.join(""));
    const offsets = text.map((_, at) => Buffer.byteLength(text.slice(0, at).join("")));
    const before = hasBefore ? { unitsBefore: () => 7 } : {};
    const counter = new PositionCounter({ bytes, start: 100, line: 5, ...before });
    let marked = 0;
    for (const [step, count] of list) {
      const next = Math.min(offsets.length, marked + count);
      const at = offsets[next] ?? bytes.length;
      const { line, column } = locateOffset(bytes, at);
      if (step === "mark") expect(counter.mark(at)).toBe(line + 4);
      else if (step === "locate") {
        const units = line === 1 && hasBefore ? 7 : 0;
        expect(counter.locate(at)).toEqual({ line: line + 4, column: column + units, offset: 100 + at });
      } else if (text.slice(marked, next).join("").includes("\n")) continue;
      else counter.skip(offsets[marked] ?? bytes.length, at);
      if (step !== "locate") marked = next;
    }
  }),
  { quick: 100, slow: 5000 },
);

it.each([
  ["", '""'],
  [" \t", '" \\t"'],
  ["x".repeat(60), "x".repeat(60)],
  ["x".repeat(61), `${"x".repeat(59)}…`],
])("a name of %j is shown as %j", (name, shown) => {
  expect(shortenName(name)).toBe(shown);
});

it("a position has the name of a file, of standard input, or of the input, and the path of a record", () => {
  const positions = [{ file: "a", line: 2 }, { file: "-" }, { line: 3 }];
  expect(positions.map(toFileLine)).toEqual(["a:2", "standard input:1", "the input:3"]);
  expect([toFilePath("a"), toFilePath("a", []), toFilePath("a", ["b", 0])]).toEqual(["a", "a", "a#b.0"]);
});
