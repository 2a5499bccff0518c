/** Finds the name that the user probably meant, ignoring case. */

export const findNearest = (word: string, candidates: Iterable<string>): string | undefined => {
  const typed = word.toLowerCase();
  // `maxEdits` is less than the number of letters, because otherwise every short name would be near.
  const maxEdits = Math.min(typed.length <= 4 ? 1 : typed.length <= 6 ? 2 : 3, Math.max(typed.length, 1) - 1);
  const names = Array.from(candidates, (candidate) => ({ candidate, name: candidate.toLowerCase() }));
  const near = names.map(({ candidate, name }) => ({ candidate, edits: countEdits(typed, name) }));
  const [best] = near.filter(({ edits }) => edits <= maxEdits).toSorted((a, b) => a.edits - b.edits);
  if (best !== undefined || typed.length < 2) return best?.candidate;
  const completions = names.filter(({ name }) => name.startsWith(typed) || name.split(".").includes(typed));
  return completions.length === 1 ? completions[0]?.candidate : undefined;
};

const countEdits = (a: string, b: string) => {
  let twoAbove: readonly number[] = [];
  let above: readonly number[] = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const replaced = (above[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      const isSwap = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      const swapped = isSwap ? (twoAbove[j - 2] ?? 0) + 1 : replaced;
      row.push(Math.min((row[j - 1] ?? 0) + 1, (above[j] ?? 0) + 1, replaced, swapped));
    }
    [twoAbove, above] = [above, row];
  }
  return above[b.length] ?? 0;
};
