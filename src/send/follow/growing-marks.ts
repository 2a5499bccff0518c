/** Marks of groups that become known one by one, while their file is written. */

import { Digests } from "../../groups/parts/digests.ts";
import { MarkPlaces, type Marks, markBytes, repeatedMark } from "../../groups/parts/marks.ts";
import { Numbers } from "../../groups/parts/numbers.ts";
import { type EarlierOutcome, EarlierRuns } from "../../ledger/index.ts";

/** Numbers by marks. */
export class MarkTable {
  readonly #marks = new Digests();
  readonly #places = new MarkPlaces(this.#marks);
  readonly #values = Numbers.words();

  /** How many marks there are. */
  get count(): number {
    return this.#values.length;
  }

  /** The number of a mark; undefined where it has none. */
  get(mark: Uint8Array): number | undefined {
    const position = this.#places.find(mark);
    return position < 0 ? undefined : this.#values.at(position);
  }

  set(mark: Uint8Array, value: number): void {
    const position = this.#places.find(mark);
    if (position >= 0) {
      this.#values.set(position, value);
      return;
    }
    this.#marks.append(mark);
    this.#values.push(value);
    this.#places.add(this.count - 1);
  }
}

/** The marks of groups that are complete, by the groups' numbers; those of others are nought. */
export class GrowingMarks implements Marks {
  readonly #marks = new Digests();
  /** Numbers of groups by their marks, for each file. */
  readonly #files: MarkTable[] = [];

  slice(first: number, count: number): Uint8Array {
    return this.#marks.slice(first, count);
  }

  get count(): number {
    return this.#marks.count;
  }

  find = (of: Uint8Array, offset: number): number => {
    const mark = of.subarray(offset, offset + markBytes);
    for (const numbers of this.#files) {
      const group = numbers.get(mark);
      if (group !== undefined) return group;
    }
    return -1;
  };

  /** Whether any of some marks is that of a group. */
  holdsAny(of: Uint8Array): boolean {
    for (let offset = 0; offset < of.length; offset += markBytes) if (this.find(of, offset) >= 0) return true;
    return false;
  }

  /** The marks of the groups of a file that is opened. */
  openFile(): FileMarks {
    const numbers = new MarkTable();
    this.#files.push(numbers);
    /** How often the digest of a group came again. */
    const repeats = new Map<number, number>();
    const next = (digest: Uint8Array): Uint8Array => {
      const first = numbers.get(digest);
      return first === undefined ? digest : repeatedMark(digest, (repeats.get(first) ?? 0) + 1);
    };
    return {
      next,
      add: (group, digest) => {
        const mark = next(digest);
        const first = numbers.get(digest);
        if (first !== undefined) repeats.set(first, (repeats.get(first) ?? 0) + 1);
        // Groups are complete in any order.
        while (this.#marks.count <= group) this.#marks.append(new Uint8Array(markBytes));
        this.#marks.set(group, mark);
        numbers.set(mark, group);
      },
    };
  }
}

/** The marks of the groups of one file. */
export interface FileMarks {
  /** The mark that the next group with a digest would have. */
  next(digest: Uint8Array): Uint8Array;
  /** Marks a group. */
  add(group: number, digest: Uint8Array): void;
}

/** What earlier runs made of groups, by their marks: which groups there will be, nobody knows yet. */
export class EarlierMarks {
  readonly #numbers = new MarkTable();
  readonly #runs: EarlierRuns;

  constructor(options: { readonly input: string; readonly resendLogged: boolean }) {
    const numberOf = (marks: Uint8Array, offset: number) => this.#numberOf(marks.subarray(offset, offset + markBytes));
    this.#runs = new EarlierRuns({ ...options, numberOf });
  }

  get runs(): Pick<EarlierRuns, "isEmpty" | "unknownEntries" | "loggedElsewhereAt" | "take"> {
    return this.#runs;
  }

  outcomeOf(mark: Uint8Array): EarlierOutcome {
    return this.#runs.outcomeOf(this.#numbers.get(mark) ?? -1);
  }

  wasLoggedElsewhere(mark: Uint8Array): boolean {
    return this.#runs.wasLoggedElsewhere(this.#numbers.get(mark) ?? -1);
  }

  /** Takes over what this run made of a group of a file that another one follows. */
  settle(mark: Uint8Array, outcome: "logged" | "unknown"): void {
    this.#runs.settle(this.#numberOf(mark), outcome);
  }

  #numberOf(mark: Uint8Array): number {
    const known = this.#numbers.get(mark);
    if (known !== undefined) return known;
    this.#numbers.set(mark, this.#numbers.count);
    return this.#numbers.count - 1;
  }
}
