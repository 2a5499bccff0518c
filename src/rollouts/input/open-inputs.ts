/** Expands the names of a command line, and opens the inputs. */
import { closeSync, createReadStream, fstatSync, openSync, readdirSync, statSync } from "node:fs";
import { resolve } from "node:path";
import type { Readable } from "node:stream";
import { Failure } from "../../failure.ts";
import { bomLength, skipWhite } from "../../json/json-bytes.ts";
import { Breaks } from "../../system/breaks.ts";
import { getErrorCode, identifyFile, ignoreErrors, unblockOnAbort } from "../../system/files.ts";
import type { Host } from "../../system/host.ts";
import { adviseSkipped } from "../rules/input-rules.ts";
import { Problems } from "../rules/problems.ts";
import { findDecompressor } from "./decompress.ts";
import { duplicateStdin, inputMissing, UnusableInput } from "./failures.ts";
import { listFolder, type SkippedFile } from "./list-folder.ts";
import { isRemote, plainUrl, reportEmptyFolders, tryStat } from "./names.ts";
import { findContainer, findFormatError, sniffedBytes } from "./sniff.ts";
import * as sourceFiles from "./source.ts";
import { type SpoolOptions, spoolStream } from "./spool.ts";

export interface OpenOptions extends SpoolOptions {
  /** `-` or an empty list means standard input. */
  readonly files: readonly string[];
}

export interface OpenedInputs {
  readonly sources: readonly sourceFiles.Source[];
  readonly problems: Problems;
  /** Maps files to folders. */
  readonly folders: ReadonlyMap<string, string>;
  readonly skipped: readonly SkippedFile[];
  /** Further names of opened files. */
  readonly repeated: readonly string[];
}

/** With more inputs, rollcall opens a file for each read, because descriptors are limited. */
const maxOpenFiles = 64;

/** Opening a file costs as much as reading this many bytes. */
export const bytesPerFile = 2 ** 17;

/**
 * The caller closes the sources.
 * @throws Failure `input-missing`, `duplicate-stdin`, `spool-failed`
 */
export const openInputs = async ({ files, ...options }: OpenOptions): Promise<OpenedInputs> => {
  const { host } = options;
  if (files.length === 0 && host.terminal.stdin) throw inputMissing();
  if (files.filter((name) => name === "-").length > 1) throw duplicateStdin();
  const given = expandPatterns(files.length === 0 ? ["-"] : files, host);
  const problems = new Problems();
  problems.inputs = files;
  const sources: sourceFiles.Source[] = [];
  const emptyFiles: string[] = [];
  try {
    const { names, folders, repeated, skipped } = expandNames(given, problems);
    const isReopened = names.length > maxOpenFiles;
    const breaks = new Breaks(host.signal);
    for (const name of names) {
      if (breaks.isDue(bytesPerFile)) await breaks.take();
      try {
        const source = await openInput(name, { ...options, isReopened });
        if (folders.has(name) && isBlank(source)) {
          emptyFiles.push(name);
          await source.bytes.close();
        } else sources.push(source);
      } catch (thrown) {
        if (!(thrown instanceof UnusableInput)) throw thrown;
        if (thrown.rule === "input-empty" && folders.has(name)) emptyFiles.push(name);
        else thrown.report(problems, isRemote(name) ? plainUrl(name) : name);
      }
    }
    reportEmptyFolders(folders, { skipped: emptyFiles, problems });
    for (const name of emptyFiles) folders.delete(name);
    return { sources, problems, folders, skipped: [...skipped, ...emptyFiles.map((file) => ({ file }))], repeated };
  } catch (thrown) {
    await sourceFiles.closeSources(sources);
    throw thrown;
  }
};

interface OpenInputOptions extends SpoolOptions {
  readonly isReopened: boolean;
}

const openInput = async (name: string, options: OpenInputOptions) => {
  const { host } = options;
  // The name of a missing file can be too long to look for.
  if (isRemote(name) && !tryStat(name)) throw new UnusableInput("file-not-found", { isUrl: true });
  try {
    if (name === "-") return await openStream(name, host.stdin, options);
    const facts = statSync(name, { bigint: true });
    if (facts.isCharacterDevice() && endlessDevices.some((device) => tryStat(device)?.rdev === facts.rdev))
      throw new UnusableInput("not-json", { kind: "a device that returns data without end", instead: "name a file" });
    // Files in /proc have the size 0.
    const file = facts.isFile() && facts.size > 0 ? openFile(name, options) : undefined;
    if (file) return file;
    const stopWaiting = facts.isFIFO() ? unblockOnAbort(name, host) : undefined;
    return await openStream(name, createReadStream(name), options).finally(stopWaiting);
  } catch (thrown) {
    if (thrown instanceof Failure || thrown instanceof UnusableInput) throw thrown;
    const code = getErrorCode(thrown);
    if (code !== "ENOENT" && code !== "ENOTDIR") throw new UnusableInput("file-unreadable", { code });
    if (!isGlob(name)) throw new UnusableInput("file-not-found", { isUrl: false });
    throw new UnusableInput("glob-without-match", { pattern: name, matches: expandGlob(name).length });
  }
};

