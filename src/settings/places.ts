/** Where rollcall keeps its files: the platform's own folders, XDG's where set, or what `ROLLCALL_…_DIR` says. */
import { isAbsolute, join, resolve } from "node:path";
import type { Host } from "../host.ts";

/** What of a host decides where files are. */
type Machine = Pick<Host, "env" | "platform">;

/** The folder of settings and credentials; undefined where there is neither `ROLLCALL_CONFIG_DIR` nor a home. */
export const configFolder = (host: Machine): string | undefined =>
  folder(host, { named: "ROLLCALL_CONFIG_DIR", xdg: "XDG_CONFIG_HOME", home: configHome });

/** The folder of the local service's store and of the ledger; undefined where there is neither `ROLLCALL_DATA_DIR` nor a home. */
export const dataFolder = (host: Machine): string | undefined =>
  folder(host, { named: "ROLLCALL_DATA_DIR", xdg: "XDG_DATA_HOME", home: dataHome });

/** The ledger: what `ROLLCALL_LEDGER` says, else a file of the data folder; undefined where there is neither. */
export const ledgerFile = (host: Machine): string | undefined =>
  host.env.ROLLCALL_LEDGER ? resolve(host.env.ROLLCALL_LEDGER) : below(dataFolder(host), "ledger.db");

const folder = (
  { env, platform }: Machine,
  { named, xdg, home }: { named: string; xdg: string; home: (machine: Machine) => string | undefined },
): string | undefined => {
  const chosen = env[named];
  if (chosen) return resolve(chosen);
  const base = env[xdg];
  // The base directory specification has relative paths ignored.
  return base && isAbsolute(base) ? join(base, "rollcall") : home({ env, platform });
};

const below = (base: string | undefined, ...parts: readonly string[]): string | undefined =>
  base ? join(base, ...parts) : undefined;

const configHome = ({ env, platform }: Machine): string | undefined => {
  if (platform === "darwin") return below(env.HOME, "Library", "Preferences", "rollcall");
  if (platform === "win32") {
    return below(env.APPDATA || below(env.USERPROFILE, "AppData", "Roaming"), "rollcall", "Config");
  }
  return below(env.HOME, ".config", "rollcall");
};

const dataHome = ({ env, platform }: Machine): string | undefined => {
  if (platform === "darwin") return below(env.HOME, "Library", "Application Support", "rollcall");
  if (platform === "win32") {
    return below(env.LOCALAPPDATA || below(env.USERPROFILE, "AppData", "Local"), "rollcall", "Data");
  }
  return below(env.HOME, ".local", "share", "rollcall");
};
