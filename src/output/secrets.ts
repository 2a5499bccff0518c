/** The secrets of a run, which are redacted in all that is written, however they are spelled there. */

import { decodePercent } from "../host.ts";
import { endOfString } from "../json/raw-json.ts";
import { parseJson } from "../json/walk.ts";

const redacted = "***";

/** Shorter secrets hide nothing, and redacting them would shred what is printed. */
const minLength = 4;

/** A shorter secret may be the name of a JSON member, such as `data`. */
const minLengthInNames = 8;

/** A shorter piece of base64 is found in innocent text, since case does not count. */
const minBase64Length = 6;

/** Letters that a search begins with: the others are compared only if all of these were found. */
const headLength = 4;

interface Secrets {
  add(secret: string): void;
  /** Redacts the secrets known so far, in whichever spelling. */
  redact(text: string): string;
  /** The same only inside the strings of JSON. */
  redactJson(json: string): string;
}

/** A secret, or what an encoding makes of it, letter by letter. */
interface SecretSpelling {
  readonly letters: readonly string[];
  readonly head: RegExp;
  /** True if the end of a piece of base64 after it belongs to it. */
  readonly isBase64: boolean;
  readonly inNames: boolean;
}

export const openSecrets = (): Secrets => {
  const known = new Map<string, SecretSpelling>();
  // Longest first, so that a secret that holds another leaves nothing of itself.
  let spellings: readonly SecretSpelling[] = [];
  return {
    add(secret) {
      for (const [name, spelling] of spellingsOf(secret)) known.set(name, spelling);
      spellings = [...known.values()].sort((a, b) => b.letters.length - a.letters.length);
    },
    redact: (text) => spellings.reduce(redactSpelling, text),
    redactJson(json) {
      const present = spellings.filter(({ head }) => json.search(head) >= 0);
      if (present.length === 0) return json;
      const inNames = present.filter((spelling) => spelling.inNames);
      return replaceInStrings(json, (text, isName) => (isName ? inNames : present).reduce(redactSpelling, text));
    },
  };
};

/** The secret itself, its lines, and each of them as hex and as base64, alone or inside a longer text such as a header. */
const spellingsOf = (secret: string): readonly (readonly [string, SecretSpelling])[] => {
  const trimmed = secret.trim();
  return [trimmed, ...trimmed.split(/[\r\n]+/).map((line) => line.trim())].flatMap((text) => {
    if (text.length < minLength) return [];
    const bytes = Buffer.from(text);
    const inNames = text.length >= minLengthInNames;
    const inside = [0, 1, 2].map((before) => encodeInside(bytes, before));
    const encoded = inside.filter((piece, before) => before === 0 || piece.length >= minBase64Length);
    return [
      [text, spellingOf(text, inNames)] as const,
      [`hex ${text}`, spellingOf(bytes.toString("hex"), inNames)] as const,
      ...encoded.map((piece) => [`base64 ${piece}`, { ...spellingOf(piece, inNames), isBase64: true }] as const),
    ];
  });
};

/** The letters of base64 that hold nothing but these bytes, after so many others of a group of three. */
const encodeInside = (bytes: Uint8Array, before: number): string => {
  const all = Buffer.concat([Buffer.alloc(before), bytes]);
  return all.toString("base64").slice(Math.ceil((before * 8) / 6), Math.floor((all.length * 8) / 6));
};

const spellingOf = (text: string, inNames: boolean): SecretSpelling => {
  const letters = Array.from(text);
  // The longest writing of a letter first.
  const patterns = letters
    .slice(0, headLength)
    .map((letter) => `(?:${[...letterPatterns(letter)].reverse().join("|")})`);
  return { letters, head: new RegExp(patterns.join(`(?:${lineBreak})?`), "giu"), inNames, isBase64: false };
};

/** Between two letters of a text that was folded, in JSON too. */
const lineBreak = "[ \\t]*(?:\\r?\\n|(?:\\\\r)?\\\\n|%0D%0A|%0A|&#10;)[ \\t>|│]*";
const lineBreakPattern = new RegExp(lineBreak, "iuy");

