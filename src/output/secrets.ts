/** Finds secrets in any spelling. Redacts rollcall's own texts, and omits texts from outside. */

import { endOfString } from "../json/raw-json.ts";
import { decodePercent } from "../system/host.ts";

const redacted = "***";
const omitted = "[text omitted: it contains a credential]";

/** A shorter secret would match other text by chance. */
const minLength = 4;
/** A shorter secret can equal a JSON key such as `data`. */
const minLengthInNames = 8;
/** Fewer letters and digits would match other text by chance. */
const minLetters = 6;
/** Fewer letters before a cut would match other text by chance. */
const minCutLetters = 4;

export const openSecrets = () => {
  // The longest secrets come first, because a secret may contain another secret.
  let known: readonly string[] = [];
  let [isIn, isInName] = [createFinder(known), createFinder(known)];
  const omit = (text: string) => (isIn(text) ? omitted : text);
  return {
    add(secret: string) {
      if (known.includes(secret)) return;
      const texts = [secret, ...secret.split(/[\r\n]+/)].map((line) => line.trim());
      const added = texts.filter((text) => text.length >= minLength);
      known = [...new Set([...known, ...added])].sort((a, b) => b.length - a.length);
      isIn = createFinder(known);
      isInName = createFinder(known.filter((text) => text.length >= minLengthInNames));
    },
    /** For a text from outside. */
    omit,
    /** For rollcall's own text. Redacts the words that contain a secret, unless white space divides the secret. */
    redact(text: string) {
      if (!isIn(text)) return text;
      const plain = toPattern(known.map(escapePattern), "giu");
      return omit(text.replace(plain, redacted).replace(/\S+/g, (word) => (isIn(word) ? redacted : word)));
    },
    omitInJson: (json: string) =>
      known.length === 0 ? json : omitStrings(json, (text, isName) => (isName ? isInName : isIn)(text)),
  };
};

const toPattern = (texts: readonly string[], flags?: string) =>
  new RegExp(texts.length === 0 ? "(?!)" : texts.join("|"), flags);

const escapePattern = (text: string) => text.replace(/[$()*+.?[\\\]^{|}/]/g, "\\$&");

/** Finds the letters and digits of secrets, of their hex and of their base64. Finds others exactly. */
const createFinder = (secrets: readonly string[]) => {
  const toHex = (text: string) => Buffer.from(text).toString("hex");
  // A secret can contain letters that look like an escape.
  const spellings = secrets.flatMap((secret) => [...listReadings(secret), toHex(secret), ...listBase64(secret)]);
  const sequences = [...new Set(spellings.map(reduce))].filter((letters) => letters.length >= minLetters);
  const reduced = toPattern([...sequences, ...sequences.map(toStartPattern)]);
  const others = secrets.filter((secret) => reduce(secret).length < minLetters);
  const inJson = others.map((text) => JSON.stringify(text).slice(1, -1));
  const ofBytes = others.map((text) => Buffer.from(text).toString("latin1"));
  const exact = toPattern([...others, ...inJson, ...ofBytes].map(escapePattern), "iu");
  const isInReading = (text: string) => reduce(text).search(reduced) >= 0 || text.search(exact) >= 0;
  const isInWindow = (window: string) => listReadings(window).some(isInReading);
  return (text: string) =>
    secrets.length > 0 && (text.length <= windowLength ? isInWindow(text) : listWindows(text).some(isInWindow));
};

/** A long text is read in windows, because each reading is a copy. They overlap by more than a spelled secret. */
const windowLength = 64 * 1024;
const overlap = 16 * 1024;

const listWindows = (text: string) =>
  Array.from(
    { length: Math.ceil(text.length / (windowLength - overlap)) },
    (_, at) => at * (windowLength - overlap),
  ).map((start) => text.slice(start, start + windowLength));

const cutMark = "-";

/** Matches the start of a secret before a cut. */
const toStartPattern = (letters: string) => {
  const rest = Array.from(letters.slice(minCutLetters, -1)).reduceRight((end, letter) => `(?:${letter}${end})?`, "");
  return `${letters.slice(0, minCutLetters)}${rest}${cutMark}`;
};

/** Includes base64 that begins with other bytes, such as the user name in `Authorization: Basic`. */
const listBase64 = (text: string) =>
  [0, 1, 2].map((before) => {
    const padded = Buffer.concat([Buffer.alloc(before), Buffer.from(text)]);
    // These letters depend only on the text.
    return padded.toString("base64").slice(Math.ceil((before * 8) / 6), Math.floor((padded.length * 8) / 6));
  });

