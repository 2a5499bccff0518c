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

/** An open-addressed table of the positions of marks, keyed by their first word. It grows: a million take some 10 MB. */
export class MarkPlaces {
  readonly #given: Digests;
  #marks: Digests;
  /** Positions, from 1; 0 where a place is free. */
  #places: Int32Array;
  #count = 0;
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

  /** Adds the mark at a position, and gives the position that has it: its own, or one added before. */
  add(position: number): number {
    if (this.#count * 2 >= this.#places.length) this.#grow();
    for (let word = 0; word < digestWords; word++) this.#wanted[word] = this.#marks.wordOf(position, word);
    const place = this.#placeOfWanted();
    const there = this.#places[place] ?? 0;
    if (there > 0) return there - 1;
    this.#places[place] = position + 1;
    this.#count++;
    return position;
  }

  #grow(): void {
    const before = this.#places;
    this.#places = new Int32Array(before.length * 2);
    this.#count = 0;
    for (const there of before) if (there > 0) this.add(there - 1);
  }

  /** The position of a mark; -1 where it has none. */
  find(mark: Uint8Array): number {
    this.#wantedBytes.set(mark);
    return (this.#places[this.#placeOfWanted()] ?? 0) - 1;
  }

  /** Changes the mark at a position that was not added. */
  change(position: number, mark: Uint8Array): void {
    if (this.#marks === this.#given) this.#marks = this.#given.copy();
    this.#marks.set(position, mark);
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

  #isWanted(position: number): boolean {
    for (let word = 0; word < digestWords; word++) {
      if (this.#marks.wordOf(position, word) !== this.#wanted[word]) return false;
    }
    return true;
  }
}
