/** The columns of the index: whatever width a block takes, the numbers are those that were put in. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Parts } from "../../src/trajectories/read/parts/columns.ts";
import { Digests } from "../../src/trajectories/read/parts/digests.ts";
import { groupParts } from "../../src/trajectories/read/parts/group.ts";
import { GroupKeys } from "../../src/trajectories/read/parts/group-keys.ts";
import { NarrowNumbers } from "../../src/trajectories/read/parts/narrow.ts";

const same = (from: readonly number[]): boolean => {
  const column = new NarrowNumbers();
  for (const value of from) column.push(value);
  const appended = new NarrowNumbers();
  appended.append(column.pack());
  return (
    column.length === from.length &&
    from.every((value, at) => Object.is(column.at(at), value) && Object.is(appended.at(at), value)) &&
    column.at(from.length) === 0 &&
    [0, 1, 4095, 4096, 5000].every((first) => isRead(column, from.slice(first), first))
  );
};

/** Whether a column gives numbers from a position on, all of them and fewer. */
const isRead = (column: NarrowNumbers, from: readonly number[], first: number): boolean =>
  [from.length, from.length >> 1].every((length) => {
    const into = new Float64Array(length);
    column.read(first, into);
    return into.every((value, at) => Object.is(value, from[at]));
  });

/** Runs of whole numbers that can be summed up. */
const lengths = fc.record({
  length: fc.integer({ min: 1, max: 6000 }),
  first: fc.constantFrom(0, 7, 4096, 2 ** 33),
  step: fc.constantFrom(0, 0, 3, 4096),
  noise: fc.constantFrom(0, 2, 2 ** 8, 2 ** 16, 2 ** 32),
});

/** Long runs that each block sees in another way: alike, rising, near a line, anything. */
const run = fc.record({
  length: fc.integer({ min: 1, max: 6000 }),
  first: fc.oneof(
    fc.double(),
    fc.integer(),
    fc.maxSafeInteger(),
    fc.constantFrom(0, -0, Number.NaN, 2 ** 51, -(2 ** 51)),
  ),
  step: fc.oneof(fc.constantFrom(0, 1, 4096, 0.5, -3), fc.integer(), fc.maxSafeInteger()),
  noise: fc.constantFrom(0, 2, 2 ** 8, 2 ** 16, 2 ** 32, 2 ** 40),
});

describe("a narrow column", () => {
  it("gives every number back as it was", () => {
    fc.assert(
      fc.property(fc.array(run, { maxLength: 4 }), (runs) => {
        const values = runs.flatMap(({ length, first, step, noise }) =>
          Array.from({ length }, (_, at) => first + step * at + ((at * 2654435761) % (noise + 1))),
        );
        expect(same(values)).toBe(true);
      }),
      { numRuns: 60 },
    );
  });

  it("sums up any part of itself", () => {
    fc.assert(
      fc.property(fc.array(lengths, { maxLength: 4 }), fc.nat(), fc.nat(), (runs, one, other) => {
        const values = runs.flatMap(({ length, first, step, noise }) =>
          Array.from({ length }, (_, at) => first + step * at + ((at * 2654435761) % (noise + 1))),
        );
        const column = new NarrowNumbers();
        column.pushMany(Float64Array.from(values));
        const [from, end] = [one, other].map((at) => at % (values.length + 1)).sort((a, b) => a - b);
        expect(column.sum(from ?? 0, end ?? 0)).toBe(values.slice(from, end).reduce((sum, value) => sum + value, 0));
      }),
      { numRuns: 60 },
    );
  });

  it("tells a zero from a negative one among whole numbers", () => {
    expect(same(Array.from({ length: 10_000 }, (_, at) => (at % 3 === 0 ? -0 : at % 7)))).toBe(true);
    expect(same(Array.from({ length: 10_000 }, () => -0))).toBe(true);
  });

  it("takes nothing for numbers that are alike, or that rise evenly", () => {
    const before = process.memoryUsage().arrayBuffers;
    const columns = Array.from({ length: 50 }, (_, step) => {
      const column = new NarrowNumbers();
      for (let at = 0; at < 2 ** 14; at++) column.push(7 + at * step);
      return column;
    });
    // As doubles they would be 6.5 MB; each has the block that was filled last.
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(50 * 2 ** 13 * 8);
    expect(columns.every((column, step) => column.at(2 ** 14 - 1) === 7 + (2 ** 14 - 1) * step)).toBe(true);
  });
});

const partOf = (at: number) =>
  ({
    source: 0,
    start: at * 100,
    length: 99,
    line: at + 1,
    checksum: at,
    kind: "group",
    valid: at % 5 !== 0,
    trajectories: 4,
    reward: 0,
    equal: false,
    version: Number.NaN,
  }) as const;

const digestOf = (at: number) => Uint8Array.from({ length: 32 }, (_, byte) => (at * 31 + byte) & 255);

