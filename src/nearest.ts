/** Finds the name that the user probably meant, ignoring case. */

export const findNearest = (word: string, candidates: Iterable<string>) => {
  const typed = word.toLowerCase();
  // `maxEdits` is less than the number of letters, because otherwise every short name would be near.
  const maxEdits = Math.min(typed.length <= 4 ? 1 : typed.length <= 6 ? 2 : 3, Math.max(typed.length, 1) - 1);
  const near = Array.from(candidates, (name) => ({ name, edits: countEdits(typed, name.toLowerCase()) }));
  return near.filter(({ edits }) => edits <= maxEdits).sort((a, b) => a.edits - b.edits)[0]?.name;
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
