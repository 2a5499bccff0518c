/** Parses JSON, and reads and composes it with unchanged digits, order and repeated keys, in Node and in browsers. */

export type JsonObject = Readonly<Record<string, unknown>>;

export const isObject = (value: unknown): value is JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value);

export const parseJson = (text: string) => {
  try {
    const value: unknown = JSON.parse(text);
    return { value };
  } catch {
    return undefined;
  }
};

/** Returns undefined for a value with more levels than the stack has. */
export const tryStringify = (value: unknown): string | undefined => {
  try {
    return JSON.stringify(value);
  } catch {
    return undefined;
  }
};

export type RawMember = Readonly<{ key: string; value: RawJson }>;

type Kind = "text" | "number" | "word" | "list" | "object";

const kindsByStart: Record<string, Kind> = { '"': "text", "{": "object", "[": "list", t: "word", f: "word", n: "word" };

/** A value as JSON. */
export type RawJson = Readonly<{
  kind: Kind;
  json: string;
  /** The characters of a string. The JSON of another value. */
  text: string;
  members: readonly RawMember[];
  items: readonly RawJson[];
}>;

/** A value in a text of valid JSON. Members and items are read on demand. */
class ParsedJson implements RawJson {
  readonly kind: Kind;
  readonly #source: string;
  readonly #start: number;
  readonly #end: number;
  #members: readonly RawMember[] | undefined;
  #items: readonly RawJson[] | undefined;

  constructor(source: string, start: number, end: number) {
    this.kind = kindsByStart[source[start] ?? ""] ?? "number";
    this.#source = source;
    this.#start = start;
    this.#end = end;
  }

  get json(): string {
    return this.#source.slice(this.#start, this.#end);
  }

  get text(): string {
    return this.kind === "text" ? decodeText(this.json) : this.json;
  }

  get members(): readonly RawMember[] {
    this.#members ??= this.kind === "object" ? [...this.#walkContent()] : [];
    return this.#members;
  }

  get items(): readonly RawJson[] {
    this.#items ??= this.kind === "list" ? Array.from(this.#walkContent(), ({ value }) => value) : [];
    return this.#items;
  }

  *#walkContent() {
    const [text, close] = [this.#source, this.#end - 1];
    for (let at = skipWhite(text, this.#start + 1); at < close; ) {
      let key = "";
      if (this.kind === "object") {
        const keyEnd = endOfString(text, at + 1);
        key = decodeText(text.slice(at, keyEnd));
        at = skipWhite(text, skipWhite(text, keyEnd) + 1);
      }
      const end = endOfValue(text, at);
      yield { key, value: new ParsedJson(text, at, end) };
      at = skipWhite(text, skipWhite(text, end) + 1);
    }
  }
}

/** A value of the program, or an object with the given members. Its JSON has no white space. */
class ValueJson implements RawJson {
  readonly kind: Kind;
  readonly #value: unknown;
  #members: readonly RawMember[] | undefined;

  constructor(value: unknown, members?: readonly RawMember[]) {
    this.kind = kindOf(value);
    this.#value = value;
    this.#members = members;
  }

