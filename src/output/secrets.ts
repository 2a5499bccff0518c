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
  let [all, inNames] = [createFinder(known), createFinder(known)];
  const omit = (text: string) => (all.isIn(text) ? omitted : text);
  return {
    add(secret: string) {
      if (known.includes(secret)) return;
      const texts = [secret, ...secret.split(/[\r\n]+/)].map((line) => line.trim());
      const added = texts.filter((text) => text.length >= minLength);
      known = [...new Set([...known, ...added])].sort((a, b) => b.length - a.length);
      all = createFinder(known);
      inNames = createFinder(known.filter((text) => text.length >= minLengthInNames));
    },
    /** For a text from outside. */
    omit,
    /** For rollcall's own text. Redacts words with a secret that no white space divides. */
    redact(text: string) {
      if (!all.isIn(text)) return text;
      const plain = known.reduce((rest, secret) => rest.replaceAll(secret, redacted), text);
      return omit(plain.replace(/\S+/g, (word) => (all.isIn(word) ? redacted : word)));
    },
    omitInJson: (json: string) =>
      all.canContain(json) ? omitStrings(json, (text, isName) => (isName ? inNames : all).isIn(text)) : json,
  };
};

/** Finds the letters and digits of secrets, of their hex and of their base64. Finds others exactly. */
const createFinder = (secrets: readonly string[]) => {
  const toHex = (text: string) => Buffer.from(text).toString("hex");
  // A secret can contain letters that look like an escape.
  const spellings = secrets.flatMap((secret) => [...listReadings(secret), toHex(secret), ...listBase64(secret)]);
  const sequences = [...new Set(spellings.map(reduce))].filter((letters) => letters.length >= minLetters);
  const others = secrets.filter((secret) => reduce(secret).length < minLetters);
  const inJson = others.map((text) => JSON.stringify(text).slice(1, -1));
  const ofBytes = others.map((text) => Buffer.from(text).toString("latin1"));
  const exact = [...others, ...inJson, ...ofBytes].map((text) => text.toLowerCase());
  const isExact = (lower: string) => exact.some((text) => lower.includes(text));
  const isInReading = (text: string) =>
    hasSequence(reduce(text), sequences) || (exact.length > 0 && isExact(text.toLowerCase()));
  const canContain = others.length > 0 ? () => true : createFilter(sequences);
  const isInWindow = (window: string) => canContain(window) && listReadings(window).some(isInReading);
  const isIn = (text: string) =>
    text.length <= windowLength ? isInWindow(text) : canContain(text) && listWindows(text).some(isInWindow);
  return { canContain, isIn };
};

/** The first letters of five sequences are the bits of a number. */
const filterLetters = 6;
const filterSequences = 5;

/** Returns false if no reading of a text can contain a sequence, because readings take much time. */
const createFilter = (sequences: readonly string[]) => {
  const count = Math.ceil(sequences.length / filterSequences);
  const starts = Array.from({ length: count }, (_, at) =>
    toMasks(sequences.slice(at * filterSequences, (at + 1) * filterSequences)),
  );
  return (text: string) =>
    count > 0 && (text.includes("…") || hexEscape.test(text) || starts.some((masks) => canFollow(text, masks)));
};

/** Each letter has the bits of its positions. The letter 0 has those of all first letters. */
const toMasks = (sequences: readonly string[]) => {
  const masks = new Int32Array(128);
  const add = (code: number, at: number) => {
    masks[code] = (masks[code] ?? 0) | (1 << at);
  };
  for (const [at, sequence] of sequences.entries()) {
    add(0, at * filterLetters);
    for (let own = 0; own < filterLetters; own++) add(sequence.charCodeAt(own), at * filterLetters + own);
  }
  return masks;
};

/** Follows the starts of sequences through a text, with and without what a reading can leave out. */
const canFollow = (text: string, masks: Int32Array) => {
  const [first = 0] = masks;
  const last = first << (filterLetters - 1);
  let [state, beforeTag, beforeEscape, escapeEnd] = [0, 0, 0, -1];
  for (let at = 0; at < text.length; at++) {
    const letter = kept[text.charCodeAt(at)] ?? 0;
    if (letter > special) {
      state = ((state << 1) | first) & (masks[letter] ?? 0);
      if ((state & last) !== 0) return true;
      if (at === escapeEnd) state |= beforeEscape;
    } else if (letter === special) {
      if (text[at] === "<") beforeTag = state;
      else if (text[at] === ">") state |= beforeTag;
      else {
        simpleEscape.lastIndex = at;
        otherEscape.lastIndex = at;
        if (simpleEscape.test(text)) [beforeEscape, escapeEnd] = [state, simpleEscape.lastIndex - 1];
        else if (otherEscape.test(text)) return true;
      }
    }
  }
  return false;
};

