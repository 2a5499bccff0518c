/** NaN and Infinity, which Python writes and JSON has not. */
import { endOfValue, quote } from "../json/walk.ts";

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
