/** Finds the words in which a text differs from another text. */

export interface Piece {
  readonly text: string;
  /** True for words that the other text lacks. */
  readonly isNew: boolean;
}

/** Maximum product of the numbers of words of two compared texts. */
const maxComparisons = 500_000;

/** Splits a text into words and signs with the blanks after them. */
const splitWords = (text: string): readonly string[] => text.match(/(?:[\p{L}\p{N}_]+|[^\p{L}\p{N}_])\s*/gu) ?? [];

/** Splits a text into pieces that another text has and pieces that it lacks. */
export const findDifferences = (text: string, other: string): readonly Piece[] => {
  const words = splitWords(text);
  const own = words.map((word) => word.trim());
  const others = splitWords(other).map((word) => word.trim());
  const shortest = Math.min(own.length, others.length);
  let [head, tail] = [0, 0];
  while (head < shortest && own[head] === others[head]) head++;
  while (tail < shortest - head && own.at(-1 - tail) === others.at(-1 - tail)) tail++;
  const middle = own.slice(head, own.length - tail);
  const shared = findShared(middle, others.slice(head, others.length - tail));
  const pieces: Piece[] = [];
  for (const [at, word] of words.entries()) {
    const isNew = at >= head && at < own.length - tail && shared[at - head] !== 1;
    const last = pieces.at(-1);
    if (last !== undefined && last.isNew === isNew) pieces.splice(-1, 1, { isNew, text: last.text + word });
    else pieces.push({ isNew, text: word });
  }
  return pieces;
};

/** Marks the words of the longest common subsequence with 1. */
const findShared = (own: readonly string[], others: readonly string[]): Uint8Array => {
  const shared = new Uint8Array(own.length);
  const width = others.length + 1;
  if (own.length * width > maxComparisons) return shared;
  /** Length of the longest common subsequence from a word of each text on. */
  const lengths = new Uint16Array((own.length + 1) * width);
  const lengthAt = (a: number, b: number): number => lengths[a * width + b] ?? 0;
  for (let a = own.length - 1; a >= 0; a--) {
    for (let b = others.length - 1; b >= 0; b--) {
      const isEqual = own[a] === others[b];
      lengths[a * width + b] = isEqual ? lengthAt(a + 1, b + 1) + 1 : Math.max(lengthAt(a + 1, b), lengthAt(a, b + 1));
    }
  }
  for (let a = 0, b = 0; a < own.length && b < others.length; ) {
    if (own[a] === others[b]) {
      shared[a++] = 1;
      b++;
    } else if (lengthAt(a + 1, b) >= lengthAt(a, b + 1)) a++;
    else b++;
  }
  return shared;
};
