/** Which files the names of a command line stand for: patterns, folders, and what stands below an address. */
import { readdir, stat } from "node:fs/promises";
import type { Problems } from "../check/rules/problems.ts";
import type { Host } from "../host.ts";
import { fileKey, folderAt } from "./folder.ts";
import type { Remotes } from "./remote.ts";
import { isRemote, NothingThere } from "./remote-names.ts";

/** Names as given; patterns expanded where the shell does not. */
export const namesOf = async (files: readonly string[], host: Host): Promise<readonly string[]> => {
  if (host.platform !== "win32") return files;
  const names: string[] = [];
  for (const name of files) {
    const found = isGlob(name) && !isRemote(name) ? await expandGlob(name) : [name];
    // A pattern that matches nothing stays, and is found missing.
    names.push(...(found.length === 0 ? [name] : found));
  }
  return names;
};

/** How names become those of files. */
interface Unfolding {
  readonly problems: Problems;
  readonly remotes: Remotes | undefined;
  readonly foldersToo: boolean;
}

/** Names with the files of folders in their place, each file once; the folder of each of these; and names of files that have another one. */
export const unfolded = async (given: readonly string[], unfolding: Unfolding) => {
  const folders = new Map<string, string>();
  const names: string[] = [];
  const repeated: string[] = [];
  const keyOf = (name: string) => (name === "-" || isRemote(name) ? name : fileKey(name));
  const named = given.map((name) => ({ name, key: keyOf(name) }));
  // A file that was named itself is never one of a folder.
  const known = new Set(named.map(({ key }) => key));
  const taken = new Set<string>();
  for (const { name, key } of named) {
    if (taken.has(key)) {
      repeated.push(name);
      continue;
    }
    taken.add(key);
    const files = await filesIn(name, unfolding);
    if (files === undefined) names.push(isRemote(name) ? ((await unfolding.remotes?.nameOf(name)) ?? name) : name);
    for (const file of files ?? []) {
      const own = keyOf(file);
      if (known.has(own)) repeated.push(file);
      else {
        known.add(own);
        folders.set(file, name);
        names.push(file);
      }
    }
  }
  return { names, folders, repeated };
};

/** The files of a folder, here or at an address; undefined where a name is of none. */
const filesIn = async (
  name: string,
  { problems, remotes, foldersToo }: Unfolding,
): Promise<readonly string[] | undefined> => {
  const spot = () => ({ file: name });
  const isFar = remotes !== undefined && isRemote(name);
  try {
    const folder = isFar || !foldersToo ? undefined : folderAt(name);
    for (const { file, code } of folder?.unreadable ?? [])
      problems.report("file-unreadable", { code }, () => ({ file }));
    const files = isFar ? await remotes.filesBelow(name) : folder?.files;
    if (files?.length === 0) problems.report("folder-without-rollouts", { files: [] }, spot);
    return files;
  } catch (thrown) {
    if (!(thrown instanceof NothingThere)) throw thrown;
    problems.report("remote-missing", { said: thrown.said }, spot);
    return [];
  }
};

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
