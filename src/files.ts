/** Files and folders of rollcall's own: folders for their owner alone, files that are written whole or not at all, and the codes of the system's errors. */
import {
  chownSync,
  closeSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readdirSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { basename, dirname, join } from "node:path";
import type { Problem } from "./failure.ts";
import { commandLine } from "./shell-words.ts";

/** The code of an error of the system or of Node, such as `ENOENT`; `unknown` where it has none. */
export const codeOf = (thrown: unknown): string =>
  thrown instanceof Error && "code" in thrown && typeof thrown.code === "string" ? thrown.code : "unknown";

/**
 * Makes a folder, mode 0700, and those above it, as far as they are not there. Node's own way of doing that never comes
 * back from places where nothing can be made, such as `/proc`.
 * @throws what the file system says
 */
export const makeFolder = (path: string): void => {
  const wrong = tryMake(path);
  if (wrong === undefined) return;
  if (codeOf(wrong) !== "ENOENT" || dirname(path) === path) throw wrong;
  makeFolder(dirname(path));
  const still = tryMake(path);
  if (still !== undefined) throw still;
};

/** What is wrong where there is no such path afterwards. */
const tryMake = (path: string): unknown => {
  try {
    mkdirSync(path, { mode: 0o700 });
  } catch (thrown) {
    if (codeOf(thrown) !== "EEXIST") return thrown;
  }
  return undefined;
};

/** What is wrong with a file or folder that other users can get at, and the mode that it should have; undefined where nothing is, or it is not there. */
export const looseMode = (path: string, wanted: "600" | "700"): Problem | undefined => {
  const mode = statSync(path, { throwIfNoEntry: false })?.mode;
  if (mode === undefined || (mode & 0o077) === 0) return undefined;
  return {
    file: path,
    rule: "loose-mode",
    severity: "warning",
    message: `other users can get at ${path} (mode ${(mode & 0o777).toString(8).padStart(4, "0")})`,
    advice: commandLine(["chmod", wanted, path]),
  };
};

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
 * that root replaces stays its owner's.
 * @param mode of the new file, as far as the umask leaves it
 * @throws what the file system says
 */
export const openDraft = (path: string, mode = 0o600): Draft => {
  const before = statSync(path, { throwIfNoEntry: false });
  const target = before === undefined ? path : realpathSync(path);
  const draft = `${target}.${crypto.randomUUID().slice(0, 8)}.draft`;
  let file: number | undefined = openSync(draft, "wx", mode);
  const close = (): void => {
    if (file !== undefined) closeSync(file);
    file = undefined;
  };
  return {
    path: draft,
    write: (piece) => {
      if (file !== undefined) writeFileSync(file, piece);
    },
    commit: () => {
      if (file !== undefined) fsyncSync(file);
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

const keepOwner = (draft: string, { uid, gid }: { readonly uid: number; readonly gid: number }): void => {
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
export const writeWhole = (path: string, pieces: Iterable<string | Uint8Array>, mode?: number): void => {
  const draft = openDraft(path, mode);
  try {
    for (const piece of pieces) draft.write(piece);
    draft.commit();
  } finally {
    draft.discard();
  }
};

/** What stands behind a file's name in that of its draft. */
const draftEnd = /^\.[0-9a-f]{8}\.draft$/;

/** Removes the drafts of a file that killed writers left: those last changed before a time, in milliseconds since 1970. */
export const clearDrafts = (path: string, before: number): void => {
  const own = basename(path);
  for (const name of readdirSync(dirname(path))) {
    if (!name.startsWith(own) || !draftEnd.test(name.slice(own.length))) continue;
    const draft = join(dirname(path), name);
    const facts = statSync(draft, { throwIfNoEntry: false });
    if (facts !== undefined && facts.ctimeMs < before) rmSync(draft, { force: true });
  }
};
