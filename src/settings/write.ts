/** Writes a saved file with conf, and does what conf lacks: one writer at a time, and the file from before where a disk is full. */

import {
  accessSync,
  constants,
  copyFileSync,
  existsSync,
  linkSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
} from "node:fs";
import { basename, dirname, join } from "node:path";
import type Conf from "conf";
import { waitForLock } from "../database/index.ts";
import { Failure } from "../failure.ts";
import { codeOf, makeFolder, requireOwn } from "../files.ts";
import type { Host } from "../host.ts";
import { isObject } from "../json/walk.ts";
import { homeMissing, placeBusy, placeMissing, placeUnusable, settingsBroken } from "./failures.ts";
import { type Members, parseDocument, readSaved, type SavedKind, savedFile } from "./files.ts";

/** A change to what is saved in one profile: its members before (none where it is new) → after; undefined takes it away. */
export type Change = (profile: Members) => Members | undefined;

/** How long to wait for other writers, each of which takes milliseconds. */
const maxWaitMs = 20_000;

/** Changes one profile of a saved file, as `changeSaved` does. */
export const changeProfile = async (
  host: Host,
  { kind, profile, change }: { readonly kind: SavedKind; readonly profile: string; readonly change: Change },
): Promise<string> => await changeSaved(host, { kind, change: (document) => changed(document, profile, change) });

/**
 * Changes a saved file, and gives its path. What is not changed stays as it is, another writer's change at the same
 * moment included.
 * @throws Failure `place-…`, `settings-broken`; the file is then as it was
 */
export const changeSaved = async (
  host: Host,
  { kind, change }: { readonly kind: SavedKind; readonly change: (document: Members) => Members },
): Promise<string> => {
  const file = savedFile(host, kind);
  if (file === undefined) throw placeMissing("settings");
  const openConf = await loadConf();
  try {
    requireOwn(file);
    makeFolder(dirname(file));
    accessSync(dirname(file), constants.W_OK);
    const path = join(dirname(file), "settings.lock");
    const lock = await waitForLock({ path, title: "the lock of the settings", host, maxWaitMs });
    if (lock === undefined) throw placeBusy(path);
    try {
      // Says what is wrong with the file, and where, before conf reads it.
      readSaved(host, kind);
      store(openConf(existsSync(file) ? realpathSync(file) : file), change);
    } finally {
      lock.release();
    }
  } catch (cause) {
    const code = codeOf(cause);
    if (cause instanceof Failure || code === "unknown") throw cause;
    throw placeUnusable({ place: file, doing: "write", code, cause });
  }
  return file;
};

const changed = (document: Members, profile: string, change: Change): Members => {
  const profiles = isObject(document.profiles) ? document.profiles : {};
  const { [profile]: before, ...others } = profiles;
  const after = change(isObject(before) ? before : {});
  if (after === undefined) return { ...document, profiles: others };
  return { ...document, profiles: { ...profiles, [profile]: after } };
};

type Document = Record<string, unknown>;

const textOf = (document: Members): string => `${JSON.stringify(document, undefined, 2)}\n`;

/** The package is loaded here and not before: reading needs neither it nor the home that it asks for. */
const loadConf = async (): Promise<(file: string) => Conf<Document>> => {
  try {
    const { default: Conf } = await import("conf");
    return (file) =>
      new Conf<Document>({
        projectName: "rollcall",
        projectSuffix: "",
        cwd: dirname(file),
        configName: basename(file),
        fileExtension: "",
        configFileMode: 0o600,
        serialize: textOf,
        deserialize: (text) => ({ ...parseDocument(Buffer.from(text), file, settingsBroken).members }),
      });
  } catch (cause) {
    // `os.homedir()`, asked while the package is loaded, knows no home.
    if (codeOf(cause) !== "ERR_SYSTEM_ERROR") throw cause;
    throw homeMissing(cause);
  }
};

/** Stores a changed document. conf takes what a full disk has room for to be all: then the file from before comes back. */
const store = (conf: Conf<Document>, change: (document: Members) => Members): void => {
  const file = conf.path;
  const before = `${file}.before`;
  clearDrafts(file);
  try {
    if (existsSync(file)) duplicate(file, before);
    const document = change(conf.store);
    conf.store = { ...document };
    if (readFileSync(file, "utf8") === textOf(document)) return;
    if (existsSync(before)) renameSync(before, file);
    else rmSync(file);
    throw Object.assign(new Error("written in part"), { code: "ENOSPC" });
  } finally {
    rmSync(before, { force: true });
  }
};

/** Gives a file a second name, or where the file system knows no second names, copies it. */
const duplicate = (file: string, to: string): void => {
  try {
    linkSync(file, to);
  } catch {
    copyFileSync(file, to);
  }
};

/** Takes away what killed writers left: whoever holds the lock is the only one who writes. */
const clearDrafts = (file: string): void => {
  const own = basename(file);
  for (const name of readdirSync(dirname(file))) {
    if (name.startsWith(own) && draftEnd.test(name.slice(own.length)))
      rmSync(join(dirname(file), name), { force: true });
  }
};

/** What stands behind a file's name in that of its draft, which conf writes, and of the file from before. */
const draftEnd = /^\.(?:tmp-\d{10}[0-9a-f]{6}|before)$/;
