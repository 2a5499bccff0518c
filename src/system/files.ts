/** Reads and writes files with safe permissions. */
import * as fs from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { addAbortSignal, type Readable } from "node:stream";
import { Failure, type Problem } from "../failure.ts";
import { describeSystemCode } from "../text/sentences.ts";
import { formatCommandLine } from "../text/shell-words.ts";
import { Breaks } from "./breaks.ts";
import { crc32 } from "./hashes.ts";
import { currentUser, type Host } from "./host.ts";

export const getErrorCode = (thrown: unknown) =>
  thrown instanceof Error && "code" in thrown && typeof thrown.code === "string" ? thrown.code : "unknown";

/** Node's recursive `mkdir` never returns in `/proc`. */
export const makeFolder = (path: string) => {
  if (fs.existsSync(path)) return;
  if (dirname(path) !== path) makeFolder(dirname(path));
  try {
    fs.mkdirSync(path, { mode: 0o700 });
  } catch (thrown) {
    if (getErrorCode(thrown) !== "EEXIST") throw thrown;
  }
};

/** @throws Failure `unsafe-ownership` if another user owns or can replace a part of the path */
export const requireSafeOwnership = (path: string) => {
  const user = currentUser();
  if (user === undefined) return;
  // In a user namespace, the machine's root user has another uid.
  const trusted = [user, 0, fs.statSync("/").uid];
  const requireSafePart = (part: string, hops: number) => {
    const above = dirname(part);
    if (above !== part) requireSafePart(above, hops);
    const facts = tryStat(part, fs.lstatSync);
    if (!facts) return;
    const { uid: owner, mode } = facts;
    if (!trusted.includes(owner)) {
      const effect = part === path ? "" : `, so rollcall does not use ${path}`;
      const message = `${part} belongs to another user (uid ${owner})${effect}`;
      throw unsafeOwnership(part, message, `run rollcall as user ${owner}`);
    }
    if (facts.isDirectory() && isWritableByOthers(facts)) {
      const message = `other users can write to ${part} (mode ${formatMode(mode & 0o7777)}) and could replace ${path}`;
      const command = formatCommandLine([...(user === 0 || owner === user ? [] : ["sudo"]), "chmod", "go-w", part]);
      throw unsafeOwnership(part, message, `deny them access: \`${command}\``);
    }
    if (facts.isSymbolicLink() && hops < maxLinks)
      requireSafePart(resolve(fs.realpathSync(above), fs.readlinkSync(part)), hops + 1);
  };
  requireSafePart(resolve(path), 0);
};

/** Linux follows at most 40 links in a path. */
const maxLinks = 40;

const unsafeOwnership = (part: string, message: string, fix: string) => {
  const hint = `${fix}, or choose another location with ROLLCALL_CONFIG_DIR, ROLLCALL_DATA_DIR or --ledger`;
  return new Failure("storage", "unsafe-ownership", message, { hint, where: { file: part } });
};

const formatMode = (mode: number) => mode.toString(8).padStart(4, "0");

const tryStat = (path: string, read = fs.statSync) => ignoreErrors(() => read(path, { throwIfNoEntry: false }));

/** Assumed: if the gid equals the uid, only the owner is in the group. A sticky folder protects its files. */
const isWritableByOthers = ({ mode, uid, gid }: fs.Stats) =>
  (mode & 0o1000) === 0 && (mode & (gid === uid ? 0o002 : 0o022)) !== 0;

/** Returns a warning if other users have access. Windows has no file modes. */
export const checkFileMode = (path: string, wanted: "600" | "700"): Problem | undefined => {
  const mode = currentUser() === undefined ? 0 : (tryStat(path)?.mode ?? 0);
  if ((mode & 0o077) === 0) return undefined;
  return {
    file: path,
    rule: "insecure-permissions",
    severity: "warning",
    message: `other users can access ${path} (mode ${formatMode(mode & 0o777)})`,
    advice: formatCommandLine(["chmod", wanted, path]),
  };
};

/** New content of a file. Methods throw errors of `node:fs`. */
export interface Draft {
  readonly path: string;
  readonly write: (piece: string | Uint8Array) => void;
  /** Replaces the file with the draft. */
  readonly commit: () => void;
  /** Deletes the draft, unless it has replaced the file. */
  readonly discard: () => void;
}

/** Pipes and devices have no draft. @throws errors of `node:fs` */
export const openDraft = (path: string, mode = 0o600): Draft => {
  const before = fs.statSync(path, { throwIfNoEntry: false });
  const hasDraft = before?.isFile() !== false;
  const target = before && hasDraft ? fs.realpathSync(path) : (readBrokenLink(path) ?? path);
  const draft = hasDraft ? `${target}.${crypto.randomUUID().slice(0, 8)}.draft` : path;
  const file = fs.openSync(draft, hasDraft ? "wx" : "w", mode);
  let isOpen = true;
  const close = () => {
    if (isOpen) fs.closeSync(file);
    isOpen = false;
  };
  const replace = () => {
    fs.fsyncSync(file);
    // If root replaces a user's file, the user stays the owner.
    if (before && before.uid !== fs.fstatSync(file).uid)
      ignoreErrors(() => fs.fchownSync(file, before.uid, before.gid));
    close();
    fs.renameSync(draft, target);
    // Some systems cannot sync a folder.
    ignoreErrors(() => {
      const folder = fs.openSync(dirname(target), "r");
      fs.fsyncSync(folder);
      fs.closeSync(folder);
    });
  };
  return {
    path: draft,
    write: (piece) => fs.writeFileSync(file, piece),
    commit: () => {
      if (hasDraft) replace();
      close();
    },
    discard: () => {
      close();
      if (hasDraft) fs.rmSync(draft, { force: true });
    },
  };
};

