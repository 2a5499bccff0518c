/** Redacts secrets that are plain, encoded, folded or truncated. */
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
  const letters = Array.from(text);
  const heads = letters.slice(0, headLength);
  const patterns = heads.map((letter) => `(?:${listPatterns(letter).toReversed().join("|")})`);
  return { letters, head: new RegExp(patterns.join(`(?:${lineBreak})?`), "giu"), inNames, isBase64 };
};

/** White space and tags may break a secret. */
const breakStart = "=?(?:\\s|(?:\\\\r)?\\\\n)|%0D%0A|%0A|&#10;|<[^<>]{0,200}>";
const lineBreak = `(?:${breakStart})(?:${breakStart}|[>|│])*`;
const lineBreakPattern = new RegExp(lineBreak, "iuy");
/** The letters after the white space, such as `%0a` or `>`, can be letters of the secret. */
const whiteSpacePattern = /=?\s+/iuy;
const base64End = /[\w+/-]{0,2}(?:=|%3D|\\u003d|&#61;|\\=){0,2}/iuy;

const entityNames: Readonly<Record<string, string>> = { "&": "amp", "<": "lt", ">": "gt", '"': "quot", "'": "apos" };

const listPatterns = (letter: string) => {
  const code = letter.codePointAt(0) ?? 0;
  const units = Array.from({ length: letter.length }, (_, at) => letter.charCodeAt(at).toString(16).padStart(4, "0"));
  const bytes = Array.from(Buffer.from(letter), (byte) => byte.toString(16).padStart(2, "0"));
  const escapeBytes = (prefix: string) => bytes.map((byte) => prefix + byte).join("");
  const octal = Array.from(Buffer.from(letter), (byte) => `\\\\+0*${byte.toString(8)}`);
  const named = entityNames[letter];
  const codePoint = `\\u{${code.toString(16)}}`;
  return [
    ...(letter === "\\" ? ["\\\\", "\\\\{2}", "\\\\{4}"] : [`\\\\*${codePoint}`]),
    units.map((unit) => `\\\\+u${unit}`).join(""),
    ...["%(?:25)*", "\\\\+x", "="].map(escapeBytes),
    octal.join(""),
    ...(code < 256 ? [`\\\\+x${code.toString(16).padStart(2, "0")}`] : []),
    `\\\\+u\\{0*${code.toString(16)}\\}`,
    `&(?:amp;)*#0*${code};`,
    `&(?:amp;)*#x0*${code.toString(16)};`,
    ...(named === undefined ? [] : [`&(?:amp;)*(?:${named});`]),
    ...(letter === " " ? ["\\+"] : letter === "+" ? ["-"] : letter === "/" ? ["_"] : []),
    ...(letter === "'" ? ["'\\\\+''", `'"'"'`] : []),
    ...(letter < " " ? [JSON.stringify(letter).slice(1, -1).replace("\\", "\\\\")] : []),
  ];
};

const patterns = new Map<string, readonly RegExp[]>();
const getPatterns = (letter: string) => {
  const known = patterns.get(letter) ?? listPatterns(letter).map((one) => new RegExp(one, "iuy"));
  patterns.set(letter, known);
  return known;
};

const matchEnd = (pattern: RegExp, text: string, from: number) => {
  pattern.lastIndex = from;
  return pattern.test(text) ? pattern.lastIndex : undefined;
};

/** Matches the end of a truncated text, which may be a part of an escape. */
const truncationPattern = /(?:[%&=\\'][#{'\w]{0,8})?(?=…)/iuy;

/** Returns all possible end positions, because a backslash can be a letter or begin an escape. */
const findEnds = (letters: readonly string[], text: string, from: number) => {
  let ends: readonly number[] = [from];
  for (const letter of letters) {
    const next = new Set<number>();
    for (const end of ends) {
      const breaks = [whiteSpacePattern, lineBreakPattern].map((pattern) => matchEnd(pattern, text, end));
      for (const start of new Set([end, ...breaks])) {
        if (start === undefined) continue;
        for (const pattern of getPatterns(letter)) {
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

const redactSpelling = (text: string, { letters, head, isBase64 }: Spelling) => {
  let kept = "";
  let copied = 0;
  head.lastIndex = 0;
  for (let match = head.exec(text); match; match = head.exec(text)) {
    const ends = findEnds(letters, text, match.index);
    head.lastIndex = match.index + 1;
    if (ends.length === 0) continue;
    const end = Math.max(...ends);
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
