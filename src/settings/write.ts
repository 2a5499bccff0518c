/** Writes a saved file: one writer at a time, whole or not at all, and for nobody else's eyes. */

import { randomUUID } from "node:crypto";
import {
  chownSync,
  closeSync,
  fsyncSync,
  openSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
} from "node:fs";
import { basename, dirname, join } from "node:path";
import { Failure } from "../failure.ts";
import { makeFolder } from "../files.ts";
import type { Host } from "../host.ts";
import { isObject } from "../json/walk.ts";
import type { Members } from "./document.ts";
import { type Lock, takeLock } from "./lock.ts";
import { readSaved, type SavedKind, savedFile } from "./saved.ts";
import { codeOf } from "./secrets.ts";

/** A change to what is saved in one profile: its members before (none where it is new) → after; undefined takes it away. */
export type Change = (profile: Members) => Members | undefined;

/**
 * Changes one profile of a saved file, and gives the file's path. Everything else in the file stays as it is, another
 * writer's change at the same moment included.
 * @throws Failure `place-missing`, `place-unusable`, `settings-broken`; the file is then as it was
 */
export const changeProfile = async (
  host: Host,
  { kind, profile, change }: { readonly kind: SavedKind; readonly profile: string; readonly change: Change },
): Promise<string> => {
  const file = savedFile(host, kind);
  if (file === undefined) throw new Failure("place-missing", { what: "settings", variable: "ROLLCALL_CONFIG_DIR" });
  const writeDocument = await openWriter();
  return await guarded(file, async () => {
    makeFolder(dirname(file));
    const lock = await takeLock(join(dirname(file), ".lock"), host);
    try {
      const { members } = readSaved(host, kind);
      const target = realPath(file);
      clearDrafts(target);
      const draft = `${target}.${randomUUID()}`;
      try {
        writeDocument(draft, changed(members, profile, change));
        keepOwner(target, draft);
        replace(target, { draft, lock });
      } finally {
        rmSync(draft, { force: true });
      }
    } finally {
      lock.release();
    }
    return file;
  });
};

const changed = (document: Members, profile: string, change: Change): Members => {
  const profiles = isObject(document.profiles) ? document.profiles : {};
  const { [profile]: before, ...others } = profiles;
  const after = change(isObject(before) ? before : {});
  if (after === undefined) return { ...document, profiles: others };
  return { ...document, profiles: { ...profiles, [profile]: after } };
};

/** Where a file really is: people keep settings elsewhere and link to them. */
const realPath = (file: string): string => {
  try {
    return realpathSync(file);
  } catch {
    return file;
  }
};

/** A file written as root stays its owner's. */
const keepOwner = (target: string, draft: string): void => {
  const before = statSync(target, { throwIfNoEntry: false });
  if (before === undefined || before.uid === statSync(draft).uid) return;
  try {
    chownSync(draft, before.uid, before.gid);
  } catch {
    // Only root can: anybody else owns what they write.
  }
};

/** Puts the draft in the file's place, in one step. */
const replace = (target: string, { draft, lock }: { readonly draft: string; readonly lock: Lock }): void => {
  lock.assertHeld();
  renameSync(draft, target);
  try {
    const folder = openSync(dirname(target), "r");
    fsyncSync(folder);
    closeSync(folder);
  } catch {
    // Not every system can do this to a folder; what is in the file is on disk already.
  }
};

/** Takes away what killed writers left: whoever holds the lock is the only one who writes. */
const clearDrafts = (target: string): void => {
  const prefix = `${basename(target)}.`;
  for (const name of readdirSync(dirname(target))) {
    if (name.startsWith(prefix) && draftMark.test(name)) rmSync(join(dirname(target), name), { force: true });
  }
};

/** Drafts are named after the file and a UUID. */
const draftMark = /\.[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}(?:\.|$)/;

/**
 * Opens what writes a JSON document to a new file of mode 0600. The package is loaded here and not before: reading
 * needs neither it nor the home that it asks for.
 */
const openWriter = async (): Promise<(file: string, document: Members) => void> => {
  const { default: Conf } = await loadConf();
  return (file, document) => {
    const text = `${JSON.stringify(document, undefined, 2)}\n`;
    const conf = new Conf<Record<string, unknown>>({
      projectName: "rollcall",
      projectSuffix: "",
      cwd: dirname(file),
      configName: basename(file),
      fileExtension: "",
      configFileMode: 0o600,
      accessPropertiesByDotNotation: false,
      serialize: () => text,
    });
    conf.store = { ...document };
    // A full disk may take a part of what is written and say nothing of it.
    if (readFileSync(file, "utf8") !== text) throw Object.assign(new Error("written in part"), { code: "ENOSPC" });
  };
};

const loadConf = async (): Promise<typeof import("conf")> => {
  try {
    return await import("conf");
  } catch (cause) {
    // `os.homedir()`, asked while the package is loaded, knows no home.
    if (codeOf(cause) !== "ERR_SYSTEM_ERROR") throw cause;
    throw new Failure("home-missing", {}, { where: { environment: "HOME" }, cause });
  }
};

/** Does the work; what the system refuses is a failure that names the file. */
const guarded = async <Result>(file: string, work: () => Promise<Result>): Promise<Result> => {
  try {
    return await work();
  } catch (cause) {
    if (cause instanceof Failure || codeOf(cause) === "unknown") throw cause;
    const code = codeOf(cause);
    throw new Failure("place-unusable", { place: file, doing: "write", code }, { where: { file }, cause });
  }
};
