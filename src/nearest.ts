/** Finds the name that was probably meant. */

/** Returns the candidate nearest to `word`, ignoring case; undefined if none is near. */
export const findNearest = (word: string, candidates: Iterable<string>): string | undefined => {
  const typed = word.toLowerCase();
  const maxEdits = Math.min(typed.length <= 3 ? 1 : typed.length <= 6 ? 2 : 3, Math.max(typed.length, 1) - 1);
  let best: { readonly candidate: string; readonly edits: number } | undefined;
  for (const candidate of candidates) {
    const edits = editDistance(typed, candidate.toLowerCase());
    if (edits <= maxEdits && edits < (best?.edits ?? Number.POSITIVE_INFINITY)) best = { candidate, edits };
  }
  return best?.candidate ?? findByPart(typed, candidates);
};

/** Returns the only candidate that begins with the word, or has it between dots. */
const findByPart = (word: string, candidates: Iterable<string>): string | undefined => {
  if (word.length < 2) return undefined;
  const found = [...candidates].filter((candidate) => {
    const text = candidate.toLowerCase();
    return text.startsWith(word) || text.split(".").includes(word);
  });
  return found.length === 1 ? found[0] : undefined;
};

/** Counts added, removed, replaced and swapped letters between two words; infinite if surely over 3. */
const editDistance = (a: string, b: string): number => {
  if (Math.abs(a.length - b.length) > 3) return Number.POSITIVE_INFINITY;
  const rows = [Array.from({ length: b.length + 1 }, (_, index) => index)];
  for (let i = 1; i <= a.length; i++) {
    const [twoAbove = [], above = []] = i > 1 ? rows.slice(i - 2) : [[], ...rows];
    const row = [i];
    rows.push(row);
    for (let j = 1; j <= b.length; j++) {
      const replaced = (above[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      const isSwap = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      const swapped = isSwap ? (twoAbove[j - 2] ?? 0) + 1 : replaced;
      row.push(Math.min((row[j - 1] ?? 0) + 1, (above[j] ?? 0) + 1, replaced, swapped));
    }
  }
  return rows[a.length]?.[b.length] ?? Number.POSITIVE_INFINITY;
};
