/** Computes digests of texts that are compared within one run. */

const [oddNumber, otherOddNumber] = [0x01000193, 0x9e3779b1];

/** Extends the digest of a text by more text. Millions of texts need more than 32 bits. */
export const extendDigest = (digest: number, text: string) => {
  let [low, high] = [digest | 0, Math.floor(digest / 2 ** 32) << 12];
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    low = Math.imul(low ^ code, oddNumber);
    high = Math.imul(high + code, otherOddNumber);
  }
  // A digest begins with the end of another one, so the last characters must change all of its bits.
  low = Math.imul(low ^ (low >>> 15), otherOddNumber);
  return (high >>> 12) * 2 ** 32 + ((low ^ (low >>> 13)) >>> 0);
};
