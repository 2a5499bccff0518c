/** Expands arguments, globs and folders to names of files. */
import { readdirSync } from "node:fs";
import { resolve } from "node:path";
import { identifyFile, ignoreErrors } from "../../system/files.ts";
import type { Host } from "../../system/host.ts";
import { adviseSkipped } from "../rules/input-rules.ts";
import type { Problems } from "../rules/problems.ts";
import { UnusableInput } from "./failures.ts";
import { listFolder, type SkippedFile } from "./list-folder.ts";
import { isRemote, tryStat } from "./names.ts";
import type { Remotes } from "./remote.ts";

/** Expands globs on Windows, because shells on Windows do not expand globs. */
export const expandPatterns = (files: readonly string[], { platform }: Host) => {
  if (platform !== "win32") return files;
  return files.flatMap((name) => {
    const matches = isGlob(name) && !isRemote(name) ? expandGlob(name) : [];
    return matches.length === 0 ? [name] : matches;
  });
};

/** Returns a function that detects changed files, and new files in folders. Ignores URLs and empty files. */
export const createChangeDetector = (names: readonly string[], host: Host) => {
  if (names.length === 0 || names.includes("-")) return () => false;
  const given = expandPatterns(names, host).filter((name) => !isRemote(name));
  const listVersions = () => {
    const files = given.flatMap((name) => listFolder(name)?.files ?? [name]);
    return files.flatMap((file) => {
      const facts = tryStat(file);
      return facts?.isFile() === true && facts.size > 0n ? [`${facts.size} ${facts.mtimeNs} ${file}`] : [];
    });
  };
  const before = new Set(listVersions());
  return () => listVersions().some((version) => !before.has(version));
};

type ExpandOptions = Readonly<{ problems: Problems; remotes: Remotes | undefined }>;

export const expandNames = async (given: readonly string[], options: ExpandOptions) => {
  const folders = new Map<string, string>();
  const names: string[] = [];
  const repeated: string[] = [];
  const skipped = new Map<string, SkippedFile>();
  const keyOf = (name: string) => (name === "-" || isRemote(name) ? name : (identifyFile(name) ?? resolve(name)));
  // All arguments are known first, so a folder does not add an argument again.
  const known = new Map<string, string>();
  for (const name of given) {
    if (known.has(keyOf(name))) repeated.push(name);
    else known.set(keyOf(name), name);
  }
  for (const name of [...known.values()]) {
    const { files, skipped: others = [] } = await listFiles(name, options);
    for (const other of others) if (!known.has(keyOf(other.file))) skipped.set(keyOf(other.file), other);
    if (!files) names.push(isRemote(name) ? ((await options.remotes?.assignName(name)) ?? name) : name);
    for (const file of files ?? []) {
      const key = keyOf(file);
      if (known.has(key)) repeated.push(file);
      else {
        known.set(key, file);
        folders.set(file, name);
        names.push(file);
      }
    }
  }
  return { names, folders, repeated, skipped: [...skipped.values()] };
};

const listFiles = async (name: string, { problems, remotes }: ExpandOptions): Promise<Partial<Folder>> => {
  const remote = isRemote(name) ? remotes : undefined;
  try {
    const folder = remote ? await remote.filesBelow(name) : listFolder(name);
    for (const { file, code } of folder?.unreadable ?? []) problems.report("file-unreadable", { code }, { file });
    if (folder?.files.length === 0) {
      const [first] = folder.skipped;
      const instead = first && `${first.file}: ${adviseSkipped(first.reason)}`;
      problems.report("folder-without-rollouts", { files: [], instead }, { file: name });
    }
    return folder ?? {};
  } catch (thrown) {
    if (!(thrown instanceof UnusableInput)) throw thrown;
    thrown.report(problems, name);
    return { files: [] };
  }
};

type Folder = NonNullable<ReturnType<typeof listFolder>>;

export const isGlob = (path: string) => /[*?]/.test(path);

/** Lists the matching files and dangling links in sorted order. `**` matches any number of folders. */
export const expandGlob = (pattern: string) => {
  const baseSegments = pattern.replaceAll("\\", "/").split("/");
  const globs = baseSegments.splice(baseSegments.findIndex(isGlob));
  const matching = new RegExp(`^${globs.map(toPattern).join("").replace(/\/$/, "")}$`, "is");
  const depth = globs.includes("**") ? Number.POSITIVE_INFINITY : globs.length;
  const base = baseSegments.map((segment) => `${segment}/`).join("");
  const paths = listBelow(base, depth).flatMap((path) => (matching.test(path) ? [`${base}${path}`] : []));
  return paths.filter((path) => tryStat(path)?.isDirectory() !== true).toSorted((a, b) => (a < b ? -1 : 1));
};

const listBelow = (folder: string, depth: number): readonly string[] => {
  if (depth === 0) return [];
  const entries = ignoreErrors(() => readdirSync(folder === "" ? "." : folder, { withFileTypes: true })) ?? [];
  return entries.flatMap((entry) => {
    if (!entry.isDirectory()) return [entry.name];
    return listBelow(`${folder}${entry.name}/`, depth - 1).map((path) => `${entry.name}/${path}`);
  });
};

/** To match hidden names, a segment must start with a dot. */
const toPattern = (segment: string) => {
  if (segment === "**") return "(?:[^./][^/]*/)*";
  const source = segment
    .replaceAll(/[\\^$.|+()[\]{}]/g, "\\$&")
    .replaceAll("*", "[^/]*")
    .replaceAll("?", "[^/]");
  return `${segment.startsWith(".") ? "" : "(?!\\.)"}${source}/`;
};
