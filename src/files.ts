/** Files and folders of rollcall's own: folders for their owner alone, and files that are written whole or not at all. */

import {
  chownSync,
  closeSync,
  fsyncSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readlinkSync,
  realpathSync,
  renameSync,
  rmSync,
  type Stats,
  statSync,
  writeFileSync,
} from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { Failure, type Problem } from "./failure.ts";
import { currentUser } from "./host.ts";
import { formatCommandLine } from "./shell-words.ts";

/** The code of an error of the system or of Node, such as `ENOENT`; `unknown` where it has none. */
export const getErrorCode = (thrown: unknown): string =>
  thrown instanceof Error && "code" in thrown && typeof thrown.code === "string" ? thrown.code : "unknown";

/**
 * Makes a folder, mode 0700, and those above it, as far as they are not there. Node's own way of doing that never comes
 * back from places where nothing can be made, such as `/proc`.
 * @throws what the file system says
 */
export const makeFolder = (path: string): void => {
  const wrong = tryMakeFolder(path);
  if (wrong === undefined) return;
  if (getErrorCode(wrong) !== "ENOENT" || dirname(path) === path) throw wrong;
  makeFolder(dirname(path));
  const still = tryMakeFolder(path);
  if (still !== undefined) throw still;
};

/** What is wrong where there is no such path afterwards. */
const tryMakeFolder = (path: string): unknown => {
  try {
    mkdirSync(path, { mode: 0o700 });
  } catch (thrown) {
    if (getErrorCode(thrown) !== "EEXIST") return thrown;
  }
  return undefined;
};

/**
 * Refuses a file or folder of rollcall's own that another user owns or could replace: each folder on the way to it, each
 * link and the place itself belong to this user or to root, and no folder lets others rename what is in it. What is not
 * there yet is as safe as the folders above it.
 * @throws Failure `unsafe-ownership`
 */
export const requireSafeOwnership = (place: string): void => {
  const user = currentUser();
  if (user === undefined) return;
  // In a user namespace root is somebody else: whoever owns the root folder owns the system.
  const trusted = new Set([user, 0, statSync("/").uid]);
  const found = findUnsafePart(resolve(place), trusted);
  if (found !== undefined) throw unsafeOwnership(found, place, user);
};

/** A part of a path that another user owns or could replace: it is theirs, a link of theirs, or a folder that they may write. */
interface UnsafePathPart {
  readonly part: string;
  readonly why: "owner" | "link" | "writable";
  readonly owner: number;
  readonly mode: number;
}

const unsafeOwnership = ({ part, why, owner, mode }: UnsafePathPart, place: string, user: number): Failure => {
  const message = {
    owner: `${part} belongs to another user (uid ${owner})${part === place ? "" : `, so that ${place} is not used`}`,
    link: `${part} is a link of another user (uid ${owner}), which is not followed`,
    writable: `other users may write to ${part} (mode ${formatMode(mode)}), and could replace ${place}`,
  }[why];
  const command = (...words: readonly string[]): string => `\`${formatCommandLine(words)}\``;
  const asRoot = user === 0 ? [] : ["sudo"];
  // Nobody is told to take a folder that may hold more than rollcall's files.
  const isOwn = part === place || (part === dirname(place) && basename(part) === "rollcall");
  const fix = {
    owner: isOwn
      ? `look at what is in it, then make it yours: ${command(...asRoot, "chown", String(user), part)}`
      : `run rollcall as the user ${owner}`,
    link: `remove it: ${command(...asRoot, "rm", part)}`,
    writable: `keep them out: ${command(...(owner === user ? [] : asRoot), "chmod", "go-w", part)}`,
  }[why];
  const hint = `${fix}; ROLLCALL_CONFIG_DIR, ROLLCALL_DATA_DIR and --ledger name other places`;
  return new Failure("storage", "unsafe-ownership", message, { hint, where: { file: part } });
};

const formatMode = (mode: number): string => mode.toString(8).padStart(4, "0");

/** As many links as systems follow. */
const maxLinks = 40;

const findUnsafePart = (path: string, trusted: ReadonlySet<number>, links = 0): UnsafePathPart | undefined => {
  const above = dirname(path);
  const found = above === path ? undefined : findUnsafePart(above, trusted, links);
  // Where nothing can be looked at, opening it says why.
  const facts = found === undefined ? tryStat(path) : undefined;
  if (facts === undefined) return found;
  const about = { part: path, owner: facts.uid, mode: facts.mode & 0o7777 };
  if (!trusted.has(facts.uid)) return { ...about, why: facts.isSymbolicLink() ? "link" : "owner" };
  if (facts.isDirectory() && isWritableByOthers(facts)) return { ...about, why: "writable" };
  if (!facts.isSymbolicLink() || links === maxLinks) return undefined;
  return findUnsafePart(resolve(realpathSync(above), readlinkSync(path)), trusted, links + 1);
};

const tryStat = (path: string): Stats | undefined => {
  try {
    return lstatSync(path, { throwIfNoEntry: false });
  } catch {
    return undefined;
  }
};

/** Whether other users can rename what is in a folder. A group of the owner's number is the owner's alone. */
const isWritableByOthers = ({ mode, uid, gid }: Stats): boolean =>
  (mode & 0o1000) === 0 && (mode & (gid === uid ? 0o002 : 0o022)) !== 0;