/** An escape of one character that is not a letter, a digit or a form of one, and that begins no other escape. */
const simpleEscape = /\\(?:[bfnrtv]|u(?!00[0-7]|017f|20[27-9a-f]|21|24|d835|ff[1-5])[\da-f]{4})/iy;
const gap = String.raw`\s|\\(?:[bfnrtv]|u[\da-f]{4})|<[^<>]*>`;
/** Anything else that can be an escape, or a form of a letter. */
const otherEscape = new RegExp(
  String.raw`\\(?:[x\d\s<]|u[\da-f\s{<\\])|[%=](?:${gap})*(?:u|[\da-f](?:${gap})*[\da-f])|&(?:(?:${gap})*#|(?:\w|${gap})+;)|[^\\%=&]`,
  "iy",
);
const hexEscape = /0(?:<[^<>]*>)*x/i;

/** A text is read in windows, because each reading is a copy. They overlap by more than a spelled secret. */
const windowLength = 64 * 1024;
const overlap = 16 * 1024;

const listWindows = (text: string) =>
  Array.from(
    { length: Math.ceil(text.length / (windowLength - overlap)) },
    (_, at) => at * (windowLength - overlap),
  ).map((start) => text.slice(start, start + windowLength));

const cutMark = "-";

/** Finds a sequence, or its start before a cut. Nested patterns of long sequences would exceed V8's memory. */
const hasSequence = (text: string, sequences: readonly string[]) => {
  const beforeCuts = text.split(cutMark).slice(0, -1);
  return sequences.some(
    (letters) => text.includes(letters) || beforeCuts.some((piece) => endsWithStart(piece, letters)),
  );
};

const endsWithStart = (piece: string, letters: string) => {
  const start = letters.slice(0, minCutLetters);
  const end = piece.slice(1 - letters.length);
  for (let at = end.indexOf(start); at >= 0; at = end.indexOf(start, at + 1))
    if (letters.startsWith(end.slice(at))) return true;
  return false;
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

/** Marks characters that can begin an escape or a tag, or that are forms of letters. */
const special = 1;

/** Maps letters and digits to lower case, the mark of a cut to one byte, and others to 0 or `special`. */
const kept = new Uint8Array(0x10000);
for (const letter of "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789")
  kept[letter.charCodeAt(0)] = letter.charCodeAt(0) | 0x20;
for (const mark of "\\%=&<>\u001b\u017f\ud835") kept[mark.charCodeAt(0)] = special;
for (const [from, to] of [
  [0x2070, 0x214f],
  [0x2460, 0x24ff],
  [0xff10, 0xff5a],
] as const)
  for (let code = from; code <= to; code++)
    if (/[a-z\d]/i.test(String.fromCharCode(code).normalize("NFKC"))) kept[code] = special;
kept[0x2026] = cutMark.charCodeAt(0);

/** A loop is faster than `replace`. */
const reduce = (text: string) => {
  const plain = text.replace(letterForms, (letter) => letter.normalize("NFKC"));
  const letters = Buffer.allocUnsafe(plain.length);
  let length = 0;
  for (let at = 0; at < plain.length; at++) {
    const letter = kept[plain.charCodeAt(at)] ?? 0;
    if (letter > special) letters[length++] = letter;
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
  /(?<!\\)\\+(?:u(?:0000(?=00[2-7]))?([\da-f]{4})|u\{([\da-f]{1,6})\}|x([\da-f]{2})|([0-7]{3})|[bfnrtv])|%u([\da-f]{4})|(?:0x|[%=](?:25)*)([\da-f]{2})|&(?:amp;)*(?:#x0*([\da-f]{1,6});?|#0*(\d{1,7});?|([a-z\d]{2,31});)|[\\%&=]#?x?[\da-f]{0,6}(?=\s?…)/gi;
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
