/** Opens an address in the browser of the person in front of the screen. */
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Host, removeSecrets } from "../host.ts";
import { isBuildSystem } from "./cleaner.ts";

export interface OpenedBrowser {
  /** Resolves if none could be started. */
  readonly failed: Promise<void>;
  /** Removes the file that it was opened with: its page is there. */
  close(): void;
}

/**
 * Opens an address; undefined if there is no display. The address may hold a token, and other users see the words that a
 * program is started with: they name a file that leads there, which nobody else can read.
 */
export const openBrowser = (host: Host, url: string): OpenedBrowser | undefined => {
  if (!hasDisplay(host)) return undefined;
  try {
    return startBrowser(host, url);
  } catch {
    // There is no place for its file.
    return { failed: Promise.resolve(), close: () => undefined };
  }
};

const startBrowser = ({ env, platform }: Host, url: string): OpenedBrowser => {
  const folder = mkdtempSync(join(tmpdir(), "rollcall-"));
  const close = () => rmSync(folder, { recursive: true, force: true });
  const file = join(folder, "view.html");
  writeFileSync(file, redirectPage(url), { mode: 0o600 });
  // `start` is a word of cmd, which takes `&` in an address for its own: rundll32 takes it as it is.
  const windows = ["rundll32", "url.dll,FileProtocolHandler"] as const;
  const [command, ...args] =
    platform === "darwin" ? (["open"] as const) : platform === "win32" ? windows : (["xdg-open"] as const);
  const opener = spawn(command, [...args, file], { stdio: "ignore", detached: true, env: removeSecrets(env) });
  // The browser outlives what opened it.
  opener.unref();
  const failed = new Promise<void>((resolve) => {
    opener.on("error", () => resolve());
    // The exit code says whether anything on this machine opens addresses.
    opener.once("exit", (code) => code !== 0 && resolve());
  });
  return { failed: failed.then(close), close };
};

/** A page that leads to another. `url` is rollcall's own, without a character that HTML would take for its own. */
const redirectPage = (url: string): string => `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="referrer" content="no-referrer">
<meta http-equiv="refresh" content="0;url=${url}">
<title>rollcall view</title>
<p><a href="${url}">the page of rollcall view</a></p>
</html>
`;

/** Over SSH, and in a build, a browser would open on a screen that nobody looks at. */
const hasDisplay = ({ env, platform }: Host): boolean => {
  if (isBuildSystem(env)) return false;
  if (platform === "win32") return true;
  if (platform === "darwin") return env.SSH_CONNECTION === undefined;
  return [env.DISPLAY, env.WAYLAND_DISPLAY].some((name) => name !== undefined && name !== "");
};
