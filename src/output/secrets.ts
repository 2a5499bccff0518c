/** Redacts secrets that are plain, escaped in JSON, percent-encoded, or in base64 or hex. */
import { decodePercent } from "../host.ts";
import { parseJson } from "../json/json-bytes.ts";
import { endOfString } from "../json/raw-json.ts";

const redacted = "***";

/** A shorter secret would match other text by chance. */
const minLength = 4;
/** A shorter secret can equal a JSON key such as `data`. */
const minLengthInNames = 8;
/** A shorter piece of base64 would match other text by chance, because the search ignores case. */
const minBase64Length = 6;
const headLength = 4;

export const openSecrets = () => {
  const known = new Set<string>();
  // The longest spellings come first, because a secret may contain another secret.
  let spellings: readonly Spelling[] = [];
  return {
    add(secret: string) {
      if (known.has(secret)) return;
      known.add(secret);
      spellings = [...spellings, ...listSpellings(secret)].sort((a, b) => b.letters.length - a.letters.length);
    },
    redact: (text: string) => spellings.reduce(redactSpelling, text),
    redactJson(json: string) {
      const present = spellings.filter(({ head }) => json.search(head) >= 0);
      if (present.length === 0) return json;
      const inNames = present.filter((spelling) => spelling.inNames);
      return replaceInStrings(json, (text, isName) => (isName ? inNames : present).reduce(redactSpelling, text));
    },
  };
};

/** Includes base64 that begins with other bytes, such as the user name in `Authorization: Basic`. */
const listSpellings = (secret: string) => {
  const lines = secret.split(/[\r\n]+/).map((line) => line.trim());
  return [...new Set([secret.trim(), ...lines])].flatMap((text) => {
    if (text.length < minLength) return [];
    const bytes = Buffer.from(text);
    const inNames = text.length >= minLengthInNames;
    const inside = [0, 1, 2].map((before) => encodeInside(bytes, before));
    const encoded = inside.filter((piece, before) => before === 0 || piece.length >= minBase64Length);
    return [
      compileSpelling(text, inNames),
      compileSpelling(bytes.toString("hex"), inNames),
      ...encoded.map((piece) => compileSpelling(piece, inNames, true)),
    ];
  });
};

/** Returns the base64 letters that depend only on `bytes`, if `before` other bytes precede `bytes`. */
const encodeInside = (bytes: Uint8Array, before: number) => {
  const padded = Buffer.concat([Buffer.alloc(before), bytes]);
  return padded.toString("base64").slice(Math.ceil((before * 8) / 6), Math.floor((padded.length * 8) / 6));
};

type Spelling = ReturnType<typeof compileSpelling>;

const compileSpelling = (text: string, inNames: boolean, isBase64 = false) => {
  // The encodings have different numbers of backslashes, so a run of backslashes is one letter.
  const letters = (text.match(/\\+|[^\\]/gu) ?? []).map(getPattern);
  const head = letters.slice(0, headLength).map(({ source }) => source);
  return { letters, head: new RegExp(head.join(""), "giu"), inNames, isBase64 };
};

const patterns = new Map<string, RegExp>();
const getPattern = (letter: string) => {
  const pattern = patterns.get(letter) ?? new RegExp(composePattern(letter), "iuy");
  patterns.set(letter, pattern);
  return pattern;
};

/**
 * Returns a pattern of a letter as it is, in JSON (also inside of strings), in an address and in url-safe base64. The
 * pattern of backslashes before an escape also matches the backslash of the escape.
 */
