/** JSON as it was written: digits of numbers, order of keys and repeated keys are kept. A browser reads it too. */

export interface SpelledMember {
  readonly key: string;
  readonly value: Spelled;
}

type Kind = "text" | "number" | "word" | "list" | "object";

/** The kinds of values by their first characters; what begins with another one is a number. */
const kinds: Readonly<Record<string, Kind>> = {
  '"': "text",
  "{": "object",
  "[": "list",
  t: "word",
  f: "word",
  n: "word",
};

/** A value in a text of valid JSON. What is inside of it is read if somebody asks, and then kept. */
export class Spelled {
  readonly kind: Kind;
  readonly #source: string;
  readonly #start: number;
  readonly #end: number;
  #members: readonly SpelledMember[] | undefined;
  #items: readonly Spelled[] | undefined;

  constructor(source: string, start: number, end: number) {
    this.kind = kinds[source[start] ?? ""] ?? "number";
    this.#source = source;
    this.#start = start;
    this.#end = end;
  }

  get json(): string {
    return this.#source.slice(this.#start, this.#end);
  }

  /** What a text says; of any other value its JSON. */
  get text(): string {
    return this.kind === "text" ? decoded(this.json) : this.json;
  }

  /** The members of an object in their order; none of any other value. */
  get members(): readonly SpelledMember[] {
    this.#members ??= this.kind === "object" ? [...this.#inside()] : [];
    return this.#members;
  }

  /** The items of a list; none of any other value. */
  get items(): readonly Spelled[] {
    this.#items ??= this.kind === "list" ? Array.from(this.#inside(), ({ value }) => value) : [];
    return this.#items;
  }

  *#inside(): Generator<SpelledMember, void> {
    const [text, last] = [this.#source, this.#end - 1];
    for (let at = skipWhite(text, this.#start + 1); at < last; ) {
      let key = "";
      if (this.kind === "object") {
        const behindKey = endOfString(text, at + 1);
        key = decoded(text.slice(at, behindKey));
        at = skipWhite(text, skipWhite(text, behindKey) + 1);
      }
      const end = endOfValue(text, at);
      yield { key, value: new Spelled(text, at, end) };
      at = skipWhite(text, skipWhite(text, end) + 1);
    }
  }
}

const decoded = (json: string): string => (json.includes("\\") ? String(JSON.parse(json)) : json.slice(1, -1));

const [tab, lineEnd, carriageReturn, space, quote] = [0x09, 0x0a, 0x0d, 0x20, 0x22];
const [openBracket, closeBracket, openBrace, closeBrace] = [0x5b, 0x5d, 0x7b, 0x7d];

const skipWhite = (text: string, from: number): number => {
  for (let at = from; ; at++) {
    const unit = text.charCodeAt(at);
    if (unit !== space && unit !== lineEnd && unit !== carriageReturn && unit !== tab) return at;
  }
};

/** The offset after the quote that ends the string whose content begins at `from`. */
export const endOfString = (text: string, from: number): number => {
  for (let at = text.indexOf('"', from); at >= 0; at = text.indexOf('"', at + 1)) {
    let before = at - 1;
    while (text[before] === "\\") before--;
    if ((at - before) % 2 === 1) return at + 1;
  }
  return text.length;
};

const scalar = /[^\s,\]}]*/y;

const endOfValue = (text: string, from: number): number => {
  const first = text.charCodeAt(from);
  if (first === quote) return endOfString(text, from + 1);
  if (first !== openBrace && first !== openBracket) {
    scalar.lastIndex = from;
    return from + (scalar.exec(text)?.[0].length ?? 0);
  }
  let depth = 0;
  for (let at = from; at < text.length; at++) {
    const unit = text.charCodeAt(at);
    if (unit === quote) at = endOfString(text, at + 1) - 1;
    else if (unit === openBrace || unit === openBracket) depth++;
    else if ((unit === closeBrace || unit === closeBracket) && --depth === 0) return at + 1;
  }
  return text.length;
};

export const readSpelled = (text: string): Spelled => {
  const start = skipWhite(text, 0);
  return new Spelled(text, start, endOfValue(text, start));
};

/** Reads the JSON that a text holds, as the arguments of tool calls are written; undefined if it holds none. */
export const readSpelledText = (text: string): Spelled | undefined => {
  try {
    JSON.parse(text);
  } catch {
    return undefined;
  }
  return readSpelled(text);
};

/** The members of an object; none of anything else. */
export const membersOf = (value: Spelled | undefined): readonly SpelledMember[] => value?.members ?? [];

/** The items of a list; none of anything else. */
export const itemsOf = (value: Spelled | undefined): readonly Spelled[] => value?.items ?? [];

/** The value of a key, the last of a key that appears twice; undefined if there is none. */
export const memberOf = (value: Spelled | undefined, key: string): Spelled | undefined =>
  membersOf(value).findLast((member) => member.key === key)?.value;

/** The value at a path of keys; undefined if there is none, or it is null. */
export const valueAt = (value: Spelled | undefined, ...path: readonly string[]): Spelled | undefined => {
  const found = path.reduce(memberOf, value);
  return isNothing(found) ? undefined : found;
};

/** True if a value is absent or null. */
export const isNothing = (value: Spelled | undefined): value is undefined =>
  value === undefined || (value.kind === "word" && value.text === "null");

/** Members that hold something. */
export const filled = (members: readonly SpelledMember[]): readonly SpelledMember[] =>
  members.filter(({ value }) => !isNothing(value));

/** The text at a path, if there is one. */
export const textFrom = (value: Spelled | undefined, ...path: readonly string[]): string | undefined => {
  const found = valueAt(value, ...path);
  return found?.kind === "text" ? found.text : undefined;
};

/** The digits of the number at a path, if there is one. */
export const numberFrom = (value: Spelled | undefined, ...path: readonly string[]): string | undefined => {
  const found = valueAt(value, ...path);
  return found?.kind === "number" ? found.text : undefined;
};

/** Levels of nesting that are laid out: no page is wider. What is below them is JSON on one line. */
export const maxLevels = 45;

/** The JSON of a value that is nested too deep to be laid out. */
export const deepText = ({ json }: Spelled): string => json.replaceAll(/\s+/g, " ");

/** A value on one line: a text as it is, anything else as JSON. */
export const inline = (value: Spelled): string => (value.kind === "text" ? value.text : spread(value, undefined));

/** A value as a person reads it: a text as it is, anything else as JSON, a member a line. */
export const laidOut = (value: Spelled): string => (value.kind === "text" ? value.text : spread(value, "\n"));

/** JSON with a blank after commas and colons; `line` is the line end and the indent of a value on several lines. */
const spread = (value: Spelled, line: string | undefined, levels = maxLevels): string => {
  if (value.kind === "text") return JSON.stringify(value.text);
  if (value.kind !== "list" && value.kind !== "object") return value.json;
  if (levels === 0) return deepText(value);
  const below = line === undefined ? undefined : `${line}  `;
  const [open, close] = value.kind === "list" ? ["[", "]"] : ["{", "}"];
  const parts = [
    ...value.items.map((item) => spread(item, below, levels - 1)),
    ...value.members.map(({ key, value: own }) => `${JSON.stringify(key)}: ${spread(own, below, levels - 1)}`),
  ];
  if (below === undefined || parts.length === 0) return `${open}${parts.join(", ")}${close}`;
  return `${open}${below}${parts.join(`,${below}`)}${line}${close}`;
};
