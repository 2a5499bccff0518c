/** Finds the files that the arguments of a command line name: patterns, folders, and datasets at an address. */
import { type Dirent, readdirSync } from "node:fs";
import type { Problems } from "../check/rules/problems.ts";
import type { Host } from "../host.ts";
import { factsOf, fileKey, folderAt } from "./folder.ts";
import type { Remotes } from "./remote.ts";
import { isRemote, NothingThere } from "./remote-names.ts";

/** Returns the names as given, with patterns expanded if the shell does not do that. */
export const namesOf = (files: readonly string[], { platform }: Host): readonly string[] => {
  if (platform !== "win32") return files;
  return files.flatMap((name) => {
    const found = isGlob(name) && !isRemote(name) ? expandGlob(name) : [];
    // A pattern that matches nothing is reported as missing.
    return found.length === 0 ? [name] : found;
  });
};

interface Unfolding {
  readonly problems: Problems;
  readonly remotes: Remotes | undefined;
  /** False if a folder is an error. */
  readonly takesFolders: boolean;
}

/**
 * Replaces folders by their files, and names each file once. Returns the names, the folder of each file that was found in
 * one, and the names of files that have another name among them.
 */
export const unfolded = async (given: readonly string[], unfolding: Unfolding) => {
  const folders = new Map<string, string>();
  const names: string[] = [];
  const repeated: string[] = [];
  const keyOf = (name: string) => (name === "-" || isRemote(name) ? name : fileKey(name));
  // A file that was named itself is never one of a folder.
  const known = new Set(given.map(keyOf));
  const taken = new Set<string>();
  for (const name of given) {
    const key = keyOf(name);
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

/** The files of a folder, on disk or at an address; undefined if the name is not that of a folder. */
const filesIn = async (
  name: string,
  { problems, remotes, takesFolders }: Unfolding,
): Promise<readonly string[] | undefined> => {
  const spot = () => ({ file: name });
  const isFar = remotes !== undefined && isRemote(name);
  try {
    const folder = isFar || !takesFolders ? undefined : folderAt(name);
    for (const { file, code } of folder?.unreadable ?? [])
      problems.report("file-unreadable", { code }, () => ({ file }));
    const files = isFar ? await remotes.filesBelow(name) : folder?.files;
    if (files?.length === 0) problems.report("folder-without-rollouts", { files: [] }, spot);
    return files;
  } catch (thrown) {
    if (!(thrown instanceof NothingThere)) throw thrown;
    problems.report("remote-not-found", { said: thrown.said }, spot);
    return [];
  }
};

/** True if a path contains a pattern. */
export const isGlob = (path: string): boolean => /[*?]/.test(path);

/** Returns the files that match a pattern, sorted. `**` matches any number of folders. */
export const expandGlob = (pattern: string): readonly string[] => {
  const segments = pattern.replaceAll("\\", "/").split("/");
  const last = segments.pop() ?? "";
  const isAbsolute = segments[0] === "" || /^[A-Za-z]:$/.test(segments[0] ?? "");
  let folders = [isAbsolute ? `${segments.shift() ?? ""}/` : ""];
  for (const segment of segments) folders = folders.flatMap((folder) => foldersIn(folder, segment));
  const found = last === "**" ? [] : folders.flatMap((folder) => matchesIn(folder, last));
  return found.filter((path) => factsOf(path)?.isDirectory() === false).toSorted((a, b) => (a < b ? -1 : 1));
};

const foldersIn = (folder: string, segment: string): readonly string[] => {
  if (segment !== "**") return matchesIn(folder, segment).map((path) => `${path}/`);
  const below = entriesOf(folder).filter((entry) => entry.isDirectory());
  return [folder, ...below.flatMap(({ name }) => foldersIn(`${folder}${name}/`, segment))];
};

const matchesIn = (folder: string, segment: string): readonly string[] => {
  if (!isGlob(segment)) return [`${folder}${segment}`];
  const pattern = patternOf(segment);
  return entriesOf(folder).flatMap(({ name }) => (pattern.test(name) ? [`${folder}${name}`] : []));
};

const entriesOf = (folder: string): readonly Dirent[] => {
  try {
    return readdirSync(folder === "" ? "." : folder, { withFileTypes: true });
  } catch {
    return [];
  }
};

/** A name that begins with a dot matches only a pattern that begins with a dot. */
const patternOf = (segment: string): RegExp => {
  const source = segment
    .replaceAll(/[\\^$.|+()[\]{}]/g, "\\$&")
    .replaceAll("*", ".*")
    .replaceAll("?", ".");
  return new RegExp(`^${segment.startsWith(".") ? "" : "(?!\\.)"}${source}$`, "is");
};
