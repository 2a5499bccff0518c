/** Finds where text stops being JSON, and says so in the words of Python's `json`, as a FastAPI service does. */

/** Where text stops being JSON, in characters from 0, and why. */
export interface JsonFault {
  readonly position: number;
  readonly error: string;
}

/** The first fault of text that `JSON.parse` refused. Stricter than Python: NaN and the infinities are no values. */
export const jsonFaultIn = (text: string): JsonFault => {
  const walk: Walk = { text, at: 0, open: [] };
  try {
    for (let wanted: Wanted | undefined = "value"; wanted !== undefined; ) {
      skipWhite(walk);
      wanted = steps[wanted](walk);
    }
    skipWhite(walk);
    if (walk.at < text.length) stop(walk, "Extra data");
  } catch (thrown) {
    if (thrown instanceof Found) return { position: characters(text, thrown.position), error: thrown.error };
    throw thrown;
  }
  return { position: 0, error: "Expecting value" };
};

interface Walk {
  readonly text: string;
  at: number;
  /** The brackets that are open. */
  readonly open: ("{" | "[")[];
}

/** What must come next; undefined at the end. */
type Wanted = "value" | "first value" | "key" | "first key" | "next";

class Found extends Error {
  readonly position: number;
  readonly error: string;
  constructor(position: number, error: string) {
    super(error);
    this.position = position;
    this.error = error;
  }
}

const stop = (walk: Walk, error: string, position = walk.at): never => {
  throw new Found(position, error);
};

const white = /[ \t\n\r]*/y;
const scalar = /(?:true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?)/y;
const plain = /[^"\\\u0000-\u001f]*/y;
const escaped = /\\(?:["\\/bfnrt]|u[\da-fA-F]{4})/y;

/** Length of what `pattern` finds at the walk's place. */
const found = (walk: Walk, pattern: RegExp): number => {
  pattern.lastIndex = walk.at;
  return pattern.exec(walk.text)?.[0].length ?? 0;
};

const skipWhite = (walk: Walk): void => {
  walk.at += found(walk, white);
};

const steps: Readonly<Record<Wanted, (walk: Walk) => Wanted | undefined>> = {
  value: (walk) => readValue(walk),
  "first value": (walk) => (walk.text[walk.at] === "]" ? close(walk) : readValue(walk)),
  key: (walk) => readKey(walk),
  "first key": (walk) => (walk.text[walk.at] === "}" ? close(walk) : readKey(walk)),
  next: (walk) => {
    const inner = walk.open.at(-1);
    const character = walk.text[walk.at];
    if (character === (inner === "{" ? "}" : "]")) return close(walk);
    if (character !== ",") stop(walk, "Expecting ',' delimiter");
    walk.at++;
    return inner === "{" ? "key" : "value";
  },
};

const afterValue = (walk: Walk): Wanted | undefined => (walk.open.length === 0 ? undefined : "next");

const close = (walk: Walk): Wanted | undefined => {
  walk.open.pop();
  walk.at++;
  return afterValue(walk);
};

const readValue = (walk: Walk): Wanted | undefined => {
  const character = walk.text[walk.at];
  if (character === "{" || character === "[") {
    walk.open.push(character);
    walk.at++;
    return character === "{" ? "first key" : "first value";
  }
  if (character === '"') readString(walk);
  else {
    const length = found(walk, scalar);
    if (length === 0) stop(walk, "Expecting value");
    walk.at += length;
  }
  return afterValue(walk);
};

const readKey = (walk: Walk): Wanted => {
  if (walk.text[walk.at] !== '"') stop(walk, "Expecting property name enclosed in double quotes");
  readString(walk);
  skipWhite(walk);
  if (walk.text[walk.at] !== ":") stop(walk, "Expecting ':' delimiter");
  walk.at++;
  return "value";
};

const readString = (walk: Walk): void => {
  const start = walk.at++;
  for (;;) {
    walk.at += found(walk, plain);
    const character = walk.text[walk.at];
    if (character === '"') break;
    if (character === undefined) stop(walk, "Unterminated string starting at", start);
    if (character !== "\\") stop(walk, "Invalid control character at");
    const length = found(walk, escaped);
    if (length === 0) stop(walk, walk.text[walk.at + 1] === "u" ? "Invalid \\uXXXX escape" : "Invalid \\escape");
    walk.at += length;
  }
  walk.at++;
};

/** A position in UTF-16 units as one in characters. */
const characters = (text: string, position: number): number => {
  let pairs = 0;
  for (let at = 0; at < position - 1; at++) {
    const unit = text.charCodeAt(at);
    if (unit >= 0xd800 && unit < 0xdc00) pairs++;
  }
  return position - pairs;
};
