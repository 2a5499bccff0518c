/** Finds the word that was probably meant. */

/** Mistakes apart that a word may be to be taken for another. */
const maxMistakes = (word: string): number => (word.length <= 3 ? 1 : word.length <= 6 ? 2 : 3);

/** The candidate nearest to `word`, letters in any case; undefined where none is near. */
export const findNearest = (word: string, candidates: Iterable<string>): string | undefined => {
  const meant = word.toLowerCase();
  let best: { readonly candidate: string; readonly mistakes: number } | undefined;
  for (const candidate of candidates) {
    const mistakes = editDistance(meant, candidate.toLowerCase());
    const near = mistakes <= maxMistakes(meant) && mistakes < Math.max(meant.length, 1);
    if (near && mistakes < (best?.mistakes ?? Number.POSITIVE_INFINITY)) best = { candidate, mistakes };
  }
  return best?.candidate ?? findByPart(meant, candidates);
};

/** So many names, of so many characters each, are looked up by what is left of them without one character. */
const maxIndexedNames = 4000;
const maxIndexedChars = 40;

/** The same for many words among many names: they are looked up, not compared each with each; a mistake more is not seen. */
export const makeNearestFinder = (names: ReadonlySet<string>): ((word: string) => string | undefined) => {
  let known: Map<string, string> | undefined;
  return (word) => {
    known ??= indexShortenedForms(names);
    for (const one of listShortenedForms(word)) {
      const name = known.get(one);
      if (name !== undefined) return name;
    }
    return undefined;
  };
};

const indexShortenedForms = (names: ReadonlySet<string>): Map<string, string> => {
  const known = new Map<string, string>();
  let count = 0;
  for (const name of names) {
    const all = ++count <= maxIndexedNames ? listShortenedForms(name) : [toLettersAndDigits(name)];
    for (const one of all) if (!known.has(one)) known.set(one, name);
  }
  return known;
};

/** A word's letters and digits. */
const toLettersAndDigits = (word: string): string => word.toLowerCase().replaceAll(/[^\p{L}\p{N}]/gu, "");

/** A word's letters and digits, and what is left of them without each one: two words that have one of these alike are one mistake apart, or two. */
const listShortenedForms = (word: string): readonly string[] => {
  const own = toLettersAndDigits(word);
  if (own.length > maxIndexedChars || own.length < 4) return [own];
  return [own, ...Array.from(own, (_, at) => own.slice(0, at) + own.slice(at + 1))];
};

/** Dotted names, those first that are most like `path`, by their last part or as a whole; others as they stood. */
export const sortByNearness = (path: string, names: readonly string[]): readonly string[] => {
  const meant = path.toLowerCase();
  const last = meant.slice(meant.lastIndexOf(".") + 1);
  const rankedDistance = (name: string): number => {
    const text = name.toLowerCase();
    return Math.min(
      editDistance(meant, text),
      ...text.split(".").map((part) => editDistance(last, part)),
      maxRankedDistance,
    );
  };
  const ranked = names.map((name) => ({ name, far: rankedDistance(name) }));
  return ranked.sort((a, b) => a.far - b.far).map(({ name }) => name);
};

/** From so many mistakes on a name is another one. */
const maxRankedDistance = 4;

/** The only candidate that begins with, or ends in a part that is, the word. */
const findByPart = (word: string, candidates: Iterable<string>): string | undefined => {
  if (word.length < 2) return undefined;
  const found = [...candidates].filter((candidate) => {
    const text = candidate.toLowerCase();
    return text.startsWith(word) || text.split(".").includes(word);
  });
  return found.length === 1 ? found[0] : undefined;
};

/** Mistakes between two words: a letter more, less, another, or two that changed places. */
const editDistance = (a: string, b: string): number => {
  if (Math.abs(a.length - b.length) > 3) return Number.POSITIVE_INFINITY;
  let before: number[] = [];
  let row = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1] === b[j - 1];
      const swapped = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      const at = (cells: readonly number[], index: number) => cells[index] ?? Number.POSITIVE_INFINITY;
      next[j] = Math.min(
        at(next, j - 1) + 1,
        at(row, j) + 1,
        at(row, j - 1) + (same ? 0 : 1),
        swapped ? at(before, j - 2) + 1 : Number.POSITIVE_INFINITY,
      );
    }
    before = row;
    row = next;
  }
  return row[b.length] ?? Number.POSITIVE_INFINITY;
};
