/** What tells one group of a run's input from every other: its digest, and the how-manieth time it occurs. */
import { createHash } from "node:crypto";
import { type Digests, digestBytes, digestWords } from "./digests.ts";

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
  for (let group = 0; group < count; group++) {
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

/** An open-addressed table of group numbers, keyed by the first word of their marks. */
class MarkPlaces {
  readonly #given: Digests;
  #marks: Digests;
  /** Numbers of groups, from 1; 0 where a place is free. */
  readonly #places: Int32Array;
  /** The words of the mark that is looked for, and their bytes. */
  readonly #wanted = new Uint32Array(digestWords);
  readonly #wantedBytes = new Uint8Array(this.#wanted.buffer);

  constructor(digests: Digests) {
    this.#given = digests;
    this.#marks = digests;
    this.#places = new Int32Array(2 ** Math.ceil(Math.log2(Math.max(2, digests.count * 2))));
  }

  get marks(): Digests {
    return this.#marks;
  }

  /** Adds a group by its mark, and gives the group that has this mark: itself, or one added before. */
  add(group: number): number {
    for (let word = 0; word < digestWords; word++) this.#wanted[word] = this.#marks.wordOf(group, word);
    const place = this.#placeOfWanted();
    const there = this.#places[place] ?? 0;
    if (there === 0) this.#places[place] = group + 1;
    return there === 0 ? group : there - 1;
  }

  /** The group with a mark; -1 where there is none. */
  find(mark: Uint8Array): number {
    this.#wantedBytes.set(mark);
    return (this.#places[this.#placeOfWanted()] ?? 0) - 1;
  }

  /** Changes the mark of a group that was not added. */
  change(group: number, mark: Uint8Array): void {
    if (this.#marks === this.#given) this.#marks = this.#given.copy();
    this.#marks.set(group, mark);
  }

  /** Place of a mark, or the free place where it would stand. */
  #placeOfWanted(): number {
    const last = this.#places.length - 1;
    let place = (this.#wanted[0] ?? 0) & last;
    for (;;) {
      const there = this.#places[place] ?? 0;
      if (there === 0 || this.#isWanted(there - 1)) return place;
      place = (place + 1) & last;
    }
  }

  #isWanted(group: number): boolean {
    for (let word = 0; word < digestWords; word++) {
      if (this.#marks.wordOf(group, word) !== this.#wanted[word]) return false;
    }
    return true;
  }
}
