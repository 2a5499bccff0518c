/** The ids of models in any list: patterns, their order, and similar ids. */
import { findNearest } from "../nearest.ts";

interface ModelNames {
  readonly id: string;
  readonly name: string;
}

/** Compiles a pattern. Each word must be in the id or name, in any case. With `*` or `?` it is a glob over the id. */
export const compilePattern = (pattern: string): ((names: ModelNames) => boolean) => {
  const words = pattern.toLowerCase().split(/\s+/).filter(Boolean);
  const globs = words.map((word) => (/[*?]/.test(word) ? Array.from(word) : undefined));
  return (names) => {
    const [id, name] = [names.id.toLowerCase(), names.name.toLowerCase()];
    return words.every((word, at) => {
      const glob = globs[at];
      return glob === undefined ? id.includes(word) || name.includes(word) : matchesGlob(Array.from(id), glob);
    });
  };
};

/** `*` matches any characters, `?` one character. Takes at most text × glob steps, unlike a regular expression. */
const matchesGlob = (text: readonly string[], glob: readonly string[]): boolean => {
  let [at, of] = [0, 0];
  let star: { readonly of: number; at: number } | undefined;
  while (at < text.length) {
    if (glob[of] === "*") star = { of: of++, at };
    else if (glob[of] === "?" || glob[of] === text[at]) [at, of] = [at + 1, of + 1];
    else if (star === undefined) return false;
    else [at, of] = [++star.at, star.of + 1];
  }
  return glob.slice(of).every((one) => one === "*");
};

/** Compares texts in an order that does not depend on the language. */
export const compareCodeUnits = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

/** Finds a similar id: with the same part after the slash, with few mistakes, or the only id that contains it. */
export const findNearestId = (id: string, ids: readonly string[]): string | undefined => {
  if (id === "") return undefined;
  const suffixOf = (one: string): string => one.slice(one.lastIndexOf("/") + 1).toLowerCase();
  const containing = new Set(ids.filter((one) => one.toLowerCase().includes(id.toLowerCase())));
  return (
    ids.find((one) => suffixOf(one) === suffixOf(id)) ??
    findNearest(id, ids) ??
    (containing.size === 1 ? [...containing][0] : undefined)
  );
};
