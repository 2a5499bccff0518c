/** Recognizes URLs and rollout files by name, and lists folders. */
import { type BigIntStats, type Dirent, readdirSync, realpathSync, statSync } from "node:fs";
import { join, sep } from "node:path";
import { getErrorCode, identifyFile, ignoreErrors } from "../files.ts";
import type { Problems } from "../problems/problems.ts";

export const rolloutFileName = /\.(?:jsonl|ndjson|json|eval|traj|parquet)(?:\.gz|\.zst)?$/;

export const isRolloutFile = (name: string) => rolloutFileName.test(name) && tryStat(name)?.isFile() === true;

/** Lists the rollout files below a folder. Skips names that begin with a dot. */
export const listFolder = (name: string) => {
  if (name === "-" || tryStat(name)?.isDirectory() !== true) return undefined;
  const files: string[] = [];
  const links: string[] = [];
  const unreadable: { file: string; code: string }[] = [];
  const pending = [name];
  for (let folder = pending.pop(); folder; folder = pending.pop()) {
    let entries: readonly Dirent[] = [];
    try {
      entries = readdirSync(folder, { withFileTypes: true });
    } catch (thrown) {
      unreadable.push({ file: folder, code: getErrorCode(thrown) });
    }
    for (const entry of entries.filter(({ name }) => !name.startsWith("."))) {
      const path = join(folder, entry.name);
      if (entry.isDirectory()) pending.push(path);
      else if (rolloutFileName.test(entry.name) && entry.isFile()) files.push(path);
      else if (rolloutFileName.test(entry.name) && entry.isSymbolicLink()) links.push(path);
    }
  }
  // A link can lead to a listed file.
  const known = new Set(links.length === 0 ? [] : files.map(identifyFile));
  for (const link of links.sort()) {
    if (tryStat(link)?.isFile() !== true || known.has(identifyFile(link))) continue;
    if (!realpathSync(link).startsWith(join(realpathSync(name), sep))) {
      unreadable.push({ file: link, code: "outside-folder" });
      continue;
    }
    known.add(identifyFile(link));
    files.push(link);
  }
  return { files: files.sort(), unreadable };
};

interface SkippedFiles {
  skipped: readonly string[];
  problems: Problems;
  options?: readonly string[];
  /** What to do with a file, by its name. */
  advice?: ReadonlyMap<string, string>;
}

export const reportEmptyFolders = (
  folderByFile: ReadonlyMap<string, string>,
  { skipped, problems, options, advice }: SkippedFiles,
) => {
  const skippedFiles = new Set(skipped);
  for (const folder of new Set(folderByFile.values())) {
    const files = Array.from(folderByFile).flatMap(([file, parent]) => (parent === folder ? [file] : []));
    if (!files.every((file) => skippedFiles.has(file))) continue;
    const instead = files.map((file) => advice?.get(file)).find((text) => text !== undefined);
    problems.report("folder-without-rollouts", { files, options, instead }, { file: folder });
  }
};

export const tryStat = (path: string) => ignoreErrors(() => statSync(path, { bigint: true }));

export const leadsTo = (path: string, { dev, ino }: BigIntStats) => {
  const stats = tryStat(path);
  return stats && stats.ino === ino && stats.dev === dev;
};

/** Returns true for all URLs, also with schemes that rollcall does not read. */
export const isRemote = (name: string) => /^[a-z][a-z0-9+.-]+:\/\//i.test(name);

/** Removes the user, query and fragment of a web URL, because they can be secret. */
export const plainUrl = (name: string) => {
  const [, scheme = "", rest = ""] = /^([a-z][a-z0-9+.-]*:\/\/)(.*)$/is.exec(name) ?? [];
  const path = /^hf:/i.test(scheme) ? rest : rest.replace(/[?#].*$/s, "").replace(/^[^/]*@/s, "");
  return `${scheme.toLowerCase()}${path}`;
};
