/** Reads JSON as it was spelled: in a browser too. */
import { deepestSpelled, type Spelled, type SpelledMember } from "./spelled.ts";

/** Reads the JSON that a text holds, as the arguments of tool calls are written; undefined if it holds none. */
export const readSpelledText = (text: string): Spelled | undefined => {
  try {
    JSON.parse(text);
  } catch {
    return undefined;
  }
  return readSpelled(text);
};

/** Reads valid JSON. */
export const readSpelled = (text: string): Spelled => new SpelledReader(text).value(deepestSpelled);

/** White space, a number or a word, and what a tree of them ends at. */
const white = /\s*/y;
const plain = /[^\s,\]}]*/y;
const bracketOrQuote = /["[\]{}]/g;

class SpelledReader {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  value(levels: number): Spelled {
    this.#skip();
    const first = this.#text[this.#at];
    const isTree = first === "{" || first === "[";
    if (!isTree) return spelledScalar(this.#scalar());
    if (levels === 0) return { kind: "deep", text: this.#tree().replaceAll(/\s+/g, " ") };
    if (first === "{") return { kind: "object", members: this.#inside("}", () => this.#member(levels - 1)) };
    return { kind: "list", items: this.#inside("]", () => this.value(levels - 1)) };
  }

  #member(levels: number): SpelledMember {
    this.#skip();
    const key = String(JSON.parse(this.#scalar()));
    this.#skip();
    this.#at++;
    return { key, value: this.value(levels) };
  }

  /** What stands between two brackets. */
  #inside<One>(closing: "}" | "]", read: () => One): readonly One[] {
    const all: One[] = [];
    this.#at++;
    this.#skip();
    while (this.#text[this.#at] !== closing) {
      all.push(read());
      this.#skip();
      if (this.#text[this.#at] === ",") this.#at++;
    }
    this.#at++;
    return all;
  }

  /** What stands here up to if its own bracket is closed. */
  #tree(): string {
    const start = this.#at;
    let depth = 0;
    do {
      bracketOrQuote.lastIndex = this.#at;
      const [found = ""] = bracketOrQuote.exec(this.#text) ?? [];
      this.#at = bracketOrQuote.lastIndex;
      if (found === '"') this.#at = endOfString(this.#text, this.#at);
      else depth += found === "{" || found === "[" ? 1 : -1;
    } while (depth > 0);
    return this.#text.slice(start, this.#at);
  }

  /** The string, number or word here, as it is written. */
  #scalar(): string {
    const start = this.#at;
    if (this.#text[start] !== '"') return this.#take(plain);
    this.#at = endOfString(this.#text, start + 1);
    return this.#text.slice(start, this.#at);
  }

  #skip(): void {
    this.#take(white);
  }

  #take(what: RegExp): string {
    what.lastIndex = this.#at;
    const [found = ""] = what.exec(this.#text) ?? [];
    this.#at += found.length;
    return found;
  }
}

/** The offset after the quote that ends the string in JSON whose content begins at `from`. */
export const endOfString = (text: string, from: number): number => {
  for (let at = from; ; at++) {
    at = text.indexOf('"', at);
    if (at < 0) return text.length;
    let before = at - 1;
    while (text[before] === "\\") before--;
    if ((at - before) % 2 === 1) return at + 1;
  }
};

const spelledScalar = (text: string): Spelled => {
  if (text.startsWith('"')) return { kind: "text", text: String(JSON.parse(text)) };
  return { kind: /^[tfn]/.test(text) ? "word" : "number", text };
};
