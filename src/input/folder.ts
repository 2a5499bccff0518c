/** The files of a folder that rollouts may be in. */
import { type BigIntStats, type Dirent, readdirSync, statSync } from "node:fs";
import { join, resolve } from "node:path";
import type { Problems } from "../check/rules/problems.ts";
import { codeOf } from "../files.ts";

/** What a folder holds. */
interface Folder {
  /** Files in it and below it, by name. */
  readonly files: readonly string[];
  /** Folders that can't be read, and why. */
  readonly unreadable: readonly { readonly file: string; readonly code: string }[];
}

/** Names of files that rollouts may be in. */
export const rolloutFile = /\.(?:jsonl|ndjson|json|eval|parquet)(?:\.gz|\.zst)?$/;

/** What a folder and those below it hold; undefined where a name is of none. Names that begin with a dot are passed over. */
export const folderAt = (name: string): Folder | undefined => {
  if (name === "-" || !isFolder(name)) return undefined;
  const files: string[] = [];
  const links: string[] = [];
  const unreadable: { file: string; code: string }[] = [];
  const waiting = [name];
  for (let folder = waiting.pop(); folder !== undefined; folder = waiting.pop()) {
    const entries = entriesOf(folder);
    if (typeof entries === "string") unreadable.push({ file: folder, code: entries });
    else
      for (const entry of entries) {
        const path = join(folder, entry.name);
        if (entry.isDirectory()) waiting.push(path);
        else if (rolloutFile.test(entry.name) && entry.isFile()) files.push(path);
        else if (rolloutFile.test(entry.name) && entry.isSymbolicLink()) links.push(path);
      }
  }
  // A link to a file that is in the folder too, as `latest.jsonl` is, would double it.
  const known = new Set(links.length === 0 ? [] : files.map(fileKey));
  for (const link of links.sort()) {
    if (!isFile(link) || known.has(fileKey(link))) continue;
    known.add(fileKey(link));
    files.push(link);
  }
  return { files: files.sort(), unreadable };
};

/** Reports folders of which every file holds no rollouts. */
export const reportWithout = (
  folders: ReadonlyMap<string, string>,
  { others, problems }: { readonly others: readonly string[]; readonly problems: Problems },
): void => {
  const left = new Set(others);
  for (const folder of new Set(folders.values())) {
    const files = Array.from(folders).flatMap(([file, own]) => (own === folder ? [file] : []));
    if (!files.every((file) => left.has(file))) continue;
    problems.report("folder-without-rollouts", { files }, () => ({ file: folder }));
  }
};

/** Identifies what has a name: the same for all names of a file, its symbolic and hard links. */
export const fileKey = (name: string): string => {
  const facts = factsOf(name);
  // Not every file system numbers its files.
  return facts?.isFile() === true && facts.ino !== 0n ? `${facts.dev}:${facts.ino}` : resolve(name);
};

const factsOf = (name: string): BigIntStats | undefined => {
  try {
    return statSync(name, { bigint: true });
  } catch {
    return undefined;
  }
};

const isFolder = (name: string): boolean => factsOf(name)?.isDirectory() === true;

const isFile = (name: string): boolean => factsOf(name)?.isFile() === true;

/** What stands in a folder; the system's code where it can't be read. */
const entriesOf = (folder: string): readonly Dirent[] | string => {
  try {
    return readdirSync(folder, { withFileTypes: true }).filter(({ name }) => !name.startsWith("."));
  } catch (thrown) {
    return codeOf(thrown);
  }
};
