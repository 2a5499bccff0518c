/** Recognizes URLs and rollout files by name, and reports folders without rollouts. */
import { type BigIntStats, statSync } from "node:fs";
import { ignoreErrors } from "../../system/files.ts";
import type { Problems } from "../rules/problems.ts";

const rolloutName = /\.(?:jsonl|ndjson|json|eval|traj|parquet)(?:\.gz|\.zst)?$/i;

export const isRolloutName = (name: string) => rolloutName.test(name);

export const isRolloutFile = (name: string) => isRolloutName(name) && tryStat(name)?.isFile() === true;

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

/** Returns true for URLs of all schemes, which rollcall does not read. */
export const isRemote = (name: string) => /^[a-z][a-z0-9+.-]+:\/\//i.test(name);

/** Removes the user, query and fragment of a web URL, because they can be secret. */
export const plainUrl = (name: string) => {
  const [, scheme = "", rest = ""] = /^([a-z][a-z0-9+.-]*:\/\/)(.*)$/is.exec(name) ?? [];
  return `${scheme.toLowerCase()}${rest.replace(/[?#].*$/s, "").replace(/^[^/]*@/s, "")}`;
};
