/** Ids of models: the words and globs that mean them, and the one that was probably meant by an id that none has. */
import { nearest } from "../nearest.ts";

/** What a pattern is held against. */
interface Named {
  readonly id: string;
  readonly name: string;
}

/**
 * Whether all words of a pattern hold: letters in any case, anywhere in the id or name; with `*` or `?` a glob over the
 * whole id (promises.md, "Commands").
 */
export const matchesPattern = (pattern: string): ((named: Named) => boolean) => {
  const words = pattern
    .toLowerCase()
    .split(/\s+/)
    .filter((word) => word !== "")
    .map(matchesWord);
  return ({ id, name }) => {
    const lower = { id: id.toLowerCase(), name: name.toLowerCase() };
    return words.every((matches) => matches(lower));
  };
};

const matchesWord = (word: string): ((named: Named) => boolean) => {
  if (!/[*?]/.test(word)) return ({ id, name }) => id.includes(word) || name.includes(word);
  const glob = Array.from(word);
  return ({ id }) => matchesGlob(Array.from(id), glob);
};

/** `*` is any run of characters, `?` any one. Takes at most as many steps as both are long, multiplied. */
const matchesGlob = (text: readonly string[], glob: readonly string[]): boolean => {
  let at = 0;
  let of = 0;
  let star: { readonly of: number; at: number } | undefined;
  while (at < text.length) {
    if (glob[of] === "*") star = { of: of++, at };
    else if (glob[of] === "?" || glob[of] === text[at]) [at, of] = [at + 1, of + 1];
    else if (star === undefined) return false;
    else [at, of] = [++star.at, star.of + 1];
  }
  return glob.slice(of).every((one) => one === "*");
};

/** The part of an id behind its last slash, in lower case. */
export const lastPart = (id: string): string => id.slice(id.lastIndexOf("/") + 1).toLowerCase();

/** The id that differs by letters in other case, by what stands before its name, or by a few mistakes. */
export const nearestId = (id: string, all: readonly string[]): string | undefined => {
  const ids = id === "" ? [] : all.filter((one) => one !== "");
  const lower = id.toLowerCase();
  return (
    ids.find((one) => one.toLowerCase() === lower) ??
    ids.find((one) => lastPart(one) === lastPart(id)) ??
    nearest(id, ids) ??
    onlyWith(lower, ids)
  );
};

const onlyWith = (part: string, ids: readonly string[]): string | undefined => {
  const found = new Set(ids.filter((one) => one.toLowerCase().includes(part)));
  return found.size === 1 ? [...found][0] : undefined;
};
