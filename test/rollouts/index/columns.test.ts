import { createHash } from "node:crypto";
import fc from "fast-check";
import { expect, it } from "vitest";
import { countWhile, NumberColumn } from "../../../src/rollouts/index/column.ts";
import { Digests, DigestTable, digestBytes } from "../../../src/rollouts/index/digests.ts";
import { computeMoments } from "../../../src/rollouts/index/sums.ts";
import { itHolds } from "../../support/property.ts";

/** In the first block of a column, which grows, and in later blocks of 16,384 numbers. */
const position = fc.constantFrom(0, 15, 16, 511, 512, 16_383, 16_384, 32_767, 40_000);
/** Each needs another type of array. */
const value = fc.constantFrom(0, 1, 255, 256, 300, 65_535, 65_536, 70_000, 2 ** 32 - 1, 2 ** 32, 0.5, -0, Number.NaN);
const changes = fc.array(fc.tuple(fc.option(position), value), { maxLength: 9 });

itHolds(
  "a column has the numbers of an array, and defaults between them",
  fc.property(changes, fc.constantFrom(0, 1, Number.NaN), position, position, (changed, byDefault, from, to) => {
    const [column, copy, array] = [new NumberColumn(byDefault), new NumberColumn(byDefault), [9]];
    column.push(9);
    for (const [given, value] of changed) {
      const at = given ?? array.length;
      while (array.length <= at) array.push(byDefault);
      array[at] = value;
      if (given === null) column.push(value);
      else column.set(at, value);
      column.length = array.length;
    }
    for (const [at, value] of array.entries()) copy.set(at, value);
    copy.clear(from);
    const part = column.values(from, to);
    expect([column.length, part.length]).toEqual([array.length, Math.max(0, to - from)]);
    expect([...column.pick([to, from])]).toEqual([to, from].map((at) => array[at] ?? byDefault));
    // For so many numbers, `toEqual` takes long.
    expect(array.every((value, at) => Object.is(column.at(at), value))).toBe(true);
    expect(array.every((value, at) => Object.is(copy.at(at), at < from ? value : byDefault))).toBe(true);
    expect(part.every((value, at) => Object.is(value, array[from + at] ?? byDefault))).toBe(true);
  }),
  { quick: 5, slow: 120 },
);

/** Many digests share their first word, by which a table finds them. */
const digestOf = (at: number) => new Uint8Array(new Uint32Array([at % 5, at, 3, at % 2]).buffer);

it("a table has each digest once, and finds its position", () => {
  const digests = new Digests();
  const table = new DigestTable(digests);
  for (let at = 0; at < 600; at++) {
    expect(table.find(digestOf(at))).toBeUndefined();
    expect([table.findOrAppend(digestOf(at)), table.findOrAppend(digestOf(Math.floor(at / 2)))]).toEqual([at, at >> 1]);
  }
  expect(Array.from({ length: 600 }, (_, at) => table.find(digestOf(at)))).toEqual([...Array(600).keys()]);
  expect([digests.count, table.find(digestOf(600))]).toEqual([600, undefined]);
});

it("a list of digests has digests that are set or computed, and some of them", () => {
  const digests = new Digests();
  digests.set(1, digestOf(9));
  digests.set(0, digestOf(8));
  // The bytes of a part of a buffer are not aligned to words.
  digests.set(2, Uint8Array.of(0, ...digestOf(7)).subarray(1));
  digests.setHash(3, Buffer.from("a"));
  const hash = Uint8Array.from(createHash("sha256").update("a").digest().subarray(0, digestBytes));
  expect([0, 1, 2, 3].map((at) => Uint8Array.from(digests.at(at)))).toEqual([
    digestOf(8),
    digestOf(9),
    digestOf(7),
    hash,
  ]);
  expect(digests.pick([1, 2])).toEqual(Uint8Array.of(...digestOf(9), ...digestOf(7)));
  expect(digests.pick([3])).toEqual(hash);
});

it("a table that indexes an existing list finds the first position of each digest", () => {
  const digests = new Digests();
  for (const at of [8, 9, 7, 8]) digests.set(digests.count, digestOf(at));
  const table = new DigestTable(digests);
  expect([0, 1, 2, 3].map((at) => table.add(at))).toEqual([0, 1, 2, 0]);
});

it.each([0, 1, 2, 7])("the leading numbers below a limit are counted: %i of 7", (count) => {
  expect(countWhile(7, (at) => at < count)).toBe(count);
});

it.each([5, 40])("moments do not depend on the order of %i values", (count) => {
  const values = Array.from({ length: count }, (_, at) => (at * 7) % count);
  const mean = (count - 1) / 2;
  const { deviation, ...others } = computeMoments(values);
  expect(others).toEqual({ mean, min: 0, max: count - 1 });
  expect(deviation).toBeCloseTo(Math.sqrt((count ** 2 - 1) / 12), 12);
});
