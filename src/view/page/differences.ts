/** Finds the words in which a text differs from another text. */

/** Maximum product of the numbers of words of two compared texts. */
const maxComparisons = 500_000;

/** Splits a text into words and signs with the blanks after them. */
const splitWords = (text: string): readonly string[] => text.match(/(?:[\p{L}\p{N}_]+|[^\p{L}\p{N}_])\s*/gu) ?? [];

const trim = (word: string): string => word.trim();

/** Splits a text into pieces that another text has and pieces that it lacks (`isNew`). */
export const findDifferences = (text: string, other: string) => {
  const words = splitWords(text);
  const [own, others] = [words.map(trim), splitWords(other).map(trim)];
  let [head, tail] = [0, 0];
  while (head < own.length && own[head] === others[head]) head++;
  while (tail < Math.min(own.length, others.length) - head && own.at(-1 - tail) === others.at(-1 - tail)) tail++;
  const shared = findShared(own.slice(head, own.length - tail), others.slice(head, others.length - tail));
  const pieces: { text: string; readonly isNew: boolean }[] = [];
  for (const [at, word] of words.entries()) {
    const isNew = at >= head && at < own.length - tail && !shared.has(at - head);
    const last = pieces.at(-1);
    if (last?.isNew === isNew) last.text += word;
    else pieces.push({ text: word, isNew });
  }
  return pieces;
};

/** Returns the positions of the words in the longest common subsequence. */
const findShared = (own: readonly string[], others: readonly string[]): ReadonlySet<number> => {
  const shared = new Set<number>();
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
  for (let [a, b] = [0, 0]; a < own.length && b < others.length; ) {
    if (own[a] === others[b]) {
      shared.add(a++);
      b++;
    } else if (lengthAt(a + 1, b) >= lengthAt(a, b + 1)) a++;
    else b++;
  }
  return shared;
};
