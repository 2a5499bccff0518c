/** The known word that a mistyped one was meant to be. */

/** The nearest of the words, where one is near enough to be meant. */
export const nearest = (typed: string, words: Iterable<string>): string | undefined => {
  const wanted = plain(typed);
  let best: { readonly word: string; readonly distance: number } | undefined;
  for (const word of words) {
    const distance = editDistance(wanted, plain(word));
    if (best === undefined || distance < best.distance) best = { word, distance };
  }
  // A third of the letters wrong, at most, and always one.
  return best !== undefined && best.distance <= Math.max(1, Math.floor(typed.length / 3)) ? best.word : undefined;
};

const plain = (word: string): string => word.toLowerCase().replaceAll("-", "_");

/** Number of letters to insert, leave out, replace or swap with their neighbour. */
const editDistance = (from: string, to: string): number => {
  // Longer than any name there is: no need to compare.
  if (from.length > 100) return Number.POSITIVE_INFINITY;
  let before: number[] = [];
  let row = Array.from({ length: to.length + 1 }, (_, index) => index);
  for (let i = 1; i <= from.length; i++) {
    const next = [i];
    for (let j = 1; j <= to.length; j++) {
      const same = from[i - 1] === to[j - 1];
      const swapped = i > 1 && j > 1 && from[i - 1] === to[j - 2] && from[i - 2] === to[j - 1];
      next[j] = Math.min(
        (row[j] ?? 0) + 1,
        (next[j - 1] ?? 0) + 1,
        (row[j - 1] ?? 0) + (same ? 0 : 1),
        swapped ? (before[j - 2] ?? 0) + 1 : Number.POSITIVE_INFINITY,
      );
    }
    before = row;
    row = next;
  }
  return row[to.length] ?? 0;
};
