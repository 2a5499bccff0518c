/** Expands `*` and `?` in paths, for shells that leave that to the program (Windows). */
import { readdir, stat } from "node:fs/promises";

/** Whether a path holds a pattern. */
export const isGlob = (path: string): boolean => /[*?]/.test(path);

/** The files that match a pattern, by name; none where nothing does. `**` is any number of folders. */
export const expandGlob = async (pattern: string): Promise<readonly string[]> => {
  const segments = pattern.replaceAll("\\", "/").split("/");
  const root = segments[0] === "" || /^[A-Za-z]:$/.test(segments[0] ?? "") ? `${segments.shift() ?? ""}/` : "";
  const found = await matching(root, segments);
  return found.toSorted((a, b) => (a < b ? -1 : 1));
};

const matching = async (folder: string, [first, ...rest]: readonly string[]): Promise<readonly string[]> => {
  if (first === undefined) return [];
  if (!isGlob(first)) {
    const path = `${folder}${first}`;
    return rest.length === 0 ? await existing(path) : await matching(`${path}/`, rest);
  }
  const entries = await readdir(folder === "" ? "." : folder, { withFileTypes: true }).catch(() => []);
  const deeper = first === "**" ? [await matching(folder, rest)] : [];
  const pattern = patternOf(first);
  for (const entry of entries) {
    const path = `${folder}${entry.name}`;
    if (first === "**") {
      if (entry.isDirectory()) deeper.push(await matching(`${path}/`, ["**", ...rest]));
    } else if (pattern.test(entry.name)) {
      deeper.push(rest.length === 0 ? await existing(path) : await matching(`${path}/`, rest));
    }
  }
  return deeper.flat();
};

const existing = async (path: string): Promise<readonly string[]> =>
  await stat(path).then(
    (facts) => (facts.isDirectory() ? [] : [path]),
    () => [],
  );

/** A segment's pattern; a name that begins with a dot is only matched where the pattern does too. */
const patternOf = (segment: string): RegExp => {
  const source = segment
    .replaceAll(/[\\^$.|+()[\]{}]/g, "\\$&")
    .replaceAll("*", ".*")
    .replaceAll("?", ".");
  return new RegExp(`^${segment.startsWith(".") ? "" : "(?!\\.)"}${source}$`, "is");
};