export const ignoreErrors = <Result>(work: () => Result) => {
  try {
    return work();
  } catch {
    return undefined;
  }
};

/** @throws errors of `node:fs` */
export const writeFileAtomically = (path: string, pieces: Iterable<string | Uint8Array>, mode?: number) => {
  const draft = openDraft(path, mode);
  try {
    for (const piece of pieces) draft.write(piece);
    draft.commit();
  } finally {
    draft.discard();
  }
};

/** Returns the same text for all names of a file. */
export const identifyFile = (file: string) =>
  ignoreErrors(() => {
    const facts = fs.statSync(file, { bigint: true, throwIfNoEntry: false });
    if (facts?.isFile() === false) return undefined;
    // Some file systems have no inode numbers.
    if (facts && facts.ino !== 0n) return `${facts.dev}:${facts.ino}`;
    return join(fs.realpathSync(dirname(resolve(file))), basename(file));
  });

export const hasContent = (file: string) => {
  const facts = fs.statSync(file, { throwIfNoEntry: false });
  return facts?.isFile() === true && facts.size > 0;
};

/** True if the last line is a mark of `saveOutput`, and nobody has changed the lines before. */
const isUnchangedOutput = (file: string) => {
  const bytes = fs.readFileSync(file);
  const end = bytes.lastIndexOf("\n", -2) + 1;
  const [, checksum] = /rollcall: checksum ([0-9a-f]+)/.exec(bytes.toString("latin1", end)) ?? [];
  return checksum === crc32(bytes.subarray(0, end)).toString(16);
};

/**
 * Accepts a new or empty file, an unchanged file with a mark of `saveOutput`, and devices such as `/dev/fd/3`.
 * @throws Failure `output-exists`, `output-unwritable`
 */
export const requireOutputFile = (file: string) => {
  const hint = "choose another file, or move this one away";
  if (writeUserFile(file, () => hasContent(file) && !isUnchangedOutput(file)))
    throw new Failure("usage", "output-exists", `${file} already exists`, { hint });
  requireWritableFolder(file);
};

/** Accepts devices such as `/dev/fd/3`. @throws Failure `output-unwritable` */
export const requireWritableFolder = (file: string) => {
  const facts = fs.statSync(file, { throwIfNoEntry: false });
  writeUserFile(file, () => {
    if (facts?.isDirectory()) throw Object.assign(new Error(), { code: "EISDIR" });
    if (!facts || facts.isFile()) fs.accessSync(dirname(file), fs.constants.W_OK);
  });
};

/** Makes and removes a folder, because `/proc` accepts no entry despite its mode. @throws errors of `node:fs` */
export const requireCreatable = (file: string) => {
  if (fs.existsSync(file)) fs.accessSync(file, fs.constants.W_OK);
  fs.rmdirSync(fs.mkdtempSync(join(findFolderToChange(file), ".rollcall-")));
};

const findFolderToChange = (file: string): string => {
  const target = readBrokenLink(file);
  if (target !== undefined) return dirname(target);
  const folder = dirname(file);
  return fs.existsSync(folder) || readBrokenLink(folder) !== undefined ? folder : findFolderToChange(folder);
};

/** Returns the missing file that a link names. */
const readBrokenLink = (path: string) =>
  fs.existsSync(path) ? undefined : ignoreErrors(() => resolve(dirname(path), fs.readlinkSync(path)));

/** @throws Failure `output-unwritable`, or the failure of `write` */
export const writeUserFile = <Result>(file: string, write: () => Result) => {
  try {
    return write();
  } catch (thrown) {
    if (thrown instanceof Failure) throw thrown;
    const { reason, hint } = explainUnwritable(file, getErrorCode(thrown), "choose another file");
    throw new Failure("storage", "output-unwritable", `cannot write ${file}: ${reason}`, { hint, cause: thrown });
  }
};

export const explainUnwritable = (file: string, code: string, otherFileHint: string) => {
  const isFull = code === "ENOSPC" || code === "EDQUOT";
  const hint = isFull ? `free disk space, or ${otherFileHint}` : otherFileHint;
  if (code !== "ENOENT") return { reason: describeSystemCode(code), hint };
  const command = formatCommandLine(["mkdir", "-p", dirname(file)]);
  return { reason: "its folder does not exist", hint: `make the folder: \`${command}\`, or ${otherFileHint}` };
};

