/** What tells one group of a run's input from every other: its digest, and the how-manieth time it occurs. */
import { createHash } from "node:crypto";
import { type Digests, digestBytes, digestsABlock, digestWords } from "./digests.ts";

/** Bytes of a mark: a million groups take 16 MB. */
export const markBytes = digestBytes;

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
  const table = new MarkPlaces(digests);
  const repeats = new Map<number, number>();
  for (let group = table.addFrom(0); group < count; group = table.addFrom(group + 1)) {
    for (let first = table.add(group); first !== group; first = table.add(group)) {
      const before = (repeats.get(first) ?? 0) + 1;
      repeats.set(first, before);
      table.change(group, repeatedMark(table.marks.at(first), before));
    }
  }
  return {
    count,
    slice: (first, many) => table.marks.slice(first, many),
    find: (of, offset) => table.find(of.subarray(offset, offset + markBytes)),
  };
};

/** The mark of a group whose digest came before, a number of times. */
export const repeatedMark = (mark: Uint8Array, before: number): Uint8Array =>
  createHash("sha256").update(mark).update(`#${before}`).digest().subarray(0, markBytes);

/** Digests of a block but one: what of a position is the place in its block. */
const blockMask = 2 ** digestsABlock - 1;

/** An open-addressed table of group numbers, keyed by the first four bytes of their marks. */
class MarkPlaces {
  readonly #given: Digests;
  #marks: Digests;
  #words: readonly Int32Array[];
  /** Numbers of groups, from 1; 0 where a place is free. */
  readonly #places: Int32Array;
  /** A mark that is looked for. */
  readonly #wanted = new Uint8Array(markBytes);
  readonly #wantedWords = new Int32Array(this.#wanted.buffer);

  constructor(digests: Digests) {
    this.#given = digests;
    this.#marks = digests;
    this.#words = digests.words();
    this.#places = new Int32Array(2 ** Math.ceil(Math.log2(Math.max(2, digests.count * 2))));
  }

  get marks(): Digests {
    return this.#marks;
  }

  /** Adds the groups from one on up to the first whose mark is there already; gives that one's number, or how many there are. */
  addFrom(first: number): number {
    const [words, places] = [this.#words, this.#places];
    const { count } = this.#given;
    const last = places.length - 1;
    for (let group = first; group < count; group++) {
      const own = words[group >>> digestsABlock];
      if (own === undefined) return group;
      const at = (group & blockMask) * digestWords;
      let place = (own[at] ?? 0) & last;
      for (let there = places[place] ?? 0; there > 0; there = places[place] ?? 0) {
        if (isEqual(words, there - 1, own, at)) return group;
        place = (place + 1) & last;
      }
      places[place] = group + 1;
    }
    return count;
  }

  /** Adds a group by its mark, and gives the group that has this mark: itself, or one added before. */
  add(group: number): number {
    const place = this.#placeOf(this.#marks.at(group));
    const there = this.#places[place] ?? 0;
    if (there === 0) this.#places[place] = group + 1;
    return there === 0 ? group : there - 1;
  }

  /** The group with a mark; -1 where there is none. */
  find(mark: Uint8Array): number {
    return (this.#places[this.#placeOf(mark)] ?? 0) - 1;
  }

  /** Changes the mark of a group that was not added. */
  change(group: number, mark: Uint8Array): void {
    if (this.#marks === this.#given) {
      this.#marks = this.#given.copy();
      this.#words = this.#marks.words();
    }
    this.#marks.set(group, mark);
  }

  /** Place of a mark, or the free place where it would stand. */
  #placeOf(mark: Uint8Array): number {
    this.#wanted.set(mark);
    const last = this.#places.length - 1;
    let place = (this.#wantedWords[0] ?? 0) & last;
    for (;;) {
      const there = this.#places[place] ?? 0;
      if (there === 0 || isEqual(this.#words, there - 1, this.#wantedWords, 0)) return place;
      place = (place + 1) & last;
    }
  }
}

/** Whether the mark of a group is the one that stands in `of` at a place. */
const isEqual = (words: readonly Int32Array[], group: number, of: Int32Array, at: number): boolean => {
  const own = words[group >>> digestsABlock] ?? of;
  const from = (group & blockMask) * digestWords;
  for (let word = 0; word < digestWords; word++) if (own[from + word] !== of[at + word]) return false;
  return true;
};
