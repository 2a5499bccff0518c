/** The columns of the index: the numbers are those that were put in. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Column, Digests } from "../../src/groups/parts/column.ts";
import { Groups, openGrouping } from "../../src/groups/parts/groups.ts";
import { Parts } from "../../src/groups/parts/parts.ts";
import { itHolds } from "../support/property.ts";

/** Runs of numbers that are alike, the default among them, or all different. */
const run = fc.record({
  length: fc.integer({ min: 1, max: 3000 }),
  times: fc.constantFrom(1, 60),
  value: fc.oneof(fc.constantFrom(0, -0, Number.NaN, 7), fc.double(), fc.maxSafeInteger()),
  step: fc.constantFrom(0, 1),
});
const runs = fc
  .array(run, { maxLength: 6 })
  .map((all) =>
    all.flatMap(({ length, times, value, step }) =>
      Array.from({ length: length * times }, (_, at) => (step === 0 ? value : value + at)),
    ),
  );

describe("a column", () => {
  itHolds(
    "returns every number unchanged, one by one and as ranges, whatever its default is",
    fc.property(runs, fc.constantFrom(0, Number.NaN, 7), fc.boolean(), fc.nat(), (values, usual, oneByOne, cut) => {
      const column = new Column("f64", usual);
      const first = cut % (values.length + 1);
      if (oneByOne) for (const value of values.slice(0, first)) column.push(value);
      else column.append(Float64Array.from(values.slice(0, first)));
      column.append(Float64Array.from(values.slice(first)));
      expect(column.length).toBe(values.length);
      expect(values.every((value, at) => Object.is(column.at(at), value))).toBe(true);
      expect(column.at(values.length)).toBe(usual);
      const some = column.values(first >> 1, first);
      expect(some.length).toBe(first - (first >> 1));
      expect(some.every((value, at) => Object.is(value, values[(first >> 1) + at]))).toBe(true);
      if (first === 0) return;
      column.set(first - 1, 3);
      expect([column.at(first - 1), column.at(first)]).toEqual([3, values[first] ?? usual]);
    }),
    { quick: 3, slow: 30 },
  );

  it.each([1, 15, 16, 17, 500, 513, 2 ** 14 + 1])(
    "gives %i numbers whole once one of them is not the default",
    (length) => {
      for (const place of [0, length >> 1, length - 1]) {
        const column = new Column("u8");
        column.append(new Uint8Array(length));
        column.set(place, 1);
        const wanted = Array.from({ length }, (_, at) => (at === place ? 1 : 0));
        expect([...column.values()]).toEqual(wanted);
      }
    },
  );

  it("allocates nothing for numbers that equal the default", () => {
    const before = process.memoryUsage().arrayBuffers;
    const columns = Array.from({ length: 10 }, () => {
      const column = new Column("f64", Number.NaN);
      for (let at = 0; at < 2 ** 17; at++) column.push(Number.NaN);
      return column;
    });
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(2 ** 20);
    expect(columns.every((column) => column.length === 2 ** 17 && Number.isNaN(column.at(2 ** 17 - 1)))).toBe(true);
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
    training: 0,
    version: Number.NaN,
  }) as const;

const digestOf = (at: number) => Uint8Array.from({ length: 32 }, (_, byte) => (at * 31 + byte) & 255);

const groupsOf = (parts: Parts): Groups => {
  const groups = new Groups(parts);
  openGrouping({ found: { parts }, groups, byKey: false }).take(0);
  return groups;
};

describe("the index", () => {
  it("returns digests and ranges of digests as they were added, across blocks and one by one", () => {
    const count = 2 ** 18 + 3000;
    const bytes = new Uint8Array(count * 16);
    for (let at = 0; at < bytes.length; at++) bytes[at] = (at * 31 + (at >>> 8)) & 255;
    const at = (position: number) => bytes.subarray(position * 16, (position + 1) * 16);
    const digests = new Digests();
    digests.append(bytes.subarray(0, 5 * 16));
    for (let position = 5; position < 3000; position++) digests.append(at(position));
    digests.append(bytes.subarray(3000 * 16));
    expect(digests.count).toBe(count);
    const positions = [0, 1, 4, 5, 2999, 3000, 2 ** 18 - 1, 2 ** 18, count - 1];
    for (const position of positions) expect(digests.at(position)).toEqual(at(position));
    expect(digests.at(2 ** 18 - 2, 4)).toEqual(bytes.subarray((2 ** 18 - 2) * 16, (2 ** 18 + 2) * 16));
    const words = new Uint32Array(bytes.buffer, bytes.byteOffset, bytes.length / 4);
    expect(digests.wordOf(2 ** 18 + 1, 3)).toBe(words[2 ** 20 + 7]);
    const copy = digests.borrowed();
    copy.set(2 ** 18, at(1));
    expect(copy.at(2 ** 18)).toEqual(at(1));
    expect(digests.at(2 ** 18)).toEqual(at(2 ** 18));
    expect(Buffer.compare(copy.at(0, 2 ** 18), digests.at(0, 2 ** 18))).toBe(0);
  });

  it("groups parts without keys one by one, also if a single part has a key", () => {
    const parts = new Parts();
    for (let at = 0; at < 500; at++) parts.push(partOf(at), digestOf(at));
    const without = groupsOf(parts);
    parts.setKey('"a"');
    const withOne = groupsOf(parts);
    expect([without.count, withOne.count, without.isKeyed(499), withOne.isKeyed(499)]).toEqual([500, 500, false, true]);
    for (let group = 0; group < 500; group++) {
      for (const groups of [without, withOne]) {
        expect([...groups.partsOf(group)]).toEqual([group]);
        expect([groups.firstOf(group), groups.groupOf(group)]).toEqual([group, group]);
        expect(groups.isValid(group)).toBe(group % 5 !== 0);
        expect([groups.bytesOf(group), groups.trajectoriesOf(group)]).toEqual([99, 4]);
      }
    }
    expect(without.digests().at(0, 500)).toEqual(withOne.digests().at(0, 500));
  });

  it("keeps the keys of parts range by range, until they are forgotten", () => {
    const key = fc.option(fc.constantFrom("a", "b", "c"), { nil: undefined });
    fc.assert(
      fc.property(fc.array(fc.array(key, { maxLength: 30 }), { maxLength: 6 }), (ranges) => {
        const all = new Parts();
        const add = (parts: Parts, text: string | undefined) => {
          parts.push(partOf(0), digestOf(0));
          if (text !== undefined) parts.setKey(text);
        };
        for (const range of ranges) {
          const own = new Parts();
          for (const text of range) add(own, text);
          all.append(own);
        }
        const keys = () => Array.from({ length: all.count }, (_, at) => all.keyOf(at));
        const flat = ranges.flat();
        expect(keys()).toEqual(flat);
        all.forgetKeys();
        add(all, "d");
        expect(keys()).toEqual([...flat.map(() => undefined), "d"]);
      }),
    );
  });

  it("groups adjacent parts like any others", () => {
    fc.assert(
      fc.property(fc.array(fc.constantFrom(1, 2, 3, 4), { minLength: 1, maxLength: 40 }), (sizes) => {
        const parts = new Parts();
        for (const [group, size] of sizes.entries()) {
          for (let at = 0; at < size; at++) {
            parts.push({ ...partOf(parts.count), kind: "trajectory", trajectories: 1 }, digestOf(parts.count));
            parts.setKey(`"${group}"`);
          }
        }
        const groups = groupsOf(parts);
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