/** @param before milliseconds since 1970 */
export const removeDrafts = (path: string, before: number) => {
  const prefix = basename(path);
  for (const name of fs.readdirSync(dirname(path))) {
    if (!name.startsWith(prefix) || !/^\.[0-9a-f]{8}\.draft$/.test(name.slice(prefix.length))) continue;
    const draft = join(dirname(path), name);
    const facts = fs.statSync(draft, { throwIfNoEntry: false });
    if (facts && facts.ctimeMs < before) fs.rmSync(draft, { force: true });
  }
};

/** Ignores a URL, and an empty file, because rollcall sets the mode of an empty database. */
export const checkDatabaseMode = (location: string, warn: (problem: Problem) => void) => {
  const looseMode = ignoreErrors(() => hasContent(location)) && checkFileMode(location, "600");
  if (looseMode) warn(looseMode);
};

type WaitingHost = Pick<Host, "signal" | "sleep">;

/** Returns undefined if the content exceeds `maxBytes`. @throws the result of `toError`, or the signal's reason */
export const readUpTo = async (
  from: string | Readable,
  maxBytes: number,
  host: WaitingHost,
  toError: (code: string, cause: unknown) => unknown = (_, cause) => cause,
): Promise<Buffer | undefined> => {
  const chunks: Buffer[] = [];
  let length = 0;
  let stopWaiting: (() => void) | undefined;
  try {
    if (typeof from === "string" && fs.statSync(from).isFIFO()) stopWaiting = unblockOnAbort(from, host);
    const stream = typeof from === "string" ? fs.createReadStream(from, { end: maxBytes }) : from;
    for await (const chunk of addAbortSignal(host.signal, stream)) {
      chunks.push(Buffer.from(chunk));
      length += chunk.length;
      if (length > maxBytes) return undefined;
    }
    return Buffer.concat(chunks);
  } catch (thrown) {
    host.signal.throwIfAborted();
    throw toError(getErrorCode(thrown), thrown);
  } finally {
    stopWaiting?.();
  }
};

/** At an abort, writes to the pipe, because this ends a blocked open or read. */
export const unblockOnAbort = (name: string, { signal, sleep }: WaitingHost) => {
  signal.throwIfAborted();
  const ended = new AbortController();
  const unblock = async () => {
    const pipe = await openPipe(name, sleep, ended.signal);
    fs.writeSync(pipe, "\n");
    fs.closeSync(pipe);
  };
  const options = { once: true, signal: ended.signal };
  signal.addEventListener("abort", () => void unblock().catch(() => undefined), options);
  return () => ended.abort();
};

const pipePollMs = 10;

/** Polls, because signals cannot interrupt a blocking `openSync`. */
const openPipe = async (name: string, sleep: Host["sleep"], signal: AbortSignal) => {
  for (;;) {
    try {
      return fs.openSync(name, fs.constants.O_WRONLY | fs.constants.O_NONBLOCK);
    } catch (thrown) {
      if (getErrorCode(thrown) !== "ENXIO") throw thrown;
    }
    await sleep(pipePollMs, signal);
    signal.throwIfAborted();
  }
};

interface OutputFile {
  readonly file: string;
  readonly pieces: Iterable<string | Uint8Array> | AsyncIterable<Uint8Array>;
  readonly mode: number;
  /** Returns a last line with the text, so that later runs can replace the file. Default: no run replaces it. */
  readonly formatMark?: (text: string) => string;
}

const maxWrittenBytes = 2 ** 19;

/** Returns the number of written bytes. @throws as `requireOutputFile`; the signal's reason */
export const saveOutput = async ({ file, pieces, mode, formatMark }: OutputFile, { signal, sleep }: WaitingHost) => {
  requireOutputFile(file);
  let [bytes, checksum] = [0, 0];
  const breaks = new Breaks(signal);
  const pipe = tryStat(file)?.isFIFO() ? await openPipe(file, sleep, signal) : undefined;
  try {
    const draft = writeUserFile(file, () => openDraft(file, mode));
    const write = async (piece: string | Uint8Array) => {
      const whole = Buffer.from(piece);
      for (let at = 0; at < whole.length; at += maxWrittenBytes) {
        const part = whole.subarray(at, at + maxWrittenBytes);
        if (formatMark) checksum = crc32(part, checksum);
        bytes += part.length;
        writeUserFile(file, () => draft.write(part));
        if (breaks.isDue(16 * part.length)) await breaks.take();
      }
    };
    try {
      for await (const piece of pieces) await write(piece);
      if (formatMark) await write(formatMark(`rollcall: checksum ${checksum.toString(16)}`));
      writeUserFile(file, draft.commit);
    } finally {
      draft.discard();
    }
    return bytes;
  } finally {
    if (pipe !== undefined) fs.closeSync(pipe);
  }
};

/** Refuses pipes, because no signal could end the read. @throws errors with codes such as `not-a-file` */
export const readRegularFile = (path: string) => {
  const facts = fs.statSync(path);
  // For a folder, `readFileSync` throws EISDIR.
  if (!facts.isFile() && !facts.isDirectory()) throw Object.assign(new Error(), { code: "not-a-file" });
  return fs.readFileSync(path);
};