describe("the index", () => {
  it("gives digests and stretches of them as they were added, over blocks and one by one", () => {
    const count = 2 ** 18 + 3000;
    const bytes = Uint8Array.from({ length: count * 16 }, (_, at) => (at * 31 + (at >>> 8)) & 255);
    const at = (position: number) => bytes.subarray(position * 16, (position + 1) * 16);
    const digests = Digests.of(bytes.subarray(0, 5 * 16));
    for (let position = 5; position < 3000; position++) digests.append(at(position));
    digests.append(bytes.subarray(3000 * 16));
    expect(digests.count).toBe(count);
    const positions = [0, 1, 4, 5, 2999, 3000, 2 ** 18 - 1, 2 ** 18, count - 1];
    for (const position of positions) expect(digests.at(position)).toEqual(at(position));
    expect(digests.slice(2 ** 18 - 2, 4)).toEqual(bytes.subarray((2 ** 18 - 2) * 16, (2 ** 18 + 2) * 16));
    const words = new Int32Array(bytes.buffer, bytes.byteOffset, bytes.length / 4);
    expect(digests.words()[1]?.[7]).toBe(words[2 ** 20 + 7]);
    const copy = digests.copy();
    copy.set(2 ** 18, at(1));
    expect(copy.at(2 ** 18)).toEqual(at(1));
    expect(digests.at(2 ** 18)).toEqual(at(2 ** 18));
    expect(Buffer.compare(copy.slice(0, 2 ** 18), digests.slice(0, 2 ** 18))).toBe(0);
  });

  it("groups parts without keys one by one, as it does where a single part has one", () => {
    const parts = new Parts();
    for (let at = 0; at < 5000; at++) parts.push(partOf(at), digestOf(at));
    const keys = new GroupKeys();
    const { groups: without } = groupParts({ parts, keys, byKey: false });
    keys.set(4999, '"a"');
    const { groups: with1 } = groupParts({ parts, keys, byKey: false });
    expect(without.count).toBe(5000);
    expect(with1.count).toBe(5000);
    for (let group = 0; group < 5000; group++) {
      expect(without.partsOf(group)).toEqual(with1.partsOf(group));
      expect(without.firstOf(group)).toBe(with1.firstOf(group));
      expect(without.groupOf(group)).toBe(with1.groupOf(group));
      expect(without.isValid(group)).toBe(with1.isValid(group));
      expect(without.bytesOf(group)).toBe(with1.bytesOf(group));
      expect(without.trajectoriesOf(group)).toBe(4);
    }
    expect(without.digests().slice(0, 5000)).toEqual(with1.digests().slice(0, 5000));
  });

  it("keeps the keys of parts as they were set, range by range, forgotten ones but not those beside them", () => {
    const key = fc.option(fc.constantFrom("a", "b", "c"), { nil: undefined });
    fc.assert(
      fc.property(
        fc.array(fc.array(key, { maxLength: 30 }), { maxLength: 6 }),
        fc.array(fc.nat(200)),
        (ranges, asked) => {
          const all = new GroupKeys();
          let first = 0;
          for (const range of ranges) {
            const own = new GroupKeys();
            for (const [at, text] of range.entries()) if (text !== undefined) own.set(at, text);
            all.append(own.pack(), first);
            first += range.length;
          }
          const flat = ranges.flat();
          expect(all.areNone).toBe(flat.every((text) => text === undefined));
          expect(Array.from({ length: first + 3 }, (_, at) => all.at(at))).toEqual([
            ...flat,
            undefined,
            undefined,
            undefined,
          ]);
          for (const at of asked) expect(all.at(at)).toBe(flat[at]);
          for (const [at, text] of flat.entries()) {
            expect(all.at(at)).toBe(text);
            all.forget(at);
          }
        },
      ),
    );
  });

  it("groups parts that stand side by side as it groups any", () => {
    fc.assert(
      fc.property(fc.array(fc.constantFrom(1, 2, 3, 4), { minLength: 1, maxLength: 40 }), (sizes) => {
        const parts = new Parts();
        const keys = new GroupKeys();
        for (const [group, size] of sizes.entries()) {
          for (let at = 0; at < size; at++) {
            keys.set(parts.count, `"${group}"`);
            parts.push({ ...partOf(parts.count), kind: "trajectory", trajectories: 1 }, digestOf(parts.count));
          }
        }
        const { groups } = groupParts({ parts, keys, byKey: false });
        expect(groups.count).toBe(sizes.length);
        let first = 0;
        for (const [group, size] of sizes.entries()) {
          const own = Array.from({ length: size }, (_, at) => first + at);
          expect([...groups.partsOf(group)]).toEqual(own);
          expect(groups.firstOf(group)).toBe(first);
          expect(own.map((part) => groups.groupOf(part))).toEqual(own.map(() => group));
          first += size;
        }
      }),
    );
  });
});
