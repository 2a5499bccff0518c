/** What tells one group of a run's input from every other: its digest, and the how-manieth time it occurs. */
import { createHash } from "node:crypto";
import { digestBytes } from "./columns.ts";

/** Bytes of a mark: a million groups take 16 MB. */
export const markBytes = digestBytes;

/** Free place of the table. */
const free = -1;

/** The marks of a run's groups in input order, with a way to find the group that a mark belongs to. */
export interface Marks {
  /** `markBytes` for each group. */
  readonly bytes: Uint8Array;
  /** How many groups there are. */
  readonly count: number;
  /** Number of the group with the mark that stands in `of` at `offset`; -1 where there is none. */
  find(of: Uint8Array, offset: number): number;
}

/**
 * Makes marks from digests: the first group with a digest is marked by it, each later one by a digest over it and the
 * number of times it came before. Equal groups are interchangeable, so their order does not matter.
 *
 * @param digests `markBytes` for each group, in input order: the first half of the SHA-256 of its bytes. Left as they are:
 * they are the marks where no two are the same.
 */
export const marksOf = (digests: Uint8Array): Marks => {
  const count = digests.length / markBytes;
  const table = openTable(digests, count);
  const repeats = new Map<number, number>();
  for (let group = 0; group < count; group++) {
    let first = table.add(group);
    while (first !== group) {
      const before = (repeats.get(first) ?? 0) + 1;
      repeats.set(first, before);
      if (table.marks === digests) table.marks = digests.slice();
      const own = table.marks.subarray(first * markBytes, (first + 1) * markBytes);
      table.marks.set(repeatedMark(own, before), group * markBytes);
      first = table.add(group);
    }
  }
  return { bytes: table.marks, count, find: table.find };
};

/** The mark of a group whose digest came before, a number of times. */
export const repeatedMark = (mark: Uint8Array, before: number): Uint8Array =>
  createHash("sha256").update(mark).update(`#${before}`).digest().subarray(0, markBytes);

/** An open-addressed table of group numbers, keyed by the first four bytes of their marks. */
const openTable = (marks: Uint8Array, count: number) => {
  const size = 2 ** Math.ceil(Math.log2(Math.max(2, count * 2)));
  const places = new Int32Array(size).fill(free);
  /** Place of the mark in `of`, or the free place where it would stand. */
  const placeOf = (of: Uint8Array, offset: number): number => {
    let place = hashAt(of, offset) & (size - 1);
    for (;;) {
      const group = places[place] ?? free;
      if (group === free || isEqual(table.marks, group * markBytes, of, offset)) return place;
      place = (place + 1) & (size - 1);
    }
  };
  const table = {
    marks,
    /** Adds a group by its mark, and gives the group that has this mark: itself, or one added before. */
    add: (group: number): number => {
      const place = placeOf(table.marks, group * markBytes);
      const there = places[place] ?? free;
      if (there !== free) return there;
      places[place] = group;
      return group;
    },
    find: (of: Uint8Array, offset: number): number => places[placeOf(of, offset)] ?? free,
  };
  return table;
};

const hashAt = (bytes: Uint8Array, at: number): number =>
  (bytes[at] ?? 0) | ((bytes[at + 1] ?? 0) << 8) | ((bytes[at + 2] ?? 0) << 16) | ((bytes[at + 3] ?? 0) << 24);

const isEqual = (a: Uint8Array, atA: number, b: Uint8Array, atB: number): boolean => {
  for (let index = 0; index < markBytes; index++) if (a[atA + index] !== b[atB + index]) return false;
  return true;
};