const base64End = /[\w+/-]{0,2}(?:=|%3D|\\u003d|&#61;|\\=){0,2}/iuy;

const entityNames: Readonly<Record<string, string>> = {
  "&": "amp",
  "<": "lt",
  ">": "gt",
  '"': "quot",
  "'": "apos|#39",
};

/** The ways a letter is written: as it is or behind backslashes, and as `\u`, percent and HTML have it. */
const letterPatterns = (letter: string): readonly string[] => {
  const code = letter.codePointAt(0) ?? 0;
  const units = Array.from({ length: letter.length }, (_, at) => letter.charCodeAt(at).toString(16).padStart(4, "0"));
  const bytes = Array.from(Buffer.from(letter), (byte) => `%(?:25)*${byte.toString(16).padStart(2, "0")}`);
  const named = entityNames[letter];
  const own = `\\u{${code.toString(16)}}`;
  return [
    ...(letter === "\\" ? ["\\\\", "\\\\{2}", "\\\\{4}"] : [`\\\\*${own}`]),
    units.map((unit) => `\\\\+u${unit}`).join(""),
    bytes.join(""),
    `&(?:amp;)*#0*${code};`,
    `&(?:amp;)*#x0*${code.toString(16)};`,
    ...(named === undefined ? [] : [`&(?:amp;)*(?:${named});`]),
    ...(letter === " " ? ["\\+"] : letter === "+" ? ["-"] : letter === "/" ? ["_"] : []),
    ...(letter < " " ? [JSON.stringify(letter).slice(1, -1).replace("\\", "\\\\")] : []),
  ];
};

const patterns = new Map<string, readonly RegExp[]>();
const patternsOf = (letter: string): readonly RegExp[] => {
  const known = patterns.get(letter) ?? letterPatterns(letter).map((one) => new RegExp(one, "iuy"));
  patterns.set(letter, known);
  return known;
};

/** The end of a sticky pattern that begins here. */
const matchEnd = (pattern: RegExp, text: string, from: number): number | undefined => {
  pattern.lastIndex = from;
  return pattern.test(text) ? pattern.lastIndex : undefined;
};

/** The place at which a text was cut, inside an escape maybe: half of a secret may be left. */
const truncationPattern = /(?:[%&\\][#\w]{0,8})?(?=…)/iuy;

/** The places at which letters that begin here may end: a backslash can be a letter, or its escape. A text that was cut ends them. */
const findEnds = (letters: readonly string[], text: string, from: number): readonly number[] => {
  let ends: readonly number[] = [from];
  for (const letter of letters) {
    const next = new Set<number>();
    for (const end of ends) {
      for (const start of [end, matchEnd(lineBreakPattern, text, end)]) {
        if (start === undefined) continue;
        for (const pattern of patternsOf(letter)) {
          const after = matchEnd(pattern, text, start);
          if (after !== undefined) next.add(after);
        }
      }
    }
    if (next.size === 0) return ends.flatMap((end) => matchEnd(truncationPattern, text, end) ?? []);
    ends = [...next];
  }
  return ends;
};

const redactSpelling = (text: string, { letters, head, isBase64 }: SecretSpelling): string => {
  let kept = "";
  let copied = 0;
  head.lastIndex = 0;
  for (let begins = head.exec(text); begins !== null; begins = head.exec(text)) {
    const ends = findEnds(letters, text, begins.index);
    if (ends.length === 0) head.lastIndex = begins.index + 1;
    else {
      const end = Math.max(...ends);
      kept += text.slice(copied, begins.index) + redacted;
      copied = isBase64 ? (matchEnd(base64End, text, end) ?? end) : end;
      head.lastIndex = copied;
    }
  }
  return copied === 0 ? text : kept + text.slice(copied);
};

/** Replaces inside the strings of valid JSON only. */
const replaceInStrings = (json: string, change: (text: string, isName: boolean) => string): string => {
  const parts: string[] = [];
  let copied = 0;
  let open = json.indexOf('"');
  while (open >= 0) {
    const end = endOfString(json, open + 1);
    const text = json.slice(open + 1, end - 1);
    const changed = change(text, /^\s*:/.test(json.slice(end, end + 16)));
    if (changed !== text) {
      // If a secret begins inside an escape, the rest of that is not an escape.
      const isWhole = parseJson(`"${changed}"`) !== undefined;
      parts.push(json.slice(copied, open), `"${isWhole ? changed : redacted}"`);
      copied = end;
    }
    open = json.indexOf('"', end);
  }
  return parts.join("") + json.slice(copied);
};

/** Passwords in addresses, also in malformed ones, and values of options with the names of secrets. */
export const findSecrets = (args: readonly string[]): readonly string[] =>
  args.flatMap((word) => {
    const option = /^--?[\w-]*(?:token(?!s)|key|password|passwd|secret|credential|auth)[\w-]*=(.+)$/is.exec(word)?.[1];
    const found = [...findPasswords(word), ...(option === undefined ? [] : [option])];
    return found.flatMap((secret) => [secret, decodePercent(secret)]);
  });

/** The possible passwords of an address, however many slashes it has: all between a colon and the last @. */
const findPasswords = (word: string): readonly string[] => {
  const url = /^\w+:\/\//.test(word) && URL.canParse(word) ? new URL(word) : undefined;
  // A valid address without a user and a port has its @ in its path.
  if (url !== undefined && `${url.username}${url.password}${url.port}` === "") return [];
  const user = /(?:[a-z][a-z\d+.-]*:[/\\]*|[/\\]{2})(.*)@/is.exec(word)?.[1] ?? "";
  return Array.from(user.matchAll(/:/g), ({ index }) => user.slice(index + 1));
};
