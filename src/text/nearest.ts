/** Compares names: in snake case, and with the name that the user probably meant. */

/** For example, `maxTokens` becomes `max_tokens`. */
export const toSnakeCase = (name: string) => name.replace(/(?<=[a-z\d])[A-Z]/g, "_$&").toLowerCase();

export const findNearest = (word: string, candidates: Iterable<string>): string | undefined => {
  const typed = word.toLowerCase();
  // If the edits could replace all letters, every short name would be near.
  const maxEdits = Math.min(typed.length <= 4 ? 1 : typed.length <= 6 ? 2 : 3, Math.max(typed.length, 1) - 1);
  const near = Array.from(candidates, (name) => ({ name, edits: countEdits(typed, name.toLowerCase()) }));
  return near.filter(({ edits }) => edits <= maxEdits).sort((a, b) => a.edits - b.edits)[0]?.name;
};

const countEdits = (a: string, b: string) => {
  const rows = [Array.from({ length: b.length + 1 }, (_, index) => index)];
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    rows.push(row);
    for (let j = 1; j <= b.length; j++) {
      const before = (up: number, left: number) => rows[i - up]?.[j - left] ?? 0;
      const replaced = before(1, 1) + (a[i - 1] === b[j - 1] ? 0 : 1);
      const isSwap = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      row.push(Math.min(before(0, 1) + 1, before(1, 0) + 1, replaced, isSwap ? before(2, 2) + 1 : replaced));
    }
  }
  return rows[a.length]?.[b.length] ?? 0;
};
