/** The settings room in a home of its own, with what it said. */
import { mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Failure, type Problem } from "../../src/failure.ts";
import { readSettings, type SettingFlags, type Settings, type SettingsSources } from "../../src/settings/index.ts";
import { testHost } from "../support/host.ts";

/** What a room is opened with. */
export interface RoomOptions {
  readonly env?: Readonly<Record<string, string>>;
  readonly flags?: SettingFlags;
  /** What the settings file holds. */
  readonly profiles?: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  /** What the credentials file holds. */
  readonly logins?: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  readonly stdin?: string;
}

/** The settings room, before anything is read. */
export interface Room {
  readonly folder: string;
  readonly file: (name: string) => string;
  readonly sources: SettingsSources;
  readonly notices: readonly string[];
  readonly warnings: readonly Problem[];
  readonly hidden: ReadonlySet<string>;
  readonly read: () => Promise<Settings>;
}

/** Opens a room: files are written as they are saved, mode 0600 in a 0700 folder. The clock is the machine's own. */
export const openRoom = ({ env = {}, flags = {}, profiles, logins, stdin = "" }: RoomOptions = {}): Room => {
  const folder = mkdtempSync(join(tmpdir(), "settings-"));
  const file = (name: string): string => join(folder, name);
  const write = (name: string, value: unknown): void => {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    writeFileSync(file(name), JSON.stringify(value), { mode: 0o600 });
  };
  if (profiles !== undefined) write("settings.json", { profiles });
  if (logins !== undefined) write("credentials.json", { profiles: logins });
  const notices: string[] = [];
  const warnings: Problem[] = [];
  const hidden = new Set<string>();
  const host = {
    ...testHost({ env: { PATH: process.env.PATH, ROLLCALL_CONFIG_DIR: folder, ...env }, stdin }),
    now: Date.now,
    elapsed: () => performance.now(),
    sleep: sleepFor,
    random: Math.random,
  };
  const sources: SettingsSources = {
    host,
    flags,
    hide: (secret) => void hidden.add(secret),
    notice: (sentence) => void notices.push(sentence),
    warn: (problem) => void warnings.push(problem),
  };
  return { folder, file, sources, notices, warnings, hidden, read: async () => await readSettings(sources) };
};

/** Waits, and fails with the signal's reason where that comes first. */
export const sleepFor = (ms: number, signal?: AbortSignal): Promise<void> =>
  new Promise((resolve, reject) => {
    if (signal?.aborted === true) return reject(signal.reason);
    const stop = (): void => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", stop);
      resolve();
    }, ms);
    signal?.addEventListener("abort", stop, { once: true });
  });

/** The failure that something ended with, as its reason, code, data and place. */
export const failureOf = async (
  work: () => unknown,
): Promise<{ readonly reason: string; readonly code: string; readonly data: unknown; readonly where: unknown }> => {
  try {
    await work();
  } catch (thrown) {
    if (!(thrown instanceof Failure)) throw thrown;
    return { reason: thrown.reason, code: thrown.code, data: thrown.data, where: thrown.about.where };
  }
  throw new Error("it did not fail");
};
