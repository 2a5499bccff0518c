/** What JSON of records says as it is spelled: its strings, and NaN and Infinity, which Python writes and JSON has not. */
import { endOfValue, quote } from "../../json/walk.ts";

/** What the string from `start`, its quote, up to `end` says. */
export const wordAt = (bytes: Buffer, start: number, end: number): string => {
  const length = end - start - 2;
  if (length > longestKnown || length < 1) return decoded(bytes, start, end);
  const middle = bytes[start + 1 + (length >> 1)] ?? 0;
  const slot = (31 * length + 7 * (bytes[start + 1] ?? 0) + 5 * middle + (bytes[end - 2] ?? 0)) % knownWords.length;
  const known = knownWords[slot];
  if (known?.length === length && isSaid(known, bytes, start + 1)) return known;
  const word = decoded(bytes, start, end);
  // Of what is beyond ASCII, the bytes are not the characters.
  if (word.length === length) knownWords[slot] = word;
  return word;
};

/** Short words that were read before: keys and roles, which each record has again. A call into Node takes longer than comparing them. */
const knownWords: (string | undefined)[] = Array.from({ length: 2 ** 10 });
const longestKnown = 24;

const decoded = (bytes: Buffer, start: number, end: number): string => {
  const within = bytes.toString("utf8", start + 1, end - 1);
  return within.includes("\\") ? String(JSON.parse(`"${within}"`)) : within;
};

/** Whether bytes are the characters of a word. */
export const isSaid = (word: string, bytes: Uint8Array, start: number): boolean => {
  for (let at = 0; at < word.length; at++) if (bytes[start + at] !== word.charCodeAt(at)) return false;
  return true;
};

/** First bytes of NaN, Infinity and -Infinity. */
const firstOfWords: ReadonlySet<number> = new Set([0x4e, 0x49, 0x2d]);

/** NaN and Infinity as empty objects, each with as many bytes as before, so that all else stays where it is. */
export const withoutNonFinite = (bytes: Buffer): Buffer => {
  const own = Buffer.from(bytes);
  for (let at = 0; at < own.length; ) {
    if (own[at] === quote) at = endOfValue(own, at);
    else if (!firstOfWords.has(own[at] ?? 0)) at++;
    else {
      const word = /^(?:NaN|-?Infinity)?/.exec(own.toString("latin1", at, at + 9))?.[0] ?? "";
      if (word !== "") own.write("{}".padEnd(word.length), at);
      at += Math.max(1, word.length);
    }
  }
  return own;
};