/** What is wrong with a file or folder that other users can get at; undefined where nothing is, or it is not there. */
export const checkFileMode = (path: string, wanted: "600" | "700"): Problem | undefined => {
  const mode = statSync(path, { throwIfNoEntry: false })?.mode;
  return mode === undefined || (mode & 0o077) === 0 ? undefined : makeLooseModeProblem(path, mode, wanted);
};

export const makeLooseModeProblem = (path: string, mode: number, wanted: "600" | "700"): Problem => ({
  file: path,
  rule: "insecure-permissions",
  severity: "warning",
  message: `other users can get at ${path} (mode ${formatMode(mode & 0o777)})`,
  advice: formatCommandLine(["chmod", wanted, path]),
});

/** A new file beside the one that it will replace. */
export interface Draft {
  readonly path: string;
  /** @throws what the file system says */
  write(piece: string | Uint8Array): void;
  /** Puts the draft in its file's place, in one step, once all of it is on disk. @throws what the file system says */
  commit(): void;
  /** Closes the draft, and removes it unless it was committed. Must be called in every case. */
  discard(): void;
}

/**
 * Opens a draft of a file. Where the path is a link, the file that it leads to is replaced, and the link stays; a file
 * that root replaces stays its owner's. What is no file, such as a pipe or a device, takes what is written as it comes.
 * @param mode of the new file, as far as the umask leaves it
 * @throws what the file system says
 */
export const openDraft = (path: string, mode = 0o600): Draft => {
  const before = statSync(path, { throwIfNoEntry: false });
  if (before !== undefined && !before.isFile()) {
    const { write, close } = openForWriting(path, "w");
    return { path, write, commit: close, discard: close };
  }
  const target = before === undefined ? path : realpathSync(path);
  const draft = `${target}.${crypto.randomUUID().slice(0, 8)}.draft`;
  const { file, write, close } = openForWriting(draft, "wx", mode);
  return {
    path: draft,
    write,
    commit: () => {
      fsyncSync(file);
      close();
      if (before !== undefined) keepOwner(draft, before);
      renameSync(draft, target);
      syncFolder(dirname(target));
    },
    discard: () => {
      close();
      rmSync(draft, { force: true });
    },
  };
};

const openForWriting = (path: string, flags: "w" | "wx", mode?: number) => {
  const file = openSync(path, flags, mode);
  let isOpen = true;
  return {
    file,
    write: (piece: string | Uint8Array): void => {
      if (isOpen) writeFileSync(file, piece);
    },
    close: (): void => {
      if (isOpen) closeSync(file);
      isOpen = false;
    },
  };
};

const keepOwner = (draft: string, { uid, gid }: Stats): void => {
  if (uid === statSync(draft).uid) return;
  try {
    chownSync(draft, uid, gid);
  } catch {
    // Only root can: anybody else owns what they write.
  }
};

const syncFolder = (path: string): void => {
  try {
    const folder = openSync(path, "r");
    fsyncSync(folder);
    closeSync(folder);
  } catch {
    // Not every system can do this to a folder; what is in the file is on disk already.
  }
};

/**
 * Writes a file whole, or leaves what was there as it was.
 * @param mode of the new file, as far as the umask leaves it
 * @throws what the file system says
 */
export const writeFileAtomically = (path: string, pieces: Iterable<string | Uint8Array>, mode?: number): void => {
  const draft = openDraft(path, mode);
  try {
    for (const piece of pieces) draft.write(piece);
    draft.commit();
  } finally {
    draft.discard();
  }
};

/** Makes sure that a file that people name is not written over. @throws Failure `output-exists` */
export const requireUnusedFile = (file: string): void => {
  const there = statSync(file, { throwIfNoEntry: false });
  if (there?.isFile() !== true || there.size === 0) return;
  const hint = "name another file, or take that one away";
  throw new Failure("usage", "output-exists", `${file} is there already`, { hint });
};

/** Writes to a file that people name. @throws Failure `output-unwritable` */
export const writeUserFile = <Result>(file: string, write: () => Result): Result => {
  try {
    return write();
  } catch (thrown) {
    if (thrown instanceof Failure) throw thrown;
    const hint = "name a file in a folder that can be written";
    throw new Failure("storage", "output-unwritable", `${file} can't be written (${getErrorCode(thrown)})`, {
      hint,
      cause: thrown,
    });
  }
};

/** Removes the drafts of a file that killed writers left: those last changed before a time, in milliseconds since 1970. */
export const removeDrafts = (path: string, before: number): void => {
  const own = basename(path);
  for (const name of readdirSync(dirname(path))) {
    if (!name.startsWith(own) || !/^\.[0-9a-f]{8}\.draft$/.test(name.slice(own.length))) continue;
    const draft = join(dirname(path), name);
    const facts = statSync(draft, { throwIfNoEntry: false });
    if (facts !== undefined && facts.ctimeMs < before) rmSync(draft, { force: true });
  }
};

/** True if a ledger or a store at this place is in a database; otherwise the place is a file. */
export const isDatabaseUrl = (place: string): boolean => /^postgres(ql)?:\/\//i.test(place);
