/** What tells one group of a run's input from every other: its digest, and the how-manieth time it occurs. */
import { createHash } from "node:crypto";
import { type Digests, digestBytes } from "./digests.ts";

/** Bytes of a mark: a million groups take 16 MB. */
export const markBytes = digestBytes;

/** Free place of the table. */
const free = -1;

/** The marks of a run's groups in input order, with a way to find the group that a mark belongs to. */
export interface Marks {
  /** How many groups there are. */
  readonly count: number;
  /** `markBytes` for each of as many groups as are asked for, from one on. */
  slice(first: number, count: number): Uint8Array;
  /** Number of the group with the mark that stands in `of` at `offset`; -1 where there is none. */
  find(of: Uint8Array, offset: number): number;
}

/**
 * Makes marks from digests: the first group with a digest is marked by it, each later one by a digest over it and the
 * number of times it came before. Equal groups are interchangeable, so their order does not matter.
 *
 * @param digests the first half of the SHA-256 of each group's bytes, in input order. Left as they are: they are the
 * marks where no two are the same.
 */
export const marksOf = (digests: Digests): Marks => {
  const { count } = digests;
  const table = openTable(digests);
  const repeats = new Map<number, number>();
  for (let group = 0; group < count; group++) {
    let first = table.add(group);
    while (first !== group) {
      const before = (repeats.get(first) ?? 0) + 1;
      repeats.set(first, before);
      if (table.marks === digests) table.marks = digests.copy();
      table.marks.set(group, repeatedMark(table.marks.at(first), before));
      first = table.add(group);
    }
  }
  return { count, slice: (first, many) => table.marks.slice(first, many), find: table.find };
};

/** The mark of a group whose digest came before, a number of times. */
export const repeatedMark = (mark: Uint8Array, before: number): Uint8Array =>
  createHash("sha256").update(mark).update(`#${before}`).digest().subarray(0, markBytes);

/** An open-addressed table of group numbers, keyed by the first four bytes of their marks. */
const openTable = (marks: Digests) => {
  const size = 2 ** Math.ceil(Math.log2(Math.max(2, marks.count * 2)));
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
      const place = placeOf(table.marks.at(group), 0);
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

const isEqual = (marks: Digests, at: number, of: Uint8Array, offset: number): boolean => {
  for (let index = 0; index < markBytes; index++) if (marks.byteAt(at + index) !== of[offset + index]) return false;
  return true;
};
