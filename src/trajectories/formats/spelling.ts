/** What JSON of records says as it is spelled: its strings, and NaN and Infinity, which Python writes and JSON has not. */
import { endOfValue, quote } from "../../json/walk.ts";

/** What the string from `start`, its quote, up to `end` says. */
export const wordAt = (bytes: Buffer, start: number, end: number): string => {
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