/** Other forms of letters and digits, such as those of full width. */
const letterForms = /[\u017f\u2070-\u214f\u2460-\u24ff\uff10-\uff5a]|\ud835[\udc00-\udfff]/g;

/** Maps letters and digits to lower case, the mark of a cut to one byte, and others to 0. */
const toKept = (code: number) =>
  /[a-z\d]/i.test(String.fromCharCode(code)) ? code | 0x20 : code === 0x2026 ? cutMark.charCodeAt(0) : 0;
const kept = Uint8Array.from({ length: 0x2027 }, (_, code) => toKept(code));

/** A loop is faster than `replace`. */
const reduce = (text: string) => {
  const plain = text.replace(letterForms, (letter) => letter.normalize("NFKC"));
  const letters = Buffer.allocUnsafe(plain.length);
  let length = 0;
  for (let at = 0; at < plain.length; at++) {
    const letter = kept[plain.charCodeAt(at)] ?? 0;
    if (letter !== 0) letters[length++] = letter;
  }
  return letters.toString("latin1", 0, length);
};

/** JSON in strings and URLs in URLs are escaped several times. */
const maxDecodings = 4;

/** Returns the text, and the texts that its escapes can mean. */
const listReadings = (text: string) => {
  if (!/[<\\%&=\u001b]|0x/i.test(text)) return [text];
  const join = (reading: string) => reading.replace(breaks, "");
  const follow = (reading: string, change: (text: string) => string, count = 0): readonly string[] => {
    const changed = change(reading);
    return changed === reading || count === maxDecodings ? [reading] : [reading, ...follow(changed, change, count + 1)];
  };
  // A sequence such as `=ab` or `0xab` is an escape, or a part of a value.
  const [escapesOnly, joined] = [follow(text, (one) => decode(one, /^(?:=|0x)/i)), join(text)];
  const quotedPrintable = follow(joined, (one) => join(decode(one, /^0x/i)));
  const hasHex = quotedPrintable.some((one) => /0x[\da-f]/i.test(one));
  return [...escapesOnly, ...quotedPrintable, ...(hasHex ? follow(joined, (one) => join(decode(one))) : [])];
};

/** White space inside of an escape, tags and colors. */
const breaks = /\s(?<=[\\%&=][#ux\da-f\s]{0,12}\s)|<[^<>]*>|\u001b\[[\d;]*m/gi;

/** Escapes of programming languages, URLs, quoted-printable and HTML, and the start of one that was cut. */
const escapes =
  /(?<!\\)\\+(?:u([\da-f]{4})|u\{([\da-f]{1,6})\}|x([\da-f]{2})|([0-7]{3})|[bfnrtv])|%u([\da-f]{4})|(?:0x|[%=])([\da-f]{2})|&#x([\da-f]{1,6});?|&#(\d{1,7});?|&([a-z]{2,8});|[\\%&=]#?x?[\da-f]{0,6}(?=\s?…)/gi;
const radixes = [16, 16, 16, 8, 16, 16, 16, 10];

const entities: Readonly<Record<string, string>> = { amp: "&", lt: "<", gt: ">", quot: '"', apos: "'" };

const decode = (text: string, literal?: RegExp) =>
  text.replace(escapes, (spelled, ...parts: (string | undefined)[]) => {
    if (literal?.test(spelled)) return spelled;
    const at = parts.slice(0, radixes.length).findIndex((part) => part !== undefined);
    if (at < 0) return entities[parts[radixes.length]?.toLowerCase() ?? ""] ?? " ";
    const code = Number.parseInt(parts[at] ?? "", radixes[at]);
    return code <= 0x10ffff ? String.fromCodePoint(code) : " ";
  });

const omitStrings = (json: string, isOmitted: (text: string, isName: boolean) => boolean) => {
  let [result, copied] = ["", 0];
  for (let open = json.indexOf('"'), end = 0; open >= 0; open = json.indexOf('"', end)) {
    end = endOfString(json, open + 1);
    const isName = /^\s*:/.test(json.slice(end, end + 16));
    if (!isOmitted(json.slice(open + 1, end - 1), isName)) continue;
    result += `${json.slice(copied, open)}"${omitted}"`;
    copied = end;
  }
  return result + json.slice(copied);
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