const composePattern = (letter: string) => {
  const isRun = letter.startsWith("\\");
  const one = isRun ? "\\" : letter;
  const units = Array.from({ length: one.length }, (_, at) => one.charCodeAt(at).toString(16).padStart(4, "0"));
  const bytes = Array.from(Buffer.from(one), (byte) => byte.toString(16).padStart(2, "0"));
  const spellings = [
    units.map((unit) => `\\\\*u${unit}`).join(""),
    bytes.map((byte) => `%(?:25)*${byte}`).join(""),
    `${/[\p{L}\p{N}\\]/u.test(one) ? "" : "\\\\*"}\\u{${one.codePointAt(0)?.toString(16)}}`,
    ...(one < " " ? [`\\\\*${JSON.stringify(one).slice(2, -1)}`] : []),
    ...(one === " " ? ["\\+"] : one === "+" ? ["-"] : one === "/" ? ["_"] : []),
  ];
  return `(?:${spellings.map((spelling) => (isRun ? `(?:${spelling})+` : spelling)).join("|")})`;
};

const base64End = /[\w+/-]{0,2}(?:=|%3D|\\u003d){0,2}/iuy;

const matchEnd = (pattern: RegExp, text: string, from: number) => {
  pattern.lastIndex = from;
  return pattern.test(text) ? pattern.lastIndex : undefined;
};

/** Matches the end of a text that was cut, maybe inside of an escape. */
const cutPattern = /(?:[%\\]\w{0,8})? ?(?=…)/iuy;

/** Also finds the start of a secret in a text that was cut. */
const findEnd = (letters: readonly RegExp[], text: string, from: number) => {
  let end = from;
  for (const letter of letters) {
    const next = matchEnd(letter, text, end);
    if (next === undefined) return matchEnd(cutPattern, text, end);
    end = next;
  }
  return end;
};

const redactSpelling = (text: string, { letters, head, isBase64 }: Spelling) => {
  let kept = "";
  let copied = 0;
  head.lastIndex = 0;
  for (let match = head.exec(text); match; match = head.exec(text)) {
    const end = findEnd(letters, text, match.index);
    head.lastIndex = match.index + 1;
    if (end === undefined) continue;
    kept += text.slice(copied, match.index) + redacted;
    copied = isBase64 ? (matchEnd(base64End, text, end) ?? end) : end;
    head.lastIndex = copied;
  }
  return copied === 0 ? text : kept + text.slice(copied);
};

const replaceInStrings = (json: string, change: (text: string, isName: boolean) => string) => {
  const parts: string[] = [];
  let copied = 0;
  let open = json.indexOf('"');
  while (open >= 0) {
    const end = endOfString(json, open + 1);
    const text = json.slice(open + 1, end - 1);
    const changed = change(text, /^\s*:/.test(json.slice(end, end + 16)));
    if (changed !== text) {
      // A redaction may leave half of an escape.
      const isWhole = parseJson(`"${changed}"`) !== undefined;
      parts.push(json.slice(copied, open), `"${isWhole ? changed : redacted}"`);
      copied = end;
    }
    open = json.indexOf('"', end);
  }
  return parts.join("") + json.slice(copied);
};

/** Finds the passwords in URLs, and the values of options such as `--api-key`. */
export const findArgvSecrets = (args: readonly string[]) =>
  args.flatMap((word) => {
    const [, option = "", value = ""] = /^--?([\w-]+)=(.+)$/s.exec(word) ?? [];
    const isSecret = /token(?!s)|key|password|passwd|secret|credential|auth/i.test(option);
    const found = [...findPasswords(word), ...(isSecret ? [value] : [])];
    return found.flatMap((secret) => [secret, decodePercent(secret)]);
  });

/** Returns all texts from a colon to the last @, because a malformed URL has no clear password. */
const findPasswords = (word: string) => {
  const url = /^\w+:\/\//.test(word) && URL.canParse(word) ? new URL(word) : undefined;
  // In a valid URL without user and port, the @ does not end a password.
  if (url && `${url.username}${url.password}${url.port}` === "") return [];
  const start = word.slice(0, Math.max(0, word.lastIndexOf("@")));
  // Each match begins at the start of a word, so that the search takes linear time.
  const user = /(?:(?<![a-z\d+.-])[\d+.-]*[a-z][a-z\d+.-]*:[/\\]*|[/\\]{2})(.*)/is.exec(start)?.[1] ?? "";
  return Array.from(user.matchAll(/:/g), ({ index }) => user.slice(index + 1));
};
