/** Stores texts in columns, as the numbers of names. */
import { NumberColumn } from "./column.ts";
import { Digests, DigestTable } from "./digests.ts";

/** Numbers names from 1, in the order of their first use. 0 means no name. */
export class Names {
  readonly list: string[] = [];
  readonly #numbers = new Map<string, number>();

  numberOf(name: string | undefined) {
    if (name === undefined) return 0;
    const number = this.#numbers.get(name) ?? this.list.push(name);
    if (number === this.list.length) this.#numbers.set(name, number);
    return number;
  }

  /** Returns the number of a name; 0 if it has none. */
  find(name: string) {
    return this.#numbers.get(name) ?? 0;
  }

  at(number: number) {
    return this.list[number - 1];
  }

  /** Forgets later names. */
  truncate(count: number) {
    for (const name of this.list.splice(count)) this.#numbers.delete(name);
  }
}

/** Numbers digests in Latin-1 like `Names`, in less memory than strings. */
export class DigestNames {
  readonly #digests = new Digests();
  readonly #table = new DigestTable(this.#digests);

  numberOf(digest: string) {
    return this.#table.findOrAppend(Buffer.from(digest, "latin1")) + 1;
  }

  find(digest: string) {
    return (this.#table.find(Buffer.from(digest, "latin1")) ?? -1) + 1;
  }

  at(number: number) {
    return number === 0 ? undefined : this.#digests.at(number - 1).toString("latin1");
  }
}

export type TextNames = Pick<Names | DigestNames, "numberOf" | "find" | "at">;

export class TextColumn<Texts extends TextNames = Names> {
  readonly names: Texts;
  readonly #numbers = new NumberColumn();
  #last: { readonly text: string; readonly number: number } | undefined;

  constructor(names: Texts) {
    this.names = names;
  }

  set(row: number, text: string | undefined) {
    if (text === undefined) return this.#numbers.set(row, 0);
    // Adjacent rows often have the same text.
    if (this.#last?.text !== text) this.#last = { text, number: this.names.numberOf(text) };
    this.#numbers.set(row, this.#last.number);
  }

  /** Removes the texts after the first ones. */
  truncateNames(this: TextColumn, count: number) {
    this.names.truncate(count);
    this.#last = undefined;
  }

  /** Returns a number in `names`; 0 without a text. */
  numberAt(row: number) {
    return this.#numbers.at(row);
  }

  at(row: number) {
    return this.names.at(this.numberAt(row));
  }
}