  get json(): string {
    if (!this.#members) return formatValue(this.#value);
    return composeMembers(this.#members.map(({ key, value }) => [key, toCompactJson(value)]));
  }

  get text(): string {
    return typeof this.#value === "string" ? this.#value : this.json;
  }

  get members(): readonly RawMember[] {
    if (this.kind !== "object") return [];
    this.#members ??= statedMembers(this.#value).map(([key, member]) => ({ key, value: toRawJson(member) }));
    return this.#members;
  }

  get items(): readonly RawJson[] {
    return Array.isArray(this.#value) ? this.#value.map(toRawJson) : [];
  }
}

const kindOf = (value: unknown): Kind => {
  if (Array.isArray(value)) return "list";
  if (typeof value === "string") return "text";
  if (typeof value === "number" || typeof value === "bigint") return "number";
  return typeof value === "object" && value !== null ? "object" : "word";
};

/** Omits the members that `JSON.stringify` omits. */
const statedMembers = (value: unknown): readonly (readonly [string, unknown])[] =>
  Object.entries(Object(value)).filter(([, member]) => member !== undefined && typeof member !== "function");

const isRawJson = (value: unknown): value is RawJson => value instanceof ParsedJson || value instanceof ValueJson;

const formatValue = (value: unknown): string => {
  if (isRawJson(value)) return toCompactJson(value);
  if (Array.isArray(value)) return composeArray(value.map(formatValue));
  if (typeof value === "object" && value !== null)
    return composeMembers(statedMembers(value).map(([key, member]) => [key, formatValue(member)]));
  return typeof value === "bigint" ? String(value) : (JSON.stringify(value) ?? "null");
};

/** Returns a value of the program as JSON. The value may contain JSON and big integers. */
export const toRawJson = (value: unknown): RawJson => (isRawJson(value) ? value : new ValueJson(value));

/** Keeps repeated keys. */
export const toRawObject = (members: readonly RawMember[]): RawJson => new ValueJson({}, members);

const decodeText = (json: string) => (json.includes("\\") ? String(JSON.parse(json)) : json.slice(1, -1));

const [tab, lineEnd, carriageReturn, space, quote] = [0x09, 0x0a, 0x0d, 0x20, 0x22];
const [openBracket, closeBracket, openBrace, closeBrace] = [0x5b, 0x5d, 0x7b, 0x7d];

const skipWhite = (text: string, from: number) => {
  for (let at = from; ; at++) {
    const unit = text.charCodeAt(at);
    if (unit !== space && unit !== lineEnd && unit !== carriageReturn && unit !== tab) return at;
  }
};

/** Returns the offset after the closing quote. `from` is after the opening quote. */
export const endOfString = (text: string, from: number) => {
  for (let at = text.indexOf('"', from); at >= 0; at = text.indexOf('"', at + 1)) {
    let before = at - 1;
    while (text[before] === "\\") before--;
    if ((at - before) % 2 === 1) return at + 1;
  }
  return text.length;
};

const scalarPattern = /[^\s,\]}]*/y;

const endOfValue = (text: string, from: number) => {
  const first = text.charCodeAt(from);
  if (first === quote) return endOfString(text, from + 1);
  if (first !== openBrace && first !== openBracket) {
    scalarPattern.lastIndex = from;
    return from + (scalarPattern.exec(text)?.[0].length ?? 0);
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

export const parseRawJson = (text: string): RawJson => {
  const start = skipWhite(text, 0);
  return new ParsedJson(text, start, endOfValue(text, start));
};

export const tryParseRawJson = (text: string) => (parseJson(text) ? parseRawJson(text) : undefined);

/** Returns the JSON of each member by key. A repeated key has its last value. */
export const sliceMembers = (json: string): ReadonlyMap<string, string> =>
  new Map(parseRawJson(json).members.map(({ key, value }) => [key, value.json]));

export const membersOf = (value: RawJson | undefined) => value?.members ?? [];

export const itemsOf = (value: RawJson | undefined) => value?.items ?? [];

export const findMember = (value: RawJson | undefined, key: string) =>
  membersOf(value).findLast((member) => member.key === key)?.value;

/** Returns undefined for a missing value and for null. */
export const findValue = (value: RawJson | undefined, ...path: readonly string[]) => {
  const target = path.reduce(findMember, value);
  return isAbsent(target) ? undefined : target;
};

export const isAbsent = (value: RawJson | undefined): value is undefined =>
  value === undefined || (value.kind === "word" && value.text === "null");

export const withoutAbsent = (members: readonly RawMember[]): readonly RawMember[] =>
  members.filter(({ value }) => !isAbsent(value));

const readScalar = (value: RawJson | undefined, kind: Kind) => (value?.kind === kind ? value.text : undefined);

export const textAt = (value: RawJson | undefined, ...path: readonly string[]) =>
  readScalar(findValue(value, ...path), "text");

export const digitsAt = (value: RawJson | undefined, ...path: readonly string[]) =>
  readScalar(findValue(value, ...path), "number");

/** Deeper values are on one line, because a reply can have 100,000 levels. */
export const maxIndentedLevels = 45;

export const compactJson = (json: string) => {
  const parts: string[] = [];
  let copied = 0;
  for (let at = 0; at < json.length; at++) {
    const unit = json.charCodeAt(at);
    if (unit === quote) at = endOfString(json, at + 1) - 1;
    else if (unit <= space) {
      parts.push(json.slice(copied, at));
      copied = at + 1;
    }
  }
  return copied === 0 ? json : parts.join("") + json.slice(copied);
};

/** Returns JSON without white space. */
export const toCompactJson = (value: RawJson) => (value instanceof ValueJson ? value.json : compactJson(value.json));

export const formatInline = (value: RawJson) => (value.kind === "text" ? value.text : formatJson(value, undefined));

export const formatIndented = (value: RawJson) => (value.kind === "text" ? value.text : formatJson(value, "\n"));

/** @param line a line end with an indent; undefined for JSON on one line */
export const formatJson = (value: RawJson, line: string | undefined) => [...formatJsonPieces(value, line)].join("");

/** @param line empty for JSON without white space */
export function* formatJsonPieces(
  value: RawJson,
  line: string | undefined,
  levels = line === "" ? maxPieceLevels : maxIndentedLevels,
): Generator<string, void> {
  // Text that was read keeps its spelling.
  if (levels === 0 || (line === "" && !(value instanceof ValueJson))) return yield toCompactJson(value);
  const isList = value.kind === "list";
  if (!isList && value.kind !== "object") return yield value.kind === "text" ? JSON.stringify(value.text) : value.json;
  const inner = line ? `${line}  ` : "";
  let before = isList ? "[" : "{";
  let end = before;
  for (const part of [...value.items, ...value.members]) {
    const key = "key" in part ? `${JSON.stringify(part.key)}:${line === "" ? "" : " "}` : "";
    yield `${before}${inner}${key}`;
    yield* formatJsonPieces("key" in part ? part.value : part, line && inner, levels - 1);
    before = line === undefined ? ", " : ",";
    end = line ?? "";
  }
  yield `${end}${isList ? "]" : "}"}`;
}

/** A program waits for a signal only if a value below these levels is long. */
const maxPieceLevels = 3;

export const composeMembers = (entries: Iterable<readonly [string, string | undefined]>) => {
  const texts: string[] = [];
  for (const [key, value] of entries) if (value !== undefined) texts.push(`${JSON.stringify(key)}:${value}`);
  return `{${texts.join(",")}}`;
};

export const composeObject = (entries: Readonly<Record<string, string | undefined>>) =>
  composeMembers(Object.entries(entries));

export const composeArray = (elements: readonly string[]) => `[${elements.join(",")}]`;

/** What encoders escape besides `JSON.stringify`. PHP escapes as pandas does. */
const escapedBy = {
  python: /[\u0080-\uffff]/g,
  pandas: /[/\u0080-\uffff]/g,
  pandasUnicode: /\//g,
  go: /[<>&\u2028\u2029]/g,
  gson: /[<>&='\u2028\u2029]/g,
  net: /\\"|[<>&'+`\u0080-\uffff]/g,
};

/** @param escaped a character, or an escaped quote */
const formatEscape = (escaped: string, encoder: string) => {
  if (escaped === "/") return "\\/";
  const code = escaped
    .charCodeAt(escaped.length - 1)
    .toString(16)
    .padStart(4, "0");
  return `\\u${encoder === "net" ? code.toUpperCase() : code}`;
};

const spellText = (text: string) => {
  const plain = JSON.stringify(text).slice(1, -1);
  const escapeAs = ([encoder, characters]: [string, RegExp]) =>
    plain.replaceAll(characters, (escaped) => formatEscape(escaped, encoder));
  return [plain, ...Object.entries(escapedBy).map(escapeAs)];
};

/** Lists the spellings of a text in JSON, and in JSON inside a string. */
const listSpellings = (text: string) => {
  const spelled = spellText(text);
  return [...spelled, ...spelled.flatMap(spellText)];
};

/** Ignores case unless the text has capitals. */
export const compilePattern = (text: string, spell = (character: string): readonly string[] => [character]) => {
  const ignoresCase = text === text.toLowerCase();
  const pattern = text.replaceAll(/[^ \w]/gu, (character) => {
    const upper = character.toUpperCase();
    const cases = ignoresCase && upper.length === character.length ? [character, upper] : [character];
    const spelled = new Set(cases.flatMap(spell).map((each) => each.replaceAll(/[$()*+./?[\\\]^{|}]/g, "\\$&")));
    return `(?:${[...spelled].join("|")})`;
  });
  return new RegExp(pattern, ignoresCase ? "i" : "");
};

/** The pattern of a text in any spelling in JSON, and in JSON inside a string. */
export const compileJsonPattern = (text: string) => compilePattern(text, listSpellings);