const endlessDevices = ["/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"];

const openFile = (name: string, { isReopened }: OpenInputOptions) => {
  const descriptor = openSync(name, "r");
  let isInUse = false;
  try {
    const facts = fstatSync(descriptor, { bigint: true });
    const size = Number(facts.size);
    const bytes = sourceFiles.openDescriptorBytes({ descriptor, name, size });
    const head = sourceFiles.readHead(bytes, sniffedBytes);
    if (findDecompressor(head)) return undefined;
    checkHead(head);
    // The cached head is short, so most reads notice changes of the file.
    if (isReopened)
      return {
        name,
        bytes: sourceFiles.openReopenedBytes({ name, size, head: head.subarray(0, sourceFiles.ownHeadBytes) }),
      };
    isInUse = true;
    let last = facts;
    return {
      name,
      bytes: { ...bytes, close: sourceFiles.createCloser(descriptor) },
      async touched() {
        const before = last;
        last = fstatSync(descriptor, { bigint: true });
        return last.size < before.size || (last.size === before.size && last.mtimeNs !== before.mtimeNs);
      },
    };
  } finally {
    if (!isInUse) closeSync(descriptor);
  }
};

const isBlank = ({ bytes }: Pick<sourceFiles.Source, "bytes">) => {
  const head = sourceFiles.readHead(bytes, sniffedBytes);
  return head.length === bytes.size && skipWhite(head, bomLength(head)) === head.length;
};

const openStream = async (name: string, stream: Readable, options: SpoolOptions) => {
  const bytes = await spoolStream(stream, options);
  try {
    checkHead(sourceFiles.readHead(bytes, sniffedBytes));
  } catch (thrown) {
    await bytes.close();
    throw thrown;
  }
  return { name, bytes };
};

const checkHead = (head: Buffer) => {
  if (head.length === 0) throw new UnusableInput("input-empty", { isEmpty: true });
  const error = findContainer(head) ? undefined : findFormatError(head);
  if (error) throw error;
};

/** Expands globs on Windows, because shells on Windows do not expand globs. */
const expandPatterns = (files: readonly string[], { platform }: Host) => {
  if (platform !== "win32") return files;
  return files.flatMap((name) => {
    const matches = isGlob(name) && !isRemote(name) ? expandGlob(name) : [];
    return matches.length === 0 ? [name] : matches;
  });
};

/** Returns a function that detects changed, new and deleted files, except empty files. */
export const createChangeDetector = (names: readonly string[], host: Host) => {
  if (names.length === 0 || names.includes("-")) return () => false;
  const given = expandPatterns(names, host);
  const listVersions = () => {
    const files = given.flatMap((name) => listFolder(name)?.files ?? [name]);
    return files.flatMap((file) => {
      const facts = tryStat(file);
      return facts?.isFile() === true && facts.size > 0n ? [`${facts.size} ${facts.mtimeNs} ${file}`] : [];
    });
  };
  const before = new Set(listVersions());
  return () => {
    const now = listVersions();
    // A program that replaces its only file can delete the file before.
    return now.some((version) => !before.has(version)) || (now.length > 0 && now.length < before.size);
  };
};

const expandNames = (given: readonly string[], problems: Problems) => {
  const folders = new Map<string, string>();
  const names: string[] = [];
  const repeated: string[] = [];
  const skipped = new Map<string, SkippedFile>();
  const keyOf = (name: string) => (name === "-" ? name : (identifyFile(name) ?? resolve(name)));
  // All arguments are known first, so a folder does not add an argument again.
  const known = new Map<string, string>();
  for (const name of given) {
    if (known.has(keyOf(name))) repeated.push(name);
    else known.set(keyOf(name), name);
  }
  for (const name of [...known.values()]) {
    const { files, skipped: others } = listFiles(name, problems) ?? { skipped: [] };
    for (const other of others) if (!known.has(keyOf(other.file))) skipped.set(keyOf(other.file), other);
    if (!files) names.push(name);
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

const listFiles = (name: string, problems: Problems) => {
  const folder = listFolder(name);
  for (const { file, code } of folder?.unreadable ?? []) problems.report("file-unreadable", { code }, { file });
  if (folder?.files.length === 0) {
    const [first] = folder.skipped;
    const instead = first && `${first.file}: ${adviseSkipped(first.reason)}`;
    problems.report("folder-without-rollouts", { files: [], instead }, { file: name });
  }
  return folder;
};

const isGlob = (path: string) => /[*?]/.test(path);

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
