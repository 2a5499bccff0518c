/** Splits a command line into words as a shell would, without a shell: quotes and backslashes, no expansion. */

/**
 * The words of a command line; undefined where a quote or a last backslash is left open.
 * On Windows a backslash is itself, as in paths, unless it stands before a double quote.
 */
export const splitCommandLine = (
  line: string,
  { windows }: { readonly windows: boolean },
): readonly string[] | undefined => {
  const words: string[] = [];
  let word: string | undefined;
  let at = 0;
  const escapes = (next: string | undefined, quoted: boolean): boolean =>
    windows ? next === '"' : !quoted || (next !== undefined && '"\\$`\n'.includes(next));
  while (at < line.length) {
    const character = line[at] ?? "";
    const next = line[at + 1];
    if (/\s/.test(character)) {
      if (word !== undefined) words.push(word);
      word = undefined;
      at++;
    } else if (character === "\\" && escapes(next, false)) {
      if (next === undefined) return undefined;
      word = (word ?? "") + next;
      at += 2;
    } else if (character === "'" && !windows) {
      const close = line.indexOf("'", at + 1);
      if (close < 0) return undefined;
      word = (word ?? "") + line.slice(at + 1, close);
      at = close + 1;
    } else if (character === '"') {
      const quoted = readQuoted(line, at + 1, (following) => escapes(following, true));
      if (quoted === undefined) return undefined;
      word = (word ?? "") + quoted.text;
      at = quoted.end;
    } else {
      word = (word ?? "") + character;
      at++;
    }
  }
  if (word !== undefined) words.push(word);
  return words;
};

/** What stands in double quotes from `at` on, and the offset behind the closing one. */
const readQuoted = (
  line: string,
  at: number,
  escapes: (next: string | undefined) => boolean,
): { readonly text: string; readonly end: number } | undefined => {
  let text = "";
  let offset = at;
  while (offset < line.length) {
    const character = line[offset] ?? "";
    if (character === '"') return { text, end: offset + 1 };
    if (character === "\\" && escapes(line[offset + 1])) offset++;
    text += line[offset] ?? "";
    offset++;
  }
  return undefined;
};
